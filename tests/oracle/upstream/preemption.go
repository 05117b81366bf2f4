package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"

	corev1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A preemptionAnswer is what kube-scheduler does for the pod.
type preemptionAnswer struct {
	Error string `json:"error,omitempty"`
	// Failure is an internal failure that ended the attempt before its post-filters.
	Failure string `json:"failure,omitempty"`
	// Placed tells that some node will do.
	Placed bool `json:"placed,omitempty"`
	// FitError is what users read, with what the post-filters said.
	FitError string `json:"fitError,omitempty"`
	// Code is the status of the post-filters together; empty when there are none.
	Code string `json:"code,omitempty"`
	// Text is their message.
	Text string `json:"text,omitempty"`
	// Nomination is the node that the pod is nominated to from now on, or empty; without one it stays as it was.
	Nomination *string `json:"nomination,omitempty"`
	// Tried are the nodes that were tried without some of their pods.
	Tried map[string]*tried `json:"tried,omitempty"`
	// Best are the nodes of which any may be chosen.
	Best []string `json:"best,omitempty"`
	// Evicted are the pods that are told to go, in order.
	Evicted []string `json:"evicted,omitempty"`
	// Cleared are the pods that lose their nomination, in order.
	Cleared []string `json:"cleared,omitempty"`
	// Decided is the number of the rule that left one of several candidates; 6 is chance.
	Decided int `json:"decided,omitempty"`
}

// tried is what becomes of a node without some of its pods: victims, or a reason why that does not help.
type tried struct {
	// Victims are the pods that would have to go, the most important first.
	Victims    []string `json:"victims,omitempty"`
	Violations int      `json:"violations,omitempty"`
	Code       string   `json:"code"`
	Text       string   `json:"text,omitempty"`
	// Lower are how many pods are less important than the one to place.
	Lower int `json:"lower,omitempty"`
	// Before is why the node would not do with all of its pods.
	Before string `json:"before,omitempty"`
}

func (b *bench) preempt(ctx context.Context, line []byte) (any, error) {
	var given testCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, fmt.Errorf("reading the case: %w", err)
	}
	b.client.ClearActions()
	if err := b.setGates(given.FeatureGates); err != nil {
		return nil, err
	}
	sched, err := b.scheduler(ctx, &given, 1, func(factory informers.SharedInformerFactory) error {
		listed := slices.DeleteFunc(append(slices.Clone(given.Pods), given.Pod), isFinished)
		if err := fill(factory.Core().V1().Pods().Informer(), listed); err != nil {
			return err
		}
		return fill(factory.Policy().V1().PodDisruptionBudgets().Informer(), given.DisruptionBudgets)
	})
	if err != nil {
		return nil, err
	}
	for _, pod := range given.Pods {
		_, responsible := sched.Profiles[pod.Spec.SchedulerName]
		if responsible && pod.Spec.NodeName == "" && !isFinished(pod) {
			sched.SchedulingQueue.Add(ctx, pod)
		}
	}
	return b.preemptionFor(ctx, sched, &given)
}

func (b *bench) preemptionFor(ctx context.Context, sched *scheduler.Scheduler, given *testCase) (*preemptionAnswer, error) {
	pod := given.Pod
	profile, ok := sched.Profiles[pod.Spec.SchedulerName]
	if !ok {
		return nil, fmt.Errorf("no profile for %q", pod.Spec.SchedulerName)
	}
	snapshot, ok := profile.SnapshotSharedLister().(*internalcache.Snapshot)
	if !ok {
		return nil, errors.New("kube-scheduler has another kind of snapshot")
	}
	if err := sched.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return nil, err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	_, err = sched.SchedulePod(ctx, profile, state, &framework.QueuedPodInfo{PodInfo: info})
	answer := &preemptionAnswer{}
	var unfit *framework.FitError
	switch {
	case err == nil:
		answer.Placed = true
	case errors.Is(err, scheduler.ErrNoNodesAvailable):
		answer.FitError, answer.Nomination = err.Error(), new(string)
	case errors.As(err, &unfit):
		if err := b.postFilter(ctx, profile, state, given, unfit, answer); err != nil {
			return nil, err
		}
	default:
		answer.Failure = err.Error()
	}
	return answer, nil
}

// postFilter does what kube-scheduler does after a pod has found no node.
func (b *bench) postFilter(ctx context.Context, profile framework.Framework, state fwk.CycleState, given *testCase, unfit *framework.FitError, answer *preemptionAnswer) error {
	answer.Nomination = new(string)
	if profile.HasPostFilterPlugins() {
		seen := watchPreemption(profile, given, unfit.Diagnosis.NodeToStatus)
		b.cleared = nil
		result, status := profile.RunPostFilterPlugins(ctx, state, given.Pod, unfit.Diagnosis.NodeToStatus)
		seen.finish(given.Pod.UID)
		unfit.Diagnosis.PostFilterMsg = status.Message()
		answer.Code, answer.Text, answer.Nomination = status.Code().String(), status.Message(), nil
		if result != nil && result.Mode() == fwk.ModeOverride {
			answer.Nomination = &result.NominatedNodeName
		}
		if seen != nil {
			answer.Tried, answer.Evicted, answer.Cleared = seen.tried, seen.evicted, b.cleared
			answer.Best, answer.Decided = seen.best(ctx, result)
		}
	}
	answer.FitError = unfit.Error()
	return nil
}

// finish waits for what goes on in the background.
func (w *preemptionWitness) finish(preemptor types.UID) {
	for w != nil && w.plugin.Executor.IsPodRunningPreemption(preemptor) {
		runtime.Gosched()
	}
}

// noteCleared stands in for the API server where nominations are cleared: nothing else is written by a preemption
// without its evictions.
func (b *bench) noteCleared(action testing.Action) (bool, k8sruntime.Object, error) {
	patch, ok := action.(testing.PatchAction)
	if !ok {
		return false, nil, nil
	}
	b.cleared = append(b.cleared, patch.GetNamespace()+"/"+patch.GetName())
	return true, &corev1.Pod{}, nil
}
