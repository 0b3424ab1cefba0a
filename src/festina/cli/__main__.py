"""`python -m festina.cli`, where the installed command is out of reach."""

import sys

from festina.cli import main

sys.exit(main())
