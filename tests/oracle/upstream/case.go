package main

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// A testCase is a cluster as the API server holds it, and one pod to place.
type testCase struct {
	// Config is a KubeSchedulerConfiguration. The profile with the pod's scheduler name is used.
	Config json.RawMessage `json:"config"`
	// FeatureGates differ from their defaults.
	FeatureGates map[string]bool `json:"featureGates"`

	Nodes      []*corev1.Node      `json:"nodes"`
	Namespaces []*corev1.Namespace `json:"namespaces"`
	// Pods are on nodes, or nominated to one by their status.
	Pods                   []*corev1.Pod                   `json:"pods"`
	Services               []*corev1.Service               `json:"services"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets"`
	DisruptionBudgets      []*policyv1.PodDisruptionBudget `json:"disruptionBudgets"`

	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims"`

	// Pod is the one to place.
	Pod *corev1.Pod `json:"pod"`
}

// An answer is what upstream's plugins say. Nodes that pass have no verdict.
type answer struct {
	// Error tells why there is no answer, such as a configuration that is refused.
	Error string `json:"error,omitempty"`
	// Failure is an internal failure that would end the attempt.
	Failure string `json:"failure,omitempty"`
	// OtherFailures are those of other nodes. With several workers any of them may end the attempt.
	OtherFailures []string `json:"otherFailures,omitempty"`
	// PreFilter is there when the pod is turned away as a whole.
	PreFilter *verdict `json:"preFilter,omitempty"`
	// Restricted are the nodes that pre-filters leave, if they name any.
	Restricted *[]string `json:"restricted,omitempty"`
	// Verdicts are there for nodes that do not pass.
	Verdicts map[string]*verdict `json:"verdicts,omitempty"`
	// FitError is what users read when no node passes.
	FitError string `json:"fitError,omitempty"`
	// Rejectors are the plugins that turned the pod away when no node passes.
	Rejectors []string `json:"rejectors,omitempty"`
	// Scores by plugin and node; plugins that were skipped have none.
	Scores map[string]map[string]score `json:"scores"`
	// Totals by node.
	Totals map[string]int64 `json:"totals"`
	// Volumes are what would be done about the pod's volumes on each node that passes.
	Volumes map[string]*volumes `json:"volumes,omitempty"`
}

// volumes are what is done about a pod's volumes on one node; empty when all are bound.
type volumes struct {
	// Failure is there when they cannot be reserved.
	Failure string `json:"failure,omitempty"`
	// Bound are the claims that get a volume that is there, by its name.
	Bound map[string]string `json:"bound,omitempty"`
	// Provisioned are the claims for which volumes are to be made.
	Provisioned []string `json:"provisioned,omitempty"`
}

type verdict struct {
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
	Plugin  string   `json:"plugin"`
}

type score struct {
	Raw        int64 `json:"raw"`
	Normalised int64 `json:"normalised"`
	Weighted   int64 `json:"weighted"`
}
