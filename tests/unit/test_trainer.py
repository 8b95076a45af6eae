"""A run: learns, stops and goes on, says what it does; its parts against what they promise."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from facetvec.config import CorpusConfig, TrainingConfig, training_config
from facetvec.errors import ConfigError, InputError, StoreError
from facetvec.examples.batches import Batches, Position
from facetvec.examples.prepare import prepare
from facetvec.examples.store import Store
from facetvec.model.shape import ModelConfig
from facetvec.trainer import schedule
from facetvec.trainer.events import Event, Finished, Planned, Saved, Stepped, Validated
from facetvec.trainer.feed import Feed, negatives_of
from facetvec.trainer.run import Run
from facetvec.trainer.state import load_state, save_state
from facetvec.vectors import WordSpace

TOPICS = {
    "sea": "boat harbour herring sailor tide wave anchor deck captain island",
    "bread": "flour oven yeast crust dough baker loaf salt butter kitchen",
    "music": "violin oboe melody concert baton brass string hall score singer",
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors are fastest on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Sixty documents, each of eight sentences about one of three things."""
    folder = tmp_path_factory.mktemp("topics")
    generator = np.random.default_rng(1)
    documents = []
    for number in range(60):
        words = list(TOPICS.values())[number % 3].split()
        sentences = [" ".join(generator.choice(words, size=generator.integers(5, 9))) for _ in range(8)]
        documents.append(".\n".join(sentence.capitalize() for sentence in sentences))
    (folder / "a.txt").write_text(".\n\n".join(documents))
    config = CorpusConfig(min_count=1, validation_share=0.05)
    return prepare([folder / "a.txt"], out=folder / "store", config=config)


@pytest.fixture(scope="module")
def space(store: Store) -> WordSpace:
    """Words of a topic point one way, with noise; one word has no vector."""
    generator = np.random.default_rng(2)
    words, vectors = [], []
    for direction, topic in enumerate(TOPICS.values()):
        for word in topic.split():
            vector = 0.4 * generator.normal(size=16)
            vector[direction] += 2
            words.append(word)
            vectors.append(vector)
    known = [number for number, word in enumerate(words) if word in store.words and word != "anchor"]
    return WordSpace(words=tuple(words[number] for number in known), vectors_VD=np.array(vectors, np.float32)[known])


def model_of(store: Store) -> ModelConfig:
    return ModelConfig(
        vocabulary_size=len(store.words), num_facets=3, dim=16, heads=2, encoder_layers=1, decoder_layers=1
    )


def make_run(store: Store, space: WordSpace, folder: Path, *, model: ModelConfig | None = None, **settings: Any) -> Run:
    table = {"epochs": None, "steps": 12, "batch_size": 16, "precision": "float32", "validations": 3} | settings
    config = TrainingConfig.from_table(table)
    return Run(store, space, folder=folder, model=model or model_of(store), config=config, device="cpu")


