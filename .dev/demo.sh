# ./dev demo [FOLDER]: a real workflow over real files, one of two workers killed with kill -9 in the middle of a step. Ends with `demo: ok`
# only if every claim it makes has been checked against the database.

demo_step=count_words  # the step whose worker is killed

# Copies what the demo works on to DIR/files/in: FOLDER, or this project's docs and sources. Bounded: 1000 files, 4 MiB each.
demo_gather() {  # DIR [FOLDER]
  local dir=$1 folder=${2:-} list=$1/list
  rm -rf "$dir" && mkdir -p "$dir/files/in"
  if [ -n "$folder" ]; then
    [ -d "$folder" ] || die "demo: no such folder: $folder"
    (cd "$folder" && find . -name .git -prune -o -type f -readable -size -4096k -print0 2>/dev/null || true) >"$list.all"
    (cd "$folder" && find . -name .git -prune -o -type f -not '(' -readable -size -4096k ')' -printf x 2>/dev/null || true) >"$list.left"
  else
    folder=$top
    (cd "$top" && { find README.md docs examples shared coordinator worker cli migrations -type f -print0 2>/dev/null || true; }) >"$list.all"
  fi
  LC_ALL=C sort -z "$list.all" | sed -z '1001,$d' >"$list"
  demo_left_out "$list" "$folder"
  [ -s "$list" ] || die "demo: there is no readable file below 4 MiB in $folder"
  tar -C "$folder" --null --no-recursion --files-from="$list" -cf - | tar -C "$dir/files/in" -xf -
}

# Says what of the folder the demo does not take.
demo_left_out() {  # LIST FOLDER
  local all taken large=0
  all=$(tr -dc '\0' <"$1.all" | wc -c) taken=$(tr -dc '\0' <"$1" | wc -c)
  [ ! -f "$1.left" ] || large=$(wc -c <"$1.left")
  [ "$large" -eq 0 ] || say "the demo leaves out $large files of $2 that are 4 MiB or larger, or not readable"
  [ "$all" -eq "$taken" ] || say "the demo leaves out $((all - taken)) files of $2: it takes the first $taken by name"
}

# The text file the report quotes: the largest Markdown or text file that is UTF-8, else the largest UTF-8 file.
demo_main_file() {  # DIR
  local name
  (cd "$1" && { find in -type f \( -name '*.md' -o -name '*.txt' \) -printf '%s %p\n' | sort -nr | sed '51,$d'
    find in -type f -size -1024k -printf '%s %p\n' | sort -nr | sed '201,$d'; }) | cut -d ' ' -f 2- |
    while IFS= read -r name; do
      if [ -s "$1/$name" ] && iconv -f UTF-8 -t UTF-8 "$1/$name" >/dev/null 2>&1 && ! grep -qP '\x00' "$1/$name"; then echo "$name"; break; fi
    done || true  # what feeds the loop may get a SIGPIPE
}

demo_sql() { psql -XqAt -v ON_ERROR_STOP=1 -d "$ACL_DATABASE_URL" -c "$1"; }
demo_now() { printf '%5.1f s  ' "$(bc_div $(($(date +%s%N) / 1000000 - demo_began)))"; }
bc_div() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }
demo_tell() { echo "$(demo_now)$*"; }

# demo_await WHAT SQL: until the query gives a row; dies after a minute.
demo_await() {
  local tries out
  for ((tries = 0; tries < 600; tries++)); do
    out=$(demo_sql "$2")
    [ -z "$out" ] || { echo "$out"; return 0; }
    sleep 0.1
  done
  die "demo: waited a minute for: $1; the logs: .local/fleet/demo/"
}

demo_fail() { echo "demo: FAILED: $*"; echo "  look at it: ./dev up demo; ./dev airun workflow events $demo_id; logs in .local/fleet/demo/"; return 1; }

demo_check() {  # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] || { demo_fail "$1: expected $2, found $3"; exit 1; }
  echo "          ok: $1"
}

