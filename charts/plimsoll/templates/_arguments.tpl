{{/* The command line. Flags of the Lease go before the configuration file, so they hold whatever that says. */}}

{{- define "plimsoll.arguments" -}}
- --config=/etc/plimsoll/{{ if .Values.existingConfigMap.name }}{{ .Values.existingConfigMap.key }}{{ else }}config.yaml{{ end }}
{{- with .Values.leaderElection }}
- --leader-elect={{ .enabled }}
{{- if .enabled }}
- --leader-elect-resource-namespace={{ .resourceNamespace }}
- --leader-elect-resource-name={{ include "plimsoll.leaseName" $ }}
- --leader-elect-lease-duration={{ .leaseDuration }}
- --leader-elect-renew-deadline={{ .renewDeadline }}
- --leader-elect-retry-period={{ .retryPeriod }}
{{- end }}
{{- end }}
- --secure-port={{ int .Values.securePort }}
{{- if include "plimsoll.tlsSecret" . }}
- --tls-cert-file=/etc/plimsoll-tls/tls.crt
- --tls-private-key-file=/etc/plimsoll-tls/tls.key
{{- end }}
{{- with .Values.featureGates }}
{{- $gates := list }}
{{- range $gate, $on := . }}
{{- $gates = append $gates (printf "%s=%t" $gate $on) }}
{{- end }}
- --feature-gates={{ join "," $gates }}
{{- end }}
- --logging-format={{ .Values.logging.format }}
- --v={{ int .Values.logging.verbosity }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
