"""A run: from a store and a word space to a trained network, in events.

In: a store, a word space, the shape of the network, settings, a folder. Out: events while it learns; at the end the
best weights, by the loss on held-out documents. A run that is stopped writes its state and goes on from there: with a
budget of steps or epochs to the same weights, bit for bit on a CPU, as if it had never been stopped.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from facetvec.config import TrainingConfig
from facetvec.errors import ConfigError, InputError
from facetvec.examples.arrays import mix64
from facetvec.examples.batches import Batches, Position
from facetvec.examples.drawing import Batch
from facetvec.examples.store import MANIFEST, Store
from facetvec.files import sha256
from facetvec.model.network import FacetNetwork
from facetvec.model.shape import ModelConfig
from facetvec.trainer import schedule
from facetvec.trainer.events import Event, Finished, Planned, Saved, Stepped, Validated
from facetvec.trainer.feed import Feed
from facetvec.trainer.learner import Learner, choose_precision
from facetvec.trainer.state import RunState, load_state, named_moments, restore_moments, save_state
from facetvec.trainer.validation import validate
from facetvec.vectors import WordSpace
from facetvec.vectors.training import choose_device

PROBED_STEPS = 3
SECONDS_PER_REPORT = 0.5
MAX_STEPS_PER_REPORT = 50
CHANGEABLE = ("epochs", "steps", "minutes", "validations", "patience", "checkpoint_minutes")  # between parts of a run
COUNTERS = ("step", "seconds", "num_validations", "num_plateaus", "num_worse")


class Run:
    """One training run; `events` does the work. `stop` makes it end after the step at hand, its state written."""

    def __init__(
        self,
        store: Store,
        space: WordSpace,
        *,
        folder: Path,
        model: ModelConfig,
        config: TrainingConfig,
        device: str = "auto",
    ) -> None:
        self.store, self.folder, self.model, self.config = store, folder, model, config
        self.is_stopped = False
        torch_device = choose_device(device)
        aligned = space.unit().align(store.words)
        if not aligned.is_known_N[store.content].any():
            raise InputError("the word space knows none of the words of the store")
        words_VD = torch.from_numpy(aligned.vectors_ND).to(torch_device)
        generator = torch.Generator().manual_seed(config.seed)
        network = FacetNetwork(model, vectors_VD=torch.from_numpy(aligned.vectors_ND), generator=generator)
        precision = choose_precision(config.precision, device=torch_device)
        self.learner = Learner(network.to(torch_device), words_VD, config=config, precision=precision)
        self.feed = Feed(config, is_known=aligned.is_known_N, max_tokens=model.max_tokens, device=torch_device)
        self.train_batches = self._batches("train")
        if (longest := self.train_batches.max_length) > model.max_tokens:
            raise ConfigError(f"max_tokens must be at least {longest} for this store, found {model.max_tokens}")
        self.validation_batches = self._batches("validation") if len(store.validation) else None
        self.budget = schedule.Budget(config, steps_an_epoch=len(self.train_batches))
        self.identity = self._identity(aligned.vectors_ND)
        # what a state holds beside the tensors
        self.step = 0
        self.seconds = 0.0
        self.num_validations = self.num_plateaus = self.num_worse = 0
        self.best: dict[str, Any] | None = None
        self.best_weights: dict[str, Tensor] = {}

    def stop(self) -> None:
        """End the run after the step at hand; it can go on later."""
        self.is_stopped = True

    def events(self) -> Iterator[Event]:
        """Learn until the budget is spent, validation has stopped improving, or `stop` was called."""
        is_resumed = self._resume()
        yield self._plan(is_resumed=is_resumed)
        self.learner.network.train()
        meter = _Meter(self)
        saved_at = started = time.perf_counter()
        before = self.seconds
        reason = "the budget is spent"
        for batch in self._stream():
            share = self.budget.share(step=self.step, seconds=self.seconds)
            if share >= 1:
                break
            meter.add(self._step(batch, share=share), num_examples=len(batch.lengths_B))
            self.seconds = before + time.perf_counter() - started
            share = self.budget.share(step=self.step, seconds=self.seconds)
            if meter.is_due() or share >= 1:
                yield meter.report(share=share)
            if self.validation_batches and int(share * self.config.validations) > self.num_validations:
                yield self._validate(share)
                if self.config.patience is not None and self.num_worse >= self.config.patience:
                    reason = f"{self.num_worse} validations have brought nothing better"
                    break
            if self.is_stopped:
                reason = "it was stopped"
                break
            if time.perf_counter() - saved_at > 60 * self.config.checkpoint_minutes:
                yield self._save()
                saved_at = time.perf_counter()
        yield self._save()
        yield Finished(step=self.step, reason=reason, seconds=self.seconds)

    def weights(self) -> dict[str, Tensor]:
        """Return the best weights so far by validation, or the last ones where nothing was held out."""
        return self.best_weights or _on_cpu(self.learner.network.state_dict())

    def _batches(self, split: Literal["train", "validation"]) -> Batches:
        return Batches(
            self.store,
            batch_size=self.config.batch_size,
            seed=self.config.seed,
            split=split,
            max_targets=self.config.max_targets,
            own_words=self.config.own_words > 0,
        )

    def _stream(self) -> Iterator[Batch]:
        stream = self.train_batches.stream(Position(*divmod(self.step, len(self.train_batches))))
        with closing(stream):
            yield from (batch for _, batch in stream)

    def _step(self, batch: Batch, *, share: float) -> Tensor:
        key = int(mix64(np.array([self.step], np.uint64), key=self.config.seed + 1)[0])
        losses = self.learner.step(
            self.feed.rows(batch, key=key),
            learning_rate=schedule.learning_rate(self.config, share=share, num_plateaus=self.num_plateaus),
            penalty=schedule.penalty(self.config, share=share),
            seed=key >> 1,
        )
        self.step += 1
        return losses

    def _validate(self, share: float) -> Validated:
        assert self.validation_batches is not None
        self.num_validations = int(share * self.config.validations)
        found = validate(self.learner, self.validation_batches, self.feed, penalty=self.config.penalty)
        is_best = self.best is None or found.loss < self.best["loss"]
        if is_best:
            self.best = {"step": self.step} | asdict(found)
            self.best_weights = _on_cpu(self.learner.network.state_dict())
        self.num_worse = 0 if is_best else self.num_worse + 1
        self.num_plateaus += not is_best
        return Validated(step=self.step, figures=found, is_best=is_best)

    def _plan(self, *, is_resumed: bool) -> Planned:
        """Measure a few steps on a copy of the weights, and say what is to come."""
        seconds_a_step = self._probe()
        num_steps = self.budget.num_steps or max(1, round((self.budget.seconds or 0) / seconds_a_step))
        left = self.budget.seconds - self.seconds if self.budget.seconds else (num_steps - self.step) * seconds_a_step
        return Planned(
            step=self.step,
            num_sentences=len(self.train_batches.example_ids),
            num_words=len(self.store.words),
            num_parameters=sum(parameter.numel() for parameter in self.learner.network.parameters()),
            device=str(self.learner.device),
            precision=str(self.learner.precision).removeprefix("torch."),
            batches_an_epoch=len(self.train_batches),
            num_steps=num_steps,
            seconds=max(0.0, left),
            resumed=is_resumed,
        )

    def _probe(self) -> float:
        """Return the seconds of a step: of loss and gradients, that is, which change nothing."""
        fastest = float("inf")
        for number in range(PROBED_STEPS):
            start = time.perf_counter()
            rows = self.feed.rows(self.train_batches.draw(Position(0, number % len(self.train_batches))), key=0)
            total = self.learner.outcome(rows, penalty=self.config.penalty).loss.total
            total.backward()  # type: ignore[no-untyped-call]
            total.item()  # waits for the device
            fastest = min(fastest, time.perf_counter() - start)
        self.learner.optimizer.zero_grad(set_to_none=True)
        return fastest

    def _save(self) -> Saved:
        network = {f"model.{name}": value for name, value in self.learner.network.state_dict().items()}
        best = {f"best.{name}": value for name, value in self.best_weights.items()}
        moments = named_moments(self.learner.optimizer, self.learner.names)
        table = {name: getattr(self, name) for name in COUNTERS} | {"best": self.best, "identity": self.identity}
        path = save_state(RunState(tensors=network | best | moments, table=table), self.folder)
        return Saved(step=self.step, path=str(path))

    def _resume(self) -> bool:
        """Go back to the last state, if there is one; a state of another text or other settings is an error."""
        state = load_state(self.folder)
        if state is None:
            return False
        if changed := [name for name, value in self.identity.items() if state.table["identity"].get(name) != value]:
            raise ConfigError(f"{self.folder}: holds a run with other {', '.join(changed)}; --force starts anew")
        for name in COUNTERS:
            setattr(self, name, state.table[name])
        self.best = state.table["best"]
        parts = {kind: _named(state.tensors, kind) for kind in ("model", "best")}
        self.learner.network.load_state_dict(parts["model"])
        self.best_weights = parts["best"]
        restore_moments(self.learner.optimizer, self.learner.names, state.tensors)
        return True

    def _identity(self, vectors_VD: NDArray[np.float32]) -> dict[str, Any]:
        """Return what must not change between the parts of a run."""
        settings = {name: value for name, value in self.config.to_table().items() if name not in CHANGEABLE}
        text = {"text": sha256(self.store.path / MANIFEST), "vectors": hashlib.sha256(vectors_VD.data).hexdigest()}
        return text | settings | self.model.to_table()


class _Meter:
    """Gathers losses on the device, and reads them only when a report is due."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.sums = torch.zeros(3, device=run.learner.device)
        self.num_steps = self.num_examples = 0
        self.start = time.perf_counter()

    def add(self, losses: Tensor, *, num_examples: int) -> None:
        """Add the losses of a step."""
        self.sums += losses
        self.num_steps += 1
        self.num_examples += num_examples

    def is_due(self) -> bool:
        """Tell whether it is time for a report."""
        return self.num_steps >= MAX_STEPS_PER_REPORT or time.perf_counter() - self.start > SECONDS_PER_REPORT

    def report(self, *, share: float) -> Stepped:
        """Report the means since the last report."""
        loss, own_error, other_error = (self.sums / self.num_steps).tolist()
        run = self.run
        event = Stepped(
            step=run.step,
            epoch=run.step // len(run.train_batches),
            share=share,
            loss=loss,
            own_error=own_error,
            other_error=other_error,
            learning_rate=float(run.learner.optimizer.param_groups[0]["lr"]),
            examples_a_second=self.num_examples / (time.perf_counter() - self.start),
            seconds_left=run.budget.seconds_left(step=run.step, seconds=run.seconds),
        )
        self.sums = torch.zeros_like(self.sums)
        self.num_steps = self.num_examples = 0
        self.start = time.perf_counter()
        return event


def _on_cpu(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight.detach().to("cpu", copy=True) for name, weight in weights.items()}


def _named(tensors: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    prefix = f"{kind}."
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
