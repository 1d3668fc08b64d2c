"""The rated-tsv format: lines go out as they came in; any table with a header comes in by its columns."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files import gathering
from tertulia.formats.files import lines as lines_module
from tertulia.formats.files.gathering import gathered
from tertulia.formats.rated_tsv import columns as rated_columns
from tertulia.formats.rated_tsv import format as rated_tsv
from tertulia.formats.rated_tsv.format import RatedTsvFormat

from . import mutate
from .ranking import counts, numbers, read, record, texts, write

FORMAT = RatedTsvFormat()
MEANS = "早上 好\t早 啊 !\t4.5\n早上 好\t  关 我  什么 事 \t1.0\n吃 了 吗\t早上 好\t2.0\n早上 好\t你 也 好\t4.0\n"
PAIRS = "good morning\tmorning to you\t4\t5\ngood morning\tmonday\t2\t1\nhungry?\talways\t5\t5\n"


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def again(source: Path, folder: Path, **options: object) -> bytes:
    """What is written of what was read; nothing may be lost on the way."""
    found, _ = read(FORMAT, source, **options)
    assert counts(write(FORMAT, found, folder / "again")) == {}
    return (folder / "again").read_bytes()


def test_means(tmp_path: Path) -> None:
    found, report = read(FORMAT, put(tmp_path / "data.txt", MEANS))
    assert found == [
        record("早上 好", ("早 啊 !", 4.5), ("  关 我  什么 事 ", 1.0)),
        record("吃 了 吗", ("早上 好", 2.0), identifier="00000002"),
        record("早上 好", ("你 也 好", 4.0), identifier="00000003"),
    ]
    assert counts(report) == {"prompts that stood before, apart; each is a context of its own": 1}


def test_ratings_of_two_annotators(tmp_path: Path) -> None:
    found, report = read(FORMAT, put(tmp_path / "data.tsv", PAIRS))
    assert [len(r.candidates) for r in found] == [2, 1]
    assert found[0].candidates[0] == Candidate(0, "morning to you", 4.5, [Rating("1", 4.0), Rating("2", 5.0)])
    assert found[0].candidates[1].relevance == 1.5
    assert counts(report) == {}


@pytest.mark.parametrize(
    "text",
    [
        MEANS,
        PAIRS,
        "\ufeff" + MEANS,
        MEANS.replace("\n", "\r\n"),
        "\ufeff" + PAIRS.replace("\n", "\r\n").removesuffix("\r\n"),
        MEANS.removesuffix("\n"),
        "a\tb\t3\na\tc\t3.50\na\td\t 4e0\nb\tc\t+2.0\n",
        "a\tb\t3.0\t4\na\tc\t\t4\nb\tc\t\t\n",
        "a\tb\t\na\tc\t3.0\n",
        "a\tb\t\t\na\tc\t3\t4\n",
        "a\tb\t1\t2\t3\n",
        "\t\t3.0\n \t \t3.0\n",
        'a "b\tc" d\t3.0\n"\t"\t3.0\n',
        "a\x0b\x0c\x85\u2028b\tc\u2029\t3.0\n",
        "tab ␉ and break ␊\tand ␛␉ itself\t3.0\n",
        "a\\tb\tc\\n\t3.0\n",
        "a\tb\t3.0\nb\tc\t3.0\na\tb\t3.0\n",
        "",
    ],
)
def test_lines_go_out_as_they_came_in(tmp_path: Path, text: str) -> None:
    assert again(put(tmp_path / "data.tsv", text), tmp_path) == text.encode()


def test_prompts_alone(tmp_path: Path) -> None:
    path = put(tmp_path / "prompts.txt", "\ufeffwhere to\nwhere to\nwhat for\nwhere to")
    with pytest.raises(InputError, match=r"prompts\.txt:1: has 1 cell; expected prompt, .*--option fields=prompt"):
        read(FORMAT, path)
    found, _ = read(FORMAT, path, values={"fields": "prompt"})
    assert [(r.context.texts, len(r.candidates)) for r in found] == [
        (["where to"], 2),
        (["what for"], 1),
        (["where to"], 1),
    ]
    assert found[0].candidates[1] == Candidate(1, "")
    assert again(path, tmp_path, values={"fields": "prompt"}) == path.read_bytes()


def test_the_user_may_say_what_the_cells_are(tmp_path: Path) -> None:
    path = put(tmp_path / "data.tsv", "4\thello\thi there\n")
    [found], _ = read(FORMAT, path, values={"fields": "rating, prompt, response"})
    assert found == record("hello", ("hi there", 4.0)) or found.candidates[0].attributes == {"written": "4"}
    [found], _ = read(FORMAT, put(tmp_path / "two.tsv", "hello\thi\n"), values={"fields": "prompt,response"})
    assert found == record("hello", ("hi", None))
    for wrong in ("", "response,rating", "prompt,prompt", "prompt,response,response", "prompt,answer"):
        with pytest.raises(ConfigurationError, match="expected prompt once"):
            read(FORMAT, path, values={"fields": wrong})


def test_all_lines_of_a_prompt_may_be_one_context(tmp_path: Path) -> None:
    path = put(tmp_path / "data.txt", "\ufeff" + MEANS)
    found, _ = read(FORMAT, path, values={"group": "all"})
    assert [[c.text for c in r.candidates] for r in found] == [
        ["早 啊 !", "  关 我  什么 事 ", "你 也 好"],
        ["早上 好"],
    ]
    assert [c.position for c in found[0].candidates] == [0, 1, 2]
    with pytest.raises(ConfigurationError, match="expected runs or all"):
        read(FORMAT, path, values={"group": "some"})


def test_a_folder_of_splits_comes_back(tmp_path: Path) -> None:
    for name, text in (("train.tsv", MEANS), ("dev.tsv", "\ufeff" + MEANS), ("test.tsv", MEANS.replace("\n", "\r\n"))):
        put(tmp_path / "in" / name, text)
    found, _ = read(FORMAT, tmp_path / "in")
    assert [r.context.id for r in found][::3] == ["dev-00000001", "test-00000001", "train-00000001"]
    assert counts(write(FORMAT, found, tmp_path / "out")) == {}
    for path in (tmp_path / "in").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_a_readme_beside_the_data_is_no_data(tmp_path: Path) -> None:
    put(tmp_path / "in" / "data.txt", PAIRS)
    put(tmp_path / "in" / "README.txt", "what this is")
    found, report = read(FORMAT, tmp_path / "in")
    assert len(found) == 2
    assert counts(report) == {"files that are about the data (readme, licence)": 1}


def test_gzip_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data.tsv.gz").write_bytes(gzip.compress(PAIRS.encode()))
    put(tmp_path / "data.tsv", PAIRS)
    assert read(FORMAT, tmp_path / "data.tsv.gz")[0] == read(FORMAT, tmp_path / "data.tsv")[0]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\tb\t3.0\na\tb\n", 2, "has 2 cells; expected prompt, response, rating"),
        ("a\tb\t3.0\na\tb\t3\t4\n", 2, "has 4 cells; expected prompt, response, rating"),
        ("a\tb\t3.0\n\na\tb\tgood\n", 3, 'the rating holds "good"; expected a number'),
        ("query\treply\tscore\na\tb\t3\n", 1, "a table with a header is read with --columns"),
        ("a\tb\t3.0\na\tb\tNaN\n", 2, 'the rating holds "NaN"'),
        ("a" + "\tb" * 200 + "\n", 1, "has 201 cells"),
    ],
)
def test_what_does_not_hold_is_named(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = put(tmp_path / "data.tsv", text)
    with pytest.raises(InputError) as caught:
        read(FORMAT, path)
    assert caught.value.where == f"{path}:{line}"
    assert problem in caught.value.one_line()
    _, report = read(FORMAT, path, skip_bad=True)
    assert counts(report)["malformed records"] == 1


def test_bytes_that_are_not_utf8_and_lines_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 50)
    path = tmp_path / "data.tsv"
    path.write_bytes(b"a\tb\t3.0\na\t\xff\t3.0\n" + b"x" * 500 + b"\na\tc\t3.0\n")
    with pytest.raises(InputError, match=r"data\.tsv:2: is not UTF-8 \(byte 2 of the line\)"):
        read(FORMAT, path)
    [found], report = read(FORMAT, path, skip_bad=True)
    assert [candidate.text for candidate in found.candidates] == ["b", "c"]
    assert counts(report)["malformed records"] == 2


def test_what_is_odd_is_counted(tmp_path: Path) -> None:
    text = "\ufeffa\tb\t3.0\n\na\t\t7.0\r\n\tc\t\n"
    _, report = read(FORMAT, put(tmp_path / "data.tsv", text))
    assert counts(report) == {
        "blank lines": 1,
        "files with a byte-order mark": 1,
        "ratings outside 1 to 5": 1,
        "empty responses": 1,
        "empty prompts": 1,
        "pairs without a rating": 1,
        "lines that end otherwise than the first (CRLF, LF)": 1,
    }


@st.composite
def sets(draw: st.DrawFn) -> list[RankingRecord]:
    """Sets of one form as the format holds them: the prompt is never that of the context before."""
    width = draw(st.sampled_from([0, 0, 2, 3]))
    found: list[RankingRecord] = []
    for split in draw(st.sampled_from([[None], ["dev", "train"]])):
        before = None
        for number in range(1, draw(st.integers(1, 4)) + 1):
            prompt = draw(texts)
            prompt = prompt + str(number) if prompt == before or prompt.startswith("\ufeff") else prompt
            before = prompt
            candidates = []
            for position in range(draw(st.integers(1, 3))):
                candidate = Candidate(position, draw(texts))
                if width:
                    candidate.ratings = [Rating(str(n), draw(numbers)) for n in range(1, width + 1)]
                    candidate.relevance = sum(rating.value for rating in candidate.ratings) / width
                else:
                    candidate.relevance = draw(numbers)
                candidates.append(candidate)
            identifier = f"{split}-{number:08d}" if split else f"{number:08d}"
            context = Context(identifier, [Turn("user", prompt.lstrip("\ufeff") or "x")], split=split)
            found.append(RankingRecord(context, candidates))
        for one, other in pairwise(found):
            if one.context.turns == other.context.turns:
                other.context.turns[0].text += "+"
    return found


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records=sets())
def test_any_set_comes_back_from_its_lines(
    tmp_path_factory: pytest.TempPathFactory, records: list[RankingRecord]
) -> None:
    folder = tmp_path_factory.mktemp("set")
    assert counts(write(FORMAT, records, folder / "out")) == {}
    found, _ = read(FORMAT, folder / "out")
    assert found == records


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(st.tuples(texts, texts, st.sampled_from(["1.0", "3", "2.50", "", " 4", "1e0"])), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    cut=st.booleans(),
)
def test_any_lines_go_out_as_they_came_in(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], end: str, mark: bool, cut: bool
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    clean = {ord(character): None for character in "\t\n\r␛"}
    text = end.join("\t".join(cell.translate(clean) for cell in row) for row in rows)
    text = ("\ufeff" if mark and text else "") + text + (end if text and not cut else "")
    path = put(folder / "data.tsv", text)
    if not mark and text.startswith("\ufeff"):
        return
    assert again(path, folder) == path.read_bytes()


def test_what_the_format_cannot_hold_is_counted(tmp_path: Path) -> None:
    one = RankingRecord(
        Context("x", [Turn("agent", "a")], "7", "films", None, {"k": 1}),
        [
            Candidate(0, "c", 5.0, [Rating("ann", 5.0), Rating("bob", 4.0)], "somewhere", {"n": 2}),
            Candidate(1, "d", 1.0, [Rating("cat", 1.0)]),
        ],
    )
    report = write(FORMAT, [one, RankingRecord(Context("y", [Turn("user", "b")]))], tmp_path / "out")
    assert {reason.removesuffix(", which this format does not hold"): n for reason, n in counts(report).items()} == {
        "contexts without candidates": 1,
        "roles other than the user's": 1,
        "domains": 1,
        "ids of dialogues": 1,
        "attributes of contexts": 1,
        "sources of candidates": 1,
        "attributes of candidates": 1,
        "names of annotators": 3,
        "relevances that are not the mean of the ratings": 1,
        "ids of contexts, which are numbered when they are read": 1,
    }
    assert (tmp_path / "out").read_text() == "a\tc\t5\t4\na\td\t1\t\n"


def test_ratings_beside_the_mean_are_counted(tmp_path: Path) -> None:
    one = record("a", ("b", 3.0), ("c", 4.0))
    one.candidates[1].ratings = [Rating("1", 4.0)]
    report = write(FORMAT, [one], tmp_path / "out")
    assert counts(report) == {"ratings by annotators beside the mean, which this form does not hold": 1}
    assert (tmp_path / "out").read_text() == "a\tb\t3.0\na\tc\t4.0\n"


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    two_turns = RankingRecord(Context("x", [Turn("user", "a"), Turn("agent", "b")]), [Candidate(0, "c", 1.0)])
    rated_later = [record("a", ("b", None)), record("c", ("d", 3.0), identifier="00000002")]
    text_later = [record("a", ("", None)), record("c", ("d", None), identifier="00000002")]
    more = record("a", ("b", 3.0), ("c", 3.0))
    more.candidates[0].ratings = [Rating("1", 3.0)]
    more.candidates[1].ratings = [Rating(str(n), 3.0) for n in range(3)]
    for number, (records, problem) in enumerate(
        [
            ([two_turns], "has 2 turns; this format holds prompts of one turn"),
            (rated_later, "candidate 0 of context '00000002' does not fit .* the first has no rating"),
            (text_later, "the first has neither text nor rating"),
            ([more], "has 3 ratings; the first has 2"),
        ]
    ):
        with pytest.raises(InputError, match=problem):
            write(FORMAT, records, tmp_path / str(number))


def test_spellings_that_lie_are_not_written(tmp_path: Path) -> None:
    one = record("a", ("b", 3.0), ("c", 3.0), ("d", 3.0), ("e", 3.0))
    for candidate, written in zip(one.candidates, ["3.00", "4.00", "3\t0", 3], strict=True):
        candidate.attributes["written"] = written
    write(FORMAT, [one], tmp_path / "out")
    assert (tmp_path / "out").read_text() == "a\tb\t3.00\na\tc\t3.0\na\td\t3.0\na\te\t3.0\n"


TABLE = (
    'id,query,reply,ann,bob,model\n7,hello,"hi,\nyou ""there""",4,5,big\n8,bye,so long,2,,\n7,hello,what?,1,2,small\n'
)