demo_story() {  # DIR MAIN
  local dir=$1 main=$2 airun=$top/build/dev/bin/airun id holder token pid out steps
  demo_id=$("$airun" workflow run "$top/examples/folder-report.yaml" --files "$dir/files" -i "main=$main" -i pause=3 -o json | jq -r .id)
  id=$demo_id
  steps=$(grep -c '^  - name:' "$top/examples/folder-report.yaml")
  demo_tell "submitted examples/folder-report.yaml: $steps steps over $(find "$dir/files" -type f | wc -l) files, $(du -sh "$dir/files" | cut -f 1); run $id"

  out=$(demo_await "the start of step $demo_step" "select l.worker_name, l.fencing_token, (select count(*) from completed_steps c where c.workflow_id = l.workflow_id)
    from step_attempts a join workflow_leases l using (workflow_id) where a.workflow_id = '$id' and a.step_id = '$demo_step'")
  IFS='|' read -r holder token steps_done <<<"$out"
  demo_tell "$holder holds the run under fencing token $token; $steps_done steps are committed, \"$demo_step\" is running"
  pid=$(proc_pid "$(fleet_dir demo)" "$holder")
  kill -9 "$pid"
  demo_check "$demo_step was in the middle when its worker was killed" 0 "$(demo_sql "select count(*) from completed_steps where workflow_id = '$id' and step_id = '$demo_step'")"
  demo_tell "kill -9 $pid: $holder is gone; its lease ends in at most $ACL_LEASE_TTL_MS ms"

  out=$(demo_await "the takeover" "select worker_name, fencing_token from workflow_leases where workflow_id = '$id' and fencing_token > $token")
  demo_tell "${out%|*} took the run over under token ${out#*|} and runs \"$demo_step\" again"
  out=$(demo_await "the end of the run" "select status from workflows where id = '$id' and status in ('COMPLETED', 'FAILED', 'ROLLED_BACK')")
  demo_tell "the run is $out"

  demo_check "the run completed" COMPLETED "$out"
  demo_check "every one of the $steps steps is committed, and once" "$steps|$steps" \
    "$(demo_sql "select count(*), count(distinct step_id) from completed_steps where workflow_id = '$id'")"
  demo_check "\"$demo_step\" was tried twice and completed under the higher token" "2|t" \
    "$(demo_sql "select count(*), (select fencing_token from completed_steps where workflow_id = '$id' and step_id = '$demo_step') > $token
       from step_attempts where workflow_id = '$id' and step_id = '$demo_step'")"
  demo_check "nothing was written under the old token after the takeover" 0 \
    "$(demo_sql "select count(*) from events e where workflow_id = '$id' and fencing_token <= $token
       and event_seq > (select min(event_seq) from events where workflow_id = '$id' and fencing_token > $token)")"
  demo_check "airun verify --all: $("$airun" verify --all -o json | tee "$dir/verify.json" | jq -r '"\([.checked[]] | add) checks, \(.violations | length) violations"')" \
    0 "$(jq -r '.violations | length' "$dir/verify.json")"
  demo_check_files "$dir" "$main"
  rm -rf "$top/.local/demo-result" && mkdir -p "$top/.local/demo-result" && cp "$dir"/{SHA256SUMS,report.md,folder.zip} "$top/.local/demo-result/"
}

# What the run wrote, against what this script makes of the same files by itself.
demo_check_files() {  # DIR MAIN
  local dir=$1 main=$2 file
  for file in SHA256SUMS out/report.md out/folder.zip; do
    curl --silent --fail --noproxy '*' -o "$dir/${file##*/}" "$ACL_SERVER/v1/workflows/$demo_id/files/$file" || { demo_fail "the run has no file $file"; exit 1; }
  done
  (cd "$dir/files" && find in -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$dir/expected"
  demo_check "SHA256SUMS is what sha256sum makes of the same files here" "$(sha256sum <"$dir/expected")" "$(sha256sum <"$dir/SHA256SUMS")"
  demo_check "the report names the right file, hash, number of files and words" 4 \
    "$(grep -c -x -F -e "Main file: $main ($(wc -m <"$dir/files/$main") characters)" -e "SHA-256: $(sha256sum <"$dir/files/$main" | cut -c 1-64)" \
      -e "Files: $(wc -l <"$dir/expected")" -e "Words: $(cd "$dir/files" && find in -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | wc -w)" "$dir/report.md")"
}

cmd_demo() {
  local dir main demo_id='' folder=${1:-}
  [ -z "$folder" ] || folder=$(cd "$ACL_CALLER_DIR" && readlink -f "$folder")
  build_binaries
  demo_began=$(($(date +%s%N) / 1000000))
  dir=$local_dir/demo.$$
  trap 'rm -rf "'"$dir"'"' EXIT
  demo_gather "$dir" "$folder"
  main=$(demo_main_file "$dir/files")
  [ -n "$main" ] || die "demo: there is no UTF-8 text file in $folder"
  with_lock demo demo_locked "$dir" "$main"
}

demo_locked() {
  trap 'fleet_stop demo >/dev/null' EXIT
  fleet_stop demo
  export ACL_LEASE_TTL_MS=${ACL_LEASE_TTL_MS:-2000} ACL_REAP_MS=200
  fleet_start demo
  demo_tell "PostgreSQL, a coordinator and two workers are up (lease: $ACL_LEASE_TTL_MS ms)"
  demo_story "$@"
  ln -sfn demo "$local_dir/fleet/current"
  cat <<TEXT
demo: ok
What it made: .local/demo-result/report.md and folder.zip. To go on by hand:
  ./dev up demo                                  this fleet again, with its runs
  ./dev airun workflow events $demo_id    the journal
  ./dev airun workflow status $demo_id    every step, its attempts and tokens
  ./dev airun verify --all                       the proof
TEXT
}
