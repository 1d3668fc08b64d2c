// Numbers and names in the words of the page.

/** What answered, from the evidence of the reply: the look and the plain words of it. */
export const KINDS = {
  dialogue: { class: "kind-dialogue", icon: "dialogue", words: "from a conversation in its bank" },
  rule: { class: "kind-rule", icon: "rule", words: "from a rule that a person wrote" },
  line: { class: "kind-line", icon: "line", words: "a line kept for when nothing else answers" },
};

export const OTHER_KIND = { class: "kind-other", icon: "line", words: "" };

/** The look of a component's kind; kinds that were added by others have a plain one. */
export const kindOfComponent = (kind) =>
  ({ matching: KINDS.dialogue, rules: KINDS.rule, backup: KINDS.line })[kind] ?? OTHER_KIND;

export const GRADES = [
  [5, "human-like, interesting"],
  [4, "human-like, less interesting"],
  [3, "addresses part of the context"],
  [2, "clearly off"],
  [1, "incoherent"],
];

/** A share of 1 with two decimals; a share that only rounds to one is not shown as one. */
export function share(value) {
  if (value < 1 && value >= 0.995) return "0.99";
  return value.toFixed(2);
}

export function milliseconds(value) {
  if (value >= 10000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 10) return `${Math.round(value)} ms`;
  return `${value.toFixed(value >= 1 ? 1 : 2)} ms`;
}

/** A topic as it is read: science_fiction is science fiction. */
export const topicWords = (topic) => topic.replaceAll("_", " ");

/** A number of things: 1 conversation, 2 conversations. */
export const counted = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
