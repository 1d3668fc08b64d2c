// How turns look: what was said, who answered and how sure, the thumbs, the grades.

import { h, icon } from "./dom.js";
import { GRADES, KINDS, OTHER_KIND, milliseconds, share } from "./format.js";

let serial = 0;

/** What the bot says before anything was said to it. */
export function openingItem(text) {
  return h("li", { class: "turn opening" }, h("div", { class: "bot" }, said("Bot", text)));
}

/**
 * One turn. `actions`: `rate(turn, rating)` gives a promise of the rating as it is then; `why(turn, button)` opens the
 * trace.
 */
export function turnItem(turn, actions, isNew = false) {
  return h(
    "li",
    { class: isNew ? "turn new" : "turn", dataset: { turn: turn.turn } },
    h("div", { class: "user" }, said("You", turn.text)),
    h("div", { class: "bot" }, said("Bot", turn.reply), ...about(turn, actions)),
  );
}

/** A message on its way: what was said, and below it what the bot is doing. */
export function pendingItem(text) {
  return h(
    "li",
    { class: "turn new", id: "pending" },
    h("div", { class: "user unsent" }, said("You", text)),
    h(
      "div",
      { class: "bot" },
      h(
        "div",
        { class: "thinking", "aria-hidden": "true" },
        h("span", { class: "dots" }, h("i"), h("i"), h("i")),
      ),
    ),
  );
}

/** One component that was consulted, as it ticks by. */
export function tick(step) {
  const words = { replied: "has an answer", abstained: "passes", "below threshold": "is not sure enough" };
  return h(
    "span",
    { class: step.outcome === "replied" ? "tick replied" : "tick" },
    h("b", { text: step.component }),
    ` ${words[step.outcome] ?? step.outcome}`,
  );
}

function said(speaker, text) {
  return h("p", { class: "said", dir: "auto" }, h("span", { class: "sr", text: `${speaker}: ` }), text);
}

/** The look of what answered a turn. */
export const kindOfTurn = (turn) => KINDS[turn.evidence.type] ?? OTHER_KIND;

function about(turn, actions) {
  const kind = kindOfTurn(turn);
  const grades = gradesField(turn, actions, (grade) => showGrade(grade));
  const rateButton = h(
    "button",
    {
      type: "button",
      class: "act rate",
      "aria-expanded": "false",
      onclick: () => {
        const opened = grades.hidden;
        grades.hidden = !opened;
        rateButton.setAttribute("aria-expanded", String(opened));
        if (opened) (grades.querySelector(":checked") ?? grades.querySelector("input")).focus();
        if (opened) grades.scrollIntoView({ block: "nearest" });
      },
    },
    "Rate",
  );
  function showGrade(grade) {
    rateButton.textContent = grade ? `Rated ${grade}` : "Rate";
    rateButton.classList.toggle("graded", Boolean(grade));
  }
  grades.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    rateButton.click();
    rateButton.focus();
  });
  showGrade(turn.rating?.grade);
  const why = h(
    "button",
    { type: "button", class: "act why", "aria-haspopup": "dialog", "aria-expanded": "false", onclick: () => actions.why(turn, why) },
    "Why?",
  );
  return [
    h(
      "div",
      { class: `about ${kind.class}` },
      h(
        "div",
        { class: "facts" },
        h("span", { class: "who", title: kind.words }, icon(kind.icon), h("span", { text: turn.component })),
        meter(turn.confidence),
        h("span", { class: "time", title: "from message to reply", text: milliseconds(turn.elapsed_ms) }),
      ),
      h("div", { class: "acts" }, ...thumbs(turn, actions), rateButton, why),
    ),
    grades,
  ];
}

function meter(confidence) {
  return h(
    "span",
    { class: "meter", title: "how sure it was, from 0 to 1" },
    h(
      "span",
      {
        class: "track",
        role: "meter",
        "aria-label": "Confidence",
        "aria-valuemin": "0",
        "aria-valuemax": "1",
        "aria-valuenow": share(confidence),
      },
      h("span", { class: "fill", vars: { "--share": confidence } }),
    ),
    h("span", { text: share(confidence) }),
  );
}

function thumbs(turn, actions) {
  const buttons = [
    [1, "thumb-up", "Good reply"],
    [-1, "thumb-down", "Bad reply"],
  ].map(([value, name, label]) =>
    h(
      "button",
      {
        type: "button",
        class: "act",
        "aria-label": label,
        title: label,
        dataset: { thumb: value },
        onclick: () => set(turn.rating?.thumb === value ? 0 : value),
      },
      icon(name),
    ),
  );
  function show(thumb) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(Number(button.dataset.thumb) === thumb));
  }
  async function set(thumb) {
    show(thumb);
    await actions.rate(turn, { thumb });
    show(turn.rating?.thumb ?? 0);
  }
  show(turn.rating?.thumb ?? 0);
  return buttons;
}

function gradesField(turn, actions, shown) {
  const name = `grade-${(serial += 1)}`;
  const inputs = GRADES.map(([grade]) =>
    h("input", {
      type: "radio",
      name,
      value: grade,
      checked: turn.rating?.grade === grade,
      onchange: async () => {
        shown(grade);
        await actions.rate(turn, { grade });
        const now = turn.rating?.grade ?? null;
        shown(now);
        for (const input of inputs) input.checked = Number(input.value) === now;
      },
    }),
  );
  return h(
    "fieldset",
    { class: "grades", hidden: true },
    h("legend", { text: "How good is this reply?" }),
    h(
      "div",
      { class: "grade-row" },
      ...GRADES.map(([grade, words], index) =>
        h("label", { class: "grade" }, inputs[index], h("b", { text: grade }), h("span", { text: words })),
      ),
    ),
  );
}
