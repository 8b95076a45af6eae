"""Text → store: what is in it, the same bytes however it is made, and nothing that looks whole and is not."""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from facetvec.config import CorpusConfig
from facetvec.errors import ConfigError, InputError, StoreError
from facetvec.examples import pieces
from facetvec.examples.prepare import prepare
from facetvec.examples.store import ARRAYS, Store
from facetvec.files import read_json, write_json
from facetvec.progress import Step
from facetvec.text import blocks
from facetvec.text.sentences import segmenter
from facetvec.vocabulary.tokenizer import is_stop_word

EVERY_WORD = CorpusConfig(min_count=1)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@dataclass
class Reference:
    """A plain loop over the documents of a text: what the arrays of its store must hold."""

    tokens: list[list[int]]
    linked: list[bool]
    documents: list[int]

    @classmethod
    def of(cls, text: str, store: Store) -> "Reference":
        reference = cls([], [], [])
        split = segmenter("fast")
        for document in text.split("\n\n"):
            is_open, goes_before = False, False
            for sentence in (sentence for line in document.split("\n") for sentence in split(line)):
                ids = store.tokenizer.encode(sentence, add_special_tokens=False).ids
                if not ids:
                    continue
                if not store.config.min_tokens <= len(ids) <= store.config.max_tokens:
                    goes_before = False
                    continue
                if not is_open:
                    reference.documents.append(len(reference.tokens))
                    is_open = True
                reference.tokens.append(ids)
                reference.linked.append(goes_before)
                goes_before = True
        reference.documents.append(len(reference.tokens))
        return reference


def assert_is(store: Store, reference: Reference) -> None:
    sentences = [store.tokens[store.offsets[s] : store.offsets[s + 1]].tolist() for s in range(store.num_sentences)]
    assert sentences == reference.tokens
    assert store.linked.tolist() == reference.linked
    assert store.documents.tolist() == reference.documents
    is_stop = is_stop_word(store.words)
    content = [[word for word in sentence if not is_stop[word]] for sentence in sentences]
    bounds = store.content_offsets
    assert [store.content[bounds[s] : bounds[s + 1]].tolist() for s in range(len(sentences))] == content
    flat = [word for sentence in sentences for word in sentence]
    assert store.counts.tolist() == np.bincount(flat, minlength=len(store.words)).tolist()


def test_a_store_holds_what_a_plain_loop_over_the_text_finds(garden: Path, garden_store: Store) -> None:
    assert_is(garden_store, Reference.of(garden.read_text(encoding="utf-8"), garden_store))
    assert garden_store.totals["sentences_read"] == 12
    # "Yes." is too short, but separates its neighbours
    assert garden_store.linked.tolist() == [False, True, True, False, False, True, True, True, False, True, True]
    assert garden_store.documents.tolist() == [0, 4, 8, 11]


def test_probabilities_are_shares_of_all_tokens(garden_store: Store) -> None:
    probabilities = garden_store.probabilities()
    assert probabilities.sum() == pytest.approx(1)
    roses = garden_store.words.index("roses")
    assert probabilities[roses] == (garden_store.tokens == roses).sum() / len(garden_store.tokens)


