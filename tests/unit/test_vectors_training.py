import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from facetvec.errors import ConfigError, InputError, MissingExtraError
from facetvec.progress import Progress, Step, silent
from facetvec.vectors import training
from facetvec.vectors.training import SkipGramSettings, train_vectors

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
needs_gensim = pytest.mark.skipif(importlib.util.find_spec("gensim") is None, reason="needs gensim")
both_engines = pytest.mark.parametrize(
    "engine", [pytest.param("torch", marks=needs_torch), pytest.param("gensim", marks=needs_gensim)]
)

FIRST_WORD = 3
KITCHEN, NEVER_SEEN, GARDEN = range(3, 11), 11, range(12, 18)
NUM_IDS = 18
SMALL = {"dim": 12, "subsample": 1.0, "shared_negatives": 64}

Stream = dict[str, Any]
Engine = Literal["auto", "gensim", "torch"]


def two_topics(*, num_sentences: int = 600, dtype: type[np.uint16 | np.uint32] = np.uint16) -> Stream:
    """Sentences of eight words of one topic each, with <unk> (1) among them and <eos> (2) at their ends."""
    generator = np.random.default_rng(0)
    is_kitchen = generator.random((num_sentences, 1)) < 0.5
    words = np.where(
        is_kitchen,
        generator.integers(KITCHEN.start, KITCHEN.stop, (num_sentences, 8)),
        generator.integers(GARDEN.start, GARDEN.stop, (num_sentences, 8)),
    )
    sentences = np.concatenate([words, np.tile([1, 2], (num_sentences, 1))], axis=1).astype(dtype)
    token_ids = sentences.ravel()
    offsets = np.arange(0, token_ids.size + 1, sentences.shape[1], dtype=np.int64)
    return {"token_ids": token_ids, "offsets": offsets, "counts": np.bincount(token_ids, minlength=NUM_IDS)}


def train(stream: Stream, *, engine: Engine, progress: Progress = silent, **settings: Any) -> NDArray[np.float32]:
    return train_vectors(
        stream["token_ids"],
        offsets=stream["offsets"],
        counts=stream["counts"],
        first_word=FIRST_WORD,
        settings=SkipGramSettings(**SMALL | settings),
        engine=engine,
        device="cpu",
        workers=1,
        progress=progress,
    )


@both_engines
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_words_of_one_topic_are_nearer_to_each_other_than_to_others(
    engine: Engine, dtype: type[np.uint16 | np.uint32]
) -> None:
    vectors = train(two_topics(dtype=dtype), engine=engine, epochs=30)
    cosines = vectors @ vectors.T
    within = [cosines[a, b] for topic in (KITCHEN, GARDEN) for a, b in itertools.combinations(topic, 2)]
    across = [cosines[a, b] for a in KITCHEN for b in GARDEN]
    assert min(within) > max(across)


@both_engines
def test_words_have_unit_rows_and_what_is_no_word_or_never_seen_has_zero_rows(engine: Engine) -> None:
    vectors = train(two_topics(), engine=engine)
    assert vectors.dtype == np.float32
    assert vectors.shape == (NUM_IDS, 12)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths[[*KITCHEN, *GARDEN]], 1, atol=1e-6)
    assert (lengths[[0, 1, 2, NEVER_SEEN]] == 0).all()


@both_engines
def test_the_same_seed_gives_the_same_vectors_and_another_seed_others(engine: Engine) -> None:
    stream = two_topics(num_sentences=100)
    first = train(stream, engine=engine, seed=1)
    np.testing.assert_array_equal(first, train(stream, engine=engine, seed=1))
    assert np.abs(first - train(stream, engine=engine, seed=2)).max() > 0.01


