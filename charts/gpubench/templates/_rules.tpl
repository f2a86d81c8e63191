{{/* What the operator may do where benchmarks live. */}}
{{- define "gpubench.rules.benchmarks" -}}
- apiGroups: [gpubench.io]
  resources: [gpubenchmarks]
  verbs: [get, list, watch, patch]
- apiGroups: [gpubench.io]
  resources: [gpubenchmarkruns]
  verbs: [get, list, watch, create, delete]
- apiGroups: [gpubench.io]
  resources: [gpubenchmarks/status, gpubenchmarkruns/status]
  verbs: [patch]
# Owner references that block deletion ask for this where the cluster checks them.
- apiGroups: [gpubench.io]
  resources: [gpubenchmarks/finalizers, gpubenchmarkruns/finalizers]
  verbs: [update]
- apiGroups: [kubeflow.org]
  resources: [pytorchjobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
- apiGroups: [kueue.x-k8s.io]
  resources: [localqueues]
  verbs: [get]
{{- end -}}

{{/* What it may do in the cluster as a whole, where it serves all namespaces. */}}
{{- define "gpubench.rules.cluster" -}}
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [list, watch]
{{- end -}}

{{/* What the clean-up before uninstall may do where benchmarks live. */}}
{{- define "gpubench.rules.cleanup" -}}
- apiGroups: [gpubench.io]
  resources: [gpubenchmarks]
  verbs: [get, list, patch]
- apiGroups: [kubeflow.org]
  resources: [pytorchjobs]
  verbs: [list, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, delete]
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs]
  verbs: [list, delete]
{{- end -}}

{{/*
One account's rights: cluster-wide, or a Role in each served namespace.
(dict "root" $ "name" name "account" account "rules" yaml "cluster" yaml "annotations" yaml)
*/}}
{{- define "gpubench.grant" -}}
{{- $grant := . -}}
{{- $subject := dict "kind" "ServiceAccount" "name" .account "namespace" .root.Release.Namespace -}}
{{- range $namespace := .root.Values.namespaces | default (list "") }}
{{- $kind := ternary "Role" "ClusterRole" (ne $namespace "") }}
{{- $name := $grant.name }}
{{- if not $namespace }}{{ $name = printf "%s-%s" $grant.root.Release.Namespace $name }}{{ end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  {{- include "gpubench.grantMetadata" (dict "grant" $grant "name" $name "namespace" $namespace) | nindent 2 }}
rules:
  {{- $grant.rules | nindent 2 }}
  {{- if not $namespace }}{{ with $grant.cluster }}{{ . | nindent 2 }}{{ end }}{{ end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  {{- include "gpubench.grantMetadata" (dict "grant" $grant "name" $name "namespace" $namespace) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
  - {{- toYaml $subject | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "gpubench.grantMetadata" -}}
name: {{ .name }}
{{- with .namespace }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "gpubench.labels" .grant.root | nindent 2 }}
{{- with .grant.annotations }}
annotations:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}
