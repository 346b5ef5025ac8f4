#!/usr/bin/env python3
"""Line coverage of the protocol's files from gcov's JSON: coverage.py ROOT FOLDER [--missed]."""
import glob
import gzip
import json
import os
import sys

# What decides who may write what, and what happens next. Not here: SQL (tests/integration), connections and threads (e2e, chaos), and reading
# for the API.
LEFT_OUT = ['shared/kernel/memory_queries.cc', 'shared/kernel/queries.cc']
PROTOCOL = [
    'worker/worker_core*.cc', 'worker/leased_subject.cc', 'worker/dispatch_runs.cc', 'worker/command_executor.cc',
    'shared/kernel/*.cc', 'shared/workflow/*.cc', 'shared/journal/*.cc',
    'shared/queue/message_driver.cc', 'shared/queue/relay_book.cc', 'coordinator/job_core.cc', 'coordinator/job_plan.cc',
    'coordinator/leader_leases.cc', 'coordinator/jobs.cc', 'coordinator/relay.cc', 'coordinator/schedules.cc', 'shared/schedule/due.cc',
]


def counts(folder):
    """File -> line -> how often it ran, over all objects that hold it."""
    files = {}
    for name in glob.glob(os.path.join(folder, '*.gcov.json.gz')):
        with gzip.open(name) as packed:
            report = json.load(packed)
        base = report['current_working_directory']
        for entry in report['files']:
            lines = files.setdefault(os.path.realpath(os.path.join(base, entry['file'])), {})
            for line in entry['lines']:
                lines[line['line_number']] = lines.get(line['line_number'], 0) + line['count']
    return files


def ranges(numbers):
    out = []
    for number in sorted(numbers):
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ' '.join(str(a) if a == b else f'{a}-{b}' for a, b in out)


def main():
    root, folder = os.path.realpath(sys.argv[1]), sys.argv[2]
    files, total, ran = counts(folder), 0, 0
    if not files:
        sys.exit('coverage: gcov gave nothing')
    print('| file | lines | run by the simulator |\n|---|---:|---:|')
    for pattern in PROTOCOL:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            name = os.path.relpath(path, root)
            if name in LEFT_OUT:
                continue
            lines = files.get(path, {})
            if not lines:
                print(f'| `{name}` | not linked in | |')
                continue
            missed = [number for number, count in lines.items() if count == 0]
            total, ran = total + len(lines), ran + len(lines) - len(missed)
            print(f'| `{name}` | {len(lines)} | {100 * (len(lines) - len(missed)) / len(lines):.0f} % |')
            if '--missed' in sys.argv and missed:
                print(f'  not run: {ranges(missed)}')
    print(f'| together | {total} | {100 * ran / total:.1f} % |')


main()
