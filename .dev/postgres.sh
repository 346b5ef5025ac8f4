# Private PostgreSQL servers of this checkout, one a NAME: data, socket, log and password of their own, a free port, a non-root user whoever
# calls. Debian's own cluster is neither needed nor touched.
pg_bin=/usr/lib/postgresql/15/bin

# The user the server runs as: the caller, or `postgres` when root calls (PostgreSQL refuses to run as root).
pg_user() { if [ "$(id -u)" = 0 ]; then echo postgres; else id -un; fi; }
as_pg() { if [ "$(id -u)" = 0 ]; then (cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups --inh-caps=-all -- "$@"); else "$@"; fi; }

# Where the servers live: .local/pg; or a private folder under /tmp when that user cannot reach the checkout (one below /root, say) or the
# path is too long for a socket (107 characters).
pg_home() {
  local home=$local_dir/pg
  mkdir -p "$local_dir"
  if [ ${#home} -gt 70 ] || ! as_pg test -x "$local_dir"; then
    home=/tmp/acl-$(id -u)-$(printf %s "$top" | sha256sum | cut -c 1-12)
  fi
  if [ ! -d "$home" ]; then
    mkdir -p "$(dirname "$home")"
    mkdir -m 700 "$home" 2>/dev/null || [ -d "$home" ] || die "cannot make the folder $home"
    [ "$(id -u)" != 0 ] || chown postgres: "$home"
  fi
  [ "$(stat -c %U "$home")" = "$(pg_user)" ] || die "$home belongs to $(stat -c %U "$home"), not to $(pg_user): remove it, or use another checkout"
  echo "$home"
}

pg_pid() {  # DIR: the running server's pid, nothing if it does not run
  local pid
  pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) || return 0
  [ -d "/proc/$pid" ] && [ "$(tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | sed -n 3p)" = "$1/data" ] && echo "$pid"
  return 0
}

pg_url() {  # DIR
  local port
  port=$(cat "$1/port")
  echo "postgresql://acl:$(cat "$1/password")@127.0.0.1:$port/acl"
}

pg_free_port() {  # below the ports the kernel gives to clients
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}

pg_create() {  # DIR
  local dir=$1 new=$1.new.$$
  as_pg mkdir -m 700 "$new"
  head -c 18 /dev/urandom | base64 | tr '+/' 'ab' | as_pg tee "$new/password" >/dev/null
  as_pg "$pg_bin/initdb" -D "$new/data" -U acl -A scram-sha-256 --pwfile="$new/password" --encoding=UTF8 --locale=C.UTF-8 --no-sync --no-instructions \
    >"$local_dir/initdb.log" 2>&1 || { tail -n 5 "$local_dir/initdb.log" >&2; die "initdb failed; its log: $local_dir/initdb.log"; }
  as_pg tee -a "$new/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$dir'
max_connections = 200
shared_buffers = 64MB
max_wal_size = 512MB
log_line_prefix = '%m [%p] %d '
CONF
  # A race of two starters: the first to rename wins, the other's is thrown away.
  as_pg mv -T "$new" "$dir" 2>/dev/null || as_pg rm -rf "$new"
}

pg_start_locked() {  # DIR
  local dir=$1 try port
  [ -d "$dir/data" ] || pg_create "$dir"
  [ -z "$(pg_pid "$dir")" ] || return 0
  as_pg find "$dir" -maxdepth 2 \( -name postmaster.pid -o -name ".s.PGSQL.*" \) -delete  # of a killed server; PostgreSQL would take a zombie or a reused pid for a living one
  for try in 1 2 3 4 5; do
    port=$(cat "$dir/port" 2>/dev/null || pg_free_port)
    echo "$port" | as_pg tee "$dir/port" >/dev/null
    if as_pg "$pg_bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -o "-p $port -k $dir" -w -t 60 start >/dev/null 2>&1; then
      echo "select 'create database acl' where not exists (select from pg_database where datname = 'acl') \gexec" |
        psql -qAtX -v ON_ERROR_STOP=1 -d "$(pg_url "$dir" | sed 's,/acl$,/postgres,')" >/dev/null
      return 0
    fi
    as_pg rm -f "$dir/port"  # taken since: another one
  done
  tail -n 10 "$dir/server.log" >&2
  die "PostgreSQL does not start; its log: $dir/server.log"
}

# A standby of NAME, fed by asynchronous streaming replication: a server of its own called NAME-replica.
pg_replica_locked() {  # DIR OF-DIR
  local dir=$1 of=$2
  [ ! -d "$dir" ] || return 0
  as_pg mkdir -m 700 "$dir"
  as_pg cp "$of/password" "$dir/password"
  as_pg "$pg_bin/pg_basebackup" -d "$(pg_url "$of" | sed 's,/acl$,/postgres,')" -D "$dir/data" -R -X stream --checkpoint=fast --no-sync >"$local_dir/basebackup.log" 2>&1 ||
    { tail -n 5 "$local_dir/basebackup.log" >&2; as_pg rm -rf "$dir"; die "pg_basebackup failed; its log: $local_dir/basebackup.log"; }
  pg_start_locked "$dir"
}

# pg [start|stop|kill|url|replica|promote|remove] [NAME]. start prints the URL; replica makes and starts a standby called NAME-replica;
# promote makes a standby the primary; kill is kill -9 of the whole server (a test's crash); remove forgets the data.
pg() {
  local action=${1:-start} name=${2:-test} home dir pid
  [[ $name =~ ^[a-z0-9_-]{1,40}$ ]] || die "pg: a name is made of a-z, 0-9, _ and -: \"$name\""
  need run
  home=$(pg_home)
  dir=$home/$name
  case $action in
    start) with_lock "pg-$name" pg_start_locked "$dir"; pg_url "$dir" ;;
    url) [ -n "$(pg_pid "$dir")" ] || die "pg: \"$name\" is not running; start it by: ./dev pg start $name"; pg_url "$dir" ;;
    stop)
      [ -z "$(pg_pid "$dir")" ] || as_pg "$pg_bin/pg_ctl" -D "$dir/data" -m fast -w stop >/dev/null ;;
    kill)
      pid=$(pg_pid "$dir")
      [ -n "$pid" ] || die "pg: \"$name\" is not running"
      pg_kill "$pid" ;;
    replica)
      [ -n "$(pg_pid "$dir")" ] || die "pg: \"$name\" is not running"
      with_lock "pg-$name-replica" pg_replica_locked "$dir-replica" "$dir"
      pg_url "$dir-replica" ;;
    promote) as_pg "$pg_bin/pg_ctl" -D "$dir/data" -w promote >/dev/null ;;
    remove)
      [ -z "$(pg_pid "$dir")" ] || as_pg "$pg_bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null
      rm -rf "$dir" "$local_dir/lock.pg-$name" ;;
    *) die "pg: unknown action \"$action\"; there are: start stop kill url replica promote remove" ;;
  esac
}

# kill -9 of the postmaster and its children at once, as a power cut would; returns when all of them are gone.
pg_kill() {
  local pid=$1 all
  all="$pid $(cat "/proc/$pid/task/$pid/children" 2>/dev/null || true)"
  kill -9 $all 2>/dev/null || true
  for pid in $all; do
    while [ -d "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.02; done
  done
}

pg_remove_all() {
  local home dir
  [ -d "$local_dir" ] && command -v setpriv >/dev/null || return 0
  getent passwd "$(pg_user)" >/dev/null || return 0
  home=$(pg_home)
  for dir in "$home"/*/; do
    dir=${dir%/}
    [ -z "$(pg_pid "$dir")" ] || as_pg "$pg_bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null
  done
  rm -rf "$home"
}
