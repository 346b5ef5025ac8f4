// What other implementations of Standard Webhooks are asked: our own questions. Among them is, written anew, what the reference libraries' own
// tests ask (standard-webhooks on GitHub, libraries/python/tests/test_webhooks.py, libraries/go/webhook_test.go).
import { createHmac } from 'node:crypto';

const secretOf = (bytes, seed) => 'whsec_' + Buffer.from(Array.from({ length: bytes }, (_, n) => (n * 37 + seed * 101) & 255)).toString('base64');
export const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', secretOf(24, 1), secretOf(32, 2), secretOf(64, 3)];
const bodies = ['{"test": 2432232314}', '', '{}', 'no JSON at all', '{"text":"h\u00e9llo \u2713 \ud83d\ude00"}', ' \r\n\t{"a" : 1}\n', '1.2.3.', '\u0001\u007f', 'x'.repeat(20000)];
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const now = 1614265330;

// To be signed by them.
export const toSign = secrets.flatMap((secret, s) => bodies.flatMap((body, b) => [[id, now], [`0198c1f2-${s}${b}`, 2000000000 + b], ['e', 1]].map(([name, timestamp]) => ({
  name: `secret ${s}, body ${b}, id ${name}`, secret, id: name, timestamp, body,
}))));

// To be verified by them. `signed`: what the signature is made of, unless the case gives one.
const sign = (secret, signed) => 'v1,' + createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(signed).digest('base64');
const good = sign(secrets[0], `${id}.${now}.${bodies[0]}`);
const stranger = sign(secrets[1], `${id}.${now}.${bodies[0]}`);
const mac = good.slice(3);
const one = (name, headers = {}, more = {}) => ({
  name, secret: secrets[0], now, body: bodies[0], headers: { 'webhook-id': id, 'webhook-timestamp': String(now), 'webhook-signature': good, ...headers }, ...more,
});
const at = (name, text, signed = text) => one(name, { 'webhook-timestamp': text, 'webhook-signature': sign(secrets[0], `${id}.${signed}.${bodies[0]}`) });
const named = (name, text) => one(name, { 'webhook-id': text, 'webhook-signature': sign(secrets[0], `${text}.${now}.${bodies[0]}`) });
const with_ = (name, signature) => one(name, { 'webhook-signature': signature });
export const toVerify = [
  one('as it should be'),
  one('no id', { 'webhook-id': undefined }), one('no timestamp', { 'webhook-timestamp': undefined }), one('no signature', { 'webhook-signature': undefined }),
  one('an empty id', { 'webhook-id': '' }), one('an empty timestamp', { 'webhook-timestamp': '' }), one('an empty signature', { 'webhook-signature': '' }),
  one('another id', { 'webhook-id': id + 'x' }), one('another timestamp', { 'webhook-timestamp': String(now + 1) }), one('another body', {}, { body: bodies[0] + ' ' }),
  one('an empty body, not signed', {}, { body: '' }), one('another secret', {}, { secret: secrets[1] }),
  with_('a signature of one letter else', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OA='), with_('nothing behind v1,', 'v1,'), with_('v1 alone', 'v1'), with_('no version', mac),
  with_('the version v2', 'v2,' + mac), with_('the version V1', 'V1,' + mac), with_('the version v1a', 'v1a,' + mac), with_('no padding', good.slice(0, -1)), with_('half of it', good.slice(0, 20)),
  with_('base64 of URLs', good.replaceAll('+', '-').replaceAll('/', '_')), with_('in hex', 'v1,' + Buffer.from(mac, 'base64').toString('hex')),
  with_('one of several', `${stranger} v2,${mac} ${good} ${stranger}`), with_('the last of several', `${stranger} ${good}`), with_('two strangers', `${stranger} ${stranger}`),
  with_('behind what is no base64', `v1,%%% ${good}`), with_('behind what has no comma', `nonsense ${good}`), with_('behind two spaces', `${stranger}  ${good}`),
  with_('before a space', `${good} `), with_('between tabs', `${stranger}\t${good}`), with_('with commas between', `${stranger},${good}`), with_('with something behind it', `${good},more`),
  with_('with a quotation mark', `"${good}"`), with_('with a line break behind it', `${good}\n`),
  ...[-301, -300, -1, 1, 300, 301].map((seconds) => at(`${seconds} seconds from now`, String(now + seconds))),
  at('a word for a time', 'hello'), at('a time with a fraction', `${now}.5`, now), at('a time in milliseconds', String(now * 1000)), at('a time and a word', `${now}x`, now),
  at('a time with a sign', `+${now}`, now), at('a time behind zeros', `00${now}`, now), at('a time behind a space', ` ${now}`, now), at('a time below zero', '-1'),
  at('a time that is a date', '2021-02-25T15:02:10Z'), at('a time in hex', '0x6037bab2'), at('a time of many digits', '9'.repeat(30)), at('an exponent', '1.61426533e9', now),
  named('an id with a full stop', 'msg.1'), named('an id with a space', 'msg 1'), named('an id that is not ASCII', 'msg_\u00e9'), named('an id of one letter', 'e'), named('a uuid', '0198c1f2-7a10-7000-8000-000000000000'),
];
