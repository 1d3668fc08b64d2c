// The chat page: it brings the talk, its turns, the message box, the topic menu and the trace together.

import * as api from "./api.js";
import { Composer } from "./composer.js";
import { announce, byId, h, isStill } from "./dom.js";
import { counted } from "./format.js";
import { Talk } from "./talk.js";
import { TopicMenu } from "./topics.js";
import { TracePanel } from "./trace.js";
import { openingItem, pendingItem, tick, turnItem } from "./turns.js";

/** How long each component is seen as it ticks by, in milliseconds; they are far quicker than the eye. */
const TICK = 110;
/** How long the connection may be gone before the reader is told. */
const PATIENCE = 1200;

const scroll = byId("scroll");
const turns = byId("turns");
const latest = byId("latest");

let bots = [];
let talk;
let ready;
let ticks = Promise.resolve();
let linkTimer = 0;

const composer = new Composer((text) => say(text), () => talk.turns.at(-1)?.text ?? "");
const menu = new TopicMenu((topic) => wish(topic));
const panel = new TracePanel((id) => api.dialogue(talk.bot, id));

const actions = {
  async rate(turn, rating) {
    try {
      turn.rating = await talk.rate(turn.turn, rating);
      clearNotice("rating");
    } catch (error) {
      notice("rating", `The rating was not kept: ${error.message}`);
    }
  },
  why(turn, button) {
    panel.open(() => talk.explain(turn.turn), button);
  },
};

const bot = () => bots.find((entry) => entry.name === talk.bot) ?? bots[0];

// What the reader does.

async function say(text) {
  composer.isBusy = true;
  await ready;
  clearNotice("unsure");
  clearNotice("refused");
  composer.focus();
  await talk.say(text);
}

async function wish(topic) {
  try {
    await talk.wishTopic(topic);
    clearNotice("topic");
    composer.focus();
  } catch (error) {
    notice("topic", `The topic stays as it is: ${error.message}`);
  }
}

// What the talk tells.

function listen(source) {
  source.addEventListener("started", (event) => {
    history.replaceState(null, "", `/c/${encodeURIComponent(event.detail)}`);
  });

  source.addEventListener("loaded", () => {
    const isEmpty = source.turns.length === 0 && !source.pending;
    showWelcome(isEmpty);
    const greeting = bot()?.greeting;
    turns.replaceChildren(
      ...(!isEmpty && greeting ? [openingItem(greeting)] : []),
      ...source.turns.map((turn) => turnItem(turn, actions)),
      ...(source.pending ? [pendingItem(source.pending.text)] : []),
    );
    clearNotice("unsure");
    composer.isBusy = source.pending !== null;
    turns.lang = bot()?.language ?? "";
    if (!isEmpty) toEnd(false);
  });

  source.addEventListener("sending", (event) => {
    if (!byId("welcome").hidden) {
      showWelcome(false);
      if (bot()?.greeting) turns.append(openingItem(bot().greeting));
    }
    clearNotice("unsure");
    composer.isBusy = true;
    byId("pending")?.remove();
    ticks = Promise.resolve();
    turns.append(pendingItem(event.detail));
    toEnd();
  });

  source.addEventListener("step", (event) => {
    const step = event.detail;
    ticks = ticks.then(() => showTick(step));
  });

  source.addEventListener("turn", async (event) => {
    const turn = event.detail;
    await ticks;
    const wasAtEnd = isAtEnd();
    const item = turnItem(turn, actions, true);
    const pending = byId("pending");
    if (pending) {
      item.classList.add("answered");
      pending.replaceWith(item);
    } else {
      turns.append(item);
    }
    composer.isBusy = false;
    announce(`${bot()?.name ?? "The bot"}: ${turn.reply}`);
    if (wasAtEnd) toEnd();
    else latest.hidden = false;
  });

  source.addEventListener("unsure", (event) => {
    composer.isBusy = false;
    byId("pending").querySelector(".bot")?.remove();
    const reason = event.reason ?? "The connection broke before an answer came. Your message may not have arrived.";
    notice("unsure", sentence(reason), [
      ["Send it again", () => source.sendAgain(), true],
      ["Back to the box", () => giveBack(event.detail)],
    ]);
    toEnd();
  });

  source.addEventListener("refused", (event) => {
    const { text, message } = event.detail;
    composer.isBusy = false;
    byId("pending")?.remove();
    if (source.turns.length === 0) showWelcome(true);
    if (!composer.text) composer.text = text;
    notice("refused", sentence(message));
    composer.focus();
  });

  source.addEventListener("topic", (event) => menu.show(bot()?.topics ?? [], event.detail));

  source.addEventListener("link", (event) => {
    clearTimeout(linkTimer);
    const isUp = event.detail === "up";
    if (isUp) {
      byId("connection").textContent = "";
      return;
    }
    linkTimer = setTimeout(() => {
      byId("connection").textContent = `${sentence(event.reason ?? "The server does not answer.")} Trying again…`;
    }, PATIENCE);
  });

  source.addEventListener("lost", () => {
    showWelcome(false);
    turns.replaceChildren();
    notice("lost", "There is no conversation at this address. It may have been held on another server.", [
      ["Start a new one", () => location.assign("/"), true],
    ]);
    composer.isBusy = true;
  });
}

