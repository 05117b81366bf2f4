package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
)

// onAtServer lets pods ask for what only newer nodes support.
const onAtServer = "UserNamespacesHostNetworkSupport"

// validate tells whether the API server would take the nodes, pods, namespaces, budgets and objects of storage of a case.
func (b *bench) validate(_ context.Context, line []byte) (any, error) {
	var given testCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	gates := map[string]bool{onAtServer: true}
	// What is off at the scheduler may be on at the server.
	for name, on := range given.FeatureGates {
		if on {
			gates[name] = true
		}
	}
	if err := b.setGates(gates); err != nil {
		return nil, err
	}
	var problems field.ErrorList
	for _, node := range given.Nodes {
		internal := &core.Node{}
		problems = append(problems, converted(node, internal)...)
		problems = append(problems, validation.ValidateNode(internal)...)
	}
	for _, namespace := range given.Namespaces {
		internal := &core.Namespace{}
		problems = append(problems, converted(namespace, internal)...)
		problems = append(problems, validation.ValidateNamespace(internal)...)
	}
	for _, budget := range given.DisruptionBudgets {
		internal := &policy.PodDisruptionBudget{}
		problems = append(problems, converted(budget, internal)...)
		// A budget keeps a selector that was taken before its values were looked at.
		options := policyvalidation.PodDisruptionBudgetValidationOptions{AllowInvalidLabelValueInSelector: true}
		problems = append(problems, policyvalidation.ValidatePodDisruptionBudget(internal, options)...)
		problems = append(problems, policyvalidation.ValidatePodDisruptionBudgetStatusUpdate(
			internal.Status, policy.PodDisruptionBudgetStatus{}, field.NewPath("status"), policyv1.SchemeGroupVersion)...)
	}
	for _, pod := range append(given.Pods, given.Pod) {
		problems = append(problems, validatePod(pod)...)
	}
	problems = append(problems, validateStorage(&given)...)
	if err := problems.ToAggregate(); err != nil {
		return nil, err
	}
	return &answer{}, nil
}

func validatePod(pod *corev1.Pod) field.ErrorList {
	internal := &core.Pod{}
	if problems := converted(pod, internal); len(problems) > 0 {
		return problems
	}
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	problems := validation.ValidatePodCreate(internal, options)
	for _, problem := range problems {
		problem.Detail += fmt.Sprintf(" (pod %s)", pod.Name)
	}
	return problems
}

// converted applies defaults and converts to the form that is validated.
func converted(external, internal runtime.Object) field.ErrorList {
	legacyscheme.Scheme.Default(external)
	if err := legacyscheme.Scheme.Convert(external, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("object"), err)}
	}
	return nil
}
