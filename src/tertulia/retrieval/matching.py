"""The matching score over a memory-mapped index: the responses of a bank that best answer what was said, exactly.

>>> from tertulia.retrieval import MatchingIndex
>>> index = MatchingIndex.build(dialogues, "bank.index")                         # doctest: +SKIP
>>> index.search("do you like horror films?", previous="hello there", k=3)       # doctest: +SKIP
[Match(number=8191, score=0.83, norm=2.4), ...]
>>> index.text(8191)                                                             # doctest: +SKIP
'I love them, the older the better.'

The score and the order are those of section 6 of the design and of docs/matching.md.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tertulia import artefact
from tertulia.errors import ArtefactError, InputError
from tertulia.retrieval import directory as store
from tertulia.retrieval.collector import Collector
from tertulia.retrieval.engine import Engine
from tertulia.retrieval.query import Match, Options
from tertulia.retrieval.segment import SegmentFiles, write_removal, write_segment
from tertulia.retrieval.tokenizer import tokenizer_for
from tertulia.retrieval.weights import check_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from tertulia.corpus.model import Dialogue
    from tertulia.retrieval.directory import Commit
    from tertulia.retrieval.segment import Segment

__all__ = ["MatchingIndex", "Source"]

# More segments than this, and the small ones are merged into one.
MOST_SEGMENTS = 8
_OPEN_ATTEMPTS = 20


class Source(NamedTuple):
    """Where a response stands, and its text; ``context`` is the utterance before it, empty where it opens its dialogue."""

    dialogue_id: str
    position: int
    topic: str | None
    context: str
    text: str


@dataclass(frozen=True, slots=True)
class _View:
    """One commit, open. A search works on the view it began with, whatever is added meanwhile."""

    commit: Commit
    segments: tuple[Segment, ...]
    engine: Engine


class MatchingIndex:
    """An open index of a bank of dialogues. Threads can share it, to search and to look things up.

    An utterance of the bank has a ``number`` that never changes: the first built has 0, later ones follow, and the
    number of a removed one is not used again. What another writer adds is seen after :meth:`refresh`.
    """

    def __init__(self, path: Path, view: _View) -> None:
        self.path = path
        self._current: _View | None = view

    # ------------------------------------------------------------------ build and open

    @classmethod
    def build(
        cls,
        dialogues: Iterable[Dialogue],
        path: str | Path,
        *,
        language: str = "en",
        scale: float = 1.3,
        overwrite: bool = False,
        progress: Callable[[int], None] | None = None,
        command: Sequence[str] = (),
        inputs: Sequence[dict[str, Any]] = (),
        licence: str | None = None,
        citation: str | None = None,
    ) -> Self:
        """Build an index and open it; equal dialogues and options give byte-identical files.

        Parameters
        ----------
        dialogues:
            The bank. Position 0 of a dialogue is never a response, for it has no context. ``domain`` is the topic.
        path:
            The directory to write; an existing index only with ``overwrite``.
        language, scale:
            The language names the tokenizer (``en``, ``zh``); the scale is ``s`` of the weights.
        progress:
            Is called after each dialogue with how many are done.
        command, inputs, licence, citation:
            Go into the manifest, see :class:`tertulia.artefact.Manifest`.

        Raises
        ------
        InputError
            Two dialogues have the same id.
        ConfigurationError
            There is no tokenizer for the language, or the scale is out of range.
        ArtefactError
            ``path`` exists.
        """
        manifest = store.new_manifest(
            language, scale, command=list(command), inputs=list(inputs), licence=licence, citation=citation
        )
        with artefact.create(path, manifest, overwrite=overwrite) as draft:
            collector = Collector(tokenizer_for(language), language, check_scale(scale))
            _collect(collector, dialogues, 0, lambda _: False, progress)
            state = store.Commit(manifest, (), next_number=collector.utterances, next_file=1)
            if collector.dialogues:
                state, files = state.new_segment()
                write_segment(draft.directory, files, collector.rows())
                state = store.with_segments(state, [files])
            del collector
            store.fill_manifest(state, store.open_segments(draft.directory, None, state.segments))
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an index. Its files are mapped, not read: this takes as long for a large bank as for a small one.

        Raises
        ------
        InputError
            There is nothing at ``path``.
        ArtefactError
            It is not an index, or it is damaged.
        """
        target = Path(path)
        return cls(target, _open_view(target, ()))

    def refresh(self) -> bool:
        """See what was added and removed since; whether there was anything."""
        before = self._view
        after = _open_view(self.path, before.segments)
        self._current = after
        return after.commit.segments != before.commit.segments

    def close(self) -> None:
        """Let the files go. Closing twice is no error; searching afterwards is."""
        self._current = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _view(self) -> _View:
        view = self._current
        if view is None:
            raise ArtefactError("this index was closed; open it again", where=self.path)
        return view

    # ------------------------------------------------------------------ what it holds

    @property
    def language(self) -> str:
        """The language of the bank, which names the tokenizer."""
        return self._view.commit.language

    @property
    def scale(self) -> float:
        """The scale ``s`` of the weights."""
        return self._view.commit.scale

    @property
    def topics(self) -> list[str]:
        """The topics of the dialogues that were not removed, sorted."""
        return sorted({topic for segment in self._view.segments for topic in segment.live_topics()})

    @property
    def counts(self) -> dict[str, int]:
        """How many ``dialogues`` and ``utterances`` there are, and in how many ``segments``."""
        view = self._view
        return {**view.commit.manifest.counts, "segments": len(view.segments)}

    @property
    def manifest(self) -> artefact.Manifest:
        """The manifest of what is open."""
        return self._view.commit.manifest

    @property
    def kernel(self) -> str:
        """What computes the scores: ``numpy``, or the name of the compiled variant."""
        return self._view.engine.kernel

    # ------------------------------------------------------------------ search

    def search(
        self,
        text: str,
        previous: str = "",
        *,
        k: int = 10,
        topic: str | None = None,
        bonus: float = 0.02,
        lam: float = 0.005,
    ) -> list[Match]:
        """The best ``k`` responses to ``text``, exactly: by score and norm descending, then by number.

        Parameters
        ----------
        text:
            What the user said, ``q``.
        previous:
            What the bot had said before, ``q_c``.
        k:
            How many to give at most; only responses with a score above 0 are given.
        topic, bonus:
            A response from a dialogue of this topic gets the bonus where its score is above 0.
        lam:
            The weight λ of what ``previous`` shares with the utterance two before the response.

        Raises
        ------
        ConfigurationError
            ``k``, ``bonus`` or ``lam`` is out of range.
        ArtefactError
            The index is damaged or was closed.
        """
        return self._view.engine.search(text, previous, Options(k, topic, bonus, lam))

    def search_many(
        self,
        queries: Iterable[tuple[str, str]],
        *,
        k: int = 10,
        topic: str | None = None,
        bonus: float = 0.02,
        lam: float = 0.005,
    ) -> list[list[Match]]:
        """One answer of :meth:`search` for each pair of a text and what was said before it, all from one commit."""
        engine, options = self._view.engine, Options(k, topic, bonus, lam)
        return [engine.search(text, previous, options) for text, previous in queries]

    # ------------------------------------------------------------------ look up

    def locate(self, number: int) -> tuple[str, int]:
        """The id of an utterance's dialogue, and its position there from 0.

        Raises
        ------
        InputError
            No utterance has this number, or it was removed.
        """
        segment, dialogue, position = self._find_number(number)
        return segment.texts.dialogue_id(dialogue), position

    def source(self, number: int) -> Source:
        """Everything that is told of a response at once; raises as :meth:`locate` does."""
        segment, dialogue, position = self._find_number(number)
        row = segment.rows_of(dialogue)[position]
        texts = segment.texts
        context = texts.text(row - 1) if position else ""
        return Source(texts.dialogue_id(dialogue), position, segment.topic_of(dialogue), context, texts.text(row))

    def text(self, number: int) -> str:
        """The text of an utterance; raises as :meth:`locate` does."""
        segment, dialogue, position = self._find_number(number)
        return segment.texts.text(segment.rows_of(dialogue)[position])

    def dialogue(self, dialogue_id: str) -> tuple[str | None, list[str]]:
        """The topic of a dialogue and its texts in order.

        Raises
        ------
        InputError
            No dialogue has this id, or it was removed.
        """
        found = _find_dialogue(self._view.segments, dialogue_id)
        if found is None:
            raise InputError(f"there is no dialogue {dialogue_id!r} in this index", where=self.path)
        segment, dialogue = found
        return segment.topic_of(dialogue), [segment.texts.text(row) for row in segment.rows_of(dialogue)]

    def _find_number(self, number: int) -> tuple[Segment, int, int]:
        for segment in self._view.segments:
            found = segment.find_number(number)
            if found is not None and segment.is_live(found[0]):
                return segment, *found
        raise InputError(f"there is no utterance {number} in this index", where=self.path)

    # ------------------------------------------------------------------ change

    def add(self, dialogues: Iterable[Dialogue], *, progress: Callable[[int], None] | None = None) -> int:
        """Add dialogues, all or none, and see them; how many. Costs by what is added, not by the bank.

        Raises
        ------
        InputError
            A dialogue's id is in the index already, or stands twice.
        ArtefactError
            Another writer is changing the index.
        """
        with self._changing() as before:
            state = before.commit
            collector = Collector(tokenizer_for(state.language), state.language, state.scale)
            _collect(
                collector,
                dialogues,
                state.next_number,
                lambda dialogue_id: _find_dialogue(before.segments, dialogue_id) is not None,
                progress,
            )
            if not collector.dialogues:
                return 0
            state, files = state.new_segment()
            write_segment(self.path, files, collector.rows())
            state = store.with_segments(state, [*state.segments, files], added=collector.utterances)
            self._commit(state, before)
            if len(state.segments) > MOST_SEGMENTS:
                self._merge(_small_segments(self._view.segments))
            return collector.dialogues

    def remove(self, dialogue_ids: Iterable[str]) -> int:
        """Remove dialogues, all or none; how many. Their space is freed when their segment is merged.

        Raises
        ------
        InputError
            An id is not in the index; nothing is removed then.
        ArtefactError
            Another writer is changing the index.
        """
        with self._changing() as before:
            gone: dict[SegmentFiles, list[int]] = {}
            wanted = sorted(set(dialogue_ids))
            for dialogue_id in wanted:
                found = _find_dialogue(before.segments, dialogue_id)
                if found is None:
                    raise InputError(f"there is no dialogue {dialogue_id!r} to remove", where=self.path)
                gone.setdefault(found[0].files, []).append(found[1])
            if not gone:
                return 0
            state, kept = before.commit, []
            for segment in before.segments:
                files = segment.files
                if files in gone:
                    removal = segment.removal_of(gone[files])
                    if len(removal.dialogues) == segment.dialogues:
                        continue
                    state, name = state.new_removal()
                    write_removal(self.path / name, removal)
                    files = SegmentFiles(files.index, files.texts, name)
                kept.append(files)
            self._commit(store.with_segments(state, kept), before)
            return len(wanted)

    def compact(self) -> None:
        """Merge all segments into one without what was removed. Searches go on meanwhile, here and elsewhere.

        Raises
        ------
        ArtefactError
            Another writer is changing the index.
        """
        with self._changing() as before:
            if len(before.segments) > 1 or any(segment.removal is not None for segment in before.segments):
                self._merge(before.segments)

    @contextmanager
    def _changing(self) -> Iterator[_View]:
        """The right to write, and the newest commit open."""
        view = self._view
        with store.writing(self.path):
            newest = _open_view(self.path, view.segments)
            self._current = newest
            yield newest

    def _commit(self, state: Commit, before: _View) -> None:
        opened = store.open_segments(self.path, None, state.segments, before.segments)
        self._current = _View(store.commit(self.path, state, opened), tuple(opened), _engine(state, opened))

    def _merge(self, chosen: Sequence[Segment]) -> None:
        before = self._view
        state = before.commit
        collector = Collector(tokenizer_for(state.language), state.language, state.scale)
        for segment in chosen:
            collector.add_segment(segment)
        merged = {segment.files for segment in chosen}
        kept = [files for files in state.segments if files not in merged]
        if collector.dialogues:
            state, files = state.new_segment()
            write_segment(self.path, files, collector.rows())
            kept.append(files)
        self._commit(store.with_segments(state, kept), before)


