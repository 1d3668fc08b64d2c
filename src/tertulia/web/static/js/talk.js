// One conversation: what was said, what is on its way, and how it stands with the server. It knows nothing of the page.

import * as api from "./api.js";
import { Stream } from "./stream.js";

/** How long the server may take to say that it heard. */
const HEARING = 8000;
/** How long a message waits for a connection that is being made, before it goes by POST. */
const CONNECTING = 600;
/** How long after a break one may hope to learn from the server what became of a message. */
const DOUBT = 2500;
/** How long to wait before asking again for a conversation that could not be read. */
const RETRY = 3000;

/**
 * Events, each with a `detail`: `started` (its name), `loaded` (the conversation so far), `sending` (a message), `step`, `turn` (a new one),
 * `unsure` (a message that may not have arrived), `refused` ({text, message}), `topic`, `link` ("up", "down"),
 * `lost` (there is no such conversation).
 */
export class Talk extends EventTarget {
  id = null;
  bot;
  topic = null;
  turns = [];
  /** What was sent and not answered: {text, after}; `after` is how many turns there were. */
  pending = null;
  #stream = null;
  #timer = 0;
  #retry = 0;
  #sync = null;
  #broken = false;
  /** How the pending message is travelling just now: "stream", "post", or null where it is not. */
  #way = null;

  constructor(bot, id = null) {
    super();
    this.bot = bot;
    this.id = id;
  }

  /** Fetch what was said so far, and connect. */
  async open() {
    await this.sync();
    if (this.id && !this.#stream) this.#connect();
  }

  close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#stream?.close();
  }

  /** Say something. Where the server cannot be reached it is kept and offered to be sent again. */
  async say(text) {
    this.pending = { text, after: this.turns.length };
    this.#emit("sending", text);
    await this.#send();
  }

  /** Send once more what may not have arrived, unless it did. */
  async sendAgain() {
    if (!this.pending) return;
    this.#emit("sending", this.pending.text);
    await this.#send();
  }

  /** Give up on what may not have arrived. */
  forget() {
    this.pending = null;
    this.#keep();
  }

  async wishTopic(topic) {
    await this.#start();
    await api.wishTopic(this.id, topic);
    this.#setTopic(topic);
  }

  async rate(number, rating) {
    const now = await api.rate(this.id, number, rating);
    const turn = this.turns.find((entry) => entry.turn === number);
    if (turn) turn.rating = now;
    return now;
  }

  explain(number) {
    return api.explain(this.id, number);
  }

  /** Bring turns, topic and what is pending in line with the server; calls at the same time share one request. */
  sync() {
    this.#sync ??= this.#load().finally(() => {
      this.#sync = null;
    });
    return this.#sync;
  }

  async #load() {
    clearTimeout(this.#retry);
    if (!this.id) {
      this.#emit("loaded", this);
      return;
    }
    let state;
    try {
      state = await api.history(this.id);
    } catch (error) {
      if (error instanceof api.Refused && error.status === 404) {
        this.close();
        this.id = null;
        this.#emit("lost");
        return;
      }
      this.#emit("link", "down", error.message);
      this.#retry = setTimeout(() => this.sync(), RETRY);
      return;
    }
    this.#emit("link", "up");
    this.bot = state.bot;
    this.turns = state.turns;
    this.#setTopic(state.topic);
    this.pending ??= this.#kept();
    const outcome = this.#settle();
    this.#emit("loaded", this);
    if (outcome) this.#emit(...outcome);
  }

  /** After a break: what became of what we sent? The event that says so, where there is something to say. */
  #settle() {
    if (!this.pending || this.#way) return null;
    clearTimeout(this.#timer);
    const { text, after } = this.pending;
    if (this.turns.length <= after) return ["unsure", text];
    this.forget();
    if (this.turns.slice(after).some((turn) => squeezed(turn.text) === squeezed(text))) return null;
    return ["refused", { text, message: "The conversation went on in another window; your message was not said." }];
  }

  async #start() {
    if (this.id) return;
    const started = await api.start(this.bot);
    this.id = started.conversation;
    this.bot = started.bot;
    this.#emit("started", this.id);
    this.#connect();
  }

  async #send() {
    clearTimeout(this.#timer);
    this.#way = "post";
    try {
      await this.#start();
      this.#keep();
      await this.#stream.settled(CONNECTING);
      const { text, after } = this.pending;
      if (this.#stream.send({ type: "say", text, after })) {
        this.#way = "stream";
        this.#timer = setTimeout(() => this.#stream.renew(), HEARING);
        return;
      }
      this.#take(await api.say(this.id, text, after));
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error) {
    this.#way = null;
    clearTimeout(this.#timer);
    if (!this.pending) return;
    if (error instanceof api.Refused && error.status === 409) {
      this.sync();
    } else if (error instanceof api.Refused && error.status < 500) {
      const { text } = this.pending;
      this.forget();
      this.#emit("refused", { text, message: error.message });
    } else {
      // A server that refuses has said what became of the message; of one that is silent nobody knows.
      const doubt = error instanceof api.Refused ? "" : " Your message may not have arrived.";
      this.#emit("unsure", this.pending.text, `${error.message}${doubt}`);
    }
  }

  #take(turn) {
    this.#way = null;
    clearTimeout(this.#timer);
    this.forget();
    if (turn.turn !== this.turns.length + 1) {
      this.sync();
      return;
    }
    this.turns.push(turn);
    this.#emit("turn", turn);
    this.#setTopic(turn.topic);
  }

  #connect() {
    this.#stream = new Stream(api.streamAddress(this.id), {
      message: (value) => this.#hear(value),
      up: () => {
        this.#emit("link", "up");
        if (this.#broken) this.sync();
        this.#broken = false;
      },
      down: (wasUp) => this.#drop(wasUp),
    });
  }

  /** The connection is lost. What was on its way over it is in doubt; what goes by POST is not concerned. */
  #drop(wasUp) {
    this.#broken = true;
    if (wasUp) this.#emit("link", "down");
    if (this.#way === "stream") {
      this.#way = null;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.pending && this.#emit("unsure", this.pending.text), DOUBT);
    }
  }

  #hear(value) {
    switch (value.type) {
      case "accepted":
        clearTimeout(this.#timer);
        break;
      case "step":
        this.#emit("step", value);
        break;
      case "reply":
        this.#take(value);
        break;
      case "error":
        this.#fail(new api.Refused(value.status, value.message));
        break;
    }
  }

  #setTopic(topic) {
    this.topic = topic;
    this.#emit("topic", topic);
  }

  // What is pending outlives a reload of the page, for this conversation and this tab.

  get #key() {
    return `tertulia.pending.${this.id}`;
  }

  #keep() {
    try {
      if (this.pending) sessionStorage.setItem(this.#key, JSON.stringify(this.pending));
      else sessionStorage.removeItem(this.#key);
    } catch {
      // Storage can be forbidden or full; then a reload forgets it.
    }
  }

  #kept() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.#key));
      return typeof kept?.text === "string" && Number.isInteger(kept.after) ? kept : null;
    } catch {
      return null;
    }
  }

  #emit(name, detail, reason) {
    this.dispatchEvent(Object.assign(new CustomEvent(name, { detail }), { reason }));
  }
}

/** The text without repeated spaces: the server may have cleaned what it was sent. */
const squeezed = (text) => text.replace(/\s+/gu, " ").trim();
