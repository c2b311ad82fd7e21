"""One execution environment: a process with the real runtime client, and the API it polls.

The process runs `awslambdaric` as on Lambda, or what the function's wrapper starts instead, under what its
role allows. It is killed, really, when its invocation takes longer than the function may, and it may be
killed by a test at any moment.
"""

import json
import os
import queue
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from tests.e2e.harness.iam import enforce
from tests.e2e.harness.limits import RESPONSE_BYTES
from tests.e2e.harness.serving import Replying, port_of, serve, stop
from tests.e2e.harness.streams import Sink, TruncatedError, error_in, read_chunked
from tests.e2e.harness.template import ACCOUNT, REGION
from tests.fakes import forked

START_SECONDS = 120.0  # a busy machine may take this long to start a process
RUNTIME = "/2018-06-01/runtime/"
INVOCATION = f"{RUNTIME}invocation/"
WRAPPER = "AWS_LAMBDA_EXEC_WRAPPER"
MODE = "Lambda-Runtime-Function-Response-Mode"
STARTUP = Path(__file__).parent / "startup"
TASK_ROOT = "/var/task/"  # where Lambda has the code of a function


@dataclass(frozen=True)
class Function:
    """A function as the template declares it, with what its code is run from."""

    name: str
    code: Path
    timeout: float
    memory: int
    environment: Mapping[str, str]
    python_path: tuple[Path, ...] = ()
    handler: str = "app.handler"
    reserved: int | None = None
    account: str = "account"


@dataclass(frozen=True)
class Answer:
    """What an invocation came to. `error` is the type of what went wrong, `status` is Lambda's own: other
    than 200, the function was not run."""

    payload: Any
    error: str | None = None
    status: int = 200

    @property
    def ok(self) -> bool:
        return self.error is None


def failed(error: str, message: str) -> Answer:
    return Answer({"errorType": error, "errorMessage": message}, error)


@dataclass
class _Invocation:
    """`begun` is when the process asked for it: starting the process does not count."""

    id: str
    event: bytes
    trace: str
    seconds: float
    sink: Sink | None = None
    answer: "queue.Queue[Answer]" = field(default_factory=queue.Queue)
    begun: threading.Event = field(default_factory=threading.Event)

    @property
    def deadline_ms(self) -> int:
        return int((time.time() + self.seconds) * 1_000)


class RunningProgram(Protocol):
    @property
    def code(self) -> int | None: ...

    def send_signal(self, number: signal.Signals) -> None: ...

    def wait(self, timeout: float | None = 60) -> int: ...


