#!/usr/bin/env python3
"""Writes what is derived from helm/acl/values.yaml and docs/reference/settings.md: helm/acl/README.md and helm/acl/values.schema.json, and copies
docs/operate/alerts.yml to where the chart can read it. --check: says what differs instead, exit 1.

docs/reference/settings.md is itself written from the table of settings in the programs, so a setting that a program gains, loses or renames changes
the schema, and the chart refuses one that no program has."""
import json
import os
import re
import sys

import yaml

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CHART = os.path.join(TOP, "helm", "acl")

# Settings that the chart writes itself, and by which value.
OWNED = {
    "database_url": "database", "queue_driver": "kafka.enabled", "kafka_bootstrap": "kafka.bootstrap", "kafka_prefix": "kafka.prefix",
    "kafka_properties_file": "kafka.propertiesSecret", "s3_endpoint": "objectStore.endpoint", "s3_region": "objectStore.region",
    "s3_bucket": "objectStore.bucket", "s3_access_key": "objectStore.existingSecret", "s3_secret_key": "objectStore.existingSecret",
    "listen": "the chart", "doorbell_listen": "the chart", "doorbell_advertise": "the pod's address",
    "allowed_hosts": "coordinator.allowedHosts", "jaeger_url": "tracing.jaegerUrl", "health_listen": "the chart",
    "coordinators": "the chart", "queues": "workers[].queues", "worker_name": "the pod's name", "work_dir": "workers[].workDir",
    "s3_session_token": "extraEnv, out of a Secret", "dev_mode": "nothing: a listener that others reach needs keys",
    "failpoints": "nothing: chaos runs have fleets of their own",
}

POOL_NAME = {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$"}
PERCENT_OR_NUMBER = {"type": ["integer", "string"]}
# What the values' own types do not say.
RULES = {
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "image.registry": {"pattern": "^$|[^/]$"},
    "coordinator.replicas": {"minimum": 1},
    "coordinator.service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "coordinator.podDisruptionBudget.maxUnavailable": PERCENT_OR_NUMBER,
    "kafka.partitions": {"minimum": 1, "maximum": 10000},
    "kafka.replication": {"minimum": 1, "maximum": 32},
    "kafka.prefix": {"pattern": "^[a-zA-Z0-9._-]{1,60}$"},
    "migration.backoffLimit": {"minimum": 0},
    "migration.activeDeadlineSeconds": {"minimum": 10},
    "podSecurityContext.runAsUser": {"minimum": 1},
    "tracing.sampler": {"pattern": "^(parentbased_)?(always_on|always_off|traceidratio)$"},
    "workerDefaults.replicas": {"minimum": 0},
    "workerDefaults.queues": {"minItems": 1, "items": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$"}},
    "workerDefaults.terminationGracePeriodSeconds": {"type": ["integer", "null"], "minimum": 1},
    "workerDefaults.podDisruptionBudget.maxUnavailable": PERCENT_OR_NUMBER,
    "workerDefaults.autoscaling.kind": {"enum": ["none", "hpa", "keda"]},
    "workerDefaults.autoscaling.minReplicas": {"minimum": 0},
    "workerDefaults.autoscaling.maxReplicas": {"minimum": 1},
    "workerDefaults.autoscaling.workPerReplica": {"minimum": 1},
    "workerDefaults.autoscaling.scaleUpSeconds": {"minimum": 0, "maximum": 3600},
    "workerDefaults.autoscaling.scaleDownSeconds": {"minimum": 0, "maximum": 3600},
    "extraObjects": {"items": {"type": ["object", "string"]}},
}
LISTS_OF_TEXT = {"image.pullSecrets", "coordinator.allowedHosts", "ingress.hosts"}


def read(*parts):
    with open(os.path.join(TOP, *parts), encoding="utf-8") as file:
        return file.read()


def settings_of(program):
    """name -> (kind of value, default, meaning), as docs/reference/settings.md has them."""
    page = read("docs", "reference", "settings.md")
    part = page.split("## " + program + "\n")[1].split("\n## ")[0]
    found = {}
    for line in part.splitlines():
        cells = re.match(r"\| `--([a-z0-9-]+)( [^`]+)?` \| `(ACL_[A-Z0-9_]+)` \| `?([^|`]*)`? \| (.*) \|$", line)
        if cells:
            found[cells[1].replace("-", "_")] = ((cells[2] or "").strip(), cells[4].strip(), cells[5])
    if len(found) < 20:
        sys.exit("chart_pages: docs/reference/settings.md lists only %d settings of %s: has its form changed?" % (len(found), program))
    return found


def setting_schema(kind, default, meaning):
    if kind in ("MS", "N", "BYTES", "DAYS"):
        schema = {"type": "integer", "minimum": 0}
    elif kind == "":
        schema = {"type": "boolean"}
    elif kind.endswith("..."):
        schema = {"type": ["array", "string"], "items": {"type": "string"}}
    else:
        schema = {"type": "string"}
    schema["description"] = meaning + (" (default " + default + ")" if default else "")
    return schema


def settings_schema(settings, files):
    names = [n for n in sorted(settings) if n not in OWNED and (n.endswith("_file") and n not in PUBLIC_FILES) == files]
    if files:
        one = {"type": "object", "additionalProperties": False, "required": ["secret", "key"],
               "properties": {"secret": {"type": "string", "minLength": 1}, "key": {"type": "string", "minLength": 1}}}
        return {"type": "object", "additionalProperties": False, "properties": {n: one for n in names}}
    return {"type": "object", "additionalProperties": False, "properties": {n: setting_schema(*settings[n]) for n in names}}


# Files that hold no secret: their folder is mounted by extraVolumes.
PUBLIC_FILES = {"s3_ca_file", "memory_ca_file", "http_ca_file", "aegis_kernel_file"}


def infer(value, path):
    if path.endswith(".settings") or path == "settings":
        where = {"settings": "shared", "coordinator.settings": "coordinator"}.get(path, "worker")
        return {"$ref": "#/definitions/%sSettings" % where}
    if path.endswith(".secretFiles"):
        return {"$ref": "#/definitions/%sFiles" % ("coordinator" if path.startswith("coordinator") else "worker")}
    if path.endswith("resources"):
        return {"type": "object"}
    if isinstance(value, dict):
        if not value or path.endswith(".labels"):
            schema = {"type": "object"}
        else:
            schema = {"type": "object", "additionalProperties": False,
                      "properties": {k: infer(v, path + "." + k if path else k) for k, v in value.items()}}
    elif isinstance(value, bool):
        schema = {"type": "boolean"}
    elif isinstance(value, int):
        schema = {"type": "integer"}
    elif isinstance(value, list):
        schema = {"type": "array", "items": {"type": "string"} if path in LISTS_OF_TEXT else {"type": "object"}}
    else:
        schema = {"type": "string"}
    if path.endswith("extraArgs"):
        schema["items"] = {"type": "string"}
    schema.update(RULES.get(path, {}))
    return schema


def schema_text():
    values = yaml.safe_load(read("helm", "acl", "values.yaml"))
    coordinator, worker = settings_of("acl-coordinator"), settings_of("acl-worker")
    shared = {n: coordinator[n] for n in coordinator if n in worker}
    schema = infer({k: v for k, v in values.items() if k != "workers"}, "")
    pool = json.loads(json.dumps(schema["properties"]["workerDefaults"]))
    pool["properties"]["name"] = POOL_NAME
    pool["required"] = ["name"]
    schema["properties"]["workers"] = {"type": "array", "minItems": 1, "items": pool}
    schema["properties"]["global"] = {"type": "object"}
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart acl", **schema, "definitions": {
        "sharedSettings": settings_schema(shared, False),
        "coordinatorSettings": settings_schema(coordinator, False), "coordinatorFiles": settings_schema(coordinator, True),
        "workerSettings": settings_schema(worker, False), "workerFiles": settings_schema(worker, True)}}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def value_rows():
    """(path, default, meaning) of every value that has no values below it, in the file's order."""
    stack, comment, rows = [], [], []
    for line in read("helm", "acl", "values.yaml").splitlines():
        text = line.strip()
        if text.startswith("#"):
            comment.append(text.lstrip("# "))
            continue
        key = re.match(r"^( *)(?:- )?([A-Za-z]+):(.*)$", line)
        if not key or line.lstrip().startswith("- "):
            comment = []
            continue
        depth, default = len(key[1]) // 2, key[3].strip()
        stack = stack[:depth] + [(key[2], " ".join(comment))]
        path = ".".join(name for name, _ in stack)
        if default:
            rows.append((path, default, " ".join(comment)))
        elif comment and path != "workers":
            rows.append((path, "", " ".join(comment)))
        elif path == "workers":
            rows.append((path, "[{name: default}]", " ".join(comment)))
        comment = []
    return rows


