#!/usr/bin/env python3
"""The chart without a cluster: both Helms render it alike, what it renders fits the API of Kubernetes 1.31 to 1.34 and the house's own
rules (rules.py), what cannot work is refused with the way out, and what is derived is what it is derived from. Each rule is seen to find a
breach that is planted. ACL_UPDATE_GOLDEN=1 rewrites golden/. Needs ACL_TEST_KUBE_TOOLS (./dev test chart sets it)."""
import copy
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.environ.get("ACL_TEST_KUBE_TOOLS", "")
if not TOOLS:
    print("ACL_TEST_KUBE_TOOLS is not set: ./dev test chart sets it")
    sys.exit(77)   # ctest: skipped
sys.path.insert(0, TOOLS + "/python")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jsonschema  # noqa: E402
import kubernetes_validate.utils as schemas  # noqa: E402
import yaml  # noqa: E402

import capacity  # noqa: E402
import flows  # noqa: E402
import rules  # noqa: E402
import scaling  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CHART = TOP + "/helm/acl"
VERSIONS = ["1.31", "1.32", "1.33", "1.34"]
CASES = sorted(glob.glob(HERE + "/cases/*.yaml"))
GOLDEN = ["01-least", "03-kafka", "07-keda", "09-secret-files", "12-digests"]
NOT_KUBERNETES = {"ScaledObject", "ServiceMonitor", "PrometheusRule"}   # of operators, whose API comes with them
SCRATCH = tempfile.TemporaryDirectory(prefix="acl-chart-")

schemas.schema_contents = functools.lru_cache(maxsize=None)(schemas.schema_contents)   # else 5 MB are parsed for each object


