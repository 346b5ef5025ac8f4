# ./dev fuzz: libFuzzer (clang, with its sanitizers) looks for bytes that break what reads bytes from outside (tests/fuzz). It starts from the
# inputs that are kept (tests/fuzz/corpus/TARGET, which ./dev test runs too) and goes on, another time, from what it found (.local/fuzz).
fuzz_targets=(json patch cron workflow template http_head doorbell step_message event restore snapshot expression model_answer)

fuzz_one() {  # TARGET SECONDS
  local target=$1 seconds=$2 found=$local_dir/fuzz/$1 log=$local_dir/fuzz/$1.log
  mkdir -p "$found"
  if ! nice "build/fuzz/bin/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$local_dir/fuzz/$target-" "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    grep -E 'check failed|ERROR: |runtime error|SUMMARY' "$log" | head -n 5 >&2
    say "fuzz: $target failed: $(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1); the log: $log. Mend it, and keep the input in tests/fuzz/corpus/$target"
    return 1
  fi
  say "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, nothing found"
}

run_fuzz() {  # [TARGET...] [--seconds N]
  local seconds=60 code=0 target
  local -a chosen=()
  while [ $# -gt 0 ]; do
    case $1 in
      --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
      *) [[ " ${fuzz_targets[*]} " = *" $1 "* ]] || die "fuzz: unknown target \"$1\"; there are: ${fuzz_targets[*]}"
        chosen+=("$1"); shift ;;
    esac
  done
  [ ${#chosen[@]} -gt 0 ] || chosen=("${fuzz_targets[@]}")
  need fuzz
  build fuzz "${chosen[@]/#/fuzz_}"
  for target in "${chosen[@]}"; do fuzz_one "$target" "$seconds" || code=1; done
  return $code
}
