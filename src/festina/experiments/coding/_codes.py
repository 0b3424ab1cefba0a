"""Codes of sigmoidal neurons, on for some classes, and outliers among rectified ones: in recordings, and in theory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import festina as fs
from festina._lazy import np, xr
from festina.claims import NotApplicable
from festina.models._wide import ON

if TYPE_CHECKING:
    from festina.models._wide import WideNetwork
    from festina.theory.coding import Codes, Prediction

FEW = 0.01  # share of neurons below which a code counts as empty


def codes_of(late: xr.Dataset) -> np.ndarray:
    """The code of each neuron in each recording: (run, time, neuron)."""
    return fs.measures.code_numbers(late["activity"].transpose("run", "time", "neuron", "class").values > ON)


def shares_of(late: xr.Dataset) -> np.ndarray:
    """The share of neurons with each code, over all recordings: (run, 2^classes)."""
    return np.stack([fs.measures.code_shares(codes, late.sizes["class"]) for codes in codes_of(late)])


def turnover(late: xr.Dataset) -> np.ndarray:
    """The share of neurons with different codes first and last, over that of codes drawn anew, by run."""
    codes, shares = codes_of(late), shares_of(late)
    if np.any(shares == 1.0):
        raise NotApplicable("needs neurons with different codes")
    return 1.0 - fs.measures.persistence(codes[:, 0], codes[:, -1], shares)


def weights_of(codes: Codes) -> np.ndarray:
    """The share of each code in a theory at low temperature, where readouts alone tell the code: (2^classes,)."""
    return np.bincount(fs.measures.code_numbers(codes.subsets), codes.weights, 2 ** codes.subsets.shape[1])


def at_own_shares(late: xr.Dataset, network: WideNetwork, temperature: float) -> Prediction:
    """Theory at the shares of codes that one network has, over recordings of its activity and readouts."""
    codes = fs.measures.code_numbers(late["activity"].transpose("time", "neuron", "class").values > ON)
    readout = late["readout"].transpose("time", "neuron", "output").values
    shares = fs.measures.code_shares(codes, len(network.counts))
    held = np.flatnonzero(shares > FEW)
    centres = np.stack([readout[codes == each].mean(axis=0) for each in held])
    settings = network.counts, network.world().class_targets, temperature, network.readout_variance
    return fs.theory.coding.frozen(*settings, centres, shares[held] / shares[held].sum())


def outliers_of(data: xr.Dataset, variance: float | xr.DataArray) -> xr.DataArray:
    """Which neurons stand out, with |a| > 8√s, in each recording; never those that a smaller arm does not have."""
    readout = data["readout"].fillna(0.0)
    return xr.apply_ufunc(fs.measures.outliers, readout, variance, input_core_dims=[["output"], []])


def served_by(outliers: xr.DataArray, data: xr.Dataset) -> xr.DataArray:
    """Outliers by the class that each serves, the one in which it is most active: with the dimension `class`."""
    own, activity = ["neuron"], data["activity"].fillna(-np.inf)
    by_class = [*own, "class"]
    return xr.apply_ufunc(
        fs.measures.serving, outliers, activity, input_core_dims=[own, by_class], output_core_dims=[by_class]
    )
