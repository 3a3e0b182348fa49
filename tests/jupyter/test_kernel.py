"""The kernel over the real protocol, beyond what `jupyter_kernel_test` checks: what front ends do when things go wrong."""

import json
import os
import queue
import re
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import jupyter_client
import pytest
import zmq

from driver import PATIENCE, Kernel, plain


def descendants(pid: int) -> set[int]:
    """Processes below a process."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(text.rsplit(")", 1)[1].split()[1])
    found, more = set(), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found


def named(pids: set[int], name: str) -> set[int]:
    def comm(pid):
        try:
            return Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return ""

    return {pid for pid in pids if comm(pid).startswith(name)}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def request(kernel: Kernel, kind: str, content=None, channel="shell", timeout=50):
    """Sends any message and waits for its reply."""
    client = kernel.client
    message = client.session.msg(kind, content or {})
    sockets = {"shell": client.shell_channel, "control": client.control_channel}
    sockets[channel].send(message)
    return answer(kernel, message["header"]["msg_id"], channel, timeout)


def answer(kernel: Kernel, message: str, channel="shell", timeout=50):
    get = {"shell": kernel.client.get_shell_msg, "control": kernel.client.get_control_msg}[channel]
    end = time.monotonic() + timeout
    while True:
        reply = get(timeout=max(0.05, end - time.monotonic()))
        if reply["parent_header"].get("msg_id") == message:
            return reply["content"]


def iopub_until_idle(kernel: Kernel, message: str, timeout=PATIENCE):
    """All iopub messages of one request up to its idle, as (type, content)."""
    end, found = time.monotonic() + timeout, []
    while True:
        received = kernel.client.get_iopub_msg(timeout=max(0.05, end - time.monotonic()))
        if received["parent_header"].get("msg_id") != message:
            continue
        found.append((received["msg_type"], received["content"]))
        if found[-1] == ("status", {"execution_state": "idle"}):
            return found


def wait_for_output(kernel: Kernel, text: str, timeout=PATIENCE):
    end = time.monotonic() + timeout
    while True:
        received = kernel.client.get_iopub_msg(timeout=max(0.05, end - time.monotonic()))
        if received["msg_type"] == "stream" and text in received["content"]["text"]:
            return


@pytest.fixture(scope="module")
def running(kernel):
    """The module's kernel, after its first cell."""
    kernel.ok("let kept = 41;")
    return kernel


# ---- messages

def test_kernel_info(running):
    info = request(running, "kernel_info_request")
    assert info["status"] == "ok"
    assert info["protocol_version"] == "5.5"
    assert info["language_info"]["name"] == "rust"
    assert info["language_info"]["pygments_lexer"] == "rust"
    assert info["language_info"]["codemirror_mode"] == "rust"
    assert info["language_info"]["version"].count(".") == 2
    assert request(running, "kernel_info_request", channel="control")["status"] == "ok"


