"""RMSprop on the coefficients, as the paper's authors solved for them.

In: the products of facets and words, a start. Out: coefficients. Minimises ½‖mF − w‖² + λ/2 ‖m‖₁, clamped to 0 … 1
after each step; like theirs, the penalty has no slope at 0. With 60 steps from a random start the objective stays some
percent above its optimum. The gradient comes from the products; the authors took it through F and W, which is the same.

Shapes: B texts, K facets, N words.
"""

import torch
from torch import Tensor

RATE, DECAY, EPSILON = 0.05, 0.99, 1e-8


def rmsprop(gram_BKK: Tensor, cross_BKN: Tensor, *, penalty: float | Tensor, start_BKN: Tensor, steps: int) -> Tensor:
    """Return coefficients [B, K, N] after some steps from a start."""
    solution_BKN = start_BKN.clone()
    mean_square_BKN = torch.zeros_like(start_BKN)
    for _ in range(steps):
        gradient_BKN = torch.baddbmm(cross_BKN, gram_BKK, solution_BKN, beta=-1)
        gradient_BKN += penalty / 2 * solution_BKN.sign()
        mean_square_BKN.mul_(DECAY).addcmul_(gradient_BKN, gradient_BKN, value=1 - DECAY)
        solution_BKN.addcdiv_(gradient_BKN, mean_square_BKN.sqrt().add_(EPSILON), value=-RATE).clamp_(0, 1)
    return solution_BKN
