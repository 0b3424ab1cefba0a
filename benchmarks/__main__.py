"""All benchmarks, one after the other, each in a process of its own.

    python benchmarks [names ...] [--write]

`--write` puts every table into docs/explanation/speed.md. One that fails does not keep the others from running.
"""

import subprocess
import sys
from pathlib import Path

import table

HERE = Path(__file__).resolve().parent
NAMES = (
    "regime_map",
    "posterior",
    "exact_solution",
    "roofline",
    "scaling",
    "processes",
    "loop",
    "own_descent",
    "gated",
    "rectified",
    "mice",
    "watching",
    "wait",
    "page",
)


def main() -> int:
    parser = table.parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(NAMES)}; all unless given")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    failed = []
    for name in options.names or NAMES:
        print(f"\n{name}.py", flush=True)
        words = [sys.executable, str(HERE / f"{name}.py"), *(["--write"] if options.write else [])]
        if subprocess.run(words, check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
