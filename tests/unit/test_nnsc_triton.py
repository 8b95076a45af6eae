import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from facetvec.nnsc import coefficients as module
from facetvec.nnsc.coefficients import coefficients, solve
from facetvec.nnsc.defaults import SWEEPS
from facetvec.nnsc.descent import descend
from facetvec.nnsc.products import Products, multiply

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")

# A process of its own: whether kernels are interpreted is decided when Triton is imported.
COMPARE = """
import json, sys, torch
from facetvec.nnsc.descent import descend
from facetvec.nnsc.triton_descent import descend as descend_in_kernel
differences = []
for texts, words, facets, sweeps in json.loads(sys.argv[1]):
    generator = torch.Generator().manual_seed(facets)
    facets_BKD = 2 * torch.nn.functional.normalize(torch.randn(texts, facets, 12, generator=generator), dim=-1)
    words_BND = torch.nn.functional.normalize(torch.randn(texts, words, 12, generator=generator), dim=-1)
    words_BND[:1] *= 9  # so that some coefficients are 1
    facets_BKD[:1, -1] = facets_BKD[:1, 0]
    facets_BKD[1:2, 0] = words_BND[:1, -1:] = 0
    gram_BKK, cross_BKN = facets_BKD @ facets_BKD.mT, facets_BKD @ words_BND.mT
    plain, kernel = (solver(gram_BKK, cross_BKN - 0.1, sweeps=sweeps) for solver in (descend, descend_in_kernel))
    assert plain.shape == kernel.shape
    differences.append(float((plain - kernel).abs().max()) if plain.numel() else 0.0)
    assert not plain.numel() or plain.max() > 0.1
print(json.dumps(differences))
"""

COMPILE = """
import json, sys, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from facetvec.nnsc.triton_descent import _kernel
pointers = dict.fromkeys(["gram", "lowered", "solution"], "*fp32")
numbers = dict.fromkeys(["num_blocks", "num_words"], "i32")
constants = {"NUM_FACETS": 10, "SWEEPS": 8, "BLOCK_FACETS": 16, "BLOCK_WORDS": 32}
source = ASTSource(_kernel, {**pointers, **numbers, **dict.fromkeys(constants, "constexpr")}, constants)
compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 1})
print(json.dumps(compiled.asm["ptx"].count("bar.sync") + compiled.asm["ptx"].count("shfl")))
"""


def run(code: str, *arguments: str, **environment: str) -> object:
    command = [sys.executable, "-c", code, *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def make(*, texts: int, facets: int, words: int, dim: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    facets_BKD = torch.randn(texts, facets, dim, generator=generator)
    words_BND = torch.nn.functional.normalize(torch.randn(texts, words, dim, generator=generator), dim=-1)
    return facets_BKD / 4, words_BND


@needs_triton
def test_the_kernel_equals_the_plain_version_when_interpreted() -> None:
    cases = [(3, 5, 1, 2), (3, 33, 3, 4), (2, 30, 10, 8), (2, 64, 16, 3), (1, 2, 128, 1), (0, 4, 3, 1), (2, 0, 3, 1)]
    differences = run(COMPARE, json.dumps(cases), TRITON_INTERPRET="1")
    assert isinstance(differences, list)
    assert len(differences) == len(cases)
    assert max(differences) < 1e-5


@needs_triton
def test_the_kernel_compiles_and_no_word_waits_for_another(tmp_path: Path) -> None:
    """Interpretation lets pass what the compiler does not."""
    assert run(COMPILE, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)) == 0


def test_the_plain_version_runs_on_the_cpu() -> None:
    assert not module.is_for_triton(torch.zeros(2, 3, 3))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
class TestOnGpu:
    @needs_triton
    @pytest.mark.parametrize("facets", [1, 2, 10, 17, 33, 64, 100, 128])
    def test_the_kernel_equals_the_plain_version(self, facets: int) -> None:
        for texts, words in ((1, 1), (5, 30), (64, 60), (0, 3)):
            on_cpu = multiply(*make(texts=texts, facets=facets, words=words, dim=200))
            products = Products(on_cpu.gram_BKK.cuda(), on_cpu.cross_BKN.cuda())
            assert module.is_for_triton(products.gram_BKK)
            found_BKN = solve(products, penalty=0.4, method="descent")
            for reference in (products, on_cpu):
                plain_BKN = descend(reference.gram_BKK, reference.cross_BKN - 0.2, sweeps=SWEEPS)
                torch.testing.assert_close(found_BKN.cpu(), plain_BKN.cpu(), atol=1e-5, rtol=0)

    def test_what_the_kernel_cannot_do_the_plain_version_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        facets_BKD, words_BND = make(texts=2, facets=130, words=5, dim=200)
        expected_BNK = coefficients(facets_BKD, words_BND)
        assert not module.is_for_triton(torch.zeros(2, 130, 130, device="cuda"))
        assert not module.is_for_triton(torch.zeros(2, 3, 3, device="cuda", dtype=torch.float64))
        torch.testing.assert_close(
            coefficients(facets_BKD.cuda(), words_BND.cuda()).cpu(), expected_BNK, atol=1e-5, rtol=0
        )
        monkeypatch.setattr(module, "_has_triton", lambda: False)
        assert not module.is_for_triton(torch.zeros(2, 3, 3, device="cuda"))

    def test_bf16_and_masks_give_what_they_give_on_the_cpu(self) -> None:
        facets_BKD, words_BND = (tensor.bfloat16() for tensor in make(texts=8, facets=10, words=30, dim=200))
        mask_BN = torch.arange(30) < torch.arange(0, 32, 4)[:, None]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found_BNK = coefficients(facets_BKD.cuda(), words_BND.cuda(), mask_BN=mask_BN.cuda())
        torch.testing.assert_close(
            found_BNK.cpu(), coefficients(facets_BKD, words_BND, mask_BN=mask_BN), atol=1e-5, rtol=0
        )
