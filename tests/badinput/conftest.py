"""After each of these tests the kernel lives, and the variables of earlier cells are as they were."""

import re

import pytest

from driver import Ran


@pytest.fixture(scope="module", autouse=True)
def earlier_variables(kernel):
    kernel.ok('let mut kept = vec![1, 2, 3]; kept.push(4); let name = String::from("kept");')


@pytest.fixture(autouse=True)
def everything_survives(kernel, earlier_variables):
    yield
    assert kernel.is_alive()
    assert kernel.value("(kept.clone(), name.clone())") == '([1, 2, 3, 4], "kept")'


@pytest.fixture(scope="module")
def toy(kernel):
    """A frame that must survive, too."""
    kernel.ok('let toy = frame! { a: [1, 2, 3], b: ["x", "y", "z"], big: [9223372036854775807i64, 1, 2] };')


@pytest.fixture
def toy_survives(kernel, toy):
    yield
    assert kernel.value("toy.shape()") == "(3, 3)"


@pytest.fixture
def check(kernel):
    """The cell fails, and its error holds every one of these patterns, in any case."""

    def check(code: str, *patterns: str) -> Ran:
        ran = kernel.fails(code)
        for pattern in patterns:
            assert re.search(pattern, ran.error_text, re.IGNORECASE), f"no {pattern!r} in:\n{ran.error_text}"
        assert "panicked at" not in ran.error_text, ran.error_text
        return ran

    return check
