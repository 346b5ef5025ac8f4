// The work every peer does: a run is ten sequential durable steps that do nothing but answer with about 150 bytes of JSON.
export const STEPS = 10;
const NOTE = 'a step that does nothing but answer, with as many bytes as the answer of a small tool often has';

// What step k of a run answers. It names the step before it, so that a chain that lost or repeated a step is seen in the end.
export function step(run, k, before) {
  return { run, step: k, after: before ? before.step : 0, note: NOTE };
}

// What the caller checks: the run it asked for, ten steps, the last answer whole and preceded by the ninth.
export function isResult(result, run) {
  const last = JSON.stringify(step(run, STEPS, { step: STEPS - 1 }));
  return result?.run === run && result.steps === STEPS && JSON.stringify(result.last) === last;
}
