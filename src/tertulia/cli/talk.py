"""``tertulia chat``, ``tertulia serve`` and ``tertulia inspect``: the commands that stand by themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tertulia.cli.output import line_width, number, print_json, remark, table, visible
from tertulia.errors import InputError, TertuliaError

if TYPE_CHECKING:
    from tertulia.bot.service import Conversations

__all__ = ["register"]

_Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="TERTULIA_DATABASE",
        help="The log: sqlite:///file.sqlite or postgresql://user@host/name. Default: a file in your data folder.",
    ),
]
_HELP = "/why explains the last reply · /topic NAME changes the topic · /topics lists them · /quit leaves"


def register(app: typer.Typer) -> None:
    """Add the commands to the root."""
    app.command("chat", epilog='Example: tertulia chat --say "what\'s your favourite film?" --json')(chat)
    app.command("serve", epilog="Example: tertulia serve --bot bot --port 8000 --open")(serve)
    app.command("inspect", epilog="Example: tertulia inspect sd")(inspect)


def chat(
    bot: Annotated[Path | None, typer.Option("--bot", metavar="DIR", help="The bot; none: the starter bot.")] = None,
    say: Annotated[
        list[str] | None, typer.Option("--say", metavar="TEXT", help="Say this and leave; repeat for turns.")
    ] = None,
    database: _Database = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON line a turn.")] = False,
) -> None:
    """Talk with an agent in the terminal. Every turn is logged with everything that was considered."""
    from tertulia.bot.service import Conversations

    conversations = Conversations([_load(bot)], _store(database))
    try:
        identifier = conversations.start(channel="terminal")
        if say:
            for text in say:
                _say(conversations, identifier, text, json_)
            remark(f"conversation {identifier}; tertulia bot why {identifier}/1 explains a turn")
        else:
            _talk(conversations, identifier, json_)
    finally:
        conversations.close()


def serve(
    bot: Annotated[list[Path] | None, typer.Option("--bot", metavar="DIR", help="A bot; repeat for several.")] = None,
    database: _Database = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port to listen on.")] = 8000,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", metavar="NAME", help="A name that browsers may call this server by; repeat."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the page to talk on, and its JSON API."""
    from tertulia.bot.service import Conversations
    from tertulia.web.server import run_server

    conversations = Conversations([_load(path) for path in bot] if bot else [_load(None)], _store(database))
    try:
        run_server(
            conversations, host=host, port=port, allowed_hosts=allowed_host or [], open_browser=open_, say=remark
        )
    finally:
        conversations.close()


