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
    from facetvec.vectors.check import check_vectors
    from facetvec.vectors.common import remove_common
    from facetvec.vectors.of_store import train_word_space
    from facetvec.vectors.reader import read_vectors
    from facetvec.vectors.space import WordSpace
    from facetvec.vectors.training import SkipGramSettings
    from facetvec.vectors.writer import write_vectors

_ROOMS = {
    "config": ("CorpusConfig", "corpus_config"),
    "errors": ("BusyError", "ConfigError", "FacetvecError", "InputError", "MissingExtraError", "StoreError"),
    "examples.batches": ("Batches", "Position"),
    "examples.drawing": ("Batch",),
    "examples.prepare": ("prepare",),
    "examples.store": ("Store",),
    "progress": ("Step",),
    "vectors.check": ("check_vectors",),
    "vectors.common": ("remove_common",),
    "vectors.of_store": ("train_word_space",),
    "vectors.reader": ("read_vectors",),
    "vectors.space": ("WordSpace",),
    "vectors.training": ("SkipGramSettings",),
    "vectors.writer": ("write_vectors",),
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
    "SkipGramSettings",
    "Step",
    "Store",
    "StoreError",
    "WordSpace",
    "check_vectors",
    "corpus_config",
    "prepare",
    "read_vectors",
    "remove_common",
    "train_word_space",
    "write_vectors",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
