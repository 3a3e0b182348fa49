"""Another user of the machine, with a loose umask, no HOME, and folders of his own making where Onrush keeps things: he gets nothing
and gives nothing. What he may do is what the operating system says; the tests are run by root, who can become him."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import nbformat
import pytest

from driver import PATIENCE

NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture
def shared():
    """A folder such as /tmp. Short, because the path of a socket has at most 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="onrush-u", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def as_nobody(command: str, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(["sh", "-c", command], cwd=folder, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
                          text=True, timeout=PATIENCE)


def kit_of_this_run(cache: Path):
    """Lends the prelude of this machine to another cache folder."""
    usual = os.environ.get("ONRUSH_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "onrush"
    (cache / "kit").symlink_to(Path(usual) / "kit")


def onrush(onrush_bin, folder: Path, *arguments, **environment) -> subprocess.CompletedProcess:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ONRUSH_")) and name != "HOME"}
    return subprocess.run([onrush_bin, *arguments], cwd=folder, env={**kept, **environment}, umask=0, capture_output=True, text=True,
                          timeout=PATIENCE)


def notebook(folder: Path, *cells: str) -> Path:
    path = folder / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return path


def test_what_is_kept_is_private_whatever_the_umask(onrush_bin, shared):
    cache, runtime = shared / "cache", shared / "run"
    cache.mkdir(mode=0o700)
    kit_of_this_run(cache)
    path = notebook(shared, "let a = 1;", "frame! { x: [1, 2] }", "a + 1")
    ran = onrush(onrush_bin, shared, "run", path, ONRUSH_CACHE_DIR=str(cache), ONRUSH_RUNTIME_DIR=str(runtime), ONRUSH_IDLE="1")
    assert ran.returncode == 0, ran.stderr
    for folder in [cache, runtime, *(f for f in cache.iterdir() if f.is_dir() and not f.is_symlink())]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    compiled = [f for f in (cache / "cells").iterdir() if f.suffix in (".so", ".rmeta")]
    assert len(compiled) >= 4 and {stat.S_IMODE(f.stat().st_mode) for f in compiled} == {0o600}
    for command in ["ls cache", "ls run", f"cat {compiled[0]}", f"echo x > {compiled[0]}", "touch cache/cells/x", "mv cache c2",
                    "rm -r run"]:
        assert as_nobody(command, shared).returncode != 0, command


@pytest.mark.parametrize(
    "plant",
    [
        "mkdir -m 777 cache",
        "mkdir -m 755 cache && mkdir -m 777 cache/cells",
        "mkdir -m 777 real && ln -s real cache",
        "mkdir -m 777 above && ln -s ../above cache",
    ],
)
def test_a_folder_that_another_user_has_made_is_refused(onrush_bin, shared, plant):
    assert as_nobody(f"umask 0; {plant}", shared).returncode == 0
    # What would be run if the folder were believed: rustup takes the toolchain of the folder that it is called in.
    as_nobody("printf '[toolchain]\\npath = \"/nonexistent\"\\n' > cache/rust-toolchain.toml", shared)
    before = sorted(shared.rglob("*"))
    path = notebook(shared, "1 + 1")
    ran = onrush(onrush_bin, shared, "run", path, ONRUSH_CACHE_DIR=str(shared / "cache/inner"), ONRUSH_RUNTIME_DIR=str(shared / "run"))
    assert ran.returncode != 0
    said = " ".join((ran.stdout + ran.stderr).split())
    assert "belongs to another user (number 65534)" in said and "ONRUSH_CACHE_DIR" in said
    assert sorted(f for f in shared.rglob("*") if f != path) == before


def test_without_a_home_folder_nothing_is_shared(onrush_bin, shared):
    """A user whom the user database does not know has no home folder: what is kept lies in a folder with his number."""
    unknown = 54321
    program = shared / "bin"
    program.mkdir(mode=0o755)
    for name in ("onrush", "onrush-session"):
        shutil.copy(onrush_bin.with_name(name), program / name)
    environment = {"TMPDIR": str(shared), "PATH": "/usr/bin:/bin"}

    def doctor():
        ran = subprocess.run([program / "onrush", "doctor"], cwd=shared, env=environment, umask=0, user=unknown, group=unknown,
                             extra_groups=[], capture_output=True, text=True, timeout=PATIENCE)
        return " ".join(ran.stdout.split())

    own = shared / f"onrush-{unknown}"
    assert f"{own}/cache" in doctor()
    for folder in (own, own / "cache"):
        found = folder.stat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o700, unknown), folder
    shutil.rmtree(own)
    # Somebody was there first.
    assert as_nobody(f"mkdir -m 777 onrush-{unknown}", shared).returncode == 0
    assert "belongs to another user (number 65534)" in doctor()
    assert not any(own.iterdir())


def test_with_a_home_folder_in_the_user_database_it_is_found(onrush_bin, shared):
    said = " ".join(onrush(onrush_bin, shared, "doctor").stdout.split())
    assert str(Path("~root").expanduser() / ".cache/onrush") in said
    assert not (shared / "onrush-cache").exists()


def test_a_home_folder_that_others_can_write_to_holds_no_cache(onrush_bin, shared):
    home = shared / "home"
    home.mkdir()
    home.chmod(0o777)
    said = " ".join(onrush(onrush_bin, shared, "doctor", HOME=str(home), TMPDIR=str(shared)).stdout.split())
    own = shared / f"onrush-{os.geteuid()}"
    assert f"the cache is {own}/cache" in said and "home (its mode is 777)" in said
    assert stat.S_IMODE((own / "cache").stat().st_mode) == 0o700
    assert not (home / ".cache").exists()


def test_a_socket_of_another_user_is_not_talked_to(onrush_bin, shared):
    listen = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('run/session.sock'); s.listen(); s.settimeout(60); s.accept(); print('heard')"
    assert as_nobody("mkdir -m 777 run", shared).returncode == 0
    listener = subprocess.Popen(["python3", "-c", listen], cwd=shared, user=NOBODY, group=NOBODY, extra_groups=[],
                                stdout=subprocess.PIPE, text=True)
    try:
        while not (shared / "run/session.sock").exists():
            assert listener.poll() is None
        said = " ".join(onrush(onrush_bin, shared, "doctor", ONRUSH_RUNTIME_DIR=str(shared / "run")).stdout.split())
        assert "belongs to another user (number 65534)" in said
        assert listener.poll() is None
    finally:
        listener.kill()
    assert listener.communicate()[0] == ""


def test_a_full_disk_names_itself(onrush_bin, shared):
    """The folder of compiled cells is a disk of its own with room for nothing; the words are those of `df`."""
    cache = shared / "cache"
    (cache / "cells").mkdir(mode=0o700, parents=True)
    cache.chmod(0o700)
    kit_of_this_run(cache)
    path = notebook(shared, "fn f(n: usize) -> Vec<String> { (0..n).map(|i| format!(\"{i}\")).collect() }\nf(3).len()")
    script = f"mount -t tmpfs -o size=64k,mode=0700 tmpfs {cache}/cells && exec {onrush_bin} run {path}"
    environment = {**os.environ, "ONRUSH_CACHE_DIR": str(cache)}
    ran = subprocess.run(["unshare", "-m", "sh", "-c", script], env=environment, cwd=shared, capture_output=True, text=True, timeout=PATIENCE)
    if "mount:" in ran.stderr or "unshare:" in ran.stderr:
        pytest.skip("this machine lets nobody mount")
    said = " ".join((ran.stdout + ran.stderr).split())
    assert ran.returncode != 0
    assert f"the disk of {cache}/cells is full: 0." in said and "MB are free" in said
    assert "delete files there, or set ONRUSH_CACHE_DIR" in said
