package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// A volumeWitness remembers what was last reserved.
type volumeWitness struct {
	volumebinding.SchedulerVolumeBinder
	reserved *volumebinding.PodVolumes
}

func (w *volumeWitness) AssumePodVolumes(logger klog.Logger, pod *corev1.Pod, node string, found *volumebinding.PodVolumes) (bool, error) {
	bound, err := w.SchedulerVolumeBinder.AssumePodVolumes(logger, pod, node, found)
	w.reserved = nil
	if err == nil && !bound {
		w.reserved = found
	}
	return bound, err
}

// reserve lets the plugin reserve the pod's volumes on each node that passes, looks what it would write, and lets it give
// them back.
func (a *attempt) reserve(ctx context.Context, feasible []fwk.NodeInfo) error {
	plugin, ok := a.plugins[names.VolumeBinding].(*volumebinding.VolumeBinding)
	if !ok || !a.reserves(names.VolumeBinding) {
		return nil
	}
	seen := &volumeWitness{SchedulerVolumeBinder: plugin.Binder}
	plugin.Binder = seen
	a.answer.Volumes = map[string]*volumes{}
	for _, node := range feasible {
		name := node.Node().Name
		seen.reserved = nil
		status := plugin.Reserve(ctx, a.state, a.given.Pod, name)
		found := &volumes{}
		switch {
		case !status.IsSuccess():
			found.Failure = status.Message()
		case seen.reserved != nil:
			var err error
			if found, err = a.writes(ctx, seen, name); err != nil {
				return err
			}
		}
		plugin.Unreserve(ctx, a.state, a.given.Pod, name)
		if found.Failure != "" || len(found.Bound)+len(found.Provisioned) > 0 {
			a.answer.Volumes[name] = found
		}
	}
	return nil
}

func (a *attempt) reserves(name string) bool {
	return slices.ContainsFunc(a.framework.ListPlugins().Reserve.Enabled, func(plugin config.Plugin) bool {
		return plugin.Name == name
	})
}

// writes begins to bind, without waiting for what comes of it.
func (a *attempt) writes(ctx context.Context, seen *volumeWitness, node string) (*volumes, error) {
	ended, end := context.WithCancel(ctx)
	end()
	written := &volumes{Bound: map[string]string{}}
	a.bench.written = written
	placed := a.given.Pod.DeepCopy()
	placed.Spec.NodeName = node
	err := seen.BindPodVolumes(ended, placed, seen.reserved)
	a.bench.written = nil
	if !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("binding volumes on %q: %w", node, err)
	}
	slices.Sort(written.Provisioned)
	return written, nil
}

func (b *bench) noteBound(action testing.Action) (bool, runtime.Object, error) {
	update, ok := action.(testing.UpdateAction)
	if !ok || b.written == nil {
		return false, nil, nil
	}
	volume, ok := update.GetObject().(*corev1.PersistentVolume)
	if !ok {
		return false, nil, nil
	}
	claim := volume.Spec.ClaimRef
	b.written.Bound[volume.Name] = claim.Namespace + "/" + claim.Name
	return true, volume, nil
}

func (b *bench) noteProvisioned(action testing.Action) (bool, runtime.Object, error) {
	update, ok := action.(testing.UpdateAction)
	if !ok || b.written == nil {
		return false, nil, nil
	}
	claim, ok := update.GetObject().(*corev1.PersistentVolumeClaim)
	if !ok {
		return false, nil, nil
	}
	b.written.Provisioned = append(b.written.Provisioned, claim.Namespace+"/"+claim.Name)
	return true, claim, nil
}