def inspect(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A corpus, index, bot or other artefact.")],
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Say what an artefact is and how it was made. Checks too whether its files are as they were."""
    from dataclasses import asdict

    from tertulia.artefact import read_manifest, verify

    manifest = read_manifest(path)
    problem = None
    try:
        verify(path)
    except TertuliaError as error:
        problem = error
    if json_:
        print_json({**asdict(manifest), "digest": manifest.digest, "intact": problem is None})
    else:
        print(visible(_manifest_text(path, manifest)))
    if problem is not None:
        raise problem
    if not json_:
        print("\nEvery file is as the manifest says.")


def _manifest_text(path: Path, manifest: Any) -> str:
    lines = [f"{path}: a {manifest.kind}, made by Tertulia {manifest.tertulia}", f"digest {manifest.digest}"]
    if manifest.command:
        lines.append(f"made with: {' '.join(manifest.command)}")
    details = {key: value for key, value in manifest.details.items() if not isinstance(value, dict | list)}
    for key, value in (("options", manifest.options), ("counts", manifest.counts), ("details", details)):
        if value:
            lines.append(
                f"{key}: "
                + ", ".join(
                    f"{k} {number(v) if isinstance(v, int) and not isinstance(v, bool) else v}"
                    for k, v in value.items()
                )
            )
    lines += [
        f"input: {i.get('name')} ({number(i.get('bytes'))} bytes, sha256 {str(i.get('sha256'))[:16]}…)"
        for i in manifest.inputs
    ]
    lines += [
        f"{name}: {value}" for name, value in (("licence", manifest.licence), ("citation", manifest.citation)) if value
    ]
    for kind, findings in manifest.report.items():
        lines += [
            f"{kind}: {number(f['count'])} {reason}"
            for reason, f in (findings.items() if isinstance(findings, dict) else ())
            if isinstance(f, dict) and isinstance(f.get("count"), int)
        ]
    rows = [[name, number(entry.bytes), entry.sha256[:16] + "…"] for name, entry in manifest.files.items()]
    rows += [[f"{name}/", "", digest[:16] + "…"] for name, digest in manifest.parts.items()]
    return "\n".join(lines) + "\n\n" + table(["file", "bytes", "sha256"], rows, right={1})


def _load(path: Path | None) -> Any:
    from tertulia.bot.pipeline import Bot
    from tertulia.bot.starter import starter_bot
    from tertulia.cli.rerankers import open_reranker

    if path is None:
        return Bot(starter_bot(), check_digests=False)
    if not path.exists():
        raise InputError("there is no bot at this path", where=path, hint="tertulia bot build CORPUS -o DIR makes one")
    return Bot(path, open_reranker=open_reranker)


def _store(url: str | None) -> Any:
    from tertulia.log.location import default_database
    from tertulia.log.store import LogStore

    return LogStore(default_database() if url is None else url)


def _say(conversations: Conversations, identifier: str, text: str, json_: bool) -> None:
    turn = conversations.say(identifier, text)
    if json_:
        print_json(turn.to_json(), lines=True)
    else:
        print(visible(f"you: {turn.text}\n{conversations.bot().name}: {turn.reply}\n"), flush=True)


def _talk(conversations: Conversations, identifier: str, json_: bool) -> None:
    from rich.console import Console

    bot = conversations.bot()
    interactive = sys.stdin.isatty() and not json_
    console = Console(stderr=json_, highlight=False, emoji=False, markup=False)
    if interactive:
        import contextlib

        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - gives input() history and editing

        console.print(f"{bot.name}  ·  {_HELP}", style="dim")
        if bot.config.greeting:
            console.print(f"\n{bot.name}: ", style="bold cyan", end="")
            console.print(visible(bot.config.greeting))
    spoken = 0
    while True:
        try:
            text = input("\nyou: " if interactive else "")
        except EOFError:
            break
        except UnicodeDecodeError:
            remark("that was not UTF-8, so it was not said")
            continue
        command, _, rest = text.strip().partition(" ")
        if command in {"/quit", "/exit"}:
            break
        try:
            if command.startswith("/"):
                _command(conversations, identifier, command, rest.strip(), spoken)
                continue
            if not text.strip():
                continue
            turn = conversations.say(identifier, text)
        except InputError as error:
            remark(error.one_line())
            continue
        spoken = turn.number
        if json_:
            print_json(turn.to_json(), lines=True)
        else:
            console.print(f"{bot.name}: ", style="bold cyan", end="")
            console.print(visible(turn.reply))
            console.print(
                f"      {turn.component} · {turn.confidence:.2f} · {turn.elapsed_ms:.1f} ms"
                + (f" · {turn.topic}" if turn.topic else ""),
                style="dim",
            )
    remark(f"\nconversation {identifier}; tertulia bot why {identifier} explains its last turn")


def _command(conversations: Conversations, identifier: str, command: str, rest: str, spoken: int) -> None:
    from tertulia.bot.explain import explain

    if command == "/why":
        if not spoken:
            print("Nothing has been said yet.")
            return
        turn = conversations.turn(identifier, int(rest) if rest.isdigit() else spoken)
        print(visible(explain(turn, conversations.source(turn["evidence"]), width=line_width())))
    elif command == "/topic" and rest:
        print(f"Topic: {conversations.wish_topic(identifier, rest)}")
    elif command in {"/topic", "/topics"}:
        print("Topics: " + ", ".join(conversations.bot().topics))
    else:
        print(_HELP)
