"""What can be said of docker/ without running anything: the Dockerfile, the compose file and what the images are made from say the same."""
import json
import os
import re
import subprocess
import sys

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP + "/docker")
import assemble  # noqa: E402
import oci  # noqa: E402


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def hadolint(tools, path):
    ran = subprocess.run([tools + "/python/bin/hadolint", "--failure-threshold", "style", path], capture_output=True, text=True, check=False)
    return [] if ran.returncode == 0 else (ran.stdout + ran.stderr).splitlines()


def targets(text):
    """What each target of the Dockerfile says of its image, in the words of an image's configuration."""
    found, stage = {}, None
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = line.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        name, rest = words[0], words[1] if len(words) > 1 else ""
        if name == "FROM":
            stage = {"Env": [], "Ports": [], "Labels": [], "From": rest.split(" AS ")[0]}
            found[rest.split(" AS ")[1]] = stage
        elif name == "ENV":
            stage["Env"] += rest.split()
        elif name == "EXPOSE":
            stage["Ports"] += rest.split()
        elif name == "LABEL":
            stage["Labels"] += re.findall(r"(\S+)=\"([^\"]*)\"", rest)
        elif name == "HEALTHCHECK":
            stage["Health"] = json.loads(rest[rest.index("["):])
        elif name == "ENTRYPOINT":
            stage["Entrypoint"] = json.loads(rest)
        elif name in ("USER", "STOPSIGNAL"):
            stage[name] = rest
    return found


def dockerfile_breaches(text):
    """Differences between the Dockerfile and the images made without it."""
    said = targets(text)
    for image in assemble.IMAGES:
        made = oci.config_of(image, "${VERSION}", "${COMMIT}", 0, "")["config"]
        got = said.get(image)
        if got is None:
            yield "the Dockerfile has no target " + image
            continue
        for what, wanted, have in (
                ("ENV", made["Env"], got["Env"]), ("EXPOSE", sorted(made.get("ExposedPorts", {})), sorted(got["Ports"])),
                ("ENTRYPOINT", made["Entrypoint"], got.get("Entrypoint")), ("USER", made["User"], got.get("USER")),
                ("STOPSIGNAL", made["StopSignal"], got.get("STOPSIGNAL")), ("LABEL", made["Labels"], dict(got["Labels"])),
                ("HEALTHCHECK", made.get("Healthcheck", {}).get("Test", [None])[1:] or None, got.get("Health"))):
            if wanted != have:
                yield "%s: the Dockerfile's %s is %s, the image's %s" % (image, what, have, wanted)
    for name, got in said.items():
        if name == "build":
            continue
        if not re.match(r"^[1-9][0-9]*:[1-9][0-9]*$", got.get("USER", "")):
            yield "%s: its user is no number, or root" % name
        if got["From"] != "scratch" and not re.search(r"^ARG DEBIAN=debian:[0-9.]+-slim$|^ARG DEBIAN=debian@sha256:", text, flags=re.M):
            yield "%s: its base is not pinned" % name


def compose_breaches(text, known):
    """Rules for the compose file; known: variables that some program reads."""
    services = yaml.safe_load(text)["services"]
    for name, service in services.items():
        image = service["image"]
        if ":" not in image or image.endswith(":latest"):
            yield "%s: image %s has no version" % (name, image)
        for port in service.get("ports", []):
            if not port.startswith("127.0.0.1:"):
                yield "%s: port %s is open to the network" % (name, port)
        if not image.startswith("acl-"):
            continue
        if not service.get("read_only") or service.get("cap_drop") != ["ALL"] or service.get("security_opt") != ["no-new-privileges:true"]:
            yield "%s may write to its root or has rights" % name
        if service.get("build") and service["build"]["target"] != image.split(":")[0].removeprefix("acl-"):
            yield "%s: image %s is built from target %s" % (name, image, service["build"]["target"])
        for variable in service["environment"]:
            if variable.startswith("ACL_") and variable not in known:
                yield "%s: no program reads %s" % (name, variable)
        for needed in service.get("depends_on", {}):
            if needed not in services:
                yield "%s depends on %s, which is not there" % (name, needed)
    grace = int(services["worker"]["stop_grace_period"].rstrip("s"))
    if grace < 70:
        yield "worker: is killed after %d s, and a drain may take 60" % grace


def fleet_variables():
    """What ./dev fleet tells the same programs (.dev/full_fleet.sh), but for what is a machine's own."""
    text = read(".dev/full_fleet.sh")
    names = set(re.findall(r"\b((?:ACL|OTEL)_[A-Z0-9_]+)=", text.split("full_start_programs")[0]))
    names |= set(re.findall(r"export ((?:ACL_[A-Z_]+ ?)+)", text)[0].split()) if re.findall(r"export ((?:ACL_[A-Z_]+ ?)+)", text) else set()
    return names - {"ACL_JAEGER_URL", "ACL_DEV_MODE", "ACL_ALLOW_PRIVATE_NETWORKS", "ACL_ALLOWED_PROGRAMS"}
