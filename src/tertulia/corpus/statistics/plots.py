"""Figures as pictures: SVG, PNG, or an HTML page that needs nothing from outside.

Drawn by Vega-Lite as vl-convert carries it along, without a browser or a network.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

from tertulia.artefact import put_in_place, work_directory
from tertulia.corpus.statistics.figures import Figure
from tertulia.errors import InputError, MissingExtraError, UsageError

__all__ = ["KINDS", "check_target", "specification", "vega_converter", "write_plot"]

KINDS = (".svg", ".png", ".html")
# The version of Vega-Lite, named so that another version of vl-convert draws the same.
_VEGA_LITE = "6.1"
# Pixels of a PNG for each of an SVG.
_SCALE = 2.0
# Chinese labels take the first font of these that the system has; DejaVu has Latin, Greek, Cyrillic and symbols.
_FONT = "DejaVu Sans, Noto Sans CJK SC, Noto Sans SC, WenQuanYi Micro Hei, PingFang SC, Microsoft YaHei, sans-serif"
# The palette of Okabe and Ito (2008), which people with any colour vision can tell apart.
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"]
_INK = "#333333"
_FAINT = "#666666"
# Within a tag only, never in a text.
_CLIP = re.compile(r'(<[^<>]*(?:\bid="|\burl\(#)clip)(\d+)')
# Stands for "<" on the way through vl-convert: Unicode has promised that it is no character.
_LESS = "\ufdd0"
_WIDTH = 640
_HEIGHT = 320


def check_target(path: str | Path, *, overwrite: bool = False) -> str:
    """The kind of picture that a path names, held against :data:`KINDS` before anything is counted.

    Raises
    ------
    UsageError
        Its name ends in none of them.
    InputError
        Something stands there, and it is not a file that may be replaced.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: expected the name of a picture, ending in .svg, .png or .html")
    if path.is_dir():
        raise InputError("is a directory; expected the path of a file to write", where=path)
    if path.exists() and not path.is_file():
        raise InputError("is not a regular file; expected the path of a file to write", where=path)
    if (path.exists() or path.is_symlink()) and not overwrite:
        raise InputError("exists already", where=path, hint="--overwrite replaces it")
    return kind


def write_plot(figure: Figure, title: str, path: str | Path, *, overwrite: bool = False) -> None:
    """Draw a figure into a file, in one step; its name says as what.

    Raises
    ------
    UsageError, InputError
        As :func:`check_target` says.
    ArtefactError
        The file cannot be written.
    MissingExtraError
        The package vl-convert-python is not installed.
    """
    path = Path(path)
    kind = check_target(path, overwrite=overwrite)
    picture = _drawn(specification(figure, title), kind)
    with work_directory(path) as work:
        (work / path.name).write_bytes(picture)
        put_in_place(work / path.name, path)


def _drawn(spec: dict[str, Any], kind: str) -> bytes:
    vega = vega_converter()
    if kind == ".png":
        png: bytes = vega.vegalite_to_png(spec, vl_version=_VEGA_LITE, scale=_SCALE, allowed_base_urls=[])
        return png
    if kind == ".svg":
        svg: str = vega.vegalite_to_svg(spec, vl_version=_VEGA_LITE, allowed_base_urls=[])
        return _renumbered(svg).encode()
    # The page holds the specification within a script, as it is: no text of the corpus may end the script.
    harmless = json.dumps(spec, ensure_ascii=False).replace("<", _LESS)
    html: str = vega.vegalite_to_html(harmless, vl_version=_VEGA_LITE, bundle=True).replace(_LESS, "\\u003c")
    title = escape(spec["title"]["text"])
    return html.replace("<title>Chart</title>", f"<title>{title}</title>", 1).encode()


def _renumbered(svg: str) -> str:
    """The SVG with its clip paths numbered from 1: vl-convert numbers those of all pictures of a process in one row."""
    numbers: dict[str, int] = {}
    return _CLIP.sub(lambda match: f"{match[1]}{numbers.setdefault(match[2], len(numbers) + 1)}", svg)


