"""The run-time type checker of the tests: beartype, with an int accepted wherever a float is asked for."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
