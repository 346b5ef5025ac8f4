# An extension over standard input and output: nothing below secret/ is touched, and what was done is written down in a journal of its own.
import json
import sys

asked = json.load(sys.stdin)
if asked["phase"] == "before_action":
    path = str(asked["draft"]["inputs"].get("path", ""))
    if path.startswith("secret/"):
        print(json.dumps({"stop": {"code": "off-limits", "message": "nothing below secret/ is touched"}}))
elif asked["phase"] == "after_process":
    print("turn %s: %s" % (asked["snapshot"]["turn"], asked["snapshot"]["outcomes"]), file=sys.stderr)
