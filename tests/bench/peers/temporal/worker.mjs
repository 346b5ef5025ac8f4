// The worker: workflows and activities in one process, as the SDK documents it. It is ready when it has said so.
import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime, DefaultLogger, Worker } from '@temporalio/worker';
import { step } from '../work.mjs';

Runtime.install({ logger: new DefaultLogger('WARN') });
const connection = await NativeConnection.connect({ address: `127.0.0.1:${process.env.PEER_TEMPORAL_PORT}` });
const worker = await Worker.create({
  connection,
  taskQueue: 'bench',
  workflowsPath: fileURLToPath(new URL('workflows.mjs', import.meta.url)),
  activities: { oneStep: async (run, k, before) => step(run, k, before) },
});
console.log('ready');
await worker.run();
