#!/usr/bin/env python3
"""What is in an image, and nothing else: one of our programs, the shared libraries it loads, certificates, time zones, a user. Both the
Dockerfile and ./dev images make images from this, so what was tried without Docker is what Docker ships.

    docker/assemble.py coordinator|worker|airun PROGRAMS ROOT      ROOT is made; PROGRAMS holds acl-coordinator, acl-worker, airun
    docker/assemble.py coordinator|worker|airun PROGRAMS ROOT --commit C --version V

Runs on Debian 12, which names the package of each file: those are in the SBOM (CycloneDX) at usr/share/sbom/acl.cdx.json, and in
var/lib/dpkg/status.d, where scanners of images look. The same input gives the same bytes: no time of day, no order of a folder."""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess

USER = 65532   # numeric: Kubernetes cannot tell of a name whether it is root
# What each image is. `programs`: what steps of workflows may start unless ACL_ALLOWED_PROGRAMS says otherwise.
IMAGES = {
    "coordinator": {"program": "acl-coordinator", "programs": [], "folders": []},
    "worker": {"program": "acl-worker", "programs": ["ls", "cat", "echo", "pwd", "whoami", "grep", "wc", "head", "tail"],
               "folders": ["var/lib/acl/work"]},
    "airun": {"program": "airun", "programs": [], "folders": []},
}
TREES = ["usr/share/zoneinfo"]
AUTHORITIES = "/usr/share/ca-certificates/mozilla"   # not this machine's bundle: it may trust more
CONFIG = {   # of the image, as the Dockerfile says it; tests/kube/images_test.py compares
    "coordinator": {"Env": ["ACL_LISTEN=0.0.0.0:8733", "ACL_DOORBELL_LISTEN=0.0.0.0:8734"], "Ports": ["8733/tcp", "8734/tcp"], "Health": True},
    "worker": {"Env": ["ACL_HEALTH_LISTEN=0.0.0.0:8735", "ACL_WORK_DIR=/var/lib/acl/work", "PATH=/usr/bin"], "Ports": ["8735/tcp"], "Health": True},
    "airun": {"Env": [], "Ports": [], "Health": False},
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def put(root, path, data, mode=0o644):
    target = os.path.join(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(target, mode)


def link(root, path, to):
    target = os.path.join(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.islink(target):
        os.symlink(to, target)


def libraries_of(program):
    """Every shared library that it loads: the name it asks for and the file that answers, below /usr."""
    told = run("ldd", program)
    if "not found" in told:
        raise SystemExit("assemble: %s does not find all of its libraries:\n%s" % (program, told))
    return sorted(set(re.findall(r"(/\S+) \(0x", told)))


class Content:
    """The root folder as it grows, and which packages what is in it came from."""

    def __init__(self, root):
        self.root = root
        self.packages = {}
        self.compiled_in = {}

    def copy(self, path):
        """A file of this machine, under the name it is asked for by and the one it has; and its package."""
        real = os.path.realpath(path)
        inside = real.lstrip("/")
        if not inside.startswith("usr/") and not inside.startswith("etc/"):
            inside = "usr/" + inside
        target = os.path.join(self.root, inside)
        if not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(real, target)
            os.chmod(target, 0o755 if os.access(real, os.X_OK) else 0o644)
            self.note_package(path, real)
        asked = os.path.join(os.path.dirname(inside), os.path.basename(path))
        if asked != inside:
            link(self.root, asked, os.path.basename(inside))

    def note_package(self, *names):
        for name in dict.fromkeys(n for path in names for n in (path, path.removeprefix("/usr"), "/usr" + path)):
            found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True, check=False)
            if found.returncode == 0:
                package = found.stdout.split(": ")[0].split(",")[0].strip()
                break
        else:
            raise SystemExit("assemble: no Debian package has %s: what is in an image must be known" % names[0])
        if package not in self.packages:
            fields = run("dpkg-query", "--show", "--showformat=${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Maintainer}", package)
            self.packages[package] = fields.split("\t")

    def copy_tree(self, path):
        for folder, folders, files in sorted(os.walk("/" + path)):
            folders.sort()
            for name in sorted(files):
                full = os.path.join(folder, name)
                if os.path.islink(full):
                    link(self.root, full.lstrip("/"), os.readlink(full))
                else:
                    target = os.path.join(self.root, full.lstrip("/"))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copyfile(full, target)
                    os.chmod(target, 0o644)
            for name in [n for n in folders if os.path.islink(os.path.join(folder, n))]:
                link(self.root, os.path.join(folder, name).lstrip("/"), os.readlink(os.path.join(folder, name)))
        self.note_package("/" + path + "/UTC")

    def copy_authorities(self):
        names = sorted(os.listdir(AUTHORITIES))
        texts = []
        for name in names:
            with open(os.path.join(AUTHORITIES, name), encoding="ascii") as file:
                texts.append(file.read())
        put(self.root, "etc/ssl/certs/ca-certificates.crt", "".join(texts))
        self.note_package(os.path.join(AUTHORITIES, names[0]))

    def note_headers(self):
        """Libraries that are compiled into our programs: they leave no file."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".dev", "packages.sh"), encoding="utf-8") as file:
            names = re.findall(r"\blib[a-z0-9.+-]+-dev\b|\bnlohmann-json3-dev\b|\bprometheus-cpp-dev\b", file.read().split("packages_build=(")[1].split(")")[0])
        for name in names:
            self.compiled_in[name] = run("dpkg-query", "--show", "--showformat=${Version}\t${Architecture}", name).split("\t")

    def copy_licences(self):
        for name in sorted(self.packages):
            source = "/usr/share/doc/%s/copyright" % name.split(":")[0]
            if os.path.exists(source):
                with open(os.path.realpath(source), "rb") as file:
                    put(self.root, source.lstrip("/"), file.read())


def lay_out(image, programs, root):
    what = IMAGES[image]
    content = Content(root)
    os.makedirs(root)
    for folder in ("bin", "sbin", "lib", "lib64"):   # Debian's merged /usr: the loader's name is /lib64/ld-linux-x86-64.so.2
        link(root, folder, "usr/" + folder)
    binary = os.path.join(programs, what["program"])
    target = os.path.join(root, "usr/bin", what["program"])
    os.makedirs(os.path.dirname(target))
    run("strip", "--strip-unneeded", "-o", target, binary)
    os.chmod(target, 0o755)
    for library in libraries_of(binary):
        content.copy(library)
    for name in what["programs"]:
        content.copy("/usr/bin/" + name)
        for library in libraries_of("/usr/bin/" + name):
            content.copy(library)
    loader = os.path.join(root, "usr/lib64/ld-linux-x86-64.so.2")
    if not os.path.exists(loader):
        link(root, "usr/lib64/ld-linux-x86-64.so.2", "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    content.copy("/usr/lib/os-release")
    content.copy_authorities()
    link(root, "etc/os-release", "../usr/lib/os-release")
    for tree in TREES:
        content.copy_tree(tree)
    put(root, "etc/passwd", "root:x:0:0:root:/nonexistent:/nonexistent\nacl:x:%d:%d:ACL:/nonexistent:/nonexistent\n" % (USER, USER))
    put(root, "etc/group", "root:x:0:\nacl:x:%d:\n" % USER)
    put(root, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n")
    put(root, "etc/ld.so.conf", "")
    for folder in ("tmp", "etc/acl", "proc", "dev", "sys", *what["folders"]):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    for folder in what["folders"]:
        path = os.path.join(root, folder)
        if os.geteuid() == 0:
            os.chown(path, USER, USER)
        os.chmod(path, 0o700)
    content.copy_licences()
    content.note_headers()
    return content


def sbom(content, program, version, commit):
    """CycloneDX 1.5: the program, and each Debian package that files were taken from."""
    binary = os.path.join(content.root, "usr/bin", program)
    with open(binary, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    components = []
    for name, (package, package_version, architecture, source, source_version, _) in sorted(content.packages.items()):
        purl = "pkg:deb/debian/%s@%s?arch=%s&distro=debian-12" % (package, package_version.replace("+", "%2B").replace(":", "%3A"), architecture)
        components.append({"type": "library", "bom-ref": purl, "name": package, "version": package_version, "purl": purl,
                           "properties": [{"name": "debian:source", "value": "%s %s" % (source, source_version)}]})
    for name, (package_version, architecture) in sorted(content.compiled_in.items()):
        purl = "pkg:deb/debian/%s@%s?arch=%s&distro=debian-12" % (name, package_version.replace("+", "%2B").replace(":", "%3A"), architecture)
        components.append({"type": "library", "bom-ref": purl, "name": name, "version": package_version, "purl": purl,
                           "properties": [{"name": "acl:linked", "value": "headers, or a library that is also listed by its own name"}]})
    root_ref = "acl/%s@%s" % (program, version)
    return json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": root_ref, "name": program, "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest}],
                                   "properties": [{"name": "acl:commit", "value": commit}]}},
        "components": components,
        "dependencies": [{"ref": root_ref, "dependsOn": [c["bom-ref"] for c in components]}]}, indent=1) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("image", choices=IMAGES)
    parser.add_argument("programs")
    parser.add_argument("root")
    parser.add_argument("--version", default="0.1.0")
    parser.add_argument("--commit", default="unknown")
    given = parser.parse_args()
    if os.path.exists(given.root):
        parser.error("%s is there already" % given.root)
    content = lay_out(given.image, given.programs, given.root)
    put(given.root, "usr/share/sbom/acl.cdx.json", sbom(content, IMAGES[given.image]["program"], given.version, given.commit))
    for name, (package, version, architecture, source, source_version, maintainer) in sorted(content.packages.items()):
        put(given.root, "var/lib/dpkg/status.d/" + package,
            "Package: %s\nStatus: install ok installed\nMaintainer: %s\nArchitecture: %s\nSource: %s (%s)\nVersion: %s\nDescription: files of it\n"
            % (package, maintainer, architecture, source, source_version, version))


if __name__ == "__main__":
    main()
