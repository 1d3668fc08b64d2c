// The JSON API, and its errors in plain words.

/** The server said no, with a status and a line that a reader can understand. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The server did not answer: whether it heard, nobody knows. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

async function call(method, path, body) {
  const options = { method, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  let value;
  try {
    response = await fetch(path, options);
    value = await response.json();
  } catch {
    // No connection, one that broke, or something in between that answers with a page of its own.
    throw new Unreachable();
  }
  if (!response.ok) throw new Refused(response.status, value?.error ?? `The server refused (${response.status}).`);
  return value;
}

const part = encodeURIComponent;
const ofConversation = (id) => `/api/conversations/${part(id)}`;

export const bots = () => call("GET", "/api/bots");
export const start = (bot) => call("POST", "/api/conversations", bot ? { bot } : {});
export const say = (conversation, text, after) => call("POST", "/api/chat", { conversation, text, after });
export const history = (id) => call("GET", ofConversation(id));
export const explain = (id, number) => call("GET", `${ofConversation(id)}/turns/${number}`);
export const rate = (id, number, rating) => call("PUT", `${ofConversation(id)}/turns/${number}/rating`, rating);
export const wishTopic = (id, topic) => call("PUT", `${ofConversation(id)}/topic`, { topic });
export const dialogue = (bot, id) => call("GET", `/api/bots/${part(bot)}/dialogues/${part(id)}`);

/** The address of a conversation's WebSocket. */
export function streamAddress(id) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}${ofConversation(id)}/stream`;
}
