from .registry import all_experiments as all_experiments
from .registry import find as find
from .sweeps.cluster import Dask as Dask
from .sweeps.executors import InProcess as InProcess
from .sweeps.executors import Processes as Processes
from .sweeps.sweep import resume as resume
from .sweeps.swept import Swept as Swept
from .sweeps.swept import open_sweep as open_sweep
