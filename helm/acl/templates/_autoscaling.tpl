{{/* What a pool has to do: runs and steps that wait in its queues, and steps that its workers run. One coordinator counts what waits, and more
than one may show it: max. dict "root" $ "pool" $pool */}}
{{- define "acl.demand" -}}
{{- $queues := join "|" .pool.queues -}}
{{- $namespace := .root.Release.Namespace -}}
(sum(max by (queue) (acl_ready_depth{namespace="{{ $namespace }}",release="{{ .root.Release.Name }}",queue=~"{{ $queues }}"})) or vector(0)) + (sum(acl_slots_busy{namespace="{{ $namespace }}",release="{{ .root.Release.Name }}",pool="{{ .pool.name }}"}) or vector(0))
{{- end -}}
