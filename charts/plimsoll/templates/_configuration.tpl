{{/* The file of --config. */}}

{{/* The part that only a start can change. */}}
{{- define "plimsoll.startedWith" -}}
clientConnection:
  qps: {{ .Values.clientConnection.qps }}
  burst: {{ int .Values.clientConnection.burst }}
enableProfiling: {{ .Values.enableProfiling }}
{{- with .Values.tracing }}
{{- if or .endpoint (not (kindIs "invalid" .samplingRatePerMillion)) }}
tracing:
  {{- with .endpoint }}
  endpoint: {{ . | quote }}
  {{- end }}
  {{- if not (kindIs "invalid" .samplingRatePerMillion) }}
  samplingRatePerMillion: {{ int .samplingRatePerMillion }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "plimsoll.configuration" -}}
apiVersion: plimsoll.dev/v1alpha1
kind: SchedulerConfiguration
{{ include "plimsoll.startedWith" . }}
{{- if not (kindIs "invalid" .Values.percentageOfNodesToScore) }}
percentageOfNodesToScore: {{ int .Values.percentageOfNodesToScore }}
{{- end }}
podInitialBackoffSeconds: {{ int64 .Values.podInitialBackoffSeconds }}
podMaxBackoffSeconds: {{ int64 .Values.podMaxBackoffSeconds }}
{{- with .Values.extenders }}
extenders:
  {{- toYaml . | nindent 2 }}
{{- end }}
profiles:
  {{- include "plimsoll.profiles" . | nindent 2 }}
{{- end -}}

{{/*
Replicas take a changed file over while they run, and what they lead for stands in their arguments. So a file belongs to one
mode and Lease: with another name, replicas of before an upgrade never see what is meant for those after it.
*/}}
{{- define "plimsoll.configMapName" -}}
{{- if .Values.existingConfigMap.name -}}
{{- .Values.existingConfigMap.name -}}
{{- else -}}
{{- $owner := printf "%s %s" .Values.mode (include "plimsoll.lease" .) | sha256sum | trunc 8 -}}
{{- printf "%s-%s" (include "plimsoll.fullname" .) $owner -}}
{{- end -}}
{{- end -}}
