import random

import numpy as np
import pytest

from facetvec.progress import silent
from facetvec.vectors.training import SkipGramSettings

pytest.importorskip("torch")

import torch

from facetvec.vectors import skipgram


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator("cpu").manual_seed(seed)


def cut(sentences: list[list[int]], *, keep: float = 1.0, window: int = 5) -> skipgram.Segments:
    ids = torch.tensor([word for sentence in sentences for word in sentence], dtype=torch.int32)
    return skipgram.cut_segments(
        ids,
        lengths=torch.tensor([len(sentence) for sentence in sentences]),
        keep_V=torch.full((int(ids.max()) + 1,), keep),
        window=window,
        generator=seeded(),
    )


def random_sentences(*, seed: int, num: int) -> list[list[int]]:
    chance = random.Random(seed)
    lengths = [chance.choice([0, 1, 2, 3, 9, 40, 130]) for _ in range(num)]
    ids = iter(range(sum(lengths)))  # every token has its own id: an id is a position
    return [[next(ids) for _ in range(length)] for length in lengths]


def pairs_by_plain_loop(sentences: list[list[int]], radius_of: dict[int, int]) -> set[tuple[int, int]]:
    return {
        (centre, sentence[j])
        for sentence in sentences
        for i, centre in enumerate(sentence)
        for j in range(max(0, i - radius_of[centre]), min(len(sentence), i + radius_of[centre] + 1))
        if i != j
    }


def pairs_of_segments(segments: skipgram.Segments, *, window: int) -> set[tuple[int, int]]:
    reach_GCS = skipgram.pairs_in_reach(segments)
    centre_ids = segments.ids_GS[:, window : window + segments.radii_GC.shape[1]]
    pairs = [(int(centre_ids[g, c]), int(segments.ids_GS[g, s])) for g, c, s in reach_GCS.nonzero().tolist()]
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


@pytest.mark.parametrize("window", [1, 2, 5, 20])
def test_the_pairs_are_those_of_a_plain_loop_over_windows_that_stop_at_sentence_ends(window: int) -> None:
    sentences = random_sentences(seed=window, num=12)
    segments = cut(sentences, window=window)
    radii = segments.radii_GC.flatten().tolist()
    assert set(radii) - {0} == set(range(1, window + 1))
    assert pairs_of_segments(segments, window=window) == pairs_by_plain_loop(sentences, dict(enumerate(radii)))


def test_thinned_out_sentences_close_up_but_stay_apart() -> None:
    sentences = random_sentences(seed=3, num=30)
    segments = cut(sentences, keep=0.5, window=5)
    kept = segments.ids_GS[:, 5:-5].flatten()[segments.radii_GC.flatten() > 0].tolist()
    left = [[word for word in sentence if word in set(kept)] for sentence in sentences]
    radii = dict(zip(kept, segments.radii_GC.flatten().tolist(), strict=False))
    assert 0.4 < len(kept) / sum(map(len, sentences)) < 0.6
    assert pairs_of_segments(segments, window=5) == pairs_by_plain_loop(left, radii)


def test_a_block_of_which_no_word_is_kept_is_one_batch_without_pairs() -> None:
    batches = skipgram.deal_batches(cut([[1, 2], [3]], keep=0.0), batch_size=100, generator=seeded())
    assert len(batches) == 1
    assert not skipgram.pairs_in_reach(batches[0]).any()


def test_batches_hold_every_segment_once_and_differ_by_at_most_one() -> None:
    segments = cut(random_sentences(seed=1, num=60))
    num_centres = segments.radii_GC.shape[1]
    batches = skipgram.deal_batches(segments, batch_size=4 * num_centres + 1, generator=seeded())
    sizes = [len(batch.ids_GS) for batch in batches]
    assert max(sizes) == 4
    assert max(sizes) - min(sizes) <= 1
    together = torch.cat([batch.ids_GS for batch in batches])
    assert sorted(together.tolist()) == sorted(segments.ids_GS.tolist())
    assert together.tolist() != segments.ids_GS.tolist()


