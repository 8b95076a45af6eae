from pathlib import Path

import pytest

from facetvec.config import CorpusConfig, corpus_config, read_toml
from facetvec.errors import ConfigError, InputError


def test_flags_win_over_the_file_and_the_file_over_the_profile(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('[corpus]\nmin_count = 7\nmin_tokens = 4\n[training]\nother = "of no concern"\n')
    config = corpus_config("paper", file=file, flags={"min_tokens": 3})
    assert (config.segmenter, config.min_count, config.min_tokens) == ("spacy", 7, 3)


def test_settings_come_back_from_their_table() -> None:
    config = CorpusConfig(unit="phrase", documents="marker", document_marker="^#", validation_share=0)
    assert CorpusConfig.from_table(config.to_table()) == config


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"min_cuont": 3}, "unknown setting min_cuont; known are document_marker, documents, field"),
        ({"min_count": 0}, "min_count must be at least 1, found 0"),
        ({"min_count": "3"}, "min_count must be int, found '3'"),
        ({"min_count": True}, "min_count must be int, found True"),
        ({"max_vocabulary": 2.5}, "max_vocabulary must be int or nothing, found 2.5"),
        ({"max_vocabulary": 0}, "max_vocabulary must be at least 1"),
        ({"min_tokens": 9, "max_tokens": 8}, "max_tokens must be at least 9, found 8"),
        ({"validation_share": 1.0}, "validation_share must be at least 0 and below 1, found 1.0"),
        ({"unit": "word"}, "unit must be one of sentence, phrase, found 'word'"),
        ({"document_marker": "^#"}, "goes with documents = 'marker', and only with it"),
        ({"documents": "marker"}, "goes with documents = 'marker', and only with it"),
        ({"documents": "marker", "document_marker": "("}, "document_marker is not a regular expression"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        CorpusConfig.from_table(table)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_profile_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match="unknown profile 'slow'; there are fast, paper"):
        corpus_config("slow")


@pytest.mark.parametrize("content", [b"[corpus", b"\xff\xfe", None])
def test_a_settings_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.toml: "):
        read_toml(path)
