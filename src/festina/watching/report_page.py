"""A training that was watched as one page: the verdict in words, the figure, every number."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from festina._lazy import plt
from festina.lab.pictures import encoded
from festina.lab.report import picture, whole_page
from festina.style import style

if TYPE_CHECKING:
    import xarray as xr

    from festina.watching.report import Report


def page(report: Report) -> str:
    """The whole report as HTML that needs nothing else."""
    with style():
        figure = report.figure()
        try:
            drawn = encoded(figure, "png")
        finally:
            plt.close(figure)
    verdict = report.verdict
    said = [*verdict.reasons, *(f"but {doubt}" for doubt in verdict.doubts)]
    if verdict.layers:
        said.append("by layer: " + ", ".join(f"{name} {word}" for name, word in verdict.layers.items()))
    lead = f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in said)}</ul>"
    tables = "".join(_table(str(name), report.data[name]) for name in report.data.data_vars)
    title = "This network was not trained" if verdict.word == "not trained" else f"This training was {verdict.word}"
    shown = picture("png", drawn, "Time courses of the training.")
    return whole_page(title, lead, f"{shown}<section><h2>All numbers</h2>{tables}</section>")


def _table(name: str, values: xr.DataArray) -> str:
    """One variable: a row for each step, a column for each place."""
    about = f"<summary><code>{escape(name)}</code> {escape(values.attrs.get('long_name', ''))}</summary>"
    if "step" not in values.dims:
        rows = f"<tr>{''.join(map(_cell, np.ravel(values.values)))}</tr>"
        return f"<details>{about}<table>{rows}</table></details>"
    others = [dim for dim in values.dims if dim != "step"]
    places = values[others[0]].values if others else [name]
    head = "".join(f"<th>{escape(str(place))}</th>" for place in places)
    table = values.values.reshape(len(values), -1)
    rows = "".join(
        f"<tr><td class=number>{step}</td>{''.join(map(_cell, row))}</tr>"
        for step, row in zip(values["step"].values, table, strict=True)
    )
    return f"<details>{about}<table><thead><tr><th>step</th>{head}</tr></thead><tbody>{rows}</tbody></table></details>"


def _cell(value: Any) -> str:
    return f"<td>{escape(value)}</td>" if isinstance(value, str) else f"<td class=number>{value:.4g}</td>"