class Environment:
    """Runs one invocation at a time, and many one after the other."""

    def __init__(self, function: Function, log: Path) -> None:
        self.function = function
        self._next: queue.Queue[_Invocation | None] = queue.Queue()
        self._current: _Invocation | None = None
        self._doomed = False
        self._api = serve_runtime_api(self)
        with log.open("ab") as output, Path(os.devnull).open() as nothing:
            self._process = self._start(nothing.fileno(), output.fileno())
        threading.Thread(target=self._watch, daemon=True).start()

    def _start(self, nothing: int, output: int) -> RunningProgram:
        """The function's process, with these files for its input and its output."""
        function = self.function
        return forked.start(
            _run_function,
            function.handler,
            [str(function.code), *map(str, function.python_path)],
            streams=[nothing, output, output],
            env=self._variables(),
            folder=function.code,
        )

    @property
    def alive(self) -> bool:
        return not self._doomed and self._process.code is None

    def invoke(self, event: bytes, trace: str, sink: Sink | None = None) -> Answer:
        """`sink` gets a response while it is streamed, as InvokeWithResponseStream does; the answer is then
        empty."""
        timeout = self.function.timeout
        invocation = _Invocation(str(uuid.uuid4()), event, trace, timeout, sink)
        self._current = invocation
        self._next.put(invocation)
        if self._process.code is not None:  # it died before it could be told
            self._ended()
        invocation.begun.wait(START_SECONDS)
        try:
            return invocation.answer.get(timeout=timeout)
        except queue.Empty:
            self.kill()
            message = (
                f"RequestId: {invocation.id} Error: Task timed out after {timeout:.2f} seconds"
            )
            return failed("Sandbox.Timedout", message)
        finally:
            self._current = None

    def kill(self) -> None:
        """As the platform does it: no warning, no clean-up."""
        self._doomed = True
        self._process.send_signal(signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        self._process.wait()
        self._next.put(None)
        stop(self._api)

    def next(self) -> _Invocation | None:
        invocation = self._next.get()
        if invocation:
            invocation.begun.set()
        return invocation

    def answered(self, invocation_id: str, answer: Answer) -> None:
        current = self._current
        if current and current.id == invocation_id:
            current.answer.put(answer)

    def failed_to_start(self, payload: Any) -> None:
        if self._current:
            self._current.answer.put(Answer(payload, str(payload["errorType"])))

    def sink_of(self, invocation_id: str) -> Sink | None:
        """Where the parts of a response go; None if nobody waits for it, or it is there already."""
        current = self._current
        if current is None or current.id != invocation_id or not current.answer.empty():
            return None
        return current.sink or (lambda _part: None)

    def _watch(self) -> None:
        self._process.wait(None)
        self._ended()

    def _ended(self) -> None:
        current = self._current
        if current:
            how = self._process.code
            reason = "signal: killed" if how == -signal.SIGKILL else f"exit status {how}"
            message = f"RequestId: {current.id} Error: Runtime exited with error: {reason}"
            current.answer.put(failed("Runtime.ExitError", message))
            current.begun.set()

    def _variables(self) -> dict[str, str]:
        function = self.function
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        return {
            **kept,
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{port_of(self._api)}",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "LAMBDA_TASK_ROOT": str(function.code),
            "_HANDLER": function.handler,
            **function.environment,
        }


def _run_function(handler: str, path: list[str]) -> None:
    """What the process of a function does. Our own modules are loaded anew, with its variables."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "idea_explorer"]:
        del sys.modules[name]
    sys.path[:0] = path
    tempfile.tempdir = None  # found anew, from the function's own TMPDIR
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is no other's
    enforce()
    if WRAPPER in os.environ:
        _start_wrapper(path)
    from awslambdaric.__main__ import main

    main(["awslambdaric", handler])


def _start_wrapper(path: list[str]) -> None:
    """As Lambda does it, with the interpreter and the arguments of its own runtime. What is in layers there
    is on the path here, and `sitecustomize` keeps to the role."""
    wrapper = os.environ[WRAPPER].replace(TASK_ROOT, f"{path[0]}/")
    os.environ["LAMBDA_RUNTIME_DIR"] = os.pathsep.join([str(STARTUP), *path[1:]])
    os.execv(wrapper, [wrapper, sys.executable, "/var/runtime/bootstrap.py"])


def serve_runtime_api(environment: Environment) -> ThreadingHTTPServer:
    class Api(Replying):
        """The part of Lambda's runtime API that a runtime client uses."""

        def _next(self) -> None:
            invocation = environment.next()
            if invocation is None:
                self.close_connection = True
                return
            headers = {
                "Lambda-Runtime-Aws-Request-Id": invocation.id,
                "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
                "Lambda-Runtime-Invoked-Function-Arn": arn_of(environment.function.name),
                "Lambda-Runtime-Trace-Id": invocation.trace,
                "Content-Type": "application/json",
            }
            self.reply(200, invocation.event, headers)

        def _answered(self) -> None:
            if MODE in self.headers:
                _take_stream(self, environment)
                return
            body = self.read_body()
            invocation_id, _, what = self.path.removeprefix(INVOCATION).partition("/")
            if what == "response" and len(body) > RESPONSE_BYTES:
                message = (
                    "Response payload size exceeded maximum allowed payload size "
                    f"({RESPONSE_BYTES} bytes)."
                )
                too_large = failed("Function.ResponseSizeTooLarge", message)
                environment.answered(invocation_id, too_large)
            elif what == "response":
                environment.answered(invocation_id, Answer(json.loads(body)))
            elif what == "error":
                payload = json.loads(body)
                environment.answered(invocation_id, Answer(payload, str(payload["errorType"])))
            elif self.path == f"{RUNTIME}init/error":
                environment.failed_to_start(json.loads(body))
            self.reply(202, b"{}")

        do_GET, do_POST = _next, _answered  # noqa: N815

    return serve(Api)


def _take_stream(request: Replying, environment: Environment) -> None:
    invocation_id = request.path.removeprefix(INVOCATION).removesuffix("/response")
    sink = environment.sink_of(invocation_id)
    request.close_connection = True
    if request.headers[MODE] != "streaming":
        request.reply(400, b'{"errorType": "InvalidFunctionResponseMode"}')
        return
    if request.headers["Transfer-Encoding"] != "chunked" or sink is None:
        request.reply(400, b'{"errorType": "InvalidRequestID"}')
        return
    try:
        trailers = read_chunked(request.rfile, request.headers.get("Trailer", ""), sink)
    except TruncatedError:
        cut = failed("Runtime.TruncatedResponse", "The response was truncated.")
        environment.answered(invocation_id, cut)
        return
    error = error_in(trailers)
    answer = Answer(error, error["errorType"]) if error else Answer(None)
    environment.answered(invocation_id, answer)
    request.reply(202, b"{}")


def arn_of(name: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
