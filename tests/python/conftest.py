"""What the tests of the Python package share: a fake session, a worker, and the package itself."""

import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "kernel/python"), str(ROOT / "tests/session"), str(ROOT / "tests/python")]

from fake_session import FakeSession  # noqa: E402
from worker_process import WorkerProcess  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def _connection_ends():
    """Other tests of this process wait for the end of a session that nobody is attached to."""
    yield
    import onrush._client as client

    client.SESSION.close()


@pytest.fixture(autouse=True)
def _interrupts_arrive():
    """A shell starts programs in the background with SIGINT ignored, and Python then leaves it so."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def fake(tmp_path_factory, monkeypatch):
    """A session that speaks the protocol, and the client's connection to it."""
    import onrush._client as client

    folder = tmp_path_factory.mktemp("s")
    folder.chmod(0o700)
    monkeypatch.setenv("ONRUSH_SESSION", str(folder / "s.sock"))
    client.SESSION.close()
    session = FakeSession(folder / "s.sock")
    yield session
    client.SESSION.close()
    session.close()


@pytest.fixture(scope="module")
def worker():
    """One worker for the tests of a file."""
    worker = WorkerProcess()
    yield worker
    worker.close()
