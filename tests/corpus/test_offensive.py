import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.bot.build import starter_material
from tertulia.bot.starter import starter_dialogues
from tertulia.corpus.offensive import OffensiveFilter
from tertulia.errors import ConfigurationError

FILTER = OffensiveFilter()
CHINESE = OffensiveFilter("zh")

OFFENSIVE = """
fuck|fuck you|what the fuck|this is fucking stupid|FUCK|Fucked up|motherfucker|fucker|fuckers|fuuuuck|fuuck|fuckkk|f u c k|f.u.c.k|f-u-c-k|f_u_c_k
f**k|f*ck|fu*k|f***ing|fück|ＦＵＣＫ|fuсk|fvck|fck off|sh1t|sh!t|shit|SHIT!|shitty|bullshit|that is horseshit|shiiiiit|s h i t|s.h.i.t|you shithead
a$$hole|@sshole|assh0le|asshole|assholes|a s s h o l e|b1tch|bitch|bitches|son of a bitch|biiiitch|b!tch|dickhead|you dickhead|cunt|c u n t|cunts|c*nt
you are an idiot|you're an idiot|you are so stupid|youre stupid|ur stupid|you stupid bot|stupid robot|you idiot|you moron|useless bot|you suck|shut up idiot
you are a complete waste of space|you are worthless|nigger|n1gger|niggers|n i g g e r|faggot|fagg0t|faggots|retard|retarded|whore|slut|sluts|wh0re|kike|spic|chink|tranny
suck my dick|blowjob|blow job|send nudes|porn|pornhub|handjob|jerk me off|i want to have sex with you|cum on my face|pussy|dildo
i will kill you|i'm going to kill you|kill yourself|kys|go kill yourself|i will rape you|i'll find you and hurt you
fu.ck|fu-ck|f-uck you|sh.it|s_h_i_t|a$$|mother-fucker|F*CK|f*cking hell|bullsh*t|5h1t|fuсk|fu\u200bck|fück
i'm gonna kill you|im gonna fucking kill you|I wanna kill everyone|i am really going to stab you|i'll hunt you down and kill you|I'm gonna rape you
are you stupid|are you a complete idiot|you stupid bot|you dumb ugly robot|stupid chatbot|you're such an idiot|you are just a useless piece of trash|suck my balls|you dick|Suck My Dick|kill urself
"""  # noqa: E501

