"""Numbers that identify a person or an account, each known by its check: cards, bank accounts, national ids."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["iban_length", "is_card", "is_chinese_id", "is_iban", "is_nino", "is_ssn", "luhn"]

_CARD_PREFIX = re.compile(
    r"4\d{12}(?:\d{3}){0,2}"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|3(?:0[0-5]|[689]\d)\d{11}"  # Diners Club
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}"  # Discover
    r"|(?:352[89]|35[3-8]\d)\d{12}"  # JCB
    r"|62\d{14,17}"  # UnionPay
)
# The lengths of the IBAN registry (ISO 13616), by country.
_IBAN_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_IBAN_LENGTHS = {country: length for length, countries in _IBAN_COUNTRIES.items() for country in countries.split()}
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"
_NINO_UNUSED = frozenset(["BG", "GB", "KN", "NK", "NT", "TN", "ZZ"])


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Whether digits are the number of a payment card: an issuer's prefix and length, and the check digit."""
    return _CARD_PREFIX.fullmatch(digits) is not None and luhn(digits)


def is_iban(text: str) -> bool:
    """Whether letters and digits without spaces are an IBAN: its country's length, and the check of ISO 7064 (97-10)."""
    if iban_length(text) != len(text):
        return False
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1


def iban_length(text: str) -> int | None:
    """How long the IBAN that begins like this is, without spaces; ``None`` where no country's does."""
    return _IBAN_LENGTHS.get(text[:2])


def is_chinese_id(text: str) -> bool:
    """Whether 18 characters are a resident identity number: a province, a day of birth, and the check character (GB 11643)."""
    if not ("11" <= text[:2] <= "65" or text[:2] in ("71", "81", "82", "83")):
        return False
    try:
        born = date(int(text[6:10]), int(text[10:12]), int(text[12:14]))
    except ValueError:
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_ID_WEIGHTS, text, strict=False))
    return born.year >= 1850 and text[17].upper() == _ID_CHECKS[total % 11]


def is_ssn(text: str) -> bool:
    """Whether ``123-45-6789`` can be a social security number of the United States: no part is one that is never given out."""
    area, group, serial = text[:3], text[4:6], text[7:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_nino(text: str) -> bool:
    """Whether two letters, six digits and a letter can be a national insurance number of the United Kingdom."""
    return text[:2].upper() not in _NINO_UNUSED