def of_kind(kind: type[Event], events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def last_weights(run: Run) -> dict[str, Tensor]:
    return dict(run.learner.network.state_dict())


def test_a_run_learns_to_tell_own_targets_from_others(store: Store, space: WordSpace, tmp_path: Path) -> None:
    run = make_run(store, space, tmp_path, steps=150, learning_rate=5e-3)
    validations = of_kind(Validated, list(run.events()))
    first, last = validations[0], validations[-1]
    assert isinstance(first, Validated)
    assert isinstance(last, Validated)
    assert last.figures.loss < first.figures.loss
    assert last.figures.own_error < 0.45  # a topic's direction explains most of its words
    assert last.figures.other_error > 0.5  # a third of them are of the same topic
    assert last.figures.facet_norm == pytest.approx(1, abs=1e-4)


def test_events_tell_the_plan_the_steps_validations_and_the_end(store: Store, space: WordSpace, tmp_path: Path) -> None:
    run = make_run(store, space, tmp_path)
    events = list(run.events())
    plan = events[0]
    assert isinstance(plan, Planned)
    assert (plan.num_steps, plan.device, plan.precision, plan.resumed) == (12, "cpu", "float32", False)
    assert plan.num_parameters == sum(weight.numel() for weight in run.learner.network.parameters())
    assert plan.seconds > 0
    assert [event.step for event in of_kind(Validated, events)] == [4, 8, 12]
    last_step = of_kind(Stepped, events)[-1]
    assert isinstance(last_step, Stepped)
    assert (last_step.step, last_step.share, last_step.seconds_left) == (12, 1.0, 0.0)
    assert isinstance(events[-2], Saved)
    end = events[-1].to_dict()
    assert (end["event"], end["step"], end["reason"]) == ("finished", 12, "the budget is spent")


def test_two_runs_of_one_seed_are_bit_equal_and_another_seed_is_not(
    store: Store, space: WordSpace, tmp_path: Path
) -> None:
    runs = [make_run(store, space, tmp_path / str(number), seed=seed) for number, seed in enumerate((3, 3, 4))]
    for run in runs:
        list(run.events())
    assert_equal(last_weights(runs[0]), last_weights(runs[1]))
    differing = [
        not torch.equal(a, b)
        for a, b in zip(last_weights(runs[0]).values(), last_weights(runs[2]).values(), strict=True)
    ]
    assert any(differing)


@pytest.mark.parametrize(
    "settings",
    [{}, {"optimizer": "sgd", "schedule": "plateau"}, {"own_words": 0.3, "num_negatives": 2}, {"solver": "rmsprop"}],
)
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(
    store: Store, space: WordSpace, tmp_path: Path, settings: dict[str, Any]
) -> None:
    whole = make_run(store, space, tmp_path / "whole", **settings)
    list(whole.events())
    for _ in range(2):
        part = make_run(store, space, tmp_path / "parts", **settings)
        for event in part.events():
            if isinstance(event, Validated):
                part.stop()
        assert part.step < 12
    rest = make_run(store, space, tmp_path / "parts", **settings)
    events = list(rest.events())
    assert isinstance(events[0], Planned)
    assert events[0].resumed
    assert rest.step == 12
    assert_equal(last_weights(rest), last_weights(whole))
    assert_equal(rest.weights(), whole.weights())
    assert rest.best == whole.best


def test_a_run_goes_on_from_the_state_before_if_the_last_is_damaged(
    store: Store, space: WordSpace, tmp_path: Path
) -> None:
    whole = make_run(store, space, tmp_path / "whole")
    list(whole.events())
    part = make_run(store, space, tmp_path / "parts", checkpoint_minutes=1e-9)
    for event in part.events():
        if isinstance(event, Saved) and event.step == 6:
            part.stop()
    states = sorted((tmp_path / "parts").glob("state-*"))
    assert len(states) == 2  # no more are kept
    states[-1].write_bytes(states[-1].read_bytes()[:1000])
    rest = make_run(store, space, tmp_path / "parts")
    list(rest.events())
    assert_equal(last_weights(rest), last_weights(whole))


def test_a_longer_budget_goes_on_but_other_settings_or_text_are_refused(
    store: Store, space: WordSpace, garden_store: Store, tmp_path: Path
) -> None:
    list(make_run(store, space, tmp_path).events())
    longer = make_run(store, space, tmp_path, steps=15)
    assert next(iter(longer.events())).step == 12
    with pytest.raises(ConfigError, match="holds a run with other learning_rate; --force starts anew"):
        list(make_run(store, space, tmp_path, learning_rate=0.5).events())
    bare = dataclasses.replace(model_of(store), encoder_layers=2)
    with pytest.raises(ConfigError, match="other encoder_layers"):
        list(make_run(store, space, tmp_path, model=bare).events())
    other = WordSpace(words=("roses", "boat"), vectors_VD=np.eye(2, 16, dtype=np.float32))
    with pytest.raises(ConfigError, match="other text, vectors"):
        list(make_run(garden_store, other, tmp_path, batch_size=4).events())


def test_training_ends_when_validation_has_stopped_improving(store: Store, space: WordSpace, tmp_path: Path) -> None:
    run = make_run(store, space, tmp_path, steps=100, validations=50, patience=3, learning_rate=1e-9, penalty_warmup=0)
    events = list(run.events())
    assert isinstance(events[-1], Finished)
    assert events[-1].reason == "3 validations have brought nothing better"
    assert run.step < 100


def test_the_best_weights_by_validation_are_kept(store: Store, space: WordSpace, tmp_path: Path) -> None:
    run = make_run(store, space, tmp_path, steps=40, validations=8, learning_rate=0.05)
    kept = {}
    for event in run.events():
        if isinstance(event, Validated) and event.is_best:
            kept = {name: weight.clone() for name, weight in last_weights(run).items()}
            best = event.figures.loss
    assert_equal(run.weights(), kept)
    assert run.best is not None
    assert run.best["loss"] == best


def test_minutes_are_kept(store: Store, space: WordSpace, tmp_path: Path) -> None:
    run = make_run(store, space, tmp_path, steps=None, minutes=0.01, validations=1)
    events = list(run.events())
    assert isinstance(events[-1], Finished)
    assert 0.6 <= events[-1].seconds < 3
    assert of_kind(Stepped, events)[-1].step == run.step


def test_a_network_too_short_for_the_store_is_an_error(store: Store, space: WordSpace, tmp_path: Path) -> None:
    short = dataclasses.replace(model_of(store), max_tokens=6)
    with pytest.raises(ConfigError, match="max_tokens must be at least 10 for this store, found 6"):
        make_run(store, space, tmp_path, model=short)


def test_a_word_space_that_knows_no_word_is_an_error(store: Store, tmp_path: Path) -> None:
    strange = WordSpace(words=("zeppelin",), vectors_VD=np.ones((1, 16), np.float32))
    with pytest.raises(InputError, match="the word space knows none of the words of the store"):
        make_run(store, strange, tmp_path)


def test_a_state_of_another_version_is_refused(store: Store, space: WordSpace, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    list(make_run(store, space, tmp_path).events())
    for path in tmp_path.glob("state-*"):
        save_file({"a": torch.zeros(1)}, path, {"format": "facetvec-run", "version": "9"})
    with pytest.raises(StoreError, match="version '9'"):
        list(make_run(store, space, tmp_path).events())


def test_a_state_comes_back_bit_equal(store: Store, space: WordSpace, tmp_path: Path) -> None:
    run = make_run(store, space, tmp_path / "run")
    list(run.events())
    state = load_state(tmp_path / "run")
    assert state is not None
    save_state(state, tmp_path / "copy")
    again = load_state(tmp_path / "copy")
    assert again is not None
    assert again.table == state.table
    assert_equal(again.tensors, state.tensors)


class TestFeed:
    def rows_of(self, store: Store, *, num_known: int | None = None, **settings: Any) -> tuple[Feed, Batches]:
        config = TrainingConfig.from_table({"batch_size": 16} | settings)
        is_known = np.arange(len(store.words)) < (num_known or len(store.words))
        feed = Feed(config, is_known=is_known, max_tokens=51, device=torch.device("cpu"))
        return feed, Batches(store, batch_size=16, own_words=config.own_words > 0)

    def test_weights_add_up_to_one_over_words_with_a_vector(self, store: Store) -> None:
        feed, batches = self.rows_of(store, num_known=15)
        rows = feed.rows(batches.draw(Position()), key=5)
        assert float(rows.own_weights_BN.sum()) == pytest.approx(1)
        is_used = rows.own_weights_BN > 0
        assert bool((rows.own_ids_BN[is_used] < 15).all())
        assert bool((rows.own_ids_BN[~is_used] >= 15).logical_or(rows.own_ids_BN[~is_used] == 0).all())

    def test_own_words_weigh_what_the_settings_say(self, store: Store) -> None:
        feed, batches = self.rows_of(store, own_words=0.25)
        rows = feed.rows(batches.draw(Position()), key=5)
        weights = np.unique(rows.own_weights_BN.numpy())
        assert len(weights) == 3
        assert weights[1] / weights[2] == pytest.approx(0.25)

    @pytest.mark.parametrize("kind", ["rotation", "batch"])
    def test_negatives_are_targets_of_other_texts(self, store: Store, kind: str) -> None:
        feed, batches = self.rows_of(store, negatives=kind, num_negatives=3)
        rows = feed.rows(batches.draw(Position()), key=5)
        partners = negatives_of(16, config=feed.config, key=5)
        num_targets = rows.own_ids_BN.shape[1]
        for text, others in enumerate(partners):
            for place, other in enumerate(others):
                borrowed = rows.other_ids_BR[text, place * num_targets : (place + 1) * num_targets]
                assert other != text
                assert torch.equal(borrowed, rows.own_ids_BN[other])
        assert float(rows.other_weights_BR.sum()) == pytest.approx(1)

    def test_processes_see_together_what_one_sees_alone(self, store: Store) -> None:
        feed, batches = self.rows_of(store)
        batch = batches.draw(Position())
        whole = feed.rows(batch, key=9)
        for rank in range(3):
            share = Feed(
                feed.config, is_known=feed.is_known, max_tokens=51, device=feed.device, rank=rank, world_size=3
            )
            part = share.rows(batch, key=9)
            for name in ("token_ids_BL", "own_ids_BN", "own_weights_BN", "other_ids_BR", "other_weights_BR"):
                assert torch.equal(getattr(part, name), getattr(whole, name)[rank::3]), name

    def test_every_other_text_is_a_negative_at_some_time(self) -> None:
        for kind in ("rotation", "batch"):
            config = TrainingConfig.from_table({"negatives": kind})
            drawn = {int(negatives_of(5, config=config, key=key)[0, 0]) for key in range(100)}
            assert drawn == {1, 2, 3, 4}


class TestSchedule:
    def test_the_rate_rises_then_falls_in_straight_lines_to_zero(self) -> None:
        config = TrainingConfig(warmup=0.2, learning_rate=1.0)
        shares = (0, 0.1, 0.2, 0.6, 1)
        rates = [schedule.learning_rate(config, share=share, num_plateaus=3) for share in shares]
        assert rates == pytest.approx([0, 0.5, 1, 0.5, 0])

    def test_the_papers_rate_is_quartered_at_each_plateau(self) -> None:
        config = training_config("paper")
        assert [schedule.learning_rate(config, share=0.9, num_plateaus=n) for n in (0, 1, 2)] == [1, 0.25, 0.0625]

    def test_the_penalty_rises_from_zero(self) -> None:
        config = TrainingConfig(penalty=0.4, penalty_warmup=0.5)
        assert [schedule.penalty(config, share=share) for share in (0, 0.25, 0.5, 1)] == pytest.approx(
            [0, 0.2, 0.4, 0.4]
        )
        assert schedule.penalty(training_config("paper"), share=0) == 0.4

    def test_budgets_end_where_they_should(self) -> None:
        epochs = schedule.Budget(TrainingConfig(epochs=2.5), steps_an_epoch=10)
        assert (epochs.num_steps, epochs.share(step=5, seconds=99)) == (25, 0.2)
        assert epochs.seconds_left(step=5, seconds=10) == pytest.approx(40)
        minutes = schedule.Budget(TrainingConfig(epochs=None, minutes=2), steps_an_epoch=10)
        assert (minutes.num_steps, minutes.share(step=5, seconds=30)) == (None, 0.25)
        assert minutes.seconds_left(step=5, seconds=30) == 90


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"steps": 5}, "expected one of epochs, steps and minutes, found epochs and steps"),
        ({"epochs": None}, "expected one of epochs, steps and minutes, found none"),
        ({"epochs": 0}, "epochs must be above 0"),
        ({"batch_size": 1}, "batch_size must be at least 2"),
        ({"warmup": 1}, "warmup must be at least 0 and below 1"),
        ({"solver": "guess"}, "solver must be one of descent, rmsprop, kmeans"),
        ({"clip": 0}, "clip must be above 0"),
        ({"patience": 0}, "patience must be at least 1"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        TrainingConfig.from_table(table)
    assert message in str(error.value)


def test_a_budget_takes_the_place_of_the_one_below_it(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[training]\nsteps = 7\n")
    assert training_config("fast", file=file).steps == 7
    flagged = training_config("fast", file=file, flags={"minutes": 40.0})
    assert (flagged.epochs, flagged.steps, flagged.minutes) == (None, None, 40.0)


def test_the_golden_losses_of_a_short_run(store: Store, space: WordSpace, tmp_path: Path) -> None:
    run = make_run(store, space, tmp_path, steps=50, seed=11, validations=5, learning_rate=5e-3)
    figures = [event.figures for event in run.events() if isinstance(event, Validated)]
    found = [(figure.own_error, figure.other_error) for figure in figures]
    golden = [(0.9461, 0.9672), (0.8600, 0.9542), (0.8304, 0.9803), (0.8215, 0.9816), (0.8200, 0.9815)]
    assert np.array(found) == pytest.approx(np.array(golden), abs=1e-3)
