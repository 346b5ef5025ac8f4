# ./dev test api: the running API under Schemathesis (PyPI), from docs/reference/openapi.json alone: requests that fit and requests that do not, one by
# one and in chains along the links. No answer may be a 5xx, or of a status, type, header or form that the file does not name. What a request
# must look like is not asked (the file cannot say when a text is a workflow), nor keys (a fleet in dev mode takes requests without one).
schemathesis_version=4.32.5

schemathesis_home() { echo "$cache_dir/schemathesis-$schemathesis_version"; }

schemathesis_install() {
  local home
  home=$(schemathesis_home)
  [ ! -x "$home/bin/schemathesis" ] || return 0
  python3 -m ensurepip --version >/dev/null 2>&1 || install_packages python3-venv >&2
  say "fetching Schemathesis $schemathesis_version from PyPI"
  rm -rf "$home"
  python3 -m venv "$home" && "$home/bin/pip" install --quiet "schemathesis==$schemathesis_version" >&2 || { rm -rf "$home"; die "pip cannot fetch Schemathesis"; }
}

run_api() {  # [OPTION...] of schemathesis run
  local code=0
  need build run test
  with_lock setup schemathesis_install
  build_binaries
  trap 'fleet_stop api; pg remove api' EXIT
  fleet_start api
  "$(schemathesis_home)/bin/schemathesis" --no-color run docs/reference/openapi.json --url "$ACL_SERVER" --request-timeout 10 --max-time 300 \
    --exclude-checks positive_data_acceptance,negative_data_rejection,missing_required_header,ignored_auth \
    --generation-deterministic --max-examples 25 "$@" || code=$?
  [ -n "$(proc_pid "$(fleet_dir api)" coordinator)" ] || { say "api: the coordinator did not survive it"; code=1; }
  return $code
}
