// The topic of the talk, and the menu to wish for another: a listbox, worked by keyboard or touch.

import { byId, h } from "./dom.js";
import { topicWords } from "./format.js";

export class TopicMenu {
  #root = byId("topics");
  #button = byId("topic");
  #sheet = byId("topic-sheet");
  #list = byId("topic-list");
  #topics = [];
  #topic = null;
  #at = 0;

  /** `wish(topic)` is called when the reader chose one. */
  constructor(wish) {
    this.wish = wish;
    this.#button.addEventListener("click", () => (this.#sheet.hidden ? this.#open() : this.#close()));
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    this.#list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose(Number(option.dataset.index));
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.#sheet.hidden && !this.#root.contains(event.target)) this.#close(false);
    });
    this.#root.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !this.#root.contains(event.relatedTarget)) this.#close(false);
    });
  }

  /** The topics there are, and the one of the talk (null where it has none yet). */
  show(topics, topic) {
    this.#topics = topics;
    this.#topic = topic;
    this.#root.hidden = topics.length === 0;
    byId("topic-name").textContent = topic ? topicWords(topic) : "anything";
    if (!this.#sheet.hidden) this.#render();
  }

  #render() {
    this.#list.replaceChildren(
      ...this.#topics.map((topic, index) =>
        h("li", {
          class: "topic-option",
          role: "option",
          id: `topic-${index}`,
          "aria-selected": String(topic === this.#topic),
          dataset: { index },
          text: topicWords(topic),
        }),
      ),
    );
    this.#move(this.#at);
  }

  #open() {
    this.#at = Math.max(0, this.#topics.indexOf(this.#topic));
    this.#sheet.hidden = false;
    this.#button.setAttribute("aria-expanded", "true");
    this.#render();
    this.#list.focus();
  }

  #close(returnFocus = true) {
    if (this.#sheet.hidden) return;
    this.#sheet.hidden = true;
    this.#button.setAttribute("aria-expanded", "false");
    if (returnFocus) this.#button.focus();
  }

  #move(index) {
    this.#at = (index + this.#topics.length) % this.#topics.length;
    for (const [place, option] of [...this.#list.children].entries()) {
      option.classList.toggle("current", place === this.#at);
    }
    const option = this.#list.children[this.#at];
    this.#list.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    const last = this.#topics.length - 1;
    const moves = {
      ArrowDown: this.#at + 1,
      ArrowRight: this.#at + 1,
      ArrowUp: this.#at - 1,
      ArrowLeft: this.#at - 1,
      Home: 0,
      End: last,
    };
    if (event.key in moves) this.#move(moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.#choose(this.#at);
    else if (event.key === "Escape") this.#close();
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) this.#find(event.key);
    else return;
    event.preventDefault();
  }

  /** The next topic that begins with this letter. */
  #find(letter) {
    const order = this.#topics.map((_, index) => (this.#at + 1 + index) % this.#topics.length);
    const found = order.find((index) => this.#topics[index].toLowerCase().startsWith(letter.toLowerCase()));
    if (found !== undefined) this.#move(found);
  }

  #choose(index) {
    this.#close();
    this.wish(this.#topics[index]);
  }
}
