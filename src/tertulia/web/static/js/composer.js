// The message box: it grows with its text, Enter sends, and what was typed outlives a reload.

import { byId } from "./dom.js";

const DRAFT = "tertulia.draft";

export class Composer {
  #form = byId("composer");
  #box = byId("text");
  #button = byId("send");
  #count = byId("count");
  #limit = Number(byId("text").dataset.limit);
  #isBusy = false;

  /** `send(text)` is called with what is to be said; `recall()` gives what was said last. */
  constructor(send, recall) {
    this.send = send;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#box.addEventListener("input", () => this.#changed());
    this.#box.addEventListener("keydown", (event) => {
      // Enter ends the choice of a character in an input method, too; that is not for us.
      if (event.isComposing) return;
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.#submit();
      } else if (event.key === "ArrowUp" && !this.#box.value) {
        event.preventDefault();
        this.text = recall();
      }
    });
    this.text = restored();
  }

  get text() {
    return this.#box.value;
  }

  set text(text) {
    this.#box.value = text;
    this.#changed();
  }

  /** While an answer is awaited one can write, not send. */
  set isBusy(value) {
    this.#isBusy = value;
    this.#changed();
  }

  focus() {
    this.#box.focus();
  }

  #submit() {
    const text = this.#box.value;
    if (!this.#canSend()) return;
    this.text = "";
    this.send(text);
  }

  /** The server counts code points, not UTF-16 units. */
  #length() {
    return [...this.#box.value].length;
  }

  #canSend() {
    return !this.#isBusy && this.#box.value.trim() !== "" && this.#length() <= this.#limit;
  }

  #changed() {
    this.#button.setAttribute("aria-disabled", String(!this.#canSend()));
    const length = this.#length();
    const isNear = length > this.#limit * 0.9;
    this.#count.textContent = isNear ? `${length.toLocaleString("en")} of ${this.#limit.toLocaleString("en")} characters` : "";
    this.#count.classList.toggle("over", length > this.#limit);
    // Where the browser cannot do it by style (field-sizing), the box is given the height of its text.
    if (!CSS.supports("field-sizing", "content")) {
      this.#box.style.height = "auto";
      this.#box.style.height = `${this.#box.scrollHeight}px`;
    }
    keep(this.#box.value);
  }
}

function restored() {
  try {
    return sessionStorage.getItem(DRAFT) ?? "";
  } catch {
    return ""; // Storage can be forbidden.
  }
}

function keep(text) {
  try {
    if (text) sessionStorage.setItem(DRAFT, text);
    else sessionStorage.removeItem(DRAFT);
  } catch {
    // As above.
  }
}
