package main

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// A storageKind is a kind of objects of storage.
type storageKind struct {
	resource fwk.EventResource
	// empty makes an object without content.
	empty func() any
}

var storageKinds = map[string]storageKind{
	"StorageClass":          {fwk.StorageClass, func() any { return &storagev1.StorageClass{} }},
	"CSIDriver":             {fwk.CSIDriver, func() any { return &storagev1.CSIDriver{} }},
	"CSINode":               {fwk.CSINode, func() any { return &storagev1.CSINode{} }},
	"CSIStorageCapacity":    {fwk.CSIStorageCapacity, func() any { return &storagev1.CSIStorageCapacity{} }},
	"VolumeAttachment":      {fwk.VolumeAttachment, func() any { return &storagev1.VolumeAttachment{} }},
	"PersistentVolume":      {fwk.PersistentVolume, func() any { return &corev1.PersistentVolume{} }},
	"PersistentVolumeClaim": {fwk.PersistentVolumeClaim, func() any { return &corev1.PersistentVolumeClaim{} }},
}

func (h *hintCase) decodeStorage() (err error) {
	if h.oldStorage, err = decodeStorage(h.OldStorage); err != nil {
		return err
	}
	h.newStorage, err = decodeStorage(h.NewStorage)
	return err
}

// kindOf reads the kind that an object tells.
func kindOf(text json.RawMessage) (storageKind, error) {
	var named struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return storageKind{}, err
	}
	kind, ok := storageKinds[named.Kind]
	if !ok {
		return storageKind{}, fmt.Errorf("an object of storage is of kind %q", named.Kind)
	}
	return kind, nil
}

// decodeStorage decodes an object; nothing becomes an untyped nil.
func decodeStorage(text json.RawMessage) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	kind, err := kindOf(text)
	if err != nil {
		return nil, err
	}
	object := kind.empty()
	return object, json.Unmarshal(text, object)
}

// storageEvents are those of kube-scheduler's handlers: they look at nothing but what happened.
func (h *hintCase) storageEvents() []fwk.ClusterEvent {
	text, action := h.NewStorage, fwk.Update
	switch {
	case h.oldStorage == nil && h.newStorage == nil:
		return nil
	case h.oldStorage == nil:
		action = fwk.Add
	case h.newStorage == nil:
		text, action = h.OldStorage, fwk.Delete
	}
	// It has been decoded.
	kind, _ := kindOf(text)
	return []fwk.ClusterEvent{{Resource: kind.resource, ActionType: action}}
}
