"""How a network does on held-out documents, with the figures that go wrong first.

In: a learner and the held-out examples of its store. Out: means over target words, texts and facets. The examples come
in one order with fixed negatives, so that two validations can be compared.
"""

from dataclasses import fields

import torch
from torch import Tensor
from torch.nn import functional

from facetvec.examples.batches import Batches, Position
from facetvec.trainer.events import Validation
from facetvec.trainer.feed import Feed
from facetvec.trainer.learner import Learner

_NAMES = [field.name for field in fields(Validation)]


@torch.no_grad()
def validate(learner: Learner, batches: Batches, feed: Feed, *, penalty: float) -> Validation:
    """Go through the held-out examples once."""
    learner.network.eval()
    totals = torch.zeros(7, dtype=torch.float64, device=learner.device)
    for number in range(len(batches)):
        rows = feed.rows(batches.draw(Position(0, number)), key=number)
        outcome = learner.outcome(rows, penalty=penalty)
        found = outcome.loss
        is_word_BN = rows.own_weights_BN > 0
        own_BNK = found.coefficients_BNK[:, : is_word_BN.shape[1]] * is_word_BN[..., None]
        a_word = own_BNK.sum() / is_word_BN.sum().clamp(min=1)
        used = (own_BNK > 0).any(dim=1).float().mean()
        norm, cosine = _norm_and_cosine(outcome.facets_BKD)
        figures = (found.total, found.own_error, found.other_error, a_word, used, norm, cosine)
        totals += torch.stack([figure.double() for figure in figures])
    return Validation(**dict(zip(_NAMES, (totals / len(batches)).tolist(), strict=True)))


def _norm_and_cosine(facets_BKD: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean norm of facets and the mean cosine of two facets of a text, 0 where there is but one."""
    num_facets = facets_BKD.shape[1]
    unit_BKD = functional.normalize(facets_BKD, dim=-1)
    cosines_BKK = unit_BKD @ unit_BKD.mT
    pairs = max(1, num_facets * (num_facets - 1))
    among_others = cosines_BKK.sum(dim=(1, 2)) - cosines_BKK.diagonal(dim1=1, dim2=2).sum(dim=1)
    return facets_BKD.norm(dim=-1).mean(), among_others.mean() / pairs
