"""The data explorer behind tables, over the protocol: Positron's requests by a comm, answered while cells run."""

import json
import queue
import statistics
import time
import uuid

import duckdb
import pytest

from driver import PATIENCE, Ran

TABLE = "application/vnd.onrush.table.v1+json"
FORMAT = {"large_num_digits": 2, "small_num_digits": 4, "max_integral_digits": 7, "max_value_length": 100}


class Table:
    """A front end's end of a table's comm."""

    def __init__(self, kernel, frame: str):
        self.client, self.comm = kernel.client, uuid.uuid4().hex
        self.events, self.count, self.closed = [], 0, False
        self.send("comm_open", {"target_name": "onrush.data_explorer", "data": {"frame": frame}})

    def send(self, kind: str, content: dict) -> str:
        message = self.client.session.msg(kind, {"comm_id": self.comm, **content})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def read(self, until, seconds: float = PATIENCE):
        """Reads messages until one is what is waited for; `until` gives it, or None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=0.5)
            except queue.Empty:
                continue
            content = message["content"]
            if content.get("comm_id") == self.comm:
                self.closed |= message["msg_type"] == "comm_close"
                if message["msg_type"] == "comm_msg" and "method" in content["data"]:
                    self.events.append(content["data"])
                found = until(message["msg_type"], content.get("data", {}))
                if found is not None:
                    return found
        pytest.fail(f"no answer in {seconds} seconds")

    def start(self, method: str, **params) -> int:
        self.count += 1
        self.send("comm_msg", {"data": {"id": self.count, "method": method, "params": params}})
        return self.count

    def answer(self, number: int) -> dict:
        return self.read(lambda kind, data: data if kind == "comm_msg" and data.get("id") == number else None)

    def ask(self, method: str, **params):
        data = self.answer(self.start(method, **params))
        assert "error" not in data, data
        return data["result"]

    def fails(self, method: str, **params) -> str:
        return self.answer(self.start(method, **params))["error"]["message"]

    def rows(self, first: int, count: int, columns) -> list[list]:
        spec = {"first_index": first, "last_index": first + count - 1}
        asked = [{"column_index": c, "spec": spec} for c in columns]
        return self.ask("get_data_values", columns=asked, format_options=FORMAT)["columns"]

    def profile(self, column: int, *kinds: str) -> dict:
        specs = [{"profile_type": kind, "params": {"num_bins": 4, "method": "fixed", "limit": 3}} for kind in kinds]
        callback = uuid.uuid4().hex
        self.ask(
            "get_column_profiles",
            callback_id=callback,
            profiles=[{"column_index": column, "profiles": specs}],
            format_options=FORMAT,
        )
        wanted = lambda: next((e["params"] for e in self.events if e["params"]["callback_id"] == callback), None)
        found = wanted() or self.read(lambda *_: wanted())
        assert "error_message" not in found, found
        return found["profiles"][0]

    def filtered(self, column: int, kind: str, **params) -> dict:
        schema = self.ask("get_schema", column_indices=[column])["columns"][0]
        return {"filter_id": uuid.uuid4().hex, "filter_type": kind, "column_schema": schema, "condition": "and", "params": params}


def run_as(kernel, cell: str, code: str) -> Ran:
    """A cell with an id, as JupyterLab sends it."""
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
    message = kernel.client.session.msg("execute_request", content, metadata={"cellId": cell})
    kernel.client.shell_channel.send(message)
    ran = kernel.wait(message["header"]["msg_id"], time.monotonic())
    assert ran.status == "ok", ran
    return ran


def shown(ran: Ran) -> dict:
    # Work that took a while has left a line, too.
    [saved] = [bundle[TABLE] for bundle in ran.bundles if TABLE in bundle]
    return saved


@pytest.fixture(scope="module")
def flights(kernel, data_dir):
    kernel.ok(f'let flights = read_parquet("{data_dir}/flights.parquet");')
    return run_as(kernel, "flights", "flights")


def test_the_bundle_has_three_forms_and_the_first_rows(flights):
    [bundle] = flights.bundles
    assert set(bundle) == {TABLE, "text/html", "text/plain"}
    assert "<script" not in bundle["text/html"]
    saved = bundle[TABLE]
    assert (saved["num_rows"], saved["num_columns"]) == (336_776, 19)
    assert len(saved["rows"]) == 100 and len(json.dumps(saved)) < 80_000
    assert saved["columns"][5]["column_name"] == "dep_delay" and saved["columns"][5]["nulls"] == 8255
    assert bundle["text/plain"].count("\n") < 30


def test_a_table_is_read_filtered_and_sorted(kernel, flights, data_dir):
    table = Table(kernel, shown(flights)["frame"])
    state = table.ask("get_state")
    assert state["table_shape"] == {"num_rows": 336_776, "num_columns": 19}
    names = [c["column_name"] for c in table.ask("get_schema", column_indices=list(range(19)))["columns"]]
    found = table.ask("search_schema", filters=[], sort_order="original")["matches"]
    assert found == list(range(19))
    delay, carrier, dest = names.index("dep_delay"), names.index("carrier"), names.index("dest")
    assert table.rows(336_775, 10, [carrier]) == [["MQ"]]

    # DuckDB's answer to the same question.
    source = f"'{data_dir}/flights.parquet'"
    expected = duckdb.sql(
        f"select dep_delay, carrier, dest from {source} where dep_delay between 60 and 300 and carrier in ('UA', 'B6')"
        " order by dep_delay desc, dest, carrier limit 40"
    ).fetchall()
    [count] = duckdb.sql(
        f"select count(*) from {source} where dep_delay between 60 and 300 and carrier in ('UA', 'B6')"
    ).fetchall()[0]
    filters = [
        table.filtered(delay, "between", left_value="60", right_value="300"),
        table.filtered(carrier, "set_membership", values=["UA", "B6"], inclusive=True),
    ]
    assert table.ask("set_row_filters", filters=filters) == {"selected_num_rows": count, "had_errors": False}
    keys = [{"column_index": c, "ascending": c != delay} for c in (delay, dest, carrier)]
    table.ask("set_sort_columns", sort_keys=keys)
    got = list(zip(*table.rows(0, 40, [delay, carrier, dest])))
    assert [(float(d), c, t) for d, c, t in got] == expected
    code = table.ask("convert_to_code", row_filters=filters, sort_keys=keys, column_filters=[], code_syntax_name={"code_syntax_name": "rust"})
    assert code["converted_code"] == [
        "flights",
        '.filter(x!(dep_delay >= 60 && dep_delay <= 300 && carrier in ["UA", "B6"]))',
        '.sort([desc("dep_delay").nulls_last(), asc("dest").nulls_last(), asc("carrier").nulls_last()])',
    ]
    again = kernel.ok("".join(code["converted_code"]))
    assert shown(again)["num_rows"] == count
    column = [c["column_name"] for c in shown(again)["columns"]].index("dep_delay")
    assert [float(row[column]) for row in shown(again)["rows"][:40]] == [row[0] for row in expected]
    assert "is not a number" in table.fails("set_row_filters", filters=[table.filtered(delay, "compare", op="<", value="x")])


def test_columns_are_summarised(kernel, flights, data_dir):
    table = Table(kernel, shown(flights)["frame"])
    names = [c["column_name"] for c in shown(flights)["columns"]]
    source = f"'{data_dir}/flights.parquet'"
    nulls, least, most, distinct = duckdb.sql(
        f"select count(*) - count(distance), min(distance), max(distance), count(distinct distance) from {source}"
    ).fetchall()[0]
    profile = table.profile(names.index("distance"), "null_count", "summary_stats", "small_histogram")
    stats = profile["summary_stats"]
    assert (profile["null_count"], stats["num_unique"], stats["num_unique_exact"]) == (nulls, distinct, True)
    assert (float(stats["number_stats"]["min_value"]), float(stats["number_stats"]["max_value"])) == (least, most)
    edges = [float(edge) for edge in profile["small_histogram"]["bin_edges"]]
    counts = duckdb.sql(
        " union all ".join(
            f"select count(*) from {source} where distance >= {low} and (distance < {high} or {i == 3})"
            for i, (low, high) in enumerate(zip(edges, edges[1:]))
        )
    ).fetchall()
    assert [c for (c,) in counts] == profile["small_histogram"]["bin_counts"]
    top = duckdb.sql(f"select carrier, count(*) n from {source} group by 1 order by n desc limit 3").fetchall()
    table_of = table.profile(names.index("carrier"), "small_frequency_table")["small_frequency_table"]
    assert list(zip(table_of["values"], table_of["counts"])) == top


def test_special_values_are_told_apart(kernel):
    ran = run_as(
        kernel,
        "special",
        'frame! { x: [Some(1.5), None, Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY)],'
        ' t: [Some("a"), None, Some(""), Some("  "), Some("<img src=x onerror=alert(1)>")] }',
    )
    table = Table(kernel, shown(ran)["frame"])
    assert table.rows(0, 5, [0, 1]) == [["1.5", 0, 2, 10, 11], ["a", 0, "", "  ", "<img src=x onerror=alert(1)>"]]
    assert shown(ran)["rows"][1] == [0, 0]
    assert table.ask("set_row_filters", filters=[table.filtered(1, "is_empty")])["selected_num_rows"] == 1
    export = {"kind": "cell_range", "selection": {"first_row_index": 0, "last_row_index": 0, "first_column_index": 0, "last_column_index": 1}}
    assert table.ask("export_data_selection", selection=export, format="tsv")["data"] == "x\tt\nNaN\t\n"


def test_tables_are_read_while_a_cell_runs(kernel):
    """The median of the pages is printed; the bound is loose, for a machine that does other things, too."""
    ran = run_as(kernel, "large", "let large = sql(\"select * from range(10000000) as t(n)\").persist(); large")
    table = Table(kernel, shown(ran)["frame"])
    assert table.rows(0, 1, [0]) == [["0"]]
    message = kernel.client.execute("std::thread::sleep(std::time::Duration::from_secs(3)); 7")
    begun = time.monotonic()
    times = []
    for i in range(60):
        first = (i * 165_007) % 9_999_900
        at = time.monotonic()
        assert table.rows(first, 60, [0])[0][-1] == str(first + 59)
        times.append(time.monotonic() - at)
    took = time.monotonic() - begun
    print(f"page of 60 rows: median {statistics.median(times) * 1000:.1f} ms, largest {max(times) * 1000:.1f} ms")
    assert statistics.median(times) < 0.5
    ended = kernel.wait(message, begun)
    assert ended.result == "7" and (took > 3 or ended.seconds >= took)
    table.ask("set_sort_columns", sort_keys=[{"column_index": 0, "ascending": False}])
    assert table.rows(0, 2, [0]) == [["9999999", "9999998"]]
    kernel.ok("drop(large);")


def test_a_page_is_one_message_of_its_cells(kernel, flights):
    """What goes over the wire while somebody scrolls: an answer for each page, and nothing else."""
    table = Table(kernel, shown(flights)["frame"])
    table.ask("get_state")
    seen = []

    def page(first: int):
        spec = {"first_index": first, "last_index": first + 99}
        number = table.start("get_data_values", columns=[{"column_index": c, "spec": spec} for c in range(16)], format_options=FORMAT)
        while True:
            message = table.client.get_iopub_msg(timeout=PATIENCE)
            # Other outputs of the notebook may have something to say; this one has nothing but its pages.
            if message["msg_type"] != "status" and message["content"].get("comm_id", table.comm) == table.comm:
                seen.append((message["msg_type"], len(json.dumps(message["content"]))))
            data = message["content"].get("data", {})
            if message["content"].get("comm_id") == table.comm and data.get("id") == number:
                return

    pages = 25
    for n in range(pages):
        page(n * 13_001)
    assert [kind for kind, _ in seen] == ["comm_msg"] * pages
    sizes = sorted(size for _, size in seen)
    print(f"100 rows of 16 columns: median {sizes[pages // 2]} bytes, largest {sizes[-1]}")
    # 1,600 cells of about five characters, quoted and separated, and the rows' positions.
    assert 5_000 < sizes[-1] < 25_000


def test_what_an_output_showed_lives_until_the_cell_runs_again(kernel):
    ran = run_as(kernel, "temporary", "frame! { n: [1, 2, 3] }")
    frame = shown(ran)["frame"]
    kernel.ok("1 + 1")
    table = Table(kernel, frame)
    assert table.rows(0, 3, [0]) == [["1", "2", "3"]], "the frame has no variable and is alive"
    run_as(kernel, "temporary", "2")
    table.start("get_state")
    table.read(lambda kind, _: True if kind == "comm_close" else None)
    late = Table(kernel, frame)
    late.read(lambda kind, _: True if kind == "comm_close" else None)


def test_a_view_becomes_a_file(kernel):
    ran = run_as(kernel, "file", 'frame! { n: [3, 1, 2], t: ["c", "a", "b"] }')
    table = Table(kernel, shown(ran)["frame"])
    table.ask("set_sort_columns", sort_keys=[{"column_index": 0, "ascending": True}])
    written = table.ask("export_file", format="csv", name="../mine")
    assert (written["name"], written["rows"]) == ("mine.csv", 3)
    assert (kernel.folder / "mine.csv").read_text() == "n,t\n1,a\n2,b\n3,c\n"
    assert table.ask("export_file", format="csv", name="mine")["name"] == "mine-2.csv"
    written = table.ask("export_file", format="parquet", name="mine", column_indices=[1])
    assert duckdb.sql(f"select * from '{kernel.folder}/{written['name']}'").fetchall() == [("a",), ("b",), ("c",)]


class Page(Table):
    """A page that shows a notebook, and says which cells hold something."""

    def __init__(self, kernel, patience: float, *holding: str):
        self.client, self.comm, self.events, self.count, self.closed = kernel.client, uuid.uuid4().hex, [], 0, False
        self.send("comm_open", {"target_name": "onrush.outputs", "data": {"page": {"patience": patience}}})
        self.send("comm_msg", {"data": {"holding": list(holding)}})


def test_pages_that_were_left_hold_nothing_after_a_while(kernel):
    def is_held(frame: str) -> bool:
        table = Table(kernel, frame)
        # A comm of an output that is gone is closed at once; else its state comes.
        asked = table.start("get_state")
        return table.read(lambda kind, data: False if kind == "comm_close" else True if data.get("id") == asked else None)

    held = shown(run_as(kernel, "left", "frame! { left: [1, 2, 3] }"))
    other = shown(run_as(kernel, "kept", "frame! { kept: [1, 2, 3] }"))
    first, second = Page(kernel, 0, "left"), Page(kernel, 0, "left")
    first.send("comm_close", {"data": {}})
    # Loaded again within its time.
    patient = Page(kernel, 3600, "left")
    second.send("comm_close", {"data": {}})
    assert is_held(held["frame"])
    third = Page(kernel, 0, "left")
    patient.send("comm_close", {"data": {}})
    third.send("comm_close", {"data": {}})
    end = time.monotonic() + PATIENCE
    while is_held(held["frame"]):
        assert time.monotonic() < end
    # No page had said anything of this one.
    assert is_held(other["frame"])
