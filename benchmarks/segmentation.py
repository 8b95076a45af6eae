"""How well and how fast texts are split into sentences: the segmenters of facetvec and others.

    python -m benchmarks.segmentation --corpus FILE [--megabytes 4]
    python -m benchmarks.segmentation --corpus FILE --draw CONTEXTS

The corpus is a text file: `#ARTICLE<TAB>id<TAB>title` opens an article, then one paragraph or heading a line. The first
form prints a Markdown table. Precision, recall and F1 concern ends of sentences inside paragraphs, at the positions of
`segmentation_judged.tsv`, judged by reading; each weighs as much as its stratum has positions for one that was judged.
`near` is the share that is right where fast, nupunkt and blingfire disagree. `exact` is the share of the hard passages
below that come out exactly as marked.

The second form draws the positions to judge from 3,000 random paragraphs. Strata: `agree`, where every segmenter ends a
sentence; `near`, where fast, nupunkt and blingfire disagree; `far`, where only the others disagree; `none`, where
nobody ends a sentence though a stop and a blank stand there. It writes them shuffled, each with its context and no word
about who said what; the column `is_end` waits for a judgement.
"""

import argparse
import csv
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

from facetvec.text.sentences import Segmenter, segmenter

if TYPE_CHECKING:
    from collections.abc import Callable

JUDGED = Path(__file__).with_name("segmentation_judged.tsv")
NUM_PARAGRAPHS = 3000
MIN_CHARACTERS = 100
NUM_JUDGED = {"agree": 100, "near": 220, "far": 120, "none": 40}
MAX_SECONDS = 5.0  # for timing one segmenter
RESAMPLES = 1000

# Written for this benchmark; `¦` marks where one sentence ends and the next begins.
HARD = """
The bus was late. ¦ We walked home in the rain.
Is anyone there? ¦ Nobody answered! ¦ Then the door closed.
Dr. Adeyemi met Mrs. Lund at St. Olave's Hospital. ¦ They spoke for an hour.
Prof. K. L. Varga and Rev. T. Oduya disagreed. ¦ Neither gave way.
The letter was signed by J. R. R. Halloway. ¦ Nobody knew the name.
He moved to St. Petersburg in the spring. ¦ The winters suited him.
Her office is on Main St. ¦ The bakery is next to it.
They import fruit, e.g. Brazilian mangoes, and spices. ¦ Trade is brisk.
The smaller isles, i.e. Foula and Fair Isle, have airstrips.
The old name (cf. Breton kêr) means a farmstead. ¦ It is still used.
The match was Norway vs. Denmark. ¦ Norway won.
She joined the U.S. Navy in May. ¦ Her brother stayed at home.
He was born in the U.S. ¦ His parents came from Chile.
In the U.S. Senate the bill failed. ¦ It came back a year later.
The firm became Harrow Tools Inc. in June. ¦ It sold saws.
She bought shares in Harrow Tools Inc. ¦ The price fell at once.
Harrow Tools Inc. Chairman Lee Moss resigned.
The train leaves at 6 a.m. and arrives at noon.
The shop opens at 9 a.m. ¦ We were there at eight.
He holds a Ph.D. in botany. ¦ His wife holds an M.D. from Lund.
See Fig. 3 for the layout. ¦ The scale is in metres.
The quotation is on pp. 12 and 13. ¦ It is often misread.
House No. 5 burned down. ¦ House No. 7 was saved.
Did he agree? ¦ He said no. ¦ Nobody was surprised.
It cost 3.50 in 1998. ¦ Now it costs 12.75.
The rate rose to 4.2%. ¦ Wages did not follow.
The lake froze in 1947. ¦ 200 people crossed it on foot.
Version 2.0.1 fixed the fault. ¦ Version 2.1 brought it back.
1. Wash the rice. ¦ 2. Boil the water.
He needs vitamin C. ¦ The doctor said so.
The duke fought in World War I. ¦ After the war he farmed.
"I am tired," she said. ¦ "Let us stop here."
"Who goes there?" he cried. ¦ No one spoke.
"Stop!" shouted the guard. ¦ The thief ran on.
He asked, "Is it far?" ¦ She pointed at the hill.
“It is over.” ¦ “Not for me.”
(The roof leaked.) ¦ The floor was dry.
They won the cup (their first.) ¦ The city cheered.
The town (pop. 4,100) lies on a bay. ¦ It has one school.
The painter (b. 1871) left few works. ¦ Most are lost.
Her novel "Where Now?" (1974) sold well. ¦ The next did not.
Yahoo! Inc. bought the start-up. ¦ The founders left.
They sang "Oh! My Home" twice. ¦ The crowd joined in.
Well... I had not thought of that.
He waited... and waited. ¦ Nothing came.
She left without a word ... ¦ The letter explained everything.
What?! ¦ You sold the house?!
Read more at https://example.org/a.b?c=d. ¦ The page is short.
Write to a.lund@example.org. ¦ She answers on Mondays.
The river is long.[3] ¦ It rises in the hills.[4][5] ¦ It ends in a marsh.
The tower fell.:12–14 ¦ It was never rebuilt.
The meeting is on Sept. 11 at noon. ¦ The hall is booked.
The reign ended in 212 B.C. ¦ The heir was a child.
Water boils at 100 °C. ¦ Mercury boils at 357 °C.
The summit stands at 914 m. ¦ Most walkers go no higher.
They grow leeks, beans, etc. ¦ The soil is good.
They grow leeks, beans, etc. and sell them at the gate.
She owns an old phone. ¦ iPhones are too dear for her.
Smith et al. (2004) found none. ¦ Later work did.
Gov. Reyes and Sen. Park met Gen. Osei at Ft. Dunmore. ¦ They shook hands.
Martin Oake Jr. was born there. ¦ His father was the miller.
他走了。¦ 她没有说话。¦ 为什么?
今日は雨です。¦ 明日は晴れるでしょう！¦ 本当ですか？
「もう行く。」と彼は言った。¦ 外は暗かった。
वह घर गया। ¦ बारिश हो रही थी।
هل وصل القطار؟ ¦ نعم، وصل قبل ساعة. ¦ ثم غادر.
הרכבת איחרה. ¦ הלכנו הביתה ברגל.
Поезд опоздал. ¦ Мы пошли домой пешком.
Il est parti. ¦ « Pourquoi ? » demanda-t-elle. ¦ Élodie se tut.
¿Dónde vive? ¦ ¡No lo sé! ¦ Él tampoco.
Ο κ. Νίκος έφυγε. ¦ Η πόρτα έκλεισε.
Great news 🎉! ¦ We won. 🏆 ¦ See you there.
The end.Next chapter follows. ¦ It is short.
History of the northern railway
""".strip().splitlines()

