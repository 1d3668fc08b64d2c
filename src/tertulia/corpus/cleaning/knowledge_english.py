"""English questions whose answer depends on where and when they are asked: patterns over lower-cased text."""

from __future__ import annotations

import re

from tertulia.corpus.cleaning.cues import any_of

__all__ = ["CUE", "QUESTIONS"]

# Of each kind what its questions have one of; looked for one by one, which is many times as fast as the patterns.
_CUES = {
    "weather": (
        *(
            "weather",
            "forecast",
            "temperature",
            "umbrella",
            "will it ",
            "going to ",
            "gonna ",
            "supposed to ",
            "think it",
            "is it ",
        ),
        *("how many degrees", " coat", "jacket", "how hot", "how cold", "how warm", "how windy", "how humid"),
    ),
    "time": (
        "what time",
        " the time",
        "current time",
        "exact time",
        "'clock",
        " open",
        " clos",
        "how long",
        "how many weeks",
        "how many h",
    ),
    "date": (
        "date",
        "what day",
        "which day",
        "what year",
        "which year",
        "what month",
        "which month",
        "how many days",
        "when is ",
    ),
    "place": (
        *(
            "near",
            "closest",
            "around here",
            "close by",
            "this area",
            "the area",
            "directions",
            "where am i",
            "where are we",
        ),
        *("from here", "from there", " i get ", " we get ", "how far", "what city", "what town", "what street"),
    ),
    "traffic": ("traffic", "on time", "delayed", "late", "cancel", "next ", "what time"),
    "stocks": (
        "stock",
        "share",
        "market",
        "dow",
        "nasdaq",
        "s&p",
        "ftse",
        "bitcoin",
        "ethereum",
        "gold",
        "silver",
        "oil",
    ),
    "prices": ("how much", "price", "cost", "exchange rate"),
    "news": ("news", "headline", "the world", "politics", "what happened"),
    "scores": (
        "score",
        "who won",
        "who lost",
        "team won",
        "team lost",
        " win",
        " lose",
        "who's ",
        "who is ",
        "who are ",
        "next ",
        "what time",
    ),
}
_CUES["date"] += (
    "is it mon",
    "is it tue",
    "is it wed",
    "is it thu",
    "is it fri",
    "is it sat",
    "is it sun",
    "is today ",
)

