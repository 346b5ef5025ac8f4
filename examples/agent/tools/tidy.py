# The planner of tidy-notes: reads what the agent knows on standard input, and says on standard output what it wants done. The session's files are
# in the working directory. Nothing is changed here: actions are the runtime's.
import json
import os
import sys

context = json.load(sys.stdin)["context"]
refused = {
    outcome["capability"]
    for outcome in (context.get("last") or {}).get("outcomes", [])
    if outcome["outcome"] == "refused"
}
actions = []
for name in sorted(os.listdir("notes")) if os.path.isdir("notes") else []:
    path = "notes/" + name
    if os.path.getsize(path) == 0:
        if "io.fs.delete" not in refused:  # somebody said no: it stays
            actions.append({"capability": "io.fs.delete", "inputs": {"path": path}})
    elif not name.endswith(".md"):
        actions.append({"capability": "io.fs.move", "inputs": {"source": path, "destination": path + ".md"}})
say = "%d things to do" % len(actions) if actions else "everything is tidy"
print(json.dumps({"say": say, "actions": actions[:4]}))
