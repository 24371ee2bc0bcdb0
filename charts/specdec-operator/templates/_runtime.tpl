{{/* The name of the runtime of an accelerator: dict "root" $ "accelerator" .. With other content it has another name: KServe
     would renew every pod of every service whose runtime changes, and a service that changes its runtime waits its turn. */}}
{{- define "specdec.runtimeName" -}}
{{- $env := include (printf "specdec.env.%s" .accelerator) .root }}
{{- $spec := include "specdec.runtimeSpec" (merge (dict "env" $env) .) | fromYaml | toJson }}
{{- default (printf "specdec-%s-%s" .accelerator ($spec | sha256sum | trunc 8)) (index .root.Values.runtimes .accelerator).name }}
{{- end }}

{{/* The names of all runtimes, as the operator is told them. */}}
{{- define "specdec.runtimeNames" -}}
{{- $names := list }}
{{- range tuple "cpu" "nvidia" "ascend" }}
{{- $names = append $names (printf "%s=%s" . (include "specdec.runtimeName" (dict "root" $ "accelerator" .))) }}
{{- end }}
{{- join "," $names }}
{{- end }}

{{/* The images that replace those of this release's runtimes, as the operator is told them; empty without any. */}}
{{- define "specdec.runtimeImages" -}}
{{- $images := list }}
{{- range $each := tuple "cpu" "nvidia" "ascend" }}
{{- with (index $.Values.runtimes $each).image }}
{{- $images = append $images (printf "%s=%s" $each .) }}
{{- end }}
{{- end }}
{{- join "," $images }}
{{- end }}

{{/* A ClusterServingRuntime: dict "root" $ "accelerator" .. "env" .. (more of its environment, as text). */}}
{{- define "specdec.runtime" -}}
{{- if (index .root.Values.runtimes .accelerator).enabled -}}
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata:
  name: {{ include "specdec.runtimeName" . }}
  labels:
    {{- include "specdec.labels" .root | nindent 4 }}
  {{- if .root.Values.runtimes.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
{{ include "specdec.runtimeSpec" . }}
{{- end }}
{{- end }}

{{- define "specdec.runtimeSpec" -}}
spec:
  # A checkpoint in Hugging Face's layout. KServe takes any other format without a storage URI for a multi-model server.
  supportedModelFormats:
  - name: huggingface
    version: "1"
    autoSelect: false
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: "8080"
    prometheus.io/path: /metrics
  containers:
  - name: kserve-container
    image: {{ include "specdec.runtimeImage" . }}
    imagePullPolicy: IfNotPresent
    command: [python3, -m, specdec_runtime, serve]
    args:
    - --port=8080
    - --middleware=specdec_runtime.leaving.Leaving # a pod on its way out lets go of clients that hold a connection
    - --middleware=specdec_runtime.facts.Facts # tells what it saw of the models: the operator plans with it
    env:
    - name: HF_HUB_OFFLINE
      value: "1"
    - name: VLLM_NO_USAGE_STATS
      value: "1"
    {{- with .env }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    # What namespaces of Pod Security's level `restricted` ask for. The user is the image's, 65532; KServe sets another for
    # a Modelcar. Without the profile's system calls vLLM cannot bind memory to a NUMA node, and goes on without.
    securityContext:
      runAsNonRoot: true
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true # the engine writes below /tmp, which is its home and has its caches, and to /dev/shm
      capabilities:
        drop: [ALL]
      seccompProfile:
        type: RuntimeDefault
    ports:
    - containerPort: 8080
      protocol: TCP
    volumeMounts:
    - name: shm
      mountPath: /dev/shm
    - name: specdec-tmp
      mountPath: /tmp
  volumes:
  # vLLM shares 160 MiB and more between its processes; a container's own /dev/shm has 64.
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: 1Gi
  # Without a limit: kernels that an engine compiles at its start take gigabytes.
  - name: specdec-tmp
    emptyDir: {}
{{- end }}
