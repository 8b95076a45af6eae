"""The lists of releases and pyproject.toml say the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def project_bounds() -> dict[str, str]:
    """Return the lower bound of each package that pyproject.toml names, outside the documentation's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in ("docs", "all")}
    found = {}
    for requirement in (*project["dependencies"], *(need for needs in extras.values() for need in needs)):
        if match := re.match(r"([\w.-]+)>=([\w.]+)", requirement):
            found[match[1]] = match[2]
    return found


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return {match[1].lower(): match[2] for line in lines if (match := re.match(r"([\w.-]+)==([\w.]+)", line))}


def release(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def test_the_oldest_releases_are_the_lower_bounds() -> None:
    oldest = pins("lowest.txt")
    assert project_bounds().keys() == oldest.keys()
    for name, bound in project_bounds().items():
        padded = release(oldest[name])
        assert padded[: len(release(bound))] == release(bound), name


def test_what_is_installed_for_the_tests_is_pinned_and_not_older_than_allowed() -> None:
    pinned = pins("constraints.txt")
    for name, bound in project_bounds().items():
        assert release(pinned[name]) >= release(bound), name


def test_the_forge_runs_what_a_developer_runs() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert {"make demo PYTHON=python", "make test PYTHON=python"} <= set(re.findall(r"run: (.*)", workflow))
    assert all(f'"{version}"' in workflow for version in ("3.11", "3.12", "3.13", "3.14"))
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
