"""The API server, as much of it as a node and a test need."""
import http.client
import json
import ssl
import urllib.parse


class Refused(Exception):
    """The API server's own words, and its status."""

    def __init__(self, code, text):
        super().__init__("%d: %s" % (code, text))
        self.code = code


class Api:
    def __init__(self, port, token, authority):
        self.port, self.token = port, token
        self.context = ssl.create_default_context(cafile=authority)

    def _ask(self, method, path, body=None, kind="application/json", timeout=30):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=timeout)
        headers = {"Authorization": "Bearer " + self.token, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        return connection, connection.getresponse()

    def call(self, method, path, body=None, kind="application/json"):
        connection, answer = self._ask(method, path, body, kind)
        try:
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            try:
                words = json.loads(text).get("message", "")
            except ValueError:
                words = text[:200].decode(errors="replace")
            raise Refused(answer.status, words)
        return json.loads(text) if text else {}

    def get(self, path):
        return self.call("GET", path)

    def find(self, path):
        """None where there is no such object."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def create(self, path, body):
        """Made, or there already."""
        try:
            return self.call("POST", path, body)
        except Refused as refused:
            if refused.code != 409:
                raise
            return None

    def patch(self, path, body):
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def watch(self, path, selector=""):
        """Every object that is there, then every change: (type, object), until the server ends it; ("RELIST", [objects]) begins each list."""
        listed = self.get(path + selector)
        yield "RELIST", listed["items"]
        query = urllib.parse.urlencode({"watch": "1", "resourceVersion": listed["metadata"]["resourceVersion"], "allowWatchBookmarks": "true"})
        connection, answer = self._ask("GET", path + (selector + "&" if selector else "?") + query, timeout=3600)
        try:
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                if event["type"] != "BOOKMARK":
                    yield event["type"], event["object"]
        finally:
            connection.close()
