#!/usr/bin/env python3
"""What the chart's scaling does over a day: arrivals by the second, Kubernetes' own rule for an average value, the chart's behavior, pods that take
time to start. Prints the table of docs/operate/kubernetes.md; the same seed gives the same table.

A model: steps take the same time, a worker that goes finishes what it has, the metric is 15 s old. It says how the knobs trade waiting for
workers, not what a fleet of yours costs."""
import collections
import math
import random

DAY, SYNC, SCRAPE, START = 86_400, 15, 15, 20   # seconds: autoscaler, age of the metric, a pod from wanted to ready
SLOTS, STEP = 20, 30                            # of a worker; seconds a step takes


def arrivals(seed=7):
    """Steps of each second: a working day, and 24 bursts of 2000 within a minute."""
    dice = random.Random(seed)
    bursts = [dice.randrange(DAY - 60) for _ in range(24)]
    made = []
    for second in range(DAY):
        rate = 1.0 + 3.0 * max(0.0, math.sin(math.pi * (second - 21_600) / 43_200))
        rate += sum(2000 / 60 for begin in bursts if begin <= second < begin + 60)
        made.append(sum(1 for _ in range(math.ceil(rate)) if dice.random() < rate / math.ceil(rate)))
    return made


def limited(current, history, now, up_percent=200, up_pods=4, down_percent=50, down_period=60):
    """How many there may be now: 200 % or 4 more within 15 s, half of them less within a minute."""
    then = lambda seconds: next((count for at, count in reversed(history) if at <= now - seconds), history[0][1])
    return max(then(SYNC) * (1 + up_percent / 100), then(SYNC) + up_pods), then(down_period) * (1 - down_percent / 100)


def simulate(steps, work_per_replica, least, most, calm=300, fixed=None):
    waiting, waited = collections.deque(), collections.Counter()
    ends = [0] * (DAY + STEP + 1)
    wanted = least if fixed is None else fixed
    busy, unserved, ready_at = 0, 0, []
    ready, seconds_of_workers, top = wanted, 0, wanted
    history, wishes, demand = [(0, wanted)], collections.deque(), [0] * DAY
    for now in range(DAY):
        busy -= ends[now]
        while ready_at and ready_at[0] <= now:
            ready_at.pop(0)
            ready += 1
        if steps[now]:
            waiting.append([now, steps[now]])
            unserved += steps[now]
        room = max(0, ready * SLOTS - busy)
        while waiting and room:
            taken = min(room, waiting[0][1])
            waited[now - waiting[0][0]] += taken
            ends[now + STEP] += taken
            busy, room, unserved = busy + taken, room - taken, unserved - taken
            waiting[0][1] -= taken
            if not waiting[0][1]:
                waiting.popleft()
        demand[now] = busy + unserved
        seconds_of_workers += wanted
        if fixed is not None or now % SYNC or now < SCRAPE:
            continue
        seen = demand[now - SCRAPE]
        wish = math.ceil(seen / work_per_replica)
        if wanted and abs(seen / (wanted * work_per_replica) - 1) <= 0.1:   # Kubernetes' tolerance
            wish = wanted
        wishes.append((now, wish))
        while wishes[0][0] < now - calm:
            wishes.popleft()
        floor, (highest, lowest) = max(w for _, w in wishes), limited(wanted, history, now)
        goal = wish if wish >= wanted else min(wanted, floor)   # up at once; down only as far as the calm allows
        goal = max(least, min(most, math.floor(highest) if goal > highest else math.ceil(lowest) if goal < lowest else goal))
        if goal > wanted:
            ready_at += [now + START] * (goal - wanted)
        else:
            for _ in range(wanted - goal):
                if ready_at:
                    ready_at.pop()
                else:
                    ready -= 1
        wanted = goal
        history.append((now, wanted))
        history[:] = [h for h in history if h[0] >= now - 120]
        top = max(top, wanted)
    return waited, top, seconds_of_workers / 3600


def share(waited, part):
    total, seen = sum(waited.values()), 0
    for seconds in sorted(waited):
        seen += waited[seconds]
        if seen >= part * total:
            return seconds
    return max(waited)


def table():
    steps = arrivals()
    lines = ["| scaling | workers at most | worker hours of a day | waits: half of the steps | 99 of 100 | the longest |", "|---|---|---|---|---|---|"]
    cases = [("`workPerReplica` %d: %d %% of its slots" % (w, 100 * w // SLOTS), dict(work_per_replica=w, least=2, most=100)) for w in (20, 15, 10, 5)]
    cases += [("`workPerReplica` 10, `maxReplicas` 20", dict(work_per_replica=10, least=2, most=20)),
              ("`workPerReplica` 10, `minReplicas` 0 (keda)", dict(work_per_replica=10, least=0, most=100)),
              ("always 10", dict(work_per_replica=10, least=0, most=0, fixed=10)), ("always 100", dict(work_per_replica=10, least=0, most=0, fixed=100))]
    for name, given in cases:
        waited, top, hours = simulate(steps, **given)
        lines.append("| %s | %d | %.0f | %d s | %d s | %d s |" % (name, top, hours, share(waited, 0.5), share(waited, 0.99), max(waited)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
