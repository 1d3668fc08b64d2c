"""``tertulia``: the command line's root, and what every command does with errors."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import click
import typer

from tertulia import __version__
from tertulia.cli import bot, corpus, talk
from tertulia.errors import TertuliaError

__all__ = ["app", "main"]

_INTERRUPTED = 130

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
app.add_typer(corpus.app, name="corpus")
app.add_typer(bot.app, name="bot")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for what a message explains, 2 for wrong usage, 130 on Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or bool(os.environ.get("TERTULIA_DEBUG"))
    words = [word for word in words if word != "--debug"]
    try:
        result: Any = app(words, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.UsageError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print(file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (head, less): nothing is wrong. Python must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except TertuliaError as error:
        if debug:
            raise
        _complain(error.one_line())
        return error.exit_code
    except Exception as error:
        if debug:
            raise
        _complain(f"unexpected {type(error).__name__}: {' '.join(str(error).split())} (--debug shows where)")
        return 1


def _complain(message: str) -> None:
    # Whatever a file name or a cell held must not play with the terminal.
    visible = "".join(character if character.isprintable() else "\ufffd" for character in message)
    encoding = sys.stderr.encoding or "utf-8"
    print(f"error: {visible}".encode(encoding, "replace").decode(encoding), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
