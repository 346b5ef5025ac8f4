"""A pod's specification as a container wants it: variables, arguments, files, user. Nothing is started here."""
import base64
import os
import re


class NotYet(Exception):
    """Something that the pod names is not there (or may not be so): reason and words as the kubelet has them."""

    def __init__(self, reason, words):
        super().__init__("%s: %s" % (reason, words))
        self.reason, self.words = reason, words


def expand(text, variables):
    """$(NAME) of a variable that is known; $$(NAME) stays $(NAME)."""
    def put(found):
        if found[0].startswith("$$"):
            return found[0][1:]
        return variables.get(found[1], found[0])
    return re.sub(r"\$?\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)", put, text)


def field(pod, path, pod_ip, node_ip):
    values = {"metadata.name": pod["metadata"]["name"], "metadata.namespace": pod["metadata"]["namespace"], "metadata.uid": pod["metadata"]["uid"],
              "spec.nodeName": pod["spec"]["nodeName"], "status.podIP": pod_ip, "status.hostIP": node_ip,
              "spec.serviceAccountName": pod["spec"].get("serviceAccountName", "default")}
    if path not in values:
        raise NotYet("CreateContainerConfigError", "this node does not know the field " + path)
    return values[path]


class Objects:
    """ConfigMaps and Secrets of a namespace, as texts."""

    def __init__(self, api, namespace):
        self.api, self.namespace = api, namespace

    def data(self, kind, name, optional=False):
        found = self.api.find("/api/v1/namespaces/%s/%s/%s" % (self.namespace, kind, name))
        if found is None:
            if optional:
                return {}
            raise NotYet("CreateContainerConfigError", "%s \"%s\" not found" % (kind[:-1], name))
        data = found.get("data") or {}
        return {k: base64.b64decode(v).decode() for k, v in data.items()} if kind == "secrets" else data

    def key(self, kind, ref):
        data = self.data(kind, ref["name"], ref.get("optional", False))
        if ref["key"] not in data:
            if ref.get("optional"):
                return None
            raise NotYet("CreateContainerConfigError", "couldn't find key %s in %s %s" % (ref["key"], kind[:-1], ref["name"]))
        return data[ref["key"]]


def environment(pod, container, objects, image_env, services, pod_ip, node_ip):
    told = dict(image_env)
    told.update(services)
    for source in container.get("envFrom", []):
        for name, kind in (("configMapRef", "configmaps"), ("secretRef", "secrets")):
            if name in source:
                data = objects.data(kind, source[name]["name"], source[name].get("optional", False))
                told.update({source.get("prefix", "") + k: v for k, v in data.items()})
    for entry in container.get("env", []):
        if "value" in entry:
            told[entry["name"]] = expand(entry["value"], told)
            continue
        source = entry.get("valueFrom", {})
        if "fieldRef" in source:
            value = field(pod, source["fieldRef"]["fieldPath"], pod_ip, node_ip)
        elif "secretKeyRef" in source:
            value = objects.key("secrets", source["secretKeyRef"])
        elif "configMapKeyRef" in source:
            value = objects.key("configmaps", source["configMapKeyRef"])
        else:
            value = ""
        if value is not None:
            told[entry["name"]] = value
    return told


def user_of(pod, container, image):
    """uid, gid and further groups; refuses root where the pod does."""
    merged = {**pod["spec"].get("securityContext", {}), **container.get("securityContext", {})}
    image_uid, image_gid = (int(part) for part in image["user"].split(":"))
    uid, gid = merged.get("runAsUser", image_uid), merged.get("runAsGroup", image_gid)
    if merged.get("runAsNonRoot") and uid == 0:
        raise NotYet("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")
    groups = sorted({group for group in [merged.get("fsGroup"), *pod["spec"].get("securityContext", {}).get("supplementalGroups", [])] if group is not None})
    return uid, gid, groups


def bytes_of(quantity, otherwise):
    found = re.fullmatch(r"([0-9]+)(Ki|Mi|Gi|Ti|k|M|G)?", str(quantity)) if quantity is not None else None
    if not found:
        return otherwise
    return int(found[1]) * {None: 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "k": 10**3, "M": 10**6, "G": 10**9}[found[2]]


def write_files(folder, files, mode, gid):
    """As a Secret's or ConfigMap's volume is: root's, readable by the pod's group."""
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if gid is not None:
            os.chown(path, 0, gid)
            mode |= 0o040
        os.chmod(path, mode)


def pick(data, items):
    return {entry["path"]: data[entry["key"]] for entry in items} if items else data


def volumes(pod, objects, folder):
    """name -> what to mount: {"source": FOLDER} or a tmpfs."""
    gid = pod["spec"].get("securityContext", {}).get("fsGroup")
    made = {}
    for volume in pod["spec"].get("volumes", []):
        path = os.path.join(folder, volume["name"])
        if "emptyDir" in volume:
            # The kubelet's are folders of the node's disk; here they are of memory, and as large as was asked for, at most 1 GiB.
            os.makedirs(path, exist_ok=True)
            os.chown(path, 0, gid if gid is not None else 0)
            os.chmod(path, 0o2777)
            made[volume["name"]] = {"source": path}
        elif "configMap" in volume:
            source = volume["configMap"]
            write_files(path, pick(objects.data("configmaps", source["name"], source.get("optional", False)), source.get("items")), source.get("defaultMode", 0o644), gid)
            made[volume["name"]] = {"source": path, "read_only": True}
        elif "secret" in volume:
            source = volume["secret"]
            write_files(path, pick(objects.data("secrets", source["secretName"], source.get("optional", False)), source.get("items")), source.get("defaultMode", 0o644), gid)
            made[volume["name"]] = {"source": path, "read_only": True}
        elif "projected" in volume:
            files = {}
            for source in volume["projected"]["sources"]:
                for kind, key in (("configmaps", "configMap"), ("secrets", "secret")):
                    if key in source:
                        files.update(pick(objects.data(kind, source[key]["name"], source[key].get("optional", False)), source[key].get("items")))
            write_files(path, files, volume["projected"].get("defaultMode", 0o644), gid)
            made[volume["name"]] = {"source": path, "read_only": True}
        else:
            raise NotYet("FailedMount", "this node does not know the kind of volume %s" % volume["name"])
    return made
