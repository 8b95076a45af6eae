from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor
from torch.nn import functional

from facetvec.nnsc.coefficients import Method, coefficients
from facetvec.nnsc.loss import Loss, errors, loss


def make(*, texts: int = 4, facets: int = 3, words: int = 5, dim: int = 6, norm: float = 1.5) -> tuple[Tensor, Tensor]:
    """Facets of that norm and unit words, in float64; about half of the coefficients are not 0."""
    generator = torch.Generator().manual_seed(1)
    facets_BKD, words_BND = (
        functional.normalize(torch.randn(texts, num, dim, generator=generator, dtype=torch.float64), dim=-1)
        for num in (facets, words)
    )
    return norm * facets_BKD, words_BND


def error_by_plain_loop(facets_KD: Tensor, word_D: Tensor, *, penalty: float) -> float:
    solution_K = coefficients(facets_KD[None], word_D[None, None], penalty=penalty)[0, 0]
    return float((sum(m * facet_D for m, facet_D in zip(solution_K, facets_KD, strict=True)) - word_D).square().sum())


def lent(tensor: Tensor) -> Tensor:
    """Set the rows of the next text beside those of each text."""
    return torch.cat([tensor, tensor.roll(-1, 0)], dim=1)


def loss_against_next(facets_BKD: Tensor, words_BND: Tensor, weights_BN: Tensor, **settings: Any) -> Loss:
    """The loss with the next text's words as the other ones, its weights made to add up to 1."""
    weights_BN = weights_BN / weights_BN.sum()
    num_own = words_BND.shape[1]
    return loss(facets_BKD, lent(words_BND), num_own=num_own, weights_BN=lent(weights_BN), **settings)


def mean_error_by_plain_loop(
    facets_BKD: Tensor, words_BND: Tensor, *, shift: int, weights_BN: Tensor, penalty: float
) -> float:
    """Weighted mean over the words of text i + shift, coded with the facets of text i."""
    total = weight = 0.0
    for i in range(len(facets_BKD)):
        j = (i + shift) % len(facets_BKD)
        for word_D, share in zip(words_BND[j], weights_BN[j].tolist(), strict=True):
            total += share * error_by_plain_loop(facets_BKD[i], word_D, penalty=penalty)
            weight += share
    return total / weight


def test_errors_are_the_squared_distances_from_the_sums_of_facets() -> None:
    facets_BKD, words_BND = make()
    solution_BNK = coefficients(facets_BKD, words_BND, penalty=0.1)
    mask_BN = torch.arange(5) < torch.tensor([5, 3, 1, 0])[:, None]
    expected_BN = (solution_BNK @ facets_BKD - words_BND).square().sum(-1)
    torch.testing.assert_close(errors(facets_BKD, words_BND, solution_BNK), expected_BN)
    masked_BN = errors(facets_BKD, words_BND, solution_BNK, mask_BN=mask_BN)
    torch.testing.assert_close(masked_BN, torch.where(mask_BN, expected_BN, 0))


def test_the_slope_of_errors_is_that_of_the_distance_with_coefficients_held() -> None:
    facets_BKD, words_BND = make()
    solution_BNK = coefficients(facets_BKD, words_BND, penalty=0.1)
    expected_BKD = 2 * solution_BNK.mT @ (solution_BNK @ facets_BKD - words_BND)
    facets_BKD.requires_grad_()
    (gradient_BKD,) = torch.autograd.grad(errors(facets_BKD, words_BND, solution_BNK).sum(), facets_BKD)
    torch.testing.assert_close(gradient_BKD, expected_BKD)


def test_the_loss_is_own_error_less_the_error_of_lent_words() -> None:
    facets_BKD, words_BND = make()
    weights_BN = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0.3, 0.3, 0], [0, 0, 0, 0, 0]]).double()
    found = loss_against_next(facets_BKD, words_BND, weights_BN, penalty=0.2)
    own, other = (
        mean_error_by_plain_loop(facets_BKD, words_BND, shift=shift, weights_BN=weights_BN, penalty=0.2)
        for shift in (0, 1)
    )
    assert float(found.own_error) == pytest.approx(own)
    assert float(found.other_error) == pytest.approx(other)
    assert float(found.total) == pytest.approx(own - other)
    torch.testing.assert_close(found.coefficients_BNK, coefficients(facets_BKD, lent(words_BND), penalty=0.2))


