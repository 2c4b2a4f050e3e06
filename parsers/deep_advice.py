"""What the rules of Nsight Compute found in a launch, as plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import ncu_report

_KINDS = {
    ncu_report.MsgType_OK: "info",
    ncu_report.MsgType_OPTIMIZATION: "optimization",
    ncu_report.MsgType_WARNING: "warning",
    ncu_report.MsgType_ERR: "error",
}
"""What ``ncu --page details`` prints as INF, OPT, WRN and ERR."""

_SCOPES = {ncu_report.SpeedupType_LOCAL: "local", ncu_report.SpeedupType_GLOBAL: "global"}

_MARKUP = re.compile(
    r"@section:[^:@]*:(?P<section>[^@]*)@"
    r"|@url:(?P<url>[^:@]*):[^@]*@"
    r"|@(?:source|sass):[^@]*?:[^:@]*:(?P<place>[^@]*)@"
)
"""Links: ``@section:SourceCounters:Source Counters@``, ``@url:Guide:https://…@`` and
``@source:gelu.py:84:gelu.py, line 85@``."""


def advice_of(action: Any) -> Iterator[dict[str, Any]]:
    """Yield the results of a launch's rules that say something, as rows of ``advice``.

    Parameters
    ----------
    action
        An ``ncu_report.IAction``.
    """
    for result in action.rule_results_as_dicts():
        said = result.get("rule_message") or {}
        message = plain(said.get("message") or "")
        if not message:
            continue
        estimate = result.get("speedup_estimation") or {}
        yield {
            "section": result["section_identifier"],
            "rule": result["rule_identifier"],
            "title": plain(said.get("title") or "") or result.get("name"),
            "message": message,
            "kind": _KINDS.get(said.get("type"), "info"),
            "speedup_pct": estimate.get("speedup"),
            "speedup_scope": _SCOPES.get(estimate.get("type")),
            "metrics": _metrics(result.get("focus_metrics") or []),
        }


def plain(message: str) -> str:
    """Return a message with the texts of its links in their place, on one line.

    Examples
    --------
    >>> plain("See the @url:Guide:https://docs.nvidia.com/a#b@ and @section:Occupancy:Occupancy@.")
    'See the Guide and Occupancy.'
    """
    return " ".join(_MARKUP.sub(lambda link: link[link.lastgroup or 0], message).split())


def _metrics(focus: list[dict[str, Any]]) -> str | None:
    if not focus:
        return None
    rows = [{"name": m["name"], "value": m["value"], "info": plain(m["info"])} for m in focus]
    return json.dumps(rows)
