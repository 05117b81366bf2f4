package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// An attempt is one pod's scheduling cycle up to its scores and the reservation of its volumes, over all nodes.
type attempt struct {
	bench     *bench
	given     *testCase
	snapshot  *internalcache.Snapshot
	framework framework.Framework
	// plugins are the instances that the framework uses, by name.
	plugins map[string]fwk.Plugin
	weights map[string]int64
	state   fwk.CycleState
	answer  *answer
}

func newAttempt(ctx context.Context, b *bench, given *testCase, profile *config.KubeSchedulerProfile) (*attempt, error) {
	snapshot, cache, err := takeSnapshot(ctx, given)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(b.client, 0)
	if err := fillListers(factory, given); err != nil {
		return nil, err
	}
	nominated, err := nominationsOf(given)
	if err != nil {
		return nil, err
	}
	devices, err := deviceManager(ctx, b, factory)
	if err != nil {
		return nil, err
	}
	result := &attempt{
		bench:    b,
		given:    given,
		snapshot: snapshot,
		plugins:  map[string]fwk.Plugin{},
		state:    framework.NewCycleState(),
		answer:   &answer{Verdicts: map[string]*verdict{}},
	}
	result.framework, err = frameworkruntime.NewFramework(ctx, result.registry(), profile,
		frameworkruntime.WithComponentConfigVersion("kubescheduler.config.k8s.io/v1"),
		frameworkruntime.WithClientSet(b.client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithPodNominator(nominated),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithMetricsRecorder(b.recorder),
		frameworkruntime.WithPodGroupManager(cache),
	)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	result.weights = map[string]int64{}
	for _, plugin := range result.framework.ListPlugins().Score.Enabled {
		result.weights[plugin.Name] = int64(plugin.Weight)
	}
	return result, nil
}

// registry is the in-tree one; it remembers the instances it makes, to ask them for raw scores.
func (a *attempt) registry() frameworkruntime.Registry {
	registry := plugins.NewInTreeRegistry()
	for name, factory := range registry {
		registry[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, args, handle)
			if err == nil {
				a.plugins[name] = plugin
			}
			return plugin, err
		}
	}
	return registry
}

func deviceManager(ctx context.Context, b *bench, factory informers.SharedInformerFactory) (fwk.SharedDRAManager, error) {
	resources := factory.Resource().V1()
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		SliceInformer: resources.ResourceSlices(),
		KubeClient:    b.client,
	})
	if err != nil {
		return nil, err
	}
	return dynamicresources.NewDRAManager(ctx, claims, slices, factory), nil
}

// run does what kube-scheduler's findNodesThatFitPod does, without leaving any node out.
func (a *attempt) run(ctx context.Context) (*answer, error) {
	nodes, err := a.snapshot.List()
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		a.answer.FitError = "no nodes available to schedule pods"
		return a.answer, nil
	}
	diagnosis := framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	restriction, status, restricting := a.framework.RunPreFilterPlugins(ctx, a.state, a.given.Pod)
	diagnosis.UnschedulablePlugins = restricting
	if !status.IsSuccess() {
		if !status.IsRejected() {
			a.answer.Failure = status.Message()
			return a.answer, nil
		}
		diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		diagnosis.PreFilterMsg = status.Message()
		diagnosis.AddPluginStatus(status)
		a.answer.PreFilter = verdictOf(status)
		a.unschedulable(diagnosis)
		return a.answer, nil
	}
	if !restriction.AllNodes() {
		nodes = a.restrict(restriction, &diagnosis, restricting)
	}
	feasible, ok := a.filter(ctx, nodes, &diagnosis)
	switch {
	case !ok:
	case len(feasible) == 0:
		a.unschedulable(diagnosis)
	default:
		a.score(ctx, feasible)
		if err := a.reserve(ctx, feasible); err != nil {
			return nil, err
		}
	}
	return a.answer, nil
}

// restrict leaves the nodes that the pre-filters name; all others get one verdict.
func (a *attempt) restrict(restriction *fwk.PreFilterResult, diagnosis *framework.Diagnosis, restricting sets.Set[string]) []fwk.NodeInfo {
	reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(restricting))
	absent := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
	diagnosis.NodeToStatus.SetAbsentNodesStatus(absent)
	for _, node := range a.given.Nodes {
		a.answer.Verdicts[node.Name] = verdictOf(absent)
	}
	var nodes []fwk.NodeInfo
	names := []string{}
	for _, name := range sets.List(restriction.NodeNames) {
		if node, err := a.snapshot.Get(name); err == nil {
			nodes = append(nodes, node)
			names = append(names, name)
			delete(a.answer.Verdicts, name)
		}
	}
	a.answer.Restricted = &names
	return nodes
}

// filter returns the nodes that pass; false after an internal failure.
func (a *attempt) filter(ctx context.Context, nodes []fwk.NodeInfo, diagnosis *framework.Diagnosis) ([]fwk.NodeInfo, bool) {
	var feasible []fwk.NodeInfo
	var failures []string
	for _, node := range nodes {
		status := a.framework.RunFilterPluginsWithNominatedPods(ctx, a.state, a.given.Pod, node)
		name := node.Node().Name
		switch {
		case status.IsSuccess():
			feasible = append(feasible, node)
		case status.Code() == fwk.Error:
			failures = append(failures, status.Message())
		default:
			diagnosis.NodeToStatus.Set(name, status)
			diagnosis.AddPluginStatus(status)
			a.answer.Verdicts[name] = verdictOf(status)
		}
	}
	if len(failures) > 0 {
		a.answer.Failure, a.answer.OtherFailures, a.answer.Verdicts = failures[0], failures[1:], nil
		return nil, false
	}
	return feasible, true
}

func (a *attempt) unschedulable(diagnosis framework.Diagnosis) {
	err := &framework.FitError{
		Pod:         a.given.Pod,
		NumAllNodes: a.snapshot.NumNodesInPlacement(),
		Diagnosis:   diagnosis,
	}
	a.answer.FitError = err.Error()
	a.answer.Rejectors = sets.List(diagnosis.UnschedulablePlugins)
}

func verdictOf(status *fwk.Status) *verdict {
	return &verdict{Code: status.Code().String(), Reasons: status.Reasons(), Plugin: status.Plugin()}
}
