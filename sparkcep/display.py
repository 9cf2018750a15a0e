"""Matches for the eye: aligned text, and horizontal timelines drawn by altair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sparkcep.errors import BindingError, PlanError, did_you_mean

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    from pyspark.sql import DataFrame

_INK = "#1f2933"
_FAINT = "#7b8794"
_COLOURS = ("#2a78b8", "#e07b39", "#3f9c6b", "#b5487f", "#7a68b8", "#a0813a", "#4aa3a8", "#c2514a")
_MOST_ROWS = 20_000


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, widest: int = 60) -> str:
    """Lay rows out as aligned plain text: numbers to the right, everything else to the left.

    Parameters
    ----------
    header, rows
        Column titles, and one sequence of values a row; None prints as an empty cell.
    widest
        Longer cells are cut and end in "…".

    Examples
    --------
    >>> print(text_table(["tail", "late"], [["N561JB", 291], ["N9", None]]))
    tail    late
    ──────  ────
    N561JB   291
    N9
    """
    values = [list(row) for row in rows]
    cells = [[_cell(value, widest) for value in row] for row in values]
    right = [
        any(row[i] is not None for row in values) and all(_is_number(row[i]) for row in values)
        for i in range(len(header))
    ]
    widths = [max([len(title), *(len(row[i]) for row in cells)]) for i, title in enumerate(header)]

    def line(texts: Sequence[str]) -> str:
        return "  ".join(t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right, strict=True)).rstrip()

    return "\n".join([line(header), "  ".join("─" * width for width in widths), *(line(row) for row in cells)])


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: Any, widest: int) -> str:
    text = "" if value is None else str(value).replace("\n", " ")
    return text if len(text) <= widest else text[: widest - 1] + "…"


def show_timeline(
    matches: DataFrame | pd.DataFrame,
    *,
    time: str,
    row: str | Sequence[str],
    colour: str | None = None,
    size: str | None = None,
    label: str | None = None,
    title: str = "",
    subtitle: str = "",
    width: int = 720,
) -> alt.LayerChart:
    """Draw matches as horizontal timelines: one line a match, one dot a row of it.

    Parameters
    ----------
    matches
        Rows of matches, as ``rows_per_match="all"`` returns them; a Spark DataFrame is collected.
    time
        The order column, on the horizontal axis: date, timestamp or number.
    row
        The column, or columns, that tell the matches apart; they are drawn in the order they come.
    colour
        A column for the colour of the dots, such as CLASSIFIER().
    size
        A numeric column for the size of the dots.
    label
        A column whose values stand above the dots.
    title, subtitle, width
        Texts above the picture; pixels of the plot, whose height follows the number of matches.

    Returns
    -------
    altair.LayerChart
        Notebooks show it; ``chart.save("x.png")`` and ``chart.save("x.html", inline=True)`` write it.

    Raises
    ------
    PlanError, BindingError
        MISSING_PACKAGE (``pip install 'sparkcep[viz]'``), TOO_MANY_ROWS, UNKNOWN_COLUMN.
    """
    alt = _altair()
    rows = [row] if isinstance(row, str) else list(row)
    extra = [name for name in (colour, size, label) if name is not None]
    data = _with_timelines(_collected(matches, [time, *rows, *extra]), rows)
    order = list(dict.fromkeys(data["timeline"]))
    y = alt.Y("timeline:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=22))
    kind = "Q" if data[time].dtype.kind in "iuf" else "T"
    words = time.replace("_", " ") if kind == "Q" else None
    x = alt.X(f"{_field(time)}:{kind}", title=words, axis=alt.Axis(tickCount=8, grid=True))
    base = alt.Chart(data)
    layers = [
        base.mark_line(strokeWidth=2, color="#cbd2d9").encode(x=x, y=y, detail="timeline:N"),
        _dots(alt, base, x, y, (colour, size), [time, *rows, *extra]),
    ]
    if label is not None:
        layers += _labels(alt, base, x, y, label)
    heading = alt.TitleParams(title, subtitle=subtitle) if title else alt.Undefined
    return _styled(alt.layer(*layers).properties(width=width, height=alt.Step(58), title=heading))


def _with_timelines(data: pd.DataFrame, rows: list[str]) -> pd.DataFrame:
    """Name the timeline of every row; labels stand above and below it in turns."""
    data["timeline"] = data[rows].astype(str).agg(" · ".join, axis=1)
    data["label_above"] = data.groupby("timeline").cumcount() % 2 == 0
    return data


def _dots(
    alt: Any, base: Any, x: Any, y: Any, channels: tuple[str | None, str | None], shown: Sequence[str]
) -> alt.Chart:
    colour, size = channels
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": list(dict.fromkeys(map(_field, shown)))}
    if colour is not None:
        scale = alt.Scale(range=list(_COLOURS))
        encoding["color"] = alt.Color(f"{_field(colour)}:N", scale=scale, title=colour)
    if size is not None:
        scale = alt.Scale(range=[40, 480])
        encoding["size"] = alt.Size(f"{_field(size)}:Q", scale=scale, title=size.replace("_", " "))
    dots = {"opacity": 0.9, "stroke": "white", "strokeWidth": 1, "size": 110}
    return base.mark_circle(**({"color": _COLOURS[0]} if colour is None else {}), **dots).encode(**encoding)


def _labels(alt: Any, base: Any, x: Any, y: Any, label: str) -> list[Any]:
    """Every second label stands below its dot, so that neighbours do not cover each other."""
    layers = []
    for above, offset in ((True, -20), (False, 20)):
        text = base.transform_filter(alt.datum.label_above == above).mark_text(dy=offset, fontSize=11, color=_INK)
        layers.append(text.encode(x=x, y=y, text=alt.Text(f"{_field(label)}:N")))
    return layers


def _styled(chart: Any) -> Any:
    return (
        chart.configure(font="Helvetica, Arial, sans-serif", background="white", padding=24)
        .configure_view(stroke=None)
        .configure_axis(labelColor=_INK, labelFontSize=12, labelLimit=320, gridColor="#eef1f4", domainColor="#cbd2d9")
        .configure_axisX(titleColor=_FAINT, titleFontWeight="normal", titleFontSize=12, titlePadding=12)
        .configure_title(anchor="start", fontSize=18, color=_INK, subtitleColor=_FAINT, subtitleFontSize=13, offset=24)
        .configure_legend(labelColor=_INK, titleColor=_FAINT, labelFontSize=12, orient="bottom", offset=20)
    )


def _altair() -> Any:
    try:
        import altair as alt
    except ImportError:
        raise PlanError(
            "MISSING_PACKAGE",
            "timelines are drawn by altair, which is not installed",
            hint="pip install 'sparkcep[viz]'",
        ) from None
    return alt


def _backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _field(name: str) -> str:
    """Quote what altair's shorthand would read as a path or a type."""
    return name.replace("\\", "\\\\").replace(".", "\\.").replace(":", "\\:").replace("[", "\\[")


