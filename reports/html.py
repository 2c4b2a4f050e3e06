"""Markdown → a page of the site: one self-contained file, no outside request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from reports.svg import inline
from reports.terms import Anchors, anchor

_SCROLL = {"class": "scroll", "tabindex": "0", "role": "region"}
_COLUMN = "Column"
"""Header of the tables whose rows explain columns; they get anchors."""

_JOINT = re.compile(r"(_+|\.|::)(?=[^\W_])")
"""Where long names in code may break: markup of a code span has none of these."""

_DIFF_COLOURS = {"+": "--accent", "-": "--mark"}
"""Colours of the style sheet for the lines of a unified diff."""


@dataclass(frozen=True)
class Body:
    """What a page's Markdown gives.

    Attributes
    ----------
    html
        Its elements.
    sections
        Anchor and plain text of each heading of the second level.
    banners
        Anchor and first, strong words of each quoted block, such as ``Replayed``.
    """

    html: str
    sections: tuple[tuple[str, str], ...]
    banners: tuple[tuple[str, str], ...]


class _Renderer(RendererHTML):
    """Put figures into the page, and let tables scroll by themselves."""

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        box = " ".join(f'{name}="{value}"' for name, value in _SCROLL.items())
        return f'<div {box} aria-label="Table">{self.renderToken(tokens, at, options, env)}'

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self.renderToken(tokens, at, options, env) + "</div>\n"

    def code_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return _JOINT.sub(r"\1<wbr>", super().code_inline(tokens, at, options, env))

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        source = str(tokens[at].attrs.get("src", ""))
        if source not in env["figures"]:
            return super().image(tokens, at, options, env)
        env["drawn"] += 1
        return inline(env["figures"][source], f"f{env['drawn']}-", tokens[at].content)


def body(markdown: str, figures: Mapping[str, str], reference: str, *, explains: bool) -> Body:
    """Return a page's Markdown as HTML.

    Raw HTML passes through: it stands in the templates alone, for data are escaped before.

    Parameters
    ----------
    markdown
        The page.
    figures
        SVG text by the file name that the page's images refer to.
    reference
        Where the reference of the metrics lies, as seen from the page.
    explains
        Whether the page is that reference.
    """
    options = {"html": True, "highlight": _highlight}
    parser = MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable("table")
    tokens = parser.parse(markdown)
    sections = _number_headings(tokens)
    banners = _name_banners(tokens)
    _box_figures(tokens, figures)
    _link_pages(tokens)
    _explain(tokens, "" if explains else reference)
    env: dict[str, Any] = {"figures": figures, "drawn": 0}
    return Body(parser.renderer.render(tokens, parser.options, env), sections, banners)


def _highlight(text: str, language: str, _: str) -> str:
    """Colour what a diff adds and removes; return nothing for other code, which stays."""
    if language != "diff":
        return ""
    lines = text.splitlines(keepends=True)
    return "".join(_coloured(escapeHtml(line), _DIFF_COLOURS.get(line[0])) for line in lines)


def _coloured(markup: str, colour: str | None) -> str:
    return f'<span style="color: var({colour})">{markup}</span>' if colour else markup


def _number_headings(tokens: list[Token]) -> tuple[tuple[str, str], ...]:
    """Give headings the anchors that GitHub gives them; return those of the second level."""
    seen: Counter[str] = Counter()
    sections = []
    for token, inner in pairwise(tokens):
        if token.type == "heading_open":
            text = _plain(inner)
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            name = f"{slug}-{seen[slug]}" if seen[slug] else slug
            seen[slug] += 1
            token.attrSet("id", name)
            if token.tag == "h2":
                sections.append((name, text))
    return tuple(sections)


def _name_banners(tokens: list[Token]) -> tuple[tuple[str, str], ...]:
    banners: list[tuple[str, str]] = []
    for token, inner in zip(tokens, tokens[2:], strict=False):
        if token.type == "blockquote_open":
            words = [b.content for a, b in pairwise(inner.children or []) if a.tag == "strong"]
            if words:
                name = f"banner-{len(banners) + 1}"
                token.attrSet("id", name)
                banners.append((name, words[0]))
    return tuple(banners)


def _box_figures(tokens: list[Token], figures: Mapping[str, str]) -> None:
    """Turn a paragraph that holds nothing but a figure into a box that scrolls."""
    for at, token in enumerate(tokens[1:-1], start=1):
        children = token.children or []
        if len(children) == 1 and str(children[0].attrs.get("src", "")) in figures:
            tokens[at - 1].tag = tokens[at + 1].tag = "figure"
            for name, value in _SCROLL.items():
                tokens[at - 1].attrSet(name, value)
            tokens[at - 1].attrSet("aria-label", "Figure")


def _link_pages(tokens: list[Token]) -> None:
    """Let links between pages lead to the HTML ones."""
    for link in (c for token in tokens for c in token.children or [] if c.type == "link_open"):
        target = str(link.attrs.get("href", ""))
        if "://" not in target:
            link.attrSet("href", re.sub(r"\.md(?=#|$)", ".html", target))


def _explain(tokens: list[Token], reference: str) -> None:
    """Link headers and metrics to the rows that explain them, and give such rows anchors."""
    anchors = Anchors()
    explained: set[str] = set()
    defining = False
    for at, (token, inner) in enumerate(pairwise(tokens)):
        if token.type == "table_open":
            # Behind it stand the head, its row and the first header.
            defining = tokens[at + 4].content == _COLUMN
            if defining:
                token.attrSet("class", "wordy")
        elif token.type == "th_open":
            if not defining and (name := anchors.column(_plain(inner))):
                inner.children = [*(inner.children or []), *_question(f"{reference}#{name}")]
        elif token.type == "tr_open" and defining and inner.type == "td_open":
            name = anchor(_plain(tokens[at + 2]))
            if name not in explained:
                explained.add(name)
                token.attrSet("id", name)
        elif token.type == "inline":
            token.children = _linked(token.children or [], anchors, reference)


def _question(target: str) -> list[Token]:
    opened = Token("link_open", "a", 1)
    opened.attrs = {"class": "what", "href": target, "aria-label": "what it means"}
    return [opened, Token("text", "", 0, content="?"), Token("link_close", "a", -1)]


def _linked(children: list[Token], anchors: Anchors, reference: str) -> list[Token]:
    """Link metrics, by their columns and by Nsight Compute's names."""
    linked: list[Token] = []
    for child in children:
        name = anchors.metric(child.content) if child.type == "code_inline" else None
        if name is None:
            linked.append(child)
        else:
            opened = Token("link_open", "a", 1, attrs={"href": f"{reference}#{name}"})
            linked += [opened, child, Token("link_close", "a", -1)]
    return linked


def _plain(inline_token: Token) -> str:
    return "".join(child.content for child in inline_token.children or [])
