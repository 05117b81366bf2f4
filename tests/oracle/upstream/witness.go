package main

import (
	"context"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// asked is how often two candidates are put side by side, either of them first, to see whether chance decides. Of two
// that are equal the first is taken seven times in eight.
const asked = 12

// A preemptionWitness notes what the preemption plugin of a profile does, and takes chance out of it: all nodes are
// tried, from the first, and of pods that are equally important the one that was there first counts as more so.
type preemptionWitness struct {
	preemption.Interface
	plugin     *defaultpreemption.DefaultPreemption
	before     fwk.NodeToStatusReader
	tried      map[string]*tried
	candidates []preemption.Candidate
	evicted    []string
}

// watchPreemption returns nothing where there is no such plugin.
func watchPreemption(profile framework.Framework, given *testCase, before fwk.NodeToStatusReader) *preemptionWitness {
	for _, extension := range profile.EnqueueExtensions() {
		plugin, ok := extension.(*defaultpreemption.DefaultPreemption)
		if !ok {
			continue
		}
		seen := &preemptionWitness{
			Interface: plugin.Evaluator.Interface,
			plugin:    plugin,
			before:    before,
			tried:     map[string]*tried{},
		}
		plugin.Evaluator.Interface = seen
		plugin.Executor.PreemptPod = seen.evict
		plugin.MoreImportantPod = inOrder(given.Pods)
		return seen
	}
	return nil
}

// inOrder tells apart pods that upstream's rule does not, which is how a stable sort has them.
func inOrder(pods []*corev1.Pod) defaultpreemption.MoreImportantPodFunc {
	places := map[types.UID]int{}
	for at, pod := range pods {
		places[pod.UID] = at
	}
	return func(one, other *corev1.Pod) bool {
		// Without a start time it is now, and that is later the second time.
		unstarted := one.Status.StartTime == nil && other.Status.StartTime == nil
		if !unstarted || corev1helpers.PodPriority(one) != corev1helpers.PodPriority(other) {
			if util.MoreImportantPod(one, other) {
				return true
			}
			if util.MoreImportantPod(other, one) {
				return false
			}
		}
		return places[one.UID] < places[other.UID]
	}
}

func (w *preemptionWitness) GetOffsetAndNumCandidates(nodes int32) (int32, int32) { return 0, nodes }

func (w *preemptionWitness) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget) ([]*corev1.Pod, int, *fwk.Status) {
	name, lower := node.Node().Name, 0
	for _, there := range node.GetPods() {
		if corev1helpers.PodPriority(there.GetPod()) < corev1helpers.PodPriority(pod) {
			lower++
		}
	}
	victims, violations, status := w.Interface.SelectVictimsOnNode(ctx, state, pod, node, budgets)
	w.tried[name] = &tried{
		Victims:    uids(victims),
		Violations: violations,
		Code:       status.Code().String(),
		Text:       status.Message(),
		Lower:      lower,
		Before:     w.before.Get(name).Message(),
	}
	if status.IsSuccess() && len(victims) > 0 {
		found := &extenderv1.Victims{Pods: victims, NumPDBViolations: int64(violations)}
		w.candidates = append(w.candidates, &nodeAndVictims{name: name, victims: found})
	}
	return victims, violations, status
}

func (w *preemptionWitness) evict(_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor, victim *corev1.Pod, _ string) error {
	w.evicted = append(w.evicted, string(victim.UID))
	return nil
}

// best asks for the choice between the node that was chosen and each other again and again.
func (w *preemptionWitness) best(ctx context.Context, result *fwk.PostFilterResult) ([]string, int) {
	if result == nil || result.NominatingInfo == nil || result.NominatedNodeName == "" {
		return nil, 0
	}
	chosen := slices.IndexFunc(w.candidates, func(candidate preemption.Candidate) bool {
		return candidate.Name() == result.NominatedNodeName
	})
	if chosen < 0 {
		return nil, 0
	}
	best := []string{result.NominatedNodeName}
	for at, other := range w.candidates {
		if at != chosen && w.equal(ctx, w.candidates[chosen], other) {
			best = append(best, other.Name())
		}
	}
	slices.Sort(best)
	return best, w.decided()
}

func (w *preemptionWitness) equal(ctx context.Context, chosen, other preemption.Candidate) bool {
	for range asked {
		for _, both := range [][]preemption.Candidate{{other, chosen}, {chosen, other}} {
			if w.plugin.Evaluator.SelectCandidate(ctx, both).Name() == other.Name() {
				return true
			}
		}
	}
	return false
}

// decided tells which of the documented rules left one candidate. Nothing is compared by it: it is counted.
func (w *preemptionWitness) decided() int {
	rules := []func(*extenderv1.Victims) int64{
		func(found *extenderv1.Victims) int64 { return found.NumPDBViolations },
		func(found *extenderv1.Victims) int64 { return int64(corev1helpers.PodPriority(found.Pods[0])) },
		func(found *extenderv1.Victims) int64 {
			sum := int64(0)
			for _, pod := range found.Pods {
				sum += int64(corev1helpers.PodPriority(pod)) + math.MaxInt32 + 1
			}
			return sum
		},
		func(found *extenderv1.Victims) int64 { return int64(len(found.Pods)) },
		func(found *extenderv1.Victims) int64 { return -util.GetEarliestPodStartTime(found).Unix() },
	}
	left := slices.Clone(w.candidates)
	if len(left) < 2 {
		return 0
	}
	for at, rule := range rules {
		least := int64(math.MaxInt64)
		for _, candidate := range left {
			least = min(least, rule(candidate.Victims()))
		}
		left = slices.DeleteFunc(left, func(candidate preemption.Candidate) bool {
			return rule(candidate.Victims()) != least
		})
		if len(left) < 2 {
			return at + 1
		}
	}
	return len(rules) + 1
}

type nodeAndVictims struct {
	name    string
	victims *extenderv1.Victims
}

func (c *nodeAndVictims) Name() string { return c.name }

func (c *nodeAndVictims) Victims() *extenderv1.Victims { return c.victims }

func uids(pods []*corev1.Pod) []string {
	var uids []string
	for _, pod := range pods {
		uids = append(uids, string(pod.UID))
	}
	return uids
}
