import numpy as np
import pytest
from scipy.optimize import lsq_linear

from facetvec.errors import ConfigError

pytest.importorskip("torch")

import torch
from torch import Tensor
from torch.nn import functional

from facetvec.nnsc.coefficients import Method, coefficients

MANY = 2000  # sweeps after which nothing moves


def make(
    *, texts: int = 3, facets: int = 4, words: int = 5, dim: int = 8, norm: float = 2.0, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Facets of about that norm, and unit words that lie between some of them, in float64."""
    generator = torch.Generator().manual_seed(seed)
    facets_BKD = torch.randn(texts, facets, dim, generator=generator, dtype=torch.float64)
    mixture_BNK = torch.rand(texts, words, facets, generator=generator, dtype=torch.float64) ** 3
    noise_BND = torch.randn(texts, words, dim, generator=generator, dtype=torch.float64)
    words_BND = functional.normalize(mixture_BNK @ facets_BKD + 0.5 * noise_BND, dim=-1)
    return norm * functional.normalize(facets_BKD, dim=-1), words_BND


def objective(facets_BKD: Tensor, words_BND: Tensor, solution_BNK: Tensor, *, penalty: float) -> Tensor:
    return (solution_BNK @ facets_BKD - words_BND).square().sum(-1) + penalty * solution_BNK.abs().sum(-1)


def by_plain_loop(facets_KD: Tensor, word_D: Tensor, *, penalty: float, sweeps: int) -> list[float]:
    """Go over the facets of one word; give each the coefficient that leaves least of what the others leave."""
    solution = [0.0] * len(facets_KD)
    for _ in range(sweeps):
        for k, facet_D in enumerate(facets_KD):
            others_D = sum(
                (solution[j] * facets_KD[j] for j in range(len(solution)) if j != k), torch.zeros_like(word_D)
            )
            square = float(facet_D @ facet_D)
            best = (float(facet_D @ (word_D - others_D)) - penalty / 2) / square if square else 0.0
            solution[k] = min(max(best, 0.0), 1.0)
    return solution


def test_the_descent_takes_the_steps_of_a_plain_loop() -> None:
    facets_BKD, words_BND = make()
    for sweeps in (1, 2, 5):
        found_BNK = coefficients(facets_BKD, words_BND, penalty=0.3, rounds=sweeps)
        for text, word in np.ndindex(3, 5):
            expected = by_plain_loop(facets_BKD[text], words_BND[text, word], penalty=0.3, sweeps=sweeps)
            assert found_BNK[text, word].tolist() == pytest.approx(expected, abs=1e-12)


def test_the_default_is_the_papers_penalty_and_six_sweeps() -> None:
    facets_BKD, words_BND = make()
    assert coefficients(facets_BKD, words_BND).equal(coefficients(facets_BKD, words_BND, penalty=0.4, rounds=6))


@pytest.mark.parametrize("norm", [0.3, 1.0, 10.0])
def test_the_solution_fulfils_the_conditions_of_an_optimum(norm: float) -> None:
    facets_BKD, words_BND = make(facets=7, words=20, norm=norm)
    solution_BNK = coefficients(facets_BKD, words_BND, penalty=0.4, rounds=MANY)
    slope_BNK = 2 * (solution_BNK @ facets_BKD - words_BND) @ facets_BKD.mT + 0.4
    is_at_0, is_at_1 = solution_BNK == 0, solution_BNK == 1
    assert (slope_BNK[is_at_0] > -1e-9).all()
    assert (slope_BNK[is_at_1] < 1e-9).all()
    assert (slope_BNK[~is_at_0 & ~is_at_1].abs() < 1e-9).all()
    assert is_at_0.any()
    assert (solution_BNK > 0).any() or norm < 1


def test_it_agrees_with_the_bounded_least_squares_of_scipy() -> None:
    facets_BKD, words_BND = make(facets=6, words=4, dim=9, norm=1.5)
    solution_BNK = coefficients(facets_BKD, words_BND, penalty=0.4, rounds=MANY)
    for text, word in np.ndindex(3, 4):
        facets_KD, word_D = facets_BKD[text].numpy(), words_BND[text, word].numpy()
        # moving the word by a vector whose product with each facet is -λ/2 does what the penalty does
        shift_D = np.linalg.pinv(facets_KD) @ np.full(6, -0.2)
        expected = lsq_linear(facets_KD.T, word_D + shift_D, bounds=(0, 1), method="bvls", tol=1e-14).x
        assert solution_BNK[text, word].numpy() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("facets", "excess"), [(10, 1e-4), (100, 5e-3)])
def test_the_default_number_of_sweeps_comes_close_to_the_optimum(facets: int, excess: float) -> None:
    facets_BKD, words_BND = make(facets=facets, words=30, dim=50, norm=3.0)
    ours, best = (
        objective(facets_BKD, words_BND, coefficients(facets_BKD, words_BND, rounds=rounds), penalty=0.4).sum()
        for rounds in (None, 300)
    )
    assert best <= ours < best * (1 + excess)


def test_the_objective_never_rises_from_one_sweep_to_the_next() -> None:
    facets_BKD, words_BND = make(facets=12, words=10, norm=3.0)
    before_BN = words_BND.square().sum(-1)
    for sweeps in range(1, 20):
        solution_BNK = coefficients(facets_BKD, words_BND, rounds=sweeps)
        after_BN = objective(facets_BKD, words_BND, solution_BNK, penalty=0.4)
        assert (after_BN <= before_BN + 1e-12).all()
        before_BN = after_BN


def test_one_facet_takes_the_clamped_projection() -> None:
    facets_BKD = torch.tensor([[[2.0, 0.0]]])
    words_BND = torch.tensor([[[0.6, 0.8], [1.0, 0.0], [-1.0, 0.0], [0.05, 1.0], [9.0, 0.0]]])
    found = coefficients(facets_BKD, words_BND, penalty=0.4)[0, :, 0]
    assert found.tolist() == pytest.approx([(1.2 - 0.2) / 4, (2 - 0.2) / 4, 0, 0, 1])


def test_zero_facets_and_zero_words_get_nothing() -> None:
    facets_BKD, words_BND = make()
    without_BKD = facets_BKD[:, [0, 2, 3]]
    facets_BKD[:, 1] = 0
    words_BND[0, 0] = 0
    for penalty in (0.4, 0.0):
        found_BNK = coefficients(facets_BKD, words_BND, penalty=penalty)
        assert (found_BNK[:, :, 1] == 0).all()
        assert (found_BNK[0, 0] == 0).all()
        assert found_BNK[:, :, [0, 2, 3]].equal(coefficients(without_BKD, words_BND, penalty=penalty))


def test_a_facet_twice_explains_a_word_as_well_as_once() -> None:
    facets_BKD, words_BND = make(norm=2.0)
    twice_BKD = torch.cat([facets_BKD, facets_BKD[:, :1]], dim=1)
    once_BN = objective(facets_BKD, words_BND, coefficients(facets_BKD, words_BND, rounds=MANY), penalty=0.4)
    twice_BN = objective(twice_BKD, words_BND, coefficients(twice_BKD, words_BND, rounds=MANY), penalty=0.4)
    assert once_BN.tolist() == [pytest.approx(row, abs=1e-9) for row in twice_BN.tolist()]


@pytest.mark.parametrize("method", ["descent", "rmsprop", "kmeans"])
def test_padding_gets_zero_and_changes_nothing_else(method: Method) -> None:
    facets_BKD, words_BND = make(texts=4)
    mask_BN = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]).bool()
    generator = torch.Generator()
    with_mask_BNK, without_BNK = (
        coefficients(facets_BKD, words_BND, mask_BN=mask, method=method, generator=generator.manual_seed(1))
        for mask in (mask_BN, None)
    )
    assert (with_mask_BNK[~mask_BN] == 0).all()
    assert with_mask_BNK[mask_BN].equal(without_BNK[mask_BN])


def test_no_texts_and_no_words_have_no_coefficients() -> None:
    assert coefficients(torch.ones(0, 4, 8), torch.ones(0, 5, 8)).shape == (0, 5, 4)
    assert coefficients(torch.ones(3, 4, 8), torch.ones(3, 0, 8)).shape == (3, 0, 4)


def test_coefficients_carry_no_gradient() -> None:
    facets_BKD, words_BND = make()
    assert not coefficients(facets_BKD.requires_grad_(), words_BND).requires_grad


def test_a_penalty_may_be_a_tensor() -> None:
    facets_BKD, words_BND = make()
    for method in ("descent", "rmsprop"):
        of_tensor, of_number = (
            coefficients(
                facets_BKD, words_BND, penalty=penalty, method=method, generator=torch.Generator().manual_seed(0)
            )
            for penalty in (torch.tensor(0.2, dtype=torch.float64), 0.2)
        )
        assert of_tensor.equal(of_number)


def test_float32_is_as_good_as_float64() -> None:
    facets_BKD, words_BND = make(facets=10, words=20, norm=3.0)
    found_BNK = coefficients(facets_BKD.float(), words_BND.float())
    assert found_BNK.dtype == torch.float32
    torch.testing.assert_close(found_BNK.double(), coefficients(facets_BKD, words_BND), atol=1e-5, rtol=0)


def test_bf16_vectors_are_multiplied_in_float32_and_so_they_are_under_autocast() -> None:
    facets_BKD, words_BND = (tensor.bfloat16() for tensor in make(facets=10, words=20, norm=3.0))
    expected_BNK = coefficients(facets_BKD.float(), words_BND.float())
    assert coefficients(facets_BKD, words_BND).equal(expected_BNK)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert coefficients(facets_BKD, words_BND).equal(expected_BNK)
        assert coefficients(facets_BKD.float(), words_BND.float()).equal(expected_BNK)
        seeded = torch.Generator().manual_seed(0)
        assert coefficients(facets_BKD, words_BND, method="rmsprop", generator=seeded).dtype == torch.float32


def by_rmsprop_of_torch(facets_BKD: Tensor, words_BND: Tensor, *, start_BNK: Tensor, steps: int) -> Tensor:
    solution_BNK = torch.nn.Parameter(start_BNK.clone())
    optimizer = torch.optim.RMSprop([solution_BNK], lr=0.05, alpha=0.99)
    for _ in range(steps):
        half = 0.5 * objective(facets_BKD, words_BND, solution_BNK, penalty=0.4).sum()
        (solution_BNK.grad,) = torch.autograd.grad(half, solution_BNK)
        optimizer.step()
        solution_BNK.data.clamp_(0, 1)
    return solution_BNK.detach()


def test_rmsprop_takes_the_steps_of_the_optimizer_in_torch() -> None:
    facets_BKD, words_BND = make()
    # the start that the same generator draws for coefficients [B, K, N]
    start_BNK = torch.empty(3, 4, 5, dtype=torch.float64).normal_(generator=torch.Generator().manual_seed(7)).mT
    for steps in (1, 60):
        seeded = torch.Generator().manual_seed(7)
        rounds = None if steps == 60 else steps
        found_BNK = coefficients(facets_BKD, words_BND, method="rmsprop", rounds=rounds, generator=seeded)
        expected_BNK = by_rmsprop_of_torch(facets_BKD, words_BND, start_BNK=start_BNK, steps=steps)
        torch.testing.assert_close(found_BNK, expected_BNK, atol=1e-9, rtol=0)


@pytest.mark.parametrize("steps", [60, 1000])
def test_rmsprop_ends_near_the_optimum_that_the_descent_reaches(steps: int) -> None:
    facets_BKD, words_BND = make()
    seeded = torch.Generator().manual_seed(0)
    best, found = (
        objective(facets_BKD, words_BND, solution_BNK, penalty=0.4).sum()
        for solution_BNK in (
            coefficients(facets_BKD, words_BND, rounds=MANY),
            coefficients(facets_BKD, words_BND, method="rmsprop", rounds=steps, generator=seeded),
        )
    )
    assert best < found < 1.1 * best


def test_kmeans_gives_each_word_to_the_facet_of_highest_cosine() -> None:
    facets_BKD, words_BND = make(norm=0.9)
    facets_BKD = facets_BKD * torch.tensor([1.0, 3.0, 0.5, 0.0])[:, None]
    found_BNK = coefficients(facets_BKD, words_BND, method="kmeans")
    for text, word in np.ndindex(3, 5):
        facets_KD, word_D = facets_BKD[text], words_BND[text, word]
        cosines = [float(facet @ word_D / max(facet.norm(), 1e-9)) for facet in facets_KD]
        nearest = int(np.argmax(cosines))
        expected = [0.0] * 4
        expected[nearest] = min(max(cosines[nearest] / max(float(facets_KD[nearest].norm()), 1e-9), 0), 1)
        assert found_BNK[text, word].tolist() == pytest.approx(expected)


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ConfigError, match="descent, rmsprop, kmeans, found 'newton'"):
        coefficients(*make(), method="newton")  # type: ignore[arg-type]
