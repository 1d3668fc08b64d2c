"""``tertulia``: the command line's root, and what every command does with errors."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from tertulia import __version__
from tertulia.cli import bot, corpus, ranking, stackexchange, talk
from tertulia.cli.crawl import crawl, links
from tertulia.cli.fetch import fetch
from tertulia.cli.output import complain, prepare_streams
from tertulia.errors import TertuliaError, UsageError

__all__ = ["app", "main"]

_INTERRUPTED = 130
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="tertulia",
    help="People's conversations, all the way to an agent that can be measured and trusted.\n\n"
    "Start with: tertulia chat   (in the terminal)   or: tertulia serve --open   (the page)",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Every command has --help with an example. --debug shows where an unexpected error came from.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tertulia {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


talk.register(app)
app.command("fetch", epilog="Example: tertulia fetch self-dialogue -o downloads/self-dialogue")(fetch)
app.add_typer(corpus.app, name="corpus")
stackexchange.app.command("links", epilog="Example: tertulia stackexchange links threads -o links.jsonl")(links)
stackexchange.app.command("crawl", epilog="Example: tertulia stackexchange crawl links.jsonl -o pages")(crawl)
app.add_typer(stackexchange.app, name="stackexchange")
app.add_typer(ranking.app, name="ranking")
app.add_typer(bot.app, name="bot")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for what a message explains, 2 for wrong usage, 130 on Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or bool(os.environ.get("TERTULIA_DEBUG"))
    words = [word for word in words if word != "--debug"]
    prepare_streams()
    try:
        command = typer.main.get_command(app)
        with command.make_context("tertulia", words) as context:
            command.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except typer.Exit as done:
        return done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print(file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (head, less): nothing is wrong.
        _leave_stdout()
        return 0
    except _UsageError as error:
        # Typer's own class or, before 0.26, click's: both know how to show themselves.
        error.show()  # type: ignore[attr-defined]
        return UsageError.exit_code
    except Exception as error:
        if debug:
            raise
        if isinstance(error, TertuliaError):
            complain(error.one_line())
            return error.exit_code
        if isinstance(error, OSError):
            _leave_stdout()
            where = f"{error.filename}: " if error.filename else ""
            complain(f"{where}{error.strerror or error}")
        else:
            complain(f"unexpected {type(error).__name__}: {error} (--debug shows where)")
        return TertuliaError.exit_code


def _leave_stdout() -> None:
    """Let what cannot be printed go nowhere, so that Python does not complain of it at exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
