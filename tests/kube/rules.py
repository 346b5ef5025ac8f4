"""What must hold of every object that the chart renders, whatever its values. Each rule takes all objects of one rendering and yields a
sentence for each breach; chart_test.py plants a breach of each and sees the rule find it."""
import re

RULES = []


def rule(function):
    RULES.append(function)
    return function


def name_of(obj):
    return "%s/%s" % (obj["kind"], obj["metadata"]["name"])


def is_hook(obj):
    return "helm.sh/hook" in obj["metadata"].get("annotations", {})


def pod_of(obj):
    """The pod's metadata and spec, of what makes pods."""
    if obj["kind"] == "Pod":
        return obj["metadata"], obj["spec"]
    if obj["kind"] in ("Deployment", "Job", "StatefulSet"):
        return obj["spec"]["template"]["metadata"], obj["spec"]["template"]["spec"]
    return None


def pods(objects):
    for obj in objects:
        found = pod_of(obj)
        if found:
            yield obj, found[0], found[1]


def containers(objects):
    for obj, _, spec in pods(objects):
        for container in spec.get("initContainers", []) + spec["containers"]:
            yield obj, spec, container


def selects(labels, selector):
    return all(labels.get(key) == value for key, value in selector.items())


@rule
def nobody_is_root(objects):
    for obj, _, spec in pods(objects):
        security = spec.get("securityContext", {})
        if security.get("runAsNonRoot") is not True or not security.get("runAsUser", 0) > 0:
            yield "%s may run as root" % name_of(obj)
        if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            yield "%s has no seccomp profile" % name_of(obj)
        for key in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"):
            if spec.get(key):
                yield "%s shares %s" % (name_of(obj), key)


@rule
def containers_may_nothing(objects):
    for obj, _, container in containers(objects):
        security = container.get("securityContext", {})
        if security.get("readOnlyRootFilesystem") is not True:
            yield "%s: %s may write to its root" % (name_of(obj), container["name"])
        if security.get("allowPrivilegeEscalation") is not False or security.get("privileged"):
            yield "%s: %s may gain rights" % (name_of(obj), container["name"])
        if security.get("capabilities", {}).get("drop") != ["ALL"] or security.get("capabilities", {}).get("add"):
            yield "%s: %s has capabilities" % (name_of(obj), container["name"])


@rule
def resources_are_set(objects):
    for obj, _, container in containers(objects):
        resources = container.get("resources", {})
        for what, key in (("requests", "cpu"), ("requests", "memory"), ("limits", "memory")):
            if key not in resources.get(what, {}):
                yield "%s: %s has no %s of %s" % (name_of(obj), container["name"], what, key)


@rule
def images_are_pinned(objects):
    for obj, _, container in containers(objects):
        image = container["image"].rsplit("/", 1)[-1]
        if "@sha256:" not in image and (":" not in image or image.endswith(":latest")):
            yield "%s: image %s has no version" % (name_of(obj), container["image"])


@rule
def servers_are_probed(objects):
    for obj, _, spec in pods(objects):
        if obj["kind"] != "Deployment":
            continue
        for container in spec["containers"]:
            for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
                got = container.get(probe, {}).get("httpGet", {})
                if got.get("path") != path:
                    yield "%s: %s has no %s on %s" % (name_of(obj), container["name"], probe, path)
                elif got["port"] not in [port["name"] for port in container.get("ports", [])]:
                    yield "%s: %s asks a port it does not have" % (name_of(obj), probe)


@rule
def no_token_and_no_service_links(objects):
    for obj, _, spec in pods(objects):
        if spec.get("automountServiceAccountToken") is not False:
            yield "%s gets a token of Kubernetes" % name_of(obj)
        if spec.get("enableServiceLinks") is not False:
            # A Service called acl-... would put ACL_... variables into every pod of the namespace.
            yield "%s gets variables of every Service" % name_of(obj)
    for obj in objects:
        if obj["kind"] == "ServiceAccount" and obj.get("automountServiceAccountToken") is not False:
            yield "%s gives out its token" % name_of(obj)


@rule
def everything_is_labelled(objects):
    for obj in objects:
        for label in ("name", "instance", "version", "managed-by"):
            if "app.kubernetes.io/" + label not in obj["metadata"].get("labels", {}):
                yield "%s has no label app.kubernetes.io/%s" % (name_of(obj), label)
        if len(obj["metadata"]["name"]) > 63:
            yield "%s has too long a name" % name_of(obj)


