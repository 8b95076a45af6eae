import pytest

pytest.importorskip("torch")

import torch

from facetvec.model.parts import Dropout, new_linear


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_strikes_entries_at_its_rate_and_keeps_the_mean(rate: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    struck = Dropout(rate)(torch.ones(300, 401, dtype=dtype))  # a size that four does not divide
    assert struck.dtype == dtype
    assert (struck == 0).float().mean().item() == pytest.approx(rate, abs=0.004)
    kept = struck[struck != 0].float()
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - rate), rel=5e-3)
    assert struck.float().mean().item() == pytest.approx(1, abs=0.01)


def test_dropout_strikes_neighbours_rows_and_calls_independently() -> None:
    torch.manual_seed(0)
    dropout = Dropout(0.5)
    is_kept, is_kept_later = (dropout(torch.ones(1000, 400)) != 0 for _ in range(2))
    for one, other in (
        (is_kept[:, 1:], is_kept[:, :-1]),
        (is_kept[:, 4:], is_kept[:, :-4]),
        (is_kept[1:], is_kept[:-1]),
        (is_kept, is_kept_later),
    ):
        assert (one & other).float().mean().item() == pytest.approx(0.25, abs=0.004)


def test_gradients_pass_where_dropout_let_entries_pass() -> None:
    torch.manual_seed(0)
    states = torch.ones(50, 50, requires_grad=True)
    struck = Dropout(0.3)(states)
    struck.sum().backward()
    assert states.grad is not None
    assert torch.equal(states.grad, struck.detach())


def test_dropout_lets_everything_pass_in_use_or_at_rate_zero() -> None:
    states = torch.randn(7, 3)
    assert Dropout(0.5).eval()(states) is states
    assert Dropout(0.0)(states) is states


def test_linear_maps_start_as_in_bert_and_draw_from_their_generator_alone() -> None:
    before = torch.get_rng_state()
    linear = new_linear(200, 300, generator=torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)
    assert linear.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert not linear.bias.any()
