"""Nodes that run what is scheduled onto them: each container of a pod is a process in the root folder of its image (container.py), with the
pod's own variables, files, user, probes, preStop, signals and grace. The API server, controllers and scheduler are Kubernetes' own; this is
the part of a node that a chart can tell from a real one.

Not as a kubelet: no exec and no port-forward; network policies are not enforced; no seccomp; volumes are memory."""
import datetime
import http.client
import http.server
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time

from . import network, podspec
from .api import Refused

LOGS = 10250
HERE = os.path.dirname(os.path.abspath(__file__))


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Journal:
    """What happened to containers, for the test: one dict an event."""

    def __init__(self, path):
        self.lock, self.file, self.events = threading.Lock(), open(path, "a", encoding="utf-8"), []

    def note(self, pod, container, event, **more):
        entry = {"at": time.time(), "pod": pod, "container": container, "event": event, **more}
        with self.lock:
            self.events.append(entry)
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()

    def of(self, event, after=0.0):
        with self.lock:
            return [e for e in self.events if e["event"] == event and e["at"] >= after]


def probe_once(probe, address, ports):
    got = probe.get("httpGet")
    if not got:
        return True
    port = ports.get(got["port"], got["port"])
    connection = http.client.HTTPConnection(address, port, timeout=probe.get("timeoutSeconds", 1))
    try:
        connection.request("GET", got.get("path", "/"), headers={h["name"]: h["value"] for h in got.get("httpHeaders", [])})
        return 200 <= connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Container:
    """One container of a pod, and its process while there is one."""

    def __init__(self, pod, spec, init):
        self.pod, self.spec, self.init, self.name = pod, spec, init, spec["name"]
        self.process, self.restarts, self.ready, self.started = None, 0, False, False
        self.waiting, self.ended, self.began = "ContainerCreating", None, None
        self.started_at = None

    def start(self):
        pod = self.pod
        image = pod.node.images.get(self.spec["image"])
        if image is None:
            self.waiting = "ErrImagePull"
            raise podspec.NotYet("ErrImagePull", "no image " + self.spec["image"])
        uid, gid, groups = podspec.user_of(pod.object, self.spec, image)
        env = podspec.environment(pod.object, self.spec, pod.objects, image["env"], {}, pod.address, network.GATEWAY)
        mounts = [{"target": "/etc/hosts", "source": pod.hosts_file, "read_only": True}]
        for mount in sorted(self.spec.get("volumeMounts", []), key=lambda m: m["mountPath"]):
            source = dict(pod.volumes[mount["name"]])
            mounts.append({"target": mount["mountPath"], **source, "read_only": mount.get("readOnly", source.get("read_only", False))})
        argv = self.spec.get("command") or image["entrypoint"]
        argv = [podspec.expand(word, env) for word in argv + self.spec.get("args", [])]
        pid_file = "%s/%s-%d.pid" % (pod.folder, self.name, self.restarts)
        spec = {"root": image["root"], "argv": argv, "env": env, "uid": uid, "gid": gid, "groups": groups, "cwd": "/", "hostname": pod.name[:63],
                "netns": pod.network, "read_only": self.spec.get("securityContext", {}).get("readOnlyRootFilesystem", False), "mounts": mounts,
                "pid_file": pid_file, "cgroup": "acl-k8s/%s" % pod.network,
                "memory_bytes": podspec.bytes_of(self.spec.get("resources", {}).get("limits", {}).get("memory"), None)}
        path = "%s/%s-%d.json" % (pod.folder, self.name, self.restarts)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(spec, file)
        self.pid_file, self.log = pid_file, "%s/%s-%s.log" % (pod.node.logs, pod.name, self.name)
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([sys.executable, "-B", HERE + "/container.py", path], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.waiting, self.ended, self.began, self.started_at = None, None, time.monotonic(), now()
        self.ready = self.started = False
        pod.node.journal.note(pod.name, self.name, "started", image=self.spec["image"])

    def signal(self, number):
        try:
            with open(self.pid_file, encoding="ascii") as file:
                os.kill(int(file.read()), number)
        except (OSError, ValueError):
            pass

    def poll(self):
        """Its exit code once it has ended."""
        if self.process is None:
            return None
        code = self.process.poll()
        if code is not None and self.ended is None:
            self.ended, self.ready = code, False
            self.pod.node.journal.note(self.pod.name, self.name, "ended", code=code, seconds=round(time.monotonic() - self.began, 2))
        return self.ended

    def stop(self, grace):
        """preStop, SIGTERM, and SIGKILL when the grace is over; all of it counts."""
        if self.process is None or self.poll() is not None:
            return
        deadline, began = time.monotonic() + grace, time.monotonic()
        sleep = self.spec.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        time.sleep(min(sleep, grace))
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(max(0.5, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.pod.node.journal.note(self.pod.name, self.name, "killed", grace=grace)
            self.signal(signal.SIGKILL)
            self.process.wait()
        self.poll()
        self.pod.node.journal.note(self.pod.name, self.name, "stopped", seconds=round(time.monotonic() - began, 2), code=self.ended)

    def state(self):
        if self.process is None:
            return {"waiting": {"reason": self.waiting}}
        if self.ended is not None:
            reason = "Completed" if self.ended == 0 else "Error"
            return {"terminated": {"exitCode": self.ended, "reason": reason, "startedAt": self.started_at, "finishedAt": now()}}
        return {"running": {"startedAt": self.started_at}}

    def status(self):
        return {"name": self.name, "image": self.spec["image"], "imageID": self.spec["image"], "ready": self.ready or (self.init and self.ended == 0),
                "started": self.started, "restartCount": self.restarts, "state": self.state()}


class Prober:
    """A probe's own counting: its period, and how often in a row it must say the same."""

    def __init__(self, probe):
        self.probe, self.next, self.good, self.bad = probe, time.monotonic() + probe.get("initialDelaySeconds", 0), 0, 0

    def due(self):
        return time.monotonic() >= self.next

    def ask(self, address, ports):
        """True or False when the thresholds say so, else None."""
        self.next = time.monotonic() + self.probe.get("periodSeconds", 10)
        if probe_once(self.probe, address, ports):
            self.good, self.bad = self.good + 1, 0
            return True if self.good >= self.probe.get("successThreshold", 1) else None
        self.good, self.bad = 0, self.bad + 1
        return False if self.bad >= self.probe.get("failureThreshold", 3) else None


class Pod(threading.Thread):
    def __init__(self, node, obj):
        super().__init__(daemon=True)
        self.node, self.object = node, obj
        self.name, self.namespace, self.uid = obj["metadata"]["name"], obj["metadata"]["namespace"], obj["metadata"]["uid"]
        self.path = "/api/v1/namespaces/%s/pods/%s" % (self.namespace, self.name)
        self.address, self.network = node.addresses.take()
        self.folder = "%s/pods/%s" % (node.folder, self.uid)
        self.hosts_file = self.folder + "/hosts"
        self.objects = podspec.Objects(node.api, self.namespace)
        self.volumes, self.phase, self.told = None, "Pending", None
        self.inits = [Container(self, c, True) for c in obj["spec"].get("initContainers", [])]
        self.mains = [Container(self, c, False) for c in obj["spec"]["containers"]]
        self.delete_in = None
        self.wake = threading.Event()

    # -- what the API server is told

    def tell(self):
        ready = bool(self.mains) and all(c.ready for c in self.mains) and self.delete_in is None
        initialized = all(c.ended == 0 for c in self.inits)

        def condition(kind, true):
            return {"type": kind, "status": "True" if true else "False", "lastTransitionTime": now()}
        status = {"phase": self.phase, "podIP": self.address, "podIPs": [{"ip": self.address}], "hostIP": network.GATEWAY, "startTime": self.object["metadata"]["creationTimestamp"],
                  "conditions": [condition("PodScheduled", True), condition("Initialized", initialized), condition("ContainersReady", ready), condition("Ready", ready)],
                  "containerStatuses": [c.status() for c in self.mains], "initContainerStatuses": [c.status() for c in self.inits]}
        brief = json.dumps([status["phase"], ready, initialized, [(c.ready, c.restarts, c.ended, c.waiting, c.started) for c in self.inits + self.mains]])
        if brief == self.told:
            return
        try:
            self.node.api.patch(self.path + "/status", {"metadata": {"uid": self.uid}, "status": status})
            self.told = brief
        except (Refused, OSError):
            pass   # gone, or told at the next turn

    # -- its life

    def run(self):
        os.makedirs(self.folder, mode=0o755, exist_ok=True)
        network.join_pod(self.network, self.address)
        self.write_hosts()
        try:
            self.live()
        finally:
            for container in self.mains + self.inits:
                container.stop(0.5)
            network.leave_pod(self.network)
            self.node.forget(self)

    def write_hosts(self):
        with open(self.hosts_file, "w", encoding="utf-8") as file:
            file.write(self.node.services.hosts(self.namespace) + "%s %s\n" % (self.address, self.name))

    def live(self):
        if not self.wait_for_files() or not self.run_inits():
            return self.wait_for_deletion()
        probers = {}
        for container in self.mains:
            self.start_when_possible(container)
        while self.delete_in is None:
            self.phase = self.phase_of_mains()
            self.tell()
            if self.phase in ("Succeeded", "Failed"):
                return self.wait_for_deletion()
            for container in self.mains:
                self.look_after(container, probers)
            self.wake.wait(0.1)
        return self.end()

    def wait_for_files(self):
        while self.delete_in is None:
            try:
                self.volumes = podspec.volumes(self.object, self.objects, self.folder + "/volumes")
                return True
            except (podspec.NotYet, Refused, OSError, KeyError) as why:
                for container in self.mains:
                    container.waiting = getattr(why, "reason", "CreateContainerError")
                self.tell()
                self.wake.wait(0.5)
        return False

    def start_when_possible(self, container):
        while self.delete_in is None:
            try:
                container.start()
                return True
            except podspec.NotYet as why:
                container.waiting = why.reason
                self.node.journal.note(self.name, container.name, "waits", reason=why.reason, words=why.words)
            except (Refused, OSError):
                container.waiting = "CreateContainerError"
            self.tell()
            self.wake.wait(0.5)
        return False

    def run_inits(self):
        for container in self.inits:
            while container.ended != 0:
                if not self.start_when_possible(container):
                    return False
                while container.poll() is None:
                    if self.delete_in is not None:
                        return False
                    self.tell()
                    self.wake.wait(0.05)
                if container.ended != 0:
                    if self.object["spec"].get("restartPolicy", "Always") == "Never":
                        self.phase = "Failed"
                        self.tell()
                        return False
                    container.restarts += 1
                    self.wake.wait(1)
            self.tell()
        return True

    def phase_of_mains(self):
        policy = self.object["spec"].get("restartPolicy", "Always")
        ends = [c.poll() for c in self.mains]
        if policy != "Always" and all(code == 0 for code in ends):
            return "Succeeded"
        if policy == "Never" and all(code is not None for code in ends):
            return "Failed"
        return "Running" if all(c.process is not None for c in self.mains) else "Pending"

    def look_after(self, container, probers):
        if container.process is None:
            return
        policy = self.object["spec"].get("restartPolicy", "Always")
        if container.poll() is not None:
            if policy == "Always" or (policy == "OnFailure" and container.ended != 0):
                container.restarts += 1
                probers.pop(container.name, None)
                self.wake.wait(min(10, 2 ** (container.restarts - 1)))
                if self.delete_in is None:
                    self.start_when_possible(container)
            return
        ports = {p["name"]: p["containerPort"] for p in container.spec.get("ports", []) if "name" in p}
        mine = probers.setdefault(container.name, {k: Prober(container.spec[k]) for k in ("startupProbe", "livenessProbe", "readinessProbe") if k in container.spec})
        if not container.started:
            said = mine["startupProbe"].ask(self.address, ports) if "startupProbe" in mine and mine["startupProbe"].due() else (None if "startupProbe" in mine else True)
            container.started = said is True
            if said is False:
                self.kill_unhealthy(container, "startup")
            return
        if "readinessProbe" not in mine:
            container.ready = True
        elif mine["readinessProbe"].due():
            said = mine["readinessProbe"].ask(self.address, ports)
            if said is not None and said != container.ready:
                container.ready = said
                self.node.journal.note(self.name, container.name, "ready" if said else "unready", seconds=round(time.monotonic() - container.began, 2))
        if "livenessProbe" in mine and mine["livenessProbe"].due() and mine["livenessProbe"].ask(self.address, ports) is False:
            self.kill_unhealthy(container, "liveness")

    def kill_unhealthy(self, container, probe):
        self.node.journal.note(self.name, container.name, "unhealthy", probe=probe)
        container.stop(self.object["spec"].get("terminationGracePeriodSeconds", 30))

    def wait_for_deletion(self):
        self.tell()
        while self.delete_in is None:
            self.wake.wait(1)
        return self.end()

    def end(self):
        self.tell()   # not ready any more
        threads = [threading.Thread(target=c.stop, args=(self.delete_in,)) for c in self.mains + self.inits]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.tell()
        try:
            self.node.api.call("DELETE", self.path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}})
        except (Refused, OSError):
            pass   # it is gone

    def seen(self, obj):
        self.object = {**self.object, "metadata": obj["metadata"]}
        if obj["metadata"].get("deletionTimestamp") and self.delete_in is None:
            self.delete_in = obj["metadata"].get("deletionGracePeriodSeconds", 30)
            self.wake.set()


def serve_logs(nodes, folder):
    """`kubectl logs`: the API server asks the node for /containerLogs/NAMESPACE/POD/CONTAINER."""
    certificate, key = folder + "/node.crt", folder + "/node.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=node"],
                   check=True, capture_output=True)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            words = self.path.split("?")[0].strip("/").split("/")
            path = "%s/%s-%s.log" % (nodes.logs, words[2], words[3]) if len(words) == 4 and words[0] == "containerLogs" else ""
            found = os.path.isfile(path)
            self.send_response(200 if found else 404)
            self.end_headers()
            if found:
                with open(path, "rb") as file:
                    self.wfile.write(file.read())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((network.GATEWAY, LOGS), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Nodes:
    """The cluster's nodes, all on this machine."""

    def __init__(self, api, services, folder, images, count, zones):
        self.api, self.services, self.folder, self.images = api, services, folder, images
        self.logs = folder + "/logs"
        os.makedirs(self.logs, exist_ok=True)
        self.journal, self.addresses, self.pods, self.lock = Journal(folder + "/journal.jsonl"), network.Addresses(), {}, threading.Lock()
        self.names = ["node-%d" % (n + 1) for n in range(count)]
        for number, name in enumerate(self.names):
            self.make_node(name, zones[number % len(zones)])
        self.beat()
        services.on_change = self.write_hosts
        serve_logs(self, folder)
        threading.Thread(target=self.keep_alive, daemon=True).start()
        threading.Thread(target=self.follow, daemon=True).start()

    def make_node(self, name, zone):
        self.api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}}})

    def beat(self):
        room = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
        for name in self.names:
            self.api.patch("/api/v1/nodes/%s/status" % name, {"status": {
                "capacity": room, "allocatable": room, "addresses": [{"type": "InternalIP", "address": network.GATEWAY}, {"type": "Hostname", "address": name}],
                "nodeInfo": {"kubeletVersion": "v1.34.1", "operatingSystem": "linux", "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "acl://1",
                             "kernelVersion": os.uname().release, "kubeProxyVersion": "", "machineID": "", "osImage": "images of docker/", "systemUUID": ""},
                "daemonEndpoints": {"kubeletEndpoint": {"Port": LOGS}},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": now(), "lastTransitionTime": now()}]}})

    def keep_alive(self):
        while True:
            time.sleep(10)
            try:
                self.beat()
            except (Refused, OSError):
                pass

    def write_hosts(self):
        with self.lock:
            pods = list(self.pods.values())
        for pod in pods:
            if os.path.isdir(pod.folder):
                pod.write_hosts()

    def follow(self):
        while True:
            try:
                for kind, seen in self.api.watch("/api/v1/pods"):
                    for one in seen if kind == "RELIST" else [seen]:
                        self.take(kind, one)
            except (OSError, ValueError, Refused):
                time.sleep(0.5)

    def take(self, kind, obj):
        if obj["spec"].get("nodeName") not in self.names:
            return
        with self.lock:
            pod = self.pods.get(obj["metadata"]["uid"])
            if pod is None and kind != "DELETED" and obj["status"].get("phase") in (None, "Pending"):
                pod = self.pods[obj["metadata"]["uid"]] = Pod(self, obj)
                pod.start()
        if pod is None:
            return
        if kind == "DELETED" and pod.delete_in is None:
            pod.delete_in = 0.5   # by force: nobody waits for it
            pod.wake.set()
        else:
            pod.seen(obj)

    def forget(self, pod):
        with self.lock:
            self.pods.pop(pod.uid, None)

    def stop(self):
        with self.lock:
            pods = list(self.pods.values())
        for pod in pods:
            pod.delete_in = 5
            pod.wake.set()
        for pod in pods:
            pod.join(30)
