{{/* What follows from the mode: profiles, scheduler names, the Lease. */}}

{{/* The profiles that the chart writes, as YAML. */}}
{{- define "plimsoll.profiles" -}}
{{- if .Values.profiles -}}
{{- toYaml .Values.profiles -}}
{{- else if eq .Values.mode "replacement" -}}
- schedulerName: default-scheduler
{{- else -}}
- schedulerName: plimsoll
{{- end -}}
{{- end -}}

{{/* All profiles as far as they are known here, as a JSON list: of an existing ConfigMap, if the cluster can be asked. */}}
{{- define "plimsoll.knownProfiles" -}}
{{- $known := list -}}
{{- if .Values.existingConfigMap.name -}}
{{- $found := lookup "v1" "ConfigMap" .Release.Namespace .Values.existingConfigMap.name -}}
{{- $file := dig "data" .Values.existingConfigMap.key "" $found -}}
{{- if $file -}}
{{- $config := fromYaml $file -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "ConfigMap %s has no YAML under %s: %s" .Values.existingConfigMap.name .Values.existingConfigMap.key $config.Error) -}}
{{- end -}}
{{- $known = $config.profiles | default (list (dict "schedulerName" "default-scheduler")) -}}
{{- end -}}
{{- else -}}
{{- $known = include "plimsoll.profiles" . | fromYamlArray -}}
{{- end -}}
{{- toJson $known -}}
{{- end -}}

{{/* The scheduler names of those, as a JSON list. A profile without one has the default's. */}}
{{- define "plimsoll.schedulerNames" -}}
{{- $names := list -}}
{{- range include "plimsoll.knownProfiles" . | fromJsonArray -}}
{{- $names = append $names (.schedulerName | default "default-scheduler") -}}
{{- end -}}
{{- uniq $names | toJson -}}
{{- end -}}

{{- define "plimsoll.leaseName" -}}
{{- if .Values.leaderElection.resourceName -}}
{{- .Values.leaderElection.resourceName -}}
{{- else if eq .Values.mode "replacement" -}}
kube-scheduler
{{- else if .Values.existingConfigMap.name -}}
{{- include "plimsoll.fullname" . -}}
{{- else -}}
{{- include "plimsoll.schedulerNames" . | fromJsonArray | first -}}
{{- end -}}
{{- end -}}

{{/* Namespace and name of the Lease; empty when there is no election. */}}
{{- define "plimsoll.lease" -}}
{{- if .Values.leaderElection.enabled -}}
{{- printf "%s/%s" .Values.leaderElection.resourceNamespace (include "plimsoll.leaseName" .) -}}
{{- end -}}
{{- end -}}
