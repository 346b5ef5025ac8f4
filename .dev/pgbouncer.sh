# pgbouncer, a pooler in front of PostgreSQL, for the tests of what works through one and what is refused. Out of Debian's packages, since its
# service would start if it were installed.
pgbouncer_home=$cache_dir/pgbouncer-debian12

pgbouncer_install() {
  [ ! -x "$pgbouncer_home/pgbouncer" ] || return 0
  local work log=$local_dir/pgbouncer-install.log
  work=$(mktemp -d)
  chmod 755 "$work"   # apt fetches as a user of its own
  say "fetching pgbouncer from Debian's packages"
  { (cd "$work" && { apt_get_files || { apt_get update && apt_get_files; }; }) &&
      for file in "$work"/*.deb; do dpkg-deb --extract "$file" "$work/files"; done; } >"$log" 2>&1 </dev/null ||
    { tail -n 15 "$log" >&2; rm -rf "$work"; die "pgbouncer cannot be fetched; the log: $log"; }
  mkdir -p "$pgbouncer_home"
  cp -a "$work/files/usr/lib/x86_64-linux-gnu/." "$pgbouncer_home/"
  mv "$work/files/usr/sbin/pgbouncer" "$pgbouncer_home/pgbouncer"
  rm -rf "$work"
}
apt_get_files() { apt-get -q download pgbouncer libc-ares2 libevent-2.1-7; }
