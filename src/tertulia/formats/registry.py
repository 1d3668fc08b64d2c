"""The table of formats: what ships, and what installed packages add under the entry point ``tertulia.formats``."""

from __future__ import annotations

from tertulia.corpus.exchange import Format
from tertulia.registry import Registry

__all__ = ["FORMATS"]

FORMATS: Registry[Format] = Registry(
    "format",
    group="tertulia.formats",
    shipped={
        "self-dialogue": "tertulia.formats.self_dialogue:SelfDialogueFormat",
        "ccpe": "tertulia.formats.ccpe:CcpeFormat",
        "chat-jsonl": "tertulia.formats.chat_jsonl:ChatJsonLinesFormat",
        "convokit": "tertulia.formats.convokit.format:ConvoKitFormat",
        "dialeval": "tertulia.formats.dialeval.format:DialEvalFormat",
        "dialeval-submission": "tertulia.formats.dialeval.submission:DialEvalSubmissionFormat",
        "dstc9": "tertulia.formats.dstc9:Dstc9Format",
        "jsonl": "tertulia.formats.jsonl:JsonLinesFormat",
        "mantis": "tertulia.formats.mantis.format:MantisFormat",
        "pages": "tertulia.formats.pages.format:PagesFormat",
        "ranking-tsv": "tertulia.formats.ranking_tsv:RankingTsvFormat",
        "rated-tsv": "tertulia.formats.rated_tsv.format:RatedTsvFormat",
        "stackexchange": "tertulia.stackexchange.format:StackExchangeFormat",
        "usr": "tertulia.formats.usr:UsrFormat",
        "xiaomi": "tertulia.formats.xiaomi:XiaomiFormat",
        "log": "tertulia.log.format:LogFormat",
    },
)