def vega_converter() -> ModuleType:
    """What draws Vega-Lite specifications.

    Raises
    ------
    MissingExtraError
        The package vl-convert-python is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("drawing plots", package="vl-convert-python", extra="full") from None
    module: ModuleType = vl_convert
    return module


def specification(figure: Figure, title: str) -> dict[str, Any]:
    """The Vega-Lite specification of a figure, its data within."""
    several = any(bar.series is not None for bar in figure.bars)
    names = list(dict.fromkeys(bar.name for bar in figure.bars))
    measure: dict[str, Any] = {
        "field": "share" if figure.shares else "count",
        "type": "quantitative",
        "title": figure.up,
        "axis": {"format": "~%" if figure.shares else ",d"},
    }
    most = max((bar.count for bar in figure.bars), default=0)
    if not figure.shares and most < 10:
        # Nobody counts half a dialogue.
        measure["axis"]["values"] = list(range(most + 1))
    place: dict[str, Any] = {"field": "name", "type": "ordinal", "sort": names, "title": figure.across}
    tooltip = [
        # Not the name of the axis: of fields called "image" or "title" a page's tooltip makes more than a row.
        {"field": "name", "type": "nominal", "title": "name"},
        {"field": "count", "type": "quantitative", "title": "number", "format": ","},
        {"field": "share", "type": "quantitative", "format": ".1%"},
    ]
    encoding: dict[str, Any] = {"tooltip": tooltip}
    if figure.ordered:
        place["axis"] = {"labelAngle": 0, "labelOverlap": "parity", "labelSeparation": 6}
        encoding |= {"x": place, "y": measure}
        size: dict[str, Any] = {"width": _WIDTH, "height": _HEIGHT}
    else:
        # The title lies above the names, not far beside them.
        place["axis"] = {"labelLimit": 260, "titleAngle": 0, "titleAlign": "right", "titleX": -8, "titleY": -10}
        measure["axis"]["tickCount"] = 6
        encoding |= {"y": place, "x": measure}
        size = {"width": _WIDTH - 160, "height": {"step": 12 if several else 22}}
    if several:
        series = list(dict.fromkeys(bar.series for bar in figure.bars))
        colour = {"field": "series", "type": "nominal", "sort": series, "title": "annotator"}
        encoding["color"] = {**colour, "scale": {"domain": series, "range": _COLOURS[: len(series)]}}
        encoding["xOffset" if figure.ordered else "yOffset"] = {"field": "series", "type": "nominal", "sort": series}
        tooltip.insert(0, {"field": "series", "type": "nominal", "title": "annotator"})
    return {
        "$schema": f"https://vega.github.io/schema/vega-lite/v{_VEGA_LITE}.json",
        "title": {"text": f"{title}: {figure.heading}", "subtitle": figure.sample},
        "description": f"{title}: {figure.heading}. {figure.sample}.",
        "data": {"values": figure.to_json()["bars"]},
        "layer": [_bars(encoding), *_numbers(figure, encoding, several)],
        **size,
        # The menu of a page: saving the picture, and nothing that goes out.
        "usermeta": {
            "embedOptions": {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}
        },
        "config": _config(),
    }


def _bars(encoding: dict[str, Any]) -> dict[str, Any]:
    return {"mark": {"type": "bar", "color": _COLOURS[0]}, "encoding": encoding}


def _numbers(figure: Figure, encoding: dict[str, Any], several: bool) -> list[dict[str, Any]]:
    """The numbers at the ends of bars, where there is room for them."""
    if several or (figure.ordered and len(figure.bars) > 12):
        return []
    side = {"dy": -7} if figure.ordered else {"align": "left", "dx": 4}
    text = {"field": "share", "format": ".1%"} if figure.shares else {"field": "count", "format": ","}
    return [
        {
            "mark": {"type": "text", "color": _FAINT, "fontSize": 11, **side},
            "encoding": {axis: encoding[axis] for axis in ("x", "y")} | {"text": {**text, "type": "quantitative"}},
        }
    ]


def _config() -> dict[str, Any]:
    return {
        "font": _FONT,
        "background": "white",
        "padding": 14,
        "title": {
            "anchor": "start",
            "color": _INK,
            "fontSize": 16,
            "fontWeight": 600,
            "subtitleColor": _FAINT,
            "subtitleFontSize": 12,
            "subtitlePadding": 6,
            "offset": 14,
        },
        "axis": {
            "labelColor": _INK,
            "titleColor": _INK,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "domainColor": "#999999",
            "tickColor": "#999999",
            "gridColor": "#e6e6e6",
        },
        "axisBand": {"grid": False, "ticks": False},
        "legend": {"labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal"},
        "view": {"stroke": None},
        "bar": {"cornerRadiusEnd": 1},
    }
