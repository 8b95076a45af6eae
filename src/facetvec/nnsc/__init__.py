"""Non-negative sparse coding: how much of each facet every word takes, and how far the word stays from their sum.

`coefficients` and `loss` work on PyTorch tensors, `arrays` on numpy arrays, without PyTorch. Nothing is imported here.
"""