HARMLESS = """
Scunthorpe|I grew up in Scunthorpe|Dick Van Dyke was great in Mary Poppins|moby dick|Have you read Moby Dick?|Philip K. Dick|cocktail|a cocktail party|assassin|the assassins
Hancock|John Hancock|shiitake mushrooms|grape|grapes|shuttlecock|cockpit|in the cockpit|bass|a bass guitar|class|first class|classic|analysis|Uranus|the rings of Uranus
pussycat|Hitchcock|Alfred Hitchcock|titmouse|a tufted titmouse|blue tits is what they call those birds? no, a tit|Essex|Sussex|Middlesex|assess|assessment|assume|assist|passion|passive|embarrassed|compass
grass|glass|brass|mass|pass the salt|Massachusetts|massage|bassoon|cassette|harass|button|butter|butterfly|rebuttal|buttercup|peacock|woodcock|weathercock|cockatoo|cocker spaniel|cockroach|cockney
Penistone|sextet|sextant|unisex|Sexton|document|documentary|cucumber|accumulate|circumstance|cumin|cumulus|scum on the soup|title|titles|titanic|Titanic|competition|constitution|institute|stitch
Essex girls love Sussex|analog|canal|banal|arsenal|Arsenal won|parsnip|sparse|arson|rapeseed|grapefruit|therapist|scrape|drapes|skyscraper|trapeze|Shakespeare|spice|spicy|suspicious|hospice|conspicuous|auspicious
raccoon|cocoon|tycoon|the Maine Coon|coon cat|niggle|snigger|Niger|Nigeria|Nigerian food|denigrate|dyke along the river|Offa's Dyke|flaming June|homogeneous|homonym|pansy|pansies in the garden|fruit
damn|damn it|hell|what the hell|crap|heck|bloody hell|that sucks|this sucks a bit|I suck at chess|she sucked a lemon|vacuum cleaners suck|a sucker for romance|hooker in rugby? no, the prop|hoover
this traffic is killing me|i died laughing|that joke killed|dead tired|kill two birds with one stone|you slay me|killer whale|To Kill a Mockingbird|Kill Bill|who shot J.R.|shoot a photo|bite the bullet
my idiot brother is lovely|what an idiot i was|The Idiot by Dostoevsky|stupid question, sorry|how stupid of me|you are not stupid|you're never useless|dumb luck|Dumb and Dumber|dumbbell|I feel stupid
i love you|you are amazing|you're so funny|do you like jazz|kick ass|Kick-Ass|doo-wop|a coon's age|balls|tennis balls|meatballs|ball|nuts|donuts|screw driver|screwdriver|screw|bang a drum|banger|chick lit|chickpeas
virgin olive oil|Virgin Records|nipple of a baby bottle|breast of chicken|chicken breast|hot dog|hoe|a garden hoe|hoes and rakes|rake|ho ho ho|tool|rooster|donkey|beaver|bush|Kate Bush
shut the door|shut up, really? no way|hate Mondays|I hate cilantro|i hate you a little for that|drug store|cracker|crackers and cheese|a slope for skiing|gay marriage is legal there|lesbian cinema|a queer reading|Jewish food|a Muslim friend|Black Panther
have you read The Idiot|are you reading The Idiot by Dostoevsky|you will love The Idiot|who're they|he'll be there|she'll sell shells|we're here|I'd go|the stupid computer crashed|sugar makes you fat
woops, i did it|Don't let the sun go down on me|drop dead gorgeous|shoot yourself in the foot|spick and span|doo-wop groups|a few doo wops|Inglorious Bastards|Cum On Feel the Noize|blue-footed boobies|the plants just die in winter|xXx with Vin Diesel|suck my thumb|Dick Powell sang in it|I met Dick Smith|this is a sambo lesson
you are not an idiot|you are never useless|are you a robot|are you free|do you hate Mondays|I will call you|i'm gonna cook|I am going to hurt tomorrow|e-mail|co-op|x-ray|as-is|re-run|p.s. it was fun|U.S.A.|it was great.so we left|US$ 5|A$10|cash in $$
5***|4** hotel|***|!!!|@home|$5|a*b=c|c++|c#|e=mc2|3.14|ok!|😀|Straße|naïve café|привет|你好
"""  # noqa: E501


def items(text: str) -> list[str]:
    return [item.strip() for line in text.strip().splitlines() for item in line.split("|")]


@pytest.mark.parametrize("text", items(OFFENSIVE))
def test_offensive_text_is_objected_to(text: str) -> None:
    assert FILTER.objection(text) is not None


@pytest.mark.parametrize("text", items(HARMLESS))
def test_harmless_text_is_not(text: str) -> None:
    assert FILTER.objection(text) is None


def test_there_are_enough_of_both() -> None:
    assert len(items(OFFENSIVE)) >= 80
    assert len(items(HARMLESS)) >= 120


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("this is shit", "profanity"),
        ("you are an idiot", "insult"),
        ("i will kill you", "violent threat"),
        ("send nudes", "sexual"),
        ("faggot", "slur"),
    ],
)
def test_it_says_what_it_objects_to(text: str, category: str) -> None:
    assert FILTER.objection(text) == category


@pytest.mark.parametrize("text", ["操你妈", "傻 逼", "你 他 妈 的", "what the fuck 你好"])
def test_chinese_is_objected_to(text: str) -> None:
    assert CHINESE.objection(text) is not None


@pytest.mark.parametrize("text", ["你好", "今天天气很好", "我喜欢钢琴曲", "操场上有很多人", "干杯", "妈妈做饭"])
def test_harmless_chinese_is_not(text: str) -> None:
    assert CHINESE.objection(text) is None


def test_terms_of_ones_own_are_added() -> None:
    own = OffensiveFilter(extra=["Blatherskite", "purple monkey"])
    assert own.objection("you BLATHERSKITE!") == "profanity"
    assert own.objection("a purple monkey") == "profanity"
    assert FILTER.objection("blatherskite, purple monkey") is None


@given(st.text(max_size=400))
def test_any_text_gets_an_answer_and_the_same_one_again(text: str) -> None:
    assert FILTER.objection(text) == FILTER.objection(text)
    CHINESE.objection(text)


