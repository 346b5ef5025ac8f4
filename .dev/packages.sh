# Debian packages, by what needs them. Debian 12 has every library in the version we build against; nothing is fetched from elsewhere.
packages_build=(g++ cmake ninja-build ccache mold pkg-config libboost1.81-dev libpqxx-dev libpq-dev libssl-dev libprotobuf-dev
  protobuf-compiler nlohmann-json3-dev libyaml-cpp-dev libdouble-conversion-dev libsimdjson-dev libfmt-dev libspdlog-dev prometheus-cpp-dev
  libcli11-dev libcurl4-openssl-dev libjemalloc-dev librdkafka-dev libre2-dev libutf8proc-dev libzip-dev)
packages_run=(postgresql-15 ca-certificates curl jq tzdata)
packages_test=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev postgresql-server-dev-15 python3 spin gcc)
packages_fleet=(default-jre-headless maven kcat openssl)
packages_chaos=(libfaketime strace xfsprogs)
packages_fuzz=(clang libclang-rt-14-dev)
packages_lint=(clang clang-format clang-tidy python3)

# missing_packages NAME...: those that are not installed, one a line (a few milliseconds, no network).
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query --show --showformat='${db:Status-Abbrev} ${Package}\n' 2>/dev/null | sed -n 's/^ii  //p' | sort -u)
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "this needs root: run it as root, or install sudo; the command was: $*"
  fi
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "no apt-get here; this project is built on Debian 12. Needed: ${missing[*]}"
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log=$local_dir/setup.log
  apt_get update >"$log" 2>&1 || { tail -n 5 "$log" >&2; die "apt-get update failed; the whole log: $log"; }
  apt_get install --yes --no-install-recommends "${missing[@]}" >>"$log" 2>&1 ||
    { tail -n 15 "$log" >&2; die "apt-get install failed; the whole log: $log"; }
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q "$@" </dev/null; }

# setup [SET...]: the packages of these sets (build, run, test, lint; default: these four), and what the fleet set takes from elsewhere.
setup() {
  local sets=("$@") set names=()
  [ ${#sets[@]} -gt 0 ] || sets=(build run test lint)
  for set in "${sets[@]}"; do
    case $set in
      build) names+=("${packages_build[@]}") ;;
      run) names+=("${packages_run[@]}") ;;
      test) names+=("${packages_test[@]}") ;;
      lint) names+=("${packages_lint[@]}") ;;
      chaos) names+=("${packages_chaos[@]}") ;;
      fleet) names+=("${packages_fleet[@]}") ;;
      fuzz) names+=("${packages_fuzz[@]}") ;;
      images) names+=("${packages_images[@]}") ;;
      *) die "setup: unknown set \"$set\"; there are: build run test lint chaos fleet fuzz images" ;;
    esac
  done
  if [ -n "$(missing_packages "${names[@]}")" ]; then
    with_lock setup install_packages "${names[@]}"
  else
    say "setup: ${#names[@]} packages are there (${sets[*]})"
  fi
  if [[ " ${sets[*]} " = *" fleet "* ]]; then
    local part
    for part in kafka s3 jaeger promtool; do with_lock setup ${part}_install; done
  fi
}

# need SET...: their packages, and nothing said when they are there. What is fetched from elsewhere is fetched by who starts it.
need() {
  local set
  for set in "$@"; do
    local -n names=packages_$set
    [ -z "$(missing_packages "${names[@]}")" ] || with_lock setup install_packages "${names[@]}"
  done
}
