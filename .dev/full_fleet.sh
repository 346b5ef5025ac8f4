# ./dev fleet [RUNS]: the whole fleet on this machine (PostgreSQL, Apache Kafka, Jaeger, an S3 server, two coordinators, four workers), a few hundred
# mixed runs while workers are killed, drained, frozen and replaced. Ends with `fleet: ok` only if what it says has been checked; it stays up
# until ./dev down, so that the trace it names can be opened.

full_name=full

full_servers() {  # exports what the programs need
  local dir=$1 name=$full_name
  private_folder "$dir"
  export ACL_DATABASE_URL ACL_KAFKA_BOOTSTRAP ACL_JAEGER_URL OTEL_EXPORTER_OTLP_ENDPOINT
  ACL_DATABASE_URL=$(pg start $name)
  ACL_KAFKA_BOOTSTRAP=$(kafka start $name)
  ACL_JAEGER_URL=$(jaeger start $name)
  OTEL_EXPORTER_OTLP_ENDPOINT=$(jaeger otlp $name)
  s3 start $name >/dev/null
  # shellcheck disable=SC2046
  export $(s3 env $name)
  export ACL_QUEUE_DRIVER=kafka ACL_KAFKA_PREFIX=acl ACL_DEV_MODE=true ACL_ALLOW_PRIVATE_NETWORKS=true ACL_ALLOWED_PROGRAMS=sh,test,touch,echo
  export ACL_LEASE_TTL_MS=2000 ACL_REAP_MS=200 ACL_SLOTS=32
}

full_start_programs() {  # DIR
  local dir=$1 n ports=() bells=()
  "$top/build/dev/bin/airun" db migrate >"$dir/migrate.log" 2>&1 || { cat "$dir/migrate.log" >&2; die "airun db migrate failed"; }
  "$top/build/dev/bin/airun" queue init --partitions 12 >"$dir/queue.log" 2>&1 || { cat "$dir/queue.log" >&2; die "airun queue init failed"; }
  for n in 0 1; do ports+=("$(pg_free_port)"); bells+=("$(pg_free_port)"); done
  export ACL_SERVER=http://127.0.0.1:${ports[0]} ACL_COORDINATORS=127.0.0.1:${bells[0]},127.0.0.1:${bells[1]}
  (umask 077; export -p | grep -E '^declare -x (ACL_|OTEL_)' | grep -v ACL_CALLER_DIR >"$dir/env")
  for n in 0 1; do
    ACL_LISTEN=127.0.0.1:${ports[$n]} ACL_DOORBELL_LISTEN=127.0.0.1:${bells[$n]} proc_start "$dir" "coordinator-$n" acl-coordinator
  done
  for n in 0 1; do await_http "http://127.0.0.1:${ports[$n]}/readyz" "$dir" "coordinator-$n"; done
  for n in 1 2 3 4; do full_worker "$dir" "$n"; done
  for n in 1 2 3 4; do await_worker "$dir" "worker-$n"; done
}

full_worker() {  # DIR N
  mkdir -p "$1/health"
  [ -f "$1/health/$2" ] || pg_free_port >"$1/health/$2"
  ACL_WORKER_NAME=worker-$2 ACL_WORK_DIR=$1/work-$2 ACL_HEALTH_LISTEN=127.0.0.1:$(cat "$1/health/$2") proc_start "$1" "worker-$2" acl-worker
}

full_sql() { psql -XqAt -v ON_ERROR_STOP=1 -d "$ACL_DATABASE_URL" -c "$1"; }

