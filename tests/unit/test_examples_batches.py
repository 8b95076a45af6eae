"""Which examples are drawn, with which targets, in which order: against plain loops, and laws."""

import hashlib
import threading
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from facetvec.config import CorpusConfig
from facetvec.errors import ConfigError, StoreError
from facetvec.examples.batches import Batches, Position, Split
from facetvec.examples.drawing import Batch
from facetvec.examples.prepare import prepare
from facetvec.examples.store import Store
from facetvec.vocabulary.tokenizer import EOS_ID, PAD_ID, is_stop_word


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of 150 documents of up to 12 sentences, of 1 to 60 words each."""
    folder = tmp_path_factory.mktemp("corpus")
    generator = np.random.default_rng(7)
    documents = []
    for _ in range(150):
        lengths = generator.integers(1, 60, size=generator.integers(1, 13))
        words = [generator.integers(300, size=length) for length in lengths]
        documents.append(
            "\n".join(" ".join(f"the w{word}" if word % 7 == 0 else f"w{word}" for word in row) for row in words)
        )
    (folder / "a.txt").write_text("\n\n".join(documents))
    config = CorpusConfig(min_count=1, validation_share=0.05)
    return prepare([folder / "a.txt"], out=folder / "store", config=config)


@pytest.fixture(scope="module")
def phrase_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("phrases")
    sentences = [
        "The old gardener waters red roses behind the stone house.",
        "In autumn the old gardener cuts the last red roses of the year, and a small boat leaves the cold harbour.",
        "A small boat is in it.",
        "Nobody waters the stone house.",
    ]
    (folder / "a.txt").write_text("\n".join(sentences) + "\n\nThe red roses and the old gardener leave.\n")
    config = CorpusConfig(unit="phrase", min_count=1, min_phrase_count=1)
    return prepare([folder / "a.txt"], out=folder / "store", config=config)


def rows(padded: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    """Return the rows of a padded array without padding; what stands behind their end must be padding."""
    assert all((row[length:] == PAD_ID).all() for row, length in zip(padded, lengths, strict=True))
    return [row[:length].tolist() for row, length in zip(padded, lengths, strict=True)]


def sentence(store: Store, number: int) -> list[int]:
    return list(map(int, store.tokens[store.offsets[number] : store.offsets[number + 1]]))


def targets_of_sentence(store: Store, number: int) -> list[int]:
    """The plain loop: the words of the sentence before and of the one after, without stop words."""
    found: list[int] = []
    if store.linked[number]:
        found += sentence(store, number - 1)
    if number + 1 < store.num_sentences and store.linked[number + 1]:
        found += sentence(store, number + 1)
    is_stop = is_stop_word(store.words)
    return [word for word in found if not is_stop[word]]


def targets_of_phrase(store: Store, number: int) -> list[int]:
    """The plain loop: five words to either side inside the sentence, stop words then left out."""
    start = int(store.phrase_starts[number])
    end = start + int(store.phrase_lengths[number])
    low = max(bound for bound in store.offsets.tolist() if bound <= start)
    high = min(bound for bound in store.offsets.tolist() if bound > start)
    around = [place for place in (*range(start - 5, start), *range(end, end + 5)) if low <= place < high]
    is_stop = is_stop_word(store.words)
    return [int(store.tokens[place]) for place in around if not is_stop[store.tokens[place]]]


def every_batch(batches: Batches, epoch: int = 0) -> list[Batch]:
    return [batches.draw(Position(epoch, number)) for number in range(len(batches))]


def test_inputs_and_targets_are_those_of_the_plain_loop(store: Store) -> None:
    for batch in every_batch(Batches(store, batch_size=16, max_targets=200)):
        expected = [[*sentence(store, number), EOS_ID] for number in batch.example_ids_B]
        assert rows(batch.token_ids_BL, batch.lengths_B) == expected
        found = rows(batch.target_ids_BN, batch.num_targets_B)
        assert found == [targets_of_sentence(store, number) for number in batch.example_ids_B]


def test_phrases_and_their_targets_are_those_of_the_plain_loop(phrase_store: Store) -> None:
    store = phrase_store
    batches = Batches(store, batch_size=3, split="all")
    drawn = []
    for batch in every_batch(batches):
        found = rows(batch.target_ids_BN, batch.num_targets_B)
        assert found == [targets_of_phrase(store, number) for number in batch.example_ids_B]
        assert batch.num_targets_B.min() > 0
        drawn += [store.text(np.array(row[:-1])) for row in rows(batch.token_ids_BL, batch.lengths_B)]
    assert {"old gardener", "red roses", "last red roses", "stone house", "autumn", "cold harbour"} <= set(drawn)
    assert "nobody" not in drawn or "nobody" in store.words


def test_own_words_come_beside_the_targets_when_asked(store: Store, phrase_store: Store) -> None:
    is_stop = is_stop_word(store.words)
    for batch in every_batch(Batches(store, batch_size=16, own_words=True)):
        assert batch.own_ids_BM is not None
        assert batch.num_own_B is not None
        expected = [[word for word in sentence(store, number) if not is_stop[word]] for number in batch.example_ids_B]
        assert rows(batch.own_ids_BM, batch.num_own_B) == expected
    batch = Batches(phrase_store, batch_size=9, own_words=True, split="all").draw(Position())
    assert batch.own_ids_BM is not None
    assert batch.num_own_B is not None
    own = rows(batch.own_ids_BM, batch.num_own_B)
    assert own == [row[:-1] for row in rows(batch.token_ids_BL, batch.lengths_B)]
    assert Batches(store, batch_size=16).draw(Position()).own_ids_BM is None


def test_at_most_thirty_targets_stay_drawn_at_random_in_their_order(store: Store) -> None:
    batches = Batches(store, batch_size=16)
    crowded = differing = 0
    for number in range(len(batches)):
        batch = batches.draw(Position(0, number))
        for example, found in zip(batch.example_ids_B, rows(batch.target_ids_BN, batch.num_targets_B), strict=True):
            everything = targets_of_sentence(store, example)
            assert len(found) == min(30, len(everything))
            rest = iter(everything)
            assert all(word in rest for word in found)  # a subsequence
            crowded += len(everything) > 30
            differing += len(everything) > 40 and found != everything[:30]
    assert crowded > 50
    assert differing > 30


def test_which_targets_stay_is_uniform_and_changes_from_epoch_to_epoch(store: Store) -> None:
    batches = Batches(store, batch_size=16, max_targets=5)
    example = next(number for number in batches.example_ids if len(targets_of_sentence(store, number)) >= 40)
    everything = targets_of_sentence(store, example)
    kept = np.zeros(len(everything))
    num_epochs = 400
    for epoch in range(num_epochs):
        batch = batches._drawer.draw(np.array([example]), key=batches._key(epoch, "targets"))
        rest = enumerate(everything)
        for word in rows(batch.target_ids_BN, batch.num_targets_B)[0]:
            kept[next(place for place, other in rest if other == word)] += 1
    expected = num_epochs * 5 / len(everything)
    assert kept.sum() == num_epochs * 5
    # repeated words blur places; a half of the words against the other does not move by five standard deviations
    half = kept[: len(kept) // 2].sum() - expected * (len(kept) // 2)
    assert abs(half) < 5 * np.sqrt(num_epochs * 5 / 4)


def test_examples_are_those_with_targets(store: Store) -> None:
    expected = [number for number in range(store.num_sentences) if targets_of_sentence(store, number)]
    assert Batches(store, batch_size=4, split="all").example_ids.tolist() == expected


def test_training_and_validation_share_no_document(store: Store) -> None:
    def documents(split: Split) -> set[int]:
        examples = Batches(store, batch_size=4, split=split).example_ids
        return set((np.searchsorted(store.documents, examples, side="right") - 1).tolist())

    assert documents("validation") <= set(store.validation.tolist())
    assert not documents("train") & set(store.validation.tolist())
    assert len(documents("validation")) > 3


def test_an_epoch_draws_every_example_at_most_once_and_leaves_less_than_a_batch(store: Store) -> None:
    batches = Batches(store, batch_size=7)
    drawn = np.concatenate([batch.example_ids_B for batch in every_batch(batches)])
    assert len(set(drawn.tolist())) == len(drawn) > len(batches.example_ids) - 7


def test_epochs_and_seeds_have_orders_of_their_own(store: Store) -> None:
    def order(seed: int, epoch: int) -> list[int]:
        batches = Batches(store, batch_size=8, seed=seed)
        return [int(number) for batch in every_batch(batches, epoch) for number in batch.example_ids_B]

    assert order(0, 0) == order(0, 0)
    assert len({tuple(order(seed, epoch)) for seed in (0, 1, -1) for epoch in (0, 1, 2)}) == 9


def test_a_batch_is_the_same_whenever_it_is_drawn(store: Store) -> None:
    position = Position(3, 5)
    fresh = Batches(store, batch_size=8, max_targets=10).draw(position)
    used = Batches(store, batch_size=8, max_targets=10)
    every_batch(used)
    assert_same(used.draw(position), fresh)


def assert_same(one: Batch, other: Batch) -> None:
    for name in ("example_ids_B", "token_ids_BL", "lengths_B", "target_ids_BN", "num_targets_B"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("world_size", [2, 3])
def test_processes_share_a_batch_without_overlap(store: Store, world_size: int) -> None:
    whole = Batches(store, batch_size=8, max_targets=10)
    shares = [Batches(store, batch_size=8, max_targets=10, rank=r, world_size=world_size) for r in range(world_size)]
    for number in range(len(whole)):
        batch = whole.draw(Position(0, number))
        for rank, share in enumerate(shares):
            part = share.draw(Position(0, number))
            assert part.example_ids_B.tolist() == batch.example_ids_B[rank::world_size].tolist()
            assert (
                rows(part.target_ids_BN, part.num_targets_B)
                == rows(batch.target_ids_BN, batch.num_targets_B)[rank::world_size]
            )


def test_batches_need_little_padding(store: Store) -> None:
    tokens = padding = 0
    for batch in every_batch(Batches(store, batch_size=8)):
        tokens += batch.token_ids_BL.size
        padding += int((batch.token_ids_BL == PAD_ID).sum())
    assert padding / tokens < 0.1


def test_the_batches_of_a_stretch_do_not_grow_longer_one_by_one(store: Store) -> None:
    lengths = [int(batch.lengths_B.max()) for batch in every_batch(Batches(store, batch_size=8))]
    assert sum(later < earlier for earlier, later in pairwise(lengths)) > len(lengths) / 4


def test_a_stream_gives_the_batches_in_order_and_can_start_anywhere(store: Store) -> None:
    batches = Batches(store, batch_size=32)
    start = Position(1, len(batches) - 2)
    found = list(islice(batches.stream(start, ahead=2), 4))
    assert [position for position, _ in found] == [start, Position(1, len(batches) - 1), Position(2, 0), Position(2, 1)]
    for position, batch in found:
        assert_same(batch, batches.draw(position))


def test_the_thread_of_a_stream_ends_with_it(store: Store) -> None:
    stream = Batches(store, batch_size=32).stream(ahead=2)
    next(stream)
    assert "facetvec-batches" in {thread.name for thread in threading.enumerate()}
    stream.close()
    assert "facetvec-batches" not in {thread.name for thread in threading.enumerate()}


def test_an_error_while_drawing_reaches_the_reader(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = Batches(store, batch_size=32)
    monkeypatch.setattr(batches, "draw", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(batches.stream())


def test_a_batch_larger_than_the_corpus_is_all_of_it(garden_store: Store) -> None:
    batches = Batches(garden_store, batch_size=1000, split="all")
    assert (len(batches), len(batches.draw(Position()).lengths_B)) == (1, 10)


@pytest.mark.parametrize(("batch_size", "rank", "world_size"), [(0, 0, 1), (4, 1, 1), (1, 0, 2), (4, -1, 1)])
def test_a_share_that_cannot_be_is_an_error(garden_store: Store, batch_size: int, rank: int, world_size: int) -> None:
    with pytest.raises(ConfigError, match="expected 0 <= rank < world_size <= batch_size"):
        Batches(garden_store, batch_size=batch_size, rank=rank, world_size=world_size)


def test_no_targets_at_all_is_an_error(garden_store: Store) -> None:
    with pytest.raises(ConfigError, match="max_targets must be at least 1"):
        Batches(garden_store, batch_size=2, max_targets=0)


def test_a_store_without_examples_for_a_split_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One lonely sentence has no neighbours at all.")
    store = prepare([tmp_path / "a.txt"], out=tmp_path / "out", config=CorpusConfig(min_count=1))
    with pytest.raises(StoreError, match="it holds no example for the split 'train'"):
        Batches(store, batch_size=2)


def test_the_draw_of_this_release_is_that_of_every_machine(garden_store: Store) -> None:
    batches = Batches(garden_store, batch_size=4, seed=3, split="all", max_targets=3)
    digest = hashlib.sha256()
    for batch in every_batch(batches, epoch=2):
        digest.update(batch.token_ids_BL.astype("<i4").tobytes() + batch.target_ids_BN.astype("<i4").tobytes())
    assert digest.hexdigest()[:16] == "a8b0cfd07fd4888e"
