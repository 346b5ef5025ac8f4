# Fleets of real processes on this machine, one a NAME, each with a PostgreSQL of its own: data, logs and pids under .local/fleet/NAME.
#   dev    ./dev up: stays until ./dev down        demo   ./dev demo's; ./dev up demo brings it back, with its runs
#   full   ./dev fleet's (full_fleet.sh)

fleet_dir() { echo "$local_dir/fleet/${1:-dev}"; }

# check_fleet_name COMMAND NAME: a name is a folder's and a PostgreSQL's, so it is plain. `current` is the fleet that was brought up last;
# `full` is ./dev fleet's, with servers that ./dev up does not start.
check_fleet_name() {
  [[ $2 =~ ^[a-z0-9][a-z0-9_-]{0,39}$ ]] || bad_usage "$1" "a fleet's name is made of a-z, 0-9, _ and -: \"$2\""
  case $1-$2 in
    *-current | up-full) bad_usage "$1" "no fleet of yours can be named \"$2\"" ;;
    down-* | logs-*) [ -d "$(fleet_dir "$2")" ] || die "there is no fleet \"$2\"; there are: $(fleet_names)" ;;
  esac
}

fleet_names() {
  local dir names=''
  for dir in "$local_dir/fleet"/*/; do [ ! -d "$dir" ] || [ -L "${dir%/}" ] || names+=" $(basename "$dir")"; done
  echo "${names:-none}"
}

# proc_pid DIR NAME: the pid of that process of a fleet, nothing if it does not run (a zombie, or another program with its old pid).
proc_pid() {
  local pid exe
  pid=$(cat "$1/$2.pid" 2>/dev/null) || return 0
  exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || return 0
  case ${exe% (deleted)} in */acl-coordinator | */acl-worker) echo "$pid" ;; esac
}

# proc_start DIR NAME PROGRAM [ARG...]: in a session of its own, so that it stays when the terminal goes; its log is appended, and closed to others.
proc_start() {
  local dir=$1 name=$2 program=$3; shift 3
  [ -z "$(proc_pid "$dir" "$name")" ] || return 0
  # Logs tell of runs and people: for the owner alone. (Not by the program's own mask: that of its steps' files is theirs.)
  (umask 077; : >>"$dir/$name.log"); chmod 600 "$dir/$name.log"
  setsid -f bash -c 'echo $$ >"$1"; shift; exec "$@"' _ "$dir/$name.pid" "$top/build/dev/bin/$program" "$@" \
    >>"$dir/$name.log" 2>&1 </dev/null 9>&-
}

# proc_stop DIR NAME...: SIGTERM to all, then waits for their drain; kill -9 if one takes longer than 75 s (drain_effects_deadline_ms and a little).
proc_stop() {
  local dir=$1 name pid tries; shift
  for name in "$@"; do pid=$(proc_pid "$dir" "$name"); [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null || true; done
  for name in "$@"; do
    for ((tries = 0; tries < 750; tries++)); do [ -n "$(proc_pid "$dir" "$name")" ] || break; sleep 0.1; done
    pid=$(proc_pid "$dir" "$name")
    [ -z "$pid" ] || { say "$name does not end; killing it"; kill -9 "$pid" 2>/dev/null || true; }
    rm -f "$dir/$name.pid"
  done
}

# await_http URL DIR NAME: until it answers 200; dies with the end of that process's log if it ends before, or after a minute.
await_http() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null "$1" && return 0
    [ -n "$(proc_pid "$2" "$3")" ] || [ $tries -lt 10 ] || break
    sleep 0.1
  done
  tail -n 10 "$2/$3.log" >&2
  die "$3 is not ready ($1); its log: ${2#"$top/"}/$3.log"
}

port_or_free() { if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then pg_free_port; else echo "$1"; fi; }