@rule
def selectors_find_one_workload(objects):
    workloads = [(o, m["labels"]) for o, m, _ in pods(objects) if o["kind"] == "Deployment"]
    for obj, labels in workloads:
        if not selects(labels, obj["spec"]["selector"]["matchLabels"]):
            yield "%s does not select its own pods" % name_of(obj)
    for obj in objects:
        if obj["kind"] not in ("Service", "PodDisruptionBudget", "Deployment"):
            continue
        selector = obj["spec"]["selector"]
        found = [o for o, labels in workloads if selects(labels, selector.get("matchLabels", selector))]
        if len(found) != 1:
            yield "%s selects pods of %d workloads" % (name_of(obj), len(found))


@rule
def services_name_ports_that_exist(objects):
    for obj in objects:
        if obj["kind"] != "Service":
            continue
        ports = {p["name"] for _, m, s in pods(objects) if selects(m.get("labels", {}), obj["spec"]["selector"])
                 for c in s["containers"] for p in c.get("ports", [])}
        for port in obj["spec"]["ports"]:
            if port["targetPort"] not in ports:
                yield "%s leads to port %s, which no container has" % (name_of(obj), port["targetPort"])


def environment_of(objects, spec, container):
    """What a container is told by ConfigMaps of the release and in words."""
    maps = {o["metadata"]["name"]: o.get("data") or {} for o in objects if o["kind"] == "ConfigMap"}
    told = {}
    for source in container.get("envFrom", []):
        if "configMapRef" in source:
            told.update(maps.get(source["configMapRef"]["name"], {}))
    told.update({e["name"]: e.get("value") for e in container.get("env", [])})
    return told


@rule
def grace_is_longer_than_the_drain(objects):
    for obj, spec, container in containers(objects):
        if container["name"] != "worker":
            continue
        told = environment_of(objects, spec, container)
        drain = max(int(told.get("ACL_DRAIN_DEADLINE_MS", 20000)), int(told.get("ACL_DRAIN_EFFECTS_DEADLINE_MS", 60000))) / 1000
        if spec["terminationGracePeriodSeconds"] < drain + 10:
            yield "%s is killed after %s s, and a drain may take %s s" % (name_of(obj), spec["terminationGracePeriodSeconds"], drain)


@rule
def what_is_referred_to_is_there(objects):
    there = {(o["kind"], o["metadata"]["name"]) for o in objects}
    for obj, spec, container in containers(objects):
        for source in container.get("envFrom", []):
            ref = source.get("configMapRef")
            if ref and ("ConfigMap", ref["name"]) not in there:
                yield "%s: no ConfigMap %s" % (name_of(obj), ref["name"])
        volumes = {v["name"] for v in spec.get("volumes", [])}
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                yield "%s: no volume %s" % (name_of(obj), mount["name"])
    for obj, _, spec in pods(objects):
        used = {m["name"] for c in spec.get("initContainers", []) + spec["containers"] for m in c.get("volumeMounts", [])}
        for volume in spec.get("volumes", []):
            if volume["name"] not in used:
                yield "%s: volume %s is mounted nowhere" % (name_of(obj), volume["name"])
            if "configMap" in volume and ("ConfigMap", volume["configMap"]["name"]) not in there:
                yield "%s: no ConfigMap %s" % (name_of(obj), volume["configMap"]["name"])


@rule
def hooks_need_nothing_of_the_release(objects):
    """Before an install nothing of the release exists yet."""
    made = {(o["kind"], o["metadata"]["name"]) for o in objects if not is_hook(o)}
    for obj, _, spec in pods(objects):
        if not obj["metadata"].get("annotations", {}).get("helm.sh/hook", "").startswith("pre-"):
            continue
        if ("ServiceAccount", spec.get("serviceAccountName")) in made:
            yield "%s uses the release's ServiceAccount" % name_of(obj)
        names = [s["configMapRef"]["name"] for c in spec["containers"] for s in c.get("envFrom", []) if "configMapRef" in s]
        names += [v["configMap"]["name"] for v in spec.get("volumes", []) if "configMap" in v]
        for name in names:
            if ("ConfigMap", name) in made:
                yield "%s uses the release's ConfigMap %s" % (name_of(obj), name)


