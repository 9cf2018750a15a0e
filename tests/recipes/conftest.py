"""Recipes that start processes of their own, for a minute or more: ``make test-recipes`` runs them.

A run of anything else passes them over.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect nothing here unless nothing else was asked for."""
    chosen = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if all(path.is_relative_to(HERE) for path in chosen) else True
