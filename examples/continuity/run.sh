#!/bin/sh
# A small book written by two agents that get killed. Needs a fleet (./dev up), airun and jq in the PATH.
#   examples/continuity/run.sh [FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(mktemp -d)}
export AIRUN_PROJECT=${AIRUN_PROJECT:-book} AIRUN_ACTOR=ann
pause=${CONTINUITY_PAUSE:-1}

airun project create "$AIRUN_PROJECT" >/dev/null
goal=$(airun goal add "Write the book")
first=$(airun task add "First chapter" --goal "$goal" --priority 1 --evidence artifact)
second=$(airun task add "Second chapter" --goal "$goal" --evidence artifact)
airun task add "Afterword" --goal "$goal" --depends-on "$first" --depends-on "$second" --evidence artifact >/dev/null
airun next

AIRUN_ACTOR=agent-a "$here/agent.sh" "$folder" "$pause" & a=$!
AIRUN_ACTOR=agent-b "$here/agent.sh" "$folder" "$pause" & b=$!

# One is killed once it has left a checkpoint. Nobody tells the project; its claim runs out, and the other goes on at the next page.
until [ -f "$folder/$first/page-1.txt" ]; do sleep 0.2; done
kill -9 "$a"
wait "$a" 2>/dev/null || true
echo "agent-a is dead"
wait "$b"

airun work
airun goal done "$goal"
[ "$(find "$folder" -name 'page-*.txt' | wc -l)" -eq 9 ] || { echo "pages are missing" >&2; exit 1; }
airun verify --all
echo "book: ok"
