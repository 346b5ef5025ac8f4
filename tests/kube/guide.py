"""docs/operate/kubernetes.md, typed: its blocks marked `sh`, in their order, in one shell, with the files that it says to write. Only what stands
below "# Yours:" is another here, and `kubectl port-forward` is ours: these nodes forward no ports."""
import os
import re
import subprocess

from node import network

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUIDE = TOP + "/docs/operate/kubernetes.md"


def blocks(text):
    """(title, kind, body) of each block; kind `sh` is typed, and `yaml` is written to the file that the line above it names."""
    found, title, before, kind, body = [], "", "", None, []
    for line in text.splitlines():
        if kind is not None:
            if line == "```":
                found.append((title, kind, "\n".join(body) + "\n", before))
                kind, body = None, []
            else:
                body.append(line)
        elif line.startswith("```"):
            kind = line[3:]
        elif line.startswith("## "):
            title = line[3:]
        elif line.strip():
            before = line
    return found


PORT_FORWARD = """#!/usr/bin/env python3
# kubectl, but for port-forward: from here to the Service's own address.
import os, re, socket, subprocess, sys, threading
real = %(kubectl)r
words = sys.argv[1:]
if "port-forward" not in words:
    os.execv(real, [real] + words)
namespace = words[words.index("-n") + 1]
service = next(w for w in words if w.startswith("service/"))
here, there = (int(n) for n in next(w for w in words if re.fullmatch(r"[0-9]+:[0-9]+", w)).split(":"))
address = subprocess.run([real, "-n", namespace, "get", service, "-o", "jsonpath={.spec.clusterIP}"], capture_output=True, text=True, check=True).stdout
def copy(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass
server = socket.create_server(("127.0.0.1", here))
while True:
    one, _ = server.accept()
    other = socket.create_connection((address, there))
    for pair in ((one, other), (other, one)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def script_of(found, yours, folder):
    """The shell script, and how many blocks of it are typed."""
    lines, typed = ["set -euo pipefail"], 0
    for title, kind, body, before in found:
        if kind == "yaml":
            name = re.search(r"`([a-z]+\.yaml)`", before)
            if name:
                lines += ["cat >%s/%s <<'FILE'" % (folder, name[1]), body + "FILE"]
        elif kind == "sh":
            typed += 1
            if body.startswith("# Yours:"):
                named = set(re.findall(r"^export ([A-Z_]+)=", body, flags=re.M))
                if named != set(yours):
                    raise SystemExit("k8s: the guide asks for %s, and this test has %s" % (sorted(named), sorted(yours)))
                lines += ["export %s=%s" % pair for pair in yours.items()]
                continue
            lines += ["echo '### %s'" % title, body]
    return "\n".join(lines) + "\n", typed


def walk(cluster, step, expect, helm_version="4"):
    url = os.environ["ACL_TEST_GUIDE_DATABASE_URL"]
    folder = os.environ["ACL_TEST_K8S_DIR"] + "/guide"
    tools = os.environ["ACL_TEST_KUBE_TOOLS"]
    os.makedirs(folder + "/bin", exist_ok=True)
    with open(GUIDE, encoding="utf-8") as file:
        found = blocks(file.read())
    network.forward(cluster.services, (network.GATEWAY, 5433), ("127.0.0.1", int(url.rsplit(":", 1)[1].split("/")[0])))
    yours = {"ADMIN_URL": url.rsplit("/", 1)[0] + "/postgres", "DATABASE": network.GATEWAY + ":5433", "REGISTRY": "registry.example.org"}
    script, typed = script_of(found, yours, folder)
    expect(typed >= 10, "the guide has only %d blocks to type" % typed)
    write(folder + "/bin/kubectl", PORT_FORWARD % {"kubectl": tools + "/bin/kubectl"}, 0o755)
    os.symlink(tools + "/bin/helm" + helm_version, folder + "/bin/helm")
    os.symlink(os.environ["ACL_TEST_AIRUN"], folder + "/bin/airun")
    os.symlink(TOP + "/helm", folder + "/helm")
    # The names of this folder's images in that registry.
    for name, image in list(cluster.nodes.images.items()):
        cluster.nodes.images["registry.example.org/" + name] = image
    subprocess.run(["psql", "-qX", "-d", yours["ADMIN_URL"], "-c", "DROP DATABASE IF EXISTS acl"], check=True)
    with step("guide", "every block of docs/operate/kubernetes.md") as seen:
        ran = subprocess.run(["bash", "-c", script + "kill %1\n"], cwd=folder, capture_output=True, text=True, check=False, timeout=600,
                             env={**cluster.environment, "PATH": folder + "/bin:" + os.environ["PATH"]})
        write(folder + "/said.log", ran.stdout + ran.stderr, 0o600)
        expect(ran.returncode == 0, "a command of the guide fails (said.log of %s):\n%s%s" % (folder, ran.stdout[-1500:], ran.stderr[-1500:]))
        for words in ("Phase:          Succeeded", "COMPLETED", "Rollback was a success", 'release "acl" uninstalled'):
            expect(words in ran.stdout, "the guide's commands never said: " + words)
        seen.seen = "%d blocks in one shell: roles, Secrets, install, key, helm test, a workflow on its pool, upgrade, rollback, uninstall" % typed
