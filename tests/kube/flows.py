"""Network policies as a network would enforce them: may this pod open a connection there? For what a chart renders; nothing is enforced here."""
import ipaddress

import rules

FLEET, ELSEWHERE = {"kubernetes.io/metadata.name": "fleet"}, {"kubernetes.io/metadata.name": "monitoring"}


def pod_of_component(objects, component, pool=None):
    """An end of a connection: labels, namespace and named ports of a pod that the chart makes."""
    for obj, meta, spec in rules.pods(objects):
        labels = meta["labels"]
        if labels.get("app.kubernetes.io/component") == component and (pool is None or labels.get("acl.dev/pool") == pool):
            return {"labels": labels, "namespace": FLEET, "ports": {p["name"]: p["containerPort"] for c in spec["containers"] for p in c.get("ports", [])}}
    raise KeyError(component)


def stranger(namespace=FLEET):
    return {"labels": {"app": "other"}, "namespace": namespace, "ports": {}}


def address(text):
    return {"ip": text}


def matches(selector, labels):
    if selector is None:
        return True
    if "matchExpressions" in selector:
        raise NotImplementedError("matchExpressions")
    return rules.selects(labels, selector.get("matchLabels", {}))


def peer_matches(peer, end):
    if "ipBlock" in peer:
        if "ip" not in end:
            return False
        ip = ipaddress.ip_address(end["ip"])
        return ip in ipaddress.ip_network(peer["ipBlock"]["cidr"]) and not any(ip in ipaddress.ip_network(e) for e in peer["ipBlock"].get("except", []))
    if "ip" in end:
        return False
    if "namespaceSelector" in peer:
        if not matches(peer["namespaceSelector"], end["namespace"]):
            return False
    elif end["namespace"] != FLEET:
        return False
    return matches(peer.get("podSelector"), end["labels"])


def port_matches(port, number, target, protocol):
    wanted = port["port"] if isinstance(port["port"], int) else target.get("ports", {}).get(port["port"])
    return wanted == number and port.get("protocol", "TCP") == protocol


def direction_allows(policies, direction, subject, other, target, number, protocol):
    """One side of the connection: every policy that selects the pod adds what it allows; a pod that none selects may everything."""
    if "ip" in subject or subject["namespace"] != FLEET:
        return True
    kind, peers = ("Egress", "to") if direction == "egress" else ("Ingress", "from")
    chosen = [p["spec"] for p in policies if kind in p["spec"]["policyTypes"] and matches(p["spec"]["podSelector"], subject["labels"])]
    if not chosen:
        return True
    return any((not entry.get("ports") or any(port_matches(p, number, target, protocol) for p in entry["ports"])) and
               (not entry.get(peers) or any(peer_matches(peer, other) for peer in entry[peers]))
               for spec in chosen for entry in spec.get(direction, []))


def allowed(objects, source, target, number, protocol="TCP"):
    policies = [o for o in objects if o["kind"] == "NetworkPolicy"]
    return direction_allows(policies, "egress", source, target, target, number, protocol) and \
        direction_allows(policies, "ingress", target, source, target, number, protocol)
