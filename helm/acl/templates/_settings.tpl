{{/* Settings as variables. */}}

{{/* A value as the programs read it: lists with commas, numbers without an exponent (YAML's are floats in Helm). */}}
{{- define "acl.settingText" -}}
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if kindIs "float64" . -}}
{{- printf "%.0f" . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* ACL_NAME: "text" lines of a map of settings. */}}
{{- define "acl.settingLines" -}}
{{- range $name, $value := . }}
ACL_{{ upper $name }}: {{ include "acl.settingText" $value | quote }}
{{- end }}
{{- end -}}

{{/* What every process of the fleet is told and is no secret. */}}
{{- define "acl.sharedSettings" -}}
{{- if .Values.kafka.enabled }}
ACL_QUEUE_DRIVER: kafka
ACL_KAFKA_BOOTSTRAP: {{ required "kafka.bootstrap is empty: name the brokers, as HOST:PORT,..." .Values.kafka.bootstrap | quote }}
ACL_KAFKA_PREFIX: {{ .Values.kafka.prefix | quote }}
{{- if .Values.kafka.propertiesSecret }}
ACL_KAFKA_PROPERTIES_FILE: /etc/acl/kafka/kafka.properties
{{- end }}
{{- end }}
{{- with .Values.objectStore }}
{{- if .endpoint }}
ACL_S3_ENDPOINT: {{ .endpoint | quote }}
ACL_S3_REGION: {{ .region | quote }}
ACL_S3_BUCKET: {{ required "objectStore.bucket is empty: name a bucket that exists" .bucket | quote }}
{{- end }}
{{- end }}
{{- with .Values.tracing }}
{{- if .endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ .endpoint | quote }}
OTEL_TRACES_SAMPLER: {{ .sampler | quote }}
{{- if .samplerArg }}
OTEL_TRACES_SAMPLER_ARG: {{ .samplerArg | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- include "acl.settingLines" .Values.settings }}
{{- end -}}

{{- define "acl.coordinatorSettings" -}}
ACL_LISTEN: 0.0.0.0:8733
ACL_DOORBELL_LISTEN: 0.0.0.0:8734
{{- if .Values.tracing.jaegerUrl }}
ACL_JAEGER_URL: {{ .Values.tracing.jaegerUrl | quote }}
{{- end }}
{{- range $name, $file := .Values.coordinator.secretFiles }}
ACL_{{ upper $name }}: /etc/acl/files/{{ $name }}
{{- end }}
{{- include "acl.settingLines" .Values.coordinator.settings }}
{{- end -}}

{{/* dict "root" $ "pool" $pool */}}
{{- define "acl.workerSettings" -}}
ACL_COORDINATORS: {{ include "acl.fullname" .root }}-doorbell:8734
ACL_HEALTH_LISTEN: 0.0.0.0:8735
ACL_QUEUES: {{ join "," .pool.queues | quote }}
ACL_WORK_DIR: /var/lib/acl/work
{{- range $name, $file := .pool.secretFiles }}
ACL_{{ upper $name }}: /etc/acl/files/{{ $name }}
{{- end }}
{{- include "acl.settingLines" .pool.settings }}
{{- end -}}

{{/* Variables out of Secrets, of coordinators and workers. */}}
{{- define "acl.secretEnv" -}}
- name: ACL_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "database.existingSecret is empty: make a Secret with the database's URL, as `kubectl create secret generic acl-database --from-literal=url=postgresql://...`, and name it" .Values.database.existingSecret }}
      key: {{ .Values.database.key }}
{{- if .Values.objectStore.endpoint }}
{{- $secret := required "objectStore.existingSecret is empty: make a Secret with the keys access-key and secret-key, and name it" .Values.objectStore.existingSecret }}
- name: ACL_S3_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: access-key}}
- name: ACL_S3_SECRET_KEY
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: secret-key}}
{{- end }}
{{- end -}}