def test_the_first_cell_is_number_one(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    try:
        assert kernel.ok("1").reply["execution_count"] == 1
        assert kernel.ok("2").reply["execution_count"] == 2
    finally:
        kernel.close()


def test_the_kernel_answers_before_the_first_cell_could_run(kernelspecs, tmp_path):
    """kernel_info must not wait for the compiler: a front end shows a kernel that does not answer as dead."""
    manager = jupyter_client.KernelManager(kernel_name="onrush", kernel_spec_manager=kernelspecs)
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    try:
        client.kernel_info()
        # The prelude alone takes longer to build than this.
        assert client.get_shell_msg(timeout=15)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


@pytest.mark.parametrize("kind", ["create_subshell_request", "delete_subshell_request", "list_subshell_request", "nonsense_request"])
def test_what_the_kernel_cannot_do_is_answered(running, kind):
    for channel in ("shell", "control"):
        reply = request(running, kind, channel=channel)
        assert reply["status"] == "error"
        assert reply["ename"] and reply["evalue"] and isinstance(reply["traceback"], list)


def test_debug_request_is_declined(running):
    reply = request(running, "debug_request", {"type": "request", "seq": 7, "command": "debugInfo"}, channel="control")
    assert reply["type"] == "response" and reply["request_seq"] == 7 and reply["success"] is False


def test_usage(running):
    request(running, "usage_request", channel="control")
    usage = request(running, "usage_request", channel="control")
    assert usage["pid"] == running.manager.provisioner.pid
    assert usage["kernel_memory"] > 1_000_000
    assert usage["cpu_count"] >= 1
    assert 0 <= usage["host_cpu_percent"] <= 100
    assert usage["host_virtual_memory"]["total"] > usage["host_virtual_memory"]["available"] > 0


def test_an_unknown_comm_is_closed(running):
    client = running.client
    message = client.session.msg("comm_open", {"comm_id": "c1", "target_name": "nobody", "data": {}})
    client.shell_channel.send(message)
    sent = iopub_until_idle(running, message["header"]["msg_id"])
    assert ("comm_close", {"comm_id": "c1", "data": {}}) in sent
    assert request(running, "comm_info_request")["comms"] == {}


def test_the_widget_manager_gets_its_answer(running):
    client = running.client
    message = client.session.msg("comm_open", {"comm_id": "w", "target_name": "jupyter.widget.control", "data": {}})
    client.shell_channel.send(message)
    iopub_until_idle(running, message["header"]["msg_id"])
    assert request(running, "comm_info_request")["comms"] == {"w": {"target_name": "jupyter.widget.control"}}
    message = client.session.msg("comm_msg", {"comm_id": "w", "data": {"method": "request_states"}})
    client.shell_channel.send(message)
    sent = iopub_until_idle(running, message["header"]["msg_id"])
    assert ("comm_msg", {"comm_id": "w", "data": {"method": "update_states", "states": {}, "buffer_paths": []}}) in sent
    client.shell_channel.send(client.session.msg("comm_close", {"comm_id": "w", "data": {}}))
    assert until(lambda: request(running, "comm_info_request")["comms"] == {})


# ---- robustness

def test_heartbeat(running):
    assert running.client.hb_channel.is_alive()
    with zmq.Context() as context, context.socket(zmq.REQ) as beat:
        beat.linger = 0
        beat.connect(f"tcp://127.0.0.1:{running.manager.hb_port}")
        for payload in (b"ping", b"x" * 1000):
            beat.send(payload)
            assert beat.poll(5000) and beat.recv() == payload


def raw_shell(kernel: Kernel, frames):
    """Sends frames as they are on a socket of its own, and says whether any answer came within half a second."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as shell:
        shell.linger = 500
        shell.connect(f"tcp://127.0.0.1:{kernel.manager.shell_port}")
        shell.send_multipart(frames)
        return bool(shell.poll(500))


def test_a_wrong_signature_is_refused(running):
    session = running.client.session
    frames = session.serialize(session.msg("kernel_info_request", {}))
    assert raw_shell(running, frames)
    for signature in (b"0" * 64, b"", b"not hexadecimal", frames[1].upper() + b"00"):
        assert not raw_shell(running, [frames[0], signature, *frames[2:]]), signature
    # The signature of other content.
    assert not raw_shell(running, [*frames[:5], b'{"code": "std::process::exit(1)"}'])
    assert running.value("kept") == "41"


@pytest.mark.parametrize("frames", [
    [b""],
    [b"<IDS|MSG>"],
    [b"<IDS|MSG>", b""],
    [b"no delimiter", b"{}", b"{}", b"{}", b"{}"],
    [b"<IDS|MSG>", b"", b"{}", b"{}", b"{}"],
    [b"\xff\xfe" * 100] * 7,
    [b"x" * 1_000_000],
])
def test_malformed_frames_are_ignored(running, frames):
    assert not raw_shell(running, frames)
    assert running.value("kept") == "41"


@pytest.mark.parametrize("header,content", [
    (b"[]", b"{}"),
    (b"not json", b"{}"),
    (b"{}", b"{}"),
    (b'{"msg_id": 1, "msg_type": 2}', b"{}"),
    (b'{"msg_id": "a", "msg_type": "execute_request"}', b"[1"),
    (b'{"msg_id": "a", "msg_type": "execute_request"}', b'"text"'),
    (b"[" * 100_000, b"{}"),
    (b'{"msg_id": "a", "msg_type": "\xff"}', b"{}"),
])
def test_malformed_json_is_ignored(running, header, content):
    session = running.client.session
    parts = [header, b"{}", b"{}", content]
    assert not raw_shell(running, [b"<IDS|MSG>", session.sign(parts), *parts])
    assert running.value("kept") == "41"


@pytest.mark.parametrize("kind,content", [
    ("execute_request", {}),
    ("execute_request", {"code": 7}),
    ("execute_request", {"code": "1", "user_expressions": []}),
    ("complete_request", {"code": "a"}),
    ("complete_request", {"code": "a", "cursor_pos": "x"}),
    ("inspect_request", {"cursor_pos": -1, "code": "a"}),
    ("history_request", {"hist_access_type": 3}),
    ("is_complete_request", {}),
])
def test_requests_with_wrong_content_get_an_error_reply(running, kind, content):
    reply = request(running, kind, content)
    assert reply["status"] == "error" and reply["evalue"]
    assert running.value("kept") == "41"


def test_bytes_that_are_no_zmq(running):
    for port in (running.manager.shell_port, running.manager.iopub_port, running.manager.hb_port):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(range(256)) * 10)
        # A connection that is reset rather than closed.
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"\xff\x00\x00")
        connection.close()
    assert running.value("kept") == "41"


def test_a_cursor_beyond_the_end_and_code_points(running):
    for code, position in (("ä𝒳ö kep", 7), ("kep", 10_000), ("", 0), ("", 5)):
        reply = request(running, "complete_request", {"code": code, "cursor_pos": position})
        assert reply["status"] == "ok"
        assert 0 <= reply["cursor_start"] <= reply["cursor_end"] <= len(code)
    reply = request(running, "complete_request", {"code": "/* ä𝒳ö */ kep", "cursor_pos": 13})
    assert (reply["cursor_start"], reply["cursor_end"]) == (10, 13)
    assert "kept" in reply["matches"]


# ---- execution

def test_order_of_messages(running):
    message = running.client.execute('println!("a"); eprintln!("b"); println!("c"); 5')
    sent = iopub_until_idle(running, message)
    kinds = [kind for kind, _ in sent]
    assert kinds[0] == "status" and sent[0][1]["execution_state"] == "busy"
    assert kinds[1] == "execute_input"
    assert kinds[-2] == "execute_result" and sent[-2][1]["data"]["text/plain"] == "5"
    assert [content["text"] for kind, content in sent if kind == "stream"] == ["a\n", "b\n", "c\n"]
    assert answer(running, message)["status"] == "ok"


def test_silent_shows_nothing_and_counts_nothing(running):
    before = running.ok("1").reply["execution_count"]
    message = running.client.execute('println!("quiet"); 5', silent=True)
    sent = iopub_until_idle(running, message)
    assert [kind for kind, _ in sent] == ["status", "status"]
    assert answer(running, message)["execution_count"] == before
    running.ok("let unstored = 1;", store_history=False)
    assert running.ok("unstored").reply["execution_count"] == before + 1
    history = request(running, "history_request", {"hist_access_type": "tail", "n": 5, "output": False, "raw": True})
    assert not any("quiet" in entry[2] or "let unstored" in entry[2] for entry in history["history"])


def test_user_expressions(running):
    ran = running.ok("let pair = (1, 2);", user_expressions={"sum": "pair.0 + pair.1", "bad": "no_such_name"})
    values = ran.reply["user_expressions"]
    assert values["sum"]["status"] == "ok" and values["sum"]["data"]["text/plain"] == "3"
    assert values["bad"]["status"] == "error" and values["bad"]["ename"] and values["bad"]["evalue"]
    assert ran.outputs == []


@pytest.mark.parametrize("code", [
    'let a: i32 = "x"; let b: i32 = "y"; let c: i32 = "z";',
    "let a = ;",
    'panic!("with a message")',
    'Err::<(), _>(std::io::Error::other("told"))?',
    "std::process::exit(3)",
    "std::process::abort()",
])
def test_a_failing_cell_gives_exactly_one_error(running, code):
    ran = running.fails(code)
    assert len([o for o in ran.outputs if o["output_type"] == "error"]) == 1
    for key in ("ename", "evalue", "traceback"):
        assert ran.reply[key] == ran.error[key]
    assert ran.reply["traceback"]
    assert running.value("kept") == "41"


def test_cells_queued_behind_a_failing_one_are_aborted(running):
    client = running.client
    first = client.execute('std::thread::sleep(std::time::Duration::from_millis(300)); panic!("first")')
    rest = [client.execute(f'println!("must not run {n}");') for n in range(3)]
    assert answer(running, first, timeout=PATIENCE)["status"] == "error"
    for message in rest:
        assert answer(running, message, timeout=PATIENCE)["status"] == "aborted"
    assert running.value("kept") == "41"


def test_without_stop_on_error_the_next_cells_run(running):
    client = running.client
    first = client.execute('std::thread::sleep(std::time::Duration::from_millis(300)); panic!("first")', stop_on_error=False)
    second = client.execute("kept + 1")
    assert answer(running, first, timeout=PATIENCE)["status"] == "error"
    assert answer(running, second, timeout=PATIENCE)["status"] == "ok"


def test_an_empty_cell_is_nothing(running):
    before = running.ok("1").reply["execution_count"]
    assert running.ok("").reply["execution_count"] == before
    assert running.ok("  \n\t").reply["execution_count"] == before


def test_stdin(running):
    client = running.client
    message = client.execute('let name = input("name? "); println!("hello {name}");', allow_stdin=True)
    question = client.get_stdin_msg(timeout=PATIENCE)
    assert question["content"] == {"prompt": "name? ", "password": False}
    assert question["parent_header"]["msg_id"] == message
    client.input("Ünal")
    sent = iopub_until_idle(running, message)
    assert ("stream", {"name": "stdout", "text": "hello Ünal\n"}) in sent
    assert answer(running, message)["status"] == "ok"


def test_stdin_without_a_front_end_that_can_ask(running):
    ran = running.fails('let name = input("name? ");', allow_stdin=False)
    assert "input" in ran.error_text
    assert running.value("kept") == "41"


def test_stdin_interrupted(running):
    client = running.client
    message = client.execute('let name = input("name? ");', allow_stdin=True)
    client.get_stdin_msg(timeout=PATIENCE)
    running.interrupt()
    assert answer(running, message, timeout=PATIENCE)["status"] == "error"
    assert running.value("kept") == "41"


def test_a_late_answer_answers_no_later_question(running):
    """The protocol: an `input_reply` has the header of its `input_request` as parent. jupyter_client leaves it out."""
    client = running.client
    ask = lambda: client.execute('input("? ")', allow_stdin=True)  # noqa: E731

    def question():
        return client.get_stdin_msg(timeout=PATIENCE)

    def reply(value, parent=None):
        return client.session.msg("input_reply", {"value": value}, parent=parent)

    message = ask()
    first = question()
    late, without_parent = reply("late", first), reply("late")
    running.interrupt()
    assert answer(running, message, timeout=PATIENCE)["status"] == "error"
    message = ask()
    second = question()
    client.stdin_channel.send(late)
    client.stdin_channel.send(without_parent)
    client.stdin_channel.send(reply("in time", second))
    sent = iopub_until_idle(running, message)
    assert [c["data"]["text/plain"] for kind, c in sent if kind == "execute_result"] == ['"in time"']
    answer(running, message)


def test_password(running):
    message = running.client.execute('password("key? ").len()', allow_stdin=True)
    assert running.client.get_stdin_msg(timeout=PATIENCE)["content"] == {"prompt": "key? ", "password": True}
    running.client.input("secret")
    sent = iopub_until_idle(running, message)
    assert [c["data"]["text/plain"] for kind, c in sent if kind == "execute_result"] == ["6"]
    answer(running, message)


def test_displays_are_updated(running):
    message = running.client.execute(
        "for n in progress(0..20) { std::thread::sleep(std::time::Duration::from_millis(100)); let _ = n; }"
    )
    sent = iopub_until_idle(running, message)
    shown = [content for kind, content in sent if kind == "display_data"]
    updated = [content for kind, content in sent if kind == "update_display_data"]
    assert len(shown) == 1 and len(updated) >= 3, sent
    assert len({c["transient"]["display_id"] for c in shown + updated}) == 1
    assert answer(running, message)["status"] == "ok"


SLEEP = 'println!("started"); std::thread::sleep(std::time::Duration::from_secs(60));'
SPIN = 'println!("started"); let mut n = 0u64; loop { n = std::hint::black_box(n.wrapping_add(1)); }'


@pytest.mark.parametrize("code", [SLEEP, SPIN])
@pytest.mark.parametrize("way", ["message", "signal"])
def test_an_interrupt_keeps_the_variables(running, code, way):
    running.ok("let before_interrupt = vec![1, 2, 3];")
    message = running.client.execute(code)
    wait_for_output(running, "started")
    begun = time.monotonic()
    if way == "message":
        running.interrupt()
    else:
        os.kill(running.manager.provisioner.pid, signal.SIGINT)
    assert answer(running, message, timeout=PATIENCE)["status"] == "error"
    assert time.monotonic() - begun < 20, "it takes 30 ms, and the cell a minute; the rest is room for a busy machine"
    assert running.value("before_interrupt.len() as i32 + kept") == "44"


def test_an_interrupt_between_cells_does_nothing(running):
    os.kill(running.manager.provisioner.pid, signal.SIGINT)
    assert request(running, "interrupt_request", channel="control")["status"] == "ok"
    assert running.value("kept") == "41"


def test_requests_are_answered_while_a_cell_runs(running):
    running.ok("fn helper_function(n: i32) -> i32 { n }")
    message = running.client.execute(SLEEP)
    wait_for_output(running, "started")
    try:
        for kind, content in [
            ("comm_info_request", {}),
            ("kernel_info_request", {}),
            ("complete_request", {"code": "kep", "cursor_pos": 3}),
            ("inspect_request", {"code": "kept", "cursor_pos": 4}),
            ("is_complete_request", {"code": "fn f() {"}),
            ("history_request", {"hist_access_type": "tail", "n": 1, "output": False, "raw": True}),
        ]:
            reply = request(running, kind, content)
            assert reply["status"] in ("ok", "incomplete"), (kind, reply)
        reply = request(running, "complete_request", {"code": "helper_", "cursor_pos": 7})
        assert reply["matches"] == ["helper_function"]
        assert request(running, "inspect_request", {"code": "kept", "cursor_pos": 4})["found"]
    finally:
        running.interrupt()
        assert answer(running, message, timeout=PATIENCE)["status"] == "error"


def test_output_is_shown_while_the_cell_runs(running):
    """The cell goes on only when its output has been seen."""
    seen = running.folder / "seen"
    message = running.client.execute(
        'use std::io::Write; print!("no newline"); std::io::stdout().flush().unwrap();'
        'while !std::path::Path::new("seen").exists() { std::thread::sleep(std::time::Duration::from_millis(5)); }'
    )
    wait_for_output(running, "no newline")
    seen.touch()
    assert answer(running, message, timeout=PATIENCE)["status"] == "ok"


def test_many_lines_are_few_messages(running):
    message = running.client.execute('for n in 0..20_000 { println!("{n}"); }')
    sent = iopub_until_idle(running, message)
    text = "".join(content["text"] for kind, content in sent if kind == "stream")
    assert text == "".join(f"{n}\n" for n in range(20_000))
    assert len(sent) < 200
    answer(running, message)


def test_the_order_of_the_streams_is_kept(running):
    ran = running.ok('for n in 0..200 { println!("o{n}"); eprintln!("e{n}"); }')
    words = "".join(o["text"] for o in ran.outputs).split()
    assert words == [word for n in range(200) for word in (f"o{n}", f"e{n}")]


def test_a_front_end_that_takes_nothing_does_not_stop_the_others(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    with zmq.Context() as context, context.socket(zmq.SUB) as stopped:
        stopped.linger, stopped.rcvhwm = 0, 1
        stopped.subscribe(b"")
        stopped.connect(f"tcp://127.0.0.1:{kernel.manager.iopub_port}")
        time.sleep(0.3)
        for _ in range(8):
            ran = kernel.ok('for _ in 0..20_000 { println!("{}", "x".repeat(99)); }', timeout=60)
            assert len(ran.stdout) == 2_000_000
    kernel.close()


def test_history_of_an_earlier_kernel(kernelspecs, tmp_path):
    marker = f"let history_marker_{os.getpid()} = 1;"
    first = Kernel(kernelspecs, tmp_path)
    first.ok(marker)
    first.close()
    second = Kernel(kernelspecs, tmp_path)
    try:
        found = request(second, "history_request", {"hist_access_type": "search", "pattern": marker, "output": False, "raw": True})
        assert [entry[2] for entry in found["history"]] == [marker]
    finally:
        second.close()


# ---- the session

@pytest.fixture(scope="module")
def frames(running, data_dir):
    """The module's kernel with the flights, 336 776 rows."""
    running.ok(f'let flights = read_parquet("{data_dir / "flights.parquet"}");')
    return running


def slow(rows: int) -> str:
    """A query of some seconds; another number of rows is another query, which no cache knows."""
    return f'flights.cross_join(&flights.head({rows})).group_by("origin").agg(x!(s = distance.sum()))'


def test_column_names_are_completed(frames):
    code = 'flights.select(["dep_'
    reply = request(frames, "complete_request", {"code": code, "cursor_pos": len(code)})
    assert set(reply["matches"]) == {"dep_delay", "dep_time"}
    assert (reply["cursor_start"], reply["cursor_end"]) == (len(code) - 4, len(code))


def test_a_long_query_shows_its_progress_and_an_interrupt_stops_it(frames):
    message = frames.client.execute(slow(20_001))
    shown, begun = [], time.monotonic()
    while len(shown) < 6:
        assert time.monotonic() - begun < PATIENCE
        received = frames.client.get_iopub_msg(timeout=PATIENCE)
        if received["parent_header"].get("msg_id") == message and received["msg_type"].endswith("display_data"):
            shown.append(received)
    dates = [s["header"]["date"] for s in shown]
    assert (dates[-1] - dates[0]).total_seconds() > 0.7, "at most about five times a second, by the kernel's clock"
    assert [s["msg_type"] for s in shown] == ["display_data"] + ["update_display_data"] * 5
    assert len({s["content"]["transient"]["display_id"] for s in shown}) == 1
    assert "group_by" in shown[-1]["content"]["data"]["text/plain"]
    frames.interrupt()
    begun = time.monotonic()
    assert answer(frames, message, timeout=PATIENCE)["ename"] == "interrupted"
    assert time.monotonic() - begun < 20, "it takes 30 ms; the rest is room for a busy machine"
    assert frames.value("flights.shape().0") == "336776"


def test_progress_of_an_earlier_cell_is_not_shown(frames):
    ran = frames.ok("std::thread::sleep(std::time::Duration::from_millis(1500)); 7")
    assert [o["output_type"] for o in ran.outputs] == ["execute_result"]


def test_cells_without_frames_need_no_session(onrush_bin, tmp_path):
    """The program is alone in a folder: there is no `onrush-session` anywhere."""
    import shutil

    import nbformat

    alone = tmp_path / "onrush"
    shutil.copy(onrush_bin, alone)
    nbformat.write(notebook(["let a = 1;", "a + 1", ("let f = frame! { a: [1] };", "raises-exception"), "a"]), tmp_path / "in.ipynb")
    environment = os.environ | {"PATH": "/usr/bin:/bin:" + str(Path.home() / ".cargo/bin"), "ONRUSH_RUNTIME_DIR": str(tmp_path / "r")}
    ran = subprocess.run([alone, "run", tmp_path / "in.ipynb"], capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Out[2]: 2" in ran.stdout and "Out[4]: 1" in ran.stdout
    assert "onrush-session" in ran.stdout and "panicked" not in ran.stdout


# ---- processes

def test_the_kernel_survives_the_death_of_the_cell_process(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    try:
        kernel.ok("let a = 1;")
        pid = kernel.manager.provisioner.pid
        cells = named(descendants(pid), "onrush-cell")
        assert cells
        for cell in cells:
            os.kill(cell, signal.SIGKILL)
        # Whatever became of the variables: the next cells run.
        kernel.run("2")
        assert kernel.value("2 + 2") == "4"
        # In the middle of a cell the variables stay.
        kernel.ok("let b = 5;")
        message = kernel.client.execute(SLEEP)
        wait_for_output(kernel, "started")
        runner = int(kernel_cell_pid(pid))
        os.kill(runner, signal.SIGKILL)
        assert answer(kernel, message, timeout=PATIENCE)["status"] == "error"
        assert kernel.value("b") == "5"
    finally:
        kernel.close()


def kernel_cell_pid(pid: int) -> int:
    """The cell process that runs user code: the snapshot beside it sleeps in a read."""
    cells = named(descendants(pid), "onrush-cell")
    assert cells
    # The older one runs: the snapshot is its fork.
    return min(cells)


def test_a_shutdown_leaves_no_process_behind(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    kernel.ok("1")
    pid = kernel.manager.provisioner.pid
    family = {pid} | named(descendants(pid), "onrush-cell")
    kernel.close()
    assert until(lambda: not any(alive(p) for p in family)), family


def test_a_shutdown_ends_a_running_cell(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    kernel.ok("1")
    kernel.client.execute(SPIN)
    wait_for_output(kernel, "started")
    pid = kernel.manager.provisioner.pid
    family = {pid} | named(descendants(pid), "onrush-cell")
    reply = request(kernel, "shutdown_request", {"restart": True}, channel="control")
    assert reply == {"status": "ok", "restart": True}
    assert until(lambda: not any(alive(p) for p in family)), family
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_kernel_leaves_no_cell_process(kernelspecs, tmp_path, how):
    kernel = Kernel(kernelspecs, tmp_path)
    kernel.ok("1")
    pid = kernel.manager.provisioner.pid
    family = named(descendants(pid), "onrush-cell")
    assert family
    os.kill(pid, how)
    assert until(lambda: not any(alive(p) for p in family)), family
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)


def test_the_kernel_ends_with_the_process_that_started_it(onrush_bin, tmp_path):
    """A server that was killed leaves no kernels behind."""
    connection = {
        "transport": "tcp", "ip": "127.0.0.1", "key": "k", "signature_scheme": "hmac-sha256",
        **{f"{name}_port": port for name, port in zip(("shell", "iopub", "stdin", "control", "hb"), free_ports(5))},
    }
    path = tmp_path / "connection.json"
    path.write_text(json.dumps(connection))
    parent = subprocess.Popen(["sleep", "1000"])
    kernel = subprocess.Popen(
        [onrush_bin, "kernel", "--connection-file", path], cwd=tmp_path, stderr=subprocess.DEVNULL,
        env=os.environ | {"JPY_PARENT_PID": str(parent.pid)},
    )
    assert not until(lambda: kernel.poll() is not None, 1.5)
    parent.kill()
    parent.wait()
    assert until(lambda: kernel.poll() is not None, 10)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def test_a_restart(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    try:
        kernel.ok("let a = 1;")
        kernel.manager.restart_kernel()
        kernel.client.wait_for_ready(timeout=PATIENCE)
        assert kernel.fails("a").error["ename"] == "E0425"
        assert kernel.ok("2 + 2").reply["execution_count"] == 2
    finally:
        kernel.close()


@pytest.mark.parametrize("settings", [{"transport": "ipc"}, {"session_key": b""}])
def test_other_connections(kernelspecs, tmp_path, monkeypatch, settings):
    """Sockets in the file system, and messages that are not signed."""
    monkeypatch.chdir(tmp_path)
    options = {"transport": "ipc", "ip": str(tmp_path / "s")} if "transport" in settings else {}
    manager = jupyter_client.KernelManager(kernel_name="onrush", kernel_spec_manager=kernelspecs, **options)
    if "session_key" in settings:
        manager.session.key = settings["session_key"]
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE)
        client.execute("6 * 7")
        assert client.get_shell_msg(timeout=PATIENCE)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"shell_port": 1}'])
def test_a_damaged_connection_file_is_a_sentence(onrush_bin, tmp_path, text):
    path = tmp_path / "connection.json"
    path.write_text(text)
    ran = subprocess.run([onrush_bin, "kernel", "--connection-file", path], capture_output=True, text=True, timeout=90)
    assert ran.returncode == 1
    assert str(path) in ran.stderr and "panicked" not in ran.stderr


def test_a_missing_connection_file_is_a_sentence(onrush_bin, tmp_path):
    ran = subprocess.run([onrush_bin, "kernel", "-f", tmp_path / "none"], capture_output=True, text=True, timeout=90)
    assert ran.returncode == 1 and "cannot be read" in ran.stderr


def test_odd_environments(kernelspecs, tmp_path, monkeypatch):
    """No HOME, no USER, a folder with spaces and umlauts that is removed while the kernel runs."""
    folder = tmp_path / "Übung 1"
    folder.mkdir()
    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setenv("LC_ALL", "C")
    kernel = Kernel(kernelspecs, folder)
    try:
        assert folder.name in kernel.value("std::env::current_dir().unwrap().display().to_string()")
        folder.rmdir()
        assert kernel.value("1 + 1") == "2"
    finally:
        kernel.close()


# ---- the command line

def test_help_and_version(onrush_bin):
    for arguments in (["--help"], ["run", "--help"], ["install", "--help"], ["kernel", "--help"]):
        ran = subprocess.run([onrush_bin, *arguments], capture_output=True, text=True, timeout=90)
        assert ran.returncode == 0
        assert max(len(line) for line in ran.stdout.splitlines()) <= 100
    assert subprocess.run([onrush_bin, "frobnicate"], capture_output=True).returncode == 2


def test_version_names_the_commit(onrush_bin):
    # Sources without git have no commit.
    is_clone = subprocess.run(["git", "-C", Path(__file__).parent, "log", "-1"], capture_output=True).returncode == 0
    commit = r" \([0-9a-f]{8,} \d{4}-\d{2}-\d{2}\)" if is_clone else ""
    for name in ("onrush", "onrush-session"):
        ran = subprocess.run([onrush_bin.with_name(name), "--version"], capture_output=True, text=True, timeout=60)
        assert re.fullmatch(rf"{name} \d+\.\d+\.\d+{commit}\n", ran.stdout), ran.stdout


def test_doctor(onrush_bin):
    ran = subprocess.run([onrush_bin, "doctor"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout
    for subject in ("rustc", "prelude", "linker", "session", "GPU", "Jupyter", "cache"):
        assert subject in ran.stdout


def test_doctor_names_what_is_missing(onrush_bin, tmp_path):
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    ran = subprocess.run([onrush_bin, "doctor"], capture_output=True, text=True, timeout=60, env=env)
    assert ran.returncode == 1
    assert "!!  rustc" in ran.stdout and "rustup" in ran.stdout and "!!  linker" in ran.stdout


def notebook(cells):
    import nbformat

    def cell(code, *tags):
        return nbformat.v4.new_code_cell(code, metadata={"tags": list(tags)} if tags else {})

    return nbformat.v4.new_notebook(cells=[cell(*c) if isinstance(c, tuple) else cell(c) for c in cells])


def test_run_prints(onrush_bin, tmp_path):
    import nbformat

    cells = ['println!("hello");', ('let x: i32 = "text";', "raises-exception"), "20 + 22"]
    nbformat.write(notebook(cells), tmp_path / "in.ipynb")
    ran = subprocess.run([onrush_bin, "run", tmp_path / "in.ipynb"], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    assert "hello\n" in ran.stdout and "Out[3]: 42" in ran.stdout and "\x1b" not in ran.stdout
    assert "error" in ran.stdout


def test_run_takes_no_other_engine_than_the_one_asked_for(onrush_bin, tmp_path):
    import nbformat

    nbformat.write(notebook(["frame! { a: [1] }"]), tmp_path / "in.ipynb")
    command = [onrush_bin, "run", "--engine", "cuda", tmp_path / "in.ipynb"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 1
    assert "`cuda` was asked for" in ran.stdout and "--engine auto" in ran.stdout


def test_run_keeps_what_it_does_not_know(onrush_bin, tmp_path):
    import nbformat

    document = notebook(["1 + 1"])
    document.cells.insert(0, nbformat.v4.new_markdown_cell("# Ä"))
    document.metadata["mine"] = {"deep": [1, None]}
    document.cells[1].metadata["tags"] = ["mine"]
    nbformat.write(document, tmp_path / "in.ipynb")
    subprocess.run([onrush_bin, "run", tmp_path / "in.ipynb", "-o", tmp_path / "out.ipynb"], check=True, timeout=PATIENCE)
    out = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    nbformat.validate(out)
    assert out.metadata["mine"] == {"deep": [1, None]} and out.cells[0].source == "# Ä"
    assert out.cells[1].metadata.tags == ["mine"] and out.cells[1].execution_count == 1
    assert out.cells[1].outputs[-1].data["text/plain"] == "2"


def test_run_stops_a_cell_at_the_time_limit(onrush_bin, tmp_path):
    import nbformat

    nbformat.write(notebook(["loop { std::hint::spin_loop(); }"]), tmp_path / "in.ipynb")
    command = [onrush_bin, "run", tmp_path / "in.ipynb", "--timeout", "2s"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 1 and "limit of 2 s" in ran.stdout + ran.stderr


@pytest.mark.parametrize("text,words", [
    ("", "not JSON"), ("[]", "none given"), ('{"nbformat": 3, "worksheets": []}', "format 3"), ('{"nbformat": 4}', "cells"),
])
def test_run_says_what_is_wrong_with_a_file(onrush_bin, tmp_path, text, words):
    path = tmp_path / "in.ipynb"
    path.write_text(text)
    ran = subprocess.run([onrush_bin, "run", path], capture_output=True, text=True, timeout=90)
    assert ran.returncode == 1 and words in ran.stderr and str(path) in plain(ran.stderr)


def test_run_stops_at_ctrl_c_and_writes_what_there_is(onrush_bin, tmp_path):
    import nbformat

    nbformat.write(notebook(["6 * 7", SLEEP, "1"]), tmp_path / "in.ipynb")
    ran = subprocess.Popen(
        [onrush_bin, "run", "in.ipynb", "-o", "out.ipynb"], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert until(lambda: named(descendants(ran.pid), "onrush-cell"), PATIENCE)
    time.sleep(2)
    cells = named(descendants(ran.pid), "onrush-cell")
    ran.send_signal(signal.SIGINT)
    _, errors = ran.communicate(timeout=90)
    assert ran.returncode == 1 and "interrupted" in errors, errors
    assert until(lambda: not any(alive(pid) for pid in cells))
    out = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    assert out.cells[0].outputs[-1].data["text/plain"] == "42"
    assert out.cells[1].outputs[-1].ename == "interrupted"
    assert out.cells[2].execution_count is None


def test_run_refuses_a_folder_that_is_not_there(onrush_bin, tmp_path):
    import nbformat

    nbformat.write(notebook(["1"]), tmp_path / "in.ipynb")
    command = [onrush_bin, "run", tmp_path / "in.ipynb", "-o", tmp_path / "none/out.ipynb"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert ran.returncode == 1 and "there is no folder" in ran.stderr


def test_run_writes_the_file_behind_a_link(onrush_bin, tmp_path):
    import nbformat

    private, link, pipe = tmp_path / "private.ipynb", tmp_path / "link.ipynb", tmp_path / "pipe.ipynb"
    nbformat.write(notebook(["40 + 2"]), private)
    private.chmod(0o600)
    link.symlink_to("private.ipynb")
    os.mkfifo(pipe)
    run = lambda out: subprocess.run([onrush_bin, "run", private, "-o", out], capture_output=True, text=True, timeout=90)
    ran = run(link)
    assert ran.returncode == 0, ran.stderr
    assert link.is_symlink() and private.stat().st_mode & 0o777 == 0o600
    assert nbformat.read(private, as_version=4).cells[0].outputs[0].data["text/plain"] == "42"
    ran = run(pipe)
    assert ran.returncode == 1 and "is a pipe, not a regular file" in ran.stderr and pipe.is_fifo()


def test_install_and_uninstall(onrush_bin, tmp_path):
    folder = tmp_path / "share/jupyter/kernels/onrush"
    subprocess.run([onrush_bin, "install", "--prefix", tmp_path], check=True, capture_output=True)
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["display_name"] == "Rust (Onrush)" and spec["language"] == "rust" and spec["interrupt_mode"] == "message"
    assert spec["argv"][1:] == ["kernel", "--connection-file", "{connection_file}"] and Path(spec["argv"][0]).samefile(onrush_bin)
    assert {path.name for path in folder.iterdir()} == {"kernel.json", "logo-32x32.png", "logo-64x64.png", "logo-svg.svg"}
    # Again over itself, then away; a second time there is nothing to remove.
    for command in ("install", "uninstall", "uninstall"):
        subprocess.run([onrush_bin, command, "--prefix", tmp_path], check=True, capture_output=True)
    assert not folder.exists()


def test_install_where_nothing_can_be_written(onrush_bin, tmp_path):
    (tmp_path / "share").write_text("a file")
    ran = subprocess.run([onrush_bin, "install", "--prefix", tmp_path], capture_output=True, text=True)
    assert ran.returncode == 1 and "could not be written" in ran.stderr and str(tmp_path) in ran.stderr
