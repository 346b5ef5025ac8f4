// Runs in Temporal's deterministic sandbox; the worker bundles it with what it imports.
import { proxyActivities } from '@temporalio/workflow';
import { STEPS } from '../work.mjs';

const { oneStep } = proxyActivities({ startToCloseTimeout: '1 minute' });

export async function tenSteps(run) {
  let last;
  for (let k = 1; k <= STEPS; k++) last = await oneStep(run, k, last);
  return { run, steps: last.step, last };
}
