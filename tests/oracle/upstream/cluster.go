package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// takeSnapshot fills a scheduler cache in the way the informers do, and takes the snapshot that a cycle would see.
func takeSnapshot(ctx context.Context, given *testCase) (*internalcache.Snapshot, internalcache.Cache, error) {
	logger := klog.FromContext(ctx)
	filled := internalcache.New(ctx, nil, false)
	for _, node := range given.Nodes {
		filled.AddNode(logger, node)
	}
	for _, pod := range given.Pods {
		if pod.Spec.NodeName == "" || isFinished(pod) {
			continue
		}
		if err := filled.AddPod(logger, pod); err != nil {
			return nil, nil, err
		}
	}
	snapshot := internalcache.NewEmptySnapshot()
	return snapshot, filled, filled.UpdateSnapshot(logger, snapshot)
}

// isFinished tells pods that the scheduler's informer does not list.
func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// fillListers gives the plugins' listers their objects without any informer running.
func fillListers(factory informers.SharedInformerFactory, given *testCase) error {
	core, apps := factory.Core().V1(), factory.Apps().V1()
	if err := fill(core.Namespaces().Informer(), given.Namespaces); err != nil {
		return err
	}
	if err := fill(core.Services().Informer(), given.Services); err != nil {
		return err
	}
	if err := fill(core.ReplicationControllers().Informer(), given.ReplicationControllers); err != nil {
		return err
	}
	if err := fill(apps.ReplicaSets().Informer(), given.ReplicaSets); err != nil {
		return err
	}
	if err := fill(apps.StatefulSets().Informer(), given.StatefulSets); err != nil {
		return err
	}
	return fillStorage(factory, given)
}

func fillStorage(factory informers.SharedInformerFactory, given *testCase) error {
	core, storage := factory.Core().V1(), factory.Storage().V1()
	return errors.Join(
		fill(storage.StorageClasses().Informer(), given.StorageClasses),
		fill(storage.CSIDrivers().Informer(), given.CSIDrivers),
		fill(storage.CSINodes().Informer(), given.CSINodes),
		fill(storage.CSIStorageCapacities().Informer(), given.CSIStorageCapacities),
		fill(storage.VolumeAttachments().Informer(), given.VolumeAttachments),
		fill(core.PersistentVolumes().Informer(), given.PersistentVolumes),
		fill(core.PersistentVolumeClaims().Informer(), given.PersistentVolumeClaims),
	)
}

func fill[T any](informer cache.SharedIndexInformer, objects []T) error {
	for _, object := range objects {
		if err := informer.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

// nominations answers which pods are nominated to a node; nobody changes them during a case.
type nominations map[string][]fwk.PodInfo

func nominationsOf(given *testCase) (nominations, error) {
	nominated := nominations{}
	for _, pod := range given.Pods {
		node := pod.Status.NominatedNodeName
		if pod.Spec.NodeName != "" || node == "" || isFinished(pod) {
			continue
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		nominated[node] = append(nominated[node], info)
	}
	return nominated, nil
}

func (n nominations) NominatedPodsForNode(node string) []fwk.PodInfo { return n[node] }

func (n nominations) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}

func (n nominations) DeleteNominatedPodIfExists(*corev1.Pod) {}

func (n nominations) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo) {}
