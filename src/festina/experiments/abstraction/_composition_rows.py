"""Subtask composition, where every row of a student has a gate: what is recorded of rows, and how they are sorted."""

from typing import Any

import festina as fs
from festina._lazy import jnp, np, xr
from festina.experiment import Variable

ROWS = {
    "row_gates": Variable("gates c of rows", ("arm", "output", "path")),
    "row_alignment": Variable("cosine of rows, teacher and student", ("arm", "output", "teacher", "path")),
    "row_norms": Variable("norm of each row of each student", ("arm", "output", "path")),
}


def observe_rows(view: Any) -> dict[str, Any]:
    """The loss, and the variables of `ROWS`. Rows are compared output by output: no other row can be of use to it."""
    students = jnp.stack(view.network.students)
    sizes = jnp.sqrt(jnp.sum(students**2, axis=-1))
    teachers = view.tasks.maps / jnp.sqrt(jnp.sum(view.tasks.maps**2, axis=-1, keepdims=True))
    products = jnp.einsum("moi,poi->omp", teachers, students)
    return {
        "loss": view.loss,
        "row_gates": view.gates.T,
        "row_alignment": products / sizes.T[:, None, :],
        "row_norms": sizes.T,
    }


def sort_rows(data: Any) -> dict[str, Any]:
    """As `sort_by_teacher`, but with one matching for every output; gates and alignments are then averaged over rows.

    The total alignment is the cosine between all teachers' rows, strung together, and those of their students.
    """
    axes = ("run", "arm", "time")
    outer = ("run", "arm", "output", "time")
    alignment = data["row_alignment"].transpose(*outer, "teacher", "path").values
    order = fs.measures.matched_paths(alignment.mean(axis=3))
    alignment = fs.measures.take_paths(alignment, order, -1)
    gates = fs.measures.take_paths(data["row_gates"].transpose(*outer, "path").values, order, -1)
    norms = fs.measures.take_paths(data["row_norms"].transpose(*outer, "path").values, order, -1)
    along = np.einsum("...mm,...m->...m", alignment, norms)
    count = along.shape[2] * along.shape[-1]
    total = along.sum(axis=(2, -1)) / np.sqrt(count * (norms**2).sum(axis=(2, -1)))
    return {
        "sorted_gates": xr.DataArray(gates.mean(axis=2), dims=(*axes, "student")),
        "sorted_alignment": xr.DataArray(alignment.mean(axis=2), dims=(*axes, "teacher", "student")),
        "total_alignment": xr.DataArray(total, dims=axes),
    }
