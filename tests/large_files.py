"""Refuse files above a size: `python tests/large_files.py FILE …`; pre-commit names those that are about to be kept."""

import sys
from pathlib import Path

LARGEST = 500_000  # bytes; what is larger belongs into a data set that is fetched and checked by its hash
ALLOWED = {"tests/page/vendor/axe-core/axe.min.js"}


def too_large(names: list[str]) -> list[str]:
    """One sentence for each file that is too large."""
    sizes = {name: Path(name).stat().st_size for name in names if name not in ALLOWED and Path(name).is_file()}
    return [
        f"{name} has {size:,} bytes, and at most {LARGEST:,} are kept here."
        for name, size in sizes.items()
        if size > LARGEST
    ]


if __name__ == "__main__":
    found = too_large(sys.argv[1:])
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