def test_columns(tmp_path: Path) -> None:
    path = put(tmp_path / "scores.csv", TABLE)
    columns = {"prompt": "query", "response": "reply", "rating": "ann+bob", "source": "model", "id": "id"}
    found, report = read(FORMAT, path, columns=columns)
    assert found == [
        RankingRecord(
            Context("7", [Turn("user", "hello")]),
            [
                Candidate(0, 'hi,\nyou "there"', 4.5, [Rating("ann", 4.0), Rating("bob", 5.0)], "big"),
                Candidate(1, "what?", 1.5, [Rating("ann", 1.0), Rating("bob", 2.0)], "small"),
            ],
        ),
        RankingRecord(Context("8", [Turn("user", "bye")]), [Candidate(0, "so long", 2.0, [Rating("ann", 2.0)])]),
    ]
    assert counts(report) == {}
    found, _ = read(FORMAT, path, columns={"prompt": "query", "response": "reply", "rating": "bob"})
    assert [r.context.id for r in found] == ["00000001", "00000002"]
    assert found[0].candidates[0] == Candidate(
        0, 'hi,\nyou "there"', 5.0, attributes={"id": "7", "ann": "4", "model": "big"}
    )
    runs, _ = read(FORMAT, path, columns={"prompt": "query", "response": "reply"}, values={"group": "runs"})
    assert [len(r.candidates) for r in runs] == [1, 1, 1]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    text = "\ufeffa b;q r,s p\tz\n".replace(";", ".").replace(",", ".").replace("\t", ".")
    text = delimiter.join(["the prompt", "the reply", "score"]) + "\r\n" + delimiter.join(["x", "y", "3"]) + "\r\n"
    columns = {"prompt": "the prompt", "response": "the reply", "rating": "score"}
    [found], _ = read(FORMAT, put(tmp_path / "t.csv", "\ufeff" + text), columns=columns)
    assert found == record("x", ("y", 3.0))


