"""The command `facetvec`, as a user calls it: what it prints, where, and with which exit code."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from facetvec.checkpoint import ModelFolder
from facetvec.cli import main
from facetvec.examples.store import Store
from facetvec.vectors import read_vectors


@dataclass
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command in this process."""

    def call(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["facetvec", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Result(int(ended.value.code or 0), captured.out, captured.err)

    return call


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "facetvec", *map(str, arguments)]


def test_help_lists_the_commands(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    assert all(name in result.out for name in ("prepare", "info", "vectors", "demo"))


def test_help_of_prepare_shows_the_table_of_the_settings_file(run: Run) -> None:
    assert "[corpus]" in run("prepare", "--help").out


def test_the_version_is_shown(run: Run) -> None:
    assert run("--version").out.strip() == "0.1.0"


def test_text_becomes_a_store_and_info_shows_it(run: Run, garden: Path, tmp_path: Path) -> None:
    prepared = run("prepare", garden, "--out", tmp_path / "store", "--min-count", "1")
    assert prepared.code == 0
    assert "11 sentences of 3 documents" in prepared.out
    shown = run("info", tmp_path / "store", "--verify")
    assert shown.code == 0
    assert "11  of 12" in shown.out
    assert "→ " in shown.out
    facts = json.loads(run("info", tmp_path / "store", "--json", "--examples", "2").out)
    assert (facts["sentences"], facts["documents"], facts["unknown_share"]) == (11, 3, 0)
    assert sum(facts["lengths"].values()) == 11
    assert len(facts["examples"]) == 2


def test_phrases_become_a_store(run: Run, garden: Path, tmp_path: Path) -> None:
    pytest.importorskip("textblob")
    out = tmp_path / "store"
    flags = ("--unit", "phrase", "--min-count", "1", "--config", tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text("[corpus]\nmin_phrase_count = 2\n")
    assert "phrases in 11 sentences" in run("prepare", garden, "--out", out, *flags).out
    store = Store.open(out)
    phrases = {
        store.text(store.tokens[start : start + length])
        for start, length in zip(store.phrase_starts, store.phrase_lengths, strict=True)
    }
    assert {"snow", "herring", "climbers"} <= phrases
    assert "young roses" not in phrases  # only once
    assert "words in a phrase" in run("info", out).out


def test_standard_input_is_read(
    run: Run, garden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(garden.read_bytes()))))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert "11 sentences" in run("prepare", "-", "--out", tmp_path / "store", "--min-count", "1", "--workers", "1").out


def test_flags_reach_the_settings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "#1\\nThe cat sat on the mat ."}\n')
    flags = (
        "--field",
        "body",
        "--format",
        "jsonl",
        "--cased",
        "--pretokenized",
        "--min-count",
        "1",
        "--max-vocabulary",
        "5",
    )
    assert run("prepare", tmp_path / "a.jsonl", "--out", tmp_path / "store", *flags).code == 0
    config = Store.open(tmp_path / "store").config
    assert (config.field, config.lower, config.tokens, config.segmenter) == ("body", False, "blanks", "line")
    assert len(Store.open(tmp_path / "store").words) == 8
    marked = tmp_path / "b.txt"
    marked.write_text("#1\nThe cat sat on the mat.\n#2\nThe dog sat on the mat.\n")
    assert run("prepare", marked, "--out", tmp_path / "b", "--document-marker", "^#", "--min-count", "1").code == 0
    assert Store.open(tmp_path / "b").documents.tolist() == [0, 1, 2]


def test_wrong_input_is_one_line_and_exit_code_1(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"good\nbad \xff\n")
    result = run("prepare", bad, "--out", tmp_path / "out")
    assert (result.code, result.out) == (1, "")
    assert result.err == f"facetvec: {bad}:2: expected UTF-8, found the byte 0xff at column 5\n"


def test_verbose_shows_where_an_error_happened(run: Run, tmp_path: Path) -> None:
    assert "Traceback" not in run("info", tmp_path).err
    assert "Traceback" in run("-v", "info", tmp_path).err


def test_wrong_usage_is_exit_code_2(run: Run, garden: Path, tmp_path: Path) -> None:
    assert run("prepare", garden).code == 2
    assert run("prepare", garden, "--out", tmp_path, "--documents", "page").code == 2
    assert run("nonsense").code == 2


