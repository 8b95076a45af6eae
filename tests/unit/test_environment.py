"""The script behind `make demo` and `make test`: what is missing is said in one line."""

import importlib.util
import sys
import venv
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("environment", ROOT / "scripts" / "environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "requirements/constraints.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["environment.py", "core"])
    return module


@pytest.fixture
def installed(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What pip is asked to install; nothing is."""
    wanted: list[str] = []

    def install(command: list[str], **_: str) -> int:
        wanted.append(command[-1])
        return 0

    monkeypatch.setattr(environment.subprocess, "call", install)
    monkeypatch.setattr(venv, "create", lambda folder, **_: Path(folder).mkdir(exist_ok=True))
    return wanted


def test_a_python_too_old_or_too_new_is_said(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ((3, 10, 4), (3, 15, 0)):
        monkeypatch.setattr(sys, "version_info", version)
        said = environment.main()
        assert f"needs Python 3.11 to 3.14, found {version[0]}.{version[1]}" in said
        assert "\n" not in said


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_missing_module_is_said_with_the_package_that_brings_it(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert "apt-get install python3-venv" in environment.main()


def test_what_is_there_is_not_installed_again(environment: ModuleType, installed: list[str]) -> None:
    for _ in range(2):
        assert environment.main() is None
        assert len(installed) == 1
    (Path(environment.ROOT) / "pyproject.toml").write_text("changed")
    assert environment.main() is None
    assert len(installed) == 2


def test_the_environment_of_the_tests_serves_the_demo_too(
    environment: ModuleType, installed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for level in ("test", "core"):
        monkeypatch.setattr(sys, "argv", ["environment.py", level])
        assert environment.main() is None
    assert [wanted.endswith("[dev]") for wanted in installed] == [True]


@pytest.mark.usefixtures("installed")
def test_a_failure_of_pip_is_said(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.subprocess, "call", lambda *_, **__: 1)
    assert environment.main() == "pip could not install facetvec: see its message above"
