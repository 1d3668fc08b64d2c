"""The filter ``personal``: details by which a person can be found or robbed."""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from tertulia.corpus.cleaning.addresses import chinese_addresses, english_addresses
from tertulia.corpus.cleaning.cues import any_of
from tertulia.corpus.cleaning.filter import FilterBase, Hit, Setting
from tertulia.corpus.cleaning.identifiers import iban_length, is_card, is_chinese_id, is_iban, is_nino, is_ssn
from tertulia.corpus.cleaning.phones import PhoneFinder
from tertulia.corpus.cleaning.unspaced import Unspaced, has_han, to_half_width

__all__ = ["PersonalDetails"]

_Span = tuple[int, int]

# Without one of these no detail is there: most texts are passed by one or two searches.
_DIGIT_OR_AT = re.compile(r"[0-9@]")
_CUE = any_of(
    (
        *(
            "gmail",
            "hotmail",
            "yahoo",
            "icloud",
            "outlook",
            " dot ",
            "at]",
            "at)",
            "wechat",
            "weixin",
            "vx",
            "u/",
            "insta",
        ),
        *("snap", "twitter", "telegram", "kik", "skype", "discord", "psn", "gamertag", "facebook"),
        *("微信", "威信", "薇信", "扣扣", "单元", "号", "栋", "幢"),
    )
)
_URL = re.compile(r"\b(?:https?://|www\.)[^\s<>\"'，。！？）】]{1,2000}", re.IGNORECASE)

_EMAIL = re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,24}(?![\w-])")
_SPELLED_EMAIL = re.compile(
    r"(?<![\w.-])[\w.-]{3,40}(?:\s?[\[(]at[\])]\s?[\w-]{2,40}(?:\s?[\[(]dot[\])]\s?|\.|\sdot\s)"
    r"|\sat\s(?:gmail|hotmail|yahoo|icloud|outlook|aol|qq|163|126)(?:\.|\sdot\s))(?:com|net|org|edu|co|cn|de|uk)\b",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){11,18}(?![\w-])")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,8}(?!\w)")
_RESIDENT_ID = re.compile(r"(?<![0-9A-Za-z])[1-8]\d{16}[0-9Xx](?![0-9A-Za-z])")
_SSN = re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")
_NINO = re.compile(r"(?<!\w)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?: ?\d\d){3} ?[A-D](?!\w)", re.IGNORECASE)
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_VERSION = re.compile(r"(?:\bv|\bver\.?|\bversion|\brelease|版本)\s?$", re.IGNORECASE)
_LATIN_HANDLE = re.compile(r"(?<![\w.@/-])@[A-Za-z_][A-Za-z0-9_]{2,29}(?!\w|\.[A-Za-z])")
_HAN_HANDLE = re.compile(r"(?<![\w@])@[\w\u4e00-\u9fff-]{2,20}(?=[\s:：,，]|$)")
_OTHER_HANDLE = re.compile(
    r"(?<![\w/])u/[A-Za-z0-9_-]{3,20}\b"
    r"|\b(?:my|me\son|me\sat|add)\s(?:instagram|insta|ig|snapchat|snap|twitter|telegram|kik|skype|discord|wechat|whatsapp|line|psn"
    r"|gamertag|facebook)(?:\s(?:id|name|handle|username|account|tag))?(?:\s?[:=]\s?|\sis\s(?=\S{0,30}[\d_.]\w))"
    r"(?P<own>@?[A-Za-z][\w.-]{3,30})",
    re.IGNORECASE,
)
_CHINESE_HANDLE = re.compile(
    r"(?:微信|威信|薇信|weixin|wechat|(?<![a-z])vx|v信)(?:号码|号|id)?"
    r"(?:\s*(?:[:：是为]\s*)+|\s*(?=[\w-]{0,19}\d))"
    r"(?P<wechat>[a-z][-_a-z0-9]{5,19}|1[3-9]\d{9}|\d{5,11})(?![a-z0-9])"
    r"|(?:(?<![a-z])qq|扣扣|企鹅)(?:号码|号|群)?(?:是|为|[:：\s])*(?P<qq>[1-9]\d{4,10})(?!\d)",
    re.IGNORECASE,
)
# What is written after an @ and names no one.
_NO_HANDLE = frozenset(
    re.findall(
        r"\w+",
        "all and bottom channel everybody everyone gmail here him home hotmail least lunch once school the them this top work "
        "yahoo you",
    )
)


