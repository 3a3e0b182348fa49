"""What the product's tests share: the binary under test, a kernel that runs cells, a folder for what they leave behind.

`cargo xtask test` sets ONRUSH_BIN. By hand: ONRUSH_BIN=~/.cache/onrush/target/debug/onrush .venv/bin/python -m pytest tests
"""

import os
import queue
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import jupyter_client
import jupyter_client.kernelspec
import pytest

ROOT = Path(__file__).resolve().parent.parent

# Longer than any cell here takes, and short enough to end a run that hangs.
PATIENCE = 120


def pytest_configure(config):
    default = Path.home() / ".cache/onrush/target/debug/onrush"
    binary = Path(os.environ.get("ONRUSH_BIN", default))
    if not binary.is_file():
        pytest.exit(f"there is no onrush at {binary}: run cargo xtask test, or set ONRUSH_BIN", returncode=3)
    os.environ["ONRUSH_BIN"] = str(binary)


@pytest.fixture(scope="session")
def onrush_bin() -> Path:
    return Path(os.environ["ONRUSH_BIN"])


@pytest.fixture(scope="session", autouse=True)
def runtime_dir():
    """Sockets of this run alone: neither another run's session nor the developer's is used. Short, because the path of a
    socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="onrush-t") as folder:
        before = os.environ.get("ONRUSH_RUNTIME_DIR")
        os.environ["ONRUSH_RUNTIME_DIR"] = folder
        yield Path(folder)
        if before is None:
            del os.environ["ONRUSH_RUNTIME_DIR"]
        else:
            os.environ["ONRUSH_RUNTIME_DIR"] = before


@pytest.fixture(scope="session")
def jupyter_prefix(onrush_bin, tmp_path_factory) -> Path:
    """A prefix into which the kernelspec was installed, and nothing else."""
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run([onrush_bin, "install", "--prefix", prefix], check=True, timeout=PATIENCE)
    return prefix


@pytest.fixture(scope="session")
def kernelspecs(jupyter_prefix) -> jupyter_client.kernelspec.KernelSpecManager:
    return jupyter_client.kernelspec.KernelSpecManager(
        kernel_dirs=[str(jupyter_prefix / "share/jupyter/kernels")], ensure_native_kernel=False
    )


@pytest.fixture(scope="session")
def outputs_dir(tmp_path_factory) -> Path:
    """Where a failed test leaves what a person wants to look at."""
    folder = Path(os.environ.get("ONRUSH_TEST_OUTPUTS") or tmp_path_factory.mktemp("outputs"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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
        return plain("\n".join([error["ename"], error["evalue"], *error["traceback"]]))

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
    import re

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


@pytest.fixture(scope="module")
def kernel(kernelspecs, tmp_path_factory):
    """One kernel for the tests of a file, in an empty folder."""
    folder = tmp_path_factory.mktemp("notebook")
    kernel = Kernel(kernelspecs, folder)
    yield kernel
    kernel.close()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    return ROOT / "notebooks/data"


@pytest.fixture(scope="session")
def notebooks_copy(tmp_path_factory) -> Path:
    """The folder `notebooks` with its data, where cells may write."""
    folder = tmp_path_factory.mktemp("work") / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    return folder
