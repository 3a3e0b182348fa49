"""Every request of Positron's data explorer, with answers of the shape that its contract names (version of August 2026), and values
that DuckDB gives, too."""

import datetime
import uuid

import duckdb
import pytest

from test_tables import FORMAT, Table, run_as, shown

INTEGER, TEXT, FLAG, NUMBER = int, str, bool, (int, float)
DISPLAY = {
    "boolean", "string", "date", "datetime", "time", "interval", "object", "array", "struct", "unknown", "floating", "integer", "decimal",
}  # fmt: skip
STATUS = {"supported", "unsupported"}


class Maybe:
    """A field that may be left out."""

    def __init__(self, shape):
        self.shape = shape


COLUMN = {"column_name": TEXT, "column_index": INTEGER, "type_name": TEXT, "type_display": DISPLAY, "timezone": Maybe(TEXT)}
COLUMN |= {"precision": Maybe(INTEGER), "scale": Maybe(INTEGER)}
SHAPE = {"num_rows": INTEGER, "num_columns": INTEGER}
COLUMN_FILTER = {"filter_type": {"text_search", "match_data_types"}, "params": dict}
ROW_FILTER = {"filter_id": TEXT, "filter_type": TEXT, "column_schema": COLUMN, "condition": {"and", "or"}, "params": Maybe(dict)}
SORT = {"column_index": INTEGER, "ascending": FLAG}
VALUE = (INTEGER, TEXT)
QUANTILE = {"q": NUMBER, "value": TEXT, "exact": FLAG}
HISTOGRAM = {"bin_edges": [TEXT], "bin_counts": [INTEGER], "quantiles": [QUANTILE]}
FREQUENCIES = {"values": [VALUE], "counts": [INTEGER], "other_count": Maybe(INTEGER)}
DATES = {name: Maybe(TEXT) for name in ("min_date", "median_date", "max_date")} | {"num_unique": Maybe(INTEGER)}
STATS = {
    "type_display": DISPLAY,
    "number_stats": Maybe({name: Maybe(TEXT) for name in ("min_value", "max_value", "mean", "median", "stdev")}),
    "string_stats": Maybe({"num_empty": INTEGER, "num_unique": INTEGER}),
    "boolean_stats": Maybe({"true_count": INTEGER, "false_count": INTEGER}),
    "date_stats": Maybe(DATES),
    "datetime_stats": Maybe(DATES | {"timezone": Maybe(TEXT)}),
    "other_stats": Maybe({"num_unique": Maybe(INTEGER)}),
}
PROFILE = {
    "null_count": Maybe(INTEGER),
    "summary_stats": Maybe(STATS),
    "small_histogram": Maybe(HISTOGRAM),
    "large_histogram": Maybe(HISTOGRAM),
    "small_frequency_table": Maybe(FREQUENCIES),
    "large_frequency_table": Maybe(FREQUENCIES),
}


def kinds(name: str, allowed: set) -> dict:
    return {"support_status": STATUS, "supported_types": [{name: allowed, "support_status": STATUS}]}


ROW_FILTERS = {
    "between", "compare", "is_empty", "is_false", "is_null", "is_true", "not_between", "not_empty", "not_null", "search", "set_membership",
}  # fmt: skip
STATE = {
    "display_name": TEXT,
    "table_shape": SHAPE,
    "table_unfiltered_shape": SHAPE,
    "has_row_labels": FLAG,
    "column_filters": [COLUMN_FILTER],
    "row_filters": [ROW_FILTER],
    "sort_keys": [SORT],
    "connected": Maybe(FLAG),
    "supported_features": {
        "search_schema": kinds("column_filter_type", {"text_search", "match_data_types"}),
        "set_column_filters": kinds("column_filter_type", {"text_search", "match_data_types"}),
        "set_row_filters": kinds("row_filter_type", ROW_FILTERS) | {"supports_conditions": STATUS},
        "get_column_profiles": kinds("profile_type", set(PROFILE)),
        "set_sort_columns": {"support_status": STATUS},
        "export_data_selection": {"support_status": STATUS, "supported_formats": [{"csv", "tsv", "html"}]},
        "convert_to_code": {"support_status": STATUS, "code_syntaxes": Maybe([{"code_syntax_name": TEXT}])},
    },
}
REPLIES = {
    "get_state": STATE,
    "get_schema": {"columns": [COLUMN]},
    "search_schema": {"matches": [INTEGER]},
    "get_data_values": {"columns": [[VALUE]]},
    "get_row_labels": {"row_labels": [[TEXT]]},
    "export_data_selection": {"data": TEXT, "format": {"csv", "tsv", "html"}},
    "convert_to_code": {"converted_code": [TEXT]},
    "suggest_code_syntax": {"code_syntax_name": TEXT},
    "set_column_filters": {},
    "set_row_filters": {"selected_num_rows": INTEGER, "had_errors": Maybe(FLAG)},
    "get_column_profiles": {},
    "set_dataset_import_options": {"error_message": Maybe(TEXT)},
    "open_data_explorer": {},
}


