# Private Jaeger v2 servers of this checkout, one a NAME: memory storage, ports of their own on loopback. Jaeger is built once from the Go
# module proxy, into the user's cache folder (about six minutes of one processor, 3 GB of caches while it builds, 85 MB in the end).
jaeger_version=v1.76.0   # this tag carries Jaeger v2.13.0; later ones are not to be had by tag
jaeger_home=$cache_dir/jaeger-$jaeger_version

# Jaeger's go.mod has `replace`, so `go install PACKAGE@VERSION` refuses it: a module of ours with its requirements and its go.sum (verified
# with its zip) builds the same program.
jaeger_build() {  # WORK
  local work=$1 bin source
  bin=$(go_toolchain "$work" 1.25)
  source=$(go_env "$work" "$bin" go mod download -json "github.com/jaegertracing/jaeger@$jaeger_version" | sed -n 's/^\t*"Dir": "\(.*\)",$/\1/p')
  [ -n "$source" ] || return 1
  mkdir "$work/module"
  { echo 'module local/jaeger'; sed '/^module /d' "$source/go.mod"; echo "require github.com/jaegertracing/jaeger $jaeger_version"; } >"$work/module/go.mod"
  cp "$source/go.sum" "$work/module/go.sum"
  chmod u+w "$work/module/go.sum"
  (cd "$work/module" && go_env "$work" "$bin" go build -mod=mod -p "$(jobs)" -ldflags='-s -w' -o "$work/jaeger" github.com/jaegertracing/jaeger/cmd/jaeger)
}

jaeger_install() { go_install "Jaeger $jaeger_version" "$jaeger_home" jaeger jaeger_build; }

jaeger_mark() { echo "file:$1/config.yaml"; }

jaeger_create() {  # DIR: ports of its own, kept over a restart; nothing but loopback; it does not trace itself
  local dir=$1 name port taken=' '
  mkdir -p "$dir"
  for name in otlp grpc query query-grpc health; do
    port=$(pg_free_port)
    while [[ $taken = *" $port "* ]]; do port=$(pg_free_port); done
    taken+="$port "
    echo "$port" >"$dir/port.$name"
  done
  cat >"$dir/config.yaml" <<CONF
service:
  extensions: [jaeger_storage, jaeger_query, healthcheckv2]
  pipelines:
    traces: { receivers: [otlp], processors: [batch], exporters: [jaeger_storage_exporter] }
  telemetry:
    metrics: { level: none }
    logs: { level: warn }
extensions:
  jaeger_storage:
    backends:
      memory: { memory: { max_traces: 20000 } }
  jaeger_query:
    storage: { traces: memory }
    enable_tracing: false
    http: { endpoint: "127.0.0.1:$(cat "$dir/port.query")" }
    grpc: { endpoint: "127.0.0.1:$(cat "$dir/port.query-grpc")" }
  healthcheckv2:
    use_v2: true
    http: { endpoint: "127.0.0.1:$(cat "$dir/port.health")" }
receivers:
  otlp:
    protocols:
      grpc: { endpoint: "127.0.0.1:$(cat "$dir/port.grpc")" }
      http: { endpoint: "127.0.0.1:$(cat "$dir/port.otlp")" }
processors:
  batch: { timeout: 50ms }
exporters:
  jaeger_storage_exporter: { trace_storage: memory }
CONF
}

jaeger_answers() {  # DIR
  local url
  for url in "$(cat "$1/port.health")/status" "$(cat "$1/port.query")/api/services"; do
    curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null "http://127.0.0.1:$url" || return 1
  done
}

jaeger_start_locked() {  # DIR
  local dir=$1
  jaeger_install
  [ -f "$dir/config.yaml" ] || jaeger_create "$dir"
  [ -z "$(server_pid jaeger "$dir")" ] || return 0
  "$jaeger_home/jaeger" --config "file:$dir/config.yaml" >>"$dir/server.log" 2>&1 </dev/null &
  server_await $! "$dir" Jaeger jaeger_answers "$dir"
}

# jaeger [start|stop|url|otlp|remove] [NAME]. start and url print where its API answers, which is what links to traces begin with
# (setting jaeger_url); otlp prints what OTEL_EXPORTER_OTLP_ENDPOINT should be.
jaeger() {
  local action=${1:-start} name=${2:-test} dir
  dir=$(server_dir jaeger "$name")
  case $action in
    start) need run; server_start jaeger "$name"; echo "http://127.0.0.1:$(cat "$dir/port.query")" ;;
    url | otlp)
      server_must_run jaeger "$name"
      [ "$action" = url ] && action=query
      echo "http://127.0.0.1:$(cat "$dir/port.$action")" ;;
    stop) server_end jaeger "$name" TERM ;;
    remove) server_remove jaeger "$name" ;;
    *) die "jaeger: unknown action \"$action\"; there are: start stop url otlp remove" ;;
  esac
}