def test_only_the_total_carries_a_gradient() -> None:
    facets_BKD, words_BND = make()
    found = loss_against_next(facets_BKD.requires_grad_(), words_BND, torch.ones(4, 5))
    assert found.total.requires_grad
    for part in (found.own_error, found.other_error, found.coefficients_BNK):
        assert not part.requires_grad


def test_the_gradient_is_the_finite_difference_with_coefficients_held() -> None:
    facets_BKD, words_BND = make()
    weights_BN = torch.rand(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    own_BNK = coefficients(facets_BKD, words_BND)
    other_BNK = coefficients(facets_BKD, words_BND.roll(-1, 0))

    def held(facets_BKD: Tensor) -> float:
        own_BN = (own_BNK @ facets_BKD - words_BND).square().sum(-1) * weights_BN
        other_BN = (other_BNK @ facets_BKD - words_BND.roll(-1, 0)).square().sum(-1) * weights_BN.roll(-1, 0)
        return float((own_BN.sum() - other_BN.sum()) / weights_BN.sum())

    found = loss_against_next(facets_BKD.requires_grad_(), words_BND, weights_BN)
    (gradient_BKD,) = torch.autograd.grad(found.total, facets_BKD)
    step = 1e-5
    for place in np.ndindex(4, 3, 6):
        change_BKD = torch.zeros_like(facets_BKD)
        change_BKD[place] = step
        slope = (held(facets_BKD.detach() + change_BKD) - held(facets_BKD.detach() - change_BKD)) / (2 * step)
        assert float(gradient_BKD[place]) == pytest.approx(slope, abs=1e-8)
    assert gradient_BKD.abs().max() > 0.01


def test_padding_takes_no_part() -> None:
    facets_BKD, words_BND = make()
    mask_BN = torch.arange(5) < torch.tensor([5, 3, 1, 0])[:, None]
    facets_BKD.requires_grad_()
    found = []
    for filling in (0.0, 0.7):
        words_BND[~mask_BN] = filling
        found.append(loss_against_next(facets_BKD, words_BND, mask_BN.double()).total)
    longer_BND, longer_BN = functional.pad(words_BND, (0, 0, 0, 4)), functional.pad(mask_BN, (0, 4)).double()
    found.append(loss_against_next(facets_BKD, longer_BND, longer_BN).total)
    gradients = [torch.autograd.grad(total, facets_BKD)[0] for total in found]
    for total, gradient_BKD in zip(found[1:], gradients[1:], strict=True):
        torch.testing.assert_close(total, found[0])
        torch.testing.assert_close(gradient_BKD, gradients[0])


def test_a_batch_without_a_single_target_has_no_loss() -> None:
    facets_BKD, words_BND = make()
    found = loss(facets_BKD.requires_grad_(), lent(words_BND), num_own=5, weights_BN=torch.zeros(4, 10))
    assert float(found.total.detach()) == 0
    assert torch.autograd.grad(found.total, facets_BKD)[0].count_nonzero() == 0


@pytest.mark.parametrize("method", ["descent", "kmeans"])
def test_each_way_of_coding_gives_its_own_loss(method: Method) -> None:
    facets_BKD, words_BND = make()
    found = loss_against_next(facets_BKD, words_BND, torch.ones(4, 5), method=method, penalty=0.1)
    solution_BNK = coefficients(facets_BKD, words_BND, method=method, penalty=0.1)
    assert float(found.own_error) == pytest.approx(float(errors(facets_BKD, words_BND, solution_BNK).mean()))


def test_bf16_is_computed_in_float32_and_so_it_is_under_autocast() -> None:
    facets_BKD, words_BND = (tensor.bfloat16() for tensor in make(facets=10, words=20))
    weights_BN = torch.ones(4, 20)
    exact = loss_against_next(facets_BKD.float(), words_BND.float(), weights_BN)
    assert loss_against_next(facets_BKD, words_BND, weights_BN).total == exact.total
    facets_BKD.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = loss_against_next(facets_BKD, words_BND, weights_BN)
    assert found.total.detach() == exact.total
    assert torch.autograd.grad(found.total, facets_BKD)[0].dtype == torch.bfloat16
