"""The exceptions that facetvec raises, all under one base.

    FacetvecError
    ├── ConfigError        a setting is unknown, of the wrong kind or out of range
    ├── InputError         a text, a vector file or a table is not what it should be; names file and line
    ├── StoreError         a folder of ours is incomplete, damaged or of another version
    ├── BusyError          another run is at work on the same folder
    └── MissingExtraError  an optional package is not installed; names the pip command

The command line catches the base: one line, exit code 1.
"""

from pathlib import Path


class FacetvecError(Exception):
    """Base of all errors that facetvec raises on purpose."""


class ConfigError(FacetvecError, ValueError):
    """A setting is unknown, of the wrong kind or out of range."""


class InputError(FacetvecError, ValueError):
    """What the user gave us to read is not what it should be.

    The message starts with the place, `file:line: `, as far as it is known.
    """

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)

        self._arguments = (message, path, line)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, self._arguments)  # so that it crosses from a worker process whole


def _rebuild(message: str, path: Path | str | None, line: int | None) -> InputError:
    return InputError(message, path=path, line=line)


class StoreError(FacetvecError):
    """A folder that facetvec wrote is incomplete, damaged or of another version."""


class BusyError(FacetvecError):
    """Another run is at work on the same folder."""


class MissingExtraError(FacetvecError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package}: pip install 'facetvec[{extra}]'")
