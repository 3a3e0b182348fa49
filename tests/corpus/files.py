"""The corpora of files: which files there are, what each must give, and how an answer is judged.

Outcomes are (word, detail, file). A word is right, wrong or refused; unchecked if no reference reads the file.
"""

import json
from pathlib import Path

import polars
import pyarrow as pa
import pyarrow.ipc
import pyarrow.orc
import pyarrow.parquet

import product
from values import difference


def parquet(path):
    return pa.parquet.ParquetFile(path).read()


def ipc(path):
    data = path.read_bytes()
    opened = pa.ipc.open_file if data[:6] == b"ARROW1" else pa.ipc.open_stream
    return opened(pa.BufferReader(data)).read_all()


def avro(path):
    """Polars reads most files. The others have the rows of the Parquet file of their name in parquet-testing."""
    try:
        return polars.read_avro(path).to_arrow()
    except (Exception, polars.exceptions.PanicException) as error:
        twin = path.parents[3] / "parquet-testing/data" / f"{path.name.split('.')[0]}.parquet"
        if not twin.is_file():
            raise ValueError(f"Polars: {error}") from error
        return parquet(twin)


REFERENCES = {"parquet": parquet, "ipc": ipc, "avro": avro, "orc": lambda path: pa.orc.read_table(path)}


def judged(kind, path, answer, fuzzed):
    """Compares a file with what its reference reads. Broken files must only not end the program."""
    if answer.kind == "crash":
        return "wrong", f"{answer.code}: {answer.message}"
    if fuzzed:
        return "right", ""
    if answer.kind in ("error", "unwritten"):
        return "refused", f"{answer.code}: {answer.message}"
    try:
        theirs = REFERENCES[kind](path)
    except Exception as error:
        return "unchecked", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    try:
        found = difference(ipc(answer.rows), theirs)
    except Exception as error:
        return "unchecked", f"not compared, {type(error).__name__}: {error}"
    return ("wrong", found) if found else ("right", "")


def compared(binary, folder, files, work):
    """Outcomes of (kind, path, whether the file is broken on purpose)."""
    answers = product.ask(binary, [(kind, path) for kind, path, _ in files], work)
    for (kind, path, fuzzed), answer in zip(files, answers):
        yield (*judged(kind, path, answer, fuzzed), str(path.relative_to(folder)))
        if answer.rows:
            answer.rows.unlink(missing_ok=True)


def parquet_testing(binary, folder, work):
    broken = ("corrupt-checksum", "malformed")
    files = [
        ("parquet", path, "bad_data" in path.parts or any(word in path.name for word in broken))
        for path in sorted(folder.rglob("*.parquet*"))
        if path.suffix in (".parquet", ".encrypted")
    ]
    yield from compared(binary, folder, files, work)


def arrow_testing(binary, folder, work):
    data = folder / "data"
    files = []
    for path in sorted(p for p in data.rglob("*") if p.is_file()):
        below, suffix = path.relative_to(data).parts, path.suffix
        if suffix in (".arrow_file", ".stream", ".arrow"):
            files.append(("ipc", path, False))
        elif suffix in (".avro", ".orc"):
            files.append((suffix[1:], path, False))
        elif suffix in (".md", ".gz", ".txt", ".py", ".sh", ".json") or below[0] == "flight":
            continue
        elif below[0] == "parquet":
            files.append(("parquet", path, "fuzz" in str(path)))
        elif below[0].startswith("arrow-ipc"):
            files.append(("ipc", path, True))
        elif below[0] == "csv" and below[1:2] == ("fuzzing",):
            files.append(("csv", path, True))
    yield from compared(binary, folder, files, work)


def csv_spectrum(binary, folder, work):
    """The answers of the corpus are strings: numbers are compared by their text, a null is the empty string."""
    files = sorted((folder / "csvs").glob("*.csv"))
    for path, answer in zip(files, product.ask(binary, [("csv", path) for path in files], work)):
        name = path.name
        if answer.kind != "read":
            yield ("wrong" if answer.kind == "crash" else "refused"), f"{answer.code}: {answer.message}", name
            continue
        expected = json.loads((folder / "json" / f"{path.stem}.json").read_text())
        expected = expected if isinstance(expected, list) else [expected]
        rows = ipc(answer.rows).to_pylist()
        rows = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
        if rows == expected:
            yield "right", "", name
        else:
            first = next((pair for pair in zip(rows, expected) if pair[0] != pair[1]), (rows, expected))
            yield "wrong", f"{first[0]}, expected {first[1]}", name


def json_test_suite(binary, folder, work):
    """Each file as it is, and as the value of a field, so that values that are not rows are read too."""
    files = sorted((folder / "test_parsing").glob("*.json"))
    work.mkdir(parents=True, exist_ok=True)
    wrapped = []
    for number, path in enumerate(files):
        wrapped.append(work / f"wrapped-{number}.json")
        wrapped[-1].write_bytes(b'{"value": ' + path.read_bytes() + b"}")
    asked = [("json", path) for path in [*files, *wrapped]]
    answers = product.ask(binary, asked, work)
    for path, plain, field in zip(files, answers, answers[len(files):]):
        yield (*as_is(path, plain), path.name)
        yield (*as_field(path, field), f"{path.name} as a field")
    for path in wrapped:
        path.unlink()


def refused(answer):
    return "refused", f"{answer.code}: {answer.message}"


def as_is(path, answer):
    if answer.kind == "crash":
        return "wrong", f"{answer.code}: {answer.message}"
    if path.name.startswith("n_"):
        return ("wrong", "an invalid file was read") if answer.kind == "read" else ("right", "")
    if path.name.startswith("i_"):
        return "right", ""
    if answer.kind != "read":
        return refused(answer)
    expected = json.loads(path.read_text())
    expected = expected if isinstance(expected, list) else [expected]
    return same_json(expected, ipc(answer.rows).to_pylist())


def as_field(path, answer):
    if answer.kind == "crash":
        return "wrong", f"{answer.code}: {answer.message}"
    if path.name.startswith("n_"):
        return ("wrong", "an invalid value was read") if answer.kind == "read" else ("right", "")
    if path.name.startswith("i_"):
        return "right", ""
    if answer.kind != "read":
        return refused(answer)
    return same_json([{"value": json.loads(path.read_text())}], ipc(answer.rows).to_pylist())


def same_json(expected, rows):
    if equal(expected, rows):
        return "right", ""
    return "wrong", f"{str(rows)[:200]}, expected {str(expected)[:200]}"


def equal(expected, got):
    """A missing field is null, and a list of different types has strings (docs/semantics.md)."""
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(equal(expected.get(k), got.get(k)) for k in expected | got) or (
            not expected and not got
        )
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(equal, expected, got))
    if isinstance(got, str) and isinstance(expected, (int, float)):
        return str(expected).lower() == got or json.dumps(expected) == got
    return expected == got


CORPORA = {
    "parquet-testing": ("https://github.com/apache/parquet-testing", "data", parquet_testing),
    "arrow-testing": ("https://github.com/apache/arrow-testing", "data", arrow_testing),
    "csv-spectrum": ("https://github.com/max-mapper/csv-spectrum", "csvs", csv_spectrum),
    "JSONTestSuite": ("https://github.com/nst/JSONTestSuite", "test_parsing", json_test_suite),
}
