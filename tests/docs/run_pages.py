"""Runs examples of pages one after the other, each in the folder of its file: what is imported is imported once.

python run_pages.py FILE ... prints what each said, and the last line of its error if there was one, as JSON.
"""

import io
import json
import os
import runpy
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from compiling_often import one_context


def ran(path: Path) -> tuple[str, str]:
    """What an example says, and how it failed, if it did."""
    os.chdir(path.parent)
    with redirect_stdout(io.StringIO()) as said:
        try:
            runpy.run_path(str(path), run_name="__main__")
        except Exception:  # whatever it is, the others run all the same
            return said.getvalue(), traceback.format_exc()
    return said.getvalue(), ""


if __name__ == "__main__":
    with one_context():
        outcomes = {name: ran(Path(name)) for name in sys.argv[1:]}
    print(json.dumps(outcomes))
