"""Measurements behind the figures of the documentation; `python -m benchmarks` takes those of docs/performance.md."""
