"""What `idea serve` sets up before it listens."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest

from idea_explorer.cli import serve
from idea_explorer.domain.errors import ConfigurationError


def test_threads_that_compute_make_others_wait_less_than_the_interpreter_lets_them(
    tmp_path: Path,
) -> None:
    before = sys.getswitchinterval()
    arguments = Namespace(workers=1, port=0, research=str(tmp_path / "missing"))
    try:
        with pytest.raises(ConfigurationError):
            serve.run(arguments)
        assert sys.getswitchinterval() == pytest.approx(serve.SWITCH_SECONDS)
    finally:
        sys.setswitchinterval(before)