def test_gradients_are_those_of_autograd_on_the_loss_of_the_pairs() -> None:
    generator = seeded(5)
    num_segments, num_centres, num_words, dim, num_negatives = 3, 4, 8, 6, 7
    v = torch.randn(num_segments, num_centres, dim, generator=generator, dtype=torch.float64, requires_grad=True)
    u = torch.randn(num_segments, num_words, dim, generator=generator, dtype=torch.float64, requires_grad=True)
    n = torch.randn(num_negatives, dim, generator=generator, dtype=torch.float64, requires_grad=True)
    reach = torch.rand(num_segments, num_centres, num_words, generator=generator) < 0.4
    loss = torch.zeros((), dtype=torch.float64)
    for g, c, s in reach.nonzero().tolist():
        loss = loss - torch.nn.functional.logsigmoid(v[g, c] @ u[g, s])
        for negative in n:
            loss = loss - 5 / num_negatives * torch.nn.functional.logsigmoid(-v[g, c] @ negative)
    expected = torch.autograd.grad(loss, (v, u, n))
    found = skipgram.sgns_gradients(v.detach(), u.detach(), n.detach(), reach_GCS=reach, negatives=5)
    torch.testing.assert_close(found.centres_GCD, expected[0])
    torch.testing.assert_close(found.words_GSD, expected[1])
    torch.testing.assert_close(found.negatives_KD, expected[2])


def test_gradients_in_bfloat16_are_near_those_in_float32() -> None:
    generator = seeded(6)
    tensors = [torch.randn(shape, generator=generator) for shape in ((4, 54, 24), (4, 64, 24), (32, 24))]
    reach = torch.rand(4, 54, 64, generator=generator) < 0.1
    exact = skipgram.sgns_gradients(*tensors, reach_GCS=reach, negatives=5)
    rounded = skipgram.sgns_gradients(*(tensor.bfloat16() for tensor in tensors), reach_GCS=reach, negatives=5)
    for name in ("centres_GCD", "words_GSD", "negatives_KD"):
        error = getattr(rounded, name).float() - getattr(exact, name)
        assert error.norm() < 0.02 * getattr(exact, name).norm()


def test_frequent_words_stay_with_the_chance_of_word2vec() -> None:
    counts = np.array([0, 0, 0, 100_000, 90, 10])
    keep = skipgram.keep_probabilities(counts, subsample=1e-3)
    threshold = 1e-3 * counts.sum()
    assert keep[3] == pytest.approx((np.sqrt(100_000 / threshold) + 1) * threshold / 100_000)
    assert keep.tolist()[:3] == [0, 0, 0]
    assert keep.tolist()[4:] == [1, 1]


def test_negatives_are_drawn_from_counts_to_the_power_of_three_quarters() -> None:
    counts = np.array([0, 0, 0, 16, 0, 81, 256, 0])
    tables = skipgram.Tables(counts, settings=SkipGramSettings(dim=2), num_negatives=50, generator=seeded())
    drawn = torch.cat([tables.draw_negatives() for _ in range(400)])
    share = torch.bincount(drawn, minlength=8) / len(drawn)
    expected = torch.tensor([0, 0, 0, 8, 0, 27, 64, 0]) / 99
    torch.testing.assert_close(share, expected, atol=2e-3, rtol=0)


