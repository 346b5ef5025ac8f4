#!/bin/sh
# An agent that works on a project until nothing is left for it: it takes what is next, does it, says where it stands, and says when it is done.
# It keeps nothing to itself: killed at any moment, another goes on where the last checkpoint says.
#   AIRUN_PROJECT=book AIRUN_ACTOR=agent-a examples/continuity/agent.sh FOLDER [SECONDS a page]
set -eu
folder=$1 pause=${2:-1}

# One page, written as often as you like: the same text to the same place.
write_page() {  # TASK PAGE
  mkdir -p "$folder/$1"
  printf 'Page %s of %s\n' "$2" "$1" >"$folder/$1/page-$2.txt"
}

while :; do
  next=$(airun next --take --claim-seconds 5 -o json | jq -c .answer)
  task=$(printf '%s' "$next" | jq -r '.task_id // empty')
  case $(printf '%s' "$next" | jq -r .rule) in
    propose)
      # Nothing for us now. Somebody may still be at work, or have died: then their claim runs out, and it is ours.
      [ "$(printf '%s' "$next" | jq .counts.open)" -gt 0 ] || exit 0
      sleep 1
      continue ;;
    blocked) echo "$AIRUN_ACTOR: $task waits for a person" >&2; exit 3 ;;
  esac
  token=$(printf '%s' "$next" | jq .claim.token)
  # "Write page 3" is where the last one left it; a task that nobody began has its title instead.
  page=$(printf '%s' "$next" | jq -r '.next_step' | sed -n 's/^Write page \([0-9]*\)$/\1/p')
  page=${page:-1}
  while [ "$page" -le 3 ]; do
    echo "$AIRUN_ACTOR: $task, page $page"
    sleep "$pause"
    write_page "$task" "$page"
    page=$((page + 1))
    if [ "$page" -le 3 ]; then
      # Refused if our claim ran out meanwhile: then it is somebody else's, and we look for other work.
      airun checkpoint "$task" --token "$token" --where "Page $((page - 1)) is written." --next "Write page $page" || continue 2
      airun task claim "$task" --token "$token" --claim-seconds 5 || continue 2
    fi
  done
  airun task complete "$task" --token "$token" --evidence "artifact:$folder/$task/page-3.txt" || continue
done
