"""A receiver of Standard Webhooks for webhook.yaml: takes each message once, and only from who has the key.

    python3 examples/webhook-receiver.py 8000 KEYS

KEYS is the file of keys that the worker has (NAME = whsec_...). What it does by hand, to show what is to be done, the libraries of
https://www.standardwebhooks.com do in a line.
"""
import base64
import hashlib
import hmac
import http.server
import re
import sys
import time

with open(sys.argv[2], encoding="ascii") as keys:
    secrets = [base64.b64decode(found) for found in re.findall(r"whsec_([A-Za-z0-9+/=]+)", keys.read())]
taken = set()  # ids; a receiver that is to live long keeps them in a database


def what_is_wrong(headers, body):
    number, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not number or not sent.isdigit() or abs(time.time() - int(sent)) > 300:
        return "no id, or not of these five minutes"
    signed = f"{number}.{sent}.".encode() + body
    expected = [base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode() for secret in secrets]
    given = [one[3:] for one in headers.get("webhook-signature", "").split() if one.startswith("v1,")]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given):
        return "signed by nobody known"
    return ""


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.answer(200, f"taken: {len(taken)}\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wrong = what_is_wrong(self.headers, body)
        if wrong:
            return self.answer(401, wrong + "\n")
        seen = self.headers["webhook-id"] in taken
        taken.add(self.headers["webhook-id"])
        self.answer(200, "taken before\n" if seen else "taken\n")


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
