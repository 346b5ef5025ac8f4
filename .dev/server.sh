# What the private servers of this checkout have in common (kafka.sh, s3.sh, jaeger.sh, llm.sh): each KIND keeps one folder a NAME under .local/KIND,
# with its pid, its ports and its log. A KIND brings KIND_mark DIR (an argument of its command line that no other server has),
# KIND_start_locked DIR and the function KIND.

server_dir() {  # KIND NAME
  [[ $2 =~ ^[a-z0-9_-]{1,40}$ ]] || die "$1: a name is made of a-z, 0-9, _ and -: \"$2\""
  echo "$local_dir/$1/$2"
}

server_pid() {  # KIND DIR: the running server's pid, nothing if it does not run
  local pid
  pid=$(cat "$2/pid" 2>/dev/null) || return 0
  [ -d "/proc/$pid" ] && tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "$("$1_mark" "$2")" && echo "$pid"
  return 0
}

server_start() {  # KIND NAME
  local dir
  dir=$(server_dir "$1" "$2")
  private_folder "$local_dir/$1"  # what its servers log is for the owner alone
  with_lock "$1-$2" "$1_start_locked" "$dir"
}

# server_await PID DIR LABEL COMMAND...: the process just started as PID writes DIR/server.log; until COMMAND succeeds, or it ends, or a minute.
server_await() {
  local pid=$1 dir=$2 label=$3 tries; shift 3
  echo "$pid" >"$dir/pid"
  for ((tries = 0; tries < 600; tries++)); do
    "$@" >/dev/null 2>&1 && { disown "$pid"; return 0; }
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 10 "$dir/server.log" >&2
  die "$label does not start; its log: $dir/server.log"
}

server_must_run() {  # KIND NAME
  [ -n "$(server_pid "$1" "$(server_dir "$1" "$2")")" ] || die "$1: \"$2\" is not running; start it by: ./dev $1 start $2"
}

server_end() {  # KIND NAME SIGNAL: and waits until it is gone
  local pid
  pid=$(server_pid "$1" "$(server_dir "$1" "$2")")
  [ -n "$pid" ] || return 0
  kill "-$3" "$pid"
  while [ -d "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.05; done
}

server_remove() {  # KIND NAME: and its data
  server_end "$1" "$2" KILL
  rm -rf "$(server_dir "$1" "$2")" "$local_dir/lock.$1-$2"
}

server_remove_all() {  # KIND
  local dir
  for dir in "$local_dir/$1"/*/; do [ ! -d "$dir" ] || server_remove "$1" "$(basename "$dir")"; done
}
