"""A training that was watched as one page: the verdict in words, the figure, every number."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from festina._lazy import plt
from festina.lab.pictures import encoded
from festina.lab.report import STYLE_SHEET, picture
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
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in verdict.reasons)
    doubts = "".join(f"<li>but {escape(doubt)}</li>" for doubt in verdict.doubts)
    tables = "".join(_table(str(name), report.data[name]) for name in report.data.data_vars)
    title = f"This training was {verdict.word}" if verdict.word != "not trained" else "This network was not trained"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE_SHEET.read_text(encoding='utf-8')}</style></head><body><main>"
        f'<h1 class="summary">{title}</h1><ul>{reasons}{doubts}</ul>'
        f"{picture('png', drawn, 'Time courses of the training.')}"
        f"<h2>All numbers</h2>{tables}</main></body></html>"
    )


def _table(name: str, values: xr.DataArray) -> str:
    """One variable: a row for each step, a column for each place."""
    if "step" not in values.dims:
        rows = f"<tr>{''.join(f'<td class=number>{value:.4g}</td>' for value in np.ravel(values.values))}</tr>"
        return f"<h4>{escape(name)}</h4><p>{escape(values.attrs.get('long_name', ''))}</p><table>{rows}</table>"
    others = [dim for dim in values.dims if dim != "step"]
    places = values[others[0]].values if others else [name]
    head = "".join(f"<th>{escape(str(place))}</th>" for place in places)
    table = values.values.reshape(len(values), -1)
    rows = "".join(
        f"<tr><td class=number>{step}</td>{''.join(f'<td class=number>{value:.4g}</td>' for value in row)}</tr>"
        for step, row in zip(values["step"].values, table, strict=True)
    )
    return (
        f"<h4>{escape(name)}</h4><p>{escape(values.attrs.get('long_name', ''))}</p>"
        f"<table><thead><tr><th>step</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
