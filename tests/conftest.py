"""What the product's tests share: the binary under test, a kernel (`driver.py`), a folder for what they leave behind.

`cargo xtask test` sets ONRUSH_BIN. By hand: ONRUSH_BIN=~/.cache/onrush/target/debug/onrush .venv/bin/python -m pytest tests
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

import jupyter_client.kernelspec
import pytest

from driver import PATIENCE, Kernel

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config):
    default = Path.home() / ".cache/onrush/target/debug/onrush"
    binary = Path(os.environ.get("ONRUSH_BIN", default))
    if not binary.is_file():
        pytest.exit(f"there is no onrush at {binary}: run cargo xtask test, or set ONRUSH_BIN", returncode=3)
    os.environ["ONRUSH_BIN"] = str(binary)
    # A session that is left behind ends soon.
    os.environ.setdefault("ONRUSH_IDLE", "5")
    # The token of clusters, for sessions and workers of this run. The developer's own token is neither used nor made.
    os.environ["ONRUSH_TOKEN"] = secrets.token_hex(32)


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
    subprocess.run([onrush_bin, "install", "--no-widgets", "--prefix", prefix], check=True, timeout=PATIENCE)
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