def check(value, shape, path: str):
    """What goes beyond the contract is left to us."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), (path, value)
        for name, inner in shape.items():
            if isinstance(inner, Maybe):
                if value.get(name) is not None:
                    check(value[name], inner.shape, f"{path}.{name}")
            else:
                assert name in value, (path, name, value)
                check(value[name], inner, f"{path}.{name}")
    elif isinstance(shape, list):
        assert isinstance(value, list), (path, value)
        for i, one in enumerate(value):
            check(one, shape[0], f"{path}[{i}]")
    elif isinstance(shape, set):
        assert value in shape, (path, value)
    else:
        assert isinstance(value, shape) and (shape is FLAG or not isinstance(value, bool)), (path, value)


class Checked(Table):
    """A table whose answers have the shapes of the contract."""

    def ask(self, method: str, **params):
        result = super().ask(method, **params)
        if method in REPLIES:
            check(result, REPLIES[method], method)
        return result

    def profiles(self, *wanted: tuple) -> list[dict]:
        callback = uuid.uuid4().hex
        profiles = [{"column_index": c, "profiles": [{"profile_type": kind, "params": p} for kind, p in specs]} for c, specs in wanted]
        self.ask("get_column_profiles", callback_id=callback, profiles=profiles, format_options=FORMAT)
        find = lambda: next((e["params"] for e in self.events if e["params"]["callback_id"] == callback), None)
        found = find() or self.read(lambda *_: find())
        assert found.get("error_message") is None, found
        check(found["profiles"], [PROFILE], "return_column_profiles")
        return found["profiles"]


@pytest.fixture(scope="module")
def flights(kernel, data_dir):
    kernel.ok(f'let flights = read_parquet("{data_dir}/flights.parquet");')
    return Checked(kernel, shown(run_as(kernel, "flights", "flights"))["frame"])


@pytest.fixture(scope="module")
def source(data_dir) -> str:
    return f"'{data_dir}/flights.parquet'"


def text_search(kind: str, term: str, exact: bool = False) -> dict:
    return {"filter_type": "text_search", "params": {"search_type": kind, "term": term, "case_sensitive": exact}}


def test_columns_are_searched_and_left(flights, source):
    names = [c["column_name"] for c in flights.ask("get_schema", column_indices=list(range(19)))["columns"]]
    find = lambda *filters, order="original": [names[i] for i in flights.ask("search_schema", filters=filters, sort_order=order)["matches"]]
    assert find(text_search("contains", "DELAY")) == ["dep_delay", "arr_delay"]
    assert find(text_search("contains", "DELAY", exact=True)) == []
    assert find(text_search("starts_with", "dep"), order="descending_name") == ["dep_time", "dep_delay"]
    assert find(text_search("regex_match", "^(car|tail)")) == ["carrier", "tailnum"]
    texts = {"filter_type": "match_data_types", "params": {"display_types": ["string"]}}
    assert find(texts, text_search("not_contains", "t")) == ["carrier", "origin"]
    assert "is not a regular expression" in flights.fails("search_schema", filters=[text_search("regex_match", "(")], sort_order="original")

    filters = [text_search("contains", "delay")]
    flights.ask("set_column_filters", filters=filters)
    state = flights.ask("get_state")
    assert (state["table_shape"], state["column_filters"]) == ({"num_rows": 336_776, "num_columns": 2}, filters)
    assert state["table_unfiltered_shape"]["num_columns"] == 19
    # Schemas and selections count what is left; values, orders and profiles the frame's columns.
    left = flights.ask("get_schema", column_indices=[0, 1, 2])["columns"]
    assert [(c["column_name"], c["column_index"]) for c in left] == [(n, names.index(n)) for n in ("dep_delay", "arr_delay")]
    one = {"kind": "single_cell", "selection": {"row_index": 0, "column_index": 1}}
    [arrival] = duckdb.sql(f"select arr_delay from {source} limit 1").fetchall()[0]
    assert float(flights.ask("export_data_selection", selection=one, format="csv")["data"]) == arrival
    code = flights.ask("convert_to_code", column_filters=filters, row_filters=[], sort_keys=[], code_syntax_name={"code_syntax_name": "rust"})
    assert code["converted_code"] == ["flights", '.select(["dep_delay", "arr_delay"])']
    flights.ask("set_column_filters", filters=[])
    assert flights.ask("get_state")["table_shape"]["num_columns"] == 19


def test_rows_are_labelled_and_selections_written(kernel, flights):
    flights.ask("get_row_labels", selection={"first_index": 7, "last_index": 9}, format_options=FORMAT)
    labels = flights.ask("get_row_labels", selection={"indices": [5, 3]}, format_options=FORMAT)
    assert labels["row_labels"] == [["5", "3"]]
    small = Checked(kernel, shown(run_as(kernel, "small", 'frame! { "<b>": ["x,\\"y\\"", "<td>", "z"], n: [Some(1), None, Some(3)] }'))["frame"])
    export = lambda kind, form, **selection: small.ask("export_data_selection", selection={"kind": kind, "selection": selection}, format=form)["data"]
    both = {"first_row_index": 0, "last_row_index": 1, "first_column_index": 0, "last_column_index": 1}
    assert export("cell_range", "csv", **both) == '<b>,n\n"x,""y""",1\n<td>,\n'
    assert export("cell_range", "html", **both).replace("\n", "") == (
        "<table><tr><th>&lt;b&gt;</th><th>n</th></tr><tr><td>x,&quot;y&quot;</td><td>1</td></tr><tr><td>&lt;td&gt;</td><td></td></tr></table>"
    )
    assert export("row_range", "tsv", first_index=2, last_index=2) == "<b>\tn\nz\t3\n"
    assert export("row_indices", "csv", indices=[2, 0]).splitlines()[1:] == ["z,3", '"x,""y""",1']
    assert export("column_range", "csv", first_index=1, last_index=1) == "n\n1\n\n3\n"
    assert export("column_indices", "csv", indices=[1]) == "n\n1\n\n3\n"
    assert export("cell_indices", "csv", row_indices=[0, 2], column_indices=[1]) == "n\n1\n3\n"
    assert export("single_cell", "html", row_index=1, column_index=0) == "&lt;td&gt;"