def readme_text():
    lines = [
        "# The chart `acl`", "",
        "Coordinators, pools of workers and migrations of an ACL fleet, over a PostgreSQL (and, if you like, an Apache Kafka and an object store) "
        "of yours.", "How to install it, step by step: [docs/operate/kubernetes.md](../../docs/operate/kubernetes.md).", "",
        "Written from `values.yaml` by `.dev/kube/chart_pages.py`; a test keeps the two equal. Settings of the programs (`settings`, "
        "`coordinator.settings`,", "`workers[].settings`) are those of [docs/reference/settings.md](../../docs/reference/settings.md), in snake case: "
        "`settings: {lease_ttl_ms: 5000}`.", "",
        "| value | default | meaning |", "|---|---|---|"]
    for path, default, meaning in value_rows():
        lines.append("| `%s` | %s | %s |" % (path, "`%s`" % default.replace("|", "\\|") if default else "", meaning.replace("|", "\\|")))
    lines += ["", "## Settings that the chart writes itself", "", "| setting | from |", "|---|---|"]
    lines += ["| `%s` | %s |" % (name, where if where.startswith(("the ", "nothing")) else "`%s`" % where if " " not in where else where)
              for name, where in sorted(OWNED.items())]
    return "\n".join(lines) + "\n"


def main():
    unknown = [n for n in OWNED if n not in settings_of("acl-coordinator") and n not in settings_of("acl-worker")]
    if unknown:
        sys.exit("chart_pages: no program has the settings that the chart writes: " + ", ".join(unknown))
    wanted = {"helm/acl/README.md": readme_text(), "helm/acl/values.schema.json": schema_text(),
              "helm/acl/files/alerts.yml": read("docs", "operate", "alerts.yml")}
    wrong = []
    for path, text in wanted.items():
        there = read(path) if os.path.exists(os.path.join(TOP, path)) else None
        if there == text:
            continue
        wrong.append(path)
        if "--check" not in sys.argv:
            with open(os.path.join(TOP, path), "w", encoding="utf-8") as file:
                file.write(text)
    if "--check" in sys.argv and wrong:
        sys.exit("chart_pages: %s not what values.yaml and docs/reference/settings.md say; run .dev/kube/chart_pages.py and commit" % ", ".join(wrong))


if __name__ == "__main__":
    main()
