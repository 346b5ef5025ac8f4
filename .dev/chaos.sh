# ./dev chaos: fleets of real processes under faults (docs/chaos.md). Histories and reports lie under .local/chaos.

# PostgreSQL's user must be able to reach the folder of a run; .local may be below one's home.
chaos_one() {  # NAME OPTION...
  local name=$1 folder program=airun code=0; shift
  folder=$(mktemp -d /tmp/acl-chaos-XXXXXX)
  chmod 711 "$folder"
  case " $* " in
    *" kafka "*) set -- "$@" --kafka "$(kafka start chaos)" --kafka-control "$top/dev kafka {} chaos" ;;
    *" versions "*) build dev acl-coordinator-next acl-worker-next airun-next; program=airun-next ;;   # which can read what they write
    *" toxic "* | *" objects "*) with_lock setup toxiproxy_install; set -- "$@" --toxiproxy "$toxiproxy_home/toxiproxy-server" ;;
  esac
  (
    case " $* " in
      *" objects "*) s3 start chaos >/dev/null; settings=$(s3 env chaos); while read -r line; do export "${line?}"; done <<<"$settings" ;;
    esac
    exec "$top/build/dev/bin/$program" chaos run --folder "$folder/run" "$@"
  ) || code=$?
  case " $* " in *" kafka "*) kafka remove chaos ;; *" objects "*) s3 remove chaos ;; esac
  mkdir -p "$local_dir/chaos/$name"
  cp "$folder"/run/history.jsonl "$folder"/run/report.* "$local_dir/chaos/$name/" 2>/dev/null || true
  if [ $code = 0 ]; then rm -rf "$folder"; else say "chaos: kept for a look: $folder"; fi
  say "chaos: $name: report .local/chaos/$name/report.html"
  return $code
}

cmd_chaos() {
  local profile code=0
  if [ "${1:-}" = mutants ]; then mutants all; return; fi
  need chaos
  build_binaries
  if [ $# -gt 0 ]; then chaos_one last "$@"; return; fi
  "$top/build/dev/bin/airun" chaos zombie || code=$?
  mutants all || code=$?
  for profile in quick lease-theft postgres failpoints clocks machine failover toxic objects versions kafka; do chaos_one $profile --profile $profile || code=$?; done
  chaos_one soak --profile soak --minutes "${ACL_CHAOS_MINUTES:-18}" || code=$?
  return $code
}
