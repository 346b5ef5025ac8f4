# ./dev bench agents: sessions of agents that rest, are woken and live long, on a fleet that ./dev has started. What a session costs while it rests is
# measured as the difference to the same fleet without any. Arguments: --server, --psql (a command that takes SQL), --pids, --sessions, --moves.
import argparse, http.client, json, random, subprocess, threading, time
from urllib.parse import urlsplit

options = argparse.ArgumentParser()
options.add_argument("--server", required=True)
options.add_argument("--database", required=True)
options.add_argument("--pids", required=True)
options.add_argument("--sessions", type=int, default=10_000)
options.add_argument("--moves", type=int, default=100_000)
options = options.parse_args()
server = urlsplit(options.server)
LIMITS = "limits: {turns_per_wake: 100000, moves_per_minute: 100000, moves_without_change: 100000}\n"
SLEEPER = ("agent: sleeper\ncapabilities: [test.echo]\n" + LIMITS +
           "planner: {rules: [{when: 'length(stimuli) > 0', actions: [{capability: test.echo, inputs: {text: '{{stimulus.text}}'}}]}]}\n")
WALKER = ("agent: walker\ncapabilities: [test.echo]\n" + LIMITS +
          "planner: {rules: [{when: 'session.turn < %d', actions: [{capability: test.echo, inputs: {text: '{{session.turn}}'}}]}]}\n")


def sql(text):
    return subprocess.run(["psql", "-XAtqc", text, options.database], check=True, capture_output=True, text=True).stdout.strip()


class Client:
    def __init__(self):
        self.link = http.client.HTTPConnection(server.hostname, server.port, timeout=60)

    def post(self, path, body):
        self.link.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.link.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{path}: {answer.status} {text[:300]}")
        return json.loads(text), answer.status


def parallel(threads, items, do):
    lock, left, results = threading.Lock(), list(items), []

    def work():
        client = Client()
        while True:
            with lock:
                if not left:
                    return
                item = left.pop()
            result = do(client, item)
            with lock:
                results.append(result)

    all_threads = [threading.Thread(target=work) for _ in range(threads)]
    for one in all_threads: one.start()
    for one in all_threads: one.join()
    return results


def memory():  # bytes of the fleet's processes
    total = 0
    for pid in options.pids.split(","):
        with open(f"/proc/{pid}/status") as status:
            total += next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))
    return total


def transactions(seconds):  # a second, of a fleet to which nobody speaks
    count = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    sql("SELECT pg_stat_clear_snapshot()")
    begin = int(sql(count)); time.sleep(seconds); end = int(sql(count))
    return (end - begin - 1) / seconds


def await_rest(most):
    for _ in range(most * 2):
        if sql("SELECT count(*) FROM session WHERE state ->> 'status' <> 'RESTING'") == "0": return
        time.sleep(0.5)
    raise SystemExit("not all sessions come to rest")


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def start(client, file, message=""):
    body = {"agent": file, "by": "bench"}
    if message: body["message"] = message
    return client.post("/v1/agents", body)[0]["id"]


def tell(client, session):
    begin = time.monotonic()
    status = client.post(f"/v1/agents/{session}/stimuli", {"text": str(random.random()), "by": "bench"})[1]
    return (time.monotonic() - begin) * 1000 if status == 200 else None


def resting():
    time.sleep(10)
    idle, before = transactions(20), memory()
    begin = time.monotonic()
    ids = parallel(8, range(options.sessions), lambda client, _: start(client, SLEEPER))
    await_rest(600)
    print(f"{len(ids)} sessions made and at rest in {time.monotonic() - begin:.0f} s")
    time.sleep(30)
    print(f"transactions a second of the fleet: {idle:.1f} without sessions, {transactions(20):.1f} with {len(ids)} at rest")
    print(f"memory of the fleet's processes: {before / 2**20:.0f} MiB before, {memory() / 2**20:.0f} MiB with them at rest")
    print("leases, ready rows, timers of theirs:",
          sql("SELECT (SELECT count(*) FROM leases l JOIN subjects s USING (subject_id) WHERE s.kind = 'agent' AND l.session_id IS NOT NULL), (SELECT count(*) "
              "FROM ready), (SELECT count(*) FROM timers t JOIN subjects s USING (subject_id) WHERE s.kind = 'agent')").replace("|", ", "))
    client = Client()
    told = [tell(client, session) for session in random.sample(ids, min(1_000, len(ids)))]
    woken = [one for one in told if one is not None]
    print(f"wake-up, from the request to its stimulus in the journal, one after the other: 50 % {share(woken, .5):.1f} ms, 99 % {share(woken, .99):.1f} ms "
          f"({len(told) - len(woken)} of {len(told)} not within the answer)")
    await_rest(120)
    turns = int(sql("SELECT count(*) FROM move WHERE type = 'process'"))
    begin = time.monotonic()
    parallel(16, random.sample(ids, min(4_000, len(ids))), tell)
    await_rest(600)
    took = time.monotonic() - begin
    print(f"{(int(sql(chr(83) + 'ELECT count(*) FROM move WHERE type = ' + repr('process'))) - turns) / took:.0f} turns with an action a second, 16 speakers")


def long_life():
    turns = options.moves // 3 + 1
    client = Client()
    session = start(client, WALKER % turns, "walk")
    while True:
        time.sleep(2)
        state, moves = sql(f"SELECT s.state ->> 'status', (SELECT count(*) FROM move WHERE session = s.id) FROM session s WHERE s.id = '{session}'").split("|")
        if state == "RESTING" and int(moves) >= options.moves: break
        if state == "RESTING": client.post(f"/v1/agents/{session}/stimuli", {"text": "go on", "by": "bench"})
    tenths = sql(f"SELECT string_agg(round(n / extract(epoch FROM until - since))::text, ' ' ORDER BY part) FROM (SELECT ntile, count(*) AS n, min(time) AS since, "
                 f"max(time) AS until, ntile AS part FROM (SELECT time, ntile(10) OVER (ORDER BY event_seq) FROM move WHERE session = '{session}') m GROUP BY ntile) t")
    print(f"{moves} moves in one session; moves a second in each tenth of them: {tenths}")


resting()
long_life()
