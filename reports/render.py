"""Templates → the Markdown and the HTML of a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from reports import html

METRICS_PAGE = "metrics"
"""The page that others link to for what their columns mean, without its ending."""

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
    return {f"{name}.md": markdown, f"{name}.html": site(name, title, markdown, shown), **shown}


def site(name: str, title: str, markdown: str, figures: Mapping[str, str]) -> str:
    """Return the HTML of a page; ``name`` may lie in folders, such as ``gelu/triton``.

    The page runs no script but its own: the browser is told that script's hash.
    """
    folders = name.split("/")[:-1]
    top = "../" * len(folders)
    reference = f"{top}{METRICS_PAGE}.html"
    explains = name == METRICS_PAGE
    script = TEMPLATES.get_template("page.js.j2").render()
    return TEMPLATES.get_template("page.html.j2").render(
        title=title,
        # The page of folder a/b is a/b.html beside it.
        above=[(part, "../" * (len(folders) - at)) for at, part in enumerate(folders)],
        top=top,
        is_index=name == "index",
        explains=explains,
        page=html.body(markdown, figures, reference, explains=explains),
        style=Markup(TEMPLATES.get_template("page.css.j2").render()),  # noqa: S704
        script=Markup(script),  # noqa: S704
        script_sha256=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _tidy(markdown: str) -> str:
    """Leave one blank line where blocks that were left out leave several."""
    lines: list[str] = []
    for line in markdown.splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip() + "\n"