class _Taken:
    """Spans of a text of which none overlaps another."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def take(self, start: int, end: int) -> bool:
        """Take a span, unless a part of it is taken."""
        place = bisect_left(self._starts, end)
        if place and self._ends[place - 1] > start:
            return False
        self._starts.insert(place, start)
        self._ends.insert(place, end)
        return True


class PersonalDetails(FilterBase):
    """Finds personal details; the kinds are e-mail, phone, card, iban, resident-id, ssn, nino, ip-address, address and handle.

    An address of the web is no personal detail, and nothing inside one is looked at. Names are not found: in a text alone a name
    is as often that of an actor.
    """

    name: ClassVar[str] = "personal"
    summary: ClassVar[str] = "e-mail, phone, card and id numbers, IBAN, street and IP addresses, handles"
    maskable: ClassVar[bool] = True
    settings: ClassVar[Mapping[str, Setting]] = {
        "regions": Setting(
            "", "countries whose phone numbers are known without a prefix, such as US+GB; none: by --language"
        ),
    }

    def __init__(self, language: str, regions: str = "") -> None:
        chosen = regions.upper().split("+") if regions else ["CN", "US"] if language == "zh" else ["US", "GB"]
        self._phones = PhoneFinder(chosen)

    def in_text(self, text: str) -> Sequence[Hit]:
        """The details, in order; of two that overlap the more certain one stands."""
        plain = to_half_width(text)
        if _DIGIT_OR_AT.search(plain) is None and _CUE.search(plain.lower()) is None:
            return ()
        hits: list[Hit] = []
        taken = _Taken()
        if ":" in plain or "www" in plain:
            for match in _URL.finditer(plain):
                taken.take(*match.span())
        for kind, (start, end) in self._candidates(plain):
            if taken.take(start, end):
                hits.append(Hit(kind, start, end))
        return sorted(hits, key=lambda hit: hit.start or 0)

    def _candidates(self, text: str) -> Iterator[tuple[str, _Span]]:
        """Spans with their kinds, the most certain first."""
        if "@" in text:
            for match in _EMAIL.finditer(text):
                yield "e-mail", match.span()
        for match in _SPELLED_EMAIL.finditer(text):
            yield "e-mail", match.span()
        if _DIGIT_OR_AT.search(text) is not None:
            yield from _numbers(text)
            for span in self._phones.find(text):
                yield "phone", span
            for span in english_addresses(text):
                yield "address", span
        if has_han(text):
            unspaced = Unspaced(text)
            for start, end in chinese_addresses(unspaced.text):
                yield "address", unspaced.span(start, end)
        yield from _handles(text)


def _numbers(text: str) -> Iterator[tuple[str, _Span]]:
    for match in _IBAN.finditer(text):
        span = _iban_span(text, match.start(), match.end())
        if span is not None:
            yield "iban", span
    for match in _RESIDENT_ID.finditer(text):
        if is_chinese_id(match[0]):
            yield "resident-id", match.span()
    for match in _CARD.finditer(text):
        if is_card(match[0].replace(" ", "").replace("-", "")):
            yield "card", match.span()
    for match in _SSN.finditer(text):
        if is_ssn(match[0]):
            yield "ssn", match.span()
    for match in _NINO.finditer(text):
        if is_nino(match[0]):
            yield "nino", match.span()
    if text.count(".") >= 3:
        for match in _IPV4.finditer(text):
            if _is_public(match[0]) and _VERSION.search(text, max(0, match.start() - 10), match.start()) is None:
                yield "ip-address", match.span()
    if text.count(":") >= 3:
        for match in _IPV6.finditer(text):
            if _is_public(match[0]):
                yield "ip-address", match.span()


def _iban_span(text: str, start: int, end: int) -> _Span | None:
    """The IBAN that begins at ``start``: words in capitals may follow it."""
    wanted = iban_length(text[start:end])
    characters = ""
    for place in range(start, end):
        if text[place] != " ":
            characters += text[place]
        if len(characters) == wanted:
            whole = place + 1 == end or not text[place + 1].isalnum()
            return (start, place + 1) if whole and is_iban(characters) else None
    return None


def _is_public(text: str) -> bool:
    """Whether this is the address of one machine in the public Internet."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.is_global and not address.is_multicast


def _handles(text: str) -> Iterator[tuple[str, _Span]]:
    if "@" in text:
        for match in _LATIN_HANDLE.finditer(text):
            if match[0][1:].lower() not in _NO_HANDLE:
                yield "handle", match.span()
        if has_han(text):
            for match in _HAN_HANDLE.finditer(text):
                yield "handle", match.span()
    for match in _OTHER_HANDLE.finditer(text):
        yield "handle", match.span("own" if match["own"] else 0)
    for match in _CHINESE_HANDLE.finditer(text):
        yield "handle", match.span("wechat" if match["wechat"] else "qq")
