"""Loaded by each interpreter that a wrapper of a function starts, which may do what its role allows."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[4]))

from tests.e2e.harness.iam import enforce

enforce()
