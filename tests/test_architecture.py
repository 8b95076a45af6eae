"""What holds for the package as a whole: the order of the rooms, the public names, a light import."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import facetvec

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "facetvec"

# A module imports only from rooms that stand before its own, or from its own.
ROOMS = (
    "errors", "progress", "files", "config", "text", "vocabulary", "examples", "vectors", "nnsc", "model", "checkpoint",
    "trainer", "cli", "__main__",
)  # fmt: skip
HEAVY = ("torch", "spacy", "gensim", "scipy", "onnxruntime", "sklearn", "pyarrow", "nltk", "textblob", "numpy", "typer")


def imports_at_top(path: Path) -> set[str]:
    """Return the rooms that a module imports from, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
            if node.module == "facetvec":
                names = [f"facetvec.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("facetvec.")}
    return found


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_rooms_before_its_own(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    names = {name for name in imports_at_top(path) if name not in vars(facetvec)}
    assert names <= allowed, f"{path} imports from {sorted(names - allowed)}"


def test_every_room_is_in_the_order() -> None:
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert rooms == set(ROOMS)


def test_public_names_are_those_of_all_and_each_can_be_had() -> None:
    lazy = {name for names in facetvec._ROOMS.values() for name in names}
    assert set(facetvec.__all__) == lazy
    assert sorted(facetvec.__all__) == facetvec.__all__
    for name in facetvec.__all__:
        assert getattr(facetvec, name).__name__ == name
    assert set(dir(facetvec)) == {*facetvec.__all__, "__version__"}


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        facetvec.nonsense  # noqa: B018


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, json, facetvec; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_preparing_loads_nothing_that_only_training_needs(tmp_path: Path) -> None:
    code = (
        "import sys, json, facetvec; from pathlib import Path; p = Path(sys.argv[1]);"
        "(p / 'a.txt').write_text('One two three four five six seven.\\nTwo three four five six seven eight.\\n' * 9);"
        "facetvec.prepare([p / 'a.txt'], out=p / 'store'); print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)}
    assert not loaded & {"torch", "spacy", "gensim", "scipy", "onnxruntime", "pyarrow", "nltk", "textblob"}


def test_the_version_is_that_of_pyproject() -> None:
    assert f'version = "{facetvec.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
