#!/usr/bin/env python3
"""The node of ./dev k8s where it decides (node/podspec.py, guide.py): what a pod is given, and what it is refused."""
import base64
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import guide  # noqa: E402
from node import podspec  # noqa: E402


class Cluster:
    """An API server with these objects."""

    def __init__(self, objects):
        self.objects = objects

    def find(self, path):
        return self.objects.get(path.rsplit("/", 2)[-2] + "/" + path.rsplit("/", 1)[-1])


OBJECTS = podspec.Objects(Cluster({"configmaps/settings": {"data": {"A": "1", "B": "2"}}, "configmaps/more": {"data": {"B": "3"}},
                                   "secrets/db": {"data": {"url": base64.b64encode(b"postgresql://h/d").decode()}}}), "fleet")
IMAGE = {"user": "65532:65532", "env": {"PATH": "/usr/bin", "A": "0"}}


def pod(spec=None, **container):
    return {"metadata": {"name": "p", "namespace": "fleet", "uid": "u"}, "spec": {"nodeName": "node-1", "containers": [{"name": "c", **container}], **(spec or {})}}


def told(**container):
    one = pod(**container)
    return podspec.environment(one, one["spec"]["containers"][0], OBJECTS, IMAGE["env"], {}, "10.244.0.2", "10.244.0.1")


class Environment(unittest.TestCase):
    def test_later_wins_and_what_is_named_is_put_in(self):
        got = told(envFrom=[{"configMapRef": {"name": "settings"}}, {"configMapRef": {"name": "more"}}],
                   env=[{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, {"name": "AT", "value": "$(IP):1 $(B) $$(B) $(NONE)"},
                        {"name": "URL", "valueFrom": {"secretKeyRef": {"name": "db", "key": "url"}}}])
        self.assertEqual(got, {"PATH": "/usr/bin", "A": "1", "B": "3", "IP": "10.244.0.2", "AT": "10.244.0.2:1 3 $(B) $(NONE)", "URL": "postgresql://h/d"})

    def test_what_is_missing_keeps_the_container_from_starting(self):
        for container in ({"envFrom": [{"secretRef": {"name": "none"}}]}, {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "db", "key": "none"}}}]}):
            with self.assertRaises(podspec.NotYet) as refused:
                told(**container)
            self.assertEqual(refused.exception.reason, "CreateContainerConfigError")
        self.assertNotIn("X", told(env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k", "optional": True}}}]))


class User(unittest.TestCase):
    def test_root_is_refused_where_the_pod_does(self):
        one = pod({"securityContext": {"runAsNonRoot": True, "fsGroup": 7}}, securityContext={"runAsUser": 0})
        with self.assertRaises(podspec.NotYet):
            podspec.user_of(one, one["spec"]["containers"][0], IMAGE)
        one["spec"]["containers"][0].pop("securityContext")
        self.assertEqual(podspec.user_of(one, one["spec"]["containers"][0], IMAGE), (65532, 65532, [7]))

    def test_quantities(self):
        self.assertEqual([podspec.bytes_of(q, None) for q in ("1Gi", "512Mi", "5k", "7", None, "odd")], [1 << 30, 512 << 20, 5000, 7, None, None])


class Files(unittest.TestCase):
    def test_secrets_are_readable_by_the_pods_group_alone(self):
        volumes = [{"name": "s", "projected": {"defaultMode": 0o440, "sources": [{"secret": {"name": "db", "items": [{"key": "url", "path": "keys"}]}}]}}]
        with tempfile.TemporaryDirectory() as folder:
            gid = os.getgid()
            made = podspec.volumes(pod({"volumes": volumes, "securityContext": {"fsGroup": gid}}), OBJECTS, folder)
            path = made["s"]["source"] + "/keys"
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o440)
            self.assertTrue(made["s"]["read_only"])
            with open(path, encoding="ascii") as file:
                self.assertEqual(file.read(), "postgresql://h/d")


class Guide(unittest.TestCase):
    def test_every_block_is_typed_once_and_only_what_is_yours_is_replaced(self):
        with open(guide.GUIDE, encoding="utf-8") as file:
            found = guide.blocks(file.read())
        script, typed = guide.script_of(found, {"ADMIN_URL": "a", "DATABASE": "b", "REGISTRY": "c"}, "/folder")
        self.assertEqual(typed, len([b for b in found if b[1] == "sh"]))
        self.assertIn("export ADMIN_URL=a", script)
        self.assertNotIn("db.example.org", script)
        for words in ("helm install acl helm/acl", "helm test acl", "helm rollback acl 1", "cat >/folder/fleet.yaml", "helm uninstall acl"):
            self.assertEqual(script.count(words), 2 if words == "helm test acl" else 1, words)
        with self.assertRaises(SystemExit):
            guide.script_of(found, {"ADMIN_URL": "a"}, "/folder")


if __name__ == "__main__":
    unittest.main(verbosity=1)
