package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A searchCase is a large cluster and pods to place one after the other. None of them stays where it is placed.
type searchCase struct {
	Cluster testCase      `json:"cluster"`
	Pods    []*corev1.Pod `json:"pods"`
}

type searchAnswer struct {
	Error    string    `json:"error,omitempty"`
	Searches []*search `json:"searches"`
}

// A search is what kube-scheduler with one worker makes of one pod.
type search struct {
	// Failure is an internal failure that ended the attempt.
	Failure string `json:"failure,omitempty"`
	// FitError is what users read when no node will do.
	FitError string `json:"fitError,omitempty"`
	// Evaluated counts the nodes that would do and those that have a verdict.
	Evaluated int `json:"evaluated"`
	// Feasible are the nodes found.
	Feasible []string `json:"feasible"`
	// Best are those of them of which any may be chosen.
	Best []string `json:"best"`
}

func (b *bench) search(ctx context.Context, line []byte) (any, error) {
	var given searchCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, fmt.Errorf("reading the case: %w", err)
	}
	if err := b.setGates(given.Cluster.FeatureGates); err != nil {
		return nil, err
	}
	sched, err := b.scheduler(ctx, &given.Cluster, 1, func(informers.SharedInformerFactory) error { return nil })
	if err != nil {
		return nil, err
	}
	result := &searchAnswer{}
	for _, pod := range given.Pods {
		found, err := searchFor(ctx, sched, pod)
		if err != nil {
			return nil, err
		}
		result.Searches = append(result.Searches, found)
	}
	return result, nil
}

// scheduler is kube-scheduler itself, with the cluster in its cache, what else there is in its listers, and nothing
// running.
func (b *bench) scheduler(ctx context.Context, given *testCase, parallelism int32, fillOthers func(informers.SharedInformerFactory) error) (*scheduler.Scheduler, error) {
	decoded, err := decodeConfig(given.Config)
	if err != nil {
		return nil, err
	}
	factory := scheduler.NewInformerFactory(b.client, 0)
	if err := fillListers(factory, given); err != nil {
		return nil, err
	}
	if err := fillOthers(factory); err != nil {
		return nil, err
	}
	sched, err := scheduler.New(ctx, b.client, factory, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithComponentConfigVersion("kubescheduler.config.k8s.io/v1"),
		scheduler.WithProfiles(decoded.Profiles...),
		scheduler.WithPercentageOfNodesToScore(decoded.PercentageOfNodesToScore),
		scheduler.WithParallelism(parallelism),
	)
	if err != nil {
		return nil, err
	}
	logger := klog.FromContext(ctx)
	for _, node := range given.Nodes {
		sched.Cache.AddNode(logger, node)
	}
	for _, pod := range given.Pods {
		if pod.Spec.NodeName == "" || isFinished(pod) {
			continue
		}
		if err := sched.Cache.AddPod(logger, pod); err != nil {
			return nil, err
		}
	}
	return sched, nil
}

func searchFor(ctx context.Context, sched *scheduler.Scheduler, pod *corev1.Pod) (*search, error) {
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
	found := &search{Feasible: []string{}, Best: []string{}}
	seen := &witness{Framework: profile}
	placed, err := sched.SchedulePod(ctx, seen, framework.NewCycleState(), &framework.QueuedPodInfo{PodInfo: info})
	var unfit *framework.FitError
	switch {
	case errors.As(err, &unfit) || errors.Is(err, scheduler.ErrNoNodesAvailable):
		found.FitError = err.Error()
		return found, nil
	case err != nil:
		found.Failure = err.Error()
		return found, nil
	}
	found.Evaluated = placed.EvaluatedNodes
	found.Feasible, found.Best = seen.feasible, seen.best
	if placed.FeasibleNodes == 1 {
		// kube-scheduler scores nothing then.
		found.Feasible, found.Best = []string{placed.SuggestedHost}, []string{placed.SuggestedHost}
	}
	if len(found.Feasible) != placed.FeasibleNodes {
		return nil, fmt.Errorf("%d nodes were found and %d scored", placed.FeasibleNodes, len(found.Feasible))
	}
	slices.Sort(found.Feasible)
	slices.Sort(found.Best)
	return found, nil
}

// A witness notes which nodes a profile scores, and how.
type witness struct {
	framework.Framework
	feasible []string
	best     []string
}

func (w *witness) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scores, status := w.Framework.RunScorePlugins(ctx, state, pod, nodes)
	w.feasible, w.best = nil, nil
	most := int64(0)
	for _, node := range scores {
		w.feasible = append(w.feasible, node.Name)
		if w.best == nil || node.TotalScore > most {
			w.best, most = nil, node.TotalScore
		}
		if node.TotalScore == most {
			w.best = append(w.best, node.Name)
		}
	}
	return scores, status
}
