{{/* Parts of pods. */}}

{{- define "acl.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ int64 .Values.podSecurityContext.runAsUser }}
runAsGroup: {{ int64 .Values.podSecurityContext.runAsGroup }}
fsGroup: {{ int64 .Values.podSecurityContext.fsGroup }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "acl.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Where a pod goes: dict "root" $ "part" (values of coordinator or pool) "labels" (text that selects its pods) */}}
{{- define "acl.placement" -}}
{{- with .part.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .part.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
{{- if .part.topologySpreadConstraints }}
{{ toYaml .part.topologySpreadConstraints | indent 2 }}
{{- else }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ $.labels | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}

{{/* Volumes and where they are mounted, of coordinators and workers: dict "root" $ "part" $values */}}
{{- define "acl.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- if and .root.Values.kafka.enabled .root.Values.kafka.propertiesSecret }}
- name: kafka
  secret:
    secretName: {{ .root.Values.kafka.propertiesSecret }}
    defaultMode: 0440
    items: [{key: {{ .root.Values.kafka.propertiesKey | quote }}, path: kafka.properties}]
{{- end }}
{{- if .part.secretFiles }}
- name: files
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $file := .part.secretFiles }}
      - secret:
          name: {{ $file.secret }}
          items: [{key: {{ $file.key | quote }}, path: {{ $name }}}]
      {{- end }}
{{- end }}
{{- with .part.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "acl.volumeMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if and .root.Values.kafka.enabled .root.Values.kafka.propertiesSecret }}
- {name: kafka, mountPath: /etc/acl/kafka, readOnly: true}
{{- end }}
{{- if .part.secretFiles }}
- {name: files, mountPath: /etc/acl/files, readOnly: true}
{{- end }}
{{- with .part.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Liveness asks only whether the process answers: a database that is away must not restart a fleet. */}}
{{- define "acl.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: {{ . }}}
  periodSeconds: 1
  failureThreshold: 60
  timeoutSeconds: 2
livenessProbe:
  httpGet: {path: /livez, port: {{ . }}}
  periodSeconds: 10
  failureThreshold: 6
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 2
  failureThreshold: 2
  timeoutSeconds: 3
{{- end -}}
