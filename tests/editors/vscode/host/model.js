// A model that does as it is told: a server on this machine that streams in OpenAI's format, from a script.
const http = require("node:http");

/** The events of an answer, in pieces of a few letters. */
function events(text) {
  const pieces = text.match(/[\s\S]{1,7}/g).map((content) => ({ choices: [{ delta: { content }, finish_reason: null }] }));
  const end = [
    { choices: [{ delta: {}, finish_reason: "stop" }] },
    { choices: [], usage: { prompt_tokens: 100, completion_tokens: 20 } },
  ];
  return [...[...pieces, ...end].map((value) => `data: ${JSON.stringify(value)}\n\n`), "data: [DONE]\n\n"];
}

async function answer(response, { text = "", status = 200, headers = {}, delay = 0, cut = false, bytes = 0 }) {
  await new Promise((resolve) => setTimeout(resolve, delay));
  if (status !== 200) {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify({ error: { message: text } }));
    return;
  }
  response.on("error", () => {});
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const all = events(text);
  for (const event of cut ? all.slice(0, all.length / 2) : all) response.write(event);
  const nothing = `data: ${" ".repeat(65529)}\n`;
  for (let sent = 0; sent < bytes && !response.destroyed; sent += nothing.length) {
    if (!response.write(nothing)) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  if (cut) response.destroy();
  else response.end();
}

const once = (emitter, event) => new Promise((resolve) => emitter.once(event, resolve));

/** Answers with the entries of `script` in their order: { text, status, headers, delay, cut, bytes }. */
exports.listen = async (script) => {
  const asked = [];
  const server = http.createServer((request, response) => {
    const say = script[Math.min(asked.length, script.length - 1)];
    asked.push(request.headers.authorization);
    request.resume().on("end", () => answer(response, say));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { asked, endpoint: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
};
