"""What stands below a cell that takes long: how many messages it is, what they say, and what stays."""

import re
import time

import pytest

from driver import PATIENCE

MIME = "application/vnd.onrush.progress.v1+json"
SLEEP = "std::thread::sleep(std::time::Duration::from_millis({}));"


@pytest.fixture(scope="module")
def running(kernel):
    kernel.ok("1")  # The prelude's build has a line of its own.
    return kernel


def until_idle(running, message: str) -> list[dict]:
    got = []
    while True:
        received = running.client.get_iopub_msg(timeout=PATIENCE)
        if received["parent_header"].get("msg_id") == message:
            got.append(received)
            if received["content"].get("execution_state") == "idle":
                return got


def lines(running, code: str) -> list[dict]:
    """The states of the display that shows progress."""
    got = until_idle(running, running.client.execute(code))
    shown = [m for m in got if m["msg_type"].endswith("display_data")]
    assert [m["msg_type"] for m in shown] == ["display_data"] * bool(shown) + ["update_display_data"] * (len(shown) - 1)
    assert all(m["content"]["metadata"] == {"onrush": {"progress": True}} for m in shown)
    return shown


def test_quick_work_shows_nothing(running):
    assert lines(running, "for n in progress(0..1000) { std::hint::black_box(n); }") == []


def test_loops_stand_in_each_other_and_end_as_one_line(running):
    shown = lines(running, f'for a in progress(0..3).label("<outer>") {{ for b in progress(0..5) {{ {SLEEP.format(180)} }} }}')
    begun, ended = shown[0]["header"]["date"], shown[-1]["header"]["date"]
    assert 3 <= len(shown) <= 2 + 10 * (ended - begun).total_seconds()
    texts = [m["content"]["data"]["text/plain"] for m in shown]
    nested = [text for text in texts if "\n  [" in text]
    assert nested, texts
    assert re.search(r"<outer> · [0-3] of 3 .*\n  \[[#-]{20}\] \d+% line 1 · [0-5] of 5", nested[0]), nested
    data = shown[0]["content"]["data"]
    assert "&lt;outer&gt;" in data["text/html"] and "interrupt button" in data["text/html"]
    assert all(line["task"] is None for line in data[MIME]["lines"])
    # One line stays, and the bars of the inner loops with it, folded.
    last = shown[-1]["content"]["data"]
    assert re.fullmatch(r"4 steps · \d+\.\d s", last["text/plain"]), last
    assert MIME not in last and last["text/html"].count("5 of 5") == 3


def test_a_loop_that_is_left_says_how_far_it_came(running):
    shown = lines(running, f"for n in progress(0..100) {{ {SLEEP.format(300)} if n == 5 {{ break }} }}")
    assert shown[-1]["content"]["data"]["text/plain"].startswith("line 1 · 5 of 100 · ")


def test_a_loop_in_a_cell_that_fails_says_so(running):
    shown = lines(running, f'for n in progress(0..100) {{ {SLEEP.format(300)} if n == 5 {{ panic!("five") }} }}')
    assert re.fullmatch(r"line 1 · failed after \d\.\d s", shown[-1]["content"]["data"]["text/plain"])


def test_the_button_stops_the_cell(running):
    client = running.client
    message = client.execute(f"for n in progress(0..10_000) {{ {SLEEP.format(50)} }}")
    while client.get_iopub_msg(timeout=PATIENCE)["msg_type"] != "display_data":
        pass
    opened = client.session.msg("comm_open", {"comm_id": "stop", "target_name": "onrush.progress", "data": {}})
    client.shell_channel.send(opened)
    pressed = client.session.msg("comm_msg", {"comm_id": "stop", "data": {"id": 7, "method": "stop", "params": {"task": None}}})
    client.shell_channel.send(pressed)
    begun, answer, text = time.monotonic(), None, ""
    while True:
        got = client.get_iopub_msg(timeout=PATIENCE)
        parent = got["parent_header"].get("msg_id")
        if got["msg_type"] == "comm_msg" and parent == pressed["header"]["msg_id"]:
            answer = got["content"]["data"]
        if got["msg_type"] == "update_display_data":
            text = got["content"]["data"]["text/plain"]
        if parent == message and got["content"].get("execution_state") == "idle":
            break
    assert time.monotonic() - begun < 20, "it takes 30 ms; the rest is room for a busy machine"
    assert answer == {"id": 7, "result": {}}
    assert re.fullmatch(r"line 1 · stopped after \d+(\.\d)? s", text), text
    assert running.value("1 + 1") == "2"
