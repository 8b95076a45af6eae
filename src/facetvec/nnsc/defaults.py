"""Settings that all solvers share."""

PENALTY = 0.4  # λ of the paper
SWEEPS = 6  # of the descent: at most 0.002 % above the optimum for 10 facets, 0.5 % for 100
STEPS = 60  # of RMSprop, as in the code of the paper's authors, who took 1000 when scoring
