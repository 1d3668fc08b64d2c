// Elements from data. Text is always text: nothing here, or anywhere in the page, parses a string as HTML.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `attributes` are set as attributes, but for `class`, `text`, `dataset`, `vars` (custom properties) and
 * functions named `on...`; an attribute that is false, null or undefined is left out. Children are nodes or strings.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "vars") for (const [key, entry] of Object.entries(value)) element.style.setProperty(key, entry);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** One of the icons of icons.svg. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `/static/icons.svg#${name}`);
  svg.append(use);
  return svg;
}

export const byId = (id) => document.getElementById(id);

/** Whether the reader asked for less motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Have screen readers say this. */
export function announce(text) {
  byId("announcer").replaceChildren(h("p", { text }));
}
