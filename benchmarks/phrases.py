"""How fast noun phrases are found, on one core: the tagger alone, the chunker alone, both.

    python -m benchmarks.phrases --corpus FILE [--megabytes 4] [--tagger textblob]

Sentences and words are cut beforehand and not timed. Each figure is the best of three passes.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from facetvec.text import phrases
from facetvec.text.sentences import segmenter
from facetvec.vocabulary import rules

PASSES = 3
BATCH = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("--tagger", default="textblob")
    arguments = parser.parse_args()
    with arguments.corpus.open("rb") as file:
        text = file.read(int(arguments.megabytes * 1e6))
    sentences = _sentences(text.decode(errors="ignore"))
    num_words = sum(map(len, sentences))
    print(f"{len(text) / 1e6:.1f} MB, {len(sentences)} sentences, {num_words} words, tagger {arguments.tagger}")
    for name, seconds in _timings(sentences, tagger=arguments.tagger):
        print(f"{name:8} {len(text) / 1e6 / seconds:7.2f} MB/s {num_words / seconds:10.0f} words/s")


def _sentences(text: str) -> list[list[str]]:
    split = segmenter("fast")
    words = rules.word_pattern().findall
    return [words(rules.normalize(sentence)) for line in text.splitlines() for sentence in split(line)]


def _timings(sentences: list[list[str]], *, tagger: str) -> list[tuple[str, float]]:
    tag = phrases._tagger(tagger)
    find = phrases.phrase_finder(tagger)
    batches = [sentences[i : i + BATCH] for i in range(0, len(sentences), BATCH)]
    tagged = [tags for batch in batches for tags in tag(batch)]
    return [
        ("tagger", _best(lambda: [tag(batch) for batch in batches])),
        ("chunker", _best(lambda: [phrases.chunk(tags) for tags in tagged])),
        ("both", _best(lambda: [find(batch) for batch in batches])),
    ]


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(PASSES):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
