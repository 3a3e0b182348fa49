"""The versions of a notebook's crates travel with its file: in the outputs, and by `onrush run -o` in its metadata too. A new kernel
reads them from the file that Jupyter's server names."""

import os
import subprocess
from pathlib import Path

import nbformat
from driver import PATIENCE, Kernel

MIME = "application/vnd.onrush.lock+json"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.invalid", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()


def commit(folder: Path, word: str) -> str:
    (folder / "src").mkdir(exist_ok=True)
    (folder / "Cargo.toml").write_text('[package]\nname = "greeting"\nversion = "0.1.0"\nedition = "2024"\n')
    (folder / "src/lib.rs").write_text(f'pub fn greet() -> &\'static str {{ "{word}" }}\n')
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", word)
    return git(folder, "rev-parse", "HEAD")


def test_a_new_kernel_takes_the_versions_of_the_file(onrush_bin, kernelspecs, tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=trunk")
    first = commit(repository, "hello")
    saved, file = f'git = "file://{repository}"', tmp_path / "saved.ipynb"
    cells = [nbformat.v4.new_code_cell(f":dep greeting = {{ {saved} }}\ngreeting::greet()")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    subprocess.run([onrush_bin, "run", file, "-o", file], check=True, timeout=PATIENCE)
    notebook = nbformat.read(file, 4)
    nbformat.validate(notebook)
    [shown] = [o for o in notebook.cells[0].outputs if MIME in o.get("data", {})]
    lock = notebook.metadata["onrush"]["lock"]
    assert lock == shown.data[MIME]["lock"] and any(first in line for line in lock)

    second = commit(repository, "good day")

    def kernel(named: Path) -> Kernel:
        os.environ["JPY_SESSION_NAME"] = str(named)
        try:
            return Kernel(kernelspecs, tmp_path)
        finally:
            del os.environ["JPY_SESSION_NAME"]

    def greets(named: Path, branch: str) -> str:
        """In other words than before, so that no build is found and cargo must ask what is locked."""
        running = kernel(named)
        try:
            return running.value(f":dep greeting = {{ {saved}, {branch} }}\ngreeting::greet()")
        finally:
            running.close()

    with_outputs = notebook.copy()
    with_outputs.metadata = {}
    nbformat.write(with_outputs, tmp_path / "outputs.ipynb")
    notebook.cells[0].outputs = []
    nbformat.write(notebook, tmp_path / "stripped.ipynb")
    assert greets(tmp_path / "outputs.ipynb", "default-features = false") == '"hello"'
    assert greets(tmp_path / "stripped.ipynb", "features = []") == '"hello"'
    assert greets(tmp_path / "none.ipynb", f'rev = "{second}"') == '"good day"'
