"""The page of a benchmark: one HTML file that needs nothing from outside, with tables, plots, costs and the hardest contexts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from tertulia import __version__
from tertulia.measures.ranking_names import cut_name
from tertulia.ranking.benchmark.plots import by_cut, contributions, importance_plot, quality_and_cost
from tertulia.ranking.benchmark.style import STYLE
from tertulia.ranking.benchmark.tables import COST_COLUMNS, Cell, cell, cost_row, cut_groups, notes, spoken

if TYPE_CHECKING:
    from tertulia.ranking.benchmark.comparing import Comparison
    from tertulia.ranking.benchmark.hardest import Choice, HardContext
    from tertulia.ranking.benchmark.results import SystemResult
    from tertulia.ranking.benchmark.run import Benchmark

__all__ = ["page", "shown"]

# Control characters (but tab and line break), directions of writing, what has no width, halves of surrogate pairs: all become
# visible, so that no text of a set disturbs the page.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_LONGEST = 1_500
_SHORT = 140


def shown(text: str, longest: int = _LONGEST) -> str:
    """A text of a set as HTML: escaped, what is invisible visible, cut where it is very long."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return escape(_HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", cut))


def page(benchmark: Benchmark, hardest: Sequence[HardContext], judging: int | None) -> str:
    """The page.

    Parameters
    ----------
    hardest:
        The contexts to show, the hardest first.
    judging:
        The number of the measure by which quality is set against cost, and contexts are hard.
    """
    comparison = benchmark.held
    title = f"Ranking benchmark: {benchmark.plan.title}"
    sections = [
        _tables(comparison, benchmark.results),
        _plots(comparison),
        _costs(comparison, benchmark.results, judging),
        _importance(benchmark.results),
        _hardest(comparison, hardest, judging, benchmark.results),
        _missing(benchmark),
        _method(benchmark),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Nothing may be loaded, and nothing runs, whatever a text of the set holds.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>{shown(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join([_head(benchmark, judging, sections), *(section for section in sections if section)])
        + "\n</main>\n</body>\n</html>\n"
    )


def _head(benchmark: Benchmark, judging: int | None, sections: Sequence[str]) -> str:
    plan, comparison = benchmark.plan, benchmark.held
    ranked = plan.protocol.describe()
    splits = " / ".join(f"{len(part):,}" for part in plan.folds[0][:3])
    if len(plan.folds) > 1:
        splits += f", {len(plan.folds)} times"
    facts = [
        ("contexts (train / dev / test)", splits),
        ("ranked in test", f"{ranked['candidates']:,} candidates"),
        (
            "systems",
            f"{len(comparison.systems)}, {plan.options.seeds} {'seed' if plan.options.seeds == 1 else 'seeds'}",
        ),
        ("protocol", "own candidates" if plan.protocol.name == "candidates" else f"{ranked['responses']:,} responses"),
        ("texts", {"en": "English", "zh": "Chinese", "segmented": "segmented"}[plan.wording.language]),
        ("tuned on dev for", f"MAP, relevance ≥ {cut_name(plan.cut)}; {plan.options.trials} trials"),
    ]
    items = "".join(f"<div><dt>{shown(name)}</dt><dd>{shown(value)}</dd></div>" for name, value in facts)
    links = [
        ("tables", "Tables"),
        ("plots", "By cut"),
        ("costs", "Quality and cost"),
        ("importance", "What matters"),
        ("hardest", "Hardest contexts"),
        ("missing", "What is not in the table"),
        ("method", "How this was made"),
    ]
    there = [
        (anchor, name)
        for anchor, name in links
        if any(section.startswith(f'<h2 id="{anchor}"') for section in sections)
    ]
    nav = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in there)
    return (
        f'<p class="kind">Ranking benchmark</p>\n<h1>{shown(plan.title)}</h1>\n'
        f'<p class="lead">{_verdict(comparison, judging)}</p>\n'
        f'<dl class="facts">{items}</dl>\n<nav aria-label="Sections">{nav}</nav>'
    )


def _verdict(comparison: Comparison, judging: int | None) -> str:
    """Which system is best by the measure that was tuned for, and which do not differ from it, in one sentence."""
    if judging is None:
        return ""
    order = comparison.order(judging)
    tied = [each for each in order[1:] if "a" in comparison.letters[judging][each]]
    best = f"By {shown(spoken(comparison.measures[judging]))}, <strong>{shown(comparison.systems[order[0]])}</strong> comes first"
    if not tied:
        return f"{best}, and differs from every other." if len(order) > 1 else f"{best}: there is no other."
    if len(tied) == len(order) - 1:
        return f"{best}, but no system differs from it significantly."
    verb = "does" if len(tied) == 1 else "do"
    return f"{best}; {_listed([comparison.systems[each] for each in tied])} {verb} not differ from it."


def _listed(names: Sequence[str]) -> str:
    if len(names) > 4:
        return f"{len(names)} others"
    found = [shown(name) for name in names]
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _scroll(table: str, label: str) -> str:
    # Reached by keyboard, as what scrolls must be.
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{table}</div>'


def _tables(comparison: Comparison, results: Sequence[SystemResult]) -> str:
    level = f"{comparison.confidence:.0%}"
    parts = [
        '<h2 id="tables">Tables</h2>',
        f"<p>Means in percent over the contexts that count, seeds averaged first, with {level} bootstrap intervals. Systems that "
        f"share a letter do not differ (randomised Tukey HSD, level {1 - comparison.confidence:.2g}).</p>",
    ]
    if comparison.votes:
        parts.append(
            '<p class="note">Relevance is an estimate from votes; the intervals hold the uncertainty of that too.</p>'
        )
    for title, numbers in cut_groups(comparison):
        parts.append(f"<h3>{shown(title[:1].upper() + title[1:])}</h3>")
        parts.append(f'<p class="note">{shown(notes(comparison, numbers))}.</p>')
        parts.append(_scroll(_table(comparison, results, numbers), title))
    return "\n".join(parts)


def _table(comparison: Comparison, results: Sequence[SystemResult], numbers: Sequence[int]) -> str:
    names = [shown(comparison.measures[number].short) for number in numbers]
    base = comparison.baseline
    groups = ""
    if base is not None:
        groups = (
            f'<tr><th></th><th class="group" colspan="{len(numbers)}">mean</th>'
            f'<th class="group begins" colspan="{len(numbers)}">difference to {shown(base)}</th></tr>'
        )
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    if base is not None:
        heads += "".join(f'<th scope="col"{_begins(place)}>{name}</th>' for place, name in enumerate(names))
    rows = []
    for system, result in enumerate(results):
        row = [cell(comparison, system, number) for number in numbers]
        cells = "".join(map(_mean_cell, row))
        if base is not None:
            cells += "".join(f"<td{_begins(place)}>{each.difference or '–'}</td>" for place, each in enumerate(row))
        outside = ' class="outside"' if result.outside else ""
        rows.append(f'<tr{outside}><th scope="row">{shown(result.name)}</th>{cells}</tr>')
    head = f'<thead>{groups}<tr><th class="text" scope="col">system</th>{heads}</tr></thead>'
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _begins(place: int) -> str:
    return ' class="begins"' if place == 0 else ""


def _mean_cell(each: Cell) -> str:
    letters = f"<sup>{escape(each.letters)}</sup>" if each.letters else ""
    interval = f"<small>{each.interval}</small>" if each.interval else ""
    best = ' class="best"' if each.is_best else ""
    return f"<td{best}>{each.mean}{letters}{interval}</td>"


def _figure(caption: str, svg: str) -> str:
    return f'<figure role="img" tabindex="0" aria-label="{escape(caption)}"><figcaption>{shown(caption)}</figcaption>{svg}</figure>'


def _plots(comparison: Comparison) -> str:
    parts = [
        '<h2 id="plots">By cut</h2>',
        "<p>Each dot is a mean, each line its interval; in wine the best system and those that do not differ from it.</p>",
    ]
    parts += [_figure(kind, svg) for kind, svg in by_cut(comparison)]
    return "\n".join(parts)


def _costs(comparison: Comparison, results: Sequence[SystemResult], judging: int | None) -> str:
    parts = ['<h2 id="costs">Quality and cost</h2>']
    drawn = None if judging is None else quality_and_cost(comparison, results, judging)
    if drawn is not None:
        parts.append("<p>No system is both better and faster than those on the dashed line.</p>")
        parts.append(_figure("Quality against microseconds a candidate", drawn))
    heads = "".join(f'<th scope="col">{shown(name)}</th>' for name in COST_COLUMNS)
    rows = "".join(
        f'<tr><th scope="row">{shown(result.name)}</th>{"".join(f"<td>{shown(each)}</td>" for each in cost_row(result))}</tr>'
        for result in results
        if result.costs
    )
    if rows:
        head = f'<thead><tr><th class="text" scope="col">system</th>{heads}</tr></thead>'
        table = _scroll(f"<table>{head}<tbody>{rows}</tbody></table>", "costs")
        parts += [
            table,
            '<p class="note">Means over seeds, of memory the most; memory is that of the whole process, the set in it. '
            "A fit holds its tuning on dev.</p>",
        ]
    return "\n".join(parts) if len(parts) > 1 else ""


def _importance(results: Sequence[SystemResult]) -> str:
    figures = []
    for result in results:
        rows = contributions(result)
        if rows:
            figures.append(_figure(f"{result.name}: what it loses without each feature", importance_plot(rows)))
    if not figures:
        return ""
    intro = (
        "<p>Permutation importance on dev, of the first seed: how much quality drops when one feature is shuffled.</p>"
    )
    return "\n".join(['<h2 id="importance">What matters</h2>', intro, *figures])


def _hardest(
    comparison: Comparison, hardest: Sequence[HardContext], judging: int | None, results: Sequence[SystemResult]
) -> str:
    if not hardest or judging is None:
        return ""
    intro = (
        f"<p>Where most systems put a response first that is not positive; the fewest right come first, then the lowest mean of "
        f"{shown(spoken(comparison.measures[judging]))}. Systems that do not read texts have no say.</p>"
    )
    saying = sum(result.name not in ("random", "length") for result in results) or len(results)
    return "\n".join(
        [
            '<h2 id="hardest">Hardest contexts</h2>',
            intro,
            *(_hard(each, saying, place == 0) for place, each in enumerate(hardest)),
        ]
    )


def _hard(context: HardContext, saying: int, is_open: bool) -> str:
    last = context.turns[-1][1] if context.turns else ""
    turns = "".join(f"<li>{shown(text)}</li>" for _role, text in context.turns)
    best = "".join(
        f'<tr class="true"><th scope="row">best of {context.candidates:,}</th><td class="says">{shown(text)}</td>'
        f'<td class="right-one">{relevance:g}</td></tr>'
        for text, relevance in context.best
    )
    choices = "".join(map(_choice_row, context.choices))
    return (
        f'<details{" open" if is_open else ""}><summary><span class="says">{shown(last, _SHORT) or "(no text)"}</span>'
        f'<span class="score">{context.right} of {saying} right · {context.value * 100:.1f}</span></summary>'
        f'<div><p class="note">{shown(context.id)}</p><ol class="turns">{turns}</ol>'
        f'<table class="choices"><tbody>{best}{choices}</tbody></table></div></details>'
    )


def _choice_row(choice: Choice) -> str:
    text = '<span class="wrong-one">no answer</span>' if choice.text is None else shown(choice.text)
    relevance = "–" if choice.relevance is None else f"{choice.relevance:.3g}"
    mark = f'<td class="{"right-one" if choice.right else "wrong-one"}">{relevance}{" ✓" if choice.right else ""}</td>'
    return f'<tr><th scope="row">{shown(choice.system)}</th><td class="says">{text}</td>{mark}</tr>'


def _missing(benchmark: Benchmark) -> str:
    items = [
        f"<li><strong>{shown(name)}</strong> was left out: {shown(why)}</li>"
        for name, why in benchmark.left_out.items()
    ]
    items += [
        f"<li><strong>{shown(each.system)}</strong>, seed {each.seed}, failed: {shown(each.reason)}</li>"
        for each in benchmark.failures
    ]
    items += [
        f"<li><strong>{shown(each.name)}</strong>: {shown(each.note)}</li>" for each in benchmark.results if each.note
    ]
    return f'<h2 id="missing">What is not in the table</h2>\n<ul class="plain">{"".join(items)}</ul>' if items else ""


def _method(benchmark: Benchmark) -> str:
    plan, comparison, options = benchmark.plan, benchmark.held, benchmark.plan.options
    turns = "all turns" if plan.wording.turns is None else f"the last {plan.wording.turns} turns"
    seeds = f"{'seed' if len(plan.seeds) == 1 else 'seeds'} {', '.join(map(str, plan.seeds))}"
    sentences = [
        f"The set is divided so: {shown(plan.splits.how)}.",
        f"Of a context {turns} count, each {plan.wording.decay:g} times as much as the one after it.",
        f"Each ranker is fitted on train with the {seeds}, tuned on dev within {options.trials} trials for MAP at relevance "
        f"{cut_name(plan.cut)}, saved, loaded again, and scores the test split with relevance hidden, in a process of its own.",
        "Candidates of equal scores are ordered by their number in run files, as trec_eval orders them; that falls at random.",
        f"Intervals: percentile bootstrap over contexts, {options.replicates:,} replicates. Letters: randomised Tukey HSD, "
        f"{options.permutations:,} permutations (Carterette 2012), compact letter display (Piepho 2004).",
    ]
    if comparison.baseline is not None:
        sentences.append(
            f"Differences to {shown(comparison.baseline)}: paired randomisation test, {options.permutations:,} replicates, not "
            "corrected for their number; * p &lt; .05, ** p &lt; .01, *** p &lt; .001."
        )
    if comparison.votes:
        sentences.append(
            "Relevance from votes is drawn again in each replicate from the Beta distribution of its likes and dislikes; "
            "replicates are centred on the measured mean, since every system seems worse on noisier relevance."
        )
    if plan.protocol.name == "full":
        sentences.append(
            "Every context ranks the distinct responses of the split"
            + (f", a sample of {options.pool:,} beside its own" if options.pool is not None else "")
            + "; those that are not its own candidates count as not relevant, which some may well be."
        )
    return (
        '<h2 id="method">How this was made</h2>\n<ul class="plain">'
        + "".join(f"<li>{sentence}</li>" for sentence in sentences)
        + f"</ul>\n<footer>Tertulia {escape(__version__)} · the set's digest is {plan.set_input['sha256'][:16]}…</footer>"
    )