Place = tuple[str, int]  # an article's id, the number of the line after its title


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether a sentence ends at a place; `position` counts the characters before it."""

    place: Place
    position: int
    stratum: str
    weight: float
    is_end: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("--draw", type=Path)
    arguments = parser.parse_args()
    splits, missing = segmenters()
    paragraphs = dict(read_paragraphs(arguments.corpus))
    if missing:
        print(f"Not installed: {', '.join(missing)}\n")
    if arguments.draw:
        draw(arguments.draw, splits=splits, paragraphs=paragraphs)
    else:
        print_table(splits, paragraphs=paragraphs, num_bytes=int(arguments.megabytes * 1e6))


def segmenters() -> tuple[dict[str, Segmenter], list[str]]:
    """Return the segmenters that are installed, and the names of those that are not."""
    builders: dict[str, Callable[[], Segmenter]] = {
        "fast": lambda: segmenter("fast"),
        "nupunkt": lambda: import_module("nupunkt").sent_tokenize,
        "blingfire": _blingfire,
        "pysbd": lambda: import_module("pysbd").Segmenter(language="en", clean=False).segment,
        "spacy": lambda: segmenter("spacy"),
    }
    splits, missing = {}, []
    for name, build in builders.items():
        try:
            splits[name] = build()
        except ImportError:
            missing.append(name)
    return splits, missing


def _blingfire() -> Segmenter:
    text_to_sentences = import_module("blingfire").text_to_sentences
    return lambda paragraph: text_to_sentences(paragraph).split("\n")


def read_paragraphs(path: Path) -> Iterator[tuple[Place, str]]:
    article, number = "", 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#ARTICLE\t"):
                article, number = line.split("\t")[1], 0
            else:
                yield (article, number), line.rstrip("\n")
                number += 1


def ends(split: Segmenter, paragraph: str) -> set[int]:
    """Return where a segmenter ends sentences: positions after their last character, the paragraph's own end apart."""
    position, found = 0, set()
    for sentence in filter(None, map(str.strip, split(paragraph))):
        at = paragraph.find(sentence, position)
        # Some segmenters change characters; then count those that are not blank.
        position = at + len(sentence) if at >= 0 else _after(paragraph, position, len("".join(sentence.split())))
        found.add(position)
    return found - {len(paragraph.rstrip())}


def _after(text: str, position: int, count: int) -> int:
    for found in re.compile(r"\S").finditer(text, position):
        count -= 1
        if not count:
            return found.end()
    return len(text.rstrip())


