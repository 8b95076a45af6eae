"""What the measurements share: processes timed with the memory of all they start, the machine described, a text."""

import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds that a process took, and the most memory that it and its children held at one time, in bytes."""

    seconds: float
    peak_bytes: int
    output: str


def run_process(arguments: Sequence[str]) -> Run:
    """Run a command to its end; a command that fails ends the benchmark."""
    start = time.perf_counter()
    process = psutil.Popen(arguments, stdout=subprocess.PIPE, text=True)
    peak = [0]
    watch = threading.Thread(target=_watch, args=(process, peak))
    watch.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - start
    watch.join()
    if process.returncode:
        raise SystemExit(f"failed with exit code {process.returncode}: {' '.join(arguments)}")
    return Run(seconds, peak[0], output)


def _watch(process: psutil.Popen, peak: list[int]) -> None:
    """Add up proportional shares where the system tells them: pages that processes share count once."""
    while process.poll() is None:
        total = 0
        for member in [process, *_children(process)]:
            try:
                memory = member.memory_full_info()
            except psutil.Error:
                continue
            total += getattr(memory, "pss", memory.uss)
        peak[0] = max(peak[0], total)
        time.sleep(0.05)


def _children(process: psutil.Popen) -> list[psutil.Process]:
    try:
        children: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return children


def median_seconds(call: Callable[[], object], *, times: int) -> float:
    """Call something several times; return the median of the seconds it took."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def machine() -> str:
    """Describe the machine in a line."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [
            line.partition(": ")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    memory = psutil.virtual_memory().total / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def write_made_up_text(path: Path, *, megabytes: float, seed: int = 0) -> None:
    """Write text of made-up words, as frequent as those of a language (Zipf), in sentences of usual lengths."""
    generator = np.random.default_rng(seed)
    syllables = [consonant + vowel for consonant in "bcdfghjklmnprstvwz" for vowel in "aeiou"]
    lengths = 1 + generator.geometric(0.45, size=200_000)
    words = ["".join(generator.choice(syllables, size=length)) for length in lengths]
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1e6:
            ranks = generator.zipf(1.15, size=200_000)
            ends = np.cumsum(generator.integers(4, 40, size=12_000))
            sentences = np.split(ranks[ranks < len(words)], ends)
            for number, sentence in enumerate(sentences):
                text = " ".join(words[rank] for rank in sentence)
                file.write(f"{text.capitalize()}.{' ' if number % 5 else chr(10)}{chr(10) if number % 40 == 0 else ''}")


def python(*arguments: str) -> list[str]:
    """Return the command that runs this Python."""
    return [sys.executable, *arguments]
