#!/usr/bin/env python3
"""An image that any registry and engine takes (an OCI layout in a tar), from a root folder of assemble.py, without Docker:

    docker/oci.py coordinator ROOT OUT.oci.tar --version V --commit C --epoch SECONDS

`skopeo copy oci-archive:OUT.oci.tar docker://registry.example.org/acl-coordinator:V` pushes it; `docker load` and `ctr images import` take it.
The same root gives the same bytes."""
import argparse
import gzip
import hashlib
import io
import json
import os
import tarfile
import time

from assemble import CONFIG, IMAGES, USER


def layer_of(root, epoch):
    """The root folder as a tar: by name, no owner but root (and the user of what is to be written), no time but the epoch."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        paths = []
        for folder, folders, files in os.walk(root):
            folders.sort()
            paths += [os.path.join(folder, name) for name in sorted(folders + files)]
        for path in sorted(paths):
            entry = tar.gettarinfo(path, os.path.relpath(path, root))
            if entry.islnk():
                raise SystemExit("oci: %s is a hard link" % path)
            writable = entry.name.startswith("var/lib/acl")
            entry.uid = entry.gid = USER if writable else 0
            entry.uname = entry.gname = ""
            entry.mtime = epoch
            if entry.isreg():
                with open(path, "rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    return out.getvalue()


def labels(image, version, commit):
    return {"org.opencontainers.image.title": "acl-" + image, "org.opencontainers.image.description": DESCRIPTIONS[image],
            "org.opencontainers.image.version": version, "org.opencontainers.image.revision": commit,
            "org.opencontainers.image.licenses": "Apache-2.0"}


DESCRIPTIONS = {"coordinator": "ACL coordinator: API, doorbell and jobs of a fleet", "worker": "ACL worker: runs the steps of workflows",
                "airun": "airun: the command line of ACL, and its migrations"}
HEALTH = {"Interval": 10_000_000_000, "Timeout": 5_000_000_000, "StartPeriod": 30_000_000_000, "Retries": 3}


def config_of(image, version, commit, epoch, diff_id):
    program = "/usr/bin/" + IMAGES[image]["program"]
    config = {"User": "%d:%d" % (USER, USER), "Entrypoint": [program], "Env": CONFIG[image]["Env"], "StopSignal": "SIGTERM",
              "WorkingDir": "/", "Labels": labels(image, version, commit)}
    if CONFIG[image]["Ports"]:
        config["ExposedPorts"] = {port: {} for port in CONFIG[image]["Ports"]}
    if CONFIG[image]["Health"]:
        config["Healthcheck"] = {"Test": ["CMD", program, "--health"], **HEALTH}
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    return {"created": created, "architecture": "amd64", "os": "linux", "config": config, "rootfs": {"type": "layers", "diff_ids": [diff_id]},
            "history": [{"created": created, "created_by": "docker/assemble.py " + image}]}


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def write(image, root, out, version, commit, epoch):
    layer = layer_of(root, epoch)
    packed = gzip.compress(layer, compresslevel=6, mtime=0)
    config = json.dumps(config_of(image, version, commit, epoch, digest_of(layer)), sort_keys=True).encode()
    descriptor = lambda kind, data: {"mediaType": "application/vnd.oci.image." + kind, "digest": digest_of(data), "size": len(data)}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": descriptor("config.v1+json", config), "layers": [descriptor("layer.v1.tar+gzip", packed)]}, sort_keys=True).encode()
    index = {"schemaVersion": 2, "manifests": [{**descriptor("manifest.v1+json", manifest), "annotations": {
        "org.opencontainers.image.ref.name": version, "io.containerd.image.name": "acl-%s:%s" % (image, version)}}]}
    files = {"oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(), "index.json": json.dumps(index, sort_keys=True).encode()}
    files.update({"blobs/sha256/" + digest_of(data)[7:]: data for data in (config, manifest, packed)})
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), epoch, 0o644
            tar.addfile(entry, io.BytesIO(files[name]))
    return {"image": image, "files": len(layer), "packed": len(packed), "digest": digest_of(manifest)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("image", choices=IMAGES)
    parser.add_argument("root")
    parser.add_argument("out")
    parser.add_argument("--version", default="0.1.0")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--epoch", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(write(given.image, given.root, given.out, given.version, given.commit, given.epoch)))


if __name__ == "__main__":
    main()