@pytest.mark.parametrize("size", [75, 200])  # no line is longer
def test_where_blocks_are_cut_changes_no_byte(
    garden: Path, garden_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_SIZE", size)
    again = prepare([garden], out=tmp_path / "again", config=EVERY_WORD)
    assert contents(again.path) == contents(garden_store.path)


def test_any_number_of_workers_gives_the_same_bytes(garden: Path, garden_store: Store, tmp_path: Path) -> None:
    script = tmp_path / "run.py"  # a file of its own: worker processes import the main module
    script.write_text(
        "import sys\nfrom facetvec import CorpusConfig, prepare\nfrom facetvec.text import blocks\n"
        "if __name__ == '__main__':\n"
        "    blocks.BLOCK_SIZE = 100\n"
        "    prepare([sys.argv[1]], out=sys.argv[2], config=CorpusConfig(min_count=1), workers=3)\n"
    )
    subprocess.run([sys.executable, script, garden, tmp_path / "three"], check=True)
    assert contents(tmp_path / "three") == contents(garden_store.path)


class Interrupted(BaseException):
    pass


@dataclass
class StopAfter:
    """A progress function that ends the run at its n-th step, as Ctrl-C would."""

    steps_left: int

    def __call__(self, _step: Step) -> None:
        self.steps_left -= 1
        if self.steps_left == 0:
            raise Interrupted


def test_a_run_that_was_stopped_goes_on_where_it_was(
    garden: Path, garden_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 100)
    out = tmp_path / "out"
    with pytest.raises(Interrupted):
        prepare([garden], out=out, config=EVERY_WORD, progress=StopAfter(4))
    with pytest.raises(StoreError, match="is not complete; run `facetvec prepare` again"):
        Store.open(out)
    made: list[int] = []
    make = pieces.PieceMaker.make

    def noted_make(self: pieces.PieceMaker, block: blocks.Block) -> pieces.Piece:
        made.append(block.first_line)
        return make(self, block)

    monkeypatch.setattr(pieces.PieceMaker, "make", noted_make)
    prepare([garden], out=out, config=EVERY_WORD)
    assert made
    assert min(made) > 4  # the first pieces were not made again
    assert contents(out) == contents(garden_store.path)


def test_unfinished_work_of_other_text_or_settings_is_not_used(
    garden: Path, garden_store: Store, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    other = tmp_path / "other.txt"
    other.write_text("Nothing of this text may be in the store that comes.\n" * 3)
    for source, config in ((other, EVERY_WORD), (garden, CorpusConfig(min_count=1, min_tokens=9))):
        with pytest.raises(Interrupted):
            prepare([source], out=out, config=config, progress=StopAfter(2))
    prepare([garden], out=out, config=EVERY_WORD)
    assert contents(out) == contents(garden_store.path)


def test_a_damaged_piece_of_unfinished_work_is_made_again(garden: Path, garden_store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Interrupted):
        prepare([garden], out=out, config=EVERY_WORD, progress=StopAfter(2))
    piece = next((out / ".work").glob("piece-*.safetensors"))
    piece.write_bytes(piece.read_bytes()[:-100])
    prepare([garden], out=out, config=EVERY_WORD)
    assert contents(out) == contents(garden_store.path)


def test_a_complete_store_is_replaced_only_by_force_and_only_by_a_complete_one(
    garden: Path, garden_store: Store
) -> None:
    before, num_words = contents(garden_store.path), len(garden_store.words)
    with pytest.raises(StoreError, match="a complete store is there already; --force replaces it"):
        prepare([garden], out=garden_store.path, config=CorpusConfig(min_count=2))
    with pytest.raises(Interrupted):
        prepare([garden], out=garden_store.path, config=CorpusConfig(min_count=2), force=True, progress=StopAfter(2))
    assert contents(garden_store.path) == before
    replaced = prepare([garden], out=garden_store.path, config=CorpusConfig(min_count=2), force=True)
    assert len(replaced.words) < num_words


@pytest.mark.parametrize(
    ("text", "config", "message"),
    [
        ("", EVERY_WORD, "expected text, found no word in all of the input"),
        (" \n\n\x07\n", EVERY_WORD, "expected text, found no word in all of the input"),
        ("Too short.\nThis too.\n", EVERY_WORD, "found 2 sentences, none of 5 to 50 words"),
        ("Every word but once stands here.", CorpusConfig(min_count=3), "none 3 times; try a lower --min-count"),
    ],
)
def test_text_to_learn_nothing_from_is_an_error_and_leaves_no_store(
    tmp_path: Path, text: str, config: CorpusConfig, message: str
) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        prepare([tmp_path / "a.txt"], out=tmp_path / "out", config=config)
    with pytest.raises(StoreError):
        Store.open(tmp_path / "out")


def test_bad_input_stops_the_run_or_is_counted(garden: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"A line of good text with several words in it.\nbad \xff line\n")
    with pytest.raises(InputError, match=r"bad\.txt:2: expected UTF-8"):
        prepare([garden, bad], out=tmp_path / "out", config=EVERY_WORD)
    zipped = tmp_path / "c.txt"
    zipped.write_bytes(b"PK\x03\x04...")
    config = CorpusConfig(min_count=1, on_error="skip")
    store = prepare([garden, bad, zipped], out=tmp_path / "out", config=config)
    assert store.totals["skipped"] == 2
    assert store.totals["sentences"] == 12


def test_a_vocabulary_can_be_kept(garden: Path, garden_store: Store, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("The gardener and the zeppelin saw roses in the harbour.")
    tokenizer = garden_store.path / "tokenizer.json"
    store = prepare([other], out=tmp_path / "other", config=EVERY_WORD, tokenizer=tokenizer)
    assert store.words == garden_store.words
    assert store.text(store.tokens) == "the gardener and the <unk> <unk> roses in the harbour ."


@pytest.mark.parametrize("settings", [{"lower": False}, {"tokens": "blanks", "segmenter": "line"}])
def test_a_tokenizer_that_cuts_otherwise_is_refused(
    garden: Path, garden_store: Store, tmp_path: Path, settings: dict[str, object]
) -> None:
    config = CorpusConfig.from_table({"min_count": 1} | settings)
    with pytest.raises(InputError, match=r"tokenizer\.json: it cuts words otherwise than this run does"):
        prepare([garden], out=tmp_path / "out", config=config, tokenizer=garden_store.path / "tokenizer.json")


def test_a_large_vocabulary_takes_wider_ids(tmp_path: Path) -> None:
    lines = [" ".join(f"word{number + shift}" for shift in range(10)) + "\n" for number in range(0, 70_000, 10)]
    (tmp_path / "a.txt").write_text("".join(lines))
    config = CorpusConfig(min_count=1, max_vocabulary=None)
    store = prepare([tmp_path / "a.txt"], out=tmp_path / "out", config=config)
    assert (store.tokens.dtype, len(store.words)) == (np.dtype(np.uint32), 70_003)
    assert sorted(store.tokens.tolist()) == list(range(3, 70_003))


def test_words_are_kept_as_the_user_cut_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("New_York don't ( x-y ) re-started .\nA b c d e-f/g .\n")
    config = CorpusConfig(min_count=1, tokens="blanks", segmenter="line")
    store = prepare([tmp_path / "a.txt"], out=tmp_path / "out", config=config)
    assert store.text(store.tokens) == "new_york don't ( x-y ) re-started . a b c d e-f/g ."


def test_case_is_kept_when_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat saw the other cat.\n")
    store = prepare([tmp_path / "a.txt"], out=tmp_path / "out", config=CorpusConfig(min_count=1, lower=False))
    assert store.text(store.tokens) == "The cat saw the other cat ."


def test_the_paper_profile_cuts_by_spacy(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    (tmp_path / "a.txt").write_text("He doesn't know the U.K. at all. She does know it very well.\n")
    config = CorpusConfig(min_count=1, tokens="spacy", segmenter="spacy")
    store = prepare([tmp_path / "a.txt"], out=tmp_path / "out", config=config)
    assert store.text(store.tokens).startswith("he does n't know the u.k. at all .")
    assert store.num_sentences == 2


def test_an_unknown_segmenter_or_tokeniser_is_named(garden: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown segmenter 'slow'"):
        prepare([garden], out=tmp_path / "out", config=CorpusConfig(segmenter="slow"))
    with pytest.raises(ConfigError, match="tokens must be one of"):
        CorpusConfig.from_table({"tokens": "letters"})


class TestHeldOut:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        lines = [f"Document number {number} has a sentence.\nAnd it has another one.\n" for number in range(200)]
        (tmp_path / "a.txt").write_text("\n".join(lines))
        config = CorpusConfig(min_count=1, validation_share=0.1)
        return prepare([tmp_path / "a.txt"], out=tmp_path / "out", config=config)

    def test_whole_documents_are_held_out_up_to_the_share(self, store: Store) -> None:
        assert len(store.validation) == 20
        assert len(set(store.validation.tolist())) == 20

    def test_which_ones_is_fixed(self, store: Store) -> None:
        assert store.validation[:6].tolist() == [10, 18, 21, 41, 48, 68]

    def test_a_small_corpus_holds_out_one_document(self, garden_store: Store) -> None:
        assert len(garden_store.validation) == 1


class TestDamage:
    """A store that is not as it was written is refused, and the message names the file."""

    @pytest.mark.parametrize("name", [*(f"{name}.npy" for name in ARRAYS), "tokenizer.json"])
    def test_a_missing_file(self, garden_store: Store, name: str) -> None:
        (garden_store.path / name).unlink()
        with pytest.raises(StoreError, match=rf"{name}: expected \d+ bytes, it is missing"):
            Store.open(garden_store.path)

    def test_a_truncated_file(self, garden_store: Store) -> None:
        path = garden_store.path / "tokens.npy"
        path.write_bytes(path.read_bytes()[:-2])
        with pytest.raises(StoreError, match=r"tokens\.npy: expected \d+ bytes, found \d+"):
            Store.open(garden_store.path)

    def test_a_flipped_byte(self, garden_store: Store) -> None:
        garden_store.verify()
        path = garden_store.path / "tokens.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"tokens\.npy: its bytes are not those that were written"):
            Store.open(garden_store.path).verify()

    def test_an_array_that_is_none(self, garden_store: Store) -> None:
        path = garden_store.path / "linked.npy"
        path.write_bytes(b"x" * path.stat().st_size)
        with pytest.raises(StoreError, match=r"linked\.npy: not an array"):
            Store.open(garden_store.path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [({"version": 2}, "reads version 1, found 2"), ({"format": "x"}, "expected the format 'facetvec-store'")],
    )
    def test_another_version_or_format(self, garden_store: Store, change: dict[str, object], message: str) -> None:
        path = garden_store.path / "manifest.json"
        write_json(path, read_json(path) | change)
        with pytest.raises(StoreError, match=message):
            Store.open(garden_store.path)

    def test_no_folder_and_no_store(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="no such folder"):
            Store.open(tmp_path / "gone")
        with pytest.raises(StoreError, match="holds no store"):
            Store.open(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["w ", "word. ", "x", "é", "'", ".", "a-", "(", "1,"])
def test_a_line_of_a_hundred_megabytes_is_read_in_bounded_time(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "line.txt"
    path.write_text("A first sentence of several words stands here.\n" + unit * (100_000_000 // len(unit.encode())))
    start = time.perf_counter()
    prepare([path], out=tmp_path / "out", config=CorpusConfig(min_count=1, max_vocabulary=1000), workers=1)
    assert time.perf_counter() - start < 300  # a hundred times what it takes where time grows with length alone