@both_engines
def test_progress_never_falls_and_ends_at_all_tokens_of_all_epochs(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "gensim":
        monkeypatch.setattr("facetvec.vectors.gensim_training.PART", 700)  # of 6,000 tokens
    steps: list[Step] = []
    stream = two_topics()
    train(stream, engine=engine, epochs=2, progress=steps.append)
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == steps[-1].total == 2 * len(stream["token_ids"])
    assert len(steps) > 8  # within an epoch too
    assert {(step.stage, step.unit) for step in steps} == {("word vectors", "words")}


@both_engines
def test_how_often_special_ids_occur_does_not_matter(engine: Engine) -> None:
    stream = two_topics(num_sentences=50)
    more = stream | {"counts": stream["counts"] + np.array([10**6] * FIRST_WORD + [0] * (NUM_IDS - FIRST_WORD))}
    np.testing.assert_array_equal(train(stream, engine=engine), train(more, engine=engine))


@needs_gensim
def test_gensim_gets_each_sentence_as_a_line_of_ids_of_one_width(tmp_path: Path) -> None:
    from facetvec.vectors import gensim_training

    names = gensim_training._names(120)
    token_ids = np.array([3, 119, 7, 20], dtype=np.uint16)
    gensim_training._write_lines(tmp_path / "part.txt", names[token_ids], lengths=np.array([2, 1, 1]))
    assert (tmp_path / "part.txt").read_bytes() == b"003 119\n007\n020\n"


@both_engines
def test_empty_sentences_do_not_matter(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "gensim":
        monkeypatch.setattr("facetvec.vectors.gensim_training.PART", 5)  # fewer than a sentence has
    stream = two_topics(num_sentences=30)
    offsets = np.concatenate([[0, 0], stream["offsets"], stream["offsets"][-1:]])
    np.testing.assert_array_equal(
        train(stream, engine=engine, epochs=1), train(stream | {"offsets": offsets}, engine=engine, epochs=1)
    )


def test_blocks_of_sentences_cover_the_stream_in_order_in_every_epoch() -> None:
    offsets = np.array([10, 14, 14, 20, 50, 51, 60])
    ranges = list(training.sentence_blocks(offsets, size=10, epochs=2))
    assert ranges == 2 * [(0, 3), (3, 4), (4, 6)]


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        ({"torch", "gpu", "gensim"}, "torch"),
        ({"torch", "gensim"}, "gensim"),
        ({"gensim"}, "gensim"),
        ({"torch"}, "torch"),
    ],
)
def test_auto_takes_pytorch_on_a_gpu_then_gensim_then_pytorch_on_the_cpu(
    present: set[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "gpu" in present)
    monkeypatch.setattr(training, "_is_installed", present.__contains__)
    if "torch" not in present:
        monkeypatch.setitem(sys.modules, "torch", None)
    assert training.choose_engine("auto", device="auto") == expected


def test_auto_on_the_cpu_does_not_take_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(training, "_is_installed", lambda _package: True)
    assert training.choose_engine("auto", device="cpu") == "gensim"


@pytest.mark.parametrize("engine", ["auto", "gensim", "torch"])
def test_without_engine_the_error_names_the_extra(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("torch", "gensim", "gensim.models", "gensim.models.word2vec"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"facetvec\[train\]"):
        train(two_topics(num_sentences=2), engine=engine)


def test_a_stream_without_words_is_an_input_error() -> None:
    token_ids = np.array([1, 2, 1, 2], dtype=np.uint16)
    stream = {"token_ids": token_ids, "offsets": np.array([0, 2, 4]), "counts": np.bincount(token_ids, minlength=5)}
    with pytest.raises(InputError, match="no words to train on"):
        train(stream, engine="auto")


def test_an_id_beyond_the_counts_is_an_input_error() -> None:
    stream = two_topics(num_sentences=5)
    with pytest.raises(InputError, match=r"expected ids below 10, found 1\d"):
        train(stream | {"counts": stream["counts"][:10]}, engine="auto")


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0},
        {"window": 0},
        {"window": 21},
        {"epochs": 0},
        {"negatives": 0},
        {"subsample": 0.0},
        {"subsample": 1.5},
        {"seed": -1},
        {"learning_rate": 0.0},
        {"batch_size": 0},
        {"shared_negatives": 0},
        {"dim": "300"},
    ],
)
def test_settings_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        SkipGramSettings(**wrong)
