"""Templates → the Markdown and the HTML of a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from reports import html

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=jinja2.StrictUndefined,
    # Data in Markdown are escaped by reports.format.
    autoescape=jinja2.select_autoescape(("html.j2",), default=False),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def page(
    name: str,
    title: str,
    template: str,
    context: Mapping[str, Any],
    figures: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Render a page.

    Parameters
    ----------
    name
        Its file name without the ending.
    title
        Title of the HTML page, as plain text.
    template
        File name of the template of its Markdown.
    context
        What that template shows.
    figures
        SVG text by the file name that the page refers to.

    Returns
    -------
    dict
        ``<name>.md``, ``<name>.html`` and the figures: text by file name.
    """
    shown = dict(figures or {})
    markdown = _tidy(TEMPLATES.get_template(template).render(context))
    outer = TEMPLATES.get_template("page.html.j2")
    whole = outer.render(title=title, body=html.body(markdown, shown))
    return {f"{name}.md": markdown, f"{name}.html": whole, **shown}


def _tidy(markdown: str) -> str:
    """Leave one blank line where blocks that were left out leave several."""
    lines: list[str] = []
    for line in markdown.splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip() + "\n"
