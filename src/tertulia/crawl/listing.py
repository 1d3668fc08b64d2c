"""Lists of addresses in a file: as ``stackexchange links`` writes them, or one address a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tertulia.errors import InputError

__all__ = ["read_addresses"]

_LONGEST_LINE = 100_000


def read_addresses(path: str | Path) -> Iterator[str]:
    """The addresses of a file, in its order, as they stand there, again and again where they do.

    JSON Lines with a ``url`` each, tab-separated columns with a head that begins with ``url``, Parquet with a column ``url``, or an
    address a line; blank lines, and lines that begin with ``#``, are passed over.

    Raises
    ------
    InputError
        There is no such file, or a line holds no address, naming file and line.
    """
    file = Path(path)
    if not file.exists():
        raise InputError("there is nothing at this path", where=file)
    if file.is_dir():
        raise InputError("is a folder; expected a file with addresses", where=file)
    if file.suffix.lower() == ".parquet":
        yield from _of_parquet(file)
    else:
        yield from _of_lines(file)


def _of_parquet(file: Path) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as table:
            if "url" not in table.schema_arrow.names or not pa.types.is_string(table.schema_arrow.field("url").type):
                raise InputError("has no column 'url' of texts", where=file)
            for batch in table.iter_batches(columns=["url"]):
                for url in batch.column(0).to_pylist():
                    if url is not None:
                        yield url
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"is no Parquet file: {error}", where=file) from None


def _of_lines(file: Path) -> Iterator[str]:
    columns = False
    try:
        with file.open(encoding="utf-8-sig", errors="strict", newline="\n") as lines:
            number = 0
            while line := lines.readline(_LONGEST_LINE):
                number += 1
                where = f"{file}:{number}"
                if len(line) >= _LONGEST_LINE:
                    raise InputError(
                        f"has a line of more than {_LONGEST_LINE:,} characters; expected an address", where=where
                    )
                text = line.strip()
                if number == 1 and text.startswith("url\t"):
                    columns = True
                elif columns:
                    yield text.split("\t", 1)[0]
                elif text.startswith("{"):
                    yield _url_of(text, where)
                elif text and not text.startswith("#"):
                    yield text
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8; expected an address a line", where=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=file) from None


def _url_of(line: str, where: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("is no JSON object; expected one with a url", where=where) from None
    url = value.get("url") if isinstance(value, dict) else None
    if not isinstance(url, str):
        raise InputError(f"has the url {str(url)[:40]!r}; expected text", where=where)
    return url
