# ./dev chaos: fleets of real processes under faults (docs/contribute/chaos.md). Histories and reports lie under .local/chaos.

# PostgreSQL's user must be able to reach the folder of a run; .local may be below one's home.
chaos_one() {  # NAME OPTION...
  local name=$1 folder program=airun code=0; shift
  folder=$(mktemp -d /tmp/acl-chaos-XXXXXX)
  chmod 711 "$folder"
  case " $* " in
    *" kafka "*)
      with_lock setup toxiproxy_install
      set -- "$@" --kafka "$(kafka start chaos)" --kafka-control "$top/dev kafka {} chaos" --toxiproxy "$toxiproxy_home/toxiproxy-server"
      set -- "$@" --kafka-byway "$(kafka byway chaos)" ;;
    *" agent "*) set -- "$@" --kafka "$(kafka start chaos)" --kafka-control "$top/dev kafka {} chaos" ;;
    *" brokers "*) set -- "$@" --kafka "$(kafka cluster start chaos)" --kafka-control "$top/dev kafka cluster {} chaos" ;;
    *" versions "*) build dev acl-coordinator-next acl-worker-next airun-next; program=airun-next ;;   # which can read what they write
    *" toxic "* | *" objects "*) with_lock setup toxiproxy_install; set -- "$@" --toxiproxy "$toxiproxy_home/toxiproxy-server" ;;
  esac
  (
    case " $* " in
      *" objects "*) s3 start chaos >/dev/null; settings=$(s3 env chaos); while read -r line; do export "${line?}"; done <<<"$settings" ;;
    esac
    exec "$top/build/dev/bin/$program" chaos run --folder "$folder/run" "$@"
  ) || code=$?
  case " $* " in *" brokers "*) kafka cluster remove chaos ;; *" kafka "* | *" agent "*) kafka remove chaos ;; *" objects "*) s3 remove chaos ;; esac
  mkdir -p "$local_dir/chaos/$name"
  cp "$folder"/run/history.jsonl "$folder"/run/report.* "$local_dir/chaos/$name/" 2>/dev/null || true
  if [ $code = 0 ]; then rm -rf "$folder"; else say "chaos: kept for a look: $folder"; fi
  say "chaos: $name: report .local/chaos/$name/report.html"
  return $code
}

# The same mistakes in a whole fleet of real processes: each run must find an invariant broken (exit code 1).
fleet_mutants() {
  local name folder code told bad=0 options
  build mutants acl-coordinator acl-worker airun
  for name in effect_without_key compensation_out_of_order compensation_forgotten no_ready_row_with_the_commit no_fence task_token_ignored shown_a_command_late answers_forgotten agent_stimulus_lost_at_rest agent_move_before_promise; do
    options=(--profile quick --seed 7)
    case $name in
      task_token_ignored | shown_a_command_late | answers_forgotten) options=(--profile continuity-quick --seed 7) ;;   # has agents on projects
      agent_*) options=(--profile agent-quick --seed 7) ;;
      no_fence) options=(--profile failpoints --seed 3) ;;   # has the fault late-in-gap
      no_ready_row_with_the_commit) options+=(--faults rolling-restart,rolling-restart,kill-worker,late-commit) ;;   # runs are put back only by who drains
    esac
    folder=$(mktemp -d /tmp/acl-chaos-XXXXXX)
    chmod 711 "$folder"
    code=0
    told=$(CHAOS_MUTANT=$name "$top/build/mutants/bin/airun" chaos run "${options[@]}" --folder "$folder/run" 2>&1) || code=$?
    rm -rf "$folder"
    if [ $code = 1 ]; then say "mutant in a fleet: $name: noticed by $(grep -E '^[a-z][a-z0-9. ]* +[1-9][0-9]* of ' <<<"$told" | sed -E 's/ +[0-9]+ of.*//' | paste -sd, -)"
    else say "mutant in a fleet: $name: NOT noticed (exit code $code)"; bad=1; fi
  done
  return $bad
}

cmd_chaos() {
  local profile code=0
  if [ "${1:-}" = mutants ]; then mutants all || code=$?; need chaos; fleet_mutants || code=$?; return $code; fi
  local minutes
  if [ "${1:-}" = --soak ]; then
    case ${2:-} in
      *h) minutes=$((${2%h} * 60)) ;;
      *m) minutes=${2%m} ;;
      *) die "chaos: --soak wants a time, as in --soak 4h or --soak 90m: \"${2:-}\"" ;;
    esac
    shift 2
    set -- --profile soak --minutes "$minutes" "$@"
  fi
  need chaos
  build_binaries
  if [ $# -gt 0 ]; then chaos_one last "$@"; return; fi
  "$top/build/dev/bin/airun" chaos zombie || code=$?
  mutants all || code=$?
  fleet_mutants || code=$?
  for profile in quick lease-theft postgres failpoints clocks machine failover toxic objects versions continuity agent kafka brokers; do chaos_one $profile --profile $profile || code=$?; done
  chaos_one soak --profile soak --minutes "${ACL_CHAOS_MINUTES:-18}" || code=$?
  return $code
}
