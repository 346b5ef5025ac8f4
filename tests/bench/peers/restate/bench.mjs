// Registers the service and submits runs through Restate's ingress: one HTTP call a run, answered when the run's result is durable.
import http from 'node:http';
import { measure, versionOf } from '../load.mjs';

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

function post(port, path, body) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const request = http.request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const answer = Buffer.concat(parts).toString();
        if (response.statusCode >= 300) reject(new Error(`${path}: ${response.statusCode} ${answer}`));
        else resolve(JSON.parse(answer));
      });
    });
    request.on('error', reject);
    request.end(text);
  });
}

await post(process.env.PEER_ADMIN_PORT, '/deployments', { uri: `http://127.0.0.1:${process.env.PEER_SERVICE_PORT}` });
const version = versionOf('@restatedev/restate-server', import.meta.url), sdk = versionOf('@restatedev/restate-sdk', import.meta.url);
const { row } = await measure({ peer: 'restate', version, sdk }, (run) => post(process.env.PEER_INGRESS_PORT, '/Bench/tenSteps', { run }));
console.log(JSON.stringify(row));
process.exit(0);
