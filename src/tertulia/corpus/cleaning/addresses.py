"""Street addresses, English and Chinese, by their form."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["chinese_addresses", "english_addresses"]

_TYPES = (
    "Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Lane|Ln|Boulevard|Blvd|Court|Ct|Place|Pl|Terrace|Ter|Square|Sq|Crescent|Cres"
    "|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Way|Close|Row|Mews|Trail|Turnpike"
)
# In a text without capitals only the long names, and only after somebody says that this is where they live.
_LONG_TYPES = "street|avenue|road|drive|lane|boulevard|court|terrace|crescent|parkway|highway"
_NAME = r"(?:[NSEW]\.?\s|North\s|South\s|East\s|West\s)?(?:(?:[A-Z][\w'’]*\.?|\d{1,3}(?:st|nd|rd|th))\s){1,3}?"
_UNIT = r"(?:,?\s(?:Apt|Apartment|Unit|Suite|Ste|Flat|#)\.?\s?#?\w{1,5}\b)?"
# A town, a state and a postcode after it belong to it.
_TOWN = r"(?:,\s(?:[A-Z][\w.'’-]*\s?){1,3})?(?:,?\s(?:[A-Z]{2}\s\d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2})\b)?"
_ENGLISH = re.compile(
    rf"(?<![\w.$£€/-])\d{{1,5}}[A-Za-z]?\s{_NAME}(?:{_TYPES})\b(?!['’-]?\w)\.?(?:\s(?:NE|NW|SE|SW|N|S|E|W)\b)?{_UNIT}{_TOWN}"
)
_LOWER = re.compile(
    rf"\b(?:i\s(?:now\s)?live\s(?:at|on|in)|my\s(?:home\s)?address\s(?:is|:)|send\sit\sto|i['’]?m\sat)\s:?\s?"
    rf"(?P<place>\d{{1,5}}[a-z]?\s(?:[a-z]+\s){{1,3}}?(?:{_LONG_TYPES})\b)",
    re.IGNORECASE,
)
_BOX = re.compile(r"\bP\.?\s?O\.?\s?Box\s\d{1,7}\b", re.IGNORECASE)
_POSTCODE = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]?\s\d[ABD-HJLNP-UW-Z]{2}\b(?=[\s.,;!?)]|$)")
# Addresses that are known to everybody, as titles or as places of fiction: nobody's home.
_KNOWN = re.compile(
    r"(?:21|22)\sJump\sStreet|2014\sForest|10\sCloverfield\sL|13\sRue|221\s?B\sBaker|(?:12|Number\s12)\sGrimmauld|(?:4|Four)\sPrivet|42\sWallaby"
    r"|10\sDowning|11\sDowning|1600\sPennsylvania|742\sEvergreen|1428\sElm|8\sMile|84\sCharing|77\sSunset|12\sAngry|50\sFirst"
    r"|\d+\sFast|\d+\sNightmare|7\sEccles|52\sFestive|32\sWindsor|124\sConch|17\sCherry\sTree|31\sSpooner|9\sEvergreen",
    re.IGNORECASE,
)

_HAN = "\u4e00-\u9fff"
_NUMBER = "(?:[0-9]{1,5}|[零〇一二三四五六七八九十百]{1,6})"
_CHINESE = re.compile(
    # A road or an estate, then a house number; what tells the town may stand before, the flat after it.
    rf"(?:[{_HAN}]{{2,7}}?(?:省|自治区))?(?:[{_HAN}]{{2,6}}?市)?(?:[{_HAN}]{{1,6}}?(?:区|县|镇|乡))?"
    rf"[{_HAN}]{{1,8}}?(?:大道|大街|路|街|巷|弄|胡同|小区|花园|公寓|新村|家园)(?:[东西南北中]段)?"
    rf"{_NUMBER}(?:号楼?|弄|栋|幢)(?:院|楼|附)?"
    rf"(?:{_NUMBER}(?:号楼|栋|幢|座|号))?(?:{_NUMBER}单元)?(?:{_NUMBER}[室户])?"
    rf"|{_NUMBER}(?:号楼|栋|幢|座){_NUMBER}单元(?:{_NUMBER}[室户]?)?|[0-9]{{1,3}}(?:号楼|栋|幢)[0-9]{{2,5}}[室户]"
)
# What stands before an address in a sentence.
_BEFORE = re.compile(rf"[{_HAN}]{{0,6}}?(?:住在|住的是|地址是|位于|地址|在|到|去|住)")
_LINE_OF_TRANSPORT = re.compile(r"路[0-9]{1,4}号线|号线")


def english_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Spans of English street addresses, post boxes and British postcodes."""
    for match in _ENGLISH.finditer(text):
        if _KNOWN.match(match[0]) is None:
            yield match.span()
    for match in _LOWER.finditer(text):
        yield match.span("place")
    for pattern in (_BOX, _POSTCODE):
        for match in pattern.finditer(text):
            yield match.span()


def chinese_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Spans of Chinese street addresses, in a text without spaces between the characters."""
    for match in _CHINESE.finditer(text):
        if _LINE_OF_TRANSPORT.search(text, match.start(), match.end() + 1) is None:
            before = _BEFORE.match(text, match.start(), match.end())
            yield match.start() if before is None else before.end(), match.end()
