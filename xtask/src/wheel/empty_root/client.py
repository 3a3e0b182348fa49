"""A client of Jupyter, from a folder of wheels: starts the kernel by its kernelspec and times the first cells."""

import glob
import os
import sys
import time

sys.path[:0] = glob.glob(os.path.expanduser("~/client"))
os.environ["JUPYTER_PATH"] = os.path.expanduser("~/venv/share/jupyter")

from jupyter_client.manager import start_new_kernel  # noqa: E402

begun = time.monotonic()
manager, client = start_new_kernel(kernel_name="onrush", startup_timeout=60)
print(f"seconds kernel {time.monotonic() - begun:.1f}")
for name, code, expected in [
    ("first_cell", "20 + 22", ["42"]),
    ("second_cell", "let x = 6.5f64; x * 2.0", ["13.0"]),
    ("system_cell", 'unsafe extern "C" { fn abs(x: i32) -> i32; } unsafe { abs(-3) }', ["3"]),
    ("frame_cell", "frame! { a: vec![1, 2, 3] }.filter(x!(a > 1))", ["2", "3"]),
]:
    messages = []
    begun = time.monotonic()
    reply = client.execute_interactive(code, timeout=60, output_hook=messages.append)
    took = time.monotonic() - begun
    results = [message["content"]["data"] for message in messages if message["msg_type"] == "execute_result"]
    assert reply["content"]["status"] == "ok" and len(results) == 1, (code, reply["content"], messages)
    lines = results[0]["text/plain"].splitlines()
    if name == "frame_cell":
        # The rows of the table, after the names and the types.
        lines = [line.strip("│ ") for line in lines if line.startswith("│")][2:]
    assert lines == expected, (code, results)
    print(f"seconds {name} {took:.2f}")
client.stop_channels()
manager.shutdown_kernel()
