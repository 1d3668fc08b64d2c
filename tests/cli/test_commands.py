"""The command line as a stranger meets it: help, exit codes, one clear line for whatever goes wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tertulia import __version__
from tertulia.cli.main import app, main
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.formats.registry import FORMATS

from ..conftest import SMALL
from ..formats.test_self_dialogue import GOOD, TWENTY, lay_out, row
from ..log.conftest import environment

TERTULIA = [sys.executable, "-m", "tertulia.cli.main"]


def run(*arguments: str | Path, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TERTULIA, *map(str, arguments)],
        env={**environment(), **changes},
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
    )


def failed(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What a command that must fail says: one line on stderr, nothing on stdout, exit code 1."""
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    assert code == 1, err
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "unexpected" not in err
    return err


def printed(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert "Traceback" not in err
    return out


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(lay_out(tmp_path / "source", {"corpus/films/b.csv": GOOD, "blocked_workers.txt": b""}))


@pytest.fixture
def corpus(source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    printed(capfd, "corpus", "import", "self-dialogue", source, "-o", tmp_path / "sd")
    return tmp_path / "sd"


# -- help -------------------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[list[str], Any]]:
    """Every command of the tree with the words that lead to it, groups too."""

    def walk(words: list[str], command: Any) -> Iterator[tuple[list[str], Any]]:
        yield words, command
        for name, below in getattr(command, "commands", {}).items():
            yield from walk([*words, name], below)

    return walk([], typer.main.get_command(app))


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_every_command_has_help_with_an_example(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    for option in ("--help", "-h"):
        text = printed(capfd, *words, option)
        assert text.startswith(f"Usage: {' '.join(['tertulia', *words])}")
    command = {" ".join(path): found for path, found in commands()}[" ".join(words)]
    if getattr(command, "commands", None):
        return
    example = " ".join(text.split()).partition("Example: ")[2]
    assert example.startswith(f"tertulia {' '.join(words)}")
    for parameter in command.params:
        assert parameter.help, f"{parameter.name} of {' '.join(words)} is not explained"


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_summaries_in_lists_of_commands_are_not_cut(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    listing = printed(capfd, *words, "--help").partition("Commands:")[2]
    assert "..." not in listing


def test_the_version(capfd: pytest.CaptureFixture[str]) -> None:
    assert printed(capfd, "--version") == f"tertulia {__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom tertulia.cli.main import main\n"
        "assert main(['--help']) == 0\nassert main(['corpus', 'import', '--help']) == 0\n"
        "heavy = {'numpy', 'pyarrow', 'fastapi', 'uvicorn', 'sqlalchemy', 'rich', 'wordfreq', 'rivescript'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stderr == "[]\n"


# -- exit codes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["corpus"],
        ["nonsense"],
        ["corpus", "nonsense"],
        ["corpus", "stats"],
        ["corpus", "stats", "a", "b"],
        ["corpus", "stats", "--nonsense"],
        ["corpus", "import", "jsonl", "x"],
        ["corpus", "import", "jsonl", "x", "-o"],
        ["serve", "--port", "many"],
        ["serve", "--port", "70000"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "Usage: tertulia" in err or "Error: Option '-o' requires an argument." in err
    assert "Traceback" not in err


def test_as_a_program() -> None:
    for words, code in ((["corpus", "formats"], 0), (["corpus", "stats", "/no/such/path"], 1), (["nonsense"], 2)):
        done = run(*words)
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert (done.stdout == "") == (code != 0)


def test_ctrl_c_exits_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "endless.jsonl"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*TERTULIA, "corpus", "import", "jsonl", str(pipe), "-o", str(tmp_path / "c")],
        # An interrupt between open() and the with statement leaves a file to the garbage collector: no warning of that.
        env={**environment(), "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w") as feeder:
        feeder.write(json.dumps({"id": "a", "utterances": []}) + "\n")
        feeder.flush()
        end = time.monotonic() + 30
        while not any(entry.name.endswith(".part") for entry in tmp_path.iterdir()):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["endless.jsonl"]


def test_debug_shows_where_it_went_wrong(tmp_path: Path) -> None:
    done = run("--debug", "corpus", "stats", tmp_path / "nothing")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "InputError" in done.stderr
    done = run("corpus", "stats", tmp_path / "nothing", TERTULIA_DEBUG="1")
    assert "Traceback" in done.stderr


def test_what_nobody_foresaw_is_still_one_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: object) -> list[str]:
        raise LookupError("two\nlines \x1b[2J")

    monkeypatch.setattr("tertulia.registry.Registry.names", fail)
    assert main(["corpus", "formats"]) == 1
    assert capfd.readouterr().err == "error: unexpected LookupError: two lines \ufffd[2J (--debug shows where)\n"


# -- bad input --------------------------------------------------------------------------------------------------------


def test_bad_input_is_one_clear_line(tmp_path: Path, capfd: pytest.CaptureFixture[str], corpus: Path) -> None:
    def sources(name: str, content: bytes) -> str:
        return lay_out(tmp_path / name, {"t/b.csv": content})

    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    out = ["-o", tmp_path / "out"]
    importing = ["corpus", "import", "self-dialogue"]
    said = failed(capfd, *importing, tmp_path / "empty", *out)
    assert "file; expected topic folders of AMT result files" in said
    said = failed(capfd, *importing, sources("other", b"name,age\nann,9\n"), *out)
    assert "b.csv:1: has no answer column; expected columns named Answer.sentence1" in said
    said = failed(capfd, *importing, sources("cut", GOOD[:-20]), *out)
    assert "b.csv:3: ends in the middle of a row; expected 14 fields" in said
    said = failed(capfd, *importing, tmp_path / "nothing", *out)
    assert "nothing: there is nothing at this path" in said
    said = failed(capfd, "corpus", "import", "cvs", tmp_path / "source", *out)
    assert "there is no format 'cvs'; there are: ccpe, chat-jsonl, " in said
    said = failed(capfd, *importing, tmp_path / "source", "-o", corpus)
    assert "sd: exists already (--overwrite replaces it)" in said
    said = failed(capfd, *importing, tmp_path / "source", "-o", tmp_path / "file")
    assert "file: is a file; expected the path of a directory" in said
    said = failed(capfd, *importing, tmp_path / "source", "-o", tmp_path / "file" / "below")
    assert "cannot be written: a part of its path is a file" in said
    said = failed(capfd, *importing, tmp_path / "source", "-o", "/proc/nowhere")
    assert "/proc/nowhere: cannot be written" in said
    said = failed(capfd, "corpus", "export", "log", corpus, *out)
    assert "the format 'log' is read, not written" in said
    said = failed(capfd, "corpus", "export", "jsonl", corpus, "-o", tmp_path / "file")
    assert "file: exists already (--overwrite replaces it)" in said
    said = failed(capfd, "corpus", "show", corpus, "A9")
    assert "sd: has no dialogue 'A9'" in said
    said = failed(capfd, "corpus", "import", "log", tmp_path / "no.sqlite", *out)
    assert "no.sqlite: there is no database at this path" in said
    for command in (["corpus", "stats"], ["corpus", "verify"], ["corpus", "show"], ["inspect"]):
        assert "there is nothing at this path" in failed(capfd, *command, tmp_path / "nothing")
        assert "has no manifest.json, so it is not an artefact of Tertulia" in failed(
            capfd, *command, tmp_path / "empty"
        )
    assert not (tmp_path / "out").exists()


def test_a_damaged_corpus_is_one_clear_line(capfd: pytest.CaptureFixture[str], corpus: Path) -> None:
    file = corpus / "utterances.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 16
    file.write_bytes(data)
    for command in (["stats"], ["verify"], ["export", "jsonl"]):
        output = ["-o", corpus.parent / "out"] if command[0] == "export" else []
        said = failed(capfd, "corpus", *command, corpus, *output)
        assert "utterances.parquet: has the digest" in said
        assert "its manifest says" in said
    assert main(["inspect", str(corpus)]) == 1
    out, err = capfd.readouterr()
    assert "a corpus, made by Tertulia" in out
    assert "Every file is" not in out
    assert "has the digest" in err
    assert main(["inspect", str(corpus), "--json"]) == 1
    assert json.loads(capfd.readouterr().out)["intact"] is False
    (corpus / "manifest.json").write_text("{")
    assert "manifest.json: is not a manifest of Tertulia" in failed(capfd, "corpus", "stats", corpus)


def test_a_file_name_cannot_play_with_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = "evil\x1b]0;title\x07\x1b[2J\x9b31m\nerror: all is well"
    said = failed(capfd, "corpus", "import", "jsonl", tmp_path / name, "-o", tmp_path / "out")
    assert all(character.isprintable() for character in said.rstrip("\n"))
    (tmp_path / name).write_text("{")
    said = failed(capfd, "corpus", "import", "jsonl", tmp_path / name, "-o", tmp_path / "out")
    assert all(character.isprintable() for character in said.rstrip("\n"))
    done = run("corpus", "stats", tmp_path / os.fsdecode(b"caf\xe9"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


NASTY = "clear \x1b[2J bell \x07 c1 \x9b2J del \x7f nul \0 end"


@pytest.fixture
def nasty(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    notes = [
        {"layer": NASTY, "annotator": NASTY, "label": NASTY},
        {"layer": "span", "annotator": "a", "position": 0, "start": 0, "end": 5},
    ]
    line = {
        "id": f"d {NASTY}",
        "domain": NASTY,
        "utterances": [{"speaker": NASTY, "text": NASTY + "\nsecond line"}],
        "annotations": notes,
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n" + "{\n")
    printed(capfd, "corpus", "import", "jsonl", tmp_path / "a.jsonl", "-o", tmp_path / "nasty", "--skip-bad")
    return tmp_path / "nasty"


def test_a_text_cannot_play_with_the_terminal(nasty: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["corpus", "show", nasty], ["corpus", "stats", nasty], ["inspect", nasty]):
        for option in ([], ["--json"]):
            text = printed(capfd, *words, *option)
            assert all(c.isprintable() or c == "\n" for c in text)
    assert main(["corpus", "show", str(nasty), f"d {NASTY}", "--json"]) == 0
    value = json.loads(capfd.readouterr().out)
    assert value["utterances"][0]["text"] == NASTY + "\nsecond line"
    assert value["domain"] == NASTY
    assert main(["corpus", "show", str(nasty), f"d {NASTY}"]) == 0
    text = capfd.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\n" + " " * (len(NASTY) + 7) + "second line\n" in text


# -- what is printed --------------------------------------------------------------------------------------------------


def test_an_import_says_what_it_left_out_and_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [
        row("A1", ["a", "{}", "c", "{}"]),
        row("A2", ["x", "y", "z", "{}"], WorkerId="BAD"),
        row("A3", TWENTY[:4], Reject="no"),
        row("A4", ["a", "{}", "c", "{}"]),
    ]
    source = lay_out(tmp_path / "s", {"corpus/t/b.csv": rows, "blocked_workers.txt": b"BAD\n"})
    assert main(["corpus", "import", "self-dialogue", source, "-o", str(tmp_path / "c")]) == 0
    out, err = capfd.readouterr()
    assert (
        out
        == f"""{tmp_path / "c"}: 2 dialogues, 4 utterances

left out:
  1  rows by blocked workers  (first: corpus/t/b.csv:3)
  1  rejected rows  (first: corpus/t/b.csv:4)

kept, and worth knowing:
  4  rows read  (first: corpus/t/b.csv:2)
  5  empty answers in all rows  (first: corpus/t/b.csv:2)
  4  empty answers  (first: corpus/t/b.csv:2)
  2  conversations with an empty answer in the middle  (first: corpus/t/b.csv:2)
  1  rows that repeat another row's answers, those left out included  (first: corpus/t/b.csv:5)
  1  exact duplicates of another conversation  (first: corpus/t/b.csv:5)
"""
    )
    assert "tertulia corpus show" in err


def test_one_dialogue_is_printed_with_its_annotations(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from tertulia.artefact import Manifest
    from tertulia.corpus.store import write_corpus

    utterances = [Utterance(0, 0, "Ann", "hello there"), Utterance(1, 1, "Bo", "good\nevening")]
    notes = [
        Annotation("d", "greeting", "me", 0, 6, 11, "place"),
        Annotation("d", "rating", "you", value=4.0),
    ]
    write_corpus(
        tmp_path / "c", [Record(Dialogue("d", utterances, "hall", attributes={"n": 1}), notes)], Manifest("corpus")
    ).close()
    assert printed(capfd, "corpus", "show", tmp_path / "c", "d") == (
        "d  ·  hall\n"
        "\n"
        "  0  Ann  hello there\n"
        "            ↳ greeting (me): place “there”\n"
        "  1  Bo   good\n"
        "          evening\n"
        "dialogue  rating (you): 4.0\n"
        "\n"
        "n=1\n"
    )


def test_an_empty_corpus_can_be_looked_at(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").touch()
    printed(capfd, "corpus", "import", "jsonl", tmp_path / "a.jsonl", "-o", tmp_path / "c")
    assert printed(capfd, "corpus", "show", tmp_path / "c") == f"{tmp_path / 'c'}: 0 dialogues\n"
    assert "dialogues" in printed(capfd, "corpus", "stats", tmp_path / "c")
    assert "No publication is known" in printed(capfd, "corpus", "verify", tmp_path / "c")
    assert json.loads(printed(capfd, "corpus", "show", tmp_path / "c", "--json")) == {"dialogues": 0, "first": []}


def test_json_has_the_documented_keys(tmp_path: Path, capfd: pytest.CaptureFixture[str], corpus: Path) -> None:
    def keys(*words: str | Path) -> list[str]:
        return sorted(json.loads(printed(capfd, *words, "--json")))

    source = tmp_path / "source"
    assert keys("corpus", "import", "self-dialogue", source, "-o", tmp_path / "b") == ["corpus", "counts", "report"]
    assert keys("corpus", "export", "jsonl", corpus, "-o", tmp_path / "b.jsonl") == ["dialogues", "output", "report"]
    assert keys("corpus", "formats") == sorted(FORMATS.names())
    assert keys("corpus", "show", corpus) == ["dialogues", "first"]
    shown = json.loads(printed(capfd, "corpus", "show", corpus, "A1", "--json"))
    assert shown == json.loads((tmp_path / "b.jsonl").read_text().splitlines()[0])
    documented = {"dialogues", "domains", "layers", "speakers", "splits", "utterances", "words"}
    assert documented <= set(keys("corpus", "stats", corpus))
    found = json.loads(printed(capfd, "corpus", "verify", corpus, "--json"))
    documented = {"contradictions", "figures", "misprints", "publication", "topics", "topics_met"}
    assert set(found) == documented | {"agreement", "name", "notes", "partial"}
    figure = {"difference", "found", "measure", "printed", "published", "what"}
    assert set(found["figures"][0]) == figure | {"digits", "met", "unit"}
    assert keys("corpus", "split", corpus, "-o", tmp_path / "s") == ["output", "splits"]
    assert keys("corpus", "sample", corpus, "-n", "1", "-o", tmp_path / "one") == ["counts", "output"]
    both = (corpus, tmp_path / "s", "--prefix", "-o", tmp_path / "both")
    assert keys("corpus", "merge", *both) == ["counts", "output", "report"]
    manifest = json.loads(printed(capfd, "inspect", corpus, "--json"))
    assert manifest["intact"] is True
    assert {"kind", "digest", "files", "counts", "inputs", "report"} <= manifest.keys()


def test_documented_json_keys_are_the_ones_that_are_tested() -> None:
    text = (Path(__file__).parents[2] / "docs" / "corpus.md").read_text(encoding="utf-8")
    for command in ("import", "export", "formats", "show DIR", "show DIR ID", "stats", "verify"):
        assert f"| `corpus {command}` |" in text


def test_verify_contradicts_what_contradicts_itself(capfd: pytest.CaptureFixture[str], corpus: Path) -> None:
    text = printed(capfd, "corpus", "verify", corpus)
    assert "every file is as its manifest says" in text
    assert "The publication contradicts itself: it states 141,945 turns in all" in text
    assert "sum to 346,216." in text
    assert "A misprint: the words of Horror are printed as “428,33”, read here as 42,833." in text
    assert "of the 18 topics 0 in both conversations and turns." in text


# -- surroundings -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose one dialogue prints more than a pipe holds."""
    folder = tmp_path_factory.mktemp("large")
    line = {"id": "d", "utterances": [{"speaker": "A", "text": "naïve — “words” 日本 🎉 " * 30} for _ in range(2_000)]}
    (folder / "a.jsonl").write_text(json.dumps(line))
    assert main(["corpus", "import", "jsonl", str(folder / "a.jsonl"), "-o", str(folder / "c")]) == 0
    return folder / "c"


@pytest.mark.parametrize("option", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_leaves_is_no_error(large: Path, option: list[str]) -> None:
    process = subprocess.Popen(
        [*TERTULIA, "corpus", "show", str(large), "d", *option],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=30) == 0


def test_a_full_disk_or_a_closed_stdout_is_no_traceback(large: Path) -> None:
    for shell, code in (("> /dev/full", 1), (">&-", 0)):
        command = " ".join([*TERTULIA, "corpus", "stats", str(large), shell])
        done = subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, text=True, timeout=30)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr == ("error: No space left on device\n" if code else "")


@pytest.mark.parametrize(
    "surroundings",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=["C", "POSIX without UTF-8", "Latin-1"],
)
def test_any_locale_will_do(large: Path, surroundings: dict[str, str]) -> None:
    for words in (["corpus", "formats"], ["corpus", "show", large]):
        done = subprocess.run(
            [*TERTULIA, *map(str, words)], env={**environment(), **surroundings}, capture_output=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert b"error" not in done.stderr
    done = subprocess.run(
        [*TERTULIA, "corpus", "show", str(large), "d", "--json"],
        env={**environment(), **surroundings},
        capture_output=True,
        timeout=60,
    )
    assert "日本 🎉" in json.loads(done.stdout)["utterances"][0]["text"], "JSON loses nothing, whatever the encoding"


def test_progress_and_remarks_go_to_stderr(tmp_path: Path, source: Path) -> None:
    done = run("corpus", "import", "self-dialogue", source, "-o", tmp_path / "c", "--json")
    assert json.loads(done.stdout)["counts"]["dialogues"] == 2
    assert done.stderr == ""


# -- with a bot -------------------------------------------------------------------------------------------------------


def test_a_conversation_by_script(small_bot: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.sqlite"
    words = ["chat", "--bot", small_bot, "--database", log, "--json"]
    out = printed(capfd, *words, "--say", SMALL[0].utterances[0].text, "--say", "xyzzy \x1b[2J")
    first, second = map(json.loads, out.splitlines())
    documented = {"turn", "text", "reply", "component", "confidence", "evidence", "topic", "candidates", "elapsed_ms"}
    assert documented <= first.keys()
    assert (first["turn"], second["turn"]) == (1, 2)
    assert "\x1b" not in out
    explained = json.loads(printed(capfd, "bot", "why", "last", "--database", log, "--bot", small_bot, "--json"))
    assert explained["turn"] == 2
    assert explained["trace"]
    text = printed(capfd, "bot", "why", "last", "--database", log, "--bot", small_bot)
    assert second["reply"].split()[0] in text


def test_a_conversation_from_a_pipe(small_bot: Path, tmp_path: Path) -> None:
    said = "what is your favourite film\n/why\n/topics\n/nonsense\n\n" + "x" * 5_000 + "\n/quit\nnot said\n"
    done = subprocess.run(
        [*TERTULIA, "chat", "--bot", str(small_bot), "--database", str(tmp_path / "log.sqlite")],
        input=said.encode() + b"\xff\n",
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert "the limit is 4,000" in done.stderr.decode()
    assert "not said" not in done.stdout.decode()


def test_chat_and_why_say_what_is_missing(small_bot: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.sqlite"
    said = failed(capfd, "chat", "--bot", tmp_path / "no", "--database", log, "--say", "x")
    assert "there is no bot at this path (tertulia bot build CORPUS -o DIR makes one)" in said
    said = failed(capfd, "chat", "--bot", small_bot, "--database", tmp_path / "no" / "log.sqlite", "--say", "x")
    assert "its folder does not exist" in said
    assert "there is no database at this path" in failed(capfd, "bot", "why", "last", "--database", log)
    said = failed(capfd, "chat", "--bot", small_bot, "--database", log, "--say", "  ")
    assert "the message is empty" in said
    said = failed(capfd, "chat", "--bot", small_bot, "--database", log, "--say", "x" * 1_000_000)
    assert "the limit is 4,000" in said
    assert "nothing has been said in this log yet" in failed(capfd, "bot", "why", "last", "--database", log)
    assert "there is no turn" in failed(capfd, "bot", "why", "nobody/3", "--database", log)


def test_bots_are_built_grown_and_shrunk(
    corpus: Path, small_corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "bot"
    built = json.loads(printed(capfd, "bot", "build", corpus, "-o", bot, "--name", "Edda", "--json"))
    assert built["counts"]["dialogues"] == 2
    assert json.loads(printed(capfd, "bot", "add", bot, small_corpus, "--json"))["dialogues"] == 6
    assert json.loads(printed(capfd, "bot", "remove", bot, "films-1", "A1", "--json"))["dialogues"] == 4
    assert "exists already" in failed(capfd, "bot", "build", corpus, "-o", bot)
    said = failed(capfd, "corpus", "import", "self-dialogue", tmp_path / "source", "-o", bot, "--overwrite")
    assert "is a bot, and a corpus is to be written, so it is left alone" in said
    assert "Every file is as the manifest says." in printed(capfd, "inspect", bot)
