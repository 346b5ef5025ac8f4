// The closed loop all peers are measured by: so many lanes, each submits its next run when it has seen the result of its last.
// Settings come by environment: PEER_IN_FLIGHT, PEER_WARMUP_S, PEER_WINDOW_S, PEER_CPU ({"server":[pid],...}).
import fs from 'node:fs';
import { STEPS, isResult } from './work.mjs';

const TICK_US = 10_000;   // the kernel counts CPU time in hundredths of a second
const PATIENCE_S = 60;    // a slow peer's warm-up and window are drawn out to one run per lane, this much at most
const MAX_ERRORS = 100;

// CPU of a process and everything it started, the ended included.
function cpuUs(pid) {
  let us = 0;
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ').map(Number);   // from field 3 on
    us = (fields[11] + fields[12] + fields[13] + fields[14]) * TICK_US;
    for (const task of fs.readdirSync(`/proc/${pid}/task`)) {
      for (const child of fs.readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ')) if (child.trim()) us += cpuUs(child);
    }
  } catch {
    // ended meanwhile: its parent counts it
  }
  return us;
}

const total = (pids) => pids.reduce((us, pid) => us + cpuUs(pid), 0);
const sample = (groups) => Object.fromEntries(Object.entries(groups).map(([name, pids]) => [name, total(pids)]));
const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
const round = (value, digits) => Number(value.toFixed(digits));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const versionOf = (name, from) => JSON.parse(fs.readFileSync(new URL(`node_modules/${name}/package.json`, from))).version;

// measure({peer, version, sdk, own}, run): run(id) submits and resolves to the result; own is the part of cpu_us_per_step this process is.
// Answers with the row to print, and `drained`: when the runs still under way have ended too.
export async function measure({ peer, version, sdk, own = 'load' }, run) {
  const [inFlight, warmup, window] = ['PEER_IN_FLIGHT', 'PEER_WARMUP_S', 'PEER_WINDOW_S'].map((name) => Number(process.env[name]));
  const groups = { ...JSON.parse(process.env.PEER_CPU ?? '{}'), [own]: [process.pid] };
  let times = [], errors = 0, next = 0, stopped = false;

  async function lane() {
    while (!stopped) {
      const id = `run-${next++}`, began = performance.now();
      try {
        const result = await run(id);
        if (!isResult(result, id)) throw new Error(`wrong result of ${id}: ${JSON.stringify(result)}`);
        times.push(performance.now() - began);
      } catch (error) {
        if (stopped) return;
        if (errors++ < 3) console.error(error);
        await sleep(100);
      }
    }
  }
  const lanes = Array.from({ length: inFlight }, lane);
  async function pass(seconds) {   // and until as many runs were seen as there are lanes; the seconds it took
    const began = performance.now();
    times = [];
    for (;;) {
      await sleep(Math.max(5, Math.min(100, seconds * 1000 - (performance.now() - began))));
      const passed = (performance.now() - began) / 1000;
      if (errors >= MAX_ERRORS) throw new Error(`${peer}: ${errors} errors`);
      if (passed >= seconds + PATIENCE_S && times.length === 0) throw new Error(`${peer}: no run was seen in ${passed} s`);
      if (passed >= seconds && (times.length >= inFlight || passed >= seconds + PATIENCE_S)) return passed;
    }
  }

  await pass(warmup);
  errors = 0;
  const before = sample(groups);
  const seconds = await pass(window);
  const after = sample(groups), seen = times.sort((a, b) => a - b);
  stopped = true;
  const steps = seen.length * STEPS;
  const row = {
    peer, version, sdk, in_flight: inFlight, window_s: round(seconds, 1),
    steps_per_s: round(steps / seconds, 1), runs_per_s: round(seen.length / seconds, 2),
    p50_ms: round(percentile(seen, 0.5), 2), p99_ms: round(percentile(seen, 0.99), 2), errors,
    cpu_us_per_step: Object.fromEntries(Object.keys(groups).map((name) => [name, round((after[name] - before[name]) / steps, 1)])),
  };
  return { row, drained: Promise.all(lanes) };
}
