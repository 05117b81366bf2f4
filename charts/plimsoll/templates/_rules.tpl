{{/*
What a replica asks the API server for, beside its Lease. Each rule is used, and nothing else is asked for: tests compare these
rules with the API server's audit log.
*/}}

{{- define "plimsoll.rules" -}}
# What is looked at to decide. Pods are also read one by one, when nobody knows what a write came to, and are deleted to make
# room.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, delete]
- apiGroups: [""]
  resources: [nodes, namespaces, services, replicationcontrollers]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [replicasets, statefulsets]
  verbs: [list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, csidrivers, csinodes, csistoragecapacities, volumeattachments]
  verbs: [list, watch]
# Volumes are bound with the pod.
- apiGroups: [""]
  resources: [persistentvolumes, persistentvolumeclaims]
  verbs: [list, watch, patch]
# What comes of it: evictions for profiles with `podDisruptionBudgetPolicy: Hard`.
- apiGroups: [""]
  resources: [pods/binding, pods/eviction]
  verbs: [create]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
# Those about pods, and those about the Lease.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
# Who asks a replica for its metrics, and whether they may.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}
