"""A finished run → a model folder.

In: a run. Out: the folder, with the weights that were best by validation, and the facts of how they came about.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetvec.checkpoint import ModelFolder, write_model_folder
from facetvec.trainer.run import Run
from facetvec.vectors import WordSpace


def write_model(run: Run, space: WordSpace, out: Path, *, name: str | None = None) -> ModelFolder:
    """Write the model of a run into the folder `out`; `space` is the word space that it learned in."""
    weights: dict[str, NDArray[Any]] = {key: weight.numpy() for key, weight in run.weights().items()}
    num_parameters = int(sum(np.prod(weight.shape) for weight in weights.values()))
    config = {
        "model": asdict(run.model),
        "corpus": run.store.config.to_table(),
        "training": run.config.to_table(),
        "facts": {
            "name": name or out.resolve().name,
            "sentences": run.store.totals["sentences"],
            "documents": run.store.totals["documents"],
            "vocabulary": len(run.store.words),
            "parameters": num_parameters,
            "steps": run.step,
            "epochs": round(run.step / len(run.train_batches), 2),
            "seconds": round(run.seconds, 1),
            "validation": run.best,
        },
    }
    return write_model_folder(out, config=config, tokenizer=run.store.tokenizer, space=space.unit(), weights=weights)
