# promtool, Prometheus' own checker of metric pages and alert rules: taken out of Debian's package `prometheus`, whose server would start
# as a service if it were installed.
promtool_home=$cache_dir/promtool-debian12

promtool_install() {
  [ ! -x "$promtool_home/promtool" ] || return 0
  local work log=$local_dir/promtool-install.log
  if command -v promtool >/dev/null; then
    mkdir -p "$promtool_home"
    ln -sf "$(command -v promtool)" "$promtool_home/promtool"
    return
  fi
  work=$(mktemp -d)
  chmod 755 "$work"   # apt fetches as a user of its own
  say "fetching promtool from Debian's package prometheus"
  { (cd "$work" && { apt-get -q download prometheus || { apt_get update && apt-get -q download prometheus; }; }) &&
      dpkg-deb --extract "$work"/prometheus_*.deb "$work/files"; } >"$log" 2>&1 </dev/null ||
    { tail -n 15 "$log" >&2; rm -rf "$work"; die "promtool cannot be fetched; the log: $log"; }
  mkdir -p "$promtool_home"
  mv "$work/files/usr/bin/promtool" "$promtool_home/promtool"
  rm -rf "$work"
}
