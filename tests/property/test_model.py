"""Laws of the network, on texts that chance makes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetvec.model.shape import ModelConfig
from facetvec.vocabulary.tokenizer import EOS_ID, PAD_ID

pytest.importorskip("torch")

import torch

from facetvec.model.network import FacetNetwork

NUM_IDS, MAX_TOKENS = 30, 12
WORDS = st.lists(st.sampled_from([1, *range(3, NUM_IDS)]), max_size=MAX_TOKENS - 1)
NETWORKS = [
    FacetNetwork(
        ModelConfig(
            vocabulary_size=NUM_IDS,
            dim=16,
            heads=2,
            num_facets=3,
            max_tokens=MAX_TOKENS,
            architecture=architecture,
            cross_attention=architecture == "transformer",
        ),
        generator=torch.Generator().manual_seed(0),
    ).eval()
    for architecture in ("transformer", "lstm")
]


@given(texts=st.lists(WORDS, min_size=1, max_size=6), num_more=st.integers(0, 4), chance=st.randoms())
@pytest.mark.parametrize("network", NETWORKS, ids=["transformer", "lstm"])
@torch.no_grad()
def test_neither_order_nor_padding_of_a_batch_changes_the_facets_of_its_texts(
    network: FacetNetwork, texts: list[list[int]], num_more: int, chance: random.Random
) -> None:
    order = chance.sample(range(len(texts)), len(texts))
    width = max(map(len, texts)) + 1
    facets_BKD = facets_of(network, texts, width=width)
    shuffled_BKD = facets_of(network, [texts[i] for i in order], width=min(width + num_more, MAX_TOKENS))
    torch.testing.assert_close(shuffled_BKD, facets_BKD[order], rtol=0, atol=2e-6)


def facets_of(network: FacetNetwork, texts: list[list[int]], *, width: int) -> torch.Tensor:
    rows = [[*words, EOS_ID, *[PAD_ID] * (width - len(words) - 1)] for words in texts]
    facets_BKD: torch.Tensor = network(torch.tensor(rows), torch.tensor([len(words) + 1 for words in texts]))
    return facets_BKD
