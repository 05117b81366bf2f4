package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// A bench answers cases. What it keeps between them holds no object of any case.
type bench struct {
	client   *fake.Clientset
	recorder *metrics.MetricAsyncRecorder
	gates    map[string]bool
	// cleared are the pods that lost their nomination in this case.
	cleared []string
	// written is what was to be written of volumes and claims since somebody began to look.
	written *volumes
}

func newBench() *bench {
	made := &bench{
		client:   fake.NewSimpleClientset(),
		recorder: metrics.NewMetricsAsyncRecorder(1, time.Hour, make(chan struct{})),
	}
	made.client.PrependReactor("patch", "pods", made.noteCleared)
	made.client.PrependReactor("update", "persistentvolumes", made.noteBound)
	made.client.PrependReactor("update", "persistentvolumeclaims", made.noteProvisioned)
	return made
}

// An answerer answers one line.
type answerer func(ctx context.Context, line []byte) (any, error)

// refusal is the answer when there is none.
type refusal struct {
	Error string `json:"error"`
}

// guarded answers with the reason where there is no answer, panics included.
func guarded(ask answerer, line []byte) (result any) {
	defer func() {
		if cause := recover(); cause != nil {
			result = refusal{Error: fmt.Sprintf("panic: %v\n%s", cause, debug.Stack())}
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answered, err := ask(ctx, line)
	if err != nil {
		return refusal{Error: err.Error()}
	}
	return answered
}

func (b *bench) judge(ctx context.Context, line []byte) (any, error) {
	var given testCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, fmt.Errorf("reading the case: %w", err)
	}
	attempt, err := b.prepare(ctx, &given)
	if err != nil {
		return nil, err
	}
	return attempt.run(ctx)
}

// prepare sets the gates of a case and makes the plugins of its pod's profile.
func (b *bench) prepare(ctx context.Context, given *testCase) (*attempt, error) {
	b.client.ClearActions()
	if err := b.setGates(given.FeatureGates); err != nil {
		return nil, err
	}
	decoded, err := decodeConfig(given.Config)
	if err != nil {
		return nil, err
	}
	for at := range decoded.Profiles {
		if profile := &decoded.Profiles[at]; profile.SchedulerName == given.Pod.Spec.SchedulerName {
			return newAttempt(ctx, b, given, profile)
		}
	}
	return nil, fmt.Errorf("no profile for %q", given.Pod.Spec.SchedulerName)
}

// setGates sets the gates of this case and brings those of the last one back to their defaults.
func (b *bench) setGates(gates map[string]bool) error {
	wanted := map[string]bool{}
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	for name := range b.gates {
		for feature, spec := range known {
			if string(feature) == name {
				wanted[name] = spec.Default
			}
		}
	}
	for name, on := range gates {
		wanted[name] = on
	}
	b.gates = gates
	if len(wanted) == 0 {
		return nil
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(wanted)
}

// decodeConfig reads a configuration as kube-scheduler does, defaults and strictness included.
func decodeConfig(text []byte) (*config.KubeSchedulerConfiguration, error) {
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	decoded, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("configuration: %T", object)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(decoded); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return decoded, nil
}
