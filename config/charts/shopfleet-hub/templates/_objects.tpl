{{/*
The objects come from files/, which make generate copies from config/. The templates apply
the values to them. Both charts have the same templates; those of the spoke are copies.
*/}}

{{- define "shopfleet.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The spoke's image, for the hub: spokeImage, or the one next to the hub's. */}}
{{- define "shopfleet.spokeImage" -}}
{{- if .Values.spokeImage -}}
{{ .Values.spokeImage }}
{{- else if regexMatch "(^|/)shopfleet-hub$" .Values.image.repository -}}
{{ regexReplaceAll "hub$" .Values.image.repository "spoke" }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Sets the namespace of an object and of its subjects to the release's. */}}
{{- define "shopfleet.place" -}}
{{- $o := .object -}}
{{- if $o.metadata.namespace }}{{ $_ := set $o.metadata "namespace" .root.Release.Namespace }}{{ end -}}
{{- range $o.subjects }}{{ $_ := set . "namespace" $.root.Release.Namespace }}{{ end -}}
{{- end -}}

{{- define "shopfleet.Deployment" -}}
{{- $v := .root.Values -}}
{{- $spec := .object.spec -}}
{{- $pod := $spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set $spec "replicas" (int $v.replicas) -}}
{{- $_ := set $container "image" (include "shopfleet.image" .root) -}}
{{- $_ := set $container "imagePullPolicy" $v.image.pullPolicy -}}
{{- $_ := set $container "resources" $v.resources -}}
{{- $args := list -}}
{{- $spokeImage := include "shopfleet.spokeImage" .root -}}
{{- range $arg := $container.args }}
{{- if hasPrefix "-v=" $arg }}{{ $arg = printf "-v=%d" (int $v.logLevel) }}{{ end -}}
{{- if hasPrefix "--spoke-image=" $arg }}{{ $arg = printf "--spoke-image=%s" $spokeImage }}{{ end -}}
{{- if hasPrefix "--safe-mode=" $arg }}{{ $arg = printf "--safe-mode=%t" $v.safeMode }}{{ end -}}
{{- $args = append $args $arg -}}
{{- end -}}
{{- if and $v.spokeImage (ne .root.Chart.Name "shopfleet-hub") }}{{ fail "only the chart shopfleet-hub has the value spokeImage" }}{{ end -}}
{{- if $v.profiling }}{{ $args = append $args "--profiling=true" }}{{ end -}}
{{- $_ := set $container "args" (concat $args $v.extraArgs) -}}
{{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- with get $v $key }}{{ $_ := set $pod $key . }}{{ end -}}
{{- end -}}
{{- $meta := $spec.template.metadata -}}
{{- $_ := set $meta "labels" (merge (dict) $meta.labels $v.podLabels) -}}
{{- $_ := set $meta "annotations" (merge (dict) $v.podAnnotations $meta.annotations) -}}
{{- end -}}

{{- define "shopfleet.PodDisruptionBudget" -}}
{{- $_ := set .object.spec "maxUnavailable" .root.Values.podDisruptionBudget.maxUnavailable -}}
{{- end -}}

{{/* The last egress rule of the policy is the one for API servers. */}}
{{- define "shopfleet.NetworkPolicy" -}}
{{- $ports := list -}}
{{- range .root.Values.networkPolicy.apiServerPorts }}{{ $ports = append $ports (dict "port" (int .) "protocol" "TCP") }}{{ end -}}
{{- $_ := set (last .object.spec.egress) "ports" $ports -}}
{{- end -}}

{{- define "shopfleet.ServiceMonitor" -}}
{{- $v := .root.Values.serviceMonitor -}}
{{- $_ := set (first .object.spec.endpoints) "interval" $v.interval -}}
{{- $_ := set .object.metadata "labels" (merge (dict) $v.labels .object.metadata.labels) -}}
{{- end -}}

{{- define "shopfleet.PrometheusRule" -}}
{{- $_ := set .object.metadata "labels" (merge (dict) .root.Values.prometheusRule.labels .object.metadata.labels) -}}
{{- end -}}

{{/* Returns yes if the values enable the kind of the object. */}}
{{- define "shopfleet.wanted" -}}
{{- $switches := dict "PodDisruptionBudget" .root.Values.podDisruptionBudget "NetworkPolicy" .root.Values.networkPolicy "ServiceMonitor" .root.Values.serviceMonitor "PrometheusRule" .root.Values.prometheusRule -}}
{{- with get $switches .object.kind }}{{ if .enabled }}yes{{ end }}{{ else }}yes{{ end -}}
{{- end -}}