def test_contexts_of_several_turns(tmp_path: Path) -> None:
    path = put(tmp_path / "test.csv", 'talk,last,reply,topic\n"hi\n\n hello ",how are you,fine,people\n,hi,ho,people\n')
    columns = {"context": "talk", "prompt": "last", "response": "reply", "domain": "topic"}
    found, _ = read(FORMAT, path, columns=columns)
    assert found[0].context == Context(
        "test-00000001",
        [Turn("user", "hi"), Turn("agent", "hello"), Turn("user", "how are you")],
        None,
        "people",
        "test",
    )
    assert found[1].context.turns == [Turn("user", "hi")]
    path = put(tmp_path / "eou.csv", "talk,reply\nhi __eou__ hello,fine\n")
    [found_one], _ = read(FORMAT, path, columns={"context": "talk", "response": "reply"}, values={"turns": "__eou__"})
    assert found_one.context.texts == ["hi", "hello"]


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("q,r\n", ":1", "has no column 'score'; its header names 'q', 'r'"),
        ("", ":1", "has no column"),
        ("q,q,r,score\n", ":1", "has two columns 'q'; expected every name once"),
        ("q,r,score\na,b\n", ":2", "the row has 2 fields; the header names 3"),
        ('q,r,score\na,b,3\na,"b,3\n', ":3", "ends in the middle of a row"),
        ('q,r,score\na,"b"c,3\n', ":2", "is not CSV"),
        ("q,r,score\na,b,high\n", ":2", 'the score holds "high"; expected a number'),
        ("q,r,score\na," + "b" * 200_000 + ",3\n", ":2", "field larger than field limit"),
    ],
)
def test_tables_that_do_not_hold(tmp_path: Path, text: str, where: str, problem: str) -> None:
    path = put(tmp_path / "t.csv", text)
    with pytest.raises(InputError) as caught:
        read(FORMAT, path, columns={"prompt": "q", "response": "r", "rating": "score"})
    assert caught.value.where == f"{path}{where}"
    assert problem in caught.value.message


