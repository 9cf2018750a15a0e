"""Kernels over Arrow batches: automata, matchers and measures. Knows nothing of Spark or SQL."""
