"""Views of neurons and their codes: readouts in a plane with what theory has of them, rasters, kernels."""

from __future__ import annotations

from typing import Any

from festina._lazy import np, xr
from festina.views._entries import lettered, model_of, some
from festina.views.vocabulary import Heat, Measure, Plane, Quantity, Raster

MOST_NAMED = 3  # classes whose subsets have names and colours; of more, neurons are told apart by the class they prefer
AROUND = 60  # points on a line around predicted readouts
ON = 0.5  # activity above which a sigmoidal neuron is on


def theory_of(network: Any) -> Any:
    """Its theory at its own temperature; None where it has none."""
    from festina.errors import ArgumentError

    try:
        return network.prediction(network.temperature)
    except ArgumentError:
        return None


def _own(array: xr.DataArray, classes: int, **labels: Any) -> xr.DataArray:
    """The neurons of one arm, and its classes."""
    array = some(array, **labels)
    for dim in ("class", "output"):
        array = array.isel({dim: slice(classes)}) if dim in array.dims else array
    return array


def branches(network: Any) -> tuple[np.ndarray, np.ndarray, list[str]] | None:
    """Where theory has readouts, (points, outputs), with the group and the name of each point.

    Linear neurons: one and two standard deviations of their Gaussian. Sigmoidal: the centre of every code. Rectified:
    every outlier, and the bulk at zero.
    """
    import festina as fs

    theory, classes = theory_of(network), len(network.counts)
    if theory is None:
        return None
    if network.nonlinearity == "linear":
        angle = np.linspace(0, 2 * np.pi, AROUND // 2, endpoint=False)
        ring = np.stack([np.cos(angle), np.sin(angle)]).T @ np.linalg.cholesky(theory.readout_covariance[:2, :2]).T
        return np.concatenate([ring, 2 * ring]), np.full(AROUND, classes), [""] * AROUND
    if network.nonlinearity == "rectified":
        outliers = np.sqrt(network.width) * theory.outliers
        served = _preferred(network, outliers)
        names = ["bulk", *(f"outlier of {fs.measures.code_name(2**k, classes)}" for k in served.tolist())]
        return np.concatenate([np.zeros((1, outliers.shape[1])), outliers]), np.array([0, *(1 + served)]), names
    codes = theory.codes
    if codes is None:
        return None
    numbers = fs.measures.code_numbers(codes.subsets)
    group = numbers if classes <= MOST_NAMED else codes.activities.argmax(axis=1)
    return codes.readouts, group, [fs.measures.code_name(number, classes) for number in numbers.tolist()]


def _preferred(network: Any, readouts: np.ndarray) -> np.ndarray:
    """The class to whose targets each readout speaks most."""
    return (readouts @ network.world().class_targets.T).argmax(axis=1)


def group_names(network: Any) -> tuple[str, ...]:
    """What colours of neurons mean."""
    import festina as fs

    classes = len(network.counts)
    letters = [fs.measures.code_name(2**k, classes) for k in range(classes)]
    if network.nonlinearity == "linear":
        return (*(f"most in {letter}" for letter in letters), "theory, 1 and 2 s.d.")
    if network.nonlinearity == "rectified":
        return ("bulk", *(f"outlier of {letter}" for letter in letters))
    if classes > MOST_NAMED:
        return tuple(f"most in {letter}" for letter in letters)
    names = (fs.measures.code_name(number, classes) for number in range(2**classes))
    return tuple(f"on for {name}" for name in names)


def groups(network: Any, activity: xr.DataArray, readout: xr.DataArray) -> xr.DataArray:
    """The group of every neuron by its number: its code, the class it serves, or the one it is most active in."""
    best = activity.fillna(-np.inf).argmax("class")
    if network.nonlinearity == "rectified":
        length = (readout.fillna(0.0) ** 2).sum("output") ** 0.5
        return xr.where(length > 8 * float(network.readout_variance) ** 0.5, 1 + best, 0)
    if network.nonlinearity == "linear" or activity.sizes["class"] > MOST_NAMED:
        return best
    bits = xr.DataArray(2 ** np.arange(activity.sizes["class"]), dims="class")
    return ((activity > ON) * bits).sum("class")


def readouts(title: str, note: str, experiment: str, **labels: Any) -> Plane:
    """Readouts to the first two classes, coloured by code, and where theory has them."""

    def along(output: int) -> Measure:
        def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
            network = model_of(experiment, config, **labels)
            if network is None:
                return None
            if "readout" in data:
                return _own(data["readout"], len(network.counts), **labels).isel(output=output, drop=True)
            found = branches(network)
            if found is None:
                return None
            names = {"neuron": found[2]} if found[2][0] else {}
            return xr.DataArray(found[0][:, output], names, ("neuron",)).expand_dims("run")

        return of

    def colour(data: xr.Dataset, config: Any) -> xr.DataArray | None:
        network = model_of(experiment, config, **labels)
        if network is None:
            return None
        if "readout" in data:
            classes = len(network.counts)
            return groups(network, *(_own(data[name], classes, **labels) for name in ("activity", "readout")))
        found = branches(network)
        return None if found is None else xr.DataArray(found[1], dims="neuron").expand_dims("run")

    def names(config: Any) -> tuple[str, ...]:
        network = model_of(experiment, config, **labels)
        return () if network is None else group_names(network)

    x, y = (Quantity("class_kernel", f"readout to class {'AB'[k]}", of=along(k)) for k in (0, 1))
    shown = Quantity("class_kernel", of=colour)
    return Plane(title, x, y, points="neuron", colour=shown, colours=names, equal=True, note=note)


def raster(title: str, panels: tuple[str, ...] = (), note: str = "", **wanted: Any) -> Raster:
    """Mean activity of neurons in every class; of several panels, each over its largest at each moment."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        activity = lettered(some(data["activity"], **wanted), config)
        if not panels:
            return activity
        return activity / abs(activity).max(["neuron", "class"]).clip(min=1e-30)

    label = "activity, over the largest" if panels else "mean activity"
    return Raster(title, Quantity("activity", label, of=of), rows="neuron", columns="class", panels=panels, note=note)


def kernels(
    title: str, panels: tuple[str, ...] = (), note: str = "", variable: str = "class_kernel", **wanted: Any
) -> Heat:
    """The kernel between classes; of several panels, each over its largest."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        kernel = lettered(some(data[variable], **wanted), config)
        return kernel / abs(kernel).max(["class", "other_class"]).clip(min=1e-30) if panels else kernel

    label = "kernel over its largest" if panels else "kernel, mean over pairs of examples"
    quantity = Quantity(variable, label, of=of)
    return Heat(title, quantity, rows="class", columns="other_class", panels=panels, note=note)


def layered(title: str, panels: tuple[str, ...], note: str = "", **wanted: Any) -> Heat:
    """Kernels between classes of every layer, of the deepest networks; each over its largest, for layers differ."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
        name = next((name for name in ("class_kernels", "between") if name in data), None)
        if name is None:
            return None
        kernel = some(data[name], **wanted)
        kernel = lettered(kernel.isel(depth=-1, drop=True) if "depth" in kernel.dims else kernel, config)
        kernel = kernel.assign_coords(layer=[f"layer {layer}" for layer in kernel["layer"].values])
        return kernel / abs(kernel).max(["class", "other_class"]).clip(min=1e-30)

    quantity = Quantity("", "kernel over its largest", of=of)
    return Heat(title, quantity, rows="class", columns="other_class", panels=panels, note=note)


def class_signal(data: xr.Dataset, config: Any) -> xr.DataArray:
    """V = Σ_c p_c κ_cc − Σ_cc' p_c p_c' κ_cc', the part of the kernel that tells classes apart."""
    kernel = data["class_kernel"]
    counts = np.asarray(config.counts, float)
    share = xr.DataArray(counts / counts.sum(), dims="class")
    other = share.rename({"class": "other_class"})
    classes = range(len(counts))
    own = sum(float(share[k]) * kernel.isel({"class": k, "other_class": k}, drop=True) for k in classes)
    return own - (kernel * share * other).sum(["class", "other_class"], skipna=False)  # pyright: ignore[reportOperatorIssue]
