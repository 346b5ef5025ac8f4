# Tests and benchmarks.

# A PostgreSQL of its own for each test run, so that several may run at the same time.
ctest_with_pg() {  # PRESET CTEST-ARG...
  local preset=$1 name=test-$$ code=0; shift
  trap 'pg remove "'"$name"'"' EXIT
  ACL_TEST_DATABASE_URL=$(pg start "$name")
  export ACL_TEST_DATABASE_URL LSAN_OPTIONS="suppressions=$top/tests/support/lsan.supp:print_suppressions=0"
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(jobs)" "$@" || code=$?
  return $code
}

# What CI runs under the sanitizers: what has most memory (asan) and most threads (tsan) of its own, among it the store's transactions and
# whole workers over a real PostgreSQL. `./dev test asan` and `tsan` run all of unit, integration and sim.
asan_core=(unit_base unit_journal unit_queue unit_spec unit_workflow unit_capability sim_tests)
tsan_core=(unit_runtime unit_http unit_queue unit_telemetry integration_tests)

sanitize() {  # PRESET BINARY...
  local preset=$1; shift
  build "$preset" "$@"   # of binaries that are not built ctest has no cases
  ctest_with_pg "$preset" -L '^(unit|house|integration|sim)$'
}

# What needs a broker of this run: the clients, the queue drivers, fleets on Kafka.
kafka_tests() {
  local name=test-$$ code=0
  build dev kafka_tests
  trap 'pg remove "'"$name"'"; kafka remove "'"$name"'"; kafka remove "'"$name"'-dies"' EXIT
  ACL_TEST_KAFKA=$(kafka start "$name")
  ACL_TEST_DATABASE_URL=$(pg start "$name")
  export ACL_TEST_KAFKA ACL_TEST_KAFKA_NAME=$name ACL_TEST_DATABASE_URL
  ctest --test-dir build/dev --output-on-failure --no-tests=error -j "$(jobs)" -L '^kafka$' "$@" || code=$?
  return $code
}

# The object store against real S3 servers, which the tests start by themselves.
s3_tests() {
  build dev s3_tests
  with_lock setup s3_install
  ctest_with_pg dev -L '^s3$' "$@"
}

# What a fleet tells of itself, read back through a real Jaeger and checked by promtool.
jaeger_tests() {
  local name=test-$$
  build dev jaeger_tests
  with_lock setup promtool_install
  trap 'jaeger remove "'"$name"'"; pg remove "'"$name"'"' EXIT
  ACL_TEST_JAEGER=$(jaeger start "$name")
  ACL_TEST_OTLP=$(jaeger otlp "$name")
  ACL_TEST_DATABASE_URL=$(pg start "$name")
  export ACL_TEST_JAEGER ACL_TEST_OTLP ACL_TEST_DATABASE_URL ACL_TEST_PROMTOOL=$promtool_home/promtool
  ctest --test-dir build/dev --output-on-failure --no-tests=error -L '^jaeger$' "$@"
}

# run_tests [SUITE] [CTEST-ARG...]: ends with ctest's own summary.
run_tests() {
  local suite=${1:-all} preset=dev
  local -a select=()
  [ $# -eq 0 ] || shift
  case $suite in
    all | suite) select=(-LE '^(kafka|s3|jaeger)$') ;;   # servers that the first README command does without: `.ci/run` has them as parts of their own
    kafka) kafka_tests "$@"; return ;;
    s3) s3_tests "$@"; return ;;
    jaeger) jaeger_tests "$@"; return ;;
    unit) select=(-L '^(unit|house)$') ;;
    integration | sim | e2e | house) select=(-L "^$suite\$") ;;
    # Sanitizers make the simulator ten times slower: fewer seeds, the same code.
    asan | tsan) preset=$suite; select=(-L '^(unit|house|integration|sim)$'); export ACL_SIM_SEEDS=${ACL_SIM_SEEDS:-25} ;;
    asan-core) export ACL_SIM_SEEDS=${ACL_SIM_SEEDS:-25}; sanitize asan "${asan_core[@]}"; return ;;
    tsan-core) export ACL_SIM_SEEDS=${ACL_SIM_SEEDS:-25}; sanitize tsan "${tsan_core[@]}"; return ;;
    *) die "test: unknown suite \"$suite\"; there are: all unit integration sim e2e house kafka s3 jaeger asan tsan asan-core tsan-core" ;;
  esac
  build "$preset"
  ctest_with_pg "$preset" "${select[@]}" "$@"
}

bench_locked() {
  cmake --preset release -B build/bench -DACL_TESTS=ON >"$local_dir/configure-bench.log" 2>&1 || die "cmake failed; its log: .local/configure-bench.log"
  nice ninja -C build/bench -j "$(jobs)" bench >&2
}

# run_bench [NAME] [ARG...]: all benchmarks, or tests/bench/NAME_bench.cc, with the release flags; ARGs go to Google Benchmark.
run_bench() {
  local name=${1:-*} file
  [ $# -eq 0 ] || shift
  need build run test
  with_lock build-bench bench_locked
  for file in build/bench/bin/bench_$name; do
    [ -x "$file" ] || die "bench: no benchmark \"$name\""
    "$file" "$@"
  done
}