@rule
def secrets_come_from_secrets(objects):
    secret = re.compile(r"(PASSWORD|SECRET|SECRET_KEY|TOKEN|API_KEY|DATABASE_URL|ACCESS_KEY)$")
    for obj, spec, container in containers(objects):
        for entry in container.get("env", []):
            if secret.search(entry["name"]) and "value" in entry:
                yield "%s: %s stands there in words" % (name_of(obj), entry["name"])
    for obj in objects:
        if obj["kind"] == "Secret":
            yield "%s: the chart makes no Secrets" % name_of(obj)
        if obj["kind"] != "ConfigMap":
            continue
        for key, value in (obj.get("data") or {}).items():
            if secret.search(key) or re.search(r"://[^/\s]+:[^/\s]+@", str(value)):
                yield "%s: %s is a secret" % (name_of(obj), key)


@rule
def network_is_closed(objects):
    policies = [o for o in objects if o["kind"] == "NetworkPolicy"]
    if not policies:
        return
    deny = [o for o in policies if set(o["spec"]["policyTypes"]) == {"Ingress", "Egress"} and not o["spec"].get("ingress") and not o["spec"].get("egress")]
    for obj, meta, _ in pods(objects):
        if not any(selects(meta["labels"], o["spec"]["podSelector"]["matchLabels"]) for o in deny):
            yield "%s is denied nothing" % name_of(obj)
    for obj in policies:
        for entry in obj["spec"].get("ingress", []):
            for port in entry.get("ports", []):
                if port["port"] == "doorbell" and any("podSelector" not in peer for peer in entry.get("from", [{}])):
                    yield "%s: the doorbell is open to others than the fleet" % name_of(obj)


@rule
def ingress_has_tls(objects):
    for obj in objects:
        if obj["kind"] == "Ingress":
            covered = {h for t in obj["spec"].get("tls", []) for h in t["hosts"]}
            for entry in obj["spec"]["rules"]:
                if entry["host"] not in covered:
                    yield "%s: %s has no TLS" % (name_of(obj), entry["host"])


@rule
def one_hand_sets_replicas(objects):
    deployments = {o["metadata"]["name"]: o for o in objects if o["kind"] == "Deployment"}
    scaled = [o["spec"]["scaleTargetRef"]["name"] for o in objects if o["kind"] in ("HorizontalPodAutoscaler", "ScaledObject")]
    for name in scaled:
        if name not in deployments:
            yield "an autoscaler scales %s, which is not there" % name
        elif "replicas" in deployments[name]["spec"]:
            yield "Deployment/%s sets replicas, and so does its autoscaler" % name
    for name, obj in deployments.items():
        if name not in scaled and "replicas" not in obj["spec"]:
            yield "Deployment/%s has no number of replicas" % name


@rule
def disruptions_leave_somebody(objects):
    deployments = [(o, m["labels"]) for o, m, _ in pods(objects) if o["kind"] == "Deployment"]
    budgets = [o for o in objects if o["kind"] == "PodDisruptionBudget"]
    for obj, labels in deployments:
        if obj["spec"].get("replicas", 2) > 1 and not any(selects(labels, b["spec"]["selector"]["matchLabels"]) for b in budgets):
            yield "%s has no PodDisruptionBudget" % name_of(obj)
        if not pod_of(obj)[1].get("topologySpreadConstraints"):
            yield "%s may stand on one node whole" % name_of(obj)
    for obj in budgets:
        if obj["spec"].get("maxUnavailable") in (0, "0%"):
            yield "%s lets no node be drained" % name_of(obj)


def settings_exist(known):
    """A rule that needs the table: every ACL_ variable is a setting of the program that gets it. known: {"coordinator": {...}, ...}"""
    def check(objects):
        for obj, spec, container in containers(objects):
            program = {"coordinator": "coordinator", "worker": "worker"}.get(container["name"], "airun")
            for name in environment_of(objects, spec, container):
                if container["name"] == "topics" and name.startswith("ACL_KAFKA_"):
                    continue   # flags of `airun queue`, which has no row in that table
                if name.startswith("ACL_") and name not in known[program]:
                    yield "%s: %s is told %s, which it does not know" % (name_of(obj), program, name)
    check.__name__ = "settings_exist"
    return check
