{{/* Names and labels. */}}

{{- define "acl.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "acl.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "acl.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "acl.selectorLabels" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: acl
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "acl.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "acl.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The names that the API goes by: those of its Service, the ingress' and the user's. The pod's own address is for probes and Prometheus. */}}
{{- define "acl.allowedHosts" -}}
{{- $name := printf "%s-coordinator" (include "acl.fullname" .) -}}
{{- $namespace := .Release.Namespace -}}
{{- $hosts := list "$(POD_IP)" "localhost" "127.0.0.1" $name (printf "%s.%s" $name $namespace) (printf "%s.%s.svc" $name $namespace) (printf "%s.%s.svc.cluster.local" $name $namespace) -}}
{{- if .Values.ingress.enabled }}{{ $hosts = concat $hosts .Values.ingress.hosts }}{{ end -}}
{{- join "," (concat $hosts .Values.coordinator.allowedHosts | uniq) -}}
{{- end -}}

{{/* An image: dict "root" $ "image" .Values.x.image */}}
{{- define "acl.image" -}}
{{- $root := .root -}}
{{- $path := .image.repository -}}
{{- if $root.Values.image.registry }}{{ $path = printf "%s/%s" $root.Values.image.registry .image.repository }}{{ end -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $path .image.digest -}}
{{- else -}}
{{- $tag := coalesce .image.tag $root.Values.image.tag $root.Chart.AppVersion -}}
{{- if eq $tag "latest" }}{{ fail "image tag \"latest\" is refused: nobody could tell what runs, and a rollback would change nothing. Set image.tag to a version" }}{{ end -}}
{{- printf "%s:%s" $path $tag -}}
{{- end -}}
{{- end -}}

{{/* The pools, each with what it does not say taken from workerDefaults: {"pools": [...]} as JSON. */}}
{{- define "acl.pools" -}}
{{- $pools := list -}}
{{- $names := dict -}}
{{- range .Values.workers -}}
{{- if hasKey $names .name }}{{ fail (printf "two pools of workers are called %q" .name) }}{{ end -}}
{{- $_ := set $names .name true -}}
{{- $pool := mergeOverwrite (deepCopy $.Values.workerDefaults) (deepCopy .) -}}
{{- $pools = append $pools $pool -}}
{{- end -}}
{{- dict "pools" $pools | toJson -}}
{{- end -}}

{{/* Queues of all pools, each once. */}}
{{- define "acl.queues" -}}
{{- $queues := list -}}
{{- range (include "acl.pools" . | fromJson).pools }}{{ $queues = concat $queues .queues }}{{ end -}}
{{- $queues | uniq | sortAlpha | join " " -}}
{{- end -}}

{{/* How long a worker of this pool may take to drain, seconds: dict "root" $ "pool" $pool */}}
{{- define "acl.drainSeconds" -}}
{{- $settings := merge (dict) .pool.settings .root.Values.settings -}}
{{- $repeatable := default 20000 (get $settings "drain_deadline_ms") | int64 -}}
{{- $effects := default 60000 (get $settings "drain_effects_deadline_ms") | int64 -}}
{{- div (add (max $repeatable $effects) 999) 1000 -}}
{{- end -}}

{{- define "acl.graceSeconds" -}}
{{- $least := add (include "acl.drainSeconds" . | int64) 10 -}}
{{- $given := .pool.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}
{{- add $least 5 -}}
{{- else -}}
{{- if lt (int64 $given) $least }}{{ fail (printf "pool %q: terminationGracePeriodSeconds is %d, and a worker that drains may take %d s (drain_deadline_ms, drain_effects_deadline_ms and 10 s more): it would be killed in the middle of a step. Raise it, or lower those settings" .pool.name (int64 $given) $least) }}{{ end -}}
{{- int64 $given -}}
{{- end -}}
{{- end -}}