# fleet_start NAME: PostgreSQL, schema, one coordinator, two workers. Settings come from the caller's environment (ACL_...).
fleet_start() {
  local name=$1 dir url port bell n
  dir=$(fleet_dir "$name")
  private_folder "$dir"  # logs and files of runs: for the owner alone
  url=$(pg start "$name")
  if [ -z "$(proc_pid "$dir" coordinator)" ]; then
    port=$(port_or_free 8733)
    bell=$(port_or_free 8734)
    [ "$port" != "$bell" ] || bell=$(pg_free_port)
    (umask 077; printf 'export ACL_DATABASE_URL=%q ACL_SERVER=%q ACL_COORDINATORS=%q\n' "$url" "http://127.0.0.1:$port" "127.0.0.1:$bell" >"$dir/env")
  fi
  . "$dir/env"
  export ACL_DEV_MODE=true ACL_ALLOW_PRIVATE_NETWORKS=${ACL_ALLOW_PRIVATE_NETWORKS:-true}
  # On a machine of one's own a workflow may start a shell; a real fleet lists what it needs.
  export ACL_ALLOWED_PROGRAMS=${ACL_ALLOWED_PROGRAMS:-@dev}
  "$top/build/dev/bin/airun" db migrate >"$dir/migrate.log" 2>&1 || { cat "$dir/migrate.log" >&2; die "airun db migrate failed"; }
  ACL_LISTEN=${ACL_SERVER#http://} ACL_DOORBELL_LISTEN=$ACL_COORDINATORS proc_start "$dir" coordinator acl-coordinator
  await_http "$ACL_SERVER/readyz" "$dir" coordinator
  for n in 1 2; do
    ACL_WORKER_NAME=worker-$n ACL_WORK_DIR=$dir/work-$n proc_start "$dir" worker-$n acl-worker
  done
  for n in 1 2; do await_worker "$dir" worker-$n; done
}

# await_worker DIR NAME: until the coordinator knows a living worker of that name and process id.
await_worker() {
  local tries pid
  for ((tries = 0; tries < 600; tries++)); do
    pid=$(proc_pid "$1" "$2")
    [ -n "$pid" ] || [ $tries -lt 10 ] || break
    curl --silent --noproxy '*' --max-time 5 "$ACL_SERVER/v1/workers" |
      jq -e --arg name "$2" --argjson pid "${pid:-0}" '.workers | any(.worker_name == $name and .pid == $pid and (.dead | not))' >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  tail -n 10 "$1/$2.log" >&2
  die "$2 is not ready; its log: ${1#"$top/"}/$2.log"
}

fleet_stop() {  # NAME
  local dir
  dir=$(fleet_dir "$1")
  [ -d "$dir" ] || return 0
  proc_stop "$dir" worker-1 worker-2 coordinator
  pg stop "$1"
}

cmd_up() {
  local name=${1:-dev}
  build_binaries
  with_lock "fleet-$name" fleet_start "$name"
  ln -sfn "$name" "$local_dir/fleet/current"
  . "$(fleet_dir "$name")/env"
  cat <<TEXT
The fleet "$name" is up: PostgreSQL, a coordinator at $ACL_SERVER, two workers.
  ./dev airun workflow run examples/exec.yaml --wait
  ./dev airun workflow list            ./dev airun doctor
  ./dev logs                           ./dev down
TEXT
}

cmd_down() {
  local dir
  for dir in "$local_dir/fleet"/${1:-*}/; do
    dir=${dir%/}
    if [ ! -d "$dir" ] || [ -L "$dir" ]; then continue; fi
    if [ "${dir##*/}" = "$full_name" ]; then with_lock "fleet-$full_name" full_end; continue; fi
    with_lock "fleet-${dir##*/}" fleet_stop "${dir##*/}"
  done
}

cmd_logs() {
  local dir
  dir=$(fleet_dir "${1:-current}")
  [ -d "$dir" ] || die "there is no fleet; start one by: ./dev up"
  exec tail -n 20 -F "$dir"/*.log
}

# airun against the fleet that was brought up last.
cmd_airun() {
  [ -x build/dev/bin/airun ] || build_binaries
  if [ -f "$local_dir/fleet/current/env" ]; then . "$local_dir/fleet/current/env"; fi
  cd "${ACL_CALLER_DIR:-$top}"
  exec "$top/build/dev/bin/airun" "$@"
}
