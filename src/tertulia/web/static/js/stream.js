// The WebSocket of a conversation: it comes back by itself, at growing intervals.

const FIRST_WAIT = 400;
const LONGEST_WAIT = 12000;
const NOT_FOUND = 4404;

/**
 * Handlers: `message(value)`; `up()` each time the connection stands; `down(wasUp)` each time it is lost or cannot be
 * made.
 */
export class Stream {
  #address;
  #handlers;
  #socket = null;
  #wait = FIRST_WAIT;
  #timer = 0;
  #closed = false;

  constructor(address, handlers) {
    this.#address = address;
    this.#handlers = handlers;
    addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
    this.#connect();
  }

  get isUp() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Wait, not longer than some milliseconds, for a connection that is being made. */
  settled(patience) {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.CONNECTING) return Promise.resolve();
    return new Promise((resolve) => {
      for (const name of ["open", "close"]) socket.addEventListener(name, resolve, { once: true });
      setTimeout(resolve, patience);
    });
  }

  /** Send a value; false where there is no connection. */
  send(value) {
    if (!this.isUp) return false;
    this.#socket.send(JSON.stringify(value));
    return true;
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#socket?.close();
  }

  /** Break a connection that says nothing any more; another is made. */
  renew() {
    this.#socket?.close();
  }

  #connect() {
    const socket = new WebSocket(this.#address);
    let wasUp = false;
    this.#socket = socket;
    socket.addEventListener("open", () => {
      wasUp = true;
      this.#handlers.up();
    });
    socket.addEventListener("message", (event) => {
      this.#wait = FIRST_WAIT;
      this.#handlers.message(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => {
      if (this.#closed) return;
      this.#socket = null;
      this.#handlers.down(wasUp);
      if (event.code === NOT_FOUND) return;
      // Spread out, so that all the pages of a server do not come back in the same instant.
      this.#timer = setTimeout(() => this.#connect(), this.#wait * (0.75 + Math.random() / 2));
      this.#wait = Math.min(this.#wait * 1.8, LONGEST_WAIT);
    });
  }

  #hurry = () => {
    if (this.#closed || this.#socket || document.hidden) return;
    clearTimeout(this.#timer);
    this.#wait = FIRST_WAIT;
    this.#connect();
  };
}
