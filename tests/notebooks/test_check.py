"""`onrush run --check`: notebooks whose outputs follow from a run from top to bottom, and notebooks whose do not."""

import json
import subprocess

import pytest

PATIENCE = 120

CELLS = {
    "one": "let x = 1;",
    "two": '%%time\nlet y = x + 1;\nprintln!("at {:p} after {:?}", &y, std::time::Duration::from_millis(7));\ny',
    "three": "fn twice(n: i32) -> i32 { n * 2 }\ntwice(y)",
}


def notebook(cells):
    """A notebook without outputs, and the way to its cells by their ids."""
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [{**code, "id": name, "source": source} for name, source in cells.items()],
    }


@pytest.fixture(scope="module")
def run(onrush_bin):
    def run(path, *options):
        return subprocess.run([onrush_bin, "run", path, *options], capture_output=True, text=True, timeout=PATIENCE)

    return run


@pytest.fixture
def check(run, tmp_path):
    """Writes a notebook and checks it: exit status and what is said."""

    def check(content):
        path = tmp_path / "checked.ipynb"
        path.write_text(json.dumps(content))
        ran = run(path, "--check")
        assert ran.stderr == "", ran.stderr
        return ran.returncode, ran.stdout

    return check


@pytest.fixture
def stored(run, tmp_path):
    """The notebook with the outputs of a run."""
    bare, ran = tmp_path / "bare.ipynb", tmp_path / "ran.ipynb"
    bare.write_text(json.dumps(notebook(CELLS)))
    assert run(bare, "-o", ran).returncode == 0
    return json.loads(ran.read_text())


def test_outputs_that_follow(check, stored):
    status, said = check(stored)
    assert status == 0 and "the outputs of 3 cells follow" in said, said


def test_a_cell_that_was_changed_after_it_ran(check, stored):
    stored["cells"][0]["source"] = "let x = 5;"
    status, said = check(stored)
    assert status == 1
    assert "cell 3 (In [3]) shows something else than what is stored\n  output, line 1:\n  - 4\n  + 12\n" in said
    assert "2 of 3 cells do not follow" in said


def test_a_name_that_is_defined_below(check, stored):
    stored["cells"].append(stored["cells"].pop(0))
    status, said = check(stored)
    assert status == 1
    assert "it uses `x`, which is first defined in cell 3" in said
    assert "In [3] stands above In [1]" in said


def test_a_name_that_no_cell_defines(check, stored):
    del stored["cells"][0]
    status, said = check(stored)
    assert status == 1 and "no cell defines `x`" in said


def test_a_notebook_without_outputs_has_nothing_to_compare(check):
    status, said = check(notebook(CELLS))
    assert status == 0 and "nothing to compare" in said
    status, said = check(notebook({"a": "x", "b": "let x = 1;"}))
    assert status == 1 and "first defined in cell 2" in said


def test_an_error_that_is_stored_follows(check, run, tmp_path):
    bare, ran = tmp_path / "bare.ipynb", tmp_path / "ran.ipynb"
    bare.write_text(json.dumps(notebook({"a": '"x".parse::<i32>()?', "b": "1 + 1"})))
    assert run(bare, "-o", ran, "--allow-errors").returncode == 1
    content = json.loads(ran.read_text())
    assert check(content)[0] == 0
    content["cells"][0]["source"] = '"7".parse::<i32>()?'
    status, said = check(content)
    assert status == 1 and "invalid digit" in said


def test_check_writes_nothing(run, tmp_path):
    ran = run(tmp_path / "absent.ipynb", "--check", "-o", tmp_path / "out.ipynb")
    assert ran.returncode == 2 and not (tmp_path / "out.ipynb").exists()


@pytest.mark.parametrize("name", ["01-tour.ipynb", "02-for-pandas-users.ipynb", "03-looking-at-data.ipynb", "10-first-cuda-kernels.ipynb"])
def test_the_stored_outputs_of_the_notebooks_follow(run, notebooks_copy, name):
    ran = run(notebooks_copy / name, "--check")
    assert ran.returncode == 0 and "cells follow" in ran.stdout, f"run it again with `onrush run -o`:\n{ran.stdout}\n{ran.stderr}"
