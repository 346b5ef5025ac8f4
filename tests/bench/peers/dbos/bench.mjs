// DBOS is a library: the workflow, its steps and the caller live in this process, and PostgreSQL holds what happened.
import pg from 'pg';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { measure, versionOf } from '../load.mjs';
import { STEPS, step } from '../work.mjs';

async function tenSteps(run) {
  let last;
  for (let k = 1; k <= STEPS; k++) {
    const before = last;
    last = await DBOS.runStep(async () => step(run, k, before), { name: `step ${k}` });
  }
  return { run, steps: last.step, last };
}

// What was counted must be there: a whole set of steps for every run that ended, and PostgreSQL must not have been told to forget.
async function verify(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const { rows } = await client.query(`show ${setting}`);
    if (rows[0][setting] !== 'on') throw new Error(`dbos: ${setting} is ${rows[0][setting]}`);
  }
  const { rows } = await client.query(`select count(*) as runs, count(*) filter (where steps <> ${STEPS}) as bad from (
    select (select count(*) from dbos.operation_outputs o where o.workflow_uuid = w.workflow_uuid) as steps
    from dbos.workflow_status w where status = 'SUCCESS') ended`);
  await client.end();
  const { runs, bad } = rows[0];
  if (Number(bad) !== 0 || Number(runs) === 0) throw new Error(`dbos: ${bad} of ${runs} runs do not have ${STEPS} steps`);
}

const workflow = DBOS.registerWorkflow(tenSteps, { name: 'tenSteps' });
const url = process.env.PEER_PG_URL;
DBOS.setConfig({ name: 'acl-bench', systemDatabaseUrl: url, logLevel: 'error' });
await DBOS.launch();
const version = versionOf('@dbos-inc/dbos-sdk', import.meta.url);
const { row, drained } = await measure({ peer: 'dbos', version, sdk: version, own: 'sdk' }, (run) => workflow(run));
await drained;
await verify(url);
console.log(JSON.stringify(row));
process.exit(0);
