{{/* How metrics are fetched, and by which labels of theirs they are this release's. */}}

{{- define "plimsoll.endpoint" -}}
port: https
scheme: https
path: /metrics
interval: {{ .interval }}
authorization:
  credentials:
    name: {{ .reader }}
    key: token
tlsConfig:
  # Each replica makes a certificate of its own, or has one that Prometheus need not know.
  insecureSkipVerify: true
{{- end -}}

{{/* Whose token opens /metrics. */}}
{{- define "plimsoll.metricsReader" -}}
{{- printf "%s-metrics" (include "plimsoll.fullname" . | trunc 55 | trimSuffix "-") -}}
{{- end -}}

{{/* The label `job` is the release's name: both monitors take it from app.kubernetes.io/instance. */}}
{{- define "plimsoll.metricSelector" -}}
{{- printf "job=%q,namespace=%q" .Release.Name .Release.Namespace -}}
{{- end -}}
