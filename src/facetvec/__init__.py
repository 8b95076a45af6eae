"""Multi-facet embeddings of sentences and phrases: trained on your own text, and made useful.

Public names load when they are first used, so that `import facetvec` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from facetvec.config import CorpusConfig, corpus_config
    from facetvec.errors import BusyError, ConfigError, FacetvecError, InputError, MissingExtraError, StoreError
    from facetvec.examples.batches import Batches, Position
    from facetvec.examples.drawing import Batch
    from facetvec.examples.prepare import prepare
    from facetvec.examples.store import Store
    from facetvec.progress import Step

_ROOMS = {
    "config": ("CorpusConfig", "corpus_config"),
    "errors": ("BusyError", "ConfigError", "FacetvecError", "InputError", "MissingExtraError", "StoreError"),
    "examples.batches": ("Batches", "Position"),
    "examples.drawing": ("Batch",),
    "examples.prepare": ("prepare",),
    "examples.store": ("Store",),
    "progress": ("Step",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "Batches",
    "BusyError",
    "ConfigError",
    "CorpusConfig",
    "FacetvecError",
    "InputError",
    "MissingExtraError",
    "Position",
    "Step",
    "Store",
    "StoreError",
    "corpus_config",
    "prepare",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
