"""Coordinate descent as one Triton kernel, for GPUs: the same steps as the plain version, in one launch.

In: the products of facets and words, λ/2 taken off those with words. Out: coefficients, equal to those of the plain
version but for rounding. A program solves for a block of words of one text. It keeps their coefficients in registers,
the facets down each column, and reads one row of G and one of C a step, which stay in the nearest cache. float32 only.

Shapes: B texts, K facets, N words.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK_WORDS = 32  # a word a lane: sums over facets stay within a thread
FACETS_PER_WARP = 32  # more would not fit the registers


def descend(gram_BKK: Tensor, lowered_BKN: Tensor, *, sweeps: int) -> Tensor:
    """Return coefficients [B, K, N] after some sweeps over the facets, from zero; a zero facet keeps 0."""
    num_texts, num_facets, num_words = lowered_BKN.shape
    solution_BKN = torch.empty((num_texts, num_facets, num_words), device=gram_BKK.device)
    block_facets = triton.next_power_of_2(num_facets)
    num_blocks = triton.cdiv(num_words, BLOCK_WORDS)
    if not num_texts * num_blocks:
        return solution_BKN
    with torch.cuda.device(gram_BKK.get_device()):
        _kernel[(num_texts * num_blocks,)](
            gram_BKK.contiguous(),
            lowered_BKN.contiguous(),
            solution_BKN,
            num_blocks,
            num_words,
            NUM_FACETS=num_facets,
            SWEEPS=sweeps,
            BLOCK_FACETS=block_facets,
            BLOCK_WORDS=BLOCK_WORDS,
            num_warps=max(block_facets // FACETS_PER_WARP, 1),
        )
    return solution_BKN


def _solve_block(
    gram: tl.tensor,
    lowered: tl.tensor,
    solution: tl.tensor,
    num_blocks: tl.tensor,
    num_words: tl.tensor,
    NUM_FACETS: tl.constexpr,
    SWEEPS: tl.constexpr,
    BLOCK_FACETS: tl.constexpr,
    BLOCK_WORDS: tl.constexpr,
) -> None:
    text = (tl.program_id(0) // num_blocks).to(tl.int64)
    words_N = (tl.program_id(0) % num_blocks) * BLOCK_WORDS + tl.arange(0, BLOCK_WORDS)
    facets_K = tl.arange(0, BLOCK_FACETS)
    gram += text * NUM_FACETS * NUM_FACETS
    lowered += text * NUM_FACETS * num_words
    solution += text * NUM_FACETS * num_words
    solution_KN = tl.zeros((BLOCK_FACETS, BLOCK_WORDS), tl.float32)
    for _ in range(SWEEPS):
        for k in range(NUM_FACETS):
            is_other_K = (facets_K < NUM_FACETS) & (facets_K != k)
            row_K = tl.load(gram + k * NUM_FACETS + facets_K, mask=is_other_K, other=0.0)
            square = tl.load(gram + k * NUM_FACETS + k)
            lowered_N = tl.load(lowered + k * num_words + words_N, mask=words_N < num_words, other=0.0)
            rest_N = lowered_N - tl.sum(row_K[:, None] * solution_KN, axis=0)
            # a zero facet has a rest of -λ/2
            best_N = tl.minimum(tl.maximum(rest_N / tl.where(square > 0, square, 1.0), 0.0), 1.0)
            solution_KN = tl.where((facets_K == k)[:, None], best_N[None, :], solution_KN)
    is_real_KN = (facets_K < NUM_FACETS)[:, None] & (words_N < num_words)[None, :]
    tl.store(solution + facets_K[:, None] * num_words + words_N[None, :], solution_KN, mask=is_real_KN)


_kernel = triton.jit(_solve_block)
