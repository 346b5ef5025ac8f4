# Private S3 servers of this checkout (versitygw, which keeps objects as plain files), one a NAME: data, log, key and port of their own on
# loopback, with a bucket `acl`. Built once from the Go module proxy into the user's cache folder (about 80 s of one processor, 50 MB).
s3_version=v1.7.0
s3_home=$cache_dir/versitygw-$s3_version

s3_build() {  # WORK
  local work=$1 bin
  bin=$(go_toolchain "$work" 1.25)
  go_env "$work" "$bin" env GOBIN="$work/bin" go install -p "$(jobs)" -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@$s3_version"
}

s3_install() {
  [ ! -x "$s3_home/versitygw" ] || return 0
  local work log=$local_dir/s3-install.log
  work=$(mktemp -d)
  say "building versitygw $s3_version from the Go module proxy (about a minute, once)"
  s3_build "$work" >"$log" 2>&1 </dev/null || { tail -n 15 "$log" >&2; chmod -R u+w "$work"; rm -rf "$work"; die "versitygw cannot be built; the log: $log"; }
  mkdir -p "$s3_home"
  mv "$work/bin/versitygw" "$s3_home/versitygw.new" && mv "$s3_home/versitygw.new" "$s3_home/versitygw"
  chmod -R u+w "$work"
  rm -rf "$work"
}

s3_dir() { echo "$local_dir/s3/$1"; }

s3_pid() {  # DIR: the running server's pid, nothing if it does not run
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) || return 0
  [ -d "/proc/$pid" ] && tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "$1/root" && echo "$pid"
  return 0
}

s3_url() { echo "http://127.0.0.1:$(cat "$1/port")"; }

s3_start_locked() {  # DIR
  local dir=$1 pid tries
  s3_install
  [ -z "$(s3_pid "$dir")" ] || return 0
  mkdir -p "$dir/root/acl" "$dir/iam"
  [ -f "$dir/secret" ] || (umask 077 && head -c 18 /dev/urandom | base64 | tr '+/' 'ab' >"$dir/secret")
  [ -f "$dir/port" ] || pg_free_port >"$dir/port"   # kept over a restart
  # The key in the environment: a command line can be read by everybody.
  (ROOT_ACCESS_KEY=acl ROOT_SECRET_KEY=$(cat "$dir/secret") exec "$s3_home/versitygw" --port "127.0.0.1:$(cat "$dir/port")" --region us-east-1 \
    --iam-dir "$dir/iam" --health /healthz --quiet posix "$dir/root") >>"$dir/server.log" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$dir/pid"
  for ((tries = 0; tries < 300; tries++)); do
    curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null "$(s3_url "$dir")/healthz" && { disown "$pid"; return 0; }
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  tail -n 10 "$dir/server.log" >&2
  die "the S3 server does not start; its log: $dir/server.log"
}

s3_end() {  # DIR SIGNAL: and waits until it is gone
  local pid
  pid=$(s3_pid "$1")
  [ -n "$pid" ] || return 0
  kill "-$2" "$pid"
  while [ -d "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.05; done
}

# s3 [start|stop|kill|url|env|remove] [NAME]. start prints the address; env prints the settings that point our programs at it, a line each
# (export $(./dev s3 env)); kill is kill -9; the port, the key and the objects stay over a restart.
s3() {
  local action=${1:-start} name=${2:-test} dir
  [[ $name =~ ^[a-z0-9_-]{1,40}$ ]] || die "s3: a name is made of a-z, 0-9, _ and -: \"$name\""
  dir=$(s3_dir "$name")
  case $action in
    start) need run; mkdir -p "$local_dir/s3"; with_lock "s3-$name" s3_start_locked "$dir"; s3_url "$dir" ;;
    url | env)
      [ -n "$(s3_pid "$dir")" ] || die "s3: \"$name\" is not running; start it by: ./dev s3 start $name"
      [ "$action" = env ] || { s3_url "$dir"; return; }
      printf '%s\n' "ACL_S3_ENDPOINT=$(s3_url "$dir")" ACL_S3_BUCKET=acl ACL_S3_ACCESS_KEY=acl "ACL_S3_SECRET_KEY=$(cat "$dir/secret")" ;;
    stop) s3_end "$dir" TERM ;;
    kill) s3_end "$dir" KILL ;;
    remove) s3_end "$dir" KILL; rm -rf "$dir" "$local_dir/lock.s3-$name" ;;
    *) die "s3: unknown action \"$action\"; there are: start stop kill url env remove" ;;
  esac
}

s3_remove_all() {
  local dir
  for dir in "$local_dir"/s3/*/; do
    [ ! -d "$dir" ] || { dir=${dir%/}; s3_end "$dir" KILL; rm -rf "$dir"; }
  done
}