def test_ids_must_hold_together(tmp_path: Path) -> None:
    columns = {"prompt": "q", "response": "r", "id": "i", "split": "s"}
    for text, problem in [
        ("i,q,r,s\n1,a,b,train\n1,c,d,train\n", "stands with another prompt"),
        ("i,q,r,s\n1,a,b,train\n1,a,d,test\n", "differ in dialogue, domain or split"),
        ("i,q,r,s\n,a,b,train\n", "the row has no i"),
    ]:
        with pytest.raises(InputError, match=problem):
            read(FORMAT, put(tmp_path / "t.csv", text), columns=columns)
    path = put(tmp_path / "t.csv", "i,q,r,s\n1,a,b,\n2,c,d,\n1,a,e,\n")
    with pytest.raises(InputError, match="stands again, apart"):
        read(FORMAT, path, columns=columns, values={"group": "runs"})


def test_columns_that_are_not_known(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", TABLE)
    with pytest.raises(ConfigurationError, match="--columns names 'answer'; expected some of prompt, response"):
        read(FORMAT, path, columns={"prompt": "query", "answer": "reply"})
    with pytest.raises(ConfigurationError, match="must name the column of the response"):
        read(FORMAT, path, columns={"prompt": "query"})


def test_bad_rows_of_a_table_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 60)
    path = tmp_path / "t.csv"
    path.write_bytes(b"q,r\na,b\na,\xff\n" + b"x" * 500 + b"\na,b,c\n\na,d\n")
    [found], report = read(FORMAT, path, columns={"prompt": "q", "response": "r"}, skip_bad=True)
    assert [candidate.text for candidate in found.candidates] == ["b", "d"]
    assert counts(report)["malformed records"] == 3


