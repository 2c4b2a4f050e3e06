"""Markdown → a self-contained HTML page: no script, no outside request."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_SCROLL = '<div class="scroll" tabindex="0">'


class _Renderer(RendererHTML):
    """Let tables and figures scroll by themselves, inline the figures and link to HTML pages."""

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return _SCROLL + self.renderToken(tokens, at, options, env)

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self.renderToken(tokens, at, options, env) + "</div>\n"

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        target = str(tokens[at].attrs.get("href", ""))
        if target.endswith(".md") and "://" not in target:
            tokens[at].attrSet("href", target.removesuffix(".md") + ".html")
        return self.renderToken(tokens, at, options, env)

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        svg = env["figures"].get(str(tokens[at].attrs.get("src", "")))
        if svg is not None:
            data = base64.b64encode(svg.encode()).decode()
            tokens[at].attrSet("src", f"data:image/svg+xml;base64,{data}")
        return super().image(tokens, at, options, env)


def body(markdown: str, figures: Mapping[str, str]) -> str:
    """Return the HTML of a page's Markdown.

    Raw HTML passes through: it stands in the templates alone, for data are escaped before.

    Parameters
    ----------
    markdown
        The page.
    figures
        SVG text by the file name that the page's images refer to.
    """
    parser = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable("table")
    rendered: str = parser.render(markdown, {"figures": figures})
    # A paragraph that holds nothing but a figure becomes the box that scrolls.
    return rendered.replace("<p><img ", f"<p {_SCROLL[5:-1]}><img ")
