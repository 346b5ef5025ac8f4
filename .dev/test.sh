# Tests.

# Servers of their own for each test run, so that several may run at the same time.
end_servers() {  # NAME
  pg remove "$1"
  [ ! -d "$local_dir/kafka" ] || kafka remove "$1"
  [ ! -d "$local_dir/jaeger" ] || jaeger remove "$1"
}

ctest_with() {  # "SERVER..." PRESET CTEST-ARG...; SERVER: kafka s3 jaeger llm corpora chart; PostgreSQL is always there
  local servers=$1 preset=$2 name=test-$$ code=0 server; shift 2
  trap 'end_servers "'"$name"'"' EXIT
  export LSAN_OPTIONS="suppressions=$top/tests/support/lsan.supp:print_suppressions=0"
  ACL_TEST_DATABASE_URL=$(pg start "$name")
  export ACL_TEST_DATABASE_URL ACL_TEST_PGBOUNCER=$pgbouncer_home
  with_lock setup pgbouncer_install
  for server in $servers; do
    case $server in
      kafka)
        ACL_TEST_KAFKA=$(kafka start "$name")
        export ACL_TEST_KAFKA ACL_TEST_KAFKA_NAME=$name ;;
      chart)
        with_lock setup kube_tools_install
        with_lock setup kube_crds_install
        ACL_TEST_KUBE_TOOLS=$(kube_tools_home) ACL_TEST_KUBE_CRDS=$(kube_crds_home)
        export ACL_TEST_KUBE_TOOLS ACL_TEST_KUBE_CRDS ;;
      s3 | llm) with_lock setup "${server}_install" ;;   # the tests start their own
      corpora)
        with_lock setup corpora_install
        ACL_TEST_CORPORA=$(corpora_home)
        export ACL_TEST_CORPORA ;;
      jaeger)
        with_lock setup promtool_install
        ACL_TEST_JAEGER=$(jaeger start "$name")
        ACL_TEST_OTLP=$(jaeger otlp "$name")
        export ACL_TEST_JAEGER ACL_TEST_OTLP ACL_TEST_PROMTOOL=$promtool_home/promtool ;;
    esac
  done
  local log=build/$preset/Testing/ctest.log
  mkdir -p "build/$preset/Testing"
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(jobs)" --repeat until-pass:2 "$@" 2>&1 | tee "$log" || code=${PIPESTATUS[0]}
  say_flaky "$preset" "$log" || code=1
  return "$code"
}

# say_flaky PRESET LOG: names what failed and passed when run once more. Tests of real processes and servers may, and go into docs/contribute/flaky.md;
# of what depends on nothing but itself (unit, house, sim, model) a second pass proves nothing, and the run is red.
say_flaky() {
  local preset=$1 name code=0 strict
  local -a failed
  mapfile -t failed < <(sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.*\*\*\*.*/\1/p' "$2" | sort -u)
  [ ${#failed[@]} -gt 0 ] || return 0
  strict=$(ctest --test-dir "build/$preset" -N -L '^(unit|house|sim|model|mutant)$' | sed -nE 's/^ *Test +#[0-9]+: //p')
  for name in "${failed[@]}"; do
    # The last line of a test counts.
    ! grep -E "Test +#[0-9]+: $name \.+" "$2" | tail -n 1 | grep -q 'Passed' || {
      say "flaky: $name"
      ! grep -qxF -- "$name" <<<"$strict" || { say "test: $name may not need a second try"; code=1; }
    }
  done
  return $code
}

# What CI runs under the sanitizers: what has most memory (asan) and most threads (tsan) of its own, among it the store's transactions and
# whole workers over a real PostgreSQL. `./dev test asan` and `tsan` run all of unit, integration and sim.
asan_core=(unit_base unit_journal unit_queue unit_definition unit_workflow unit_capability fuzz_tests sim_tests)
tsan_core=(unit_runtime unit_http unit_queue unit_telemetry integration_tests)

sanitize() {  # PRESET BINARY...
  local preset=$1; shift
  build "$preset" "$@"   # of binaries that are not built ctest has no cases
  ctest_with "" "$preset" -L '^(unit|house|integration|sim)$'
}

# Known mistakes, each compiled into a build of its own and chosen by name; the simulator must notice every one (docs/contribute/mutants.md).
quick_mutants='task_token_ignored|answers_forgotten|no_fence|stale_claim|no_dispatch_compare|effect_without_key|no_ready_row_with_the_reap'
mutants() {  # quick | all
  local select='IsNoticed|MutantsBuild'
  [ "$1" = all ] || select="IsNoticed/($quick_mutants)"
  build mutants sim_tests mutant_tests
  ctest --test-dir build/mutants --output-on-failure --no-tests=error -j "$(jobs)" -L '^(sim|mutant)$' -R "$select|^mutant\."
}

# run_tests [SUITE] [CTEST-ARG...]: ends with ctest's own summary.
run_tests() {
  local suite=${1:-all} preset=dev servers=""
  local -a select=() targets=()
  [ $# -eq 0 ] || shift
  case $suite in
    api) run_api "$@"; return ;;
    migrations) run_migrations; return ;;
    chart) run_chart "$@"; return ;;
    all | suite) servers="kafka s3 jaeger llm corpora chart" ;;
    kafka | s3 | jaeger | llm) servers=$suite; select=(-L "^$suite\$"); targets=("${suite}_tests") ;;
    outside) servers=corpora; select=(-L '^outside$' --verbose); targets=(outside_tests) ;;   # says how many cases there are
    unit) select=(-L '^(unit|house)$') ;;
    integration | sim | e2e | house) select=(-L "^$suite\$") ;;
    model) select=(-L '^model$'); targets=(unit_house) ;;   # spin makes its own programs
    # Sanitizers make the simulator ten times slower: fewer seeds, the same code.
    asan | tsan) preset=$suite; select=(-L '^(unit|house|integration|sim)$'); export ACL_SIM_SEEDS=${ACL_SIM_SEEDS:-300} ;;
    asan-core) export ACL_SIM_SEEDS=${ACL_SIM_SEEDS:-300}; sanitize asan "${asan_core[@]}"; return ;;
    tsan-core) export ACL_SIM_SEEDS=${ACL_SIM_SEEDS:-300}; sanitize tsan "${tsan_core[@]}"; return ;;
    *) die "test: unknown suite \"$suite\"; there are: all unit integration sim model outside e2e api migrations chart house kafka s3 jaeger llm asan tsan asan-core tsan-core" ;;
  esac
  build "$preset" "${targets[@]}"
  if [ "$suite" = all ]; then mutants quick; fi
  ctest_with "$servers" "$preset" "${select[@]}" "$@"
}
