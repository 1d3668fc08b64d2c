// Why this reply: the source, every component in order, every candidate, in a panel beside the talk.

import { Refused } from "./api.js";
import { byId, h, icon } from "./dom.js";
import { counted, kindOfComponent, milliseconds, share, topicWords } from "./format.js";
import { kindOfTurn } from "./turns.js";

const NARROW = matchMedia("(max-width: 60rem)");
/** How many turns of the source dialogue are shown around the matched one before one asks for all. */
const AROUND = 2;
/** How many candidates of one component are shown before one asks for all. */
const FEW = 4;

export class TracePanel {
  #dialog = byId("trace");
  #body = byId("trace-body");
  #opener = null;
  #asked = 0;

  /** `sources(id)` gives a promise of a dialogue of the bank. */
  constructor(sources) {
    this.sources = sources;
    byId("trace-close").addEventListener("click", () => this.close());
    // A sheet is left by a touch beside it.
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.close();
    });
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#dialog.open && !event.defaultPrevented) this.close();
    });
    NARROW.addEventListener("change", () => {
      if (!this.#dialog.open) return;
      this.#dialog.close();
      this.#show();
    });
  }

  /** Open on a turn; `load()` gives a promise of it with its trace; focus goes back to `opener` in the end. */
  async open(load, opener) {
    const asked = (this.#asked += 1);
    this.#mark(opener);
    this.#body.replaceChildren(h("p", { class: "waiting", text: "Looking it up…" }));
    this.#show();
    try {
      const turn = await load();
      if (asked !== this.#asked) return;
      this.#body.replaceChildren(...sections(turn, this.sources));
      this.#body.scrollTop = 0;
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#body.replaceChildren(h("p", { role: "alert", text: error.message }));
    }
  }

  close() {
    if (!this.#dialog.open) return;
    this.#dialog.close();
    this.#asked += 1;
    const opener = this.#opener;
    this.#mark(null);
    if (opener?.isConnected) opener.focus();
  }

  /** Show which turn the trace is of. */
  #mark(opener) {
    this.#opener?.setAttribute("aria-expanded", "false");
    this.#opener = opener;
    opener?.setAttribute("aria-expanded", "true");
  }

  #show() {
    if (!this.#dialog.open) {
      if (NARROW.matches) this.#dialog.showModal();
      else this.#dialog.show();
    }
    byId("trace-title").focus();
  }
}

function sections(turn, sources) {
  const { trace } = turn;
  return [
    summary(turn),
    source(turn, sources),
    h(
      "section",
      {},
      h("h3", { text: "Who was asked, in order" }),
      h("ol", { class: "steps" }, ...trace.steps.map((step) => stepItem(step))),
    ),
    h(
      "p",
      { class: "total" },
      h("b", { text: milliseconds(trace.elapsed_ms) }),
      " from message to reply.",
      trace.offensive_input ? " The filter for offensive language objected to the message." : null,
    ),
  ];
}

function summary(turn) {
  const kind = kindOfTurn(turn);
  const asked = turn.trace.steps.filter((step) => step.outcome !== "not consulted");
  const considered = turn.trace.steps.reduce((sum, step) => sum + step.candidates.length, 0);
  return h(
    "p",
    { class: `summary ${kind.class}` },
    h("b", { text: turn.component }),
    ` answered, ${kind.words || "on its own"}, with a confidence of ${share(turn.confidence)}. `,
    `${asked.length} of ${counted(turn.trace.steps.length, "component")} ${asked.length === 1 ? "was" : "were"} asked, `,
    `${counted(considered, "reply", "replies")} considered.`,
  );
}

// The source.

function source(turn, sources) {
  const { evidence } = turn;
  if (evidence.type !== "dialogue") return lineSource(evidence);
  const body = h("div", { class: "source-turns" });
  const box = h("div", { class: "source" }, sourceHead(evidence), body);
  // Until the dialogue is there, and where the bank has lost it, the evidence itself says what matched.
  body.replaceChildren(
    sourceTurn(evidence.context, "matched"),
    sourceTurn(turn.reply, "reply"),
  );
  sources(evidence.dialogue_id).then(
    (dialogue) => showDialogue(body, dialogue.utterances, evidence.position, false),
    (error) => {
      if (!(error instanceof Refused && error.status === 404)) return;
      body.append(h("p", { class: "source-turn", text: "The dialogue itself is no longer in the bank." }));
    },
  );
  return h("section", {}, h("h3", { text: "The conversation it comes from" }), box);
}

function sourceHead(evidence) {
  return h(
    "div",
    { class: "source-head" },
    h("code", { text: evidence.dialogue_id }),
    evidence.topic ? h("span", { text: topicWords(evidence.topic) }) : null,
  );
}

