#!/usr/bin/env python3
"""The table of docs/operate/capacity.md: what fleets of a size need, from what was measured a step. Computed, not tried: the page says so."""
import math

# Measured (docs/operate/performance.md, 64 in flight; docs/operate/capacity.md). Processor time a step, seconds.
POSTGRES, WORKER, COORDINATOR = 80e-6, 60e-6, 14e-6
WAL, DISK = 1_570, 2_700                       # bytes a step
MEMORY = {"worker": 25, "coordinator": 23}     # MB, idle
CONNECTIONS = {"worker": 6, "coordinator": 4}  # as measured, with db_connections 4
BUSY = 0.7                                     # of a processor that is planned with

SLOTS, STEP, USED = 200, 10.0, 0.5             # of a worker: slots, seconds of a step, share of slots that is busy
SIZES = [("a laptop", 2, 1), ("a team", 10, 2), ("a department", 50, 2), ("a company", 200, 3), ("a cell, at most", 500, 4), ("ten cells", 5_000, 40),
         ("twenty cells", 10_000, 80)]


def needs(workers, coordinators):
    steps = workers * SLOTS * USED / STEP
    return {"steps": steps, "postgres": steps * POSTGRES / BUSY, "workers": steps * WORKER / BUSY, "coordinators": steps * COORDINATOR / BUSY,
            "wal": steps * WAL / 1e6, "disk": steps * DISK * 86_400 / 1e9,
            "connections": workers * CONNECTIONS["worker"] + coordinators * CONNECTIONS["coordinator"],
            "memory": (workers * MEMORY["worker"] + coordinators * MEMORY["coordinator"]) / 1000}


def cores(value):
    return "%.1f" % value if value < 10 else "%d" % math.ceil(value)


def table():
    lines = ["| size | workers, coordinators | steps/s | processors: PostgreSQL, workers, coordinators | WAL MB/s | disk GB/day | connections | memory GB, idle |",
             "|---|---|---|---|---|---|---|---|"]
    for name, workers, coordinators in SIZES:
        n = needs(workers, coordinators)
        lines.append("| %s | %d, %d | %d | %s, %s, %s | %.1f | %d | %d | %.1f |" % (
            name, workers, coordinators, n["steps"], cores(n["postgres"]), cores(n["workers"]), cores(n["coordinators"]), n["wal"], math.ceil(n["disk"]),
            n["connections"], n["memory"]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