def _engine(state: Commit, segments: Sequence[Segment]) -> Engine:
    return Engine(tokenizer_for(state.language), state.scale, segments)


def _open_view(path: Path, already: Sequence[Segment]) -> _View:
    """The newest commit, open. A writer may take files away after its manifest was read; then there is a newer one."""
    for _ in range(_OPEN_ATTEMPTS):
        state = store.read_commit(path)
        try:
            segments = store.open_segments(path, state.manifest, state.segments, already)
        except FileNotFoundError as error:
            missing = Path(error.filename)
            if store.read_commit(path).segments == state.segments and not missing.exists():
                raise ArtefactError(
                    "is in the manifest, but the file is not there", where=missing, hint="make the index again"
                ) from None
            continue
        return _View(state, tuple(segments), _engine(state, segments))
    raise ArtefactError("is being replaced all the time", where=path, hint="try again")


def _collect(
    collector: Collector,
    dialogues: Iterable[Dialogue],
    next_number: int,
    exists: Callable[[str], bool],
    progress: Callable[[int], None] | None,
) -> None:
    seen: set[str] = set()
    for dialogue in dialogues:
        if dialogue.id in seen or exists(dialogue.id):
            raise InputError(
                f"the dialogue {dialogue.id!r} is there already",
                hint="give each dialogue an id of its own, or remove the old one first",
            )
        seen.add(dialogue.id)
        collector.add_dialogue(dialogue, next_number + collector.utterances)
        if progress is not None:
            progress(collector.dialogues)


def _find_dialogue(segments: Sequence[Segment], dialogue_id: str) -> tuple[Segment, int] | None:
    for segment in segments:
        dialogue = segment.texts.find_dialogue(dialogue_id)
        if dialogue is not None and segment.is_live(dialogue):
            return segment, dialogue
    return None


def _small_segments(segments: Sequence[Segment]) -> list[Segment]:
    """The smallest segments, up to one that is larger than twice all those before it together."""
    chosen: list[Segment] = []
    total = 0
    for segment in sorted(segments, key=lambda segment: segment.rows):
        if len(chosen) >= 2 and segment.rows > 2 * total:
            break
        chosen.append(segment)
        total += segment.rows
    return chosen
