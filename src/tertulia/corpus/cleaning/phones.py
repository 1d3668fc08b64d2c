"""Phone numbers in a text, by Google's library of the world's numbering plans (the package ``phonenumbers``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tertulia.errors import ConfigurationError, MissingExtraError

__all__ = ["PhoneFinder"]

# Seven digits or more with what people put between them.
_DIGITS = re.compile(r"\+?\(?\d(?:[\s()./-]{0,3}\d){6,24}")
# The library judges a number by what stands beside it.
_MARGIN = 12
_YEARS = re.compile(r"(?:1[5-9]|20)\d\d\s?[-–/. ]\s?(?:(?:1[5-9]|20)\d\d|\d\d?[-/. ]\d\d?)\b")


class PhoneFinder:
    """Finds phone numbers that are valid in one of the regions, or with a country's prefix in any.

    Raises
    ------
    MissingExtraError
        The package is not installed.
    ConfigurationError
        There is no such region.
    """

    def __init__(self, regions: Sequence[str]) -> None:
        try:
            import phonenumbers
        except ImportError:
            raise MissingExtraError("finding phone numbers", package="phonenumbers", extra="full") from None
        for region in regions:
            if region not in phonenumbers.SUPPORTED_REGIONS:
                raise ConfigurationError(
                    f"{region!r} is no region with phone numbers; expected codes of ISO 3166 such as US+GB"
                )
        self._library = phonenumbers
        self._regions = list(regions)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Spans of phone numbers; those of several regions may overlap."""
        for match in _DIGITS.finditer(text):
            if _YEARS.match(match[0]):
                continue
            first = max(0, match.start() - _MARGIN)
            window = text[first : match.end() + _MARGIN]
            for region in self._regions:
                for found in self._library.PhoneNumberMatcher(window, region, self._library.Leniency.VALID):
                    yield first + found.start, first + found.end
