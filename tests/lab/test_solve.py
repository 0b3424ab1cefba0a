"""What can be asked of a model by itself, and what is refused before anything runs."""

import pytest

import festina as fs
from festina.errors import UnknownName


@pytest.mark.parametrize(
    ("of", "by", "message"),
    [
        ("prodct", "strength", "unknown variable of model/chain over time 'prodct'; did you mean 'product'"),
        ("product", "strenght", "unknown continuous field of model/chain 'strenght'; did you mean 'strength'"),
        ("product", "depth", "unknown continuous field of model/chain 'depth'"),
    ],
)
def test_derivatives_are_of_variables_over_time_by_continuous_fields(of, by, message):
    with pytest.raises(UnknownName, match=message):
        fs.models.Chain().derivative(of, by)
