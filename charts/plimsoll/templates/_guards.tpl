{{/* Refuses what would make two schedulers fight, or pods wait for nobody. */}}

{{- define "plimsoll.guards" -}}
{{- include "plimsoll.guardMode" . -}}
{{- include "plimsoll.guardElection" . -}}
{{- include "plimsoll.guardNames" . -}}
{{- include "plimsoll.guardExtraArgs" . -}}
{{- include "plimsoll.guardChoices" . -}}
{{- include "plimsoll.guardOtherReplicas" . -}}
{{- include "plimsoll.guardKubeScheduler" . -}}
{{- end -}}

{{- define "plimsoll.guardMode" -}}
{{- if eq .Values.mode "shadow" -}}
{{- fail "mode=shadow is not there yet: this version of Plimsoll cannot decide without binding. Use mode=second to try it on pods that ask for it by schedulerName" -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.guardElection" -}}
{{- if not .Values.leaderElection.enabled -}}
{{- if eq .Values.mode "replacement" -}}
{{- fail "leaderElection.enabled=false with mode=replacement: kube-scheduler and Plimsoll would both schedule the pods of default-scheduler. Leave leader election on" -}}
{{- end -}}
{{- if gt (int .Values.replicaCount) 1 -}}
{{- fail (printf "leaderElection.enabled=false with replicaCount=%d: every replica would schedule. Leave leader election on, or set replicaCount=1" (int .Values.replicaCount)) -}}
{{- end -}}
{{- else -}}
{{- $lease := include "plimsoll.lease" . -}}
{{- if and (eq .Values.mode "replacement") (ne $lease "kube-system/kube-scheduler") -}}
{{- fail (printf "mode=replacement with the Lease %s: kube-scheduler holds kube-system/kube-scheduler, and both would schedule the pods of default-scheduler. Leave leaderElection.resourceName and resourceNamespace alone" $lease) -}}
{{- end -}}
{{- if and (eq .Values.mode "second") (has $lease (list "kube-system/kube-scheduler" "kube-system/kube-controller-manager" "kube-system/cloud-controller-manager")) -}}
{{- fail (printf "mode=second with the Lease %s: it is another component's, and only one of both would ever work. Give leaderElection.resourceName another value, or use mode=replacement" $lease) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.guardNames" -}}
{{- $names := include "plimsoll.schedulerNames" . | fromJsonArray -}}
{{- if and (eq .Values.mode "second") (has "default-scheduler" $names) -}}
{{- fail "mode=second with a profile for default-scheduler: kube-scheduler schedules those pods, and both would. Give each profile a schedulerName of its own, or use mode=replacement" -}}
{{- end -}}
{{- if and (eq .Values.mode "replacement") $names (not (has "default-scheduler" $names)) -}}
{{- fail "mode=replacement without a profile for default-scheduler: while Plimsoll leads, nobody would schedule those pods. Add a profile with schedulerName: default-scheduler" -}}
{{- end -}}
{{- end -}}

{{/* A flag that stands for a value would undo what is checked here. Words of flags may be parted by _ as well. */}}
{{- define "plimsoll.guardExtraArgs" -}}
{{- $values := dict
  "config" "profiles or existingConfigMap"
  "write-config-to" "nothing: the process would end"
  "policy-config-file" "profiles (see docs/policy.md)"
  "policy-configmap" "profiles (see docs/policy.md)"
  "kubeconfig" "nothing: it has no effect beside a configuration file"
  "kube-api-qps" "clientConnection.qps"
  "kube-api-burst" "clientConnection.burst"
  "feature-gates" "featureGates"
  "secure-port" "securePort"
  "tls-cert-file" "tls"
  "tls-private-key-file" "tls"
  "logging-format" "logging.format"
  "v" "logging.verbosity" -}}
{{- range .Values.extraArgs -}}
{{- $flag := regexReplaceAll "^-+|=.*$" . "" | replace "_" "-" -}}
{{- if hasPrefix "leader-elect" $flag -}}
{{- fail (printf "extraArgs has --%s: use leaderElection" $flag) -}}
{{- end -}}
{{- with get $values $flag -}}
{{- fail (printf "extraArgs has --%s: use %s" $flag .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Two ways to say one thing. */}}
{{- define "plimsoll.guardChoices" -}}
{{- if and .Values.existingConfigMap.name .Values.profiles -}}
{{- fail "existingConfigMap.name and profiles are both set: the ConfigMap is the whole configuration. Leave one out" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled .Values.metrics.podMonitor.enabled -}}
{{- fail "metrics.serviceMonitor.enabled and metrics.podMonitor.enabled are both set: everything would be counted twice. Leave one out" -}}
{{- end -}}
{{- if and .Values.tls.existingSecret .Values.tls.certManager.enabled -}}
{{- fail "tls.existingSecret and tls.certManager.enabled are both set. Leave one out" -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.issuerRef.name is missing: name the issuer" -}}
{{- end -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create=false without serviceAccount.name: name the account that there is" -}}
{{- end -}}
{{- end -}}

{{/*
Replicas for the same pods have to share the Lease: those of another release, and those that an upgrade replaces one by one.
Only a cluster can tell of them.
*/}}
{{- define "plimsoll.guardOtherReplicas" -}}
{{- $names := include "plimsoll.schedulerNames" . | fromJsonArray -}}
{{- $lease := include "plimsoll.lease" . -}}
{{- range (lookup "apps/v1" "Deployment" "" "").items -}}
{{- $namespace := .metadata.namespace -}}
{{- $about := .metadata.annotations | default dict -}}
{{- $own := and (eq $namespace $.Release.Namespace) (eq .metadata.name (include "plimsoll.fullname" $)) -}}
{{- $same := eq $lease (get $about "plimsoll.dev/lease") -}}
{{- if not (or (eq (int .spec.replicas) 0) (and $same $lease) (and $same $own)) -}}
{{- range splitList "," (get $about "plimsoll.dev/scheduler-names") -}}
{{- if and (has . $names) $own -}}
{{- fail (printf "the Lease would change from %q to %q while replicas on the old one still schedule the pods of %s, and both would. Set replicaCount=0 with the values of before, then upgrade" (get $about "plimsoll.dev/lease") $lease .) -}}
{{- else if has . $names -}}
{{- fail (printf "another Plimsoll, in the namespace %s, schedules the pods of %s as well, under another Lease. Give the profile another schedulerName" $namespace .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A kube-scheduler without leader election asks for no Lease, so that sharing it keeps nobody apart. Only a cluster can tell. */}}
{{- define "plimsoll.guardKubeScheduler" -}}
{{- if and (eq .Values.mode "replacement") (not .Values.replacement.kubeSchedulerAbsent) (lookup "v1" "Namespace" "" "kube-system") -}}
{{- if not (lookup "coordination.k8s.io/v1" "Lease" "kube-system" "kube-scheduler") -}}
{{- fail "mode=replacement, but nobody ever held the Lease kube-system/kube-scheduler here: kube-scheduler runs without leader election (as in k3s) and would schedule the same pods, or it does not run at all. In the latter case set replacement.kubeSchedulerAbsent=true" -}}
{{- end -}}
{{- end -}}
{{- end -}}
