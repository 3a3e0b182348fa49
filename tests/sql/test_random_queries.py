"""The pinned seed of `random_queries.py`, within a minute."""

import os
from pathlib import Path

import random_queries

SECONDS = 50


def test_random_queries_have_the_answers_of_duckdb():
    oracle = Path(os.environ["ONRUSH_BIN"]).with_name("onrush-oracle")
    assert oracle.is_file(), f"there is no {oracle}: cargo build -p onrush-oracle"
    right, wrong, refused = random_queries.run(oracle, seconds=SECONDS)
    found = [f"{sql}\n    {reason}" for sql, reason in wrong + refused]
    assert not found, "\n".join(found[:5])
    assert right >= 200, f"only {right} queries were compared in {SECONDS} s"
