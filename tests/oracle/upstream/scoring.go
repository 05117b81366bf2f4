package main

import (
	"context"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// score scores the nodes as kube-scheduler does, also when there is only one.
func (a *attempt) score(ctx context.Context, feasible []fwk.NodeInfo) {
	if status := a.framework.RunPreScorePlugins(ctx, a.state, a.given.Pod, feasible); !status.IsSuccess() {
		a.answer.Failure = status.Message()
		return
	}
	scored, status := a.framework.RunScorePlugins(ctx, a.state, a.given.Pod, feasible)
	if !status.IsSuccess() {
		a.answer.Failure = status.Message()
		return
	}
	a.answer.Scores = map[string]map[string]score{}
	a.answer.Totals = map[string]int64{}
	for at, node := range scored {
		a.answer.Totals[node.Name] = node.TotalScore
		for _, given := range node.Scores {
			if err := a.record(ctx, feasible[at], given); err != nil {
				a.answer.Error = err.Error()
				return
			}
		}
	}
}

// record notes one plugin's score of one node. The framework tells only the weighted one.
func (a *attempt) record(ctx context.Context, node fwk.NodeInfo, given fwk.PluginScore) error {
	plugin, ok := a.plugins[given.Name].(fwk.ScorePlugin)
	weight := a.weights[given.Name]
	if !ok || weight == 0 {
		return fmt.Errorf("plugin %q scores and is not known to", given.Name)
	}
	raw, status := plugin.Score(ctx, a.state, a.given.Pod, node)
	if !status.IsSuccess() {
		return status.AsError()
	}
	nodes := a.answer.Scores[given.Name]
	if nodes == nil {
		nodes = map[string]score{}
		a.answer.Scores[given.Name] = nodes
	}
	nodes[node.Node().Name] = score{Raw: raw, Normalised: given.Score / weight, Weighted: given.Score}
	return nil
}