def test_what_is_skipped_is_named_and_counted(run: Run, garden: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"bad \xff\n")
    result = run("prepare", garden, bad, "--out", tmp_path / "out", "--min-count", "1", "--on-error", "skip")
    assert result.code == 0
    assert "skipped 1" in result.out
    assert "bad.txt:1: expected UTF-8" in result.err


def test_a_complete_store_is_kept_without_force(run: Run, garden: Path, tmp_path: Path) -> None:
    arguments = ("prepare", garden, "--out", tmp_path / "out", "--min-count", "1")
    assert run(*arguments).code == 0
    assert run(*arguments).code == 1
    assert run(*arguments, "--force").code == 0


@pytest.mark.parametrize("engine", ["gensim", "torch"])
def test_word_vectors_are_trained_on_a_store(run: Run, garden: Path, tmp_path: Path, engine: str) -> None:
    pytest.importorskip(engine)
    out = tmp_path / "vectors.safetensors"
    run("prepare", garden, "--out", tmp_path / "store", "--min-count", "1")
    flags = ("--dim", "16", "--epochs", "2", "--engine", engine, "--workers", "1", "--seed", "5")
    trained = run("vectors", "train", tmp_path / "store", "--out", out, *flags)
    assert (trained.code, trained.out) == (0, f"{out}: 85 words, 16 dimensions\n")
    first = out.read_bytes()
    run("vectors", "train", tmp_path / "store", "--out", out, *flags)
    assert out.read_bytes() == first
    space = read_vectors(out).space
    assert np.allclose(np.linalg.norm(space.vectors_VD, axis=1), 1, atol=1e-5)
    store = Store.open(tmp_path / "store")
    assert "yes" not in space.words  # it stands in no sentence of the store
    assert space.counts is not None
    assert np.array_equal([store.counts[store.words.index(word)] for word in space.words], space.counts)


@pytest.fixture
def training(garden: Path, tmp_path: Path) -> list[str | Path]:
    """The one line that makes a model of the garden, in a few small steps."""
    pytest.importorskip("torch")
    settings = tmp_path / "small.toml"
    settings.write_text(
        "[corpus]\nmin_count = 1\n"
        "[model]\nencoder_layers = 1\ndecoder_layers = 1\n"
        '[training]\nbatch_size = 4\nvalidations = 2\nprecision = "float32"\n'
    )
    flags = "--steps 6 --facets 2 --dim 16 --device cpu --workers 1"
    return ["train", garden, "--config", settings, *flags.split()]


