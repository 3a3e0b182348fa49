"""`onrush run -p NAME=VALUE`: the cell with the values is where papermill 2 puts it, and its values are literals of Rust."""

import subprocess

import nbformat
import pytest

PATIENCE = 120


@pytest.fixture
def notebook(tmp_path):
    """A notebook with defaults, and a cell that uses them."""
    defaults = nbformat.v4.new_code_cell('let n = 2;\nlet rate: f64 = 0.5;\nlet name = String::from("a");\nlet limit: Option<u32> = None;')
    defaults.metadata["tags"] = ["parameters"]
    uses = nbformat.v4.new_code_cell('format!("{} {} {} {limit:?}", n * 10, rate * 2.0, name + "!")')
    path = tmp_path / "in.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# T"), defaults, uses]), path)
    return path


def run(onrush_bin, path, *options):
    return subprocess.run([onrush_bin, "run", path, *options], capture_output=True, text=True, timeout=PATIENCE)


def test_values_replace_the_defaults(onrush_bin, notebook):
    out = notebook.with_name("out.ipynb")
    given = ["-p", "n=7", "-p", "rate=2", "-p", "name=x y", "--parameter", "limit=9"]
    ran = run(onrush_bin, notebook, *given, "-o", out)
    assert ran.returncode == 0, ran.stderr
    made = nbformat.read(out, 4)
    nbformat.validate(made)
    tags = [cell.metadata.get("tags", []) for cell in made.cells]
    assert tags == [[], ["parameters"], ["injected-parameters"], []]
    assert made.cells[3].outputs[0].data["text/plain"] == '"70 4 x y! Some(9)"'
    # Again over its own output: the cell is replaced, as papermill does.
    ran = run(onrush_bin, out, "-p", "n=1", "-o", out)
    assert ran.returncode == 0, ran.stderr
    made = nbformat.read(out, 4)
    assert len(made.cells) == 4 and made.cells[2].source == "// Parameters\nlet n = 1;"
    assert made.cells[3].outputs[0].data["text/plain"] == '"10 1 a! None"'


def test_what_does_not_fit_is_said_before_a_cell_runs(onrush_bin, notebook):
    ran = run(onrush_bin, notebook, "-p", "rate=fast")
    assert ran.returncode == 1 and "`rate=fast` is a string" in ran.stderr and ran.stdout == ""
    ran = run(onrush_bin, notebook, "-p", "n")
    assert ran.returncode == 2 and "NAME=VALUE" in ran.stderr
    ran = run(onrush_bin, notebook, "-p", "other=1")
    assert ran.returncode == 0 and "does not define `other`" in ran.stderr


def test_a_check_passes_on_what_a_run_has_written(onrush_bin, tmp_path):
    """The crate is built in the run and found by the check: the line about the build is no output."""
    crate = tmp_path / "tiny"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text('[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2024"\n')
    (crate / "src/lib.rs").write_text("pub fn one() -> i32 { 1 }\n")
    cells = [':dep tiny = { path = "tiny" }', "tiny::one()", 'println!("{}", "x".repeat(3_000_000));']
    path, out = tmp_path / "in.ipynb", tmp_path / "out.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    ran = run(onrush_bin, path, "-o", out)
    assert ran.returncode == 0, ran.stderr
    built = nbformat.read(out, 4).cells[0].outputs
    assert any("once for all notebooks" in o.data.get("text/plain", "") and o.metadata == {"onrush": {"progress": True}} for o in built)
    ran = run(onrush_bin, out, "--check")
    assert ran.returncode == 0, ran.stdout
