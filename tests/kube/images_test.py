#!/usr/bin/env python3
"""The images of docker/. Without a machine: Dockerfile, compose file and what images are made from say the same, and planted differences are
found. With ACL_TEST_IMAGES (./dev images test, as root): the images run, as an engine would run them but for seccomp: no right, a root that
cannot be written, health by the programs themselves, a workflow, SIGTERM."""
import glob
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = os.environ.get("ACL_TEST_KUBE_TOOLS", "")
if not TOOLS:
    print("ACL_TEST_KUBE_TOOLS is not set: ./dev test chart sets it")
    sys.exit(77)
sys.path.insert(0, TOOLS + "/python")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import image_files  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = image_files.TOP
IMAGES = os.environ.get("ACL_TEST_IMAGES", "")
SCRATCH = tempfile.TemporaryDirectory(prefix="acl-images-")


def known_variables():
    return set(re.findall(r"`(ACL_[A-Z0-9_]+)`", image_files.read("docs/reference/settings.md")))


class Files(unittest.TestCase):
    def test_hadolint_finds_nothing_and_finds_what_is_planted(self):
        self.assertEqual(image_files.hadolint(TOOLS, TOP + "/docker/Dockerfile"), [])
        path = SCRATCH.name + "/Dockerfile"
        with open(path, "w", encoding="ascii") as file:
            file.write("FROM debian\nRUN apt-get install curl\n")
        self.assertTrue(any("DL3006" in line for line in image_files.hadolint(TOOLS, path)))

    def test_the_dockerfile_says_what_the_images_are(self):
        text = image_files.read("docker/Dockerfile")
        self.assertEqual(list(image_files.dockerfile_breaches(text)), [])
        for planted, words in (("USER 65532:65532", "USER acl"), ("STOPSIGNAL SIGTERM", "STOPSIGNAL SIGKILL"), ('"--health"', '"--help"'),
                               ("EXPOSE 8735/tcp", "EXPOSE 8736/tcp"), ("8734/tcp", "8743/tcp"), ("ACL_WORK_DIR=/var/lib/acl/work", "ACL_WORK_DIR=/tmp"),
                               ("debian:12.11-slim", "debian:latest"), ('ENTRYPOINT ["/usr/bin/airun"]', 'ENTRYPOINT ["airun"]')):
            self.assertIn(planted, text)
            self.assertNotEqual(list(image_files.dockerfile_breaches(text.replace(planted, words))), [], words)

    def test_the_compose_file_keeps_the_rules(self):
        text = image_files.read("docker/compose.yaml")
        self.assertEqual(list(image_files.compose_breaches(text, known_variables())), [])
        for planted, words in (("127.0.0.1:8733:8733", "8733:8733"), ("apache/kafka:4.1.1", "apache/kafka"), ("ACL_SLOTS", "ACL_SLOTZ"),
                               ("cap_drop: [ALL]", "cap_drop: []"), ("stop_grace_period: 75s", "stop_grace_period: 30s")):
            self.assertIn(planted, text)
            self.assertNotEqual(list(image_files.compose_breaches(text.replace(planted, words), known_variables())), [], words)

    def test_compose_and_dev_fleet_start_the_same_fleet(self):
        self.assertLessEqual({"ACL_QUEUE_DRIVER", "ACL_LEASE_TTL_MS", "ACL_KAFKA_BOOTSTRAP"}, image_files.fleet_variables())
        text = image_files.read("docker/compose.yaml")
        for name in image_files.fleet_variables():
            self.assertIn(name, text)

    def test_versions_agree(self):
        version = re.search(r"^appVersion: (\S+)", image_files.read("helm/acl/Chart.yaml"), flags=re.M)[1]
        self.assertIn("project(acl VERSION %s " % version, image_files.read("CMakeLists.txt"))
        self.assertIn("acl-worker:%s\n" % version, image_files.read("docker/compose.yaml"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def container(image, arguments, environment, mounts=(), root=None):
    """Its command line: the image's own entry point, user and variables, and what is given."""
    config = image_files.oci.config_of(image, "", "", 0, "")["config"]
    uid, gid = config["User"].split(":")
    number = len(os.listdir(SCRATCH.name))
    spec = {"root": root or IMAGES + "/" + image, "argv": config["Entrypoint"] + arguments, "uid": int(uid), "gid": int(gid),
            "env": {**dict(e.split("=", 1) for e in config["Env"]), **environment}, "hostname": image, "netns": None, "read_only": True,
            "mounts": [{"target": "/tmp"}] + list(mounts), "pid_file": "%s/%d.pid" % (SCRATCH.name, number), "memory_bytes": None}
    path = "%s/%d.json" % (SCRATCH.name, number)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(spec, file)
    return [sys.executable, "-B", HERE + "/node/container.py", path], spec["pid_file"]


def ran(image, arguments, environment, mounts=()):
    return subprocess.run(container(image, arguments, environment, mounts)[0], capture_output=True, text=True, check=False, timeout=120)


class Server:
    """A container that stays, until Stop says how it ended."""

    def __init__(self, image, environment, mounts=(), root=None):
        self.image, self.environment = image, environment
        command, self.pid_file = container(image, [], environment, mounts, root)
        self.log = open("%s/%s-%d.log" % (SCRATCH.name, image, time.monotonic_ns()), "w+", encoding="utf-8")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def healthy(self):
        return ran(self.image, ["--health"], self.environment).returncode == 0

    def wait_until_healthy(self):
        began = time.monotonic()
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() - began > 60:
                raise AssertionError(self.said())
            time.sleep(0.02)
        return time.monotonic() - began

    def said(self):
        self.log.seek(0)
        return self.log.read()[-3000:]

    def pid(self):
        with open(self.pid_file, encoding="ascii") as file:
            return int(file.read())

    def stop(self):
        if self.process.poll() is None:
            os.kill(self.pid(), signal.SIGTERM)
        try:
            return self.process.wait(90)
        finally:
            self.log.close()


WORKFLOW = """name: in-an-image
steps:
  - name: write
    capability: io.fs.write_file
    inputs: {path: a.txt, content: "one\\ntwo\\n"}
  - {name: count, capability: sys.exec.run, inputs: {command: PROGRAM, args: ARGUMENTS, check: true}}
"""


@unittest.skipUnless(IMAGES, "ACL_TEST_IMAGES is not set: ./dev images test sets it")
class Images(unittest.TestCase):
    def test_docker_compose_reads_the_compose_file(self):
        check = os.environ["ACL_TEST_COMPOSE"]
        good = subprocess.run([check, TOP + "/docker/compose.yaml"], capture_output=True, text=True, check=False)
        self.assertEqual(good.returncode, 0, good.stderr)
        project = json.loads(good.stdout)
        self.assertEqual(project["services"]["worker"]["environment"]["ACL_KAFKA_BOOTSTRAP"], "kafka:9092")
        for planted, words in (("depends_on:", "depend_on:"), ("postgres: {condition: service_healthy}", "postgress: {condition: service_healthy}")):
            path = SCRATCH.name + "/compose.yaml"
            with open(path, "w", encoding="utf-8") as file:
                file.write(image_files.read("docker/compose.yaml").replace(planted, words))
            self.assertNotEqual(subprocess.run([check, path], capture_output=True, check=False).returncode, 0, words)

    def test_twice_made_is_the_same_to_the_byte(self):
        for image in image_files.assemble.IMAGES:
            one = image_files.oci.layer_of(IMAGES + "/" + image, 1)
            two = image_files.oci.layer_of(os.environ["ACL_TEST_IMAGES_AGAIN"] + "/" + image, 1)
            self.assertEqual(hashlib.sha256(one).hexdigest(), hashlib.sha256(two).hexdigest(), image)

    def test_other_tools_read_the_archives(self):
        for path in glob.glob(os.environ["ACL_TEST_OCI"] + "/*.oci.tar"):
            told = subprocess.run(["skopeo", "inspect", "--config", "oci-archive:" + path], capture_output=True, text=True, check=False)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertEqual(json.loads(told.stdout)["config"]["User"], "65532:65532")
            copied = subprocess.run(["skopeo", "copy", "--insecure-policy", "oci-archive:" + path, "docker-archive:%s/copied.tar:acl:1" % SCRATCH.name],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(copied.returncode, 0, copied.stderr)   # reads every blob and its digest
            os.remove(SCRATCH.name + "/copied.tar")

    def test_the_sbom_fits_cyclonedx_and_names_every_file(self):
        import jsonschema
        import referencing
        folder = TOOLS + "/python/cyclonedx/schema/_res/"

        def load(name):
            with open(folder + name, encoding="utf-8") as file:
                return json.load(file)

        schema = load("bom-1.5.SNAPSHOT.schema.json")
        registry = referencing.Registry().with_resources(
            ("http://cyclonedx.org/schema/" + name, referencing.Resource.from_contents(load(name))) for name in ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json"))
        validator = jsonschema.Draft7Validator(schema, registry=registry)
        for image in image_files.assemble.IMAGES:
            root = IMAGES + "/" + image
            with open(root + "/usr/share/sbom/acl.cdx.json", encoding="utf-8") as file:
                bom = json.load(file)
            self.assertEqual([e.message for e in validator.iter_errors(bom)], [])
            self.assertNotEqual(list(validator.iter_errors({**bom, "components": [{"name": "x"}]})), [])
            names = {c["name"] for c in bom["components"]}
            self.assertLessEqual({"libc6", "libpq5", "ca-certificates", "tzdata", "libboost1.81-dev"}, names)
            self.assertEqual(names - {c["name"] for c in bom["components"] if "properties" in c and c["properties"][0]["name"] == "acl:linked"},
                             set(os.listdir(root + "/var/lib/dpkg/status.d")))

    def test_there_is_nothing_to_break_in_with(self):
        for image in image_files.assemble.IMAGES:
            root = IMAGES + "/" + image
            programs = set(os.listdir(root + "/usr/bin"))
            self.assertTrue(programs.isdisjoint({"sh", "bash", "dash", "python3", "perl", "apt", "dpkg", "curl", "wget"}), programs)
            for folder, _, files in os.walk(root):
                for name in files:
                    mode = os.lstat(os.path.join(folder, name)).st_mode
                    self.assertFalse(mode & 0o6000, folder + "/" + name)
                    if not os.path.islink(os.path.join(folder, name)):
                        self.assertFalse(mode & 0o002, folder + "/" + name)

    def test_a_fleet_of_them_runs_a_workflow_and_ends(self):
        database = {"ACL_DATABASE_URL": os.environ["ACL_DATABASE_URL"]}
        self.assertEqual(ran("airun", ["db", "migrate"], database).returncode, 0)
        key = ran("airun", ["key", "create", "test"], database).stdout.strip()
        api, bell, health, plain = free_port(), free_port(), free_port(), free_port()
        coordinator = Server("coordinator", {**database, "ACL_LISTEN": "0.0.0.0:%d" % api, "ACL_DOORBELL_LISTEN": "127.0.0.1:%d" % bell})
        work = {"target": "/var/lib/acl/work", "mode": 0o1777}
        given = {**database, "ACL_COORDINATORS": "127.0.0.1:%d" % bell, "ACL_LEASE_TTL_MS": "3000"}
        worker = Server("worker", {**given, "ACL_HEALTH_LISTEN": "0.0.0.0:%d" % health}, [work])
        debian = Server("worker", {**given, "ACL_HEALTH_LISTEN": "127.0.0.1:%d" % plain, "ACL_QUEUES": "python", "ACL_ALLOWED_PROGRAMS": "python3"}, [work],
                        root=debian_root())
        try:
            print("start to ready: coordinator %.2f s, worker %.2f s, worker-debian %.2f s (looked at by --health in a container of its own)" % (
                coordinator.wait_until_healthy(), worker.wait_until_healthy(), debian.wait_until_healthy()))
            for server in (coordinator, worker):
                with open("/proc/%d/status" % server.pid(), encoding="ascii") as file:
                    status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
                self.assertEqual(status["Uid"].split(), ["65532"] * 4)
                self.assertEqual(int(status["CapEff"], 16) | int(status["CapBnd"], 16), 0)
                self.assertEqual(status["NoNewPrivs"], "1")
                with open("/proc/%d/mounts" % server.pid(), encoding="ascii") as file:
                    self.assertRegex(file.read(), r"(?m)^\S+ / \S+ ro,")
            for queue, program, arguments in (("default", "wc", '["-l", "a.txt"]'), ("python", "python3", '["-c", "print(len(open(\'a.txt\').read()))"]')):
                path = SCRATCH.name + "/" + queue + ".yaml"
                with open(path, "w", encoding="utf-8") as file:
                    file.write("queue: %s\n" % queue + WORKFLOW.replace("PROGRAM", program).replace("ARGUMENTS", arguments))
                os.chmod(path, 0o644)
                done = ran("airun", ["workflow", "run", "/etc/acl/run.yaml", "--wait", "--timeout", "60s"],
                           {"ACL_SERVER": "http://127.0.0.1:%d" % api, "ACL_API_KEY": key}, [{"target": "/etc/acl/run.yaml", "source": path, "read_only": True}])
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr + worker.said())
        finally:
            ended = {server: server.stop() for server in (worker, debian, coordinator)}
        self.assertEqual(list(ended.values()), [0, 0, 0])
        self.assertFalse(ran("worker", ["--health"], {**given, "ACL_HEALTH_LISTEN": "127.0.0.1:%d" % health}).returncode == 0)


def debian_root():
    """What the Dockerfile's target worker-debian copies, over a Debian with python3."""
    root = SCRATCH.name + "-debian"
    subprocess.run(["cp", "-a", os.environ["ACL_TEST_DEBIAN"], root], check=True)
    copies = re.findall(r"^COPY --from=build (?:--chown=\S+ )?/images/worker/(\S+) /(\S+)$", image_files.read("docker/Dockerfile").split(" AS worker-debian")[1], flags=re.M)
    assert len(copies) == 5, copies
    for source, target in copies:
        inside = root + "/" + target
        if source.endswith("/"):
            subprocess.run(["cp", "-a", IMAGES + "/worker/" + source + ".", inside], check=True)
        else:
            subprocess.run(["cp", "-a", IMAGES + "/worker/" + source, inside], check=True)
    return root


def tearDownModule():
    subprocess.run(["rm", "-rf", "--one-file-system", SCRATCH.name + "-debian"], check=False)


if __name__ == "__main__":
    unittest.main(verbosity=1)