def _collected(matches: Any, columns: Sequence[str]) -> pd.DataFrame:
    known = list(matches.columns)
    for name in columns:
        if name not in known:
            raise BindingError(
                "UNKNOWN_COLUMN",
                f"the matches have no column '{name}'",
                clause="show_timeline",
                found=name,
                allowed=known,
                hint=did_you_mean(name, known),
            )
    wanted = list(dict.fromkeys(columns))
    if hasattr(matches, "toPandas"):
        data = matches.select(*map(_backquoted, wanted)).limit(_MOST_ROWS + 1).toPandas()
    else:
        data = matches[wanted].copy()
    if len(data) > _MOST_ROWS:
        raise PlanError(
            "TOO_MANY_ROWS",
            f"a picture of more than {_MOST_ROWS:,} rows cannot be read",
            clause="show_timeline",
            hint="draw some of the matches: filter or limit them first",
        )
    return _with_times(data)


def _with_times(data: pd.DataFrame) -> pd.DataFrame:
    """Spark's dates come as Python objects and decimals too; altair wants times and numbers."""
    import datetime as dt
    import decimal

    import pandas as pd

    for name in data.columns:
        kinds = {type(value) for value in data[name].dropna()} if data[name].dtype == object else set()
        if kinds and kinds <= {dt.date}:
            data[name] = pd.to_datetime(data[name])
        elif kinds and kinds <= {decimal.Decimal}:
            data[name] = data[name].astype(float)
    return data
