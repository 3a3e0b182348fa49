"""Hidden state: which cells no longer follow from those above them, as JupyterLab's cell ids tell it."""

import queue
import time

import pytest

from driver import PATIENCE, Ran


class Cells:
    """A notebook whose cells are sent as JupyterLab sends them: with their ids, and those that were deleted."""

    def __init__(self, kernel):
        self.kernel, self.client = kernel, kernel.client
        kernel.ok(":restart-cells")

    def run(self, cell: str, code: str, deleted=()) -> Ran:
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell, "deletedCells": list(deleted)})
        self.client.shell_channel.send(message)
        outputs, reply = [], None
        until = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < until, outputs
            try:
                got = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if got["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                break
            outputs.append({"output_type": got["msg_type"], **got["content"]})
        while reply is None or reply["parent_header"]["msg_id"] != message["header"]["msg_id"]:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
        ran = Ran(reply["content"]["status"], reply["content"], outputs)
        ran.flow = reply["metadata"].get("onrush")
        assert ran.status == "ok", outputs
        return ran

    def stale(self, ran: Ran) -> list[str]:
        return [cell["cell"] for cell in ran.flow["stale"]]


@pytest.fixture
def cells(kernel):
    return Cells(kernel)


def test_a_run_from_top_to_bottom_leaves_nothing_stale(cells):
    notebook = {
        "a": "let mut v = vec![1]; let x = 1; fn twice(n: i32) -> i32 { n * 2 }",
        "b": "v.push(2); let n = v.len();",
        "c": "let x = x + twice(3); n",
        "d": "v.clear(); (x, n)",
    }
    for _ in range(2):
        for cell, code in notebook.items():
            last = cells.run(cell, code)
        assert cells.stale(last) == []


def test_what_used_a_changed_value_is_stale(cells):
    cells.run("a", "let x = 1;")
    shown = cells.run("b", "let y = x + 1; y")
    cells.run("c", "let z = 5;")
    again = cells.run("a", "let x = 10;")
    assert cells.stale(again) == ["b"]
    assert again.flow["writes"] == ["x"]
    # The output of the earlier cell is marked.
    result = next(o for o in shown.outputs if o["output_type"] == "execute_result")
    assert result["metadata"]["onrush"]["reads"].keys() == {"x"}
    update = next(o for o in again.outputs if o["output_type"] == "update_display_data")
    assert update["transient"]["display_id"] == result["transient"]["display_id"]
    assert update["data"] == result["data"]
    assert "`x`" in update["metadata"]["onrush"]["stale"]
    table = cells.run("v", ":vars").outputs
    text = next(text for o in table if "┆" in (text := o.get("data", {}).get("text/plain", "")))
    rows = {line.split("┆")[1].strip(): line for line in text.splitlines() if line.count("┆") > 4}
    assert "stale" in rows["y"] and "stale" not in rows["x"] and "stale" not in rows["z"]
    # Whoever reads the stale value is told so; running the cell again mends it.
    reader = cells.run("d", "y * 2")
    assert "`y` was computed by" in reader.stderr and "older value of `x`" in reader.stderr
    assert cells.stale(cells.run("b", "let y = x + 1; y")) == ["d"]
    reader = cells.run("d", "y * 2")
    assert reader.stderr == "" and cells.stale(reader) == []


def test_a_value_that_is_the_same_again_makes_nothing_stale(cells):
    cells.run("a", "let x = 1; fn f(n: i32) -> i32 { n }")
    cells.run("b", "f(x)")
    assert cells.stale(cells.run("a", "let x = 1; fn f(n: i32) -> i32 { n }")) == []


def test_rustc_knows_who_changes_a_value(cells):
    cells.run("a", "let mut v = vec![3, 1, 2]; let c = std::cell::RefCell::new(1);")
    for reads in "v.len()", "v.iter().sum::<i32>()", 'println!("{v:?}");', "let w = v.clone();", "*c.borrow()":
        assert not {"v", "c"} & set(cells.run("r", reads).flow["writes"]), reads
    for changes in "v.sort();", "v[0] = 7;", "let r = &mut v; r.push(1);", "for x in v.iter_mut() { *x += 1; }":
        assert "v" in cells.run("w", changes).flow["writes"], changes
    assert "c" in cells.run("w", "*c.borrow_mut() += 1;").flow["writes"]


def test_a_cell_that_changes_its_own_input_twice_is_stale(cells):
    cells.run("a", "let mut v = vec![1];")
    cells.run("b", "v.push(2);")
    cells.run("c", "v.len()")
    assert cells.stale(cells.run("b", "v.push(2);")) == ["c", "b"]
    assert "own earlier run" in cells.run("s", ":stale").stdout
    for cell, code in ("a", "let mut v = vec![1];"), ("b", "v.push(2);"), ("c", "v.len()"):
        last = cells.run(cell, code)
    assert cells.stale(last) == []


def test_items_have_versions_too(cells):
    cells.run("a", "fn rate() -> f64 { 0.1 }")
    cells.run("b", "let tax = 100.0 * rate();")
    cells.run("c", "tax")
    assert cells.stale(cells.run("a", "fn rate() -> f64 { 0.2 }")) == ["b", "c"]


def test_what_a_deleted_cell_made_is_said(cells):
    cells.run("a", "let kept = 5;")
    cells.run("b", "kept + 1")
    shown = cells.run("c", ":vars", deleted=["a"])
    text = next(text for o in shown.outputs if "┆" in (text := o.get("data", {}).get("text/plain", "")))
    assert "made by a deleted cell" in text
    assert cells.stale(cells.run("d", "let other = 1;")) == ["b"]
