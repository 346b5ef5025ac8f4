// The real model with an HTTP of our own, for processors that llama-server's build does not run on (.dev/llm.sh): as much of chat completions
// as the tests ask for. node server.mjs --model FILE --port PORT --context TOKENS --alias NAME
import http from "node:http";
import { parseArgs } from "node:util";
import { getLlama, LlamaChat, LlamaLogLevel } from "node-llama-cpp";

const text = { type: "string" };
const { values: given } = parseArgs({ options: { model: text, port: text, context: text, alias: text } });
const llama = await getLlama({ gpu: false, build: "never", progressLogs: false, logLevel: LlamaLogLevel.error, maxThreads: 1 });
const model = await llama.loadModel({ modelPath: given.model });
const context = await model.createContext({ contextSize: Number(given.context), sequences: 1 });
const sequence = context.getSequence();
const chat = new LlamaChat({ contextSequence: sequence });
let turn = Promise.resolve(); // one answer at a time: there is one sequence
let busy = false;

const failure = (code, type, more = {}) => ({ error: { code, type, message: "refused by the small server", ...more } });

function history(messages) {
  const items = [];
  for (const { role, content } of messages) {
    if (role === "system") items.push({ type: "system", text: content });
    else if (role === "assistant") items.push({ type: "model", response: [content] });
    else items.push({ type: "user", text: content });
  }
  items.push({ type: "model", response: [] });
  return items;
}

async function answer(asked, response) {
  const stop = new AbortController();
  response.on("close", () => stop.abort());
  const items = history(asked.messages);
  const prompt = chat.chatWrapper.generateContextState({ chatHistory: items }).contextText.tokenize(model.tokenizer).length;
  if (prompt >= Number(given.context)) {
    send(response, 400, failure(400, "exceed_context_size_error", { n_prompt_tokens: prompt, n_ctx: Number(given.context) }));
    return;
  }
  const head = { id: "chatcmpl-" + Date.now(), model: given.alias, system_fingerprint: "node-llama-cpp-3.21.1" };
  const event = (body) => response.write("data: " + JSON.stringify({ ...head, object: "chat.completion.chunk", ...body }) + "\n\n");
  if (asked.stream) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    event({ choices: [{ index: 0, delta: { role: "assistant", content: null }, finish_reason: null }] });
  }
  let tokens = 0;
  const schema = asked.response_format?.json_schema?.schema;
  const made = await chat.generateResponse(items, {
    maxTokens: asked.max_tokens,
    temperature: asked.temperature ?? 0.8,
    seed: asked.seed,
    customStopTriggers: asked.stop,
    grammar: schema && (await llama.createGrammarForJsonSchema(schema)),
    signal: stop.signal,
    stopOnAbortSignal: true,
    onToken: (some) => { tokens += some.length; },
    onTextChunk: (piece) => { if (asked.stream && piece) event({ choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] }); },
  });
  const finish_reason = made.metadata.stopReason === "maxTokens" ? "length" : "stop";
  const usage = { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens, prompt_tokens_details: { cached_tokens: 0 } };
  if (!asked.stream) {
    send(response, 200, { ...head, choices: [{ index: 0, message: { role: "assistant", content: made.response }, finish_reason }], usage });
    return;
  }
  event({ choices: [{ index: 0, delta: {}, finish_reason }] });
  event({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

function send(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

http.createServer((request, response) => {
  if (request.url === "/health") return send(response, 200, { status: "ok" });
  if (request.url === "/slots") return send(response, 200, [{ id: 0, is_processing: busy }]);
  if (request.url === "/v1/models") return send(response, 200, { object: "list", data: [{ id: given.alias, object: "model" }] });
  if (request.url !== "/v1/chat/completions") return send(response, 404, failure(404, "not_found_error"));
  let body = "";
  request.on("data", (piece) => { body += piece; });
  request.on("end", () => {
    turn = turn.then(async () => {
      busy = true;
      let asked;
      try { asked = JSON.parse(body); } catch { return send(response, 400, failure(400, "invalid_request_error")); }
      await answer(asked, response);
    }).catch((error) => {
      console.error(error);
      if (response.headersSent) response.end();
      else send(response, 500, failure(500, "server_error"));
    }).finally(() => { busy = false; });
  });
}).listen(Number(given.port), "127.0.0.1");
