"""A changed parameter reaches the functions behind an alias, because it changes their code."""

from pathlib import Path

from scripts.deploy.release import FILE, stamp


def built(folder: Path, template: str = "Resources: {}") -> Path:
    (folder / "ApiFunction").mkdir(parents=True, exist_ok=True)
    (folder / "ApiFunction" / "app.py").touch()
    (folder / "CoreLayer" / "python").mkdir(parents=True, exist_ok=True)
    (folder / "template.yaml").write_text(template)
    return folder


def test_parameters_and_template_are_part_of_the_code(tmp_path: Path) -> None:
    folder = built(tmp_path)
    first = stamp(folder, ["Stage=prod", "MaxRunning=5"])
    same = stamp(folder, ["MaxRunning=5", "Stage=prod"])
    other = stamp(folder, ["Stage=prod", "MaxRunning=7"])
    newer = stamp(built(tmp_path, "Resources: {Topic: {}}"), ["Stage=prod", "MaxRunning=7"])

    assert first == same
    assert len({first, other, newer}) == 3
    assert (folder / "ApiFunction" / FILE).read_text() == f"{newer}\n"
    assert not (folder / "CoreLayer" / FILE).exists()
