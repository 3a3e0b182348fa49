"""Completion, inspection and completeness over the real protocol: `sites.py` lists the places."""

import statistics
import time

import pytest
from sites import SETUP, SITES, split

# A front end shows a list that comes within this time as if it were there at once.
LIMIT = 0.150


@pytest.fixture(scope="module")
def ready(kernel):
    for cell in SETUP:
        kernel.ok(cell)
    return kernel


def ask(kernel, marked: str) -> dict:
    code, at = split(marked)
    message = kernel.client.complete(code, at)
    while True:
        reply = kernel.client.get_shell_msg(timeout=30)
        if reply["parent_header"].get("msg_id") == message:
            assert reply["content"]["status"] == "ok"
            return reply["content"]


def inspect(kernel, code: str, at: int, detail: int = 0) -> str:
    message = kernel.client.inspect(code, at, detail)
    while True:
        reply = kernel.client.get_shell_msg(timeout=30)
        if reply["parent_header"].get("msg_id") == message:
            return reply["content"]["data"].get("text/plain", "") if reply["content"]["found"] else ""


@pytest.mark.parametrize("kind, place, wanted, unwanted", SITES, ids=[f"{s[0]}-{i}" for i, s in enumerate(SITES)])
def test_what_is_offered(ready, kind, place, wanted, unwanted):
    matches = ask(ready, place)["matches"]
    assert not set(wanted) - set(matches), f"{place}: {matches[:60]}"
    assert not set(unwanted) & set(matches), place
