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

{{/*
The variables of the proxy, of the certificates, and env. Neither the API server of the own cluster nor a
service at a link-local address, which tells an identity, is behind the proxy.
*/}}
{{- define "shopfleet.env" -}}
{{- $env := list -}}
{{- with .Values.proxy.http }}{{ $env = append $env (dict "name" "HTTP_PROXY" "value" .) }}{{ end -}}
{{- with .Values.proxy.https }}{{ $env = append $env (dict "name" "HTTPS_PROXY" "value" .) }}{{ end -}}
{{- if or .Values.proxy.http .Values.proxy.https }}
{{- $direct := concat (list "$(KUBERNETES_SERVICE_HOST)" "169.254.0.0/16" "fd00:ec2::/32" ".svc") .Values.proxy.except -}}
{{- $env = append $env (dict "name" "NO_PROXY" "value" (join "," $direct)) -}}
{{- end -}}
{{- if .Values.trustedCertificates.configMap }}
{{- $env = append $env (dict "name" "SSL_CERT_FILE" "value" (printf "/etc/shopfleet/certificates/%s" .Values.trustedCertificates.key)) -}}
{{- end -}}
{{- toYaml (concat $env .Values.env) -}}
{{- end -}}

{{/* Adds the volume of the certificates and those of extraVolumes. */}}
{{- define "shopfleet.volumes" -}}
{{- $volumes := .values.extraVolumes -}}
{{- $mounts := .values.extraVolumeMounts -}}
{{- with .values.trustedCertificates.configMap }}
{{- $volumes = append $volumes (dict "name" "trusted-certificates" "configMap" (dict "name" .)) -}}
{{- $mounts = append $mounts (dict "name" "trusted-certificates" "mountPath" "/etc/shopfleet/certificates" "readOnly" true) -}}
{{- end -}}
{{- with $volumes }}{{ $_ := set $.pod "volumes" . }}{{ end -}}
{{- with $mounts }}{{ $_ := set $.container "volumeMounts" . }}{{ end -}}
{{- end -}}

{{- define "shopfleet.ServiceAccount" -}}
{{- with .root.Values.serviceAccount.annotations }}{{ $_ := set $.object.metadata "annotations" . }}{{ end -}}
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
{{- with $v.prometheusRule.runbookURL }}{{ $args = append $args (printf "--runbook-url=%s" .) }}{{ end -}}
{{- $_ := set $container "args" (concat $args $v.extraArgs) -}}
{{- $_ := set $container "env" (concat $container.env (include "shopfleet.env" .root | fromYamlArray)) -}}
{{- include "shopfleet.volumes" (dict "values" $v "pod" $pod "container" $container) -}}
{{- with $v.minReadySeconds }}{{ $_ := set $spec "minReadySeconds" (int .) }}{{ end -}}
{{- with $v.deploymentAnnotations }}{{ $_ := set $.object.metadata "annotations" . }}{{ end -}}
{{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- with get $v $key }}{{ $_ := set $pod $key . }}{{ end -}}
{{- end -}}
{{- range $key, $id := $v.podSecurityContext }}{{ $_ := set $pod.securityContext $key (int64 $id) }}{{ end -}}
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
{{- if .root.Values.networkPolicy.metadataService }}
{{- $to := list (dict "ipBlock" (dict "cidr" "169.254.0.0/16")) (dict "ipBlock" (dict "cidr" "fd00:ec2::/32")) -}}
{{- $rule := dict "to" $to "ports" (list (dict "port" 80 "protocol" "TCP") (dict "port" 988 "protocol" "TCP")) -}}
{{- $_ := set .object.spec "egress" (append .object.spec.egress $rule) -}}
{{- end -}}
{{- end -}}

{{- define "shopfleet.ServiceMonitor" -}}
{{- $v := .root.Values.serviceMonitor -}}
{{- $_ := set (first .object.spec.endpoints) "interval" $v.interval -}}
{{- $_ := set .object.metadata "labels" (merge (dict) $v.labels .object.metadata.labels) -}}
{{- end -}}

{{/* The page that the alerts link to: prometheusRule.runbookURL, or that of the version. */}}
{{- define "shopfleet.runbook" -}}
{{- $tree := ternary "main" .Chart.AppVersion (eq .Chart.AppVersion "v0.0.0-dev") -}}
{{- .Values.prometheusRule.runbookURL | default (printf "%s/blob/%s/hub/RUNBOOK.md" .Chart.Home $tree) -}}
{{- end -}}

{{- define "shopfleet.PrometheusRule" -}}
{{- $runbook := include "shopfleet.runbook" .root -}}
{{- range .object.spec.groups }}{{ range .rules }}
{{- with .annotations }}{{ $_ := set . "runbook_url" (regexReplaceAll "^[^#]*" .runbook_url $runbook) }}{{ end -}}
{{- end }}{{ end -}}
{{- $_ := set .object.metadata "labels" (merge (dict) .root.Values.prometheusRule.labels .object.metadata.labels) -}}
{{- end -}}

{{/* Returns yes if the values enable the kind of the object. */}}
{{- define "shopfleet.wanted" -}}
{{- $switches := dict "PodDisruptionBudget" .root.Values.podDisruptionBudget "NetworkPolicy" .root.Values.networkPolicy "ServiceMonitor" .root.Values.serviceMonitor "PrometheusRule" .root.Values.prometheusRule -}}
{{- with get $switches .object.kind }}{{ if .enabled }}yes{{ end }}{{ else }}yes{{ end -}}
{{- end -}}
