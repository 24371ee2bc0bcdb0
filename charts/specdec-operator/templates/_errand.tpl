{{/* The pod of a hook, in the operator's image: dict "root" $ "account" .. "module" .. "args" (a list). */}}
{{- define "specdec.errand" -}}
serviceAccountName: {{ .account }}
restartPolicy: Never
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with include "specdec.placement" .root }}
{{- . | nindent 0 }}
{{- end }}
containers:
  - name: errand
    image: {{ include "specdec.image" .root }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    command: [python3, -m, {{ .module }}]
    args:
      {{- toYaml .args | nindent 6 }}
    resources:
      requests:
        cpu: 20m
        memory: 96Mi
      limits:
        memory: 256Mi
    securityContext:
      {{- toYaml .root.Values.securityContext | nindent 6 }}
    volumeMounts:
      - name: tmp
        mountPath: /tmp
volumes:
  - name: tmp
    emptyDir: {}
{{- end }}

{{/* A service account that lives as long as its hook: dict "root" $ "name" .. "annotations" .. */}}
{{- define "specdec.errandAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "specdec.labels" .root | nindent 4 }}
  annotations:
    {{- toYaml .annotations | nindent 4 }}
{{- end }}