def test_every_profile(flights, source):
    names = [c["column_name"] for c in flights.ask("get_schema", column_indices=list(range(19)))["columns"]]
    at = names.index
    wanted = [0.05, 0.5, 0.99]
    bars = lambda method, most=200: {"method": method, "num_bins": most, "quantiles": wanted}
    delay, carrier, hour = flights.profiles(
        (at("dep_delay"), [("null_count", {}), ("summary_stats", {}), ("small_histogram", bars("sturges"))]),
        (at("carrier"), [("summary_stats", {}), ("small_frequency_table", {"limit": 2}), ("large_frequency_table", {"limit": 5})]),
        (at("time_hour"), [("summary_stats", {}), ("large_histogram", bars("fixed", 12))]),
    )
    middle, count, nulls = duckdb.sql(
        f"select quantile_cont(dep_delay, {wanted}), count(dep_delay), count(*) - count(dep_delay) from {source}"
    ).fetchall()[0]
    assert [float(q["value"]) for q in delay["small_histogram"]["quantiles"]] == middle
    assert [q["exact"] for q in delay["small_histogram"]["quantiles"]] == [True] * 3
    assert float(delay["summary_stats"]["number_stats"]["median"]) == middle[1] and delay["null_count"] == nulls
    # Sturges: ceil(log2(328521)) + 1.
    assert len(delay["small_histogram"]["bin_counts"]) <= 20 and sum(delay["small_histogram"]["bin_counts"]) == count
    other = duckdb.sql(f"select count(*) from {source}").fetchall()[0][0] - sum(carrier["small_frequency_table"]["counts"])
    assert carrier["small_frequency_table"]["other_count"] == other and len(carrier["large_frequency_table"]["values"]) >= 5
    [median] = duckdb.sql(f"select quantile_disc(epoch(time_hour), 0.5) from {source}").fetchall()[0]
    utc = datetime.datetime.fromtimestamp(median, datetime.timezone.utc)
    assert hour["summary_stats"]["datetime_stats"]["median_date"].startswith(utc.strftime("%Y-%m-%d %H:%M")), hour
    for method in ("scott", "freedman_diaconis"):
        [profile] = flights.profiles((at("distance"), [("large_histogram", {"method": method, "num_bins": 200})]))
        assert 20 < len(profile["large_histogram"]["bin_counts"]) <= 200
        assert profile["large_histogram"]["quantiles"] == []


def test_many_rows_have_quantiles_from_counts(kernel):
    ran = run_as(kernel, "many", 'let many = sql("select n * 0.5 as x from range(3000001) as t(n)").persist(); many')
    table = Checked(kernel, shown(ran)["frame"])
    [profile] = table.profiles((0, [("summary_stats", {}), ("small_histogram", {"method": "fixed", "num_bins": 5, "quantiles": [0.25]})]))
    [quartile] = profile["small_histogram"]["quantiles"]
    # A 65,536th of 1,500,000 is 23.
    assert abs(float(quartile["value"]) - 375_000) < 25 and quartile["exact"] is False
    kernel.ok("drop(many);")


def test_the_rest_of_the_contract(kernel, flights):
    assert flights.ask("suggest_code_syntax") == {"code_syntax_name": "rust"}
    assert "cell" in flights.ask("set_dataset_import_options", options={"has_header_row": True})["error_message"]
    flights.ask("set_sort_columns", sort_keys=[{"column_index": 0, "ascending": False}])
    number = flights.start("open_data_explorer")
    opened = []
    end = lambda kind, data: data if kind == "comm_msg" and data.get("id") == number else None
    while True:
        message = flights.client.get_iopub_msg(timeout=60)
        if message["msg_type"] == "comm_open":
            opened.append(message["content"])
        if message["content"].get("comm_id") == flights.comm and end(message["msg_type"], message["content"].get("data", {})):
            break
    [another] = opened
    assert another["target_name"] == "positron.dataExplorer"
    # With an order of its own.
    flights_state = flights.ask("get_state")
    flights.comm = another["comm_id"]
    assert (flights_state["sort_keys"], flights.ask("get_state")["sort_keys"]) == ([{"column_index": 0, "ascending": False}], [])