_WHEN = (
    r"(?:today|tonight|tomorrow|this (?:morning|afternoon|evening|week(?:end)?)|right now|now|at the moment|currently"
    r"|outside|later)"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAY = rf"(?:{_WHEN}|(?:on |next |this )?{_WEEKDAY}|next week|this week)"
_END = r"(?=\s*(?:$|[?.!,;]))"
# What may follow a question for the time, so that "what's the time signature" is none.
_NOT_A_STORY = r"(?!which|this|that|the (?:film|movie|book|song|story|show))"
_NOW_OR_THERE = rf"(?:{_END}|(?= (?:{_WHEN}|there|here|over there|please|where you are|in {_NOT_A_STORY})\b))"
_FALLING = r"(?:rain(?:ing)?|snow(?:ing)?|hail(?:ing)?|pour(?:ing)?)"
_SKY = r"(?:hot|cold|warm|sunny|cloudy|windy|foggy|humid|freezing|chilly)"
_WET = rf"(?:{_FALLING}|rainy|snowy|storm(?:ing|y)?|nice|{_SKY})"
_THING = (
    r"(?:tickets?|admission|it|that|this|they|these|those|one|gas|petrol|rent|milk"
    r"|(?:a|an|the|one|your|two|three) [\w' -]{2,40}?)"
)
_SUBJECT = r"(?:the |your |that |my )?(?:[\w']+ ){1,4}?"
_FEAST = r"(?:christmas|easter|thanksgiving|hanukkah|diwali|ramadan|labor day|memorial day)"
_NEAR = r"(?:near me|near here|nearby|near by|around here|close by|in (?:this|the) area|near us)"
_ASKS = r"(?:^|[.!?,] )(?:(?:hey|so|ok|okay|and|but|well|um),? )?"
_VEHICLE = r"(?:bus|train|flight|tram|ferry|subway|metro|plane)"
_MARKET = r"(?:stock ?market|stocks|market|dow(?: jones)?|nasdaq|s&p(?: 500)?|ftse)"
_GOODS = r"(?:bitcoin|ethereum|gold|silver|oil)"
_GAME = r"(?:game|match|race|fight)"
_AGO = rf"(?:last night|yesterday|today|tonight|this (?:morning|weekend|week)|on {_WEEKDAY})"
_IS = r"(?:'s| is|s)"


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "weather",
        _any(
            rf"\b(?:what|how)(?:'s| is|s| will)? the weather(?: forecast| report)?(?: going to)?(?: be| look)?(?: like)?"
            rf"(?:{_END}| (?:{_DAY}|in|at|for|there|over there|where|near|around|out|here|doing)\b)",
            rf"\bwhat(?:'s| is| will)?(?: the)? (?:weather forecast|forecast|(?:current |outside )?temperature)"
            rf"(?: be)?(?: like)?"
            rf"(?:{_END}| (?:{_DAY}|in|at|for|there|out)\b)",
            rf"\b(?:will it|is it going to|is it gonna|is it supposed to|think it(?:'ll| will)) (?:be )?(?:very |too )?{_WET}"
            rf"(?: (?:and|or) \w+)?(?:{_END}| (?:{_DAY}|there|in|here|or|out|again|soon)\b)",
            rf"\bis it (?:still )?{_FALLING}(?: (?:much|hard|a lot))?"
            rf"(?:{_END}| (?:{_DAY}|there|in|here|out|where|over|at|again)\b)",
            rf"\bis it (?:really |very |still |too )?{_SKY} (?:{_DAY}|there|in [a-z]+|here|out|where you)\b",
            rf"\bhow {_SKY} (?:is it|will it be|is it going to be)(?:{_END}| (?:{_DAY}|there|in|out|where|at)\b)",
            r"\b(?:do|will|should) i (?:need|take|bring|wear) (?:an umbrella|a (?:rain ?)?coat|a jacket)\b(?! (?:to|for) the)",
            r"\b(?:tell me|check|give me|show me) (?:about )?(?:the |today's |tomorrow's )?(?:weather|forecast|temperature)\b",
            rf"\bweather (?:forecast )?(?:for|in) [\w ]{{2,30}}{_DAY}{_END}",
            rf"^(?:the )?weather(?: forecast)?(?: {_DAY})?\??$",
            r"\bwhat temperature is it\b|\bhow many degrees is it\b",
        ),
    ),
    (
        "time",
        _any(
            rf"\bwhat time is it{_NOW_OR_THERE}",
            rf"\bwhat{_IS} the (?:current |exact |correct |local )?time{_NOW_OR_THERE}",
            rf"\b(?:do|would) you (?:happen to )?(?:know|have) (?:what time it is|the (?:current |exact )?time){_END}",
            rf"\b(?:tell|give) me (?:what time it is|the (?:current |exact )?time)(?: please)?{_END}|\bgot the time{_END}",
            r"\bis it (?:\w+ )?o'clock (?:yet|already)",
            rf"\b(?:what time|when) (?:do|does|will|is|are) {_SUBJECT}"
            rf"(?:open|close|closing|opening)(?:{_END}| (?:{_DAY}|on|at)\b)",
            rf"\bis (?:the |your )?(?:[\w']+ ){{1,3}}(?:still )?open (?:{_DAY}|on|yet)\b",
            rf"\bhow (?:long|many (?:weeks|hours)) (?:is it )?(?:until|till|til) "
            rf"(?:{_FEAST}|the weekend|{_WEEKDAY}|midnight|noon)\b",
        ),
    ),
    (
        "date",
        _any(
            rf"\bwhat{_IS} (?:today's date|the date(?: (?:today|tomorrow|now|again))?{_END}|the date of (?:today|tomorrow))",
            r"\b(?:what|which) (?:day|date)(?: of the (?:week|month))? "
            r"(?:is it|is today|is tomorrow|it is|was yesterday|are we)\b(?! on)",
            rf"\b(?:what|which) (?:year|month) (?:is it(?: now)?|is this|are we in|is it currently){_END}",
            rf"\btoday's date{_END}|\bis (?:it|today) {_WEEKDAY}(?: (?:today|yet|already))?{_END}",
            rf"\b(?:when|what (?:day|date)) is {_FEAST}(?: (?:this|next) year)?{_END}",
            r"\bhow many days (?:are )?(?:left )?(?:until|till|to|before|left in)\b",
        ),
    ),
    (
        "place",
        _any(
            r"\b(?:where|what|which|how far)(?:'s| is| are|s)? (?:the )?(?:nearest|closest)\b"
            r"(?! (?:thing|friend|you|to (?:you|god)))",
            r"\b(?:find|show|give|tell) me (?:the |a |an |some )?(?:nearest|closest|nearby)\b",
            rf"\b(?:any|is there|are there|know of|recommend|find|where can i|where's a|where is a|good|best)\b[\w ,']{{1,60}}"
            rf"\b{_NEAR}\b[\w ]{{0,30}}\?",
            rf"{_ASKS}(?:is|are|any|where|find|show|what|do you know|know of|recommend)\b[\w ']{{1,60}}\b{_NEAR}{_END}",
            r"^(?!.*\b(?:is|are|was|live|lives|you|i|i'm)\b)(?:[\w']+ ){1,4}near me\??$",
            rf"\bwhere am i{_END}|\bwhere are we (?:right )?now\b",
            r"\b(?:give me|get|need|want|what are) (?:the )?directions to (?!take|go)\w+",
            rf"\bhow (?:do|can|would) (?:i|we) get (?:to |there )(?:[\w' ]{{1,40}} )?from (?:here|there|[a-z]+){_END}",
            r"\bhow do i get to (?:the )?[\w' ]{2,30}\b(?:station|airport|street|avenue|hospital|mall|downtown|park|museum)\b",
            r"\bhow far (?:is|are|away is) (?:[\w' ]{1,40} )?from (?:here|me|us)\b",
            r"\bwhat (?:city|town|street) (?:am i|are we) (?:in|on)\b",
        ),
    ),
    (
        "traffic",
        _any(
            rf"\b(?:how(?:'s| is)?|what(?:'s| is)?) (?:the )?traffic(?: like)?"
            rf"(?:{_END}| (?:{_DAY}|on|in|into|to|out|there|looking|near)\b)",
            rf"\bis (?:there|the) (?:any |much |a lot of |heavy )?traffic (?:jam )?(?:{_DAY}|on|in|to|bad|heavy|into|ahead|near)\b",
            rf"\b(?:is|are) (?:my|the|our|that) (?:[\w-]+ )?{_VEHICLE}e?s? (?:[\w-]+ )?(?:on time|delayed|late|cancel)",
            rf"\bwhen(?:'s| is| does| will) (?:the |my )?next {_VEHICLE}\b",
            rf"\bwhat time (?:is|does) (?:the |my )?(?:next |last |first )?{_VEHICLE}\b",
        ),
    ),
    (
        "stocks",
        _any(
            r"\b(?:stock|share) price (?:of|for|today)",
            rf"\bhow(?:'s| is| are| did) (?:the )?(?:{_MARKET}|[\w ]{{2,20}} (?:stocks?|shares)) "
            r"(?:doing|do|looking|today|perform\w*|close)",
            rf"\bwhat{_IS} (?:the )?(?:[\w ]{{2,20}} )?(?:stock|share) (?:price|worth|trading|at)\b",
            rf"\b(?:is|are|did) (?:the )?(?:{_MARKET}|bitcoin) (?:up|down|go up|go down|open|crash)\w*(?:{_END}| {_DAY}\b)",
            rf"\b(?:price|value) of {_GOODS}\b(?: {_WHEN}|{_END})",
            rf"\bhow much is {_GOODS}\b|\bwhat(?:'s| is) {_GOODS} (?:at|worth|trading)\b",
        ),
    ),
    (
        "prices",
        _any(
            rf"\bhow much (?:do|does|will) {_THING} (?:usually |normally |typically )?(?:cost|go for|sell for|run)\b",
            rf"\bhow much (?:is|are|for) (?!it worth){_THING}(?: tickets?)?"
            rf"(?: (?:{_WHEN}|these days|going for|to (?:buy|rent|get in|fly|join|subscribe|enter|see)))?{_END}",
            r"\bwhat(?:'s| is| are|s)? (?:the )?(?:current |average |going )?(?:price|prices|cost)(?: range)? (?:of|for|on) "
            r"(?!fame|freedom|war|love|progress|peace|victory|success)\w+",
            rf"\bwhat (?:do|does|will) {_THING} cost\b|\bexchange rate\b",
            rf"\bprices? of (?:gas|petrol|milk) (?:{_WHEN}|these days)",
        ),
    ),
    (
        "news",
        _any(
            rf"\bwhat(?:'s| is| are|s|'re) (?:in |on |new in )?(?:the )?(?:latest |today's |recent |top |big |breaking )*"
            rf"(?:news|headlines)(?:{_END}| (?:{_DAY}|about|on|from|in|story|stories|like)\b)",
            r"\b(?:tell|give|read|show) me (?:about )?(?:the |some |any )?(?:latest |today's |recent |top )*(?:news|headlines)\b",
            rf"(?<!heard )(?<!hear )\b(?:any|is there any) (?:good |latest |new |recent |breaking |big )*news "
            rf"(?:{_DAY}|on|about|from)\b",
            rf"\byou hear(?:d)? any (?:good |latest |new |recent |breaking |big )*news (?:{_DAY}|on|about|from)\b",
            rf"\bwhat(?:'s| is| has)? (?:happening|happened|going on) in (?:the (?:world|news)|politics)(?: {_WHEN})?{_END}",
            rf"\bdid you (?:see|hear|watch|read|catch) (?:the news|what happened) (?:today|this morning|tonight|last night){_END}",
        ),
    ),
    (
        "scores",
        _any(
            rf"\bwhat(?:'s| is| was|s) the (?:final |current |latest )?score"
            rf"(?:{_END}| (?:in|for|right now|now|at|between|of (?!the (?:film|movie|soundtrack)))\b)",
            rf"\b(?:who|which team) (?:won|lost)(?: (?:the|that))?(?: \w+)?(?: (?:{_GAME}|election|debate))? {_AGO}{_END}",
            rf"\bwho won the (?:{_GAME}|election){_END}",
            rf"\bdid (?:the |my )?[\w ]{{2,25}} (?:win|lose) (?:{_AGO}|(?:the|their) {_GAME}){_END}",
            rf"\bwho(?:'s| is| are) (?:winning|leading|ahead|losing|playing)(?: the {_GAME})? (?:{_WHEN}|on {_WEEKDAY}){_END}",
            rf"\bwho(?:'s| is) winning(?: the (?:{_GAME}|election))?{_END}",
            rf"\bwhen (?:is|do|does|are) (?:the |their )?(?:[\w']+ ){{0,3}}next {_GAME}\b",
            rf"\bwhat time (?:is|does) (?:the |that |tonight's )?(?:[\w']+ )?{_GAME}\b",
        ),
    ),
)
# A text without this holds none of them.
CUE = any_of(cue for cues in _CUES.values() for cue in cues)
# Kind, cues and pattern; the first that matches decides. A pattern is only tried on a text with one of its cues.
QUESTIONS = tuple((kind, _CUES[kind], pattern) for kind, pattern in _PATTERNS)
