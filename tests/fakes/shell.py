"""A person's shell at a terminal of their own: a real pseudo-terminal with real processes in it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tests.fakes.terminal import Terminal

SECONDS = 60.0
PROMPT = "\x02"  # no program prints it


class Answer(NamedTuple):
    """What a command left on the screen, the bytes it sent there, and its exit code."""

    text: str
    raw: bytes
    code: int


class Shell:
    """bash, without anything of this environment. `idea` is the program that is installed."""

    def __init__(self, folder: Path, columns: int, variables: Mapping[str, str]) -> None:
        home = folder / "home"
        home.mkdir(exist_ok=True)
        (home / ".inputrc").write_text("set enable-bracketed-paste off\n")  # no codes of bash's own
        env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PS1": PROMPT,
            "BASH_SILENCE_DEPRECATION_WARNING": "1",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            **variables,
        }
        self._terminal, own = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 100, columns, 0, 0))
        # the first terminal that a new session opens is the one that controls it
        begin = 'exec bash --norc --noprofile -i < "$0" > "$0" 2>&1'
        self._bash = subprocess.Popen(
            ["/bin/sh", "-c", begin, os.ttyname(own)], cwd=folder, env=env, start_new_session=True
        )
        self._seen = b""
        self.wait_for(PROMPT)
        os.close(own)

    def __enter__(self) -> "Shell":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        os.close(self._terminal)  # the terminal is gone, and bash and its jobs end with it
        self._bash.wait(SECONDS)

    def run(self, command: str) -> Answer:
        """Type a command and wait for its end."""
        self.type(f"{command}\r")
        raw = self.wait_for(PROMPT)
        self.type("echo $?\r")
        code = self.wait_for(PROMPT).decode().split()[-2]
        _, _, output = raw.partition(b"\r\n")  # what was typed
        shown = output.removesuffix(PROMPT.encode())
        return Answer(Terminal().show(shown), shown, int(code))

    def ask(self, command: str, question: str, key: str) -> str:
        """Type a command and, once it asks, the answer; returns all that the terminal showed."""
        self.type(f"{command}\r")
        shown = self.wait_for(question)
        self.type(f"{key}\r")
        shown += self.wait_for(PROMPT).removesuffix(PROMPT.encode())
        return Terminal().show(shown)

    def succeed(self, command: str) -> str:
        """What a command shows that must end with 0."""
        answer = self.run(command)
        assert answer.code == 0, f"{command}: {answer}"
        return answer.text

    def fail(self, command: str, code: int) -> str:
        """What a command shows that must end with this code, on one line however narrow the terminal is."""
        answer = self.run(command)
        assert answer.code == code, f"{command}: {answer}"
        assert "Traceback" not in answer.text
        return " ".join(answer.text.split())

    def type(self, text: str) -> None:
        self._seen = b""
        os.write(self._terminal, text.encode())

    def find_word(self, start: str) -> str:
        """The rest of the word on the screen that begins like this."""
        self.wait_for(start)
        while not (found := self._seen.decode().rpartition(start)[2].partition("\r\n"))[1]:
            self._read()
        return found[0]

    def wait_for(self, text: str) -> bytes:
        """Everything since the last key, once this is on the screen."""
        while text.encode() not in self._seen:
            self._read()
        return self._seen

    def _read(self) -> None:
        ready, _, _ = select.select([self._terminal], [], [], SECONDS)
        assert ready, f"nothing more in {SECONDS} s after: {self._seen.decode(errors='replace')}"
        self._seen += os.read(self._terminal, 65_536)
