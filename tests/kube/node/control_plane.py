"""Kubernetes' own API server, controllers and scheduler, and their etcd, on loopback of this network namespace."""
import json
import os
import secrets
import signal
import subprocess
import time

from .api import Api, Refused

API, ETCD = 16443, 12379


class ControlPlane:
    def __init__(self, folder, tools, control, etcd):
        self.folder, self.kubectl, self.control, self.etcd = folder, tools + "/bin/kubectl", control + "/acl-kube", etcd
        self.processes, self.api = {}, None
        os.makedirs(folder + "/certs", exist_ok=True)

    def run(self, name, *command, env=None):
        with open("%s/%s.log" % (self.folder, name), "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})}, start_new_session=True)

    def wait(self, what, ready, seconds=90):
        deadline = time.monotonic() + seconds
        while True:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise SystemExit("k8s: %s ended; its log: %s/%s.log" % (name, self.folder, name))
            try:
                if ready():
                    return
            except (OSError, Refused, ValueError):
                pass
            if time.monotonic() > deadline:
                raise SystemExit("k8s: %s is not ready after %d s; logs: %s" % (what, seconds, self.folder))
            time.sleep(0.1)

    def make_keys(self):
        key, public = self.folder + "/sa.key", self.folder + "/sa.pub"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", key, "-pubout", "-out", public], check=True, capture_output=True)
        token = secrets.token_hex(16)
        with open(os.open(self.folder + "/tokens.csv", os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write("%s,admin,admin,system:masters\n" % token)
        return key, public, token

    def start(self):
        key, public, token = self.make_keys()
        url, peer = "http://127.0.0.1:%d" % ETCD, "http://127.0.0.1:%d" % (ETCD + 1)
        self.run("etcd", self.etcd, "--data-dir", self.folder + "/etcd", "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer, "--unsafe-no-fsync")
        authority = self.folder + "/certs/apiserver.crt"
        # WatchList needs an etcd of 3.4.25; Debian has 3.4.23. 127.0.0.1 may be no endpoint, so the API server keeps none of its own.
        self.run("apiserver", self.control, "apiserver", "--etcd-servers=" + url, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                 "--endpoint-reconciler-type=none", "--secure-port=%d" % API, "--cert-dir=" + self.folder + "/certs", "--service-cluster-ip-range=10.96.0.0/16",
                 "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + public, "--service-account-signing-key-file=" + key,
                 "--token-auth-file=" + self.folder + "/tokens.csv", "--authorization-mode=RBAC", "--profiling=false", "--feature-gates=WatchList=false",
                 "--kubelet-preferred-address-types=InternalIP")
        self.wait("the API server's certificate", lambda: os.path.getsize(authority) > 0)
        self.api = Api(API, token, authority)
        self.write_kubeconfig(token, authority)
        self.wait("the API server", lambda: self.api.find("/api/v1/namespaces/default") is not None)
        kubeconfig = "--kubeconfig=" + self.folder + "/kubeconfig"
        self.run("controllers", self.control, "controller-manager", kubeconfig, "--service-account-private-key-file=" + key, "--root-ca-file=" + authority,
                 "--leader-elect=false", "--secure-port=0", "--bind-address=127.0.0.1", "--controllers=*,-node-ipam-controller", "--node-monitor-grace-period=60s",
                 "--horizontal-pod-autoscaler-sync-period=1s", "--horizontal-pod-autoscaler-initial-readiness-delay=1s", "--horizontal-pod-autoscaler-tolerance=0.05",
                 "--concurrent-endpoint-syncs=5", "--use-service-account-credentials=false")
        self.run("scheduler", self.control, "scheduler", kubeconfig, "--leader-elect=false", "--secure-port=0", "--bind-address=127.0.0.1")
        self.wait("the controllers", lambda: self.api.find("/api/v1/namespaces/default/serviceaccounts/default") is not None)

    def write_kubeconfig(self, token, authority):
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "acl", "contexts": [{"name": "acl", "context": {"cluster": "acl", "user": "admin"}}],
                  "clusters": [{"name": "acl", "cluster": {"server": "https://127.0.0.1:%d" % API, "certificate-authority": authority}}],
                  "users": [{"name": "admin", "user": {"token": token}}]}
        with open(os.open(self.folder + "/kubeconfig", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(config, file)

    def stop(self):
        for name in ("scheduler", "controllers", "apiserver", "prometheus", "etcd"):
            process = self.processes.get(name)
            if process and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
