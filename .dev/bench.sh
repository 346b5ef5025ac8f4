# Benchmarks. The programs are built with the release flags into build/bench, beside the fleet's own.

bench_targets() { [ "$1" = micro ] && echo bench || echo "bench-programs ${binaries[*]}"; }

bench_locked() {  # KIND
  local targets
  read -ra targets <<<"$(bench_targets "$1")"
  if [ ! -f build/bench/build.ninja ]; then
    cmake --preset release -B build/bench -DACL_TESTS=ON >"$local_dir/configure-bench.log" 2>&1 ||
      { tail -n 20 "$local_dir/configure-bench.log" >&2; die "cmake failed; its log: .local/configure-bench.log"; }
  fi
  nice ninja -C build/bench -j "$(jobs)" --quiet "${targets[@]}" >&2
}

# run_micro [NAME] [ARG...]: all of them, or tests/bench/NAME_bench.cc; ARGs go to Google Benchmark.
run_micro() {
  local name=${1:-*} file
  [ $# -eq 0 ] || shift
  with_lock build-bench bench_locked micro
  for file in build/bench/bin/bench_$name; do
    [[ -x $file && $file != *.so ]] || die "bench: no benchmark \"$name\""
    "$file" "$@"
  done
}

# run_bench [OPTION...]: whole fleets against the ceiling (tests/bench/run); run_bench micro ...: single functions.
run_bench() {
  need build run test
  if [ "${1:-}" = micro ]; then
    shift
    run_micro "$@"
    return
  fi
  with_lock build-bench bench_locked fleet
  local home
  home=$(pg_home)
  exec "$top/build/bench/bin/bench-run" --folder "$home/bench-$$" --postgres "$pg_bin" "$@"
}
