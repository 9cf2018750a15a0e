"""Draws an explanation: the way of the data as a mermaid flow chart, or a page of HTML that stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkcep.planning.plans import Candidate, Decision

_MANY_TIMES = 1000.0
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #1c2430 }
h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin: 1.6em 0 .4em }
.way { display: flex; flex-wrap: wrap; align-items: stretch; padding: 0; list-style: none }
.way li { border: 1px solid #8aa0b8; border-radius: 6px; padding: .5em .8em; background: #f3f7fb; max-width: 16em }
.way li + li { margin-left: 2em; position: relative }
.way li + li::before { content: "→"; position: absolute; left: -1.6em; top: 35% }
.way .chosen { background: #e3f3e3; border-color: #4c9a54 }
table { border-collapse: collapse } th, td { text-align: left; padding: .3em .7em; border-bottom: 1px solid #d4dce6 }
td.cost { text-align: right; font-variant-numeric: tabular-nums } tr.chosen { background: #e3f3e3; font-weight: 600 }
tr.illegal { color: #6b7683 }
pre { background: #f6f8fa; padding: .6em .9em; overflow-x: auto; border-radius: 6px; margin: .3em 0 }
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way of the data; `chosen` marks the engine."""

    title: str
    lines: tuple[str, ...]
    chosen: bool = False


def verdict(candidate: Candidate, decision: Decision) -> str:
    """Say what became of a candidate: "chosen", why it lost, or that it is not legal."""
    if candidate.cost is None:
        return "not legal"
    if candidate is decision.chosen:
        return f"chosen, cost {candidate.cost:,.1f}"
    least = decision.chosen.cost or 0.0
    if candidate.cost < least:
        return f"cost {candidate.cost:,.1f}, less than that of the plan that was forced"
    times = min(candidate.cost / least, _MANY_TIMES) if least else _MANY_TIMES
    told = "over 1,000" if times == _MANY_TIMES else f"{times:,.1f}"
    return f"cost {candidate.cost:,.1f}: {told} times that of the chosen plan"


def flow_chart(way: Sequence[Step], decision: Decision) -> str:
    """Return the way of the data, and the candidates beside the engine, as a mermaid flow chart."""
    lines = ["flowchart LR"]
    for number, step in enumerate(way):
        lines.append(f'  step{number}["{_lines(step.title, *step.lines)}"]')
    lines.append("  " + " --> ".join(f"step{number}" for number in range(len(way))))
    told = [f"{each.name}: {verdict(each, decision)}; {each.reason}" for each in decision.candidates]
    lines.append(f'  plans["{_lines("plans", *told)}"]')
    lines += [f"  plans -.- step{number}" for number, step in enumerate(way) if step.chosen]
    return "\n".join(lines)


def page(title: str, way: Sequence[Step], decision: Decision, lines: Iterable[str]) -> str:
    """Return a page of HTML without scripts and without anything to load.

    Parameters
    ----------
    title
        What the page explains.
    way
        The steps of the data.
    lines
        The explanation as text: indented lines belong to the line before them.
    """
    body = [f"<h1>{_text(title)}</h1>", _way(way), "<h2>Plans</h2>", _table(decision)]
    facts: list[str] = []
    for heading, content in _sections(lines):
        if heading == "Engines:":
            continue
        if content:
            body.append(f"<h2>{_text(heading.rstrip(':'))}</h2>\n<pre>{_text(chr(10).join(content))}</pre>")
        else:
            facts.append(f"<li>{_text(heading)}</li>")
    body.insert(1, f"<ul>{''.join(facts)}</ul>")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>"
    )


def _sections(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" ") and found:
            found[-1][1].append(line.removeprefix("   "))
        else:
            found.append((line, []))
    return found


def _way(way: Sequence[Step]) -> str:
    items = []
    for step in way:
        mark = ' class="chosen"' if step.chosen else ""
        told = "<br>".join([f"<b>{_text(step.title)}</b>", *map(_text, step.lines)])
        items.append(f"<li{mark}>{told}</li>")
    return f'<ol class="way">{"".join(items)}</ol>'


def _table(decision: Decision) -> str:
    rows = ["<tr><th>plan</th><th>cost, visits per row</th><th>outcome</th><th>why</th></tr>"]
    for each in decision.candidates:
        mark = ' class="chosen"' if each is decision.chosen else "" if each.legal else ' class="illegal"'
        cost = "" if each.cost is None else f"{each.cost:,.1f}"
        cells = [f"<td>{_text(each.name)}</td>", f'<td class="cost">{cost}</td>']
        cells += [f"<td>{_text(text)}</td>" for text in (verdict(each, decision), each.reason)]
        rows.append(f"<tr{mark}>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _text(text: str) -> str:
    return escape(text, quote=True)


def _lines(*texts: str) -> str:
    """Return texts for a mermaid node: what could end or change it becomes an entity."""
    return "<br/>".join(_entities(text) for text in texts)


def _entities(text: str) -> str:
    replaced = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}
    return "".join(replaced.get(character, character) for character in text)
