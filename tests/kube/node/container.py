#!/usr/bin/env python3
"""One container as a process: container.py SPEC.json runs a program in the root folder of an image as an engine would, and ends with its exit
code (128 and the signal's number if one ended it). Its own mounts, processes (the program is process 1), host name and IPC; the network of a
namespace that is there; a root that cannot be written; no capability, no new rights; a user by number. Not done: seccomp, AppArmor.

SPEC: {"root": FOLDER, "argv": [...], "env": {...}, "uid": N, "gid": N, "groups": [N], "cwd": "/", "hostname": NAME, "netns": NAME or null,
       "read_only": bool, "mounts": [{"target": PATH, "source": PATH or null (a tmpfs), "read_only": bool, "size": BYTES, "mode": OCTAL}],
       "pid_file": FILE, "memory_bytes": N or null, "cgroup": NAME}
pid_file gets the program's process id as this machine sees it: signals go there."""
import ctypes
import ctypes.util
import json
import os
import signal
import sys

LIBC = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
CLONE_NEWNET = 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_SET_PDEATHSIG = 38, 24, 1
DEVICES = ["null", "zero", "full", "random", "urandom"]
CGROUPS = "/sys/fs/cgroup/memory"


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), "%s: %s" % (what, os.strerror(ctypes.get_errno())))


def mount(source, target, kind, flags, data=""):
    check(LIBC.mount((source or "none").encode(), target.encode(), (kind or "").encode() or None, flags, data.encode() or None),
          "mount %s at %s" % (source or kind, target))


def bind(source, target, read_only):
    mount(source, target, None, MS_BIND | MS_REC)
    if read_only:
        mount(source, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID)


def join_network(name):
    descriptor = os.open("/run/netns/" + name, os.O_RDONLY)
    check(LIBC.setns(descriptor, CLONE_NEWNET), "enter network " + name)
    os.close(descriptor)


def limit_memory(spec):
    if not spec.get("memory_bytes") or not os.access(CGROUPS, os.W_OK):
        return
    folder = "%s/%s" % (CGROUPS, spec["cgroup"])
    os.makedirs(folder, exist_ok=True)
    for name, value in (("memory.limit_in_bytes", spec["memory_bytes"]), ("cgroup.procs", os.getpid())):
        with open("%s/%s" % (folder, name), "w", encoding="ascii") as file:
            file.write(str(value))


def make_root(spec):
    """The image with a layer of this container's own over it, in memory; on it what the spec mounts; it becomes /."""
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m")
    root = "/mnt/root"
    for folder in ("upper", "work", "root"):
        os.mkdir("/mnt/" + folder)
    os.chmod("/mnt/upper", 0o755)
    mount("overlay", root, "overlay", MS_NODEV, "lowerdir=%s,upperdir=/mnt/upper,workdir=/mnt/work" % spec["root"])
    mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("tmpfs", root + "/dev", "tmpfs", MS_NOSUID, "mode=755,size=65536")
    for device in DEVICES:
        with open(root + "/dev/" + device, "w", encoding="ascii"):
            pass
        bind("/dev/" + device, root + "/dev/" + device, False)
    for entry in spec["mounts"]:
        target = root + entry["target"]
        source = entry.get("source")
        if not os.path.lexists(target):
            if source and os.path.isfile(source):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "w", encoding="ascii"):
                    pass
            else:
                os.makedirs(target, exist_ok=True)
        if source:
            bind(source, target, entry.get("read_only", False))
        else:
            mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "size=%d,mode=%o,uid=%d,gid=%d" % (
                entry.get("size", 64 << 20), entry.get("mode", 0o1777), 0, spec["gid"]))
    if spec["read_only"]:
        mount("overlay", root, None, MS_REMOUNT | MS_RDONLY | MS_NODEV)
    os.chroot(root)
    os.chdir(spec.get("cwd") or "/")


def become(spec):
    for capability in range(64):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)   # fails behind the last one there is
    os.setgroups(spec.get("groups", []))
    os.setresgid(spec["gid"], spec["gid"], spec["gid"])
    os.setresuid(spec["uid"], spec["uid"], spec["uid"])   # and with root go all capabilities
    check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")


def run_program(spec):
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        LIBC.sethostname(spec["hostname"].encode(), len(spec["hostname"].encode()))
        make_root(spec)
        become(spec)
        for number in (signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.execve(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as wrong:
        os.write(2, ("container: %s: %s\n" % (spec["argv"][0], wrong)).encode())
        os._exit(127)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    limit_memory(spec)
    if spec.get("netns"):
        join_network(spec["netns"])
    check(LIBC.unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID), "unshare")
    child = os.fork()
    if child == 0:
        run_program(spec)
    with open(spec["pid_file"] + ".new", "w", encoding="ascii") as file:
        file.write(str(child))
    os.rename(spec["pid_file"] + ".new", spec["pid_file"])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _: os.kill(child, got))
    while True:
        try:
            _, status = os.waitpid(child, 0)
            break
        except InterruptedError:
            continue
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
