"""Blocks → files of pieces, by as many processes as are wanted, in the order of the blocks.

In: blocks, and for each the path of its piece. Out: the blocks again, each once its piece lies on the disk. A piece
that is there already, from a run that was stopped, is kept if its fingerprint is the block's.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from facetvec.config import CorpusConfig
from facetvec.errors import FacetvecError
from facetvec.examples.pieces import PieceMaker, load_digest, save_piece
from facetvec.text.blocks import Block

Job = tuple[Block, Path]


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_pieces(jobs: Iterable[Job], config: CorpusConfig, *, workers: int) -> Iterator[Job]:
    """Make the piece of each block; yield each job when it is done, in order."""
    return _in_this_process(jobs, config) if workers == 1 else _in_processes(jobs, config, workers=workers)


def _in_this_process(jobs: Iterable[Job], config: CorpusConfig) -> Iterator[Job]:
    maker = PieceMaker(config)
    for job in jobs:
        _make(maker, *job)
        yield job


def _in_processes(jobs: Iterable[Job], config: CorpusConfig, *, workers: int) -> Iterator[Job]:
    """Hand out jobs, a few more than there are processes, so that memory stays bounded."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_start_process, initargs=(config,))
    waiting: deque[tuple[Future[None], Job]] = deque()
    try:
        for job in jobs:
            waiting.append((pool.submit(_make_here, *job), job))
            if len(waiting) > 2 * workers:
                yield _next_done(waiting)
        while waiting:
            yield _next_done(waiting)
    except BrokenProcessPool as error:
        advice = "run it again to go on, with fewer workers if memory was short"
        script = "a script of yours must call this under: if __name__ == '__main__'"
        raise FacetvecError(f"a worker process died: {advice}; {script}") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _next_done(waiting: deque[tuple[Future[None], Job]]) -> Job:
    made, job = waiting.popleft()
    made.result()
    return job


def _make(maker: PieceMaker, block: Block, path: Path) -> None:
    if not path.exists() or load_digest(path) != block.digest():
        save_piece(maker.make(block), path)


_maker: PieceMaker | None = None  # of this worker process


def _start_process(config: CorpusConfig) -> None:
    """Make a worker process ready: Ctrl-C is the parent's to handle, and a parent that dies takes it along."""
    global _maker  # noqa: PLW0603 — the one way to hand a process what it needs for all its jobs
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _maker = PieceMaker(config)


def _make_here(block: Block, path: Path) -> None:
    assert _maker is not None
    _make(_maker, block, path)


def _die_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
    os._exit(1)
