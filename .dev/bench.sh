# Benchmarks. The programs are built with the release flags into build/bench, beside the fleet's own.

bench_targets() { [ "$1" = micro ] && echo bench || echo "bench-programs ${binaries[*]}"; }

bench_locked() {  # KIND
  local targets
  read -ra targets <<<"$(bench_targets "$1")"
  if [ ! -f build/bench/build.ninja ] || ! cmp -s CMakePresets.json build/bench/presets; then
    cmake --preset release -B build/bench -DACL_TESTS=ON >"$local_dir/configure-bench.log" 2>&1 ||
      { tail -n 20 "$local_dir/configure-bench.log" >&2; die "cmake failed; its log: .local/configure-bench.log"; }
    cp CMakePresets.json build/bench/presets
  fi
  nice ninja -C build/bench -j "$(jobs)" --quiet "${targets[@]}" >&2
}

# run_micro [NAME] [ARG...]: all of them, or tests/bench/NAME_bench.cc; ARGs go to Google Benchmark.
run_micro() {
  local name=${1:-*} file
  [ $# -eq 0 ] || shift
  with_lock build-bench bench_locked micro
  case $name in
    '*' | commit | create | claim | projects)  # need a database
      if [ -z "${ACL_TEST_DATABASE_URL:-}" ]; then
        trap "pg remove bench-$$" EXIT
        ACL_TEST_DATABASE_URL=$(pg start "bench-$$")
        export ACL_TEST_DATABASE_URL
      fi ;;
  esac
  for file in build/bench/bin/bench_$name; do
    [[ $file != *.so ]] || continue
    [ -x "$file" ] || die "bench: no benchmark \"$name\""
    "$file" "$@"
  done
}

# Only the columns over Kafka need what the first use of it fetches.
needs_kafka() {
  case " $* " in
    *" --help "* | *" -h "*) return 1 ;;
    *" --columns "*) [[ " $* " = *" --columns "*kafka* ]] ;;
    *) [[ " $* " != *" --quick "* ]] ;;
  esac
}

# measure_peers FILE OPTION...: the peers at the points that are asked for, a line each into FILE.
measure_peers() {
  local file=$1 points=1,16,64,256 warm_up=5 window=20; shift
  if [[ " $* " = *" --quick "* ]]; then warm_up=2 window=5; fi
  while [ $# -gt 0 ]; do
    if [ "$1" = --points ]; then points=${2:-}; fi
    shift
  done
  bench_peers "$points" "$warm_up" "$window" >"$file" || say "bench: not every peer gave a figure"
}

end_bench() {  # NAME
  [ ! -d "$local_dir/kafka/$1" ] || kafka remove "$1"
}

# run_agents [--sessions N] [--moves N]: sessions of agents at rest, woken, and one that lives long, on a fleet of its own (the dev build).
run_agents() {
  local pids='' name
  build_binaries
  trap 'fleet_stop bench-agents; pg remove bench-agents' EXIT
  fleet_start bench-agents
  for name in coordinator worker-1 worker-2; do pids+=",$(proc_pid "$(fleet_dir bench-agents)" $name)"; done
  python3 -B "$top/.dev/agents_bench.py" --server "$ACL_SERVER" --database "$ACL_DATABASE_URL" --pids "${pids#,}" "$@"
}

# run_bench [OPTION...]: whole fleets against the ceiling (tests/bench/run); run_bench micro ...: single functions.
run_bench() {
  need build run test
  if [ "${1:-}" = micro ]; then
    shift
    run_micro "$@"
    return
  fi
  if [ "${1:-}" = agents ]; then
    shift
    run_agents "$@"
    return
  fi
  if needs_kafka "$@"; then with_lock setup kafka_install; fi
  with_lock build-bench bench_locked fleet
  local home code=0 peers_file=$local_dir/bench-peers.jsonl
  home=$(pg_home)
  rm -f "$peers_file"
  if [[ " $* " = *" --peers "* ]]; then measure_peers "$peers_file" "$@"; fi
  trap 'end_bench "bench-$$"' EXIT
  "$top/build/bench/bin/bench-run" --folder "$home/bench-$$" --postgres "$pg_bin" --dev "$top/dev" --local "$local_dir" --broker "bench-$$" \
    --peers-file "$peers_file" "$@" &
  bench_pid=$!
  trap 'kill -TERM "$bench_pid" 2>/dev/null || true' INT TERM
  wait "$bench_pid" || code=$?
  # A signal ends the wait before it ends the program.
  while kill -0 "$bench_pid" 2>/dev/null; do wait "$bench_pid" || code=$?; done
  return "$code"
}
