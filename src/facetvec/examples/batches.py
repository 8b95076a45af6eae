"""Which examples come together in which batch, and when.

In: a store, a seed. Out: batches. Batch i of epoch e is the same wherever and whenever it is drawn: every epoch has its
own order, decided by seed and epoch alone. Stretches of that order are sorted by length, so that a batch needs little
padding, and the batches of a stretch come in an order of their own. Of each batch, process `rank` of `world_size` draws
its share.
"""

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from facetvec.errors import ConfigError, StoreError
from facetvec.examples.arrays import mix64
from facetvec.examples.drawing import Batch, Drawer
from facetvec.examples.store import Store

STRETCH = 64  # batches that are sorted by length together
Split = Literal["train", "validation", "all"]
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in the sequence of batches: what a run has to keep to go on later."""

    epoch: int = 0
    batch: int = 0


class Batches:
    """The batches of a store, to be drawn in any order.

    `batch_size` counts the examples of all processes together. Examples that are left over when an epoch is cut into
    batches have their turn in another epoch.
    """

    def __init__(
        self,
        store: Store,
        *,
        batch_size: int,
        seed: int = 0,
        split: Split = "train",
        max_targets: int = 30,
        own_words: bool = False,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if not 0 <= rank < world_size <= batch_size:
            found = f"rank {rank}, world_size {world_size}, batch_size {batch_size}"
            raise ConfigError(f"expected 0 <= rank < world_size <= batch_size, found {found}")
        if max_targets < 1:
            raise ConfigError(f"max_targets must be at least 1, found {max_targets}")
        self._drawer = Drawer(store, max_targets=max_targets, own_words=own_words)
        self.example_ids = _of_split(store, self._drawer, split)
        if not len(self.example_ids):
            raise StoreError(f"{store.path}: it holds no example for the split {split!r}")
        self._lengths = self._drawer.lengths()[self.example_ids]
        self.batch_size = min(batch_size, len(self.example_ids))
        self.seed, self.rank, self.world_size = seed, rank, world_size
        self._order = lru_cache(maxsize=1)(self._order_of_epoch)
        self._stretch = lru_cache(maxsize=2)(self._sorted_stretch)

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return len(self.example_ids) // self.batch_size

    @property
    def max_length(self) -> int:
        """The longest input, its `<eos>` counted."""
        return int(self._lengths.max()) + 1

    def draw(self, position: Position) -> Batch:
        """Draw one batch, or the share of it that is this process's."""
        stretch, number = divmod(position.batch, STRETCH)
        examples = self._stretch(position.epoch, stretch)[number]
        return self._drawer.draw(examples[self.rank :: self.world_size], key=self._key(position.epoch, "targets"))

    def stream(self, start: Position = Position(), *, ahead: int = 8) -> Generator[tuple[Position, Batch], None, None]:
        """Draw batch after batch, epoch after epoch, without end; a thread of its own keeps `ahead` of the reader."""
        return _in_thread(self._from(start), ahead=ahead)

    def _from(self, position: Position) -> Iterator[tuple[Position, Batch]]:
        while True:
            for number in range(position.batch, len(self)):
                here = Position(position.epoch, number)
                yield here, self.draw(here)
            position = Position(position.epoch + 1)

    def _order_of_epoch(self, epoch: int) -> NDArray[np.int64]:
        keys = mix64(np.arange(len(self.example_ids), dtype=np.uint64), key=self._key(epoch, "order"))
        return np.argsort(keys)

    def _sorted_stretch(self, epoch: int, stretch: int) -> NDArray[np.int64]:
        """Return the examples of the batches of a stretch, a batch a row."""
        first = stretch * STRETCH
        num_batches = min(STRETCH, len(self) - first)
        chosen = self._order(epoch)[first * self.batch_size : (first + num_batches) * self.batch_size]
        by_length = chosen[np.argsort(self._lengths[chosen], kind="stable")]
        key = self._key(epoch, "stretch") + stretch
        order = np.argsort(mix64(np.arange(num_batches, dtype=np.uint64), key=key))
        return self.example_ids[by_length.reshape(num_batches, self.batch_size)[order]]

    def _key(self, epoch: int, purpose: Literal["order", "stretch", "targets"]) -> int:
        number = ("order", "stretch", "targets").index(purpose)
        return int(mix64(np.array([self.seed % (1 << 62)], np.uint64), key=3 * epoch + number + 1)[0])


def _of_split(store: Store, drawer: Drawer, split: Split) -> NDArray[np.int64]:
    """Return the numbers of the examples of a split that have targets."""
    boundaries = np.asarray(store.documents)
    if store.config.unit == "phrase":
        boundaries = np.searchsorted(store.phrase_starts, np.asarray(store.offsets)[boundaries])
    is_held_out = np.zeros(len(boundaries) - 1, np.bool_)
    is_held_out[store.validation] = True
    is_wanted = np.ones_like(is_held_out) if split == "all" else is_held_out == (split == "validation")
    return np.flatnonzero(drawer.has_targets() & np.repeat(is_wanted, np.diff(boundaries)))


def _in_thread(items: Iterator[tuple[Position, Batch]], *, ahead: int) -> Generator[tuple[Position, Batch], None, None]:
    """Let a thread run through `items`, at most `ahead` of who takes them; it ends when the taker does."""
    waiting: queue.Queue[tuple[Position, Batch] | BaseException] = queue.Queue(ahead)
    is_over = threading.Event()

    def fill() -> None:
        try:
            for item in items:
                if not _put(waiting, item, is_over):
                    return
        except BaseException as error:  # noqa: BLE001 — handed on to the thread that takes
            _put(waiting, error, is_over)

    thread = threading.Thread(target=fill, name="facetvec-batches", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_over.set()
        thread.join()


def _put(waiting: "queue.Queue[_Item]", item: "_Item", is_over: threading.Event) -> bool:
    while not is_over.is_set():
        try:
            waiting.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
