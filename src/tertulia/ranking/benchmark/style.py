"""The style sheet of a benchmark's page: the paper, ink and wine of the other pages, in light and dark, on paper too."""

__all__ = ["STYLE"]

STYLE = """\
:root {
  color-scheme: light dark;
  --serif: "Literata", "Iowan Old Style", Palatino, Georgia, "Noto Serif CJK SC", "Songti SC", serif;
  --sans: "Source Sans 3", system-ui, "Segoe UI", "Noto Sans CJK SC", "PingFang SC", sans-serif;
  --paper: light-dark(#faf6ee, #1a1715);
  --card: light-dark(#fffdf8, #221e1b);
  --well: light-dark(#f2ebde, #2a2521);
  --ink: light-dark(#2a2420, #ece4d8);
  --soft: light-dark(#685c52, #ada195);
  --line: light-dark(#e4dacb, #38312b);
  --accent: light-dark(#7c2d3b, #e8a5ac);
  --accent-wash: light-dark(#f5e7e2, #38252a);
  --second: light-dark(#5d7f7a, #86b5ad);
  --right: light-dark(#1d625c, #86cdc3);
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0;
  background: var(--paper);
  color: var(--ink);
  font: 400 1.0625rem/1.6 var(--serif);
  text-rendering: optimizeLegibility;
}
main { max-width: 66rem; margin: 0 auto; padding: clamp(1.5rem, 5vw, 4rem) clamp(1rem, 4vw, 2.5rem) 5rem; }
h1 {
  margin: 0;
  font-size: clamp(1.7rem, 1.2rem + 2.2vw, 2.5rem);
  font-weight: 500;
  line-height: 1.15;
  overflow-wrap: anywhere;
}
h2 { margin: 4rem 0 0.3rem; font-size: 1.5rem; font-weight: 500; line-height: 1.25; }
h3 { margin: 2rem 0 0.2rem; font: 600 1.0625rem/1.4 var(--sans); }
p { margin: 0.4rem 0 0.9rem; max-width: 46rem; }
.kind {
  margin: 0 0 0.5rem;
  color: var(--accent);
  font: 600 0.8125rem/1.4 var(--sans);
  letter-spacing: 0.08em;
  text-transform: uppercase;
}
.lead { font-size: 1.1875rem; font-style: italic; color: var(--soft); }
.note { color: var(--soft); font: 400 0.9rem/1.5 var(--sans); }
dl.facts {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(max(9rem, 30%), 1fr));
  margin: 2rem 0 0;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 12px;
  overflow: hidden;
}
dl.facts div { padding: 0.7rem 1.1rem; box-shadow: 1px 1px 0 var(--line); }
dl.facts dt { color: var(--soft); font: 400 0.8125rem/1.4 var(--sans); }
dl.facts dd {
  margin: 0;
  font: 600 1.0625rem/1.4 var(--sans);
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}
nav { margin: 1.6rem 0 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; font: 400 0.9rem/1.5 var(--sans); }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.2em; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 3px; }
.scroll {
  overflow-x: auto;
  margin: 0.8rem 0 0;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 12px;
}
.scroll:focus-visible { outline: 2px solid var(--accent); }
table {
  border-collapse: collapse;
  width: 100%;
  font: 400 0.9375rem/1.4 var(--sans);
  font-variant-numeric: tabular-nums;
}
th, td {
  padding: 0.42rem 0.8rem;
  text-align: right;
  white-space: nowrap;
  border-top: 1px solid var(--line);
  vertical-align: top;
}
thead th { border-top: 0; color: var(--soft); font-weight: 400; vertical-align: bottom; background: var(--well); }
thead tr + tr th { padding-top: 0; }
thead th.group { text-align: center; color: var(--ink); font-weight: 600; padding-bottom: 0.1rem; }
th:first-child, td.text, th.text { text-align: left; }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--card); }
td.begins, th.begins { border-left: 1px solid var(--line); }
td small { display: block; color: var(--soft); font-size: 0.75rem; }
td sup { color: var(--soft); font-size: 0.7rem; margin-left: 0.15em; line-height: 0; }
td.best { color: var(--accent); font-weight: 700; }
td.best small { font-weight: 400; }
tr.outside th::after { content: " (outside)"; color: var(--soft); font-weight: 400; }
figure {
  margin: 1rem 0 0;
  padding: 1rem;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 12px;
  overflow-x: auto;
}
figure svg { display: block; max-width: 100%; height: auto; margin: 0 auto; min-width: 32rem; }
figure svg text { font-family: var(--sans); }
figcaption { margin: 0 0 0.7rem; font: 600 0.9375rem/1.4 var(--sans); }
details { margin: 0.6rem 0 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
summary {
  cursor: pointer;
  padding: 0.7rem 1rem;
  display: flex;
  gap: 1rem;
  justify-content: space-between;
  align-items: baseline;
}
summary .says { overflow-wrap: anywhere; min-width: 0; }
summary .score { flex: none; color: var(--soft); font: 400 0.8125rem/1.4 var(--sans); }
details > div { padding: 0 1rem 1rem; }
.turns { margin: 0 0 0.8rem; padding: 0; list-style: none; }
.turns li {
  padding: 0.25rem 0 0.25rem 0.9rem;
  border-left: 3px solid var(--line);
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}
.turns li:last-child { border-color: var(--accent); }
.choices { width: 100%; }
.choices td, .choices th {
  white-space: normal;
  text-align: left;
  overflow-wrap: anywhere;
  position: static;
  background: none;
}
.choices th { white-space: nowrap; min-width: 7rem; }
.choices td:last-child { white-space: nowrap; text-align: right; }
.choices td.says { font-family: var(--serif); font-size: 1rem; width: 100%; white-space: pre-wrap; }
.choices .true th, .choices .true td { background: var(--well); border-top: 0; }
.right-one { color: var(--right); font-weight: 600; }
.wrong-one { color: var(--soft); }
ul.plain { padding-left: 1.1rem; max-width: 46rem; }
footer {
  margin-top: 4rem;
  padding-top: 1rem;
  border-top: 1px solid var(--line);
  color: var(--soft);
  font: 400 0.8125rem/1.5 var(--sans);
}
@media print {
  :root { color-scheme: light; }
  body { background: none; font-size: 10pt; }
  figure, .scroll, details { break-inside: avoid; overflow: visible; }
}
"""
