"""How fast word vectors are read from text, and in how much memory; gensim beside it.

    python -m benchmarks.vectors_reading [--gigabytes 2] [--vocabulary 50000]

Makes up a file like GloVe's (300 dimensions, 5 significant digits, no header) and reads it in fresh processes: for a
vocabulary whose words are spread evenly over the file; all words of its first part; the same part with gensim. Memory
is the peak of the whole process, imports included. The file is in the system's cache, so the disk is not measured.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

DIMENSION = 300
NUM_DISTINCT_VECTORS = 2000
PART = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--vocabulary", type=int, default=50_000)
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--words", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.reader:
        _measure(arguments.reader, arguments.file, arguments.words, arguments.vocabulary)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vectors.txt"
        num_words = make_file(file, num_bytes=int(arguments.gigabytes * 1e9))
        print(f"{file.stat().st_size / 1e6:.0f} MB, {num_words} words, {DIMENSION} dimensions")
        for reader in READERS:
            command = [sys.executable, "-m", "benchmarks.vectors_reading", "--reader", reader, "--file", str(file)]
            command += ["--words", str(num_words), "--vocabulary", str(arguments.vocabulary)]
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            speed = result["bytes"] / 1e6 / result["seconds"]
            print(
                f"{reader:30} {result['bytes'] / 1e6:6.0f} MB in {result['seconds']:6.2f} s = {speed:6.1f} MB/s, "
                f"{result['kept']} words kept, peak {result['peak'] / 1e6:.0f} MB"
            )


def make_file(path: Path, *, num_bytes: int) -> int:
    """Write about `num_bytes` of vectors and return the number of words; the vectors repeat, the words do not."""
    rng = np.random.default_rng(0)
    vectors = [
        " ".join(f"{number:.5g}" for number in vector)
        for vector in rng.normal(0, 0.4, (NUM_DISTINCT_VECTORS, DIMENSION))
    ]
    num_words = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while file.tell() < num_bytes:
            file.writelines(f"word{num_words + row} {vector}\n" for row, vector in enumerate(vectors))
            num_words += len(vectors)
    return num_words


def _read_vocabulary(file: Path, num_words: int, vocabulary: int) -> int:
    from facetvec.vectors import read_vectors

    wanted = {f"word{row}" for row in np.linspace(0, num_words - 1, min(vocabulary, num_words)).astype(int)}
    return len(read_vectors(file, vocabulary=wanted).space)


def _read_part(file: Path, num_words: int, _vocabulary: int) -> int:
    from facetvec.vectors import read_vectors

    return len(read_vectors(file, limit=int(num_words * PART)).space)


def _read_part_with_gensim(file: Path, num_words: int, _vocabulary: int) -> int:
    from gensim.models import KeyedVectors

    return len(KeyedVectors.load_word2vec_format(str(file), no_header=True, limit=int(num_words * PART)))


def _read_all(file: Path, _num_words: int, _vocabulary: int) -> int:
    from facetvec.vectors import read_vectors

    return len(read_vectors(file).space)


Reader = Callable[[Path, int, int], int]
READERS: dict[str, Reader] = {
    "facetvec, of a vocabulary": _read_vocabulary,
    "facetvec, all words": _read_all,
    "facetvec, all words of a part": _read_part,
    "gensim, all words of a part": _read_part_with_gensim,
}


def _measure(name: str, file: Path, num_words: int, vocabulary: int) -> None:
    import_module("gensim.models" if "gensim" in name else "facetvec.vectors")
    start = time.perf_counter()
    kept = READERS[name](file, num_words, vocabulary)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    num_bytes = file.stat().st_size * (PART if "part" in name else 1)
    print(json.dumps({"seconds": seconds, "kept": kept, "peak": peak, "bytes": num_bytes}))


if __name__ == "__main__":
    main()
