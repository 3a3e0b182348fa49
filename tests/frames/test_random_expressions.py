"""The pinned seed of `random_expressions.py`, within a minute."""

import random_expressions

SECONDS = 45


def test_random_expressions_have_the_answers_of_polars(kernel):
    right, wrong = random_expressions.compare(kernel.ok, seconds=SECONDS)
    assert not wrong, "\n".join(f"{text}\n    {reason}" for text, reason in wrong[:5])
    assert right >= 100, f"only {right} expressions were compared in {SECONDS} s"
