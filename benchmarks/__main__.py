"""The figures of docs/performance.md.

    python -m benchmarks [--corpus FILE] [--document-marker REGEX] [--quick] [--json FILE]

Prints a Markdown table. Without a corpus it makes up text; the figures of the documentation are those of English
Wikipedia of 2015, whose articles begin at lines that match ^#ARTICLE.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import ground
from benchmarks.measure import machine, write_made_up_text


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what docs/performance.md claims.")
    parser.add_argument("--corpus", type=Path, help="a text file; made up if not given")
    parser.add_argument("--document-marker", metavar="REGEX", help="where its documents begin")
    parser.add_argument("--quick", action="store_true", help="small sizes, about two minutes")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        print(f"Measured on: {machine()}\n\n| what | figure | goal |\n|---|---|---|")
        for row in figures(arguments, Path(folder)):
            print(f"| {row.what} | {row.figure} | {row.goal} |", flush=True)
            rows.append({"what": row.what, "figure": row.figure, "goal": row.goal})
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=2) + "\n", encoding="utf-8")


def figures(arguments: argparse.Namespace, folder: Path) -> Iterator[ground.Row]:
    corpus = arguments.corpus
    if corpus is None:
        corpus = folder / "made-up.txt"
        write_made_up_text(corpus, megabytes=30 if arguments.quick else 400)
    yield from ground.figures(corpus, folder, marker=arguments.document_marker, is_quick=arguments.quick)


if __name__ == "__main__":
    main()
