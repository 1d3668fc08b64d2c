"""Personal details: each kind is found in its place, and what only looks like one is not."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.cleaning.identifiers import is_card, is_chinese_id, is_iban, is_nino, is_ssn, luhn
from tertulia.corpus.cleaning.personal import PersonalDetails
from tertulia.errors import ConfigurationError

ENGLISH = PersonalDetails("en")
CHINESE = PersonalDetails("zh")

# Numbers below are the ones that authorities and card schemes reserve for examples, or made up with a right check digit.
FOUND = [
    ("write to jo.bloggs+news@mail.example.co.uk, please", "e-mail", "jo.bloggs+news@mail.example.co.uk"),
    ("it is bloggs at gmail dot com", "e-mail", "bloggs at gmail dot com"),
    ("bloggs [at] example [dot] org", "e-mail", "bloggs [at] example [dot] org"),
    ("ring (415) 867-5309 after six", "phone", "(415) 867-5309"),
    ("or +44 20 7946 0958.", "phone", "+44 20 7946 0958"),
    ("+49 30 901820 is Berlin", "phone", "+49 30 901820"),
    ("the card is 4111 1111 1111 1111 ok", "card", "4111 1111 1111 1111"),
    ("3782-822463-10005", "card", "3782-822463-10005"),
    ("IBAN GB82 WEST 1234 5698 7654 32 AND THAT IS IT", "iban", "GB82 WEST 1234 5698 7654 32"),
    ("DE89370400440532013000", "iban", "DE89370400440532013000"),
    ("my ssn: 219-09-9999", "ssn", "219-09-9999"),
    ("NI number AB 12 34 56 C thanks", "nino", "AB 12 34 56 C"),
    ("I am at 8.8.8.8", "ip-address", "8.8.8.8"),
    ("or 2001:4860:4860::8888 here", "ip-address", "2001:4860:4860::8888"),
    ("I live at 12 Orchard Street, Springfield, IL 62704.", "address", "12 Orchard Street, Springfield, IL 62704"),
    ("send it to 7B North Quince Ave Apt 4", "address", "7B North Quince Ave Apt 4"),
    ("i live at 12 orchard street", "address", "12 orchard street"),
    ("PO Box 1234 will do", "address", "PO Box 1234"),
    ("postcode EC1A 1BB, London", "address", "EC1A 1BB"),
    ("follow @jane_doe99 there", "handle", "@jane_doe99"),
    ("my insta is jane.doe99", "handle", "jane.doe99"),
    ("add my snapchat: cooldude", "handle", "cooldude"),
    ("u/some_one said so", "handle", "u/some_one"),
]
FOUND_IN_CHINESE = [
    ("我的电话是 138 1234 5678 哦", "phone", "138 1234 5678"),
    ("ｔｅｌ　１３８１２３４５６７８", "phone", "１３８１２３４５６７８"),
    ("身份证 11010519491231002X 号", "resident-id", "11010519491231002X"),
    ("微信号：abc_12345 加我", "handle", "abc_12345"),
    ("加 我 QQ 12345678", "handle", "12345678"),
    ("@小明同学 你好", "handle", "@小明同学"),
    ("寄到海棠市青山区杨柳路27号3单元501室", "address", "海棠市青山区杨柳路27号3单元501室"),
    ("朝霞 区 建业 路 88 号", "address", "朝霞 区 建业 路 88 号"),
    ("我住在幸福小区3号楼", "address", "幸福小区3号楼"),
    ("邮箱 bloggs@example.com", "e-mail", "bloggs@example.com"),
]
HARMLESS = """
see you @ home|@home|@everyone look|the email is gone|I gave 110%|3.14159265358979|it cost $5,000,000,000
in 2016-2017 and 2018|the 1990s|21 Jump Street is fun|221B Baker Street|8 Mile Road|10 Cloverfield Lane
we were on 34th street|The Street was quiet|5 drive|version 1.2.3.4|192.168.0.1|127.0.0.1|12:30:45|10:20:30:40
https://example.com/@bob/13812345678|www.example.com/4111111111111111|1234 5678 9012 3456|000-12-3456
my facebook is full.|my twitter is great|GB82 WEST 1234 5698 7654 33|call 911|the score was 101-99|1 2 3 4 5 6 7
AB CD EF|a@b|it was 4-3-3|12/12/2012|地铁 10 号线 到 人民 公园|三十号见|我一号到|价格 128 元|今年 2024 年|13 号 星期 五
"""


@pytest.mark.parametrize(("text", "kind", "span"), FOUND)
def test_an_english_detail_is_found_in_its_place(text: str, kind: str, span: str) -> None:
    assert [(hit.kind, text[hit.start : hit.end]) for hit in ENGLISH.in_text(text)] == [(kind, span)]


@pytest.mark.parametrize(("text", "kind", "span"), FOUND_IN_CHINESE)
def test_a_chinese_detail_is_found_in_its_place(text: str, kind: str, span: str) -> None:
    assert [(hit.kind, text[hit.start : hit.end]) for hit in CHINESE.in_text(text)] == [(kind, span)]


@pytest.mark.parametrize("text", [part for line in HARMLESS.strip().splitlines() for part in line.split("|")])
def test_what_only_looks_like_a_detail_is_none(text: str) -> None:
    assert list(ENGLISH.in_text(text)) == []
    assert list(CHINESE.in_text(text)) == []


def test_several_are_found_in_order() -> None:
    text = "a@example.com, 4111111111111111, @jane_doe99, (415) 867-5309"
    assert [hit.kind for hit in ENGLISH.in_text(text)] == ["e-mail", "card", "handle", "phone"]


def test_the_regions_decide_what_a_number_without_prefix_is() -> None:
    number = "020 7946 0958"
    assert [hit.kind for hit in PersonalDetails("en", regions="GB").in_text(number)] == ["phone"]
    assert list(PersonalDetails("en", regions="US").in_text(number)) == []
    with pytest.raises(ConfigurationError, match="'XX' is no region"):
        PersonalDetails("en", regions="XX")


def test_luhn_against_the_definition() -> None:
    def plain(digits: str) -> bool:
        doubled = [int(d) * 2 if place % 2 else int(d) for place, d in enumerate(reversed(digits))]
        return sum(sum(map(int, str(value))) for value in doubled) % 10 == 0

    assert luhn("79927398713")
    for number in range(0, 100_000, 7):
        assert luhn(str(number)) == plain(str(number))


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (is_card, "5555555555554444", "5555555555554445"),
        (is_card, "6200000000000005", "9200000000000000"),
        (is_iban, "FR1420041010050500013M02606", "FR1420041010050500013M02607"),
        (is_iban, "NO9386011117947", "NO938601111794"),
        (is_chinese_id, "11010519491231002X", "110105194912310021"),
        (is_chinese_id, "440308199901101512", "440308199913101512"),
        (is_ssn, "219-09-9999", "666-09-9999"),
        (is_nino, "AB123456C", "GB123456C"),
    ],
)
def test_a_check_tells_right_from_wrong(check, right: str, wrong: str) -> None:  # type: ignore[no-untyped-def]
    assert check(right)
    assert not check(wrong)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.sampled_from(FOUND + FOUND_IN_CHINESE), st.text("@0123456789 +-.()号路", max_size=20))
def test_whatever_the_text_spans_lie_in_it_in_order(before: str, found: tuple[str, str, str], after: str) -> None:
    text = f"{before} {found[0]} {after}"
    for details in (ENGLISH, CHINESE):
        edges = [edge for hit in details.in_text(text) for edge in (hit.start, hit.end)]
        assert all(edge is not None and 0 <= edge <= len(text) for edge in edges)
        assert edges == sorted(edges, key=lambda edge: edge or 0)
        assert all(hit.start < hit.end for hit in details.in_text(text))  # type: ignore[operator]


@pytest.mark.parametrize(
    "text",
    [
        *("1 " * 5_000, "1" * 10_000, "@" * 10_000, "a@" * 5_000, "12 A " * 2_000, "北" * 10_000, "路1号" * 3_000),
        *("AB12 " * 2_000, ": " * 5_000, "1:" * 5_000, "a." * 5_000, "微信" * 5_000, "+1" * 5_000, "(1)" * 3_000),
        *("my line is " * 900, "http://" * 1_500, "1." * 5_000, " at " * 2_500, "\ud800" * 10),
    ],
)
def test_no_text_of_ten_thousand_characters_takes_long(text: str) -> None:
    began = time.process_time()
    CHINESE.in_text(text)
    ENGLISH.in_text(text)
    # One whose time explodes would take minutes.
    assert time.process_time() - began < 10
