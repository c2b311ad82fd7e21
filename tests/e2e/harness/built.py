"""Functions as they are deployed: each from its own built folder and its layers.

`sam build` has made them. A process has the interpreter, the runtime client and what Lambda would unpack; the
packages of this environment are not on its path.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import awslambdaric

from tests.e2e.harness.runtime import TASK_ROOT, WRAPPER, Environment, Function, RunningProgram
from tests.e2e.harness.template import ROOT, layers_of, resources_of

BUILT = ROOT / os.environ.get("BUILD", ".aws-sam/deploy-arm64")
PYTHON = getattr(sys, "_base_executable", sys.executable)
# What Lambda's runtime for Python brings along, without the AWS SDK: the layers have one of their own.
RUNTIME_CLIENT = ("awslambdaric", "runtime_client*", "simplejson", "snapshot_restore_py")


def runs_here() -> bool:
    """Whether there is a build for this machine."""
    return any(BUILT.rglob(f"_pydantic_core*{os.uname().machine}*"))


def code_of_functions() -> dict[str, Path]:
    return {function: BUILT / function for function in resources_of("AWS::Serverless::Function")}


def path_of(function: str) -> list[Path]:
    return [BUILT / layer / "python" for layer in layers_of(function)]


def lay_out_runtime(folder: Path) -> Path:
    installed = Path(str(awslambdaric.__file__)).parents[1]
    for pattern in RUNTIME_CLIENT:
        for package in installed.glob(pattern):
            (folder / package.name).symlink_to(package)
    return folder


class BuiltEnvironment(Environment):
    def __init__(self, function: Function, log: Path, *, runtime: Path) -> None:
        """`runtime` has what Lambda's runtime has."""
        self._runtime = runtime
        super().__init__(function, log)

    def _start(self, nothing: int, output: int) -> RunningProgram:
        function = self.function
        path = [str(place) for place in (*path_of(function.code.name), self._runtime)]
        variables = {**self._variables(), "LAMBDA_RUNTIME_DIR": os.pathsep.join(path)}
        if wrapper := variables.get(WRAPPER):
            program = wrapper.replace(TASK_ROOT, f"{function.code}/")
            command = [program, PYTHON, "/var/runtime/bootstrap.py"]
        else:
            command = [PYTHON, "-S", "-m", "awslambdaric", function.handler]
            variables["PYTHONPATH"] = os.pathsep.join([str(function.code), *path])
        return _Process(
            subprocess.Popen(
                command,
                cwd=function.code,
                env=variables,
                stdin=nothing,
                stdout=output,
                stderr=output,
            )
        )


class _Process:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def code(self) -> int | None:
        return self._process.poll()

    def send_signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, timeout: float | None = 60) -> int:
        return self._process.wait(timeout)
