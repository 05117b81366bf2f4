package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// As kube-scheduler has them by default.
const (
	workers              = 16
	collectAtAsByDefault = 100
)

// A placingStep is one of many of a run that begins with a cluster: pods that have a node already, or pods to place.
type placingStep struct {
	// Cluster begins anew.
	Cluster *testCase `json:"cluster"`
	// Template is what the pods of this step are but for their names.
	Template *corev1.Pod `json:"template"`
	// Names are those of the pods.
	Names []string `json:"names"`
	// Nodes are where the pods are; without any they are to be placed.
	Nodes []string `json:"nodes"`
}

// A placingAnswer is what became of a step.
type placingAnswer struct {
	Error string `json:"error,omitempty"`
	// Nodes are those that the pods were placed on, empty where there was none.
	Nodes []string `json:"nodes"`
	// Nanoseconds are what each pod took from looking at what has changed until it was assumed to be on its node.
	Nanoseconds []int64 `json:"nanoseconds"`
	// CPUNanoseconds are what the process used for all of them, its garbage collector included.
	CPUNanoseconds int64 `json:"cpuNanoseconds"`
	// Evaluated are the nodes that were looked at, for all of them.
	Evaluated int `json:"evaluated"`
	// ResidentBytes is what the process has now.
	ResidentBytes int64 `json:"residentBytes"`
}

// placing is a run: kube-scheduler as it decides by default, on all processors.
type placing struct {
	bench *bench
	sched *scheduler.Scheduler
}

func (p *placing) step(_ context.Context, line []byte) (any, error) {
	var given placingStep
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, fmt.Errorf("reading the step: %w", err)
	}
	// Goes on from step to step.
	ctx := context.Background()
	switch {
	case given.Cluster != nil:
		return p.begin(ctx, given.Cluster)
	case p.sched == nil || given.Template == nil:
		return nil, errors.New("there is no cluster or no template")
	case len(given.Nodes) > 0:
		return p.put(ctx, &given)
	default:
		return p.place(ctx, &given)
	}
}

func (p *placing) begin(ctx context.Context, cluster *testCase) (*placingAnswer, error) {
	runtime.GOMAXPROCS(runtime.NumCPU())
	debug.SetGCPercent(collectAtAsByDefault)
	sched, err := p.bench.scheduler(ctx, cluster, workers, func(informers.SharedInformerFactory) error { return nil })
	if err != nil {
		return nil, err
	}
	p.sched = sched
	return &placingAnswer{ResidentBytes: resident()}, nil
}

// named is the template under another name; what is deeper down they share.
func (s *placingStep) named(name, node string) *corev1.Pod {
	pod := *s.Template
	pod.Name, pod.UID, pod.Spec.NodeName = name, types.UID(name), node
	return &pod
}

func (p *placing) put(ctx context.Context, given *placingStep) (*placingAnswer, error) {
	if len(given.Nodes) != len(given.Names) {
		return nil, errors.New("not as many nodes as pods")
	}
	for at, name := range given.Names {
		if err := p.sched.Cache.AddPod(klog.FromContext(ctx), given.named(name, given.Nodes[at])); err != nil {
			return nil, err
		}
	}
	return &placingAnswer{}, nil
}

// place does what one round of kube-scheduler's loop does up to the assumed pod; that it is told of the pod's binding
// afterwards does not count.
func (p *placing) place(ctx context.Context, given *placingStep) (*placingAnswer, error) {
	logger := klog.FromContext(ctx)
	profile, ok := p.sched.Profiles[given.Template.Spec.SchedulerName]
	if !ok {
		return nil, fmt.Errorf("no profile for %q", given.Template.Spec.SchedulerName)
	}
	snapshot, ok := profile.SnapshotSharedLister().(*internalcache.Snapshot)
	if !ok {
		return nil, errors.New("kube-scheduler has another kind of snapshot")
	}
	// Not what is new since the last step, of which there may be a whole cluster.
	if err := p.sched.Cache.UpdateSnapshot(logger, snapshot); err != nil {
		return nil, err
	}
	answer := &placingAnswer{}
	before := cpuTime()
	for _, name := range given.Names {
		info, err := framework.NewPodInfo(given.named(name, ""))
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		if err := p.sched.Cache.UpdateSnapshot(logger, snapshot); err != nil {
			return nil, err
		}
		placed, err := p.sched.SchedulePod(ctx, profile, framework.NewCycleState(), &framework.QueuedPodInfo{PodInfo: info})
		var unfit *framework.FitError
		if err != nil && !errors.As(err, &unfit) {
			return nil, err
		}
		assumed := given.named(name, placed.SuggestedHost)
		if unfit == nil {
			if err := p.sched.Cache.AssumePod(logger, assumed); err != nil {
				return nil, err
			}
		}
		answer.Nanoseconds = append(answer.Nanoseconds, time.Since(begun).Nanoseconds())
		answer.Nodes = append(answer.Nodes, placed.SuggestedHost)
		answer.Evaluated += placed.EvaluatedNodes
		if unfit == nil {
			if err := p.sched.Cache.AddPod(logger, assumed); err != nil {
				return nil, err
			}
		}
	}
	answer.CPUNanoseconds = cpuTime() - before
	answer.ResidentBytes = resident()
	return answer, nil
}

func cpuTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
