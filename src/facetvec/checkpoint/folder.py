"""A trained model as a folder of plain files.

In: the facts of a model, its tokenizer, its word space, its weights. Out: a folder that opens only if it is whole:

    config.json           format version, shape of the network, settings and facts of corpus and training, and size
                          and SHA-256 of every other file; written last
    tokenizer.json        words and their ids
    vectors.safetensors   the word space, with counts
    model.safetensors     the weights of the network
    README.md             the model card, for people

Several models may share tokenizer and word space: these then stand in the parent folder, and `config.json` names them
`../tokenizer.json` and `../vectors.safetensors`. No torch is needed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from tokenizers import Tokenizer

from facetvec.checkpoint.card import model_card
from facetvec.errors import StoreError
from facetvec.files import atomic_write, read_json, sha256, write_json
from facetvec.vectors import WordSpace, read_vectors, write_vectors
from facetvec.vocabulary.tokenizer import load_tokenizer

FORMAT, VERSION = "facetvec-model", 1
CONFIG, TOKENIZER, VECTORS, WEIGHTS, CARD = (
    "config.json", "tokenizer.json", "vectors.safetensors", "model.safetensors", "README.md",
)  # fmt: skip
SHAREABLE = (TOKENIZER, VECTORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """An opened model folder. `config` holds the tables "model", "corpus", "training" and "facts"."""

    path: Path
    config: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a folder and verify every byte of its files."""
        path = Path(path)
        if not (path / CONFIG).is_file():
            raise StoreError(f"{path}: {'holds no model' if path.is_dir() else 'no such folder'}")
        config = read_json(path / CONFIG)
        if config.get("format") != FORMAT:
            raise StoreError(f"{path / CONFIG}: expected the format {FORMAT!r}, found {config.get('format')!r}")
        if config.get("version") != VERSION:
            found = config.get("version")
            raise StoreError(
                f"{path / CONFIG}: this facetvec reads version {VERSION}, found {found!r}; update facetvec"
            )
        for name, facts in config.get("files", {}).items():
            _verify(path, name, facts)
        return cls(path=path, config=config)

    def file(self, name: str) -> Path:
        """Return the path of a file, in this folder or, where it is shared, in the parent."""
        shared = f"../{name}"
        if shared in self.config["files"]:
            return self.path.parent / name
        if name not in self.config["files"]:
            raise StoreError(f"{self.path / CONFIG}: names no {name}")
        return self.path / name

    def tokenizer(self) -> Tokenizer:
        """Load the tokenizer."""
        return load_tokenizer(self.file(TOKENIZER))

    def space(self) -> WordSpace:
        """Load the word space."""
        return read_vectors(self.file(VECTORS)).space

    def weights(self) -> dict[str, NDArray[Any]]:
        """Load the weights of the network, by name."""
        path = self.file(WEIGHTS)
        try:
            with safe_open(path, framework="np") as file:
                return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 — no mapping
        except SafetensorError as error:
            raise StoreError(f"{path}: not a safetensors file that can be read ({error})") from error


def write_model_folder(
    path: Path,
    *,
    config: Mapping[str, Any],
    tokenizer: Tokenizer,
    space: WordSpace,
    weights: Mapping[str, NDArray[Any]],
    is_shared: bool = False,
) -> ModelFolder:
    """Write a model folder, its `config.json` last. With `is_shared`, tokenizer and word space go to the parent."""
    path.mkdir(parents=True, exist_ok=True)
    (path / CONFIG).unlink(missing_ok=True)
    common = path.parent if is_shared else path
    with atomic_write(common / TOKENIZER) as file:
        file.write(tokenizer.to_str(pretty=True).encode())
    write_vectors(space, common / VECTORS)
    with atomic_write(path / WEIGHTS) as file:
        file.write(save({name: np.ascontiguousarray(weight) for name, weight in weights.items()}))
    with atomic_write(path / CARD) as file:
        file.write(model_card(config).encode())
    names = [f"../{name}" if is_shared and name in SHAREABLE else name for name in (TOKENIZER, VECTORS, WEIGHTS, CARD)]
    files = {name: {"bytes": (path / name).stat().st_size, "sha256": sha256(path / name)} for name in names}
    write_json(path / CONFIG, {"format": FORMAT, "version": VERSION, **config, "files": files})
    return ModelFolder.open(path)


def _verify(folder: Path, name: str, facts: Mapping[str, Any]) -> None:
    """Compare a file with what the folder's config says of it; a name may lead to the folder or its parent only."""
    plain = name.removeprefix("../")
    if plain in ("", ".", "..") or "/" in plain or "\\" in plain:
        raise StoreError(f"{folder / CONFIG}: expected names of files in this folder or its parent, found {name!r}")
    path = folder.parent / plain if plain != name else folder / plain
    if not path.is_file():
        raise StoreError(f"{path}: missing")
    if (size := path.stat().st_size) != facts.get("bytes"):
        raise StoreError(f"{path}: expected {facts.get('bytes')} bytes, found {size}")
    if sha256(path) != facts.get("sha256"):
        raise StoreError(f"{path}: its bytes are not those that were written")