@settings(max_examples=100, deadline=None)
@given(pairs=st.lists(st.tuples(texts, st.integers())))
def test_values_are_gathered_by_key(pairs: list[tuple[str, int]]) -> None:
    expected: dict[str, list[int]] = {}
    for key, value in pairs:
        expected.setdefault(key, []).append(value)
    assert list(gathered(iter(pairs), where="here")) == list(expected.values())


def test_gathering_spills_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_CACHE_KIB", 64)
    pairs = ((f"key {n % 7}", [n, "x" * 1_000]) for n in range(3_000))
    groups = [[value[0] for value in values] for values in gathered(pairs, where="here")]
    assert groups == [list(range(first, 3_000, 7)) for first in range(7)]


def test_a_prompt_with_more_responses_than_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "data.tsv", "a\tbcd\t3.0\n" * 4)
    columns = {"prompt": "a", "response": "bcd"}
    monkeypatch.setattr(rated_tsv, "_MOST_CANDIDATES", 3)
    monkeypatch.setattr(rated_columns, "_MOST_CANDIDATES", 2)
    for options in ({}, {"values": {"group": "all"}}, {"columns": columns}):
        with pytest.raises(InputError, match=r"data\.tsv:\d: a (prompt|context) has more than \d responses"):
            read(FORMAT, path, **options)
    monkeypatch.setattr(rated_tsv, "_MOST_CHARACTERS", 5)
    monkeypatch.setattr(gathering, "_MOST_CHARACTERS", 40)
    with pytest.raises(InputError, match=r"data\.tsv:2: the responses to one prompt hold more than 5 characters"):
        read(FORMAT, path)
    with pytest.raises(InputError, match=r"data\.tsv: the rows of one context hold more than 40 characters"):
        read(FORMAT, path, values={"group": "all"})


