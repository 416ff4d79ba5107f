"""Figures, each measured side by side with what a user would use instead. Run ``python -m
benchmarks NAME``."""

import sys
from pathlib import Path

# they start servers as the tests do
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
