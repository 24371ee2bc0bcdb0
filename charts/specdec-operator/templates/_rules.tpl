{{/* What the operator does with the objects of the namespaces that it watches. */}}
{{- define "specdec.rules.services" -}}
# The operator reads no Secret, and changes none of your specs except the speculative flags of an InferenceService whose
# owner permits it. Downloads and baseline pods need two more roles, which nobody gets who does not ask for them.
- apiGroups: [serving.specdec.io]
  resources: [speculativeinferenceservices]
  verbs: [list, watch, patch] # patch: takes off the finalizer that older versions put there
- apiGroups: [serving.specdec.io]
  resources: [speculativeinferenceservices/status]
  verbs: [patch]
- apiGroups: [serving.specdec.io]
  resources: [speculativeinferenceservices/finalizers]
  verbs: [update] # blockOwnerDeletion in the InferenceService's owner reference
- apiGroups: [serving.kserve.io]
  resources: [inferenceservices]
  verbs: [get, list, watch, create, patch] # get: whose it is, before the first write of a name
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create] # a pod far below its siblings is restarted, as far as budgets allow
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, create, patch, delete] # that of a service with several replicas
- apiGroups: [""]
  resources: [events]
  verbs: [create, list] # list: the kubelet's words about a pod whose volumes do not mount
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get] # whose the claim is that downloads went into; making one is another role
{{- end }}

{{/* What it reads of the cluster, whichever namespaces it watches. */}}
{{- define "specdec.rules.cluster" -}}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch] # asked for only by an operator of some namespaces, not of the whole cluster
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [get, list, watch] # KServe's may arrive later; it also tells which KServe that is
- apiGroups: [serving.kserve.io]
  resources: [clusterstoragecontainers]
  verbs: [list] # whether KServe's download container takes several URIs
{{- if .Values.rbac.nodes }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list] # labels alone: how much memory the devices have that a pod may get
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [inferenceservice-config]
  verbs: [get] # KServe's: how it serves oci://, and the image that downloads
- apiGroups: [apps]
  resources: [deployments]
  resourceNames: [kserve-controller-manager]
  verbs: [get] # which KServe that is
{{- end }}

{{- define "specdec.rules.downloads" -}}
# For staging.mode PersistentVolumeClaim only. Whoever makes Jobs can run anything as any service account of a namespace:
# nobody is granted this who does not ask for it.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [create, patch]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, create, patch, delete]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get] # of its own download Jobs: how far they are. RBAC cannot limit it to them
{{- end }}

{{/* The dial. rbac-dial.yaml has the policy that holds this right to one annotation. */}}
{{- define "specdec.rules.dial" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [patch] # annotation specdec.io/dial alone
{{- end }}

{{/* Whether this cluster can hold a right to it: ValidatingAdmissionPolicies are stable since then. */}}
{{- define "specdec.hasPolicies" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{/* Whether the operator gets that right: never without the policy. An older release's values may have no rbac.dial. */}}
{{- define "specdec.dial" -}}
{{- if and .Values.rbac.create .Values.rbac.dial (include "specdec.hasPolicies" .) }}true{{ end }}
{{- end }}

{{/* Of every service of a namespace. */}}
{{- define "specdec.rules.control" -}}
# For guard.control only. Whoever makes Deployments can run anything as any service account of a namespace: nobody is granted
# this who does not ask for it.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, create, patch, delete]
{{- end }}

{{/* Of these services alone: a list of their names. The operator creates by server-side apply, whose request has the name. */}}
{{- define "specdec.rules.controlByName" -}}
- apiGroups: [apps]
  resources: [deployments]
  resourceNames: [{{ range $index, $name := . }}{{ if $index }}, {{ end }}{{ $name }}-predictor{{ end }}]
  verbs: [get] # KServe's, which the baseline pods are a copy of
- apiGroups: [apps]
  resources: [deployments]
  resourceNames: [{{ range $index, $name := . }}{{ if $index }}, {{ end }}{{ $name }}-predictor-plain{{ end }}]
  verbs: [get, create, patch, delete]
{{- end }}

{{/* A role with its binding: dict "root" $ "name" .. "rules" .. "account" .. "namespace" .. (empty: for the cluster). */}}
{{- define "specdec.role" -}}
{{- $kind := ternary "Role" "ClusterRole" (ne .namespace "") -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "specdec.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
rules:
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "specdec.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .root.Release.Namespace }}
{{- end }}
