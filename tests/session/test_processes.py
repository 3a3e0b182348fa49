"""Between the processes of a notebook: what is printed when no cell runs, a session that was stopped, escape sequences in data.

Expected are the Jupyter protocol (a message's parent is the request that led to it) and the meaning of SIGSTOP and SIGCONT."""

import os
import signal
import subprocess
import time

import nbformat
import processes
from driver import Kernel


def next_stream(kernel, text: str) -> dict:
    """The next stream message with that text."""
    until = time.monotonic() + 60
    while True:
        message = kernel.client.get_iopub_msg(timeout=max(0.1, until - time.monotonic()))
        if message["msg_type"] == "stream" and text in message["content"]["text"]:
            return message


def test_what_threads_and_children_print_between_cells_belongs_to_their_cell(kernel):
    wait = "std::thread::sleep(std::time::Duration::from_millis(500));"
    of_thread = kernel.client.execute(f'std::thread::spawn(|| {{ {wait} println!("a thread"); eprintln!("an error"); }});')
    for text, name in [("a thread", "stdout"), ("an error", "stderr")]:
        message = next_stream(kernel, text)
        assert message["parent_header"]["msg_id"] == of_thread and message["content"]["name"] == name
    child = kernel.client.execute('std::process::Command::new("sh").args(["-c", "sleep 0.5; echo a child"]).spawn()?;')
    assert next_stream(kernel, "a child")["parent_header"]["msg_id"] == child
    assert kernel.value("1 + 1") == "2"


def test_what_threads_display_between_cells_belongs_to_the_cell_that_ran_last(kernel):
    wait = "std::thread::sleep(std::time::Duration::from_millis(500));"
    cell = kernel.client.execute(f'std::thread::spawn(|| {{ {wait} show(&"done"); }});')
    until = time.monotonic() + 60
    while True:
        message = kernel.client.get_iopub_msg(timeout=max(0.1, until - time.monotonic()))
        if message["msg_type"] == "display_data":
            break
    assert message["parent_header"]["msg_id"] == cell
    assert message["content"]["data"]["text/plain"] == '"done"'
    # A child process prints after a cell that is not shown.
    child = kernel.client.execute('std::process::Command::new("sh").args(["-c", "sleep 1; echo a child"]).spawn()?;')
    kernel.client.execute("1 + 1", silent=True)
    assert next_stream(kernel, "a child")["parent_header"]["msg_id"] == child


def test_a_session_that_was_stopped_is_named_and_an_interrupt_is_obeyed(kernel):
    kernel.ok("let kept = 5; let table = frame! { a: [1, 2, 3] };")
    supervisor = processes.supervisor()
    os.kill(supervisor, signal.SIGSTOP)
    try:
        # What needs no frame runs as ever, with a note.
        ran = kernel.ok("kept + 1")
        assert ran.result == "6" and f"`kill -CONT {supervisor}`" in ran.stderr
        message, begun = kernel.client.execute("table.shape()"), time.monotonic()
        next_stream(kernel, "kill -CONT")
        kernel.interrupt()
        interrupted = time.monotonic()
        ran = kernel.wait(message, begun)
        assert time.monotonic() - interrupted < 10
        assert "all variables are as they were before it" in ran.error_text
    finally:
        os.kill(supervisor, signal.SIGCONT)
    assert kernel.value("table.shape()") == "(3, 1)"
    kernel.ok('publish("shared", &table);')
    assert kernel.value('get("shared").shape()') == "(3, 1)"


def test_a_session_that_was_stopped_does_not_keep_a_new_notebook_from_running(kernel, kernelspecs, tmp_path):
    kernel.ok("let table = frame! { a: [1, 2, 3] };")
    supervisor = processes.supervisor()
    os.kill(supervisor, signal.SIGSTOP)
    fresh = None
    try:
        fresh = Kernel(kernelspecs, tmp_path)
        ran = fresh.ok("1 + 1")
        # It waits for the prelude and rustc, and not for the session.
        assert ran.result == "2" and ran.seconds < 10
        assert f"`kill -CONT {supervisor}`" in ran.stderr
        assert fresh.ok("let kept = 5; kept + 1").seconds < 10
        # A frame needs the session, and says so.
        message, begun = fresh.client.execute("frame! { a: [1] }"), time.monotonic()
        next_stream(fresh, "kill -CONT")
        fresh.interrupt()
        ran = fresh.wait(message, begun)
        assert ran.status == "error" and time.monotonic() - begun < 15
    finally:
        os.kill(supervisor, signal.SIGCONT)
        if fresh:
            assert fresh.value("frame! { a: [1] }.shape()") == "(1, 1)"
            assert fresh.value("kept") == "5"
            fresh.close()


def test_a_signal_from_outside_is_no_fault_of_the_cell(kernel):
    ran = kernel.fails('std::process::Command::new("kill").args(["-SEGV", &std::process::id().to_string()]).status()?; loop {}')
    assert "sent the signal SIGSEGV" in ran.error_text and "not its own" not in ran.error_text
    assert "all variables are as they were before it" in ran.error_text


def test_a_crash_names_the_line_of_the_function_and_of_the_cell(kernel):
    count = kernel.ok("fn read_at(p: *const i32) -> i32 {\n    unsafe { p.read_volatile() }\n}").reply["execution_count"]
    ran = kernel.fails('println!("before");\nread_at(16 as *const i32)')
    here = ran.reply["execution_count"]
    assert f"--> In [{count}], line 2, column 5" in ran.error_text and f"In [{here}], line 2" in ran.error_text, ran.error_text


def test_data_cannot_send_a_terminal_commands(onrush_bin, tmp_path):
    cells = [
        r'println!("\x1b[31mred\x1b[0m \x1b]0;title\x07");',
        r'let table = frame! { a: ["\x1b]52;c;aGk=\x07", "\x1b[2J"] };',
        "table",
        'println!("{table}");',
        r'Err::<(), _>("\x1b]0;title\x07")?;',
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    path = tmp_path / "data.ipynb"
    nbformat.write(notebook, path)
    ran = subprocess.run([onrush_bin, "run", path], capture_output=True, timeout=120)
    text = ran.stdout + ran.stderr
    assert b"\x1b[31mred\x1b[0m" in text, "a program's own colours stay"
    assert text.count(b"\x1b") == 2 and b"\x07" not in text, text
