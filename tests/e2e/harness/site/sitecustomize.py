"""Python runs this first in the process of a function, before any of its code."""

from tests.e2e.harness.iam import enforce

enforce()
