"""Templates → the Markdown and the HTML of a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

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
    *,
    above: Sequence[str] = (),
    unlinked: Sequence[str] = (),
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
    above
        Folders that the page lies in, from that of the index; each has a page of its name beside.
    unlinked
        Those of them that have none.

    Returns
    -------
    dict
        ``<name>.md``, ``<name>.html`` and the figures: text by file name.
    """
    shown = dict(figures or {})
    markdown = _tidy(TEMPLATES.get_template(template).render(context))
    whole = site(name, title, markdown, shown, above, unlinked)
    return {f"{name}.md": markdown, f"{name}.html": whole, **shown}


def site(
    name: str,
    title: str,
    markdown: str,
    figures: Mapping[str, str],
    above: Sequence[str] = (),
    unlinked: Sequence[str] = (),
) -> str:
    """Return the HTML of a page from its Markdown; the parameters are those of `page`.

    The page runs no script but its own: the browser is told that script's hash.
    """
    top = "../" * len(above)
    reference = f"{top}{METRICS_PAGE}.html"
    explains = name == METRICS_PAGE and not above
    script = TEMPLATES.get_template("page.js.j2").render()
    return TEMPLATES.get_template("page.html.j2").render(
        title=title,
        above=[(folder, "../" * (len(above) - at)) for at, folder in enumerate(above)],
        unlinked=unlinked,
        top=top,
        is_index=name == "index" and not above,
        explains=explains,
        page=html.body(markdown, figures, reference, explains=explains),
        style=TEMPLATES.get_template("page.css.j2").render(),
        script=script,
        script_sha256=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _tidy(markdown: str) -> str:
    """Leave one blank line where blocks that were left out leave several."""
    lines: list[str] = []
    for line in markdown.splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip() + "\n"
