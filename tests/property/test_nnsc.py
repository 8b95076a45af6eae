"""Laws of non-negative sparse coding, on small random problems with zero, equal and opposite facets among them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from facetvec.nnsc import arrays

pytest.importorskip("torch")

import torch

from facetvec.nnsc.coefficients import coefficients

Floats = NDArray[np.float64]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Floats, float]:
    """Facets, unit or zero words and a penalty."""
    texts, facets, words, dim = (draw(st.integers(1, high)) for high in (2, 6, 3, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    norms = draw(st.lists(st.sampled_from([0.0, 1e-3, 0.5, 1.0, 3.0, 100.0]), min_size=facets, max_size=facets))
    facets_BKD = unit(random.normal(size=(texts, facets, dim))) * np.array(norms)[:, None]
    for source, target, sign in draw(
        st.lists(
            st.tuples(st.integers(0, facets - 1), st.integers(0, facets - 1), st.sampled_from([1, -1])), max_size=2
        )
    ):
        facets_BKD[:, target] = sign * facets_BKD[:, source]
    words_BND = unit(random.normal(size=(texts, words, dim))) * random.integers(0, 2, size=(texts, words, 1))
    return facets_BKD, words_BND, draw(st.sampled_from([0.0, 0.01, 0.4, 1.0]))


def unit(vectors: Floats) -> Floats:
    norms: Floats = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / norms


def objective(facets_BKD: Floats, words_BND: Floats, solution_BNK: NDArray[np.floating[Any]], penalty: float) -> Floats:
    values_BN: Floats = ((solution_BNK @ facets_BKD - words_BND) ** 2).sum(-1) + penalty * solution_BNK.sum(-1)
    return values_BN


@given(problem=problems())
def test_each_sweep_lowers_the_objective_and_stays_within_bounds(problem: tuple[Floats, Floats, float]) -> None:
    facets_BKD, words_BND, penalty = problem
    before_BN = (words_BND**2).sum(-1)
    for sweeps in range(1, 6):
        solution_BNK = arrays.coefficients(facets_BKD, words_BND, penalty=penalty, rounds=sweeps)
        assert solution_BNK.min() >= 0
        assert solution_BNK.max() <= 1
        after_BN = objective(facets_BKD, words_BND, solution_BNK, penalty)
        assert (after_BN <= before_BN + 1e-9).all()
        before_BN = after_BN


@given(problem=problems())
def test_no_single_coefficient_can_be_bettered_once_all_is_settled(problem: tuple[Floats, Floats, float]) -> None:
    facets_BKD, words_BND, penalty = problem
    solution_BNK = arrays.coefficients(facets_BKD, words_BND, penalty=penalty, rounds=300)
    best_BN = objective(facets_BKD, words_BND, solution_BNK, penalty)
    for k in range(facets_BKD.shape[1]):
        for change in (-1e-3, 1e-3):
            other_BNK = solution_BNK.copy()
            other_BNK[:, :, k] = np.clip(other_BNK[:, :, k] + change, 0, 1)
            # what is left to gain after a finite number of sweeps is small beside what a step of that size costs
            assert (objective(facets_BKD, words_BND, other_BNK, penalty) >= best_BN - 1e-4).all()


@given(problem=problems())
def test_torch_and_numpy_agree(problem: tuple[Floats, Floats, float]) -> None:
    facets_BKD, words_BND, penalty = problem
    found_BNK = coefficients(torch.from_numpy(facets_BKD), torch.from_numpy(words_BND), penalty=penalty)
    expected_BNK = arrays.coefficients(facets_BKD, words_BND, penalty=penalty)
    np.testing.assert_allclose(found_BNK.numpy(), expected_BNK, atol=1e-9)


@given(problem=problems())
def test_a_word_is_coded_alone(problem: tuple[Floats, Floats, float]) -> None:
    facets_BKD, words_BND, penalty = problem
    together_BNK = arrays.coefficients(facets_BKD, words_BND, penalty=penalty)
    for text, word in np.ndindex(words_BND.shape[:2]):
        alone = arrays.coefficients(facets_BKD[[text]], words_BND[[text]][:, [word]], penalty=penalty)
        np.testing.assert_allclose(alone[0, 0], together_BNK[text, word], atol=1e-9)