@given(
    st.sampled_from(items(OFFENSIVE)),
    st.sampled_from(["", "well, ", "so then. "]),
    st.sampled_from(["", " !!", "... ok?"]),
)
def test_company_does_not_hide_it(text: str, before: str, after: str) -> None:
    assert FILTER.objection(before + text + after) is not None


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10_000,
        "f " * 5_000,
        "*" * 10_000,
        "f*" * 5_000,
        "you are " * 1_250,
        "'" * 10_000,
        "@" * 10_000,
        "s" * 9_999 + "!",
        "Dick " * 2_000,
        "a." * 5_000,
        "i will really " * 800,
        "f**k1 " * 1_500,
        "aabb" * 2_500,
    ],
)
def test_no_text_of_ten_thousand_characters_takes_long(text: str) -> None:
    began = time.process_time()
    FILTER.objection(text)
    # A filter whose time explodes would take minutes; a hundred times the usual is allowed here.
    assert time.process_time() - began < 5


def plainly(own: OffensiveFilter, text: str) -> str | None:
    """The objection without the short cut over tokens that are known to be harmless."""
    return next((offence.category for offence in own._offences(own._folded(text))), None)


TOKENS = sorted({token for text in items(OFFENSIVE) + items(HARMLESS) for token in text.split()})
CHINESE_PIECES = ["操", "你", "妈", "傻", "逼", "牛", "去", "死", "吧", "海", " ", "，", "我", "a", "ｆｕｃｋ"]


@given(st.lists(st.sampled_from(TOKENS), max_size=8), st.lists(st.sampled_from(CHINESE_PIECES), max_size=8))
def test_the_short_cut_changes_no_verdict(words: list[str], pieces: list[str]) -> None:
    text = " ".join(words) + "".join(pieces)
    for warm in (FILTER, CHINESE):
        assert warm.objection(text) == plainly(warm, text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what the fuck, you  idiot!", [("fuck", "profanity"), ("you  idiot", "insult")]),
        ("you're such an idiot", [("you're such an idiot", "insult")]),
        ("oh ﬁne: ＦＵＣＫ it", [("ＦＵＣＫ", "profanity")]),
        ("so f u c k that", [("f u c k", "profanity")]),
        ("sh.it happens", [("sh.it", "profanity")]),
        ("Dick Powell said shit", [("shit", "profanity")]),
        ("😀😀 bitch", [("bitch", "profanity")]),
        ("moby dick", []),
        ("", []),
    ],
)
def test_it_says_where(text: str, found: list[tuple[str, str]]) -> None:
    assert [(text[offence.start : offence.end], offence.category) for offence in FILTER.find(text)] == found


def test_it_says_where_in_chinese() -> None:
    text = "牛逼！你 是 个 傻 逼 吗，滚，去死吧。"
    assert [text[offence.start : offence.end] for offence in CHINESE.find(text)] == ["傻 逼", "去死吧"]


@given(st.text(max_size=60), st.sampled_from(items(OFFENSIVE)), st.text(max_size=60))
def test_what_is_found_lies_in_the_text_in_order(before: str, offence: str, after: str) -> None:
    text = f"{before} {offence} {after}"
    found = CHINESE.find(text)
    assert bool(found) == (CHINESE.objection(text) is not None)
    edges = [edge for offence in found for edge in (offence.start, offence.end)]
    assert edges == sorted(edges)
    assert all(offence.start < offence.end for offence in found)
    assert not edges or (edges[0] >= 0 and edges[-1] <= len(text))


def test_no_long_word_is_kept() -> None:
    own = OffensiveFilter()
    own.objection("x" * 10_000 + " hello")
    assert list(own._verdicts) == ["hello"]


def test_the_starters_lines_pass() -> None:
    material = starter_material()
    lines = (material / "backup.txt").read_text(encoding="utf-8").splitlines()
    lines += [text for dialogue in starter_dialogues() for text in dialogue.texts]
    assert [line for line in lines if FILTER.objection(line)] == []


def test_a_broken_lexicon_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.corpus.offensive._lines", lambda _language: iter([(3, "no category")]))
    with pytest.raises(ConfigurationError, match=r"en\.txt:3: holds 'no category'"):
        OffensiveFilter()


def test_the_lexicons_are_well_formed() -> None:
    folder = Path(starter_material()).parent / "corpus" / "lexicons"
    for file in sorted(folder.glob("*.txt")):
        terms = [
            line.split("|")[0].strip()
            for line in file.read_text(encoding="utf-8").splitlines()
            if line and line[0] != "#"
        ]
        assert len(terms) == len(set(terms)), file.name
