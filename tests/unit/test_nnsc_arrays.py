import json
import subprocess
import sys

import numpy as np
import pytest

from facetvec.nnsc import arrays

Floats = arrays.Floats


def make(*, texts: int = 3, facets: int = 4, words: int = 5, dim: int = 8, seed: int = 0) -> tuple[Floats, Floats]:
    """Facets of norm 2, and unit words that lie between some of them, in float64."""
    random = np.random.default_rng(seed)
    facets_BKD = random.normal(size=(texts, facets, dim))
    facets_BKD *= 2 / np.linalg.norm(facets_BKD, axis=-1, keepdims=True)
    words_BND = random.uniform(size=(texts, words, facets)) ** 3 @ facets_BKD + random.normal(size=(texts, words, dim))
    return facets_BKD, words_BND / np.linalg.norm(words_BND, axis=-1, keepdims=True)


def test_numbers_are_those_of_the_torch_version() -> None:
    torch = pytest.importorskip("torch")
    from facetvec.nnsc.coefficients import coefficients
    from facetvec.nnsc.loss import errors

    facets_BKD, words_BND = make(facets=10, words=12)
    facets_BKD[0, 1] = words_BND[1, 2] = 0
    mask_BN = np.arange(12) < [[12], [5], [0]]
    tensors = torch.from_numpy(facets_BKD), torch.from_numpy(words_BND)
    mask = torch.from_numpy(mask_BN)
    for rounds in (1, 8):
        found_BNK = arrays.coefficients(facets_BKD, words_BND, penalty=0.3, mask_BN=mask_BN, rounds=rounds)
        expected_BNK = coefficients(*tensors, penalty=0.3, mask_BN=mask, rounds=rounds)
        np.testing.assert_allclose(found_BNK, expected_BNK.numpy(), atol=1e-12)
    found_BN = arrays.errors(facets_BKD, words_BND, found_BNK, mask_BN=mask_BN)
    np.testing.assert_allclose(found_BN, errors(*tensors, expected_BNK, mask_BN=mask).numpy(), atol=1e-12)
    assert arrays.coefficients(facets_BKD, words_BND) == pytest.approx(coefficients(*tensors).numpy(), abs=1e-12)


def test_the_solution_fulfils_the_conditions_of_an_optimum() -> None:
    facets_BKD, words_BND = make(facets=7, words=20)
    solution_BNK = arrays.coefficients(facets_BKD, words_BND, penalty=0.4, rounds=2000)
    slope_BNK = 2 * (solution_BNK @ facets_BKD - words_BND) @ facets_BKD.mT + 0.4
    is_at_0, is_at_1 = solution_BNK == 0, solution_BNK == 1
    assert is_at_0.any()
    assert not is_at_0.all()
    assert (slope_BNK[is_at_0] > -1e-9).all()
    assert (slope_BNK[is_at_1] < 1e-9).all()
    assert (abs(slope_BNK[~is_at_0 & ~is_at_1]) < 1e-9).all()


def test_errors_are_the_squared_distances_from_the_sums_of_facets() -> None:
    facets_BKD, words_BND = make()
    solution_BNK = arrays.coefficients(facets_BKD, words_BND)
    mask_BN = np.ones((3, 5), np.bool_)
    mask_BN[1, 2:] = False
    expected_BN = ((solution_BNK @ facets_BKD - words_BND) ** 2).sum(-1)
    np.testing.assert_allclose(arrays.errors(facets_BKD, words_BND, solution_BNK), expected_BN)
    masked_BN = arrays.errors(facets_BKD, words_BND, solution_BNK, mask_BN=mask_BN)
    np.testing.assert_allclose(masked_BN, np.where(mask_BN, expected_BN, 0))


@pytest.mark.parametrize(("given", "computed"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8")])
def test_no_precision_is_lost_and_none_made_up(given: str, computed: str) -> None:
    facets_BKD, words_BND = (array.astype(given) for array in make(facets=10))
    solution_BNK = arrays.coefficients(facets_BKD, words_BND)
    errors_BN = arrays.errors(facets_BKD, words_BND, solution_BNK)
    assert solution_BNK.dtype == errors_BN.dtype == np.dtype(computed)
    exact_BNK = arrays.coefficients(facets_BKD.astype("f8"), words_BND.astype("f8"))
    np.testing.assert_allclose(solution_BNK, exact_BNK, atol=1e-5)


def test_it_needs_no_torch() -> None:
    code = "import sys, json, facetvec.nnsc.arrays; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert "torch" not in loaded
