{{- define "gpubench.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 43 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 43 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* 43 characters at most, so that the longest suffix still makes a DNS label. */}}
{{- define "gpubench.operator" -}}
{{ include "gpubench.fullname" . }}-operator
{{- end -}}

{{- define "gpubench.cleanup" -}}
{{ include "gpubench.fullname" . }}-cleanup
{{- end -}}

{{- define "gpubench.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "gpubench.operator" .) }}
{{- end -}}

{{- define "gpubench.selector" -}}
app.kubernetes.io/name: gpubench
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{/* Everything but `managed-by: gpubench`, which is the mark of what the operator makes. */}}
{{- define "gpubench.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: gpubench
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* (dict "image" .Values.images.operator "root" $) -> a name with tag or digest; "" without one */}}
{{- define "gpubench.image" -}}
{{- with .image.repository -}}
{{- $name := printf "%s/%s" (trimSuffix "/" $.root.Values.images.registry) . -}}
{{- if $.image.digest -}}
{{ $name }}@{{ $.image.digest }}
{{- else -}}
{{ $name }}:{{ $.image.tag | default $.root.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "yes" where the operator may list exporters' pods, or need not. */}}
{{- define "gpubench.mayFindExporters" -}}
{{- if or (not .Values.namespaces) .Values.rbac.readExporters .Values.settings.dcgm.endpoints -}}
yes
{{- end -}}
{{- end -}}

{{- define "gpubench.settings" -}}
{{- $images := dict -}}
{{- range $workload := list "imageRecognition" "llmTuning" -}}
{{- $image := include "gpubench.image" (dict "image" (index $.Values.images $workload) "root" $) -}}
{{- $_ := set $images $workload $image -}}
{{- end -}}
{{- $computed := dict
    "namespaces" .Values.namespaces
    "leaseName" (include "gpubench.operator" .)
    "httpPort" 8080
    "watchNodes" .Values.rbac.readNodes
    "images" $images -}}
{{- range $name, $value := .Values.settings -}}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $computed $name $value }}{{ end -}}
{{- end -}}
{{- if not (include "gpubench.mayFindExporters" .) -}}
{{- $_ := set $computed "dcgm" (set (deepCopy .Values.settings.dcgm) "enabled" false) -}}
{{- end -}}
{{ toYaml $computed }}
{{- end -}}

{{- define "gpubench.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "gpubench.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The container that both the Deployment and the clean-up job run, without its arguments. */}}
{{- define "gpubench.container" -}}
image: {{ include "gpubench.image" (dict "image" .Values.images.operator "root" .) }}
imagePullPolicy: {{ .Values.images.pullPolicy }}
securityContext:
  {{- include "gpubench.containerSecurity" . | nindent 2 }}
volumeMounts:
  - name: settings
    mountPath: /etc/gpubench
    readOnly: true
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- define "gpubench.volumes" -}}
- name: settings
  configMap:
    name: {{ include "gpubench.operator" . }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- end -}}

{{- define "gpubench.environment" -}}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end -}}

{{- define "gpubench.pullSecrets" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}
