"""The network against plain loops over texts, tokens, heads and facets, and the promises about batches and padding."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from facetvec.errors import ConfigError, InputError
from facetvec.model.shape import ModelConfig, model_config
from facetvec.vocabulary.tokenizer import EOS_ID, FIRST_WORD_ID, PAD_ID, UNK_ID

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from facetvec.model import attention
from facetvec.model.network import FacetNetwork

Floats = NDArray[np.float64]

NUM_IDS = 20
TEXTS = [[7, 3, 12, 2], [5, 2], [4, 4, 1, 9, 19, 8, 2], [2], [11, 6, 3, 2]]
TINY: dict[str, Any] = {"dim": 12, "heads": 3, "num_facets": 4, "encoder_layers": 2, "decoder_layers": 2}
TINY |= {"vocabulary_size": NUM_IDS, "feedforward_multiple": 2, "max_tokens": 9}


def tiny(**table: object) -> ModelConfig:
    return ModelConfig.from_table(TINY | table)


SHAPES: dict[str, ModelConfig] = {
    "facets": tiny(),
    "one facet": tiny(num_facets=1, decoder_layers=1, cross_attention=False),
    "phrase": tiny(cross_attention=False, decoder_dropout=0.5),
    "fixed table": tiny(input_table="fixed"),
    "lstm": tiny(architecture="lstm", cross_attention=False),
}
all_shapes = pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES.keys())


def word_vectors(config: ModelConfig, *, seed: int = 5) -> Tensor:
    """Vectors of any length; the special ids and the last word have none."""
    vectors_VD = torch.randn(config.vocabulary_size, config.dim, generator=torch.Generator().manual_seed(seed))
    vectors_VD[:FIRST_WORD_ID] = 0
    vectors_VD[-1] = 0
    return vectors_VD


def network_of(config: ModelConfig, *, seed: int = 1) -> FacetNetwork:
    """A network in use, not in training, whose biases and norms are not those of the start, which hide errors."""
    generator = torch.Generator().manual_seed(seed)
    network = FacetNetwork(config, vectors_VD=word_vectors(config), generator=generator)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return network.double().eval()


def padded(texts: list[list[int]], *, to: int = 0) -> tuple[Tensor, Tensor]:
    lengths = [len(text) for text in texts]
    width = max([*lengths, to])
    ids = [[*text, *[PAD_ID] * (width - len(text))] for text in texts]
    return torch.tensor(ids, dtype=torch.int32), torch.tensor(lengths)


class PlainLoops:
    """The forward pass of one text without padding, straight from the equations."""

    def __init__(self, network: FacetNetwork) -> None:
        self.config = network.config
        self.weights: dict[str, Floats] = {name: weight.numpy() for name, weight in network.state_dict().items()}
        self.held = {name: tensor.numpy() for name, tensor in network.named_buffers()}

    def facets(self, text: list[int]) -> list[Floats]:
        is_lstm = self.config.architecture == "lstm"
        inputs = [self.input(word) for word in text]
        states, summary = (self.read_twice if is_lstm else self.read)(inputs)
        maps, biases = self.weights["facet_maps.maps.weight"], self.weights["facet_maps.maps.bias"]
        dim = self.config.dim
        facets = []
        for k in range(self.config.num_facets):
            rows = slice(k * dim, (k + 1) * dim)
            facets.append(self.norm(maps[rows] @ summary + biases[rows], "facet_maps.norm"))
        for number in range(self.config.decoder_layers):
            if is_lstm:
                facets = self.lstm(facets, f"decoder.layers.{number}")
            else:
                facets = self.layer(facets, f"decoder.layers.{number}", states if self.config.cross_attention else None)
        return [self.linear(facet, "output") for facet in facets]

    def input(self, word: int) -> Floats:
        if self.config.input_table == "trained":
            vector: Floats = self.weights["table.weight"][word]
            return vector
        is_word = word >= FIRST_WORD_ID
        vector = self.held["table.vectors_VD"][word] if is_word else self.weights["table.special"][word]
        return self.linear(vector, "table.map")

    def read(self, inputs: list[Floats]) -> tuple[list[Floats], Floats]:
        positions = self.weights["encoder.positions"]
        states = [self.norm(x + position, "encoder.norm") for x, position in zip(inputs, positions, strict=False)]
        for number in range(self.config.encoder_layers):
            states = self.layer(states, f"encoder.layers.{number}", None)
        return states, states[-1]

    def read_twice(self, inputs: list[Floats]) -> tuple[list[Floats], Floats]:
        states = inputs
        for number in range(self.config.encoder_layers):
            ahead = self.lstm(states, f"encoder.forwards.{number}")
            back = self.lstm(states[::-1], f"encoder.backwards.{number}")
            states = [np.concatenate(pair) for pair in zip(ahead, back[::-1], strict=True)]
        return states, np.concatenate([ahead[-1], back[-1]])

    def layer(self, states: list[Floats], name: str, seen: list[Floats] | None) -> list[Floats]:
        attended = [self.attend(state, states, f"{name}.attention") for state in states]
        states = [self.norm(x + y, f"{name}.attention_norm") for x, y in zip(states, attended, strict=True)]
        if seen is not None:
            attended = [self.attend(state, seen, f"{name}.cross_attention") for state in states]
            states = [self.norm(x + y, f"{name}.cross_attention_norm") for x, y in zip(states, attended, strict=True)]
        wide = [[gelu(float(value)) for value in self.linear(state, f"{name}.widen")] for state in states]
        narrow = [self.linear(np.array(values), f"{name}.narrow") for values in wide]
        return [self.norm(x + y, f"{name}.feedforward_norm") for x, y in zip(states, narrow, strict=True)]

    def attend(self, state: Floats, seen: list[Floats], name: str) -> Floats:
        weight, bias = self.weights[f"{name}.query_key_value.weight"], self.weights[f"{name}.query_key_value.bias"]
        dim, size = self.config.dim, self.config.dim // self.config.heads
        found = []
        for head in range(self.config.heads):
            query, key, value = (slice(n * dim + head * size, n * dim + (head + 1) * size) for n in range(3))
            q = weight[query] @ state + bias[query]
            scores = [float(q @ (weight[key] @ other + bias[key])) / math.sqrt(size) for other in seen]
            shares = [math.exp(score) for score in scores]
            values = [weight[value] @ other + bias[value] for other in seen]
            found.append(sum(share / sum(shares) * v for share, v in zip(shares, values, strict=True)))
        return self.linear(np.concatenate(found), f"{name}.output")

    def lstm(self, inputs: list[Floats], name: str) -> list[Floats]:
        weights = [self.weights[f"{name}.lstm.{part}_l0"] for part in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")]
        cell = hidden = np.zeros(weights[2].shape[1])
        outputs = []
        for x in inputs:
            gates = weights[0] @ x + weights[1] + weights[2] @ hidden + weights[3]
            into, forget, candidate, out = np.split(gates, 4)
            cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(candidate)
            hidden = sigmoid(out) * np.tanh(cell)
            outputs.append(hidden)
        return outputs

    def linear(self, x: Floats, name: str) -> Floats:
        mapped: Floats = self.weights[f"{name}.weight"] @ x + self.weights[f"{name}.bias"]
        return mapped

    def norm(self, x: Floats, name: str) -> Floats:
        scaled = (x - x.mean()) / math.sqrt(((x - x.mean()) ** 2).mean() + 1e-12)
        normed: Floats = scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return normed


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


@all_shapes
@torch.no_grad()
def test_facets_are_those_of_plain_loops(config: ModelConfig) -> None:
    network = network_of(config)
    facets_BKD = network(*padded(TEXTS)).numpy()
    loops = PlainLoops(network)
    np.testing.assert_allclose(facets_BKD, [loops.facets(text) for text in TEXTS], rtol=0, atol=1e-10)
    assert np.ptp(facets_BKD, axis=0).min() > 1e-3  # texts differ, or the comparison would say little


@pytest.mark.parametrize("dim", [12, 24])  # heads of 4, which are filled up, and of 8, which are not
@torch.no_grad()
def test_fused_attention_with_heads_filled_up_gives_the_same(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(tiny(dim=dim))
    in_steps = network(*padded(TEXTS))
    monkeypatch.setattr(attention, "has_fused_attention", lambda _: True)
    torch.testing.assert_close(network(*padded(TEXTS)), in_steps, rtol=0, atol=1e-12)


@all_shapes
@torch.no_grad()
def test_the_facets_of_a_text_do_not_depend_on_its_batch(config: ModelConfig) -> None:
    network = network_of(config).float()
    together = network(*padded(TEXTS, to=config.max_tokens))
    for index, text in enumerate(TEXTS):
        alone = network(*padded([text]))[0]
        torch.testing.assert_close(together[index], alone, rtol=0, atol=2e-6)
        torch.testing.assert_close(network(torch.tensor([text]))[0], alone, rtol=0, atol=2e-6)


@all_shapes
@torch.no_grad()
def test_whatever_stands_in_the_padding_makes_no_difference(config: ModelConfig) -> None:
    network = network_of(config)
    token_ids_BL, lengths_B = padded(TEXTS)
    is_padding_BL = torch.arange(token_ids_BL.shape[1]) >= lengths_B[:, None]
    other_ids_BL = torch.where(is_padding_BL, 13, token_ids_BL)
    assert torch.equal(network(other_ids_BL, lengths_B), network(token_ids_BL, lengths_B))


@all_shapes
def test_padding_sends_no_gradient_to_the_text_table(config: ModelConfig) -> None:
    network = network_of(config).train()
    network(*padded(TEXTS)).square().sum().backward()
    table = network.get_parameter("table.weight" if config.input_table == "trained" else "table.special")
    assert table.grad is not None
    assert not table.grad[PAD_ID].any()
    assert table.grad[EOS_ID].any()
    assert table.grad[UNK_ID].any()


@all_shapes
@torch.no_grad()
def test_ids_and_lengths_may_be_of_either_integer_type(config: ModelConfig) -> None:
    network = network_of(config)
    token_ids_BL, lengths_B = padded(TEXTS)
    assert torch.equal(network(token_ids_BL.long(), lengths_B.int()), network(token_ids_BL, lengths_B))


@all_shapes
@torch.no_grad()
def test_decoding_what_was_encoded_is_the_whole(config: ModelConfig) -> None:
    network = network_of(config)
    token_ids_BL, lengths_B = padded(TEXTS)
    states_BLD = network.encode(token_ids_BL, lengths_B)
    assert states_BLD.shape == (*token_ids_BL.shape, config.dim)
    assert torch.equal(network.decode(states_BLD, lengths_B), network(token_ids_BL, lengths_B))


@torch.no_grad()
def test_a_text_is_what_its_eos_sees_and_facets_look_at_all_tokens_only_through_cross_attention() -> None:
    token_ids_BL, lengths_B = padded(TEXTS)
    for config, looks_at_tokens in ((SHAPES["facets"], True), (SHAPES["phrase"], False)):
        network = network_of(config)
        states_BLD = network.encode(token_ids_BL, lengths_B)
        other_BLD = states_BLD.clone()
        other_BLD[2, 0] += 1  # the first token of the third text
        is_changed_B = (network.decode(other_BLD, lengths_B) != network.decode(states_BLD, lengths_B)).any(2).any(1)
        assert is_changed_B.tolist() == [False, False, looks_at_tokens, False, False]
        other_BLD = states_BLD.clone()
        other_BLD[2, 6] += 1  # its <eos>
        is_changed_B = (network.decode(other_BLD, lengths_B) != network.decode(states_BLD, lengths_B)).any(2).any(1)
        assert is_changed_B.tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(("num_facets", "millions"), [(10, "13.66"), (1, "6.70")])
def test_the_paper_counts_the_same_parameters(num_facets: int, millions: str) -> None:
    """The arithmetic stands in `facetvec.model.shape`."""
    config = model_config("paper", unit="sentence", vocabulary_size=NUM_IDS, table={"num_facets": num_facets})
    network = FacetNetwork(config)
    num_parameters = sum(parameter.numel() for parameter in network.parameters()) - NUM_IDS * config.dim
    assert num_parameters == {10: 13_657_800, 1: 6_700_500}[num_facets]
    assert f"{num_parameters / 1e6:.2f}" == millions


def test_a_fixed_table_saves_the_word_vectors_from_the_state_and_adds_a_map() -> None:
    trained, fixed = (network_of(SHAPES[name]).state_dict() for name in ("facets", "fixed table"))
    dim = TINY["dim"]
    assert sum(map(torch.numel, trained.values())) - sum(map(torch.numel, fixed.values())) == (
        NUM_IDS * dim - FIRST_WORD_ID * dim - (dim * dim + dim)
    )


@all_shapes
def test_the_state_goes_through_a_file_and_gives_the_same_facets(config: ModelConfig, tmp_path: Path) -> None:
    network = network_of(config).float()
    save_file(network.state_dict(), tmp_path / "weights.safetensors")
    vectors_VD = word_vectors(config) if config.input_table == "fixed" else None
    again = FacetNetwork(config, vectors_VD=vectors_VD).eval()
    again.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    assert torch.equal(again(*padded(TEXTS)), network(*padded(TEXTS)))


def test_words_start_at_their_unit_vectors_times_the_root_of_the_dimension() -> None:
    config = SHAPES["facets"]
    vectors_VD = word_vectors(config)
    table_VD = FacetNetwork(config, vectors_VD=vectors_VD).get_parameter("table.weight")
    for word in range(FIRST_WORD_ID, NUM_IDS - 1):
        expected = vectors_VD[word] / vectors_VD[word].norm() * math.sqrt(config.dim)
        torch.testing.assert_close(table_VD[word].detach(), expected)


@torch.no_grad()
def test_ids_without_a_vector_start_in_random_directions_of_the_same_length_and_padding_at_zero() -> None:
    trained, fixed = (
        FacetNetwork(SHAPES[name], vectors_VD=word_vectors(SHAPES[name])) for name in ("facets", "fixed table")
    )
    table_VD, special_SD = trained.get_parameter("table.weight"), fixed.get_parameter("table.special")
    for rows in (table_VD[[UNK_ID, EOS_ID, NUM_IDS - 1]], special_SD[[UNK_ID, EOS_ID]]):
        torch.testing.assert_close(rows.norm(dim=1), torch.full((len(rows),), math.sqrt(TINY["dim"])))
        assert (rows[0] != rows[1]).all()
    assert not table_VD[PAD_ID].any()
    assert not special_SD[PAD_ID].any()


@torch.no_grad()
def test_both_input_tables_start_alike() -> None:
    trained, fixed = (
        FacetNetwork(SHAPES[name], vectors_VD=word_vectors(SHAPES[name])) for name in ("facets", "fixed table")
    )
    words = torch.arange(FIRST_WORD_ID, NUM_IDS - 1)[None]
    torch.testing.assert_close(fixed.table(words), trained.table(words))


def test_the_maps_of_the_facets_and_the_last_map_start_in_the_ranges_of_the_paper() -> None:
    config = model_config("fast", unit="sentence", vocabulary_size=9, table={"encoder_layers": 1, "decoder_layers": 1})
    network = FacetNetwork(config, generator=torch.Generator().manual_seed(0))
    for name, bound in {"facet_maps.maps.weight": 0.1, "facet_maps.maps.bias": 0.5, "output.weight": 0.1}.items():
        weight = network.get_parameter(name)
        assert 0.99 * bound < weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)


@all_shapes
def test_gradients_reach_every_parameter_of_every_facet(config: ModelConfig) -> None:
    network = network_of(config).train()
    network(*padded(TEXTS)).pow(3).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name
    maps = network.get_parameter("facet_maps.maps.weight").grad
    assert maps is not None
    assert maps.view(config.num_facets, config.dim, config.dim).flatten(1).any(1).all()
    if config.input_table == "fixed":
        assert not network.get_buffer("table.vectors_VD").requires_grad


@all_shapes
def test_dropout_strikes_in_training_alone_and_follows_the_seed(config: ModelConfig) -> None:
    network = network_of(config)
    batch = padded(TEXTS)
    in_use = network(*batch)
    assert torch.equal(network(*batch), in_use)
    network.train()
    drawn = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        drawn.append(network(*batch))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], in_use)


@all_shapes
def test_the_start_follows_the_generator_and_leaves_that_of_pytorch_alone(config: ModelConfig) -> None:
    before = torch.get_rng_state()
    states = [
        FacetNetwork(
            config, vectors_VD=word_vectors(config), generator=torch.Generator().manual_seed(seed)
        ).state_dict()
        for seed in (1, 1, 2)
    ]
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not torch.equal(states[0]["output.weight"], states[2]["output.weight"])


@all_shapes
def test_without_a_generator_the_start_follows_the_seed_of_pytorch(config: ModelConfig) -> None:
    weights = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        weights.append(FacetNetwork(config, vectors_VD=word_vectors(config)).get_parameter("output.weight"))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("num_facets", [1, 2, 7, 100])
@torch.no_grad()
def test_there_may_be_1_to_100_facets_all_different(num_facets: int) -> None:
    config = tiny(num_facets=num_facets)
    facets_BKD = network_of(config)(*padded(TEXTS))
    assert facets_BKD.shape == (len(TEXTS), num_facets, config.dim)
    distances_BKK = torch.cdist(facets_BKD, facets_BKD)
    assert (distances_BKK + torch.eye(num_facets) > 1e-3).all()


@all_shapes
def test_nothing_waits_for_the_device(config: ModelConfig) -> None:
    """Tensors without values stand for those on a device that is still at work: reading one is an error."""
    network = network_of(config).to("meta").train()
    token_ids_BL, lengths_B = (tensor.to("meta") for tensor in padded(TEXTS))
    for lengths in (lengths_B, None):
        facets_BKD = network(token_ids_BL, lengths)
        assert facets_BKD.shape == (len(TEXTS), config.num_facets, config.dim)
        facets_BKD.sum().backward()


@all_shapes
@torch.no_grad()
def test_facets_under_autocast_to_bfloat16_are_nearly_the_same(config: ModelConfig) -> None:
    network = network_of(config).float()
    exact = network(*padded(TEXTS))
    with torch.autocast("cpu", torch.bfloat16):
        rough = network(*padded(TEXTS)).float()
    assert (rough - exact).norm() < 0.03 * exact.norm()
    assert not torch.equal(rough, exact)


@all_shapes
@torch.no_grad()
def test_an_input_that_is_too_long_is_an_error_that_says_what_to_do(config: ModelConfig) -> None:
    network = network_of(config)
    network(torch.full((1, config.max_tokens), 5))
    with pytest.raises(InputError, match="at most 9 tokens with <eos>, found 10: shorten them, or train"):
        network(torch.full((1, config.max_tokens + 1), 5))


def test_word_vectors_of_the_wrong_shape_are_an_error_that_gives_both() -> None:
    with pytest.raises(ConfigError, match=r"expected word vectors of shape \(20, 12\) .*found \(20, 13\)"):
        FacetNetwork(SHAPES["facets"], vectors_VD=torch.zeros(20, 13))


def test_a_fixed_table_asks_for_the_vectors_it_holds() -> None:
    with pytest.raises(ConfigError, match="give the word vectors it holds"):
        FacetNetwork(SHAPES["fixed table"])


@pytest.mark.parametrize("change", [lambda text: text[::-1], lambda text: [*text, text[0]]])
@torch.no_grad()
def test_the_order_and_number_of_words_matter(change: Callable[[list[int]], list[int]]) -> None:
    for config in (SHAPES["facets"], SHAPES["lstm"]):
        network = network_of(config)
        one, other = ([*words, EOS_ID] for words in ([7, 3, 12], change([7, 3, 12])))
        assert (network(torch.tensor([one])) - network(torch.tensor([other]))).abs().max() > 1e-3