def helm(version, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": SCRATCH.name}
    return subprocess.run([TOOLS + "/bin/helm" + version, *arguments], capture_output=True, text=True, env=environment, check=False)


@functools.lru_cache(maxsize=None)
def rendered(version, values):
    ran = helm(version, "template", "t", CHART, "--namespace", "fleet", "--kube-version", "1.33.0", "--values", values)
    if ran.returncode != 0:
        raise AssertionError("helm%s template %s: %s" % (version, values, ran.stderr))
    return ran.stdout


def objects_of(text):
    return [obj for obj in yaml.safe_load_all(text) if obj]


def objects(case):
    return copy.deepcopy(objects_of(rendered("4", HERE + "/cases/" + case + ".yaml")))


def known_settings():
    """Variables that each program reads: docs/reference/settings.md, which is written from the programs' own table."""
    with open(TOP + "/docs/reference/settings.md", encoding="utf-8") as file:
        parts = re.split(r"^## (?:acl-)?(coordinator|worker|airun)$", file.read(), flags=re.M)
    return {parts[i]: set(re.findall(r"`(ACL_[A-Z0-9_]+)`", parts[i + 1])) for i in range(1, len(parts), 2)}


SETTINGS_EXIST = rules.settings_exist(known_settings())
ALL_RULES = rules.RULES + [SETTINGS_EXIST]


def breaches(found):
    return ["%s: %s" % (rule.__name__, breach) for rule in ALL_RULES for breach in rule(found)]


def strict(schema):
    """A CRD's schema for a validator of JSON Schema: fields that it does not name are refused, as `kubectl apply` does."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(part) for key, part in schema.items()}
    if made.pop("x-kubernetes-int-or-string", False):
        made.pop("anyOf", None)
        made["type"] = ["integer", "string"]
    if "properties" in made and made.get("type") == "object" and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


@functools.lru_cache(maxsize=1)
def operators():
    """kind -> validator, of the CRDs of Prometheus' operator and of KEDA."""
    found = {}
    for path in glob.glob(os.environ["ACL_TEST_KUBE_CRDS"] + "/*.yaml"):
        with open(path, encoding="utf-8") as file:
            crd = yaml.safe_load(file)
        schema = strict(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = {"type": "object"}
        found[crd["spec"]["names"]["kind"]] = jsonschema.Draft7Validator(schema)
    return found


def schema_breach(obj, version):
    try:
        schemas.validate(obj, version, strict=True)
    except schemas.ValidationError as wrong:
        return "%s %s: %s at %s" % (version, rules.name_of(obj), wrong.message, ".".join(str(part) for part in wrong.path))
    return None


class Rendered(unittest.TestCase):
    maxDiff = 4000

    def test_both_helms_find_nothing_to_complain_of(self):
        for version in "34":
            ran = helm(version, "lint", "--strict", CHART, "--values", CASES[0])
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_both_helms_render_the_same(self):
        self.assertGreaterEqual(len(CASES), 12)
        for case in CASES:
            self.assertEqual(objects_of(rendered("3", case)), objects_of(rendered("4", case)), case)

    def test_fits_the_api_of_every_version(self):
        seen = set()
        for case in CASES:
            for obj in objects_of(rendered("4", case)):
                text = json.dumps(obj, sort_keys=True)
                if obj["kind"] in NOT_KUBERNETES or text in seen:
                    continue
                seen.add(text)
                for version in VERSIONS:
                    self.assertIsNone(schema_breach(obj, version), case)
        self.assertGreater(len(seen), 100)

    @unittest.skipUnless(os.environ.get("ACL_TEST_KUBE_CRDS"), "ACL_TEST_KUBE_CRDS is not set")
    def test_objects_of_operators_fit_their_own_api(self):
        self.assertEqual(set(operators()), NOT_KUBERNETES)
        checked = {}
        for case in CASES:
            for obj in objects_of(rendered("4", case)):
                if obj["kind"] in NOT_KUBERNETES:
                    checked[obj["kind"]] = obj
                    self.assertEqual([e.message for e in operators()[obj["kind"]].iter_errors(obj)], [], case + " " + obj["kind"])
        for kind, obj in checked.items():
            planted = copy.deepcopy(obj)
            planted["spec"]["triggerz"] = []
            self.assertNotEqual(list(operators()[kind].iter_errors(planted)), [], kind)
        self.assertEqual(set(checked), NOT_KUBERNETES)

    def test_manifests_for_development_fit_too(self):
        files = [f for f in glob.glob(TOP + "/helm/development/*.yaml") if not f.endswith("values.yaml")]
        self.assertEqual(len(files), 2)
        self.assertEqual(breaches(objects_of(rendered("4", TOP + "/helm/development/values.yaml"))), [])
        for file in files:
            with open(file, encoding="utf-8") as text:
                for obj in objects_of(text.read()):
                    if "kind" in obj:
                        for version in VERSIONS:
                            self.assertIsNone(schema_breach(obj, version), file)

    def test_keeps_every_rule(self):
        for case in CASES:
            self.assertEqual(breaches(objects_of(rendered("4", case))), [], case)

    def test_is_what_it_was(self):
        for name in GOLDEN:
            path = HERE + "/golden/" + name + ".yaml"
            text = rendered("4", HERE + "/cases/" + name + ".yaml")
            if os.environ.get("ACL_UPDATE_GOLDEN"):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), text, name + ": look at the difference, then run with ACL_UPDATE_GOLDEN=1 and commit it")

    def test_derived_pages_are_what_they_are_derived_from(self):
        ran = subprocess.run([sys.executable, TOP + "/.dev/kube/chart_pages.py", "--check"], capture_output=True, text=True, check=False,
                             env={**os.environ, "PYTHONPATH": TOOLS + "/python"})
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_the_dashboard_shows_metrics_that_exist(self):
        with open(TOP + "/docs/reference/metrics.md", encoding="utf-8") as file:
            known = set(re.findall(r"^\| `([a-z_]+)` \|", file.read(), flags=re.M)) | {"acl_pool_demand"}
        with open(CHART + "/files/dashboard.json", encoding="utf-8") as file:
            dashboard = json.load(file)
        asked = [t["expr"] for p in dashboard["panels"] for t in p.get("targets", [])]
        self.assertGreater(len(asked), 15)
        for expression in asked:
            for name in re.findall(r"\b((?:acl|process|restore)_[a-z_]+)\{", expression):
                self.assertIn(re.sub("_bucket$", "", name), known, expression)

    def test_the_guides_table_of_scaling_is_the_simulators(self):
        with open(TOP + "/docs/operate/kubernetes.md", encoding="utf-8") as file:
            self.assertIn(scaling.table(), file.read(), "run tests/kube/scaling.py and put its table into docs/operate/kubernetes.md")
        with open(TOP + "/docs/operate/capacity.md", encoding="utf-8") as file:
            self.assertIn(capacity.table(), file.read(), "run tests/kube/capacity.py and put its table into docs/operate/capacity.md")
        # The model itself: it waits where there are no workers, and not where there are enough.
        steps = [1] * scaling.DAY
        self.assertGreater(scaling.share(scaling.simulate(steps, 10, 0, 0, fixed=1)[0], 0.5), 1000)
        self.assertEqual(max(scaling.simulate(steps, 10, 0, 0, fixed=2)[0]), 0)

    def test_numbers_keep_their_digits(self):
        """YAML's numbers are floats in Helm: 16777216 would be told as 1.6777216e+07."""
        maps = {o["metadata"]["name"]: o["data"] for o in objects("02-two-pools") if o["kind"] == "ConfigMap"}
        self.assertEqual(maps["t-acl-worker-default"]["ACL_STICKY_BYTES"], "16777216")
        self.assertEqual(maps["t-acl-worker-default"]["ACL_HTTP_ALLOWED_HOSTS"], "api.example.org,*.example.com")
        maps = {o["metadata"]["name"]: o["data"] for o in objects("04-object-store") if o["kind"] == "ConfigMap"}
        self.assertEqual(maps["t-acl-settings"]["ACL_LARGE_VALUE_BYTES"], "1048576")
        self.assertEqual(maps["t-acl-settings"]["ACL_S3_PATH_STYLE"], "false")

    def test_grace_follows_the_drain(self):
        workers = {o["metadata"]["name"]: o for o in objects("11-long-drain") if o["kind"] == "Deployment"}
        self.assertEqual(workers["t-acl-worker-builds"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 615)

    def test_notes_say_the_next_three_commands(self):
        # Helm prints them only at an install: here they are rendered as a ConfigMap of a copy of the chart.
        chart = SCRATCH.name + "/notes"
        shutil.copytree(CHART, chart)
        shutil.move(chart + "/templates/NOTES.txt", chart + "/notes.txt")
        with open(chart + "/templates/notes.yaml", "w", encoding="utf-8") as file:
            file.write('kind: ConfigMap\napiVersion: v1\nmetadata: {name: notes}\ndata: {text: {{ tpl (.Files.Get "notes.txt") . | toJson }}}\n')
        ran = helm("4", "template", "t", chart, "--namespace", "fleet", "--kube-version", "1.33.0", "--values", CASES[0])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        notes = next(o for o in objects_of(ran.stdout) if o["metadata"]["name"] == "notes")["data"]["text"]
        for words in ("airun key create", "helm test t -n fleet", "port-forward service/t-acl-coordinator"):
            self.assertIn(words, notes)


def flow_breaches(found, wanted):
    """Connections that the network policies should let through and do not, or the other way round."""
    ends = {"coordinator": flows.pod_of_component(found, "coordinator"), "worker": flows.pod_of_component(found, "worker"),
            "neighbour": flows.stranger(), "monitoring": flows.stranger(flows.ELSEWHERE), "database": flows.address("10.1.2.3"),
            "world": flows.address("93.184.216.34")}
    for component in ("migration", "test"):
        ends[component] = flows.pod_of_component(found, component)
    return ["%s -> %s:%d should be %s" % (source, target, port, "let through" if let else "refused")
            for source, target, port, let in wanted if flows.allowed(found, ends[source], ends[target], port, "UDP" if port == 53 else "TCP") != let]


FLOWS = [
    ("coordinator", "database", 5432, True), ("worker", "database", 5432, True), ("migration", "database", 5432, True), ("test", "database", 5432, True),
    ("coordinator", "database", 53, True), ("worker", "database", 53, True), ("worker", "coordinator", 8734, True), ("coordinator", "coordinator", 8734, True),
    ("test", "coordinator", 8733, True), ("neighbour", "coordinator", 8733, True), ("neighbour", "worker", 8735, True), ("monitoring", "worker", 8735, True),
    ("neighbour", "coordinator", 8734, False), ("monitoring", "coordinator", 8734, False), ("monitoring", "coordinator", 8733, False),
    ("coordinator", "worker", 8735, False), ("worker", "world", 443, False), ("worker", "world", 80, False), ("coordinator", "world", 443, False),
    ("worker", "database", 22, False), ("migration", "world", 443, False), ("worker", "neighbour", 8080, False), ("worker", "database", 9092, False),
]
WITH_MONITORING = [f if f[:3] != ("monitoring", "coordinator", 8733) else f[:3] + (True,) for f in FLOWS]


class Flows(unittest.TestCase):
    def test_connections_of_a_fleet_are_let_through_and_others_not(self):
        self.assertEqual(flow_breaches(objects("01-least"), FLOWS), [])
        self.assertEqual(flow_breaches(objects("08-monitoring"), WITH_MONITORING + [("worker", "database", 4318, True)]), [])
        self.assertEqual(flow_breaches(objects("03-kafka"), [f for f in FLOWS if f[2] != 9092] + [("worker", "database", 9092, True), ("migration", "database", 9092, True)]), [])
        self.assertEqual(flow_breaches(objects("10-extras"), [("worker", "world", 443, True), ("worker", "database", 443, False), ("worker", "world", 80, False)]), [])

    def test_planted_holes_and_walls_are_seen(self):
        def policy(found, name):
            return first(found, "NetworkPolicy", name)["spec"]
        for plant in (lambda o: policy(o, "egress")["egress"].pop(), lambda o: policy(o, "egress")["egress"].pop(0), lambda o: policy(o, "coordinator")["ingress"].pop(0),
                      lambda o: policy(o, "coordinator")["ingress"].pop(1), lambda o: policy(o, "worker")["ingress"].pop(),
                      lambda o: policy(o, "egress")["egress"].append({}), lambda o: policy(o, "coordinator")["ingress"].append({"ports": [{"port": "doorbell"}]})):
            found = objects("01-least")
            plant(found)
            self.assertNotEqual(flow_breaches(found, FLOWS), [])


# What cannot work, and a part of what is said about it.
REFUSED = [
    ("{}", "database.existingSecret"),
    ("{database: {existingSecret: s}, image: {tag: latest}}", "latest"),
    ("{database: {existingSecret: s}, settings: {lease_ttl: 5000}}", "lease_ttl"),
    ("{database: {existingSecret: s}, settings: {lease_ttl_ms: soon}}", "lease_ttl_ms"),
    ("{database: {existingSecret: s}, settings: {slots: 5}}", "slots"),
    ("{database: {existingSecret: s}, coordinator: {settings: {slots: 5}}}", "slots"),
    ("{database: {existingSecret: s}, coordinator: {settings: {dev_mode: true}}}", "dev_mode"),
    ("{database: {existingSecret: s}, settings: {s3_secret_key: hush}}", "s3_secret_key"),
    ("{database: {existingSecret: s}, coordinator: {replicas: 0}}", "replicas"),
    ("{database: {existingSecret: s}, coordinator: {terminationGracePeriodSeconds: 10}}", "terminationGracePeriodSeconds"),
    ("{database: {existingSecret: s}, podSecurityContext: {runAsUser: 0}}", "runAsUser"),
    ("{database: {existingSecret: s}, workers: []}", "workers"),
    ("{database: {existingSecret: s}, workers: [{name: a}, {name: a}]}", "two pools"),
    ("{database: {existingSecret: s}, workers: [{name: A_b}]}", "name"),
    ("{database: {existingSecret: s}, workers: [{name: a, queus: [x]}]}", "queus"),
    ("{database: {existingSecret: s}, workers: [{name: a, terminationGracePeriodSeconds: 60}]}", "killed in the middle of a step"),
    ("{database: {existingSecret: s}, workers: [{name: a, autoscaling: {kind: hpa, minReplicas: 0}}]}", "keda can go to 0"),
    ("{database: {existingSecret: s}, workers: [{name: a, autoscaling: {kind: hpa, minReplicas: 9, maxReplicas: 3}}]}", "maxReplicas"),
    ("{database: {existingSecret: s}, workers: [{name: a, autoscaling: {kind: keda}}]}", "prometheusAddress"),
    ("{database: {existingSecret: s}, workers: [{name: a, autoscaling: {kind: vpa}}]}", "kind"),
    ("{database: {existingSecret: s}, kafka: {enabled: true}}", "kafka.bootstrap"),
    ("{database: {existingSecret: s}, objectStore: {endpoint: 'https://s3', existingSecret: k}}", "objectStore.bucket"),
    ("{database: {existingSecret: s}, objectStore: {endpoint: 'https://s3', bucket: b}}", "objectStore.existingSecret"),
    ("{database: {existingSecret: s}, ingress: {enabled: true, hosts: [a.example.org]}}", "ingress.tlsSecret"),
    ("{database: {existingSecret: s}, ingress: {enabled: true, tlsSecret: t}}", "ingress.hosts"),
]


class Refused(unittest.TestCase):
    def test_what_cannot_work_is_refused_and_said(self):
        for number, (values, words) in enumerate(REFUSED):
            path = "%s/refused-%d.yaml" % (SCRATCH.name, number)
            with open(path, "w", encoding="utf-8") as file:
                file.write(values)
            version = "34"[number % 2]
            ran = helm(version, "template", "t", CHART, "--kube-version", "1.33.0", "--values", path)
            self.assertNotEqual(ran.returncode, 0, values)
            self.assertIn(words, ran.stderr, values)

    def test_older_kubernetes_is_refused(self):
        ran = helm("4", "template", "t", CHART, "--kube-version", "1.30.0", "--values", CASES[0])
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("1.31", ran.stderr)


def first(found, kind, name=None):
    return next(o for o in found if o["kind"] == kind and (name is None or o["metadata"]["name"].endswith(name)))


def pod(found, name="coordinator"):
    return first(found, "Deployment", name)["spec"]["template"]["spec"]


def container(found, name="coordinator"):
    return pod(found, name)["containers"][0]


# One breach of each rule: what is done to a good rendering (case 14-all), and which rule must find it.
PLANTED = [
    ("nobody_is_root", lambda o: pod(o)["securityContext"].update(runAsUser=0)),
    ("nobody_is_root", lambda o: pod(o).update(hostNetwork=True)),
    ("containers_may_nothing", lambda o: container(o)["securityContext"].update(readOnlyRootFilesystem=False)),
    ("containers_may_nothing", lambda o: container(o)["securityContext"].pop("capabilities")),
    ("resources_are_set", lambda o: container(o)["resources"].pop("requests")),
    ("images_are_pinned", lambda o: container(o).update(image="acl-coordinator:latest")),
    ("images_are_pinned", lambda o: container(o).update(image="registry:5000/acl-coordinator")),
    ("servers_are_probed", lambda o: container(o).pop("readinessProbe")),
    ("servers_are_probed", lambda o: container(o)["livenessProbe"]["httpGet"].update(path="/readyz")),
    ("no_token_and_no_service_links", lambda o: pod(o).pop("automountServiceAccountToken")),
    ("no_token_and_no_service_links", lambda o: pod(o).update(enableServiceLinks=True)),
    ("everything_is_labelled", lambda o: first(o, "Ingress")["metadata"].pop("labels")),
    ("selectors_find_one_workload", lambda o: first(o, "PodDisruptionBudget", "coordinator")["spec"]["selector"]["matchLabels"].pop("app.kubernetes.io/component")),
    ("services_name_ports_that_exist", lambda o: first(o, "Service", "doorbell")["spec"]["ports"][0].update(targetPort="bell")),
    ("grace_is_longer_than_the_drain", lambda o: pod(o, "worker-default").update(terminationGracePeriodSeconds=60)),
    ("what_is_referred_to_is_there", lambda o: o.remove(first(o, "ConfigMap", "settings"))),
    ("what_is_referred_to_is_there", lambda o: pod(o)["volumes"].append({"name": "idle", "emptyDir": {}})),
    ("hooks_need_nothing_of_the_release", lambda o: first(o, "Job")["spec"]["template"]["spec"].update(serviceAccountName="fleet")),
    ("secrets_come_from_secrets", lambda o: container(o)["env"].append({"name": "ACL_S3_SECRET_KEY", "value": "hush"})),
    ("secrets_come_from_secrets", lambda o: first(o, "ConfigMap", "settings")["data"].update(ACL_MEMORY_URL="https://u:hush@host")),
    ("network_is_closed", lambda o: o.remove(first(o, "NetworkPolicy", "deny"))),
    ("network_is_closed", lambda o: first(o, "NetworkPolicy", "coordinator")["spec"]["ingress"][0]["from"].append({"namespaceSelector": {}})),
    ("ingress_has_tls", lambda o: first(o, "Ingress")["spec"].pop("tls")),
    ("one_hand_sets_replicas", lambda o: first(o, "Deployment", "worker-default")["spec"].update(replicas=3)),
    ("disruptions_leave_somebody", lambda o: o.remove(first(o, "PodDisruptionBudget", "coordinator"))),
    ("disruptions_leave_somebody", lambda o: first(o, "PodDisruptionBudget")["spec"].update(maxUnavailable=0)),
    ("settings_exist", lambda o: first(o, "ConfigMap", "worker-default")["data"].update(ACL_SLOTZ="5")),
]


class Planted(unittest.TestCase):
    def test_each_breach_is_found_by_its_rule_alone(self):
        self.assertEqual({name for name, _ in PLANTED}, {rule.__name__ for rule in ALL_RULES})
        for number, (name, plant) in enumerate(PLANTED):
            found = objects("14-all")
            plant(found)
            rule = next(r for r in ALL_RULES if r.__name__ == name)
            self.assertTrue(list(rule(found)), "%s (%d) does not find what is planted" % (name, number))

    def test_a_misspelt_field_is_found_by_the_schemas(self):
        for version in VERSIONS:
            found = objects("01-least")
            spec = pod(found)
            spec["terminationGracePeriodSecond"] = spec.pop("terminationGracePeriodSeconds")
            self.assertIsNotNone(schema_breach(first(found, "Deployment", "coordinator"), version))

    def test_a_setting_that_no_program_has_changes_the_schema(self):
        with open(CHART + "/values.schema.json", encoding="utf-8") as file:
            schema = json.load(file)["definitions"]
        for definition, program in (("coordinatorSettings", "coordinator"), ("workerSettings", "worker"), ("sharedSettings", "worker")):
            for name in schema[definition]["properties"]:
                self.assertIn("ACL_" + name.upper(), known_settings()[program], definition)


if __name__ == "__main__":
    unittest.main(verbosity=1)