@pytest.mark.parametrize("text", ["\ufeff" + MEANS, PAIRS])
def test_damage_ends_in_a_set_or_one_error(tmp_path: Path, text: str) -> None:
    found = mutate.outcomes(FORMAT, {"data.tsv": text.encode(), "test.txt": text.encode()}, tmp_path, seed=11)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 20, found


class WithColumns(RatedTsvFormat):
    """The format as a user of ``--columns`` meets it, for the mutator."""

    def read(self, source, report, options):  # type: ignore[no-untyped-def]
        columns = {"prompt": "query", "response": "reply", "rating": "ann+bob", "source": "model"}
        return super().read(source, report, type(options)(options.skip_bad, options.drop_duplicates, columns=columns))


def test_damage_of_a_table_ends_in_a_set_or_one_error(tmp_path: Path) -> None:
    found = mutate.outcomes(WithColumns(), {"t.csv": TABLE.encode()}, tmp_path, seed=13)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 20, found


@pytest.fixture
def tencent(data: Path) -> Path:
    source = data / "rated_responses" / "tencent"
    if not source.is_dir():
        pytest.skip(f"the rated responses are not at {source}")
    return source


@pytest.mark.data
def test_the_released_pairs(tencent: Path, tmp_path: Path) -> None:
    found, report = read(FORMAT, tencent / "rated_subset_408.tsv")
    assert (len(found), sum(len(r.candidates) for r in found)) == (363, 408)
    assert counts(report) == {}
    assert not any(candidate.attributes for r in found for candidate in r.candidates)
    assert again(tencent / "rated_subset_408.tsv", tmp_path) == (tencent / "rated_subset_408.tsv").read_bytes()


@pytest.mark.data
def test_the_released_prompts(tencent: Path, tmp_path: Path) -> None:
    """The publication's 27,383 prompts are runs of lines; five prompts stand at two places, so 27,378 texts differ."""
    values = {"fields": "prompt"}
    found, report = read(FORMAT, tencent / "data_Q.txt", values=values)
    sizes = [len(r.candidates) for r in found]
    assert (len(found), sum(sizes), min(sizes), max(sizes)) == (27_383, 82_010, 1, 20)
    assert len({r.context.texts[0] for r in found}) == 27_378
    assert counts(report) == {
        "prompts that stood before, apart; each is a context of its own": 5,
        "files with a byte-order mark": 1,
    }
    assert again(tencent / "data_Q.txt", tmp_path, values=values) == (tencent / "data_Q.txt").read_bytes()


@pytest.mark.data
def test_a_set_that_needs_no_reader_of_its_own(data: Path) -> None:
    source = data / "rated_responses" / "predictive_engagement" / "Eng_Scores_queries_gen_gtruth_replies.csv"
    if not source.is_file():
        pytest.skip(f"the rated responses are not at {source}")
    columns = {"prompt": "query", "response": "response", "rating": "human_score"}
    found, report = read(FORMAT, source, columns=columns)
    assert (len(found), sum(len(r.candidates) for r in found)) == (299, 1_800)
    assert counts(report) == {}
    assert sorted(found[0].candidates[0].attributes) == [
        "CTX_Unref_Score",
        "Eng_Score_MaxPooling",
        "Eng_Score_MeanPooling",
        "Ruber_Unref_Score",
    ]