def test_a_step_adds_up_the_gradients_of_every_pair_and_its_negatives() -> None:
    """The loss written out over whole tables, pair by pair, and differentiated by autograd."""
    chance = random.Random(4)
    sentences = [[chance.randrange(3, 40) for _ in range(length)] for length in (1, 9, 70, 30)]
    segments = cut(sentences, window=3)
    counts = np.bincount(np.concatenate(sentences), minlength=40)
    tables = skipgram.Tables(counts, settings=SkipGramSettings(dim=7), num_negatives=11, generator=seeded(1))
    tables.output_VD.copy_(torch.randn(40, 8, generator=seeded(2)))
    before = [table.double().requires_grad_() for table in (tables.input_VD, tables.output_VD)]
    state = tables.generator.get_state()
    negative_ids = tables.draw_negatives()
    tables.generator.set_state(state)

    tables.step(segments, learning_rate=0.01)

    radii = segments.radii_GC.flatten().tolist()
    loss = torch.zeros((), dtype=torch.float64)
    for sentence, begin in zip(sentences, (0, 1, 10, 80), strict=True):
        for i, centre in enumerate(sentence):
            v = before[0][centre]
            for j in range(max(0, i - radii[begin + i]), min(len(sentence), i + radii[begin + i] + 1)):
                if i != j:
                    loss = loss - torch.nn.functional.logsigmoid(v @ before[1][sentence[j]])
                    loss = loss - 5 / 11 * torch.nn.functional.logsigmoid(-(before[1][negative_ids] @ v)).sum()
    for table, expected in zip((tables.input_VD, tables.output_VD), torch.autograd.grad(loss, before), strict=True):
        torch.testing.assert_close(table.grad, expected.float(), atol=1e-4, rtol=1e-4)
    moved = (tables.input_VD - before[0].detach()).abs().max()
    assert float(moved) == pytest.approx(0.01, rel=1e-3)  # Adam's first step is the rate


def test_a_short_text_gets_small_batches_and_large_steps_and_a_long_one_those_of_the_trial() -> None:
    short = skipgram.make_plan(SkipGramSettings(), num_centres=100_000, is_gpu=False)
    assert (short.batch_size, short.num_steps) == (100, 5_000)
    assert (short.shared_negatives, short.learning_rate) == (256, 0.009)
    long = skipgram.make_plan(SkipGramSettings(), num_centres=50_000_000, is_gpu=True)
    assert (long.batch_size, long.shared_negatives, long.learning_rate) == (16384, 4096, 0.003)
    tiny = skipgram.make_plan(SkipGramSettings(window=5), num_centres=540, is_gpu=False)
    assert (tiny.batch_size, tiny.num_steps, tiny.learning_rate) == (54, 50, 0.01)
    chosen = SkipGramSettings(batch_size=7, shared_negatives=8, learning_rate=0.5)
    plan = skipgram.make_plan(chosen, num_centres=70_000, is_gpu=True)
    assert (plan.batch_size, plan.num_steps, plan.shared_negatives, plan.learning_rate) == (7, 50_000, 8, 0.5)


def test_a_text_that_passes_in_many_blocks_trains_on_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipgram, "BLOCK", 50)
    token_ids = np.tile(np.array([3, 4, 5, 6, 7], dtype=np.uint16), 100)
    counts = np.bincount(token_ids, minlength=8)
    settings = SkipGramSettings(dim=5, epochs=2, subsample=1.0)
    start = skipgram.Tables(counts, settings=settings, num_negatives=1, generator=seeded()).vectors()
    vectors = skipgram.train_skipgram(
        token_ids,
        offsets=np.arange(0, 501, 5),
        counts=counts,
        settings=settings,
        device=torch.device("cpu"),
        workers=1,
        progress=silent,
    )
    assert vectors.shape == (8, 5)
    assert (np.abs(vectors - start).max(axis=1)[3:] > 0.01).all()


@pytest.mark.gpu
def test_on_a_gpu_words_of_one_topic_come_together() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    generator = np.random.default_rng(0)
    sentences = np.concatenate([generator.integers(low, low + 10, (2000, 10)) for low in (3, 13)])
    token_ids = generator.permutation(sentences).astype(np.uint16).ravel()
    vectors = skipgram.train_skipgram(
        token_ids,
        offsets=np.arange(0, len(token_ids) + 1, 10),
        counts=np.bincount(token_ids),
        settings=SkipGramSettings(dim=20, subsample=1.0),
        device=torch.device("cuda"),
        workers=1,
        progress=silent,
    )[3:]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (unit[:10] @ unit[:10].T).mean() > (unit[:10] @ unit[10:].T).mean() + 0.3
