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

jaeger_install() {
  [ ! -x "$jaeger_home/jaeger" ] || return 0
  local work log=$local_dir/jaeger-install.log
  work=$(mktemp -d)
  say "building Jaeger $jaeger_version from the Go module proxy (some minutes, once)"
  jaeger_build "$work" >"$log" 2>&1 </dev/null || { tail -n 15 "$log" >&2; chmod -R u+w "$work"; rm -rf "$work"; die "Jaeger cannot be built; the log: $log"; }
  mkdir -p "$jaeger_home"
  mv "$work/jaeger" "$jaeger_home/jaeger.new" && mv "$jaeger_home/jaeger.new" "$jaeger_home/jaeger"
  chmod -R u+w "$work"
  rm -rf "$work"
}

jaeger_dir() { echo "$local_dir/jaeger/$1"; }

jaeger_pid() {  # DIR: the running server's pid, nothing if it does not run
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) || return 0
  [ -d "/proc/$pid" ] && tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "file:$1/config.yaml" && echo "$pid"
  return 0
}

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
  local dir=$1 pid tries
  jaeger_install
  [ -f "$dir/config.yaml" ] || jaeger_create "$dir"
  [ -z "$(jaeger_pid "$dir")" ] || return 0
  "$jaeger_home/jaeger" --config "file:$dir/config.yaml" >>"$dir/server.log" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$dir/pid"
  for ((tries = 0; tries < 300; tries++)); do
    jaeger_answers "$dir" && { disown "$pid"; return 0; }
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 10 "$dir/server.log" >&2
  die "Jaeger does not start; its log: $dir/server.log"
}

jaeger_end() {  # DIR SIGNAL: and waits until it is gone
  local pid
  pid=$(jaeger_pid "$1")
  [ -n "$pid" ] || return 0
  kill "-$2" "$pid"
  while [ -d "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.05; done
}

# jaeger [start|stop|url|otlp|remove] [NAME]. start and url print where its API answers, which is what links to traces begin with
# (setting jaeger_url); otlp prints what OTEL_EXPORTER_OTLP_ENDPOINT should be.
jaeger() {
  local action=${1:-start} name=${2:-test} dir
  [[ $name =~ ^[a-z0-9_-]{1,40}$ ]] || die "jaeger: a name is made of a-z, 0-9, _ and -: \"$name\""
  dir=$(jaeger_dir "$name")
  case $action in
    start)
      need run
      mkdir -p "$local_dir/jaeger"
      with_lock "jaeger-$name" jaeger_start_locked "$dir"
      echo "http://127.0.0.1:$(cat "$dir/port.query")" ;;
    url | otlp)
      [ -n "$(jaeger_pid "$dir")" ] || die "jaeger: \"$name\" is not running; start it by: ./dev jaeger start $name"
      [ "$action" = url ] && action=query
      echo "http://127.0.0.1:$(cat "$dir/port.$action")" ;;
    stop) jaeger_end "$dir" TERM ;;
    remove) jaeger_end "$dir" KILL; rm -rf "$dir" "$local_dir/lock.jaeger-$name" ;;
    *) die "jaeger: unknown action \"$action\"; there are: start stop url otlp remove" ;;
  esac
}

jaeger_remove_all() {
  local dir
  for dir in "$local_dir"/jaeger/*/; do
    [ ! -d "$dir" ] || { dir=${dir%/}; jaeger_end "$dir" KILL; rm -rf "$dir"; }
  done
}
