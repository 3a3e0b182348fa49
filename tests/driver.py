"""Drives a kernel as Jupyter does: runs a cell, waits for its last output, and gives everything that it sent."""

import queue
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

import jupyter_client
import pytest

# Longer than any cell here takes, and short enough to end a run that hangs.
PATIENCE = 120


@dataclass
class Ran:
    """Everything that one cell sent."""

    status: str
    reply: dict
    outputs: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def error(self) -> dict | None:
        errors = [o for o in self.outputs if o["output_type"] == "error"]
        assert len(errors) <= 1, f"a failing cell gives one error, not {len(errors)}"
        return errors[0] if errors else None

    @property
    def error_text(self) -> str:
        """The error as it is read: name, value and traceback, without colours."""
        error = self.error
        assert error is not None, f"the cell did not fail: {self}"
        text = "\n".join([error["ename"], error["evalue"], *error["traceback"]])
        # Lines that only a terminal's width made.
        return plain(re.sub(r"\n\x1b\[0m *", " ", text))

    def stream(self, name: str) -> str:
        return "".join(o["text"] for o in self.outputs if o["output_type"] == "stream" and o["name"] == name)

    @property
    def stdout(self) -> str:
        return self.stream("stdout")

    @property
    def stderr(self) -> str:
        return self.stream("stderr")

    @property
    def result(self) -> str | None:
        """text/plain of the last expression."""
        results = [o["data"] for o in self.outputs if o["output_type"] == "execute_result"]
        return results[-1]["text/plain"] if results else None

    @property
    def bundles(self) -> list[dict]:
        return [o["data"] for o in self.outputs if o["output_type"] in ("execute_result", "display_data")]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


class Kernel:
    """One kernel process, driven as Jupyter does it."""

    def __init__(self, kernelspecs, folder: Path):
        self.manager = jupyter_client.KernelManager(kernel_name="onrush", kernel_spec_manager=kernelspecs)
        self.manager.start_kernel(cwd=str(folder))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)
        self.folder = folder

    def run(self, code: str, timeout: float = PATIENCE, **options) -> Ran:
        """Runs a cell and waits for its reply and for its last output."""
        begun = time.monotonic()
        message = self.client.execute(code, **options)
        return self.wait(message, begun, timeout)

    def wait(self, message: str, begun: float, timeout: float = PATIENCE) -> Ran:
        outputs, until = [], begun + timeout
        while True:
            try:
                content = self.client.get_iopub_msg(timeout=max(0.1, until - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"the cell did not end in {timeout} seconds; so far: {outputs}"[:4000])
            if content["parent_header"].get("msg_id") != message:
                continue
            kind, body = content["msg_type"], content["content"]
            if kind == "status" and body["execution_state"] == "idle":
                break
            if kind in ("stream", "display_data", "execute_result", "error"):
                outputs.append({"output_type": kind, **body})
            elif kind == "update_display_data":
                target = body["transient"]["display_id"]
                for output in outputs:
                    if output.get("transient", {}).get("display_id") == target:
                        output["data"] = body["data"]
            elif kind == "clear_output":
                outputs.clear()
        while True:
            reply = self.client.get_shell_msg(timeout=max(0.1, until - time.monotonic()))
            if reply["parent_header"].get("msg_id") == message:
                break
        return Ran(reply["content"]["status"], reply["content"], outputs, time.monotonic() - begun)

    def ok(self, code: str, **options) -> Ran:
        """Runs a cell that must succeed."""
        ran = self.run(code, **options)
        assert ran.status == "ok", f"{code}\n{ran.error_text if ran.error else ran.reply}"
        return ran

    def fails(self, code: str, **options) -> Ran:
        """Runs a cell that must fail with one error."""
        ran = self.run(code, **options)
        assert ran.status == "error", f"{code}\nsucceeded: {ran.outputs}"[:4000]
        assert ran.error is not None, f"{code}\nfailed without an error output: {ran.reply}"
        return ran

    def value(self, expression: str) -> str:
        """text/plain of an expression."""
        result = self.ok(expression).result
        assert result is not None, f"{expression} has no value"
        return result.strip()

    def interrupt(self):
        self.manager.interrupt_kernel()

    def is_alive(self) -> bool:
        return self.manager.is_alive()

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
