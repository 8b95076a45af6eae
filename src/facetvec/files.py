"""Files written whole or not at all, and folders that one run at a time may work on.

In: a path and bytes. Out: the file, complete, or nothing. A writer fills `NAME.partial` beside the target, syncs it
to the disk and renames it: a reader sees the old file or the new one, never half of one.
"""

import hashlib
import importlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from filelock import FileLock, Timeout

from facetvec.errors import BusyError, MissingExtraError, StoreError


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open `path` for writing bytes; it appears under its name only when the block ends without an error."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, content: object) -> None:
    """Write `content` as indented JSON, whole or not at all."""
    with atomic_write(path) as file:
        file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object that facetvec wrote."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{path}: no such file") from None
    except ValueError as error:
        raise StoreError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise StoreError(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def only_run_on(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process; a second process that asks meanwhile gets a `BusyError`.

    The operating system lets go of the lock when the process ends, however it ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise BusyError(
            f"{folder}: another run is at work on this folder; wait for it or choose another folder"
        ) from None
    try:
        yield
    finally:
        lock.release()
        (folder / ".lock").unlink(missing_ok=True)


def import_extra(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or say in one line which pip command brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(module.partition(".")[0], extra=extra, purpose=purpose) from error
