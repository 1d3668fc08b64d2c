"""``tertulia bot``: make bots, grow them, and ask them why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.options import Json
from tertulia.cli.output import line_width, number, print_json, progress, visible

__all__ = ["app"]

app = typer.Typer(
    help="Build bots, grow their banks, explain their turns.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

_Bot = Annotated[Path, typer.Argument(metavar="BOT", help="The bot's directory.")]


@app.command("build", epilog="Example: tertulia bot build sd -o bot --name Edda")
def build(
    corpora: Annotated[list[Path], typer.Argument(metavar="CORPUS...", help="The corpora to answer from.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The bot to write.")],
    name: Annotated[str | None, typer.Option("--name", help="Its name; none: the output directory's.")] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="DIR", help="A folder of *.rive files; none: the starter's.")
    ] = None,
    backup: Annotated[
        Path | None, typer.Option("--backup", metavar="FILE", help="Lines that always fit; none: the starter's.")
    ] = None,
    rerank: Annotated[
        Path | None,
        typer.Option("--rerank", metavar="MODEL", help="A trained ranker that orders what the bank has; it is copied."),
    ] = None,
    language: Annotated[str, typer.Option("--language", help="en or zh.")] = "en",
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="The confidence a banked response needs.")
    ] = 0.5,
    last_threshold: Annotated[
        float, typer.Option("--last-threshold", min=0, max=1, help="The same when only backup lines are left.")
    ] = 0.2,
    scale: Annotated[float, typer.Option("--scale", help="The scale s of the matching score.")] = 1.3,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For choices by chance.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is at the output path.")] = False,
    json_: Json = False,
) -> None:
    """Build a bot from corpora of conversations. Rules answer before the conversations, backup lines after them."""
    from tertulia.bot.assemble import build_from_corpora
    from tertulia.bot.build import BotOptions
    from tertulia.cli.rerankers import open_reranker

    options = BotOptions(
        name=name or output.resolve().name,
        language=language,
        seed=seed,
        scale=scale,
        threshold=threshold,
        last_threshold=last_threshold,
    )
    with progress("building the bank", unit="dialogues") as advance:
        manifest = build_from_corpora(
            corpora,
            output,
            options,
            rules=rules,
            backup=backup,
            rerank=rerank,
            open_reranker=open_reranker,
            overwrite=overwrite,
            progress=advance,
        )
    if json_:
        print_json({"bot": str(output), "counts": manifest.counts, "digest": manifest.digest})
        return
    counts = manifest.counts
    print(
        f"{output}: the bot {options.name!r}, {number(counts['dialogues'])} dialogues, "
        f"{number(counts['utterances'])} utterances, {number(counts['topics'])} topics"
    )
    print(f"talk: tertulia chat --bot {output}    or on a page: tertulia serve --bot {output} --open")


@app.command("add", epilog="Example: tertulia bot add bot new_conversations")
def add(
    bot: _Bot,
    corpora: Annotated[list[Path], typer.Argument(metavar="CORPUS...", help="The corpora to add to its bank.")],
    json_: Json = False,
) -> None:
    """Add dialogues to a bot's bank without building it again."""
    from tertulia.bot.assemble import add_to_bank

    with progress("adding", unit="dialogues") as advance:
        counts = add_to_bank(bot, corpora, progress=advance)
    if json_:
        print_json(counts)
    else:
        print(f"{bot}: {number(counts['added'])} dialogues added, {number(counts['dialogues'])} in all")


@app.command("remove", epilog="Example: tertulia bot remove bot 30MVJZJNHN7S6ZBS927OOZDGGV7J9I")
def remove(
    bot: _Bot,
    dialogue_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The dialogues to take out.")],
    json_: Json = False,
) -> None:
    """Take dialogues out of a bot's bank. Nothing of them is said again."""
    from tertulia.bot.assemble import remove_from_bank

    counts = remove_from_bank(bot, dialogue_ids)
    if json_:
        print_json(counts)
    else:
        print(f"{bot}: {number(counts['removed'])} dialogues removed, {number(counts['dialogues'])} left")


@app.command("why", epilog="Example: tertulia bot why last")
def why(
    turn: Annotated[
        str,
        typer.Argument(metavar="TURN", help="CONVERSATION/NUMBER, a conversation (its last turn), or 'last'."),
    ] = "last",
    database: Annotated[
        str | None,
        typer.Option("--database", metavar="URL", envvar="TERTULIA_DATABASE", help="The log. Default: your own."),
    ] = None,
    bot: Annotated[
        Path | None, typer.Option("--bot", metavar="DIR", help="The bot that said it, to show the source dialogue.")
    ] = None,
    json_: Json = False,
) -> None:
    """Explain a turn. Who answered, from which source, how sure, and what was considered and rejected."""
    from tertulia.bot.explain import explain
    from tertulia.bot.why import find_turn
    from tertulia.log.location import default_database

    found, source = find_turn(database or default_database(), turn, bot)
    if json_:
        print_json({**found, "source": source})
    else:
        print(visible(explain(found, source, width=line_width())))
