// The Restate service: ten ctx.run steps, served over cleartext HTTP/2 on loopback as the SDK documents it.
import http2 from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import { STEPS, step } from '../work.mjs';

const bench = restate.service({
  name: 'Bench',
  handlers: {
    tenSteps: async (ctx, { run }) => {
      let last;
      for (let k = 1; k <= STEPS; k++) {
        const before = last;
        last = await ctx.run(`step ${k}`, async () => step(run, k, before));
      }
      return { run, steps: last.step, last };
    },
  },
});

const endpoint = restate.createEndpointHandler({ services: [bench] });
http2.createServer(endpoint).listen(Number(process.env.PEER_SERVICE_PORT), '127.0.0.1');
