"""A server for http-local.yaml: GET gives a page, POST /notes keeps a note in memory.

    python3 examples/small-server.py 8000

It honours Idempotency-Key: the same key again gets the first answer, and no second note is kept.
"""
import http.server
import json
import sys

notes = []
answers = {}  # Idempotency-Key -> what was answered


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, content_type, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, "text/html", f"<p>hello from here; notes so far: {len(notes)}</p>\n")

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path != "/notes":
            return self.answer(404, "text/plain", "notes are posted to /notes\n")
        key = self.headers.get("Idempotency-Key")
        if key not in answers:
            notes.append(text)
            answers[key] = json.dumps({"number": len(notes), "note": text})
        self.answer(201, "application/json", answers[key])


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
