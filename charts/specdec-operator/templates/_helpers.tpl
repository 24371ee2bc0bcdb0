{{- define "specdec.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "specdec.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "specdec.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "specdec.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "specdec.selector" -}}
app.kubernetes.io/name: {{ include "specdec.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "specdec.labels" -}}
{{ include "specdec.selector" . }}
app.kubernetes.io/part-of: specdec-operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "specdec.account" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "specdec.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "specdec.registry" -}}
{{- with .Values.registry }}{{ trimSuffix "/" . }}/{{ end }}
{{- end }}

{{/* The release's digest is not that of another tag. */}}
{{- define "specdec.image" -}}
{{- $digest := default (ternary "" .Values.digests.operator (ne .Values.image.tag "")) .Values.image.digest }}
{{- printf "%s%s:%s" (include "specdec.registry" .) .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- with $digest }}@{{ . }}{{ end }}
{{- end }}

{{/* The image of a runtime, by (dict "root" $ "accelerator" "cpu"). */}}
{{- define "specdec.runtimeImage" -}}
{{- $own := index .root.Values.runtimes .accelerator }}
{{- if $own.image }}
{{- $own.image }}
{{- else }}
{{- printf "%sspecdec-runtime:%s-%s" (include "specdec.registry" .root) .accelerator .root.Chart.AppVersion }}
{{- with index .root.Values.digests .accelerator }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* Empty where the page is seen with port-forward alone. */}}
{{- define "specdec.webIsReachable" -}}
{{- if and .Values.web.enabled (not (has .Values.web.address (list "127.0.0.1" "::1" "localhost"))) }}true{{ end }}
{{- end }}

{{/* The ports at which the operator reaches the Prometheus servers that services may name. */}}
{{- define "specdec.prometheusPorts" -}}
{{- $ports := .Values.networkPolicy.prometheusPorts }}
{{- range .Values.prometheusUrls }}
{{- $host := (urlParse .).host }}
{{- $port := regexFind ":[0-9]+$" $host | trimPrefix ":" }}
{{- $ports = append $ports (default (ternary 443 80 (hasPrefix "https:" .)) (int $port)) }}
{{- end }}
{{- range $ports | uniq }}
- {{ int . }}
{{- end }}
{{- end }}

{{- define "specdec.testNamespace" -}}
{{- default (first (append .Values.namespaces "default")) .Values.test.namespace }}
{{- end }}

{{/* As many as there are shards, or more where that is asked for; 0 stops it. */}}
{{- define "specdec.replicas" -}}
{{- if .Values.replicas }}{{ max .Values.replicas .Values.shards }}{{ else }}0{{ end }}
{{- end }}

{{/* Empty where this replica works, come what may. */}}
{{- define "specdec.usesLease" -}}
{{- if or .Values.leaderElection.enabled (gt (int .Values.shards) 1) }}true{{ end }}
{{- end }}

{{/* The Leases that replicas hold: one, or one for each shard (leadership/shards.py). */}}
{{- define "specdec.leases" -}}
{{- $name := include "specdec.fullname" . }}
{{- if gt (int .Values.shards) 1 }}
{{- range $shard := until (int .Values.shards) }}
- {{ $name }}-{{ $shard }}
{{- end }}
{{- else }}
- {{ $name }}
{{- end }}
{{- end }}

{{/* Where the operator's pods, and those of the hooks, may run. */}}
{{- define "specdec.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* Why these values cannot run, where the schema cannot tell. */}}
{{- define "specdec.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not (include "specdec.usesLease" .)) }}
{{- fail (printf "replicas: %d: two operators without leader election would judge the same windows twice: set leaderElection.enabled=true, or replicas=1" (int .Values.replicas)) }}
{{- end }}
{{- range tuple "cpu" "nvidia" "ascend" }}
{{- $own := index $.Values.runtimes . }}
{{- if and $.Values.digests.operator $own.enabled (not $own.image) (not (index $.Values.digests .)) }}
{{- fail (printf "runtimes.%s.enabled: this release has no image of it: name yours in runtimes.%s.image, or set runtimes.%s.enabled=false" . . .) }}
{{- end }}
{{- end }}
{{- range .Values.rbac.controlServices }}
{{- if $.Values.rbac.control }}
{{- fail (printf "rbac.controlServices: %s: rbac.control=true already covers it: remove one of the two" .) }}
{{- end }}
{{- if and $.Values.namespaces (not (has (first (splitList "/" .)) $.Values.namespaces)) }}
{{- fail (printf "rbac.controlServices: %s: the operator does not watch this namespace: add it to namespaces, or remove the service" .) }}
{{- end }}
{{- end }}
{{- if and .Values.rbac.create (eq (toString .Values.rbac.dial) "true") (not (include "specdec.hasPolicies" .)) }}
{{- fail (printf "rbac.dial: true: Kubernetes %s has no ValidatingAdmissionPolicy, which limits this permission to one annotation: upgrade the cluster to 1.30 or newer, or remove rbac.dial" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and .Values.web.enabled (has (int .Values.web.port) (list 8080 9090)) }}
{{- fail (printf "web.port: %d: health listens at 8080 and metrics at 9090: choose another port" (int .Values.web.port)) }}
{{- end }}
{{- end }}
