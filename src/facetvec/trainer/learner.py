"""One step of learning: inputs to facets, facets to coefficients, coefficients to a loss, the loss to new weights.

In: the rows of a batch. Out: the loss, as tensors that nobody has waited for.

    loss = Σ own weight · Er(word) - Σ other weight · Er(word),   Er(w) = ‖m F - w‖²

with the coefficients m solved for without gradient (`facetvec.nnsc`). `unit_facets` scales facets to norm 1 before.
"""

import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from facetvec.config import TrainingConfig
from facetvec.nnsc.loss import Loss, loss
from facetvec.trainer.feed import Rows
from facetvec.trainer.graphs import StepGraphs

EPS = 1e-6


@dataclass(frozen=True, slots=True)
class Outcome:
    """What comes of a batch: facets, and how well they explain its words."""

    facets_BKD: Tensor
    loss: Loss


class Learner:
    """A network, its optimiser, and the word space that it learns to explain."""

    def __init__(self, network: nn.Module, words_VD: Tensor, *, config: TrainingConfig, precision: torch.dtype) -> None:
        self.network = network
        self.words_VD = words_VD
        self.config = config
        self.precision = precision
        self.penalty = torch.zeros((), device=words_VD.device)
        self.optimizer = new_optimizer(network, config, device=words_VD.device)
        self.graphs = StepGraphs(self.descend) if words_VD.is_cuda and config.optimizer == "adamw" else None
        self.names: dict[Tensor, str] = {parameter: name for name, parameter in network.named_parameters()}

    @property
    def device(self) -> torch.device:
        """Where the learning happens."""
        return self.words_VD.device

    def step(self, rows: Rows, *, learning_rate: float, penalty: float, seed: int) -> Tensor:
        """Take one step down the loss of a batch; return its loss, own and other error. `seed` decides the dropout."""
        torch.manual_seed(seed)
        self.network.train()
        self.penalty.fill_(penalty)
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(learning_rate)
            else:
                group["lr"] = learning_rate
        return self.graphs.step(rows) if self.graphs else self.descend(rows)

    def descend(self, rows: Rows) -> Tensor:
        """Take the step itself, with the rate and the penalty that are set; nothing here waits for the device."""
        found = self.outcome(rows, penalty=self.penalty).loss
        self.optimizer.zero_grad(set_to_none=True)
        found.total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimizer.step()
        return torch.stack([found.total.detach(), found.own_error, found.other_error])

    def facets(self, rows: Rows) -> Tensor:
        """Return the facets of the inputs in float32, of norm 1 if the settings say so."""
        with torch.autocast(self.device.type, self.precision, enabled=self.precision != torch.float32):
            facets_BKD = self.network(rows.token_ids_BL, rows.lengths_B).float()
        return functional.normalize(facets_BKD, dim=-1, eps=EPS) if self.config.unit_facets else facets_BKD

    def outcome(self, rows: Rows, *, penalty: float | Tensor) -> Outcome:
        """Explain the targets of a batch, and those of other texts, by the facets of its inputs."""
        facets_BKD = self.facets(rows)
        found = loss(
            facets_BKD,
            self.words_VD[torch.cat([rows.own_ids_BN, rows.other_ids_BR], dim=1)],
            num_own=rows.own_ids_BN.shape[1],
            weights_BN=torch.cat([rows.own_weights_BN, rows.other_weights_BR], dim=1),
            penalty=penalty,
            method=self.config.solver,
            rounds=self.config.rounds,
        )
        return Outcome(facets_BKD, found)


def new_optimizer(network: nn.Module, config: TrainingConfig, *, device: torch.device) -> torch.optim.Optimizer:
    """Return the optimiser of the settings; biases, norms and tables are not decayed by AdamW.

    On a GPU the rate is a tensor, so that a recorded step follows it.
    """
    if config.optimizer == "sgd":
        return torch.optim.SGD(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    matrices = [p for name, p in network.named_parameters() if p.ndim > 1 and not name.startswith("table.")]
    others = [p for name, p in network.named_parameters() if p.ndim <= 1 or name.startswith("table.")]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    is_gpu = device.type == "cuda"
    rate = torch.tensor(config.learning_rate, device=device) if is_gpu else config.learning_rate
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), eps=1e-6, fused=True, capturable=is_gpu)


def choose_precision(name: str, *, device: torch.device) -> torch.dtype:
    """Return the number type of the network's products; "auto" is bf16 where products are faster in it."""
    if name != "auto":
        return torch.float32 if name == "float32" else torch.bfloat16
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    return min((torch.float32, torch.bfloat16), key=_seconds_of_product)


def _seconds_of_product(dtype: torch.dtype) -> float:
    matrix = torch.ones(768, 768, dtype=dtype)
    fastest = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        matrix @ matrix
        fastest = min(fastest, time.perf_counter() - start)
    return fastest
