"""Takes what runs say by PUBLISH, and what approvals ask (docs/guides/webhooks.md), and shows it as a message in a chat, with a button for each link.

    python3 examples/webhook-receiver/receiver.py 8000 KEYS

KEYS is the coordinator's webhook_keys_file (NAME HOST... = whsec_...). Each message is taken once, whoever sends it how often, and only from
who has the key. What stands here by hand, the libraries of https://www.standardwebhooks.com do in a line. To post to a real chat, send what
`chat_message` makes to its incoming webhook; the blocks are Slack's.
"""
import base64
import hashlib
import hmac
import http.server
import json
import re
import sys
import threading
import time

TOLERANCE = 300  # seconds
with open(sys.argv[2], encoding="ascii") as keys:
    SECRETS = [base64.b64decode(found) for found in re.findall(r"whsec_([A-Za-z0-9+/=]+)", keys.read())]
taken = {}  # what was shown, by id; a receiver that is to live long keeps its ids in a database, in the transaction of what they did
lock = threading.Lock()


def what_is_wrong(headers, body):
    message, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not message or not sent.isdigit() or abs(time.time() - int(sent)) > TOLERANCE:
        return "no id, or not of these five minutes"
    signed = f"{message}.{sent}.".encode() + body
    expected = [base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode() for secret in SECRETS]
    given = [one[3:] for one in headers.get("webhook-signature", "").split() if one.startswith("v1,")]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given):
        return "signed by nobody known"
    return ""


def chat_message(payload):
    """The event's type, its text, and a button for each of its links: {"links": {"Approve": URL, ...}}."""
    data = payload.get("data", payload)
    data = data if isinstance(data, dict) else {"text": str(data)}
    if "approval_id" in data:  # an approval asks: both buttons open its page, where the decision is made
        data = {**data, "links": {"Approve": data.get("approve_url"), "Reject": data.get("reject_url")}}
    text = f"*{payload.get('type', payload.get('event', 'message'))}*\n{data.get('text', data.get('message', ''))}"
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]
    links = {name: url for name, url in data.get("links", {}).items() if str(url).startswith(("https://", "http://"))}
    if links:
        buttons = [{"type": "button", "text": {"type": "plain_text", "text": name}, "url": url} for name, url in links.items()]
        blocks.append({"type": "actions", "elements": buttons})
    return {"blocks": blocks}


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def do_GET(self):
        with lock:
            self.answer(200, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in taken.values()))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wrong = what_is_wrong(self.headers, body)
        if wrong:
            return self.answer(401, wrong + "\n")
        message = chat_message(json.loads(body))
        with lock:
            is_new = taken.setdefault(self.headers["webhook-id"], message) is message
        if is_new:
            print(json.dumps(message, ensure_ascii=False), flush=True)
        self.answer(200, "taken\n" if is_new else "taken before\n")


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
