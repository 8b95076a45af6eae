import pytest

from facetvec.config import Checked
from facetvec.errors import ConfigError
from facetvec.model.shape import ModelConfig, Unit, model_config
from facetvec.vocabulary.tokenizer import FIRST_WORD_ID


def test_the_smallest_vocabulary_is_that_of_the_special_words() -> None:
    assert ModelConfig(vocabulary_size=FIRST_WORD_ID).vocabulary_size == FIRST_WORD_ID
    with pytest.raises(ConfigError, match="vocabulary_size must be at least 3"):
        ModelConfig(vocabulary_size=FIRST_WORD_ID - 1)


def test_settings_come_back_from_their_table() -> None:
    config = model_config("paper", unit="phrase", vocabulary_size=99, table={"input_table": "fixed", "num_facets": 1})
    assert ModelConfig.from_table(config.to_table()) == config
    assert isinstance(config, Checked)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"num_facet": 3}, "unknown setting num_facet; known are architecture"),
        ({"num_facets": 0}, "num_facets must be 1 to 100, found 0"),
        ({"num_facets": 101}, "num_facets must be 1 to 100, found 101"),
        ({"dim": 100, "heads": 8}, "dim must be a multiple of heads, found dim 100 and heads 8"),
        ({"heads": 0}, "heads must be at least 1, found 0"),
        ({"decoder_layers": 0}, "decoder_layers must be at least 1, found 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, found 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, found 1.0"),
        ({"attention_dropout": -0.1}, "attention_dropout must be at least 0 and below 1, found -0.1"),
        ({"architecture": "gru"}, "architecture must be one of transformer, lstm, found 'gru'"),
        ({"input_table": "frozen"}, "input_table must be one of trained, fixed, found 'frozen'"),
        ({"architecture": "lstm", "cross_attention": True}, "an LSTM has no cross-attention"),
        ({"architecture": "lstm", "dim": 75}, "dim must be even for an LSTM"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        model_config("fast", unit="sentence", vocabulary_size=10, table=table)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("unit", "num_facets", "expected"),
    [
        ("sentence", 10, {"decoder_layers": 5, "cross_attention": True, "max_tokens": 51, "decoder_dropout": 0.1}),
        ("sentence", 1, {"decoder_layers": 1, "cross_attention": False, "max_tokens": 51, "decoder_dropout": 0.1}),
        ("phrase", 10, {"decoder_layers": 2, "cross_attention": False, "max_tokens": 6, "decoder_dropout": 0.5}),
        ("phrase", 1, {"decoder_layers": 2, "cross_attention": False, "max_tokens": 6, "decoder_dropout": 0.5}),
    ],
)
def test_the_paper_has_four_shapes(unit: Unit, num_facets: int, expected: dict[str, object]) -> None:
    config = model_config("paper", unit=unit, vocabulary_size=9, table={"num_facets": num_facets})
    everywhere: dict[str, object] = {
        "vocabulary_size": 9,
        "num_facets": num_facets,
        "dim": 300,
        "heads": 10,
        "encoder_layers": 5,
    }
    everywhere |= {"dropout": 0.1, "attention_dropout": 0.1}
    assert config == ModelConfig.from_table(everywhere | expected)


@pytest.mark.parametrize("profile", ["fast", "paper"])
def test_a_table_wins_over_the_profile(profile: str) -> None:
    table = {"num_facets": 1, "decoder_layers": 4, "cross_attention": True}
    config = model_config(profile, unit="sentence", vocabulary_size=9, table=table)
    assert (config.num_facets, config.decoder_layers, config.cross_attention) == (1, 4, True)


def test_an_unknown_profile_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match="unknown profile 'slow'; there are fast, paper"):
        model_config("slow", unit="sentence", vocabulary_size=9)


def test_heads_of_the_default_are_of_a_size_that_fused_attention_takes_as_it_is() -> None:
    config = model_config("fast", unit="sentence", vocabulary_size=9)
    assert config.dim % 64 == 0
    assert config.dim // config.heads in (32, 64)