def print_table(splits: dict[str, Segmenter], *, paragraphs: dict[Place, str], num_bytes: int) -> None:
    judgements = read_judgements()
    places = {each.place for each in judgements}
    if not places <= paragraphs.keys():
        raise SystemExit(f"{JUDGED.name} names paragraphs that this corpus lacks: give the corpus that was judged")
    print("| segmenter | MB/s | precision | recall | F1 (95 %) | near | exact |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, split in splits.items():
        speed = megabytes_per_second(split, list(paragraphs.values()), num_bytes=num_bytes)
        found = {place: ends(split, paragraphs[place]) for place in places}
        precision, recall, f1 = scores(judgements, found)
        low, high = interval(judgements, found)
        near = [each.is_end == (each.position in found[each.place]) for each in judgements if each.stratum == "near"]
        print(
            f"| {name} {_version(name)} | {speed:.1f} | {precision:.1%} | {recall:.1%} |"
            f" {f1:.1%} ({low:.1%} to {high:.1%}) | {sum(near) / len(near):.0%} | {exact_share(split):.0%} |"
        )
    print(f"\n{len(judgements)} judged positions, {len(HARD)} hard passages.")


def _version(name: str) -> str:
    return metadata.version("facetvec" if name == "fast" else name)


def read_judgements() -> list[Judgement]:
    with JUDGED.open(encoding="utf-8", newline="") as file:
        return [
            Judgement(
                place=(row["article"], int(row["paragraph"])),
                position=int(row["position"]),
                stratum=row["stratum"],
                weight=float(row["weight"]),
                is_end=row["is_end"] == "1",
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]


def scores(judgements: list[Judgement], found: dict[Place, set[int]]) -> tuple[float, float, float]:
    """Return weighted precision, recall and F1."""
    said = sum(each.weight for each in judgements if each.position in found[each.place])
    true = sum(each.weight for each in judgements if each.is_end)
    both = sum(each.weight for each in judgements if each.is_end and each.position in found[each.place])
    return both / said, both / true, 2 * both / (said + true)


def interval(judgements: list[Judgement], found: dict[Place, set[int]]) -> tuple[float, float]:
    """Return the middle 95 % of F1 when the judged positions of each stratum are drawn anew from themselves."""
    generator = random.Random(0)
    strata = defaultdict(list)
    for each in judgements:
        strata[each.stratum].append(each)
    resampled = []
    for _ in range(RESAMPLES):
        again = [each for stratum in strata.values() for each in generator.choices(stratum, k=len(stratum))]
        resampled.append(scores(again, found)[2])
    resampled.sort()
    return resampled[int(0.025 * RESAMPLES)], resampled[int(0.975 * RESAMPLES)]


def exact_share(split: Segmenter) -> float:
    marked = [[sentence.strip() for sentence in passage.split("¦")] for passage in HARD]
    return sum(
        list(map(str.strip, split(passage.replace("¦ ", "")))) == sentences
        for passage, sentences in zip(HARD, marked, strict=True)
    ) / len(HARD)


def megabytes_per_second(split: Segmenter, paragraphs: list[str], *, num_bytes: int) -> float:
    sizes = [len(paragraph.encode()) + 1 for paragraph in paragraphs]
    done, start = 0, time.process_time()
    for paragraph, size in zip(paragraphs, sizes, strict=True):
        split(paragraph)
        done += size
        if done >= num_bytes or time.process_time() - start > MAX_SECONDS:
            break
    return done / 1e6 / (time.process_time() - start)


def draw(path: Path, *, splits: dict[str, Segmenter], paragraphs: dict[Place, str]) -> None:
    generator = random.Random(0)
    places = [place for place, paragraph in paragraphs.items() if len(paragraph) >= MIN_CHARACTERS]
    strata = defaultdict(list)
    for place in generator.sample(places, NUM_PARAGRAPHS):
        for position, stratum in _positions(splits, paragraphs[place]):
            strata[stratum].append((place, position))
    rows = []
    for stratum, found in sorted(strata.items()):
        chosen = generator.sample(found, min(len(found), NUM_JUDGED[stratum]))
        rows += [(*place, position, stratum, round(len(found) / len(chosen), 3), "") for place, position in chosen]
    generator.shuffle(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, escapechar="\\")
        writer.writerow(["article", "paragraph", "position", "stratum", "weight", "is_end", "context"])
        for row in rows:
            text, position = paragraphs[row[0], row[1]], row[2]
            writer.writerow([*row, f"{text[max(0, position - 100) : position]}¦{text[position : position + 60]}"])


def _positions(splits: dict[str, Segmenter], paragraph: str) -> Iterator[tuple[int, str]]:
    said = {name: ends(split, paragraph) for name, split in splits.items()}
    stops = {found.end() for found in re.finditer(r"[.!?…][\"'”’)\]]*(?=\s)", paragraph.rstrip())}
    for position in sorted(stops.union(*said.values())):
        votes = {name: position in found for name, found in said.items()}
        if len({votes[name] for name in ("fast", "nupunkt", "blingfire")}) == 2:
            yield position, "near"
        elif len(set(votes.values())) == 2:
            yield position, "far"
        else:
            yield position, "agree" if votes["fast"] else "none"


if __name__ == "__main__":
    main()