# Every metric is a process's own: those of killed workers died with them.
full_metric() {  # DIR NAME LABELS: the sum over living workers
  local port
  for port in "$1"/health/*; do
    curl --silent --noproxy '*' --max-time 2 "http://127.0.0.1:$(cat "$port")/metrics" || true
  done | awk -v name="$2" -v labels="$3" 'index($0, name "{") == 1 || index($0, name " ") == 1 { if (labels == "" || index($0, labels)) sum += $NF } END { print sum + 0 }'
}

full_submit() {  # RUNS, in the background of the faults
  local n kinds=(files sleeps saga flaky)
  for ((n = 0; n < $1; ++n)); do
    "$top/build/dev/bin/airun" workflow run "$top/.dev/fleet/${kinds[$((n % 4))]}.yaml" -o json >/dev/null || return 1
  done
}

# Every two seconds something happens to a worker; each is replaced by one of a new name.
full_faults() {  # DIR RUNS: until all runs have ended
  local dir=$1 runs=$2 n=0 next=5 pid alive=(1 2 3 4) victim at open tries=0
  killed=0 drained=0 frozen=0
  while :; do
    open=$(full_sql "select $runs - count(*) from workflows where status in ('COMPLETED', 'ROLLED_BACK', 'FAILED')")
    [ "$open" -gt 0 ] || return 0
    [ $((tries += 1)) -lt 120 ] || die "fleet: $open runs have not ended after 4 minutes; look: ./dev airun workflow list"
    at=$((n % ${#alive[@]}))
    victim=${alive[at]}
    pid=$(proc_pid "$dir" "worker-$victim")
    case $((n % 3)) in
      0) kill -9 "$pid"; killed=$((killed + 1)); alive[at]=$next; full_worker "$dir" $next; next=$((next + 1)) ;;
      1) kill -STOP "$pid"; sleep 2.5; kill -CONT "$pid"; frozen=$((frozen + 1)) ;;
      2) proc_stop "$dir" "worker-$victim"; drained=$((drained + 1)); alive[at]=$next; full_worker "$dir" $next; next=$((next + 1)) ;;
    esac
    n=$((n + 1))
    sleep 2
  done
}

full_check() {  # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] || { echo "fleet: FAILED: $1: expected $2, found $3; it is still up: ./dev airun workflow list, logs in .local/fleet/$full_name"; exit 1; }
  echo "  ok: $1"
}

full_story() {  # DIR RUNS
  local dir=$1 runs=$2 submitting id trace spans takeovers within median p99 longest limit
  echo "up: PostgreSQL, Kafka $ACL_KAFKA_BOOTSTRAP, Jaeger $ACL_JAEGER_URL, S3 $ACL_S3_ENDPOINT, 2 coordinators, 4 workers"
  full_submit "$runs" &
  submitting=$!
  full_faults "$dir" "$runs"
  wait "$submitting" || die "fleet: not every run could be submitted"
  echo "workers: $killed killed with kill -9, $frozen frozen past their lease, $drained drained; each killed or drained one replaced"
  full_check "all $runs runs ended as they should: three quarters completed, the failing sagas undone" "$((runs - runs / 4))|$((runs / 4))" \
    "$(full_sql "select count(*) filter (where status = 'COMPLETED'), count(*) filter (where status = 'ROLLED_BACK') from workflows")"
  full_check "every step is committed at most once" 0 "$(full_sql "select count(*) from (select from completed_steps group by workflow_id, step_id having count(*) > 1) x")"
  full_check "airun verify --all: $("$top/build/dev/bin/airun" verify --all -o json | tee "$dir/verify.json" | jq -r '"\([.checked[]] | add) checks, \(.violations | length) violations"')" \
    0 "$(jq -r '.violations | length' "$dir/verify.json")"
  full_check "a killed or frozen worker's run was taken over" t "$(full_sql "select count(*) > 0 from lease_history where takeovers_without_progress > 0")"
  id=$(full_sql "select subject_id from lease_history where takeovers_without_progress > 0 order by token desc limit 1")
  trace=$("$top/build/dev/bin/airun" workflow status "$id" -o json | jq -r .trace_id)
  for ((spans = 0; spans < 100; ++spans)); do
    [ "$(curl --silent --noproxy '*' "$ACL_JAEGER_URL/api/traces/$trace" | jq '[.data[].spans[]] | length' 2>/dev/null || echo 0)" -lt 3 ] || break
    sleep 0.2
  done
  spans=$(curl --silent --noproxy '*' "$ACL_JAEGER_URL/api/traces/$trace" | jq '[.data[].spans[]] | length')
  full_check "the trace of a run that was taken over is in Jaeger ($spans spans)" t "$([ "$spans" -ge 3 ] && echo t)"
  IFS='|' read -r takeovers within median p99 longest limit <<<"$(full_sql "$(cat "$top/.dev/fleet/takeovers.sql")")"
  column -t -s '|' <<TABLE
runs|steps|attempts|leases granted|taken over|messages dropped|claimed late|lag
$runs|$(full_sql "select count(*) from completed_steps")|$(full_sql "select count(*) from step_attempts")|$(full_sql "select count(*) from lease_history")|$(full_sql "select count(*) from lease_history where takeovers_without_progress > 0")|$(full_metric "$dir" acl_queue_messages_total 'outcome="dropped"')|$(full_metric "$dir" acl_queue_late_claims_total "")|$(full_metric "$dir" acl_queue_consumer_lag "")
TABLE
  echo
  column -t -s '|' <<TABLE
takeovers from dead or frozen workers|within TTL + 0.5 s|median|99 %|longest|TTL + 0.5 s
$takeovers|$within|$median ms|$p99 ms|$longest ms|$limit ms
TABLE
  cat <<TEXT
fleet: ok
A run that was taken over, step by step: $ACL_JAEGER_URL/trace/$trace
It stays up: ./dev airun workflow list, ./dev airun doctor, ./dev logs; ./dev down ends it.
TEXT
}

full_locked() {  # RUNS
  local dir killed drained frozen
  dir=$(fleet_dir $full_name)
  full_end
  pg remove $full_name; kafka remove $full_name; jaeger remove $full_name; s3 remove $full_name
  rm -rf "$dir"
  full_servers "$dir"
  full_start_programs "$dir"
  ln -sfn $full_name "$local_dir/fleet/current"
  full_story "$dir" "$1"
}

full_end() {  # programs first, then what they stand on; data stays
  local dir pid names=()
  dir=$(fleet_dir $full_name)
  [ -d "$dir" ] || return 0
  for pid in "$dir"/worker-*.pid "$dir"/coordinator-*.pid; do [ ! -f "$pid" ] || names+=("$(basename "$pid" .pid)"); done
  [ ${#names[@]} -eq 0 ] || proc_stop "$dir" "${names[@]}"
  kafka stop $full_name; jaeger stop $full_name; s3 stop $full_name; pg stop $full_name
}

cmd_fleet() {
  local runs=${1:-300}
  [[ $runs =~ ^[0-9]+$ ]] && [ "$runs" -ge 4 ] && [ $((runs % 4)) -eq 0 ] || die "fleet: RUNS is a multiple of 4: \"$runs\""
  build_binaries
  with_lock "fleet-$full_name" full_locked "$runs"
}
