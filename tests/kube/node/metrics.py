"""From the pods' own pages to what an autoscaler reads, as in a cluster: a real Prometheus that scrapes what the ServiceMonitor of a release
says and records what its PrometheusRule says, and the API external.metrics.k8s.io over it (what an adapter is in a cluster)."""
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import yaml

from .api import Refused

PORT, ADAPTER = 19090, 16080


def targets_of(api, monitor):
    """What Prometheus' own discovery of a cluster would find, with its labels: Debian's Prometheus is built without it."""
    namespace, wanted = monitor["metadata"]["namespace"], monitor["spec"]["selector"]["matchLabels"]
    services = {s["metadata"]["name"]: s for s in api.get("/api/v1/namespaces/%s/services" % namespace)["items"]
                if all(s["metadata"].get("labels", {}).get(k) == v for k, v in wanted.items())}
    pods = {p["metadata"]["name"]: p for p in api.get("/api/v1/namespaces/%s/pods" % namespace)["items"]}
    found = []
    for one in api.get("/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices" % namespace)["items"]:
        service = one["metadata"].get("labels", {}).get("kubernetes.io/service-name")
        for endpoint in (one.get("endpoints") or []) if service in services else []:
            pod = pods.get((endpoint.get("targetRef") or {}).get("name"))
            for port in one.get("ports") or []:
                labels = {"__meta_kubernetes_namespace": namespace, "__meta_kubernetes_service_name": service, "__meta_kubernetes_endpoint_port_name": port["name"]}
                if pod:
                    labels["__meta_kubernetes_pod_name"] = pod["metadata"]["name"]
                    labels.update({"__meta_kubernetes_pod_label_" + re.sub("[^a-zA-Z0-9_]", "_", k): v for k, v in pod["metadata"]["labels"].items()})
                found.append({"targets": ["%s:%d" % (endpoint["addresses"][0], port["port"])], "labels": labels})
    return found


def job_of(monitor, endpoint, number, file):
    """A ServiceMonitor's endpoint as Prometheus' own configuration, as the operator writes it: the parts that the chart uses."""
    relabel = [{"source_labels": ["__meta_kubernetes_endpoint_port_name"], "regex": endpoint["port"], "action": "keep"},
               {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
               {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
               {"source_labels": ["__meta_kubernetes_service_name"], "target_label": "service"}]
    relabel += [{"source_labels": r["sourceLabels"], "target_label": r["targetLabel"]} for r in endpoint.get("relabelings", [])]
    return {"job_name": "%s-%d" % (monitor["metadata"]["name"], number), "scrape_interval": "1s", "metrics_path": endpoint["path"], "relabel_configs": relabel,
            "file_sd_configs": [{"files": [file], "refresh_interval": "1s"}]}


class Prometheus:
    def __init__(self, plane, program):
        self.plane, self.program, self.folder = plane, program, plane.folder + "/prometheus"
        os.makedirs(self.folder, exist_ok=True)

    def configure(self, objects):
        """objects: a release's ServiceMonitors and PrometheusRules, as Helm renders them."""
        monitors = [o for o in objects if o["kind"] == "ServiceMonitor"]
        groups = [g for o in objects if o["kind"] == "PrometheusRule" for g in o["spec"]["groups"]]
        for group in groups:
            group["interval"] = "1s"
        files = {m["metadata"]["name"]: "%s/targets-%s.json" % (self.folder, m["metadata"]["name"]) for m in monitors}
        jobs = [job_of(m, e, n, files[m["metadata"]["name"]]) for m in monitors for n, e in enumerate(m["spec"]["endpoints"])]
        threading.Thread(target=self.discover, args=(monitors, files), daemon=True).start()
        with open(self.folder + "/rules.yml", "w", encoding="utf-8") as file:
            yaml.safe_dump({"groups": groups}, file)
        with open(self.folder + "/prometheus.yml", "w", encoding="utf-8") as file:
            yaml.safe_dump({"global": {"evaluation_interval": "1s", "scrape_interval": "1s"}, "rule_files": [self.folder + "/rules.yml"], "scrape_configs": jobs}, file)

    def discover(self, monitors, files):
        while True:
            for monitor in monitors:
                path = files[monitor["metadata"]["name"]]
                try:
                    found = targets_of(self.plane.api, monitor)
                except (OSError, Refused):
                    continue   # the next turn
                with open(path + ".new", "w", encoding="utf-8") as file:
                    json.dump(found, file)
                os.rename(path + ".new", path)
            time.sleep(1)

    def start(self):
        self.plane.run("prometheus", self.program, "--config.file=" + self.folder + "/prometheus.yml", "--storage.tsdb.path=" + self.folder + "/data",
                       "--web.listen-address=127.0.0.1:%d" % PORT, "--log.level=warn")
        self.plane.wait("Prometheus", lambda: urllib.request.urlopen("http://127.0.0.1:%d/-/ready" % PORT, timeout=2).status == 200)

    def query(self, expression):
        url = "http://127.0.0.1:%d/api/v1/query?%s" % (PORT, urllib.parse.urlencode({"query": expression}))
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)["data"]["result"]


class Adapter:
    """external.metrics.k8s.io/v1beta1: a metric of a namespace by labels is what Prometheus says of it."""

    def __init__(self, prometheus, address, folder):
        certificate, key = folder + "/adapter.crt", folder + "/adapter.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=adapter"],
                       check=True, capture_output=True)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                parts = urllib.parse.urlsplit(self.path)
                words = parts.path.strip("/").split("/")
                if len(words) == 3:
                    body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": []}
                elif len(words) == 6 and words[3] == "namespaces":
                    body = self.values(words[4], words[5], urllib.parse.parse_qs(parts.query).get("labelSelector", [""])[0])
                else:
                    body = {"kind": "APIGroup", "apiVersion": "v1", "name": "external.metrics.k8s.io", "versions": []}
                text = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def values(self, namespace, name, selector):
                labels = ['namespace="%s"' % namespace] + ['%s="%s"' % tuple(part.split("=")) for part in selector.split(",") if part]
                found = prometheus.query("%s{%s}" % (name, ",".join(labels)))
                stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                return {"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": {}, "items": [
                    {"metricName": name, "metricLabels": {k: v for k, v in one["metric"].items() if k != "__name__"}, "timestamp": stamp,
                     "value": "%dm" % round(float(one["value"][1]) * 1000)} for one in found]}

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer((address, ADAPTER), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    @staticmethod
    def register(api, address):
        api.create("/api/v1/namespaces/kube-system/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "external-metrics"},
                   "spec": {"ports": [{"name": "https", "port": 443, "targetPort": ADAPTER}]}})
        api.create("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [{"name": "https", "port": ADAPTER, "protocol": "TCP"}],
            "metadata": {"name": "external-metrics", "labels": {"kubernetes.io/service-name": "external-metrics"}},
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]})
        api.create("/apis/apiregistration.k8s.io/v1/apiservices", {
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
            "spec": {"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": True,
                     "service": {"namespace": "kube-system", "name": "external-metrics"}}})
