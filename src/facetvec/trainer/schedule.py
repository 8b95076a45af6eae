"""How far a run has come, and what that makes of the learning rate and of the penalty.

In: the settings, the steps done, the seconds spent. Out: the share of the run that is done, from 0 to 1, and factors.
With a budget of steps or epochs the share depends on the step alone, so that a run that was stopped repeats itself;
with a budget of minutes it follows the clock.
"""

from facetvec.config import TrainingConfig

PLATEAU_DIVISOR = 4.0  # by which the paper's recipe divides the rate when a validation has not improved


class Budget:
    """What a run may spend. Without a budget of minutes, `num_steps` is where it ends."""

    def __init__(self, config: TrainingConfig, *, steps_an_epoch: int) -> None:
        self.seconds = None if config.minutes is None else 60 * config.minutes
        self.num_steps = config.steps
        if config.epochs is not None:
            self.num_steps = max(1, round(config.epochs * steps_an_epoch))

    def share(self, *, step: int, seconds: float) -> float:
        """Return the share of the run that is done when so many steps are, in so many seconds."""
        if self.num_steps is not None:
            return min(1.0, step / self.num_steps)
        assert self.seconds is not None
        return min(1.0, seconds / self.seconds)

    def seconds_left(self, *, step: int, seconds: float) -> float:
        """Estimate the seconds to the end, at the speed so far."""
        if self.seconds is not None:
            return max(0.0, self.seconds - seconds)
        assert self.num_steps is not None
        return seconds / max(1, step) * (self.num_steps - step)


def learning_rate(config: TrainingConfig, *, share: float, num_plateaus: int) -> float:
    """Return the learning rate: warm-up, then a straight line to zero; or the paper's, divided at each plateau."""
    warm = min(1.0, share / config.warmup) if config.warmup else 1.0
    if config.schedule == "plateau":
        return config.learning_rate * warm / PLATEAU_DIVISOR**num_plateaus
    return config.learning_rate * min(warm, (1 - share) / (1 - config.warmup))


def penalty(config: TrainingConfig, *, share: float) -> float:
    """Return λ, which rises in a straight line over the first part of the run."""
    return config.penalty * (min(1.0, share / config.penalty_warmup) if config.penalty_warmup else 1.0)
