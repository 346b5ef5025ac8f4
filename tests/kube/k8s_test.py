#!/usr/bin/env python3
"""./dev k8s: the chart against Kubernetes' own control plane, with real pods (node/kubelet.py). Run inside a network namespace of its own by
.dev/k8s.sh, which says where everything is. k8s_test.py [helm3] [helm4] [guide]: these parts; all of them unless named."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

TOOLS, FOLDER = os.environ["ACL_TEST_KUBE_TOOLS"], os.environ["ACL_TEST_K8S_DIR"]
sys.path.insert(0, TOOLS + "/python")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)) + "/docker")

import yaml  # noqa: E402

import oci  # noqa: E402
from node import control_plane, kubelet, metrics, network  # noqa: E402
from node.api import Refused  # noqa: E402

TOP = os.path.dirname(os.path.dirname(HERE))
CHART, AIRUN, ADMIN = TOP + "/helm/acl", os.environ["ACL_TEST_AIRUN"], os.environ["ACL_TEST_DATABASE_URL"]
VERSIONS = ["0.1.0", "0.1.1"]
TABLE = []


class Failed(Exception):
    pass


def expect(true, words):
    if not true:
        raise Failed(words)


def until(what, true, seconds=60, every=0.2):
    deadline = time.monotonic() + seconds
    while True:
        seen = true()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise Failed("after %d s still not: %s" % (seconds, what))
        time.sleep(every)


def images():
    """What the nodes can run: the images of docker/, by name and version."""
    known = {}
    for version in VERSIONS:
        for image in ("coordinator", "worker", "airun"):
            config = oci.config_of(image, version, "", 0, "")["config"]
            known["acl-%s:%s" % (image, version)] = {"root": "%s/images/%s/%s" % (FOLDER, version, image), "entrypoint": config["Entrypoint"],
                                                     "env": dict(e.split("=", 1) for e in config["Env"]), "user": config["User"]}
    return known


class Cluster:
    def __init__(self):
        network.make_bridge()
        self.plane = control_plane.ControlPlane(FOLDER, TOOLS, os.environ["ACL_TEST_KUBE_CONTROL"], os.environ["ACL_TEST_ETCD"])
        self.plane.start()
        self.api = self.plane.api
        self.services = network.Services(self.api)
        self.nodes = kubelet.Nodes(self.api, self.services, FOLDER, images(), 3, ["a", "b", "c"])
        self.environment = {**os.environ, "KUBECONFIG": FOLDER + "/kubeconfig", "KUBECACHEDIR": FOLDER + "/kubecache", "HOME": FOLDER,
                            "HELM_CACHE_HOME": FOLDER + "/helm/cache", "HELM_CONFIG_HOME": FOLDER + "/helm/config", "HELM_DATA_HOME": FOLDER + "/helm/data"}
        until("three nodes are ready", lambda: len([n for n in self.api.get("/api/v1/nodes")["items"] if not n["spec"].get("taints")]) == 3)
        for path in sorted(os.listdir(os.environ["ACL_TEST_KUBE_CRDS"])):
            self.kubectl("apply", "--server-side", "-f", os.environ["ACL_TEST_KUBE_CRDS"] + "/" + path)
        self.bring_database()

    def bring_database(self):
        """PostgreSQL of this machine under the name postgres.database.svc."""
        port = int(ADMIN.rsplit(":", 1)[1].split("/")[0])
        network.forward(self.services, (network.GATEWAY, 5432), ("127.0.0.1", port))
        self.kubectl("create", "namespace", "database")
        self.api.create("/api/v1/namespaces/database/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "postgres"}, "spec": {"ports": [{"name": "sql", "port": 5432}]}})
        self.api.create("/apis/discovery.k8s.io/v1/namespaces/database/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [{"name": "sql", "port": 5432, "protocol": "TCP"}],
            "metadata": {"name": "postgres", "labels": {"kubernetes.io/service-name": "postgres"}}, "endpoints": [{"addresses": [network.GATEWAY], "conditions": {"ready": True}}]})

    def run(self, *command, ok=True, env=None, text=None, seconds=300):
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, env={**self.environment, **(env or {})}, input=text)
        if ok is not None and (ran.returncode == 0) != ok:
            raise Failed("%s: exit %d\n%s%s" % (" ".join(command)[:300], ran.returncode, ran.stdout[-2500:], ran.stderr[-2500:]))
        return ran

    def kubectl(self, *arguments, **more):
        return self.run(TOOLS + "/bin/kubectl", *arguments, **more)

    def stop(self):
        self.nodes.stop()
        self.plane.stop()
        for folder, _, _ in os.walk("/sys/fs/cgroup/memory/acl-k8s", topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                pass   # a process of it is not quite gone


def sql(database, *statements):
    url = ADMIN.rsplit("/", 1)[0] + "/" + database
    arguments = [word for statement in statements for word in ("-c", statement)]
    ran = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", url, *arguments], capture_output=True, text=True, check=False)
    expect(ran.returncode == 0, "psql: " + ran.stderr)
    return ran.stdout.strip()


class Step:
    """A line of the table: what was done, how long it took, what was seen."""

    def __init__(self, who, what):
        self.who, self.what, self.seen = who, what, ""

    def __enter__(self):
        self.began = time.monotonic()
        print("k8s: %s: %s ..." % (self.who, self.what), file=sys.stderr, flush=True)
        return self

    def __exit__(self, kind, wrong, _):
        TABLE.append((self.who, self.what, time.monotonic() - self.began, "FAILED: %s" % wrong if kind else self.seen))


class Load:
    """Runs that are submitted one after another, until End; then all of them are waited for."""

    def __init__(self, release, spec, every):
        self.release, self.spec, self.every, self.ids, self.refused = release, spec, every, [], 0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.submit, daemon=True)
        self.thread.start()

    def submit(self):
        number = 0
        while not self.ending.is_set():
            number += 1
            # A lost answer is asked for again under the same key, as clients are told to.
            ran = self.release.airun("workflow", "run", self.spec, "--idempotency-key", "load-%s-%d-%d" % (self.release.name, id(self), number), "-o", "json", ok=None)
            if ran.returncode == 0:
                self.ids.append(json.loads(ran.stdout)["id"])
            else:
                self.refused += 1
                number -= 1
            self.ending.wait(self.every)

    def end(self, seconds=120):
        self.ending.set()
        self.thread.join(60)
        ids = "','".join(self.ids)
        states = until("all %d runs have ended" % len(self.ids), lambda: (lambda s: s if set(s) <= {"COMPLETED", "FAILED", "ROLLED_BACK"} else None)(
            dict(line.split("|") for line in sql(self.release.database, "select status, count(*) from workflows where id::text in ('%s') group by 1" % ids).splitlines())), seconds)
        expect(states == {"COMPLETED": str(len(self.ids))}, "of %d runs: %s" % (len(self.ids), states))
        return len(self.ids)


class Release:
    def __init__(self, cluster, version):
        self.cluster, self.helm_version, self.name = cluster, version, "acl"
        self.namespace, self.database, self.who = "fleet-h" + version, "fleet_h" + version, "Helm " + version
        self.port = 18730 + int(version)
        self.values = "%s/values-%s.yaml" % (FOLDER, version)
        self.key = None

    def helm(self, *arguments, ok=True, seconds=300):
        return self.cluster.run(TOOLS + "/bin/helm" + self.helm_version, *arguments, "-n", self.namespace, ok=ok, seconds=seconds)

    def change(self, verb, *settings, ok=True, wait="120s"):
        return self.helm(verb, self.name, CHART, "--values", self.values, *[w for s in settings for w in ("--set", s)], "--wait", "--timeout", wait, ok=ok)

    def airun(self, *arguments, ok=True, env=None):
        return self.cluster.run(AIRUN, *arguments, ok=ok, env={"ACL_SERVER": "http://127.0.0.1:%d" % self.port, "ACL_API_KEY": self.key or "", **(env or {})}, seconds=120)

    def pods(self, component=None):
        selector = "?labelSelector=app.kubernetes.io/instance%3Dacl" + ("%2Capp.kubernetes.io/component%3D" + component if component else "")
        return self.cluster.api.get("/api/v1/namespaces/%s/pods%s" % (self.namespace, selector))["items"]

    def ready(self, component):
        return [p for p in self.pods(component) if any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))]

    def deployment(self, name):
        return self.cluster.api.get("/apis/apps/v1/namespaces/%s/deployments/acl-%s" % (self.namespace, name))

    def versions(self):
        return sorted({c["image"].split(":")[1] for p in self.pods() if p["metadata"]["labels"].get("app.kubernetes.io/component") in ("coordinator", "worker")
                       and not p["metadata"].get("deletionTimestamp") for c in p["spec"]["containers"]})

    # -- the steps

    def prepare(self):
        sql("acl", "CREATE DATABASE " + self.database)
        for role, kind in (("acl_owner", "NOLOGIN"), ("acl_service", "NOLOGIN"), ("acl_app", "LOGIN PASSWORD 'pw' IN ROLE acl_service"),
                           ("acl_migrate", "LOGIN PASSWORD 'pw' IN ROLE acl_owner, acl_service")):
            if not sql("acl", "select 1 from pg_roles where rolname = '%s'" % role):
                sql("acl", "CREATE ROLE %s %s" % (role, kind))
        sql("acl", "ALTER DATABASE %s OWNER TO acl_owner" % self.database)
        self.cluster.kubectl("create", "namespace", self.namespace)
        for secret, role in (("acl-database", "acl_app"), ("acl-database-owner", "acl_migrate")):
            self.cluster.kubectl("-n", self.namespace, "create", "secret", "generic", secret, "--from-literal=url=postgresql://%s:pw@postgres.database:5432/%s" % (role, self.database))
        self.cluster.kubectl("-n", self.namespace, "create", "secret", "generic", "acl-database-broken", "--from-literal=url=postgresql://acl_migrate:wrong@postgres.database:5432/" + self.database)
        with open(self.values, "w", encoding="utf-8") as file:
            yaml.safe_dump({
                "database": {"existingSecret": "acl-database"}, "migration": {"existingSecret": "acl-database-owner", "backoffLimit": 0, "activeDeadlineSeconds": 60},
                "settings": {"lease_ttl_ms": 3000}, "tests": {"apiKeySecret": "acl-api-key"},
                "workerDefaults": {"settings": {"slots": 20, "drain_deadline_ms": 5000}, "resources": {"requests": {"cpu": "250m"}}},
                "workers": [{"name": "default", "replicas": 2}, {"name": "extra", "replicas": 1, "queues": ["extra", "extra-large"]}]}, file)

    def install(self):
        with Step(self.who, "install") as step:
            self.prepare()
            dry = self.helm("install", self.name, CHART, "--values", self.values, "--set", "tests.apiKeySecret=", "--dry-run=server")
            expect("airun key create" in dry.stdout, "the notes do not say how to make a key")
            self.change("install")
            expect(len(self.ready("coordinator")) == 2 and len(self.ready("worker")) == 3, "not all pods are ready after --wait")
            expect(sql(self.database, "select count(*) from schema_migrations") != "0", "the hook migrated nothing")
            expect(not self.pods("migration"), "the migration's Job stayed, although it succeeded")
            spread = {p["spec"]["nodeName"] for p in self.pods("coordinator")}
            expect(len(spread) == 2, "both coordinators are on " + str(spread))
            network.forward(self.cluster.services, ("127.0.0.1", self.port), (self.service_address(), 8733))
            step.seen = "2 coordinators on 2 nodes, 3 workers of 2 pools; the hook made the schema as acl_migrate, they run as acl_app"

    def service_address(self):
        return self.cluster.api.get("/api/v1/namespaces/%s/services/acl-coordinator" % self.namespace)["spec"]["clusterIP"]

    def look_inside(self):
        with Step(self.who, "pods as specified") as step:
            for pod in self.cluster.nodes.pods.values():
                if pod.namespace != self.namespace:
                    continue
                for container in pod.mains:
                    with open(container.pid_file, encoding="ascii") as file:
                        pid = file.read()
                    with open("/proc/%s/status" % pid, encoding="ascii") as file:
                        status = file.read()
                    expect("NoNewPrivs:\t1" in status and "CapEff:\t0000000000000000" in status and "Uid:\t65532" in status, pod.name + " has rights")
                    asked = [c.name for c in pod.mains]
                    expect(asked in (["coordinator"], ["worker"]), str(asked))
            names = self.airun("worker", "list", "-o", "json", env={"ACL_API_KEY": self.key}).stdout
            for pod in self.pods("worker"):
                expect(pod["metadata"]["name"] in names, "worker list does not name " + pod["metadata"]["name"])
            doctor = self.airun("doctor", env={"ACL_DATABASE_URL": ADMIN.rsplit("/", 1)[0].replace(ADMIN.split("//")[1].split("@")[0], "acl_app:pw") + "/" + self.database})
            expect("failed" not in doctor.stdout, doctor.stdout)
            step.seen = "uid 65532, no capability, no new rights; workers named after their pods; airun doctor: nothing failed"

    def make_key(self):
        owner = ADMIN.rsplit("/", 1)[0].replace(ADMIN.split("//")[1].split("@")[0], "acl_migrate:pw") + "/" + self.database
        self.key = self.airun("key", "create", "admin", env={"ACL_DATABASE_URL": owner}).stdout.strip()
        self.cluster.kubectl("-n", self.namespace, "create", "secret", "generic", "acl-api-key", "--from-literal=key=" + self.key)

    def test(self, what="helm test"):
        with Step(self.who, what) as step:
            before = int(sql(self.database, "select count(*) from workflows where status = 'COMPLETED'"))
            self.helm("test", self.name, "--timeout", "90s")
            done = int(sql(self.database, "select count(*) from workflows where status = 'COMPLETED'")) - before
            expect(done == 1, "%d workflows completed" % done)
            step.seen = "a workflow with a step on each pool ran to its end"

    def test_that_must_fail(self):
        with Step(self.who, "helm test without workers") as step:
            self.cluster.kubectl("-n", self.namespace, "scale", "deployment/acl-worker-extra", "--replicas=0")
            until("the pool is empty", lambda: not [p for p in self.pods("worker") if "extra" in p["metadata"]["name"]])
            self.helm("test", self.name, "--timeout", "12s", ok=False)
            self.cluster.kubectl("-n", self.namespace, "scale", "deployment/acl-worker-extra", "--replicas=1")
            until("the pool is back", lambda: len(self.ready("worker")) == 3)
            self.cluster.kubectl("-n", self.namespace, "delete", "pod/acl-test", "--ignore-not-found", "--grace-period=1")
            step.seen = "planted: one pool without a worker; the test fails"

    def upgrade_under_load(self, arguments, to):
        with Step(self.who, "upgrade to %s under load" % to) as step:
            began = time.time()
            load = Load(self, HERE + "/load.yaml", 0.2)
            until("load runs", lambda: len(load.ids) > 5)
            self.change("upgrade", *arguments)
            expect(self.versions() == [to], "pods run " + str(self.versions()))
            runs = load.end()
            until("the old pods are gone", lambda: not [p for p in self.pods() if p["metadata"].get("deletionTimestamp")])
            killed = self.of("killed", began)
            expect(not killed, "pods were killed at the end of their grace: %s" % killed)
            stops = self.of("stopped", began)
            expect(len(stops) >= 5 and all(e["code"] == 0 for e in stops), "pods did not end cleanly: %s" % [e for e in stops if e["code"] != 0])
            # By the newer airun: the older one does not read what the version to come wrote.
            self.cluster.run(AIRUN + "-next", "verify", "--all", "--invariants", env={"ACL_DATABASE_URL": self.admin_url()})
            step.seen = "%d runs meanwhile, all COMPLETED, journals verify; %d pods drained in %.1f s at most, none killed%s" % (
                runs, len(stops), max(e["seconds"] for e in stops), "; %d submissions asked again" % load.refused if load.refused else "")

    def rollback_under_load(self):
        """What the newer version has written to waits for a newer worker; everything else goes on (docs/operate/operations.md, Upgrading)."""
        with Step(self.who, "rollback to 0.1.0 under load") as step:
            began = time.time()
            load = Load(self, HERE + "/load.yaml", 0.2)
            until("load runs", lambda: len(load.ids) > 5)
            self.helm("rollback", self.name, "1", "--wait", "--timeout", "120s")
            expect(self.versions() == ["0.1.0"], "pods run " + str(self.versions()))
            until("the old pods are gone", lambda: not [p for p in self.pods() if p["metadata"].get("deletionTimestamp")])
            self.airun("workflow", "run", HERE + "/load.yaml", "--wait", "--timeout", "60s")
            self.helm("test", self.name, "--timeout", "90s")
            expect(not self.of("killed", began), "pods were killed at the end of their grace")
            load.ending.set()
            load.thread.join(60)
            ids = "','".join(load.ids)
            open_runs = lambda: int(sql(self.database, "select count(*) from workflows where id::text in ('%s') and status not in ('COMPLETED')" % ids))
            failed = sql(self.database, "select count(*) from workflows where status in ('FAILED', 'ROLLED_BACK', 'CANCELLED')")
            expect(failed == "0", failed + " runs failed")
            time.sleep(5)
            waiting = open_runs()
            self.change("upgrade", "image.tag=0.1.1")
            runs = load.end()
            step.seen = "new runs and helm test run; of %d, %d that 0.1.1 had written to waited, and COMPLETED when it was back" % (runs, waiting)
            self.change("upgrade")

    def of(self, event, after):
        names = {p["metadata"]["name"] for p in self.pods()}
        return [e for e in self.cluster.nodes.journal.of(event, after) if e["pod"] in names or e["pod"].startswith("acl-")]

    def admin_url(self):
        return ADMIN.rsplit("/", 1)[0] + "/" + self.database

    def failed_migration(self):
        with Step(self.who, "upgrade whose migration fails") as step:
            before = {name: self.deployment(name)["metadata"]["generation"] for name in ("coordinator", "worker-default")}
            pods = {p["metadata"]["uid"] for p in self.ready("worker")}
            ran = self.change("upgrade", "migration.existingSecret=acl-database-broken", "workerDefaults.settings.slots=21", ok=False, wait="60s")
            expect({name: self.deployment(name)["metadata"]["generation"] for name in before} == before, "the failed upgrade changed a Deployment")
            expect({p["metadata"]["uid"] for p in self.ready("worker")} == pods, "the failed upgrade replaced pods")
            log = self.cluster.kubectl("-n", self.namespace, "logs", "job/acl-migrate").stdout
            expect("password authentication failed" in log, "the Job's log does not say why: " + log)
            self.airun("workflow", "run", HERE + "/load.yaml", "--wait", "--timeout", "30s")
            self.change("upgrade")
            step.seen = "helm fails (%s); no Deployment touched, kubectl logs job/acl-migrate says why, runs go on; the next upgrade works" % ran.stderr.strip().splitlines()[-1][:60]

    def missing_image(self):
        with Step(self.who, "upgrade to an image that is not there") as step:
            self.change("upgrade", "coordinator.image.tag=9.9.9", "workerDefaults.image.tag=9.9.9", ok=False, wait="8s")
            expect(len(self.ready("coordinator")) == 2 and len(self.ready("worker")) == 3, "running pods were taken away")
            self.airun("workflow", "run", HERE + "/load.yaml", "--wait", "--timeout", "30s")
            self.helm("rollback", self.name, "--wait", "--timeout", "60s")
            step.seen = "helm fails; all 5 old pods stay and run workflows; rollback mends it"

    def drain(self):
        with Step(self.who, "drain of nodes under load") as step:
            self.change("upgrade", "workers[0].replicas=4", "workers[0].name=default", "workers[1].name=extra", "workers[1].replicas=2", "workers[1].queues={extra}")
            load = Load(self, HERE + "/load.yaml", 0.3)
            least, watching = {"coordinator": 9, "worker-default": 9}, threading.Event()

            def watch():
                """Pods that nobody has told to end, and that were ready once: one that a busy machine makes unready is not the drain's doing."""
                while not watching.is_set():
                    once_ready = {e["pod"] for e in self.cluster.nodes.journal.of("ready", 0)}
                    there = [p["metadata"]["name"] for p in self.pods() if not p["metadata"].get("deletionTimestamp") and p["metadata"]["name"] in once_ready]
                    for name in least:
                        least[name] = min(least[name], len([pod for pod in there if pod.startswith("acl-%s-" % name)]))
                    time.sleep(0.1)
            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            moved = 0
            for node in self.cluster.nodes.names[:2]:
                moved += len([p for p in self.pods() if p["spec"].get("nodeName") == node])
                self.cluster.kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--pod-selector=app.kubernetes.io/instance=acl", "--timeout=120s")
                expect(not [p for p in self.pods() if p["spec"].get("nodeName") == node], "pods stayed on " + node)
                self.cluster.kubectl("uncordon", node)
            watching.set()
            watcher.join()
            runs = load.end()
            expect(least["coordinator"] >= 1 and least["worker-default"] >= 3, "too few were left: %s" % least)
            step.seen = "%d pods moved off 2 nodes; never fewer than %d of 2 coordinators, %d of 4 workers; %d runs, all COMPLETED" % (moved, least["coordinator"], least["worker-default"], runs)

    def frozen_worker(self):
        with Step(self.who, "a frozen worker") as step:
            began = time.time()
            load = Load(self, HERE + "/load.yaml", 0.1)
            until("load runs", lambda: len(load.ids) > 5)
            victim = next(p for p in self.cluster.nodes.pods.values() if p.namespace == self.namespace and "worker-default" in p.name)
            with open(victim.mains[0].pid_file, encoding="ascii") as file:
                os.kill(int(file.read()), signal.SIGSTOP)
            until("its pod is not ready", lambda: victim.name not in [p["metadata"]["name"] for p in self.ready("worker")])
            self.cluster.kubectl("-n", self.namespace, "delete", "pod", victim.name, "--grace-period=2")
            killed = self.of("killed", began)
            expect([e["pod"] for e in killed] == [victim.name], "killed: %s" % killed)
            runs = load.end()
            step.seen = "planted: it is unready by its probe, hears no SIGTERM, and is killed at the end of its grace, which is seen; %d runs COMPLETED all the same" % runs

    def scale(self):
        with Step(self.who, "HPA 2 -> 20 -> 2 by acl_pool_demand") as step:
            behavior = {"scaleUp": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 400, "periodSeconds": 2}], "selectPolicy": "Max"},
                        "scaleDown": {"stabilizationWindowSeconds": 5, "policies": [{"type": "Percent", "value": 50, "periodSeconds": 3}]}}
            with open(self.values, encoding="utf-8") as file:
                values = yaml.safe_load(file)
            values["monitoring"] = {"serviceMonitor": {"enabled": True, "interval": "1s"}, "prometheusRule": {"enabled": True}}
            values["workers"][0]["autoscaling"] = {"kind": "hpa", "minReplicas": 2, "maxReplicas": 20, "workPerReplica": 4, "behavior": behavior}
            values["workers"][0]["settings"] = {"slots": 4, "runs": 4}
            values["workers"][0]["resources"] = {"requests": {"cpu": "100m"}}
            with open(self.values, "w", encoding="utf-8") as file:
                yaml.safe_dump(values, file)
            self.change("upgrade")
            rendered = [o for o in yaml.safe_load_all(self.helm("get", "manifest", self.name).stdout) if o]
            for one in rendered:
                one["metadata"].setdefault("namespace", self.namespace)
            prometheus = metrics.Prometheus(self.cluster.plane, os.environ["ACL_TEST_PROMETHEUS"])
            prometheus.configure(rendered)
            prometheus.start()
            metrics.Adapter(prometheus, network.GATEWAY, FOLDER)
            metrics.Adapter.register(self.cluster.api, network.GATEWAY)
            replicas = lambda: self.deployment("worker-default")["status"].get("readyReplicas", 0)
            hpa = lambda: self.cluster.api.get("/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers/acl-worker-default" % self.namespace)
            active = lambda: any(c["type"] == "ScalingActive" and c["status"] == "True" for c in hpa()["status"].get("conditions", []))
            until("the autoscaler reads the fleet's metric", active, 90)
            until("two workers", lambda: replicas() == 2, 60)
            began, trace = time.monotonic(), []
            with open(FOLDER + "/burst.jsonl", "w", encoding="ascii") as file:
                file.write("{}\n" * 120)
            self.airun("workflow", "batch", HERE + "/burst.yaml", FOLDER + "/burst.jsonl")
            until("twenty workers", lambda: trace.append(replicas()) or trace[-1] == 20, 120)
            up = time.monotonic() - began
            until("every run of the burst has ended", lambda: sql(self.database, "select count(*) from workflows where status <> 'COMPLETED' and name = 'burst'") == "0", 180)
            done = time.monotonic() - began
            until("two workers again", lambda: self.deployment("worker-default")["status"].get("replicas", 0) == 2, 180)
            step.seen = "120 runs at once; 20 workers after %.0f s, all COMPLETED after %.0f s, 2 workers after %.0f s" % (up, done, time.monotonic() - began)

    def uninstall(self):
        with Step(self.who, "uninstall") as step:
            self.helm("uninstall", self.name, "--wait", "--timeout", "120s")
            until("every pod is gone", lambda: not self.pods(), 120)
            left = self.cluster.kubectl("-n", self.namespace, "get", "all,configmap,secret,pdb,networkpolicy,hpa,sa,ingress", "-o", "name").stdout.split()
            ours = [n for n in left if "acl-" in n and not n.startswith("secret/")]
            expect(not ours, "left behind: %s" % ours)
            expect(int(sql(self.database, "select count(*) from workflows")) > 0, "the database was touched")
            step.seen = "nothing is left but the Secrets you made; the database is as it was"

    def all(self):
        self.install()
        self.make_key()
        self.look_inside()
        self.test()
        self.test_that_must_fail()
        self.upgrade_under_load(["image.tag=0.1.1"], "0.1.1")
        self.test("helm test after the upgrade")
        self.rollback_under_load()
        self.failed_migration()
        self.missing_image()
        self.drain()
        self.frozen_worker()
        if self.helm_version == "4":
            self.scale()
        self.uninstall()


def show_table():
    print("\n| with | what | seconds | seen |\n|---|---|---|---|")
    for who, what, seconds, seen in TABLE:
        print("| %s | %s | %.1f | %s |" % (who, what, seconds, seen.replace("\n", " ")[:300]))


def main():
    parts = sys.argv[1:] or ["helm3", "helm4", "guide"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cluster, code = None, 0
    try:
        began = time.monotonic()
        cluster = Cluster()
        TABLE.append(("", "control plane", time.monotonic() - began, "etcd, kube-apiserver, kube-controller-manager, kube-scheduler 1.34.1; 3 nodes in 3 zones"))
        for part in parts:
            if part == "guide":
                import guide
                guide.walk(cluster, Step, expect)
            else:
                Release(cluster, part[-1]).all()
    except (Failed, Refused, subprocess.TimeoutExpired, SystemExit) as wrong:
        code = 1
        print("k8s: %s" % wrong, file=sys.stderr)
    finally:
        if cluster:
            cluster.stop()
    show_table()
    if code == 0:
        print("k8s: ok")
    return code


if __name__ == "__main__":
    sys.exit(main())
