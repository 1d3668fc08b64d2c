import json
import shutil
from pathlib import Path

import pytest

from tertulia.artefact import read_manifest, verify, write_manifest
from tertulia.bot.assemble import add_to_bank, build_from_corpora, remove_from_bank
from tertulia.bot.build import BotOptions, build_bot
from tertulia.bot.pipeline import Bot
from tertulia.bot.starter import starter_bot
from tertulia.bot.state import State
from tertulia.corpus.model import Record
from tertulia.corpus.store import write_corpus
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tests.conftest import SMALL, Manifest, dialogue


def files(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def test_the_same_corpus_gives_the_same_bytes(small_corpus: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        build_from_corpora([small_corpus], tmp_path / name, BotOptions(name="x"))
    assert files(tmp_path / "a") == files(tmp_path / "b")
    manifest = read_manifest(tmp_path / "a", "bot")
    assert manifest.counts == {"dialogues": 4, "utterances": 16, "topics": 3}
    assert manifest.inputs[0]["sha256"] == read_manifest(small_corpus).digest
    assert set(manifest.parts) == {"bank"}


def test_a_bank_grows_and_shrinks_in_place(small_corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "bot"
    build_from_corpora([small_corpus], path, BotOptions(name="x"))
    more = tmp_path / "more"
    new = dialogue("owls-1", ["do owls play the trombone", "Only the tawny ones, and badly."], "nature")
    write_corpus(more, iter([Record(new)]), Manifest("corpus"))
    assert add_to_bank(path, [more])["dialogues"] == 5
    verify(path)
    bot = Bot(path)
    turn, _ = bot.respond(State("c"), "do owls play the trombone?")
    assert turn.reply == "Only the tawny ones, and badly."
    assert "nature" in bot.topics
    bot.close()
    with pytest.raises(InputError, match="owls-1"):
        add_to_bank(path, [more])
    assert remove_from_bank(path, ["owls-1"]) == {"removed": 1, "dialogues": 4, "utterances": 16}
    with pytest.raises(InputError, match="no-such"):
        remove_from_bank(path, ["no-such"])
    bot = Bot(path)
    turn, _ = bot.respond(State("c"), "do owls play the trombone?")
    assert turn.reply != "Only the tawny ones, and badly."
    bot.close()


def test_a_bot_of_nothing_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no dialogue to answer from"):
        build_bot([], tmp_path / "bot", BotOptions(name="x"))
    with pytest.raises(InputError, match="is not a folder"):
        build_bot(SMALL, tmp_path / "bot", BotOptions(name="x"), rules=tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_a_rule_is_said_before_the_bank_is_built(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "a.rive").write_text("+ hello\n- hi\n\n+ hello (there\n- hm\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"a\.rive:4"):
        build_bot(SMALL, tmp_path / "bot", BotOptions(name="x"), rules=rules)
    assert not (tmp_path / "bot").exists()


def test_a_changed_bank_is_refused_and_an_edited_rule_is_not(small_bot: Path, tmp_path: Path) -> None:
    path = tmp_path / "bot"
    shutil.copytree(small_bot, path)
    (path / "backup.txt").write_text("Only this.\n", encoding="utf-8")
    bot = Bot(path)
    bot.close()
    bank = next(file for file in (path / "bank").iterdir() if file.suffix == ".index")
    content = bytearray(bank.read_bytes())
    content[-1] ^= 1
    bank.write_bytes(bytes(content))
    with pytest.raises(ArtefactError, match=r"has the digest .*; its manifest says"):
        Bot(path)


def test_another_artefact_is_no_bot(small_corpus: Path) -> None:
    with pytest.raises(ArtefactError, match="is a corpus; expected a bot"):
        Bot(small_corpus)


def test_a_bank_in_another_language_is_refused(small_bot: Path, tmp_path: Path) -> None:
    path = tmp_path / "bot"
    shutil.copytree(small_bot, path)
    text = (path / "bot.toml").read_text(encoding="utf-8")
    (path / "bot.toml").write_text(text.replace('language = "en"', 'language = "zh"'), encoding="utf-8")
    with pytest.raises(ArtefactError, match="is a bank in the language 'en'; the bot's is 'zh'"):
        Bot(path)


def test_a_chinese_bot_answers_in_chinese(tmp_path: Path) -> None:
    bank = [dialogue("zh-1", ["你喜欢什么音乐", "我喜欢钢琴曲，安静又温柔。"], "音乐")]
    build_bot(bank, tmp_path / "bot", BotOptions(name="小茶", language="zh"))
    bot = Bot(tmp_path / "bot")
    turn, _ = bot.respond(State("c"), "你喜欢什么音乐？")
    assert (turn.reply, turn.component) == ("我喜欢钢琴曲，安静又温柔。", "matching")
    turn, _ = bot.respond(State("c"), "你好！")
    assert turn.component == "rules"
    turn, _ = bot.respond(State("c"), "最近太累了，我不想活了")
    assert "12356" in turn.reply
    bot.close()


def test_a_manifest_of_a_later_schema_is_refused(small_bot: Path, tmp_path: Path) -> None:
    path = tmp_path / "bot"
    shutil.copytree(small_bot, path)
    manifest = read_manifest(path)
    manifest.schema = 99
    write_manifest(path, manifest)
    with pytest.raises(ArtefactError, match="its schema is 99"):
        Bot(path)


def test_the_starter_bot_is_built_once_and_mended_when_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = starter_bot()
    before = (path / "manifest.json").stat().st_mtime_ns
    assert starter_bot() == path
    assert (path / "manifest.json").stat().st_mtime_ns == before
    (path / "bank" / "manifest.json").write_text("{}", encoding="utf-8")
    assert starter_bot() == path
    bot = Bot(path)
    assert bot.name == "Sol"
    assert len(bot.topics) >= 10
    counts = json.loads((path / "manifest.json").read_text(encoding="utf-8"))["counts"]
    assert counts["dialogues"] >= 300
    bot.close()


def test_a_banked_line_that_no_database_takes_is_said_clean(tmp_path: Path) -> None:
    bank = [
        dialogue("d", ["what is in the box\x00", "A \x00cat\x1b[31m, perhaps."]),
        dialogue("e", ["what is in the bag", "\x01"]),
    ]
    build_bot(bank, tmp_path / "bot", BotOptions(name="x"))
    bot = Bot(tmp_path / "bot")
    turn, _ = bot.respond(State("c"), "what is in the box")
    assert turn.reply == "A cat[31m, perhaps."
    assert turn.to_json()["evidence"]["context"] == "what is in the box"
    turn, _ = bot.respond(State("c"), "what is in the bag")
    assert turn.reply != "\x01"
    bot.close()
