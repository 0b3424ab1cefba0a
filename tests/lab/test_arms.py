"""Arms: every seed with every arm, in one batch for each structure, each labelled and each as if it were alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina import claims
from festina.config import continuous, structural
from festina.errors import ArgumentError
from festina.experiment import Arms, Experiment, Panels, named, use
from festina.lab.batch import Run, batches
from festina.model import Model, Variable
from festina.precision import double


class Decay(Model):
    """Units that decay, level(t) = start · exp(−speed t)."""

    name = "test-decay"
    variables = {"level": Variable("level", ("unit",), "V"), "total": Variable("sum of the levels")}

    units: int = structural(2, ge=1, le=64, help="how many units")
    records: int = structural(5, ge=2, le=100, help="recordings")
    speed: float = continuous(1.0, ge=-100.0, le=100.0, unit="1/τ", help="rate of decay")
    spread: float = continuous(0.5, ge=0.0, le=10.0, help="spread of the start over seeds")
    until: float = continuous(2.0, ge=0.1, le=10.0, help="when to stop")

    def start(self, key):
        return 1.0 + self.spread * jax.random.normal(key, (self.units,))

    def process(self, start):
        def rate(level, stage):
            return -self.speed * level * jnp.where(self.speed < 0, level**3, 1.0)  # explodes if the speed is negative

        times = self.until * jnp.linspace(0.0, 1.0, self.records + 1)
        seen = lambda state: {"level": state.parameters, "total": jnp.sum(state.parameters)}  # noqa: E731
        return fs.learning.flow_process(rate, start, times, seen)

    def solution(self, start):
        return lambda time: {"level": start * np.exp(-self.speed * np.asarray(time))[..., None]}


class Steady(Model):
    """A total that stays what it is."""

    name = "test-steady"
    variables = {"total": Variable("sum of the levels")}

    records: int = structural(5, ge=2, le=100, help="recordings")
    until: float = continuous(2.0, ge=0.1, le=10.0, help="when to stop")
    height: float = continuous(3.0, ge=0.0, le=10.0, help="the total")

    def start(self, key):
        return jnp.asarray(self.height)

    def process(self, start):
        times = self.until * jnp.linspace(0.0, 1.0, self.records + 1)
        return fs.learning.flow_process(lambda x, stage: 0.0 * x, start, times, lambda s: {"total": s.parameters})


class Grid(Experiment):
    """Units in two groups, at three speeds."""

    name = "test/grid"
    arms = Arms(
        Decay,
        group=named(small={"units": 1}, large={"units": 3}),
        speed=(0.5, 1.0, 2.0),
    )
    base = {"spread": 0.3}

    @claims.theory(claims.below(1e-8))
    def exact(self, result):
        """Levels decay as the closed form says."""
        return abs(result["level"] - result.solved["level"]).max()


class Mixed(Experiment):
    """Two models side by side."""

    name = "test/mixed"
    arms = Arms(what=named(decay=use(Decay, units=2), steady=use(Steady), slow=lambda config: {}))
    arms.common = use(Decay, units=2)


class TwoPanels(Experiment):
    """Two grids over different fields."""

    name = "test/panels"
    arms = Panels(
        speeds=Arms(Decay, speed=(2.0, 1.0), units=(1, 2)), spreads=Arms(use(Decay, speed=3.0), spread=(0.2, 0.1))
    )
    base = {}


@pytest.fixture(scope="module")
def grid():
    with jax.enable_x64(True):
        return fs.run(Grid(), seeds=3)


@pytest.mark.full
def test_arms_are_dimensions_after_run_and_time(grid):
    assert grid["total"].dims == ("run", "time", "group", "speed")
    assert grid["level"].dims == ("run", "time", "group", "speed", "unit")
    assert grid["group"].values.tolist() == ["small", "large"]
    assert grid["speed"].values.tolist() == [0.5, 1.0, 2.0]


def test_every_arm_is_as_if_it_were_alone(grid):
    for arm in grid.arms:
        alone = arm.model.model_copy()
        model = Decay(**alone.settings())
        with double():
            start = np.asarray(jax.jit(lambda key, model=model: model.start(key))(jax.random.key(2)))
        own = grid["level"].sel(arm.labels).isel(run=2).values[:, : model.units]
        expected = start * np.exp(-model.speed * grid["time"].values)[:, None]
        np.testing.assert_allclose(own, expected, atol=1e-9)


def test_what_an_arm_does_not_have_is_nan(grid):
    small = grid["level"].sel(group="small")
    assert np.isfinite(small.isel(unit=0)).all() and np.isnan(small.isel(unit=slice(1, None))).all()
    assert grid.verdicts[0].outcome == "reproduced"


def test_arms_of_one_structure_share_a_batch_and_the_draws_of_a_seed():
    config = Grid().configure()
    with double():
        small, large = batches(Grid(), [Run(config, seed) for seed in (4, 5)])
    assert (small.arms, large.arms) == ([0, 1, 2], [3, 4, 5])
    assert small.inputs.counts == (2, 3)
    assert set(small.inputs.seeds) == {"seed"} and set(small.inputs.arms) == {"speed"}  # all else is shared


def test_an_override_replaces_the_values_of_a_dimension(grid):
    one = fs.run(Grid(), seeds=1, speed=2.0)
    assert one["total"].sizes["speed"] == 1
    np.testing.assert_allclose(one["total"].isel(run=0, speed=0), grid["total"].isel(run=0).sel(speed=2.0), atol=1e-12)
    with pytest.raises(ArgumentError, match="`speed` must hold every value once"):
        Grid().configure(speed=(1.0, 1.0))
    with pytest.raises(ArgumentError, match="`speed` must be less than or equal to 100"):
        Grid().configure(speed=(1.0, 1e3))


def test_what_every_arm_sets_is_no_field():
    assert "units" not in Grid.Config.model_fields
    assert Grid().configure().spread == 0.3 and Grid().configure(spread=0.1).spread == 0.1


def test_arms_may_be_of_different_models():
    result = fs.run(Mixed(), seeds=2)
    assert np.allclose(result["total"].sel(what="steady"), 3.0)
    assert np.isnan(result["level"].sel(what="steady")).all()
    np.testing.assert_allclose(result["total"].sel(what="slow"), result["total"].sel(what="decay"))


@pytest.mark.full
def test_panels_are_flat_and_can_be_cut_out():
    result = fs.run(TwoPanels(), seeds=2)
    assert result["total"].dims == ("run", "time", "arm") and result["total"].sizes["arm"] == 6
    speeds, spreads = result.panel("speeds"), result.panel("spreads")
    assert speeds["total"].sizes == {"run": 2, "time": 6, "speed": 2, "units": 2}
    assert spreads["total"].sizes == {"run": 2, "time": 6, "spread": 2}
    assert speeds["speed"].values.tolist() == [2.0, 1.0] and spreads["spread"].values.tolist() == [0.2, 0.1]
    slow = speeds["total"].sel(speed=1.0, units=2).isel(time=-1)
    np.testing.assert_allclose(slow / speeds["total"].sel(speed=1.0, units=2).isel(time=0), np.exp(-2.0), rtol=1e-8)


@pytest.mark.full
def test_an_arm_that_fails_is_named_and_does_not_cost_the_others():
    result = fs.run(Grid(), seeds=2, speed=(-50.0, 1.0))
    assert result.failures and all("speed -50.0" in failure for failure in result.failures)
    assert np.isfinite(result["total"].sel(speed=1.0)).all()
    assert np.isnan(result["total"].sel(speed=-50.0).isel(time=-1)).all()


def test_arms_with_clocks_of_their_own_keep_them():
    class Clocks(Experiment):
        """Arms that end at different times."""

        name = "test/clocks"
        arms = Arms(Decay, until=(1.0, 4.0))

    result = fs.run(Clocks(), seeds=2)
    assert result["clock"].dims == ("run", "time", "until")
    assert result["clock"].isel(run=0, time=-1).values.tolist() == [1.0, 4.0]
    np.testing.assert_allclose(result["level"], result.solved["level"], atol=1e-8)


@pytest.mark.full
def test_a_sweep_over_a_field_of_the_models_keeps_the_arms(tmp_path):
    data = fs.sweep(Grid(), {"spread": [0.1, 0.2]}, store=tmp_path, seeds=2, executor=fs.lab.InProcess())
    assert data["total"].sizes == {"seed": 2, "spread": 2, "time": 6, "group": 2, "speed": 3}
    one = fs.run(Grid(), seeds=2, spread=0.2)
    np.testing.assert_allclose(
        data["total"].sel(spread=0.2).values, one["total"].transpose("run", "time", "group", "speed").values, atol=1e-12
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Arms(), "arms need a model"),
        (lambda: Arms(Decay, pace=(1.0, 2.0)), r"arms need a model with the fields \['pace'\]"),
    ],
)
def test_arms_that_cannot_be_are_refused(build, message):
    with pytest.raises(TypeError, match=message):
        build()


def test_a_default_for_a_field_that_no_model_has_is_refused():
    with pytest.raises(TypeError, match="sets \\['colour'\\], which none of its models has"):

        class Wrong(Experiment):
            """Wrong."""

            name = "test/wrong"
            arms = Arms(Decay, speed=(1.0,))
            base = {"colour": 1.0}
