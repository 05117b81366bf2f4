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
}

func newBench() *bench {
	return &bench{
		client:   fake.NewSimpleClientset(),
		recorder: metrics.NewMetricsAsyncRecorder(1, time.Hour, make(chan struct{})),
	}
}

func (b *bench) answer(line []byte) (result *answer) {
	defer func() {
		if cause := recover(); cause != nil {
			result = &answer{Error: fmt.Sprintf("panic: %v\n%s", cause, debug.Stack())}
		}
	}()
	judged, err := b.judge(line)
	if err != nil {
		return &answer{Error: err.Error()}
	}
	return judged
}

func (b *bench) judge(line []byte) (*answer, error) {
	var given testCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, fmt.Errorf("reading the case: %w", err)
	}
	if err := b.setGates(given.FeatureGates); err != nil {
		return nil, err
	}
	profile, err := decodeProfile(given.Config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	attempt, err := newAttempt(ctx, b, &given, profile)
	if err != nil {
		return nil, err
	}
	return attempt.run(ctx)
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

// decodeProfile reads a configuration as kube-scheduler does, defaults and strictness included.
func decodeProfile(text []byte) (*config.KubeSchedulerProfile, error) {
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	decoded, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok || len(decoded.Profiles) == 0 {
		return nil, fmt.Errorf("configuration: %T without a profile", object)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(decoded); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return &decoded.Profiles[0], nil
}
