package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// A hintCase is a change of one object while a pod waits.
type hintCase struct {
	// Cluster holds the pod that waits, the configuration and what plugins list.
	Cluster testCase `json:"cluster"`
	// Two pods, two nodes or two objects of storage: no old one when it is new, no new one when it is gone.
	OldPod     *corev1.Pod     `json:"oldPod"`
	NewPod     *corev1.Pod     `json:"newPod"`
	OldNode    *corev1.Node    `json:"oldNode"`
	NewNode    *corev1.Node    `json:"newNode"`
	OldStorage json.RawMessage `json:"oldStorage"`
	NewStorage json.RawMessage `json:"newStorage"`

	// Those of storage, decoded; untyped nils where there are none.
	oldStorage, newStorage any
}

// A hintAnswer is what the change means to the plugins that can turn a pod away.
type hintAnswer struct {
	// Error tells why there is no answer.
	Error string `json:"error,omitempty"`
	// Events are those that the change stands for.
	Events []string `json:"events"`
	// Listens are the events that each plugin hears of, of all that there are.
	Listens map[string][]string `json:"listens"`
	// Hints by event and plugin that hears of it: Queue, Skip or Error.
	Hints map[string]map[string]string `json:"hints"`
}

// All events are made of these.
var (
	eventResources = []fwk.EventResource{
		"AssignedPod", "UnschedulablePod", fwk.Node, fwk.PersistentVolume, fwk.PersistentVolumeClaim, fwk.CSINode,
		fwk.CSIDriver, fwk.VolumeAttachment, fwk.CSIStorageCapacity, fwk.StorageClass, fwk.ResourceClaim,
		fwk.ResourceSlice, fwk.DeviceClass, fwk.PodGroup,
	}
	eventActions = []fwk.ActionType{
		fwk.Add, fwk.Delete, fwk.Update, fwk.UpdateNodeAllocatable, fwk.UpdateNodeLabel, fwk.UpdateNodeTaint,
		fwk.UpdateNodeCondition, fwk.UpdateNodeAnnotation, fwk.UpdateNodeDeclaredFeature, fwk.UpdatePodLabel,
		fwk.UpdatePodScaleDown, fwk.UpdatePodToleration, fwk.UpdatePodSchedulingGatesEliminated,
		fwk.UpdatePodGeneratedResourceClaim,
	}
)

// notBuilt are plugins that Plimsoll does not have yet.
var notBuilt = sets.New(names.DynamicResources, names.DefaultPreemption, names.GangScheduling)

func (b *bench) hint(ctx context.Context, line []byte) (any, error) {
	var given hintCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, fmt.Errorf("reading the case: %w", err)
	}
	if err := given.decodeStorage(); err != nil {
		return nil, fmt.Errorf("reading the case: %w", err)
	}
	attempt, err := b.prepare(ctx, &given.Cluster)
	if err != nil {
		return nil, err
	}
	return given.answer(ctx, attempt.framework)
}

func (h *hintCase) answer(ctx context.Context, framework framework.Framework) (*hintAnswer, error) {
	events := h.events()
	result := &hintAnswer{Listens: map[string][]string{}, Hints: map[string]map[string]string{}}
	for _, event := range events {
		result.Events = append(result.Events, event.Label())
		result.Hints[event.Label()] = map[string]string{}
	}
	enabled := rejecting(framework.ListPlugins())
	for _, extension := range framework.EnqueueExtensions() {
		name := extension.Name()
		if !enabled.Has(name) || notBuilt.Has(name) {
			continue
		}
		registered, err := registrations(ctx, extension)
		if err != nil {
			return nil, err
		}
		result.Listens[name] = heard(registered)
		for _, event := range events {
			if hint := h.ask(ctx, registered, event); hint != "" {
				result.Hints[event.Label()][name] = hint
			}
		}
	}
	return result, nil
}

// rejecting are the plugins that are enabled where a pod can be turned away.
func rejecting(lists *config.Plugins) sets.Set[string] {
	enabled := sets.New[string]()
	for _, list := range []config.PluginSet{lists.PreEnqueue, lists.PreFilter, lists.Filter, lists.Reserve, lists.Permit} {
		for _, plugin := range list.Enabled {
			enabled.Insert(plugin.Name)
		}
	}
	return enabled
}

// registrations are a plugin's own and what kube-scheduler adds: who hears of new nodes hears of their taints.
func registrations(ctx context.Context, extension fwk.EnqueueExtensions) ([]fwk.ClusterEventWithHint, error) {
	registered, err := extension.EventsToRegister(ctx)
	if err != nil {
		return nil, err
	}
	ofNodes := fwk.ActionType(0)
	for _, registration := range registered {
		if registration.Event.Resource == fwk.Node {
			ofNodes |= registration.Event.ActionType
		}
	}
	if ofNodes&fwk.Add != 0 && ofNodes&fwk.UpdateNodeTaint == 0 {
		taints := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint}
		registered = append(registered, fwk.ClusterEventWithHint{Event: taints})
	}
	return registered, nil
}

func heard(registered []fwk.ClusterEventWithHint) []string {
	labels := []string{}
	for _, resource := range eventResources {
		for _, action := range eventActions {
			event := fwk.ClusterEvent{Resource: resource, ActionType: action}
			for _, registration := range registered {
				if framework.MatchClusterEvents(registration.Event, event) {
					labels = append(labels, event.Label())
					break
				}
			}
		}
	}
	return labels
}

// ask asks every registration that the event matches until one wants the pod back; none matching is no answer.
func (h *hintCase) ask(ctx context.Context, registered []fwk.ClusterEventWithHint, event fwk.ClusterEvent) string {
	answer := ""
	for _, registration := range registered {
		if !framework.MatchClusterEvents(registration.Event, event) {
			continue
		}
		if registration.QueueingHintFn == nil {
			return "Queue"
		}
		old, changed := h.objects()
		hint, err := registration.QueueingHintFn(klog.FromContext(ctx), h.Cluster.Pod, old, changed)
		switch {
		case err != nil:
			return "Error"
		case hint == fwk.Queue:
			return "Queue"
		}
		answer = "Skip"
	}
	return answer
}

// objects are untyped nils where there are none, as in the queue.
func (h *hintCase) objects() (old, changed any) {
	old, changed = h.oldStorage, h.newStorage
	if h.OldPod != nil {
		old = h.OldPod
	}
	if h.OldNode != nil {
		old = h.OldNode
	}
	if h.NewPod != nil {
		changed = h.NewPod
	}
	if h.NewNode != nil {
		changed = h.NewNode
	}
	return old, changed
}

func (h *hintCase) events() []fwk.ClusterEvent {
	switch {
	case h.OldPod != nil && h.NewPod != nil:
		return framework.PodSchedulingPropertiesChange(h.NewPod, h.OldPod)
	case h.NewPod != nil && h.NewPod.Spec.NodeName != "":
		return []fwk.ClusterEvent{framework.EventAssignedPodAdd}
	case h.NewPod != nil:
		return []fwk.ClusterEvent{framework.EventUnscheduledPodAdd}
	case h.OldPod != nil && h.OldPod.Spec.NodeName != "":
		return []fwk.ClusterEvent{framework.EventAssignedPodDelete}
	case h.OldPod != nil:
		return []fwk.ClusterEvent{framework.EventUnscheduledPodDelete}
	case h.OldNode != nil && h.NewNode != nil:
		return framework.NodeSchedulingPropertiesChange(h.NewNode, h.OldNode)
	case h.NewNode != nil:
		return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Add}}
	case h.OldNode != nil:
		return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Delete}}
	}
	return h.storageEvents()
}
