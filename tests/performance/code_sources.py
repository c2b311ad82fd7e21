"""Public repositories for the benchmark of the code tools, fetched as packages: source distributions from the
Python index, packages from npm, and sources from Debian, without installing anything on this machine."""

import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
RELEASE = "bookworm"
DJANGO = "django==5.2.7"


class Sources:
    """Everything is in one folder, and fetched once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)

    def from_python(self, requirement: str) -> Path:
        name = requirement.partition("==")[0]
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary=:all:",
        ]
        return self._unpacked(name, [*command, "--dest=.", requirement], "*.tar.gz")

    def from_npm(self, package: str) -> Path:
        name = package.strip("@").replace("/", "-").partition("@")[0]
        return self._unpacked(name, ["npm", "pack", "--silent", package], "*.tgz")

    def from_debian(self, package: str, skipped: Sequence[str] = ()) -> Path:
        return self._unpacked(
            package, [*self._apt("source"), "--download-only", package], "*.orig.tar.*", skipped
        )

    def program(self, *packages: str) -> Path:
        """The files of Debian's packages, in a folder of their own."""
        place = self.folder / f"program-{packages[0]}"
        if not place.exists():
            place.mkdir()
            _run([*self._apt("download"), *packages], place)
            for archive in place.glob("*.deb"):
                _run(["dpkg", "-x", archive.name, "."], place)
        return place

    def typescript(self) -> Path:
        place = self.folder / "typescript"
        if not place.exists():
            place.mkdir()
            (place / "package.json").write_text("{}")
            _run(["npm", "install", "--silent", "typescript@5"], place)
        return place / "node_modules" / "typescript"

    def add_library(self, name: str) -> None:
        """Make a Python package importable in this process."""
        place = self.folder / f"library-{name}"
        if not place.exists():
            command = [sys.executable, "-m", "pip", "install", "--quiet", f"--target={place}", name]
            _run(command, self.folder)
        sys.path.append(str(place))

    def _unpacked(
        self, name: str, fetch: Sequence[str], pattern: str, skipped: Sequence[str] = ()
    ) -> Path:
        place = self.folder / name
        if not place.exists():
            packed = self.folder / f"{name}.fetched"
            packed.mkdir(exist_ok=True)
            # of a source in several archives, a mirror may lack some; the first one is what is needed
            _run(fetch, packed, check=False)
            (archive, *_) = sorted(packed.glob(pattern))
            place.mkdir()
            with tarfile.open(archive) as opened:
                for member in opened:
                    inside = member.name.partition("/")[2]
                    if inside and member.isreg() and not any(part in inside for part in skipped):
                        member.name = inside
                        opened.extract(member, place, filter="data")
            # as people have it: outside git, what looks like the output of tools is skipped
            _run(["git", "init", "--quiet"], place)
            _run(["git", "add", "--all", "--force"], place)
        return place

    def _apt(self, command: str) -> list[str]:
        """apt-get with lists of its own."""
        state = self.folder / "apt"
        for part in ("lists/partial", "cache/archives/partial"):
            (state / part).mkdir(parents=True, exist_ok=True)
        sources = state / "sources.list"
        options = {
            "Dir::Etc::sourcelist": sources,
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": state / "lists",
            "Dir::Cache": state / "cache",
            "APT::Sandbox::User": "root",
        }
        apt = ["apt-get", "-qq", *(f"-o{key}={value}" for key, value in options.items())]
        if not sources.exists():
            archive = f"[signed-by={KEYRING}] {_find_mirror()} {RELEASE} main"
            sources.write_text(f"deb {archive}\ndeb-src {archive}\n")
            _run([*apt, "update"], state)
        return [*apt, command]


def _find_mirror() -> str:
    """The one that this machine uses."""
    command = ["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return next(line.partition(" ")[2] for line in listed if line.startswith(f"{RELEASE} "))


def _run(command: Sequence[str], folder: Path, *, check: bool = True) -> None:
    subprocess.run(
        command,
        cwd=folder,
        check=check,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
