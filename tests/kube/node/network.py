"""The cluster's network in a network namespace of this machine: a bridge, an address for each pod, and each Service's address, at which
connections are handed to the pods that are ready (as kube-proxy's first mode did)."""
import asyncio
import os
import random
import subprocess
import threading

BRIDGE, GATEWAY = "acl0", "10.244.0.1"


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=check)


def make_bridge():
    os.makedirs("/run/netns", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"], check=True)   # this run's own
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", GATEWAY + "/16", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")


class Addresses:
    def __init__(self):
        self.lock, self.last = threading.Lock(), 1

    def take(self):
        with self.lock:
            self.last += 1
            return "10.244.%d.%d" % (self.last >> 8, self.last & 255), "p%d" % self.last


def join_pod(name, address):
    ip("netns", "add", name)
    ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
    ip("link", "set", name, "master", BRIDGE)
    ip("link", "set", name, "up")
    for command in (["addr", "add", address + "/16", "dev", "eth0"], ["link", "set", "lo", "up"], ["link", "set", "eth0", "up"],
                    ["route", "add", "default", "via", GATEWAY]):
        ip("-n", name, *command)


def leave_pod(name):
    ip("link", "del", name, check=False)
    ip("netns", "del", name, check=False)


KEPT = set()   # tasks of connections: asyncio itself keeps none


async def join(one, other):
    """Passes on what comes, both ways, until both have ended."""
    task = asyncio.current_task()
    KEPT.add(task)
    try:
        await asyncio.gather(pipe(one[0], other[1]), pipe(other[0], one[1]))
    finally:
        one[1].close()
        other[1].close()
        KEPT.discard(task)


async def pipe(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        try:
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            pass


class Services:
    """Listens where Services are, in a thread of its own."""

    def __init__(self, api):
        self.api, self.loop = api, asyncio.new_event_loop()
        self.services, self.endpoints, self.servers = {}, {}, {}
        self.on_change = lambda: None
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        for path, take in (("/api/v1/services", self.take_service), ("/apis/discovery.k8s.io/v1/endpointslices", self.take_slice)):
            threading.Thread(target=self.follow, args=(path, take), daemon=True).start()

    def follow(self, path, take):
        while True:
            try:
                for kind, seen in self.api.watch(path):
                    if kind == "RELIST":
                        for one in seen:
                            take("ADDED", one)
                    else:
                        take(kind, seen)
            except (OSError, ValueError):
                pass

    def take_service(self, kind, service):
        key = service["metadata"]["namespace"], service["metadata"]["name"]
        if kind == "DELETED":
            self.services.pop(key, None)
            asyncio.run_coroutine_threadsafe(self.close(key), self.loop)
        else:
            self.services[key] = service
            if service["spec"].get("clusterIP", "None") != "None":
                asyncio.run_coroutine_threadsafe(self.open(key, service), self.loop)
        self.on_change()

    def take_slice(self, kind, one):
        namespace, name = one["metadata"]["namespace"], one["metadata"]["name"]
        if kind == "DELETED":
            self.endpoints.pop((namespace, name), None)
        else:
            self.endpoints[namespace, name] = one

    def ready(self, key, port_name):
        found = []
        for one in list(self.endpoints.values()):
            if (one["metadata"]["namespace"], one["metadata"].get("labels", {}).get("kubernetes.io/service-name")) != key:
                continue
            for port in one.get("ports") or []:
                if (port.get("name") or "") != port_name:
                    continue
                for endpoint in one.get("endpoints") or []:
                    if endpoint.get("conditions", {}).get("ready", True):
                        found += [(address, port["port"]) for address in endpoint["addresses"]]
        return found

    async def open(self, key, service):
        address = service["spec"]["clusterIP"]
        for port in service["spec"]["ports"]:
            at = key + (port["port"],)
            if at in self.servers or port.get("protocol", "TCP") != "TCP":
                continue
            ip("addr", "add", address + "/32", "dev", "lo", check=False)
            name = port.get("name") or ""
            self.servers[at] = await asyncio.start_server(lambda r, w, k=key, n=name: self.hand_on(k, n, r, w), address, port["port"])

    async def close(self, key):
        for at in [at for at in self.servers if at[:2] == key]:
            self.servers.pop(at).close()

    async def hand_on(self, key, name, reader, writer):
        ready = self.ready(key, name)
        random.shuffle(ready)
        for host, port in ready:
            try:
                to_reader, to_writer = await asyncio.wait_for(asyncio.open_connection(host, port), 5)
                break
            except (OSError, asyncio.TimeoutError):
                continue
        else:
            writer.close()
            return
        await join((reader, writer), (to_reader, to_writer))

    def hosts(self, namespace):
        """The lines of /etc/hosts by which a pod finds Services."""
        lines = ["127.0.0.1 localhost"]
        for (place, name), service in sorted(self.services.items()):
            address = service["spec"].get("clusterIP", "None")
            if address == "None":
                continue
            names = ["%s.%s" % (name, place), "%s.%s.svc" % (name, place), "%s.%s.svc.cluster.local" % (name, place)]
            lines.append(" ".join([address] + ([name] if place == namespace else []) + names))
        return "\n".join(lines) + "\n"


def forward(services, listen, to):
    """Connections to an address, handed to another: the database's, which listens on loopback alone; and what `kubectl port-forward` would be."""
    async def start():
        async def hand_on(reader, writer):
            try:
                to_reader, to_writer = await asyncio.open_connection(*to)
            except OSError:
                writer.close()
                return
            await join((reader, writer), (to_reader, to_writer))
        return await asyncio.start_server(hand_on, *listen)
    return asyncio.run_coroutine_threadsafe(start(), services.loop).result(10)
