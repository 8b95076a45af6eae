"""Make `.venv` with what a make target needs; do nothing when it is there already.

    python scripts/environment.py [core|test|docs] [--venv DIR] [--constraints FILE]

Runs on any Python, so that one that is too old can say so in one line.
"""

import hashlib
import os
import subprocess
import sys

EXTRAS = {"core": "", "test": "[dev]", "docs": "[docs]"}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def option(name: str, default: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main() -> "str | None":
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        found = "{}.{}".format(*sys.version_info[:2])
        return "facetvec needs Python 3.11 to 3.14, found {}; name another: make PYTHON=python3.12 ...".format(found)
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError as error:
        return "the Python module '{}' is missing; on Debian: apt-get install python3-venv".format(error.name)

    level = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "core"
    folder = os.path.join(ROOT, option("--venv", ".venv"))
    constraints = os.path.join(ROOT, option("--constraints", os.path.join("requirements", "constraints.txt")))
    stamps = {name: os.path.join(folder, "installed-" + name) for name in EXTRAS}
    wanted = fingerprint(constraints)
    satisfied_by = list(EXTRAS) if level == "core" else [level]
    if any(read(stamps[name]) == wanted for name in satisfied_by):
        return None

    python = os.path.join(folder, "Scripts" if os.name == "nt" else "bin", "python")
    if not os.path.exists(python) and not os.path.exists(python + ".exe"):
        print("making " + os.path.relpath(folder, ROOT), file=sys.stderr)
        venv.create(folder, with_pip=True)
    print(
        "installing facetvec{}, pinned by {}".format(EXTRAS[level], os.path.relpath(constraints, ROOT)),
        file=sys.stderr,
    )
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", constraints]
    failed = subprocess.call([*command, "-e", ROOT + EXTRAS[level]], cwd=ROOT)
    if failed:
        return "pip could not install facetvec{}: see its message above".format(EXTRAS[level])
    with open(stamps[level], "w") as stamp:
        stamp.write(wanted)
    return None


def fingerprint(constraints: str) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in (os.path.join(ROOT, "pyproject.toml"), constraints):
        digest.update(read(path).encode())
    return digest.hexdigest()


def read(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
