# Configure and build. build/PRESET; one build of a preset at a time in this checkout.
binaries=(acl-coordinator acl-worker airun)

presets="dev release asan tsan clang mutants fuzz coverage"
configure() {  # PRESET TESTS(ON|OFF)
  local cache=build/$1/CMakeCache.txt
  # Configured already with at least this. What changed since CMake notices itself, but for the flags of the presets: those stay as they were cached.
  if [ -f "$cache" ] && [ -f "build/$1/build.ninja" ] && cmp -s CMakePresets.json "build/$1/presets" && { [ "$2" = OFF ] || grep -q '^ACL_TESTS:BOOL=ON$' "$cache"; }; then return 0; fi
  cmake --preset "$1" -DACL_TESTS="$2" ${ACL_COMMIT:+-DACL_COMMIT="$ACL_COMMIT"} >"$local_dir/configure-$1.log" 2>&1 ||
    { tail -n 20 "$local_dir/configure-$1.log" >&2; die "cmake failed; its log: .local/configure-$1.log"; }
  cp CMakePresets.json "build/$1/presets"
}

build_locked() {  # PRESET TESTS TARGET...
  local preset=$1 tests=$2; shift 2
  configure "$preset" "$tests"
  nice ninja -C "build/$preset" -j "$(jobs)" "$@" >&2
}

# build [PRESET] [TARGET...]: everything of that preset, tests included (release: without them).
build() {
  local preset=${1:-dev} tests=ON
  [ $# -eq 0 ] || shift
  [[ " $presets " = *" $preset "* ]] || die "build: unknown preset \"$preset\"; there are: $presets"
  [ "$preset" != release ] || tests=OFF
  need build run
  [ $tests = OFF ] || need test
  [ "$preset" != clang ] || need lint
  with_lock "build-$preset" build_locked "$preset" $tests "$@"
  [ "$preset" != release ] || hardened "$@"
}

# What is released carries the hardening flags (cmake/toolchain.cmake): position independent, all relocations bound at the start and then
# read-only, stacks protected, checked library calls.
hardened() {  # [TARGET...]
  local binary file told wrong=()
  for binary in "${binaries[@]}"; do
    [ $# -eq 0 ] || [[ " $* " = *" $binary "* ]] || continue
    file=build/release/bin/$binary
    told=$(readelf -hdlW --dyn-syms "$file")   # whole, for grep -q would end readelf by SIGPIPE
    [[ $told = *'DYN (Position-Independent'* ]] || wrong+=("$binary: not position independent")
    [[ $told = *BIND_NOW* ]] || wrong+=("$binary: not bound at the start")
    [[ $told = *GNU_RELRO* ]] || wrong+=("$binary: relocations stay writable")
    [[ $told = *__stack_chk_fail* ]] || wrong+=("$binary: stacks are not protected")
    [[ $told = *__memcpy_chk* || $told = *__vsnprintf_chk* || $told = *__read_chk* ]] || wrong+=("$binary: library calls are not checked")
  done
  [ ${#wrong[@]} -eq 0 ] || die "build: the release is not hardened: ${wrong[*]}"
}

# build_binaries: the programs alone, without what the tests need (the quickest way to a fleet on a new machine).
build_binaries() {
  need build run
  with_lock build-dev build_locked dev OFF --quiet "${binaries[@]}"
}

clean() {
  local kind
  if declare -F cmd_down >/dev/null; then cmd_down; fi
  pg_remove_all
  for kind in kafka s3 jaeger llm; do server_remove_all "$kind"; done
  rm -rf "$top/build" "$local_dir"
}