def test_one_line_turns_a_text_file_into_a_model_folder(run: Run, training: list[str | Path], tmp_path: Path) -> None:
    result = run(*training, "--out", tmp_path / "model")
    assert (result.code, result.out) == (0, f"{tmp_path / 'model'}: 2 facets of 16 dimensions, 6 steps\n")
    assert "training begins on cpu in float32: 6 examples, 89 words" in result.err
    model = ModelFolder.open(tmp_path / "model")
    assert model.config["facts"]["steps"] == 6
    assert (model.config["model"]["num_facets"], model.config["model"]["heads"]) == (2, 1)
    assert model.space().dimension == 16
    log = (tmp_path / "model" / ".run" / "log.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["event"] for line in log]
    assert (kinds[0], kinds[-1], kinds.count("validated")) == ("planned", "finished", 2)


def test_the_same_line_goes_on_with_a_run_and_force_starts_anew(
    run: Run, training: list[str | Path], tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "model")
    run(*training, *out)
    weights = (tmp_path / "model" / "model.safetensors").read_bytes()
    longer = run(*training, *out, "--steps", "8")
    assert "training goes on" in longer.err
    assert "8 steps" in longer.out
    other = tmp_path / "other.txt"
    other.write_text("Another text with as many words as a sentence needs.\n")
    elsewhere = run("train", other, *training[2:], *out)
    assert (elsewhere.code, "was made of other text" in elsewhere.err) == (1, True)
    refused = run(*training, *out, "--learning-rate", "0.5")
    assert (refused.code, "other learning_rate; --force starts anew" in refused.err) == (1, True)
    assert "training begins" in run(*training, *out, "--force").err
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == weights


def test_a_store_and_vectors_that_are_there_are_used(
    run: Run, garden: Path, training: list[str | Path], tmp_path: Path
) -> None:
    store, vectors = tmp_path / "store", tmp_path / "vectors.txt"
    run("prepare", garden, "--out", store, "--min-count", "1")
    vectors.write_text("roses 1 0 0 0\ngardener 0.9 0.1 0 0\nherring 0 0 1 0.2\nsnow 0 1 0 0\n")
    flags = training[2:]
    result = run("train", store, "--vectors", vectors, "--out", tmp_path / "model", *flags)
    assert result.code == 0
    assert "82 of 86 words have no vector" in result.err
    model = ModelFolder.open(tmp_path / "model")
    assert model.space().words == ("roses", "gardener", "herring", "snow")
    assert model.config["model"]["dim"] == 4


def test_a_folder_that_cannot_be_written_is_one_line(
    run: Run, garden: Path, training: list[str | Path], tmp_path: Path
) -> None:
    result = run(*training, "--out", garden / "model")
    assert (result.code, "Traceback" in result.err) == (1, False)
    assert str(garden) in result.err


@pytest.mark.parametrize("time", ["40", "m", "-3m", "4x"])
def test_a_time_that_is_none_is_said(run: Run, training: list[str | Path], tmp_path: Path, time: str) -> None:
    result = run(*training, "--out", tmp_path / "model", f"--time={time}")
    assert (result.code, f"expected a time such as 90s, 40m or 8h, found '{time}'" in result.err) == (1, True)


def test_the_demo_shows_a_store(run: Run) -> None:
    result = run("demo")
    assert result.code == 0
    assert "→ " in result.out
    assert "vocabulary" in result.out


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Enough text that preparing it takes two seconds: time to stop it in between."""
    path = tmp_path / "large.txt"
    sentences = (
        f"Sentence number {n} of the {n % 97}th kind says that w{n % 1009} meets w{n % 2003}.\n" for n in range(250_000)
    )
    path.write_text("".join(f"{sentence}\n" if n % 10 == 9 else sentence for n, sentence in enumerate(sentences)))
    return path


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if condition():
            return
        time.sleep(0.001)
    raise TimeoutError


posix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are POSIX")


@posix_only
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_no_store_and_the_next_one_goes_on(
    large: Path, tmp_path: Path, how: signal.Signals
) -> None:
    out = tmp_path / "out"
    arguments = ("prepare", large, "--out", out, "--workers", "2", "--min-count", "1")
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)
    wait_for((out / ".work" / "piece-000000.safetensors").exists)
    process.send_signal(how)
    _, err = process.communicate(timeout=30)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    if how == signal.SIGINT:
        assert "run the same command again to go on" in err
        assert "Traceback" not in err
    info = subprocess.run(command("info", out), capture_output=True, text=True)
    assert info.returncode == 1
    assert "is not complete" in info.stderr
    again = subprocess.run(command(*arguments), capture_output=True, text=True)
    assert again.returncode == 0
    assert "going on with the work of a run that was stopped" in again.stderr
    whole = subprocess.run(
        command("prepare", large, "--out", tmp_path / "whole", "--min-count", "1"), capture_output=True
    )
    assert whole.returncode == 0
    assert (out / "manifest.json").read_bytes() == (tmp_path / "whole" / "manifest.json").read_bytes()
    Store.open(out).verify()


@posix_only
def test_a_full_disk_is_one_line_and_leaves_no_store(large: Path, tmp_path: Path) -> None:
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000));"
        "from facetvec.cli import main; main()"
    )
    arguments = ["prepare", str(large), "--out", str(tmp_path / "out"), "--workers", "1"]
    result = subprocess.run([sys.executable, "-c", limited, *arguments], capture_output=True, text=True)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "what is done so far is kept" in result.stderr
    assert subprocess.run(command("info", tmp_path / "out"), capture_output=True).returncode == 1


@posix_only
def test_a_second_run_on_the_same_folder_stops(large: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("prepare", large, "--out", out, "--workers", "1")
    first = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL)
    wait_for((out / ".work").exists)
    second = subprocess.run(command(*arguments), capture_output=True, text=True)
    assert second.returncode == 1
    assert "another run is at work on this folder" in second.stderr
    assert first.wait(timeout=60) == 0
    Store.open(out).verify()


def test_a_worker_whose_parent_is_gone_ends_too(large: Path, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("looks into /proc")
    process = subprocess.Popen(command("prepare", large, "--out", tmp_path / "out", "--workers", "2"))
    wait_for((tmp_path / "out" / ".work" / "piece-000000.safetensors").exists)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) >= 2
    process.kill()
    process.wait()
    wait_for(lambda: not any(is_running(int(child)) for child in children))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
