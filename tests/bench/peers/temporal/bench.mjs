// Starts workflows through the client and waits for each one's result.
import { Client, Connection } from '@temporalio/client';
import { measure, versionOf } from '../load.mjs';

const connection = await Connection.connect({ address: `127.0.0.1:${process.env.PEER_TEMPORAL_PORT}` });
const client = new Client({ connection });
const { serverVersion } = await connection.workflowService.getSystemInfo({});
const { row } = await measure({ peer: 'temporal', version: serverVersion, sdk: versionOf('@temporalio/worker', import.meta.url) },
  (run) => client.workflow.execute('tenSteps', { taskQueue: 'bench', workflowId: run, args: [run] }));
console.log(JSON.stringify(row));
process.exit(0);
