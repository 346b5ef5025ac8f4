"""What PyPI's standardwebhooks says to the questions in OUT/webhooks.json: python3 export_webhooks.py ITS-SOURCES OUT"""
import datetime
import json
import sys

sys.path.insert(0, sys.argv[1])
from standardwebhooks import webhooks  # noqa: E402

path = sys.argv[2] + "/webhooks.json"
with open(path, encoding="utf-8") as source:
    cases = json.load(source)


class Clock(datetime.datetime):
    """Says the time of the question."""

    at = 0

    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(cls.at, tz=tz)


webhooks.datetime = Clock


def taken(one):
    Clock.at = one["now"]
    try:
        webhooks.Webhook(one["secret"]).verify(one["body"], one["headers"], json_parse=False)
        return True
    except Exception:  # whatever it says no with
        return False


for one in cases["signed"]:
    at = datetime.datetime.fromtimestamp(one["timestamp"], tz=datetime.timezone.utc)
    one["pypi"] = webhooks.Webhook(one["secret"]).sign(one["id"], at, one["body"])
for one in cases["verified"] + cases["ours"]:
    one["pypi"] = taken(one)
with open(path, "w", encoding="utf-8") as out:
    json.dump(cases, out, indent=1)