function showDialogue(body, utterances, position, all) {
  const first = all ? 0 : Math.max(0, position - 1 - AROUND);
  const last = all ? utterances.length : Math.min(utterances.length, position + 1 + AROUND);
  const turns = utterances.slice(first, last).map((text, index) => {
    const place = first + index;
    return sourceTurn(text, place === position ? "reply" : place === position - 1 ? "matched" : null);
  });
  const more = h(
    "button",
    { type: "button", class: "more", onclick: () => showDialogue(body, utterances, position, true) },
    `Show all ${utterances.length} turns`,
  );
  const isCut = first > 0 || last < utterances.length;
  body.replaceChildren(...turns, ...(isCut ? [more] : []));
}

function sourceTurn(text, part) {
  const words = { matched: "matches what you said", reply: "the reply" };
  return h(
    "p",
    { class: `source-turn ${part ?? ""}`, dir: "auto" },
    part ? h("span", { class: "mark-word", text: words[part] }) : null,
    text,
  );
}

function lineSource(evidence) {
  const isRule = evidence.type === "rule";
  return h(
    "section",
    {},
    h("h3", { text: isRule ? "The rule it comes from" : "Where the line stands" }),
    h(
      "dl",
      { class: "place" },
      h("dt", { text: "File" }),
      h("dd", {}, h("code", { text: evidence.file })),
      h("dt", { text: "Line" }),
      h("dd", {}, h("code", { text: evidence.line })),
      evidence.trigger ? [h("dt", { text: "Trigger" }), h("dd", {}, h("code", { text: evidence.trigger }))] : null,
    ),
  );
}

// The components.

function stepItem(step) {
  const kind = kindOfComponent(step.kind);
  const wasAsked = step.outcome !== "not consulted";
  return h(
    "li",
    { class: `step ${kind.class} ${step.outcome === "replied" ? "replied" : ""}` },
    h(
      "div",
      { class: "step-head" },
      h("span", { class: "step-name", text: step.component }),
      h("span", { class: "outcome", text: step.outcome }),
      wasAsked ? h("span", { class: "step-time", text: milliseconds(step.elapsed_ms) }) : null,
    ),
    h(
      "p",
      { class: "step-reason" },
      h("span", { text: step.reason }),
      h("span", { text: `threshold ${share(step.threshold)}` }),
    ),
    candidateList(step),
  );
}

function candidateList(step) {
  if (!step.candidates.length) return null;
  const list = h("ul", { class: "candidates" });
  const show = (number) => {
    list.replaceChildren(...step.candidates.slice(0, number).map((candidate) => candidateItem(candidate, step)));
    const left = step.candidates.length - number;
    if (left <= 0) return;
    const more = h("button", { type: "button", class: "more", onclick: () => show(Infinity) }, `Show ${left} more`);
    list.append(h("li", {}, more));
  };
  // The one that was said is always to be seen.
  show(Math.max(FEW, step.candidates.findIndex((candidate) => candidate.verdict === "said") + 1));
  return list;
}

function candidateItem(candidate, step) {
  const isSaid = candidate.verdict === "said";
  const isRefused = candidate.verdict === "offensive" || candidate.verdict === "repeated";
  const place = candidate.evidence;
  return h(
    "li",
    { class: isSaid ? "candidate chosen" : "candidate" },
    h("p", { class: "candidate-text", dir: "auto", text: candidate.text }),
    h(
      "div",
      { class: "candidate-facts" },
      h("span", { class: isRefused ? "verdict refused" : "verdict", text: candidate.verdict }),
      h(
        "span",
        {
          class: "gauge",
          role: "img",
          "aria-label": `confidence ${share(candidate.confidence)}, threshold ${share(step.threshold)}`,
          title: `confidence ${share(candidate.confidence)}; the mark is the threshold, ${share(step.threshold)}`,
        },
        h("span", { class: "fill", vars: { "--share": Math.min(1, candidate.confidence) } }),
        h("span", { class: "threshold", vars: { "--at": step.threshold } }),
      ),
      h("span", { text: share(candidate.confidence) }),
      candidate.score === null ? null : h("span", { text: `score ${candidate.score.toPrecision(4)}` }),
      candidate.rerank_score == null ? null : h("span", { text: `rank score ${candidate.rerank_score.toPrecision(4)}` }),
      h("span", {
        class: "from",
        text: place.type === "dialogue" ? `${place.dialogue_id}, turn ${place.position + 1}` : `${place.file}:${place.line}`,
      }),
    ),
  );
}
