"""Is a network that was trained elsewhere lazy or rich? What it was like over its whole training."""

from festina.watching import files
from festina.watching.diagnosis import diagnose
from festina.watching.recordings import diagnose_activations
from festina.watching.report import Report
from festina.watching.schedule import Schedule
from festina.watching.verdict import Verdict
from festina.watching.watcher import Watch, watch

__all__ = ["Report", "Schedule", "Verdict", "Watch", "diagnose", "diagnose_activations", "files", "watch"]
