# ./dev coverage sim: which lines of the protocol's files the simulator runs (a build of its own, gcc --coverage; gcov's word, added up by file).
run_coverage() {  # sim [--missed]
  local build=build/coverage data=$local_dir/coverage
  [ "${1:-}" = sim ] || die "coverage: what of? there is: sim"
  shift
  build coverage sim_tests
  find "$build" -name '*.gcda' -delete
  # What must turn red is left out: it would count lines that only a mistake reaches.
  ACL_SIM_SEEDS=${ACL_SIM_SEEDS:-1000} "$build/bin/sim_tests" --gtest_filter='*CounterSimSeeds*:*HoldsOverAllSeeds*' >"$local_dir/coverage.log" 2>&1 ||
    { tail -n 20 "$local_dir/coverage.log" >&2; die "the simulator is red; its output: .local/coverage.log"; }
  rm -rf "$data"
  mkdir -p "$data"
  (cd "$data" && find "$top/$build" -name '*.gcda' -print0 | xargs -0 -r gcov --json-format >/dev/null 2>&1)
  python3 .dev/coverage.py "$top" "$data" "$@"
}
