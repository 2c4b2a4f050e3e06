"""SVG of figures: values on hover, and text that can stand inside a page beside other figures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

HOVER = "title:"
"""A link to this and a text, as Matplotlib's ``set_urls`` makes it, shows the text on hover."""

_LINK = re.compile(rf"""<a xlink:href=(["']){HOVER}(.*?)\1[^>]*>(.*?)</a>""", re.DOTALL)
_URL = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font-family:[^;]*; ?")


def titled(svg: str) -> str:
    """Turn links to `HOVER` and a text into titles, which viewers of SVG show on hover."""
    return _LINK.sub(r"<g><title>\2</title>\3</g>", svg)


def inline(svg: str, prefix: str, label: str) -> str:
    """Return a figure as an element of an HTML page.

    Parameters
    ----------
    svg
        The figure, a document of its own.
    prefix
        Put before every id, so that those of several figures do not clash.
    label
        What the figure shows, for those who do not see it.

    Notes
    -----
    Fonts and the width are the page's; metadata and rules of style, which would hold for the whole
    page, are left out.
    """
    root = ET.fromstring(svg)  # noqa: S314 -- figures are of our own making
    for element in root.iter():
        for child in [c for c in element if _local(c.tag) in {"metadata", "style"}]:
            element.remove(child)
        element.tag = _local(element.tag)
        element.attrib = {_local(k): _own(_local(k), v, prefix) for k, v in element.items()}
        if element.tag not in {"text", "tspan", "title"}:
            element.text = None
        element.tail = None
    root.attrib = {"viewBox": root.get("viewBox", ""), "role": "img", "aria-label": label}
    return ET.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """Return a name without its namespace: HTML knows those of SVG."""
    return name.rpartition("}")[2]


def _own(name: str, value: str, prefix: str) -> str:
    """Return an attribute's value with the prefix before each id in it."""
    if name == "id":
        return prefix + value
    if name == "href" and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    if name == "style":
        return _FONT.sub("", value)
    return _URL.sub(rf"url(#{prefix}\1)", value)