async function showTick(step) {
  byId("pending")?.querySelector(".thinking")?.append(tick(step));
  if (!isStill()) await new Promise((resolve) => setTimeout(resolve, TICK));
}

function giveBack(text) {
  talk.forget();
  clearNotice("unsure");
  byId("pending")?.remove();
  composer.text = text;
  composer.focus();
  if (talk.turns.length === 0) showWelcome(true);
}

// The welcome.

function showWelcome(isShown) {
  const chosen = bot();
  byId("welcome").hidden = !isShown || !chosen;
  byId("talk-title").hidden = isShown;
  if (!isShown || !chosen) return;
  turns.replaceChildren();
  for (const id of ["greeting", "openers"]) byId(id).lang = chosen.language;
  const greeting = chosen.greeting || `This is ${chosen.name}. What shall we talk about?`;
  byId("greeting").replaceChildren(...unbroken(greeting));
  const { dialogues } = chosen.counts;
  const made = dialogues ? `, drawn from ${counted(dialogues, "conversation")}` : "";
  byId("about-bot").textContent =
    `${chosen.name} is a program. It answers with lines people have written${made}. For every reply you can ask why.`;
  byId("openers").replaceChildren(
    ...chosen.openers.map((text) =>
      h("li", {}, h("button", { type: "button", class: "opener", text, onclick: () => say(text) })),
    ),
  );
}

/** In large type a line that ends in a hyphen hurts: words with one are kept whole, where they are not too long. */
const unbroken = (text) =>
  text.split(/(\S+-\S+)/).map((part, index) => (index % 2 && part.length < 18 ? h("span", { class: "unbroken", text: part }) : part));

function showBots() {
  const select = byId("bot");
  select.hidden = bots.length < 2;
  select.replaceChildren(...bots.map((entry) => h("option", { value: entry.name, text: entry.name })));
  select.value = talk.bot;
  select.addEventListener("change", () => {
    // A conversation has its bot for good; another bot is another conversation.
    location.assign(`/?bot=${encodeURIComponent(select.value)}`);
  });
}

// Notices: one of each kind, with what can be done.

function notice(kind, text, choices = []) {
  clearNotice(kind);
  byId("notices").append(
    h(
      "div",
      { class: "notice", role: "alert", dataset: { kind } },
      h("p", { text }),
      ...choices.map(([words, act, isStrong]) =>
        h("button", { type: "button", class: isStrong ? "button strong" : "button", text: words, onclick: act }),
      ),
      choices.length
        ? null
        : h("button", { type: "button", class: "button", text: "Understood", onclick: () => clearNotice(kind) }),
    ),
  );
}

function clearNotice(kind) {
  byId("notices").querySelector(`[data-kind="${kind}"]`)?.remove();
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?)]$/.test(text) ? "" : "."}`;

// Scrolling: the end stays in view for those who are there, and for nobody else.

const isAtEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 120;

function toEnd(smoothly = true) {
  latest.hidden = true;
  scroll.scrollTo({ top: scroll.scrollHeight, behavior: smoothly && !isStill() ? "smooth" : "instant" });
}

scroll.addEventListener("scroll", () => {
  if (isAtEnd()) latest.hidden = true;
});
latest.addEventListener("click", () => toEnd());

// The start.

async function begin() {
  const path = location.pathname.match(/^\/c\/([^/]+)$/);
  const wanted = new URLSearchParams(location.search).get("bot");
  bots = await findBots();
  const chosen = bots.find((entry) => entry.name === wanted) ?? bots[0];
  talk = new Talk(chosen.name, path ? decodeURIComponent(path[1]) : null);
  listen(talk);
  await talk.open();
  menu.show(bot().topics, talk.topic);
  showBots();
}

/** The bots of the server; while it does not answer, the reader is asked to try again. */
async function findBots() {
  for (;;) {
    try {
      return (await api.bots()).bots;
    } catch (error) {
      await new Promise((resolve) => notice("down", `${error.message} Is it running?`, [["Try again", resolve, true]]));
      clearNotice("down");
    }
  }
}

ready = begin();
