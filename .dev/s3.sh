# Private S3 servers of this checkout (versitygw, which keeps objects as plain files), one a NAME: data, log, key and port of their own on
# loopback, with a bucket `acl`. Built once from the Go module proxy into the user's cache folder (about two minutes of one processor, 40 MB).
s3_version=v1.7.0
s3_home=$cache_dir/versitygw-$s3_version

s3_build() {  # WORK
  local work=$1 bin
  bin=$(go_toolchain "$work" 1.25)
  go_env "$work" "$bin" env GOBIN="$work" go install -p "$(jobs)" -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@$s3_version"
}

s3_install() { go_install "versitygw $s3_version" "$s3_home" versitygw s3_build; }

s3_mark() { echo "$1/root"; }
s3_url() { echo "http://127.0.0.1:$(cat "$1/port")"; }

s3_start_locked() {  # DIR
  local dir=$1
  s3_install
  [ -z "$(server_pid s3 "$dir")" ] || return 0
  mkdir -p "$dir/root/acl" "$dir/iam"
  [ -f "$dir/secret" ] || (umask 077 && head -c 18 /dev/urandom | base64 | tr '+/' 'ab' >"$dir/secret")
  [ -f "$dir/port" ] || pg_free_port >"$dir/port"   # kept over a restart
  # The key in the environment: a command line can be read by everybody.
  (ROOT_ACCESS_KEY=acl ROOT_SECRET_KEY=$(cat "$dir/secret") exec "$s3_home/versitygw" --port "127.0.0.1:$(cat "$dir/port")" --region us-east-1 \
    --iam-dir "$dir/iam" --health /healthz --quiet posix "$dir/root") >>"$dir/server.log" 2>&1 </dev/null &
  server_await $! "$dir" "the S3 server" curl --silent --fail --noproxy '*' --max-time 5 "$(s3_url "$dir")/healthz"
}

# s3 [start|stop|kill|url|env|remove] [NAME]. start prints the address; env prints the settings that point our programs at it, a line each
# (export $(./dev s3 env)); kill is kill -9; the port, the key and the objects stay over a restart.
s3() {
  local action=${1:-start} name=${2:-test} dir
  dir=$(server_dir s3 "$name")
  case $action in
    start) need run; server_start s3 "$name"; s3_url "$dir" ;;
    url | env)
      server_must_run s3 "$name"
      [ "$action" = env ] || { s3_url "$dir"; return; }
      printf '%s\n' "ACL_S3_ENDPOINT=$(s3_url "$dir")" ACL_S3_BUCKET=acl ACL_S3_ACCESS_KEY=acl "ACL_S3_SECRET_KEY=$(cat "$dir/secret")" ;;
    stop) server_end s3 "$name" TERM ;;
    kill) server_end s3 "$name" KILL ;;
    remove) server_remove s3 "$name" ;;
    *) die "s3: unknown action \"$action\"; there are: start stop kill url env remove" ;;
  esac
}
