package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

func validateStorage(given *testCase) field.ErrorList {
	problems := valid(given.StorageClasses, storagevalidation.ValidateStorageClass)
	problems = append(problems, valid(given.CSIDrivers, storagevalidation.ValidateCSIDriver)...)
	problems = append(problems, valid(given.CSINodes, storagevalidation.ValidateCSINode)...)
	problems = append(problems, valid(given.CSIStorageCapacities, func(capacity *storage.CSIStorageCapacity) field.ErrorList {
		return storagevalidation.ValidateCSIStorageCapacity(capacity, storagevalidation.CSIStorageCapacityValidateOptions{})
	})...)
	problems = append(problems, valid(given.VolumeAttachments, storagevalidation.ValidateVolumeAttachment)...)
	problems = append(problems, valid(given.PersistentVolumes, func(volume *core.PersistentVolume) field.ErrorList {
		return validation.ValidatePersistentVolume(volume, validation.ValidationOptionsForPersistentVolume(volume, nil))
	})...)
	return append(problems, valid(given.PersistentVolumeClaims, func(claim *core.PersistentVolumeClaim) field.ErrorList {
		return validation.ValidatePersistentVolumeClaim(claim, validation.ValidationOptionsForPersistentVolumeClaimCreate())
	})...)
}

// valid asks for each of several objects in the form that is validated.
func valid[E runtime.Object, I any, P interface {
	*I
	runtime.Object
}](objects []E, ask func(P) field.ErrorList) field.ErrorList {
	var problems field.ErrorList
	for _, object := range objects {
		internal := P(new(I))
		found := converted(object, internal)
		if len(found) == 0 {
			found = ask(internal)
		}
		for _, problem := range found {
			problem.Detail += fmt.Sprintf(" (%T)", object)
		}
		problems = append(problems, found...)
	}
	return problems
}
