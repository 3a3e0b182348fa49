"""Files that are missing, damaged or not what they are said to be."""

import os

import pytest

pytestmark = pytest.mark.usefixtures("toy_survives")


def write(kernel, name: str, content: bytes | str) -> str:
    data = content.encode() if isinstance(content, str) else content
    (kernel.folder / name).write_bytes(data)
    return name


def test_missing_file(kernel, check):
    check('let f = read_csv("no-such-file.csv");', r"no-such-file\.csv", "no (such )?file|not (exist|found)|does not exist")
    check('let f = read_parquet("no-such-file.parquet");', r"no-such-file\.parquet")


def test_missing_file_with_a_neighbour_is_suggested(kernel, check):
    write(kernel, "measurements.csv", "a,b\n1,2\n")
    check('read_csv("measurement.csv")', r"measurement\.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_file(kernel, check):
    name = write(kernel, "secret.csv", "a,b\n1,2\n")
    (kernel.folder / name).chmod(0)
    check(f'read_csv("{name}")', r"secret\.csv", "permission|not allowed|may not")


def test_directory(kernel, check):
    (kernel.folder / "folder").mkdir(exist_ok=True)
    check('read_csv("folder")', "folder", "directory|folder.*not a file|is a folder")
    check('read_parquet("folder")', "folder")


def test_glob_without_a_match(kernel, check):
    check('read_csv("nothing-*.csv")', r"nothing-\*\.csv")


def test_ragged_rows(kernel, check):
    name = write(kernel, "ragged.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n")
    check(f'read_csv("{name}")', r"ragged\.csv", r"\b3\b", r"2 (fields|columns|values)|\b2\b")


def test_bad_utf8(kernel, check):
    name = write(kernel, "latin1.csv", "name,n\nJosé,1\nok,2\n".encode("latin-1"))
    check(f'read_csv("{name}")', r"latin1\.csv", "UTF-8")


def test_help_for_another_encoding_works_when_followed(kernel):
    (kernel.folder / "data").mkdir(exist_ok=True)
    write(kernel, "data/latin.csv", "name,n\nJosé,1\n".encode("latin-1"))
    ran = kernel.fails('read_csv("data/latin.csv")')
    pasted = 'csv().encoding("windows-1252").read("data/latin.csv")'
    assert pasted in ran.error_text
    assert kernel.value(f"{pasted}.shape()") == "(1, 2)"


def test_rows_that_do_not_fit_are_left_out(kernel):
    name = write(kernel, "skipped.csv", "a,b\n1,2\n3\n4,5,6\n7,8\n")
    assert kernel.value(f'csv().on_error("skip").read("{name}").shape()') == "(2, 2)"
    assert kernel.value(f'csv().on_error("skip").rejects("{name}").shape()') == "(2, 5)"


def test_other_kinds_of_files_are_named(kernel, check):
    name = write(kernel, "book.csv", b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml")
    check(f'read_csv("{name}")', r"book\.csv", "Excel")


def test_wrong_delimiter(kernel):
    name = write(kernel, "semicolon.csv", "a;b;c\n1;2;3\n4;5;6\n")
    ran = kernel.run(f'let f = read_csv("{name}"); f.select(["a", "b"])')
    assert ran.status == "error"
    # One column `a;b;c`: the message shows that name, or says which separator the file has.
    assert ";" in ran.error_text
    assert kernel.value(f"csv().sep(';').read(\"{name}\").shape()") == "(2, 3)"


def test_parquet_cut_off(kernel, check, data_dir):
    whole = (data_dir / "flights.parquet").read_bytes()
    name = write(kernel, "cut.parquet", whole[: len(whole) // 2])
    check(f'read_parquet("{name}").shape()', r"cut\.parquet", "parquet|footer|cut|damaged|truncated")
    name = write(kernel, "tiny.parquet", b"PAR1")
    check(f'read_parquet("{name}").shape()', r"tiny\.parquet")
    name = write(kernel, "hole.parquet", whole[:1000] + bytes(len(whole) - 2_000_000) + whole[-1_999_000:])
    ran = kernel.run(f'read_parquet("{name}").describe()')
    assert ran.status == "error", "a file with a hole of zeros was read"


def test_not_parquet_at_all(kernel, check):
    name = write(kernel, "text.parquet", "a,b\n1,2\n" * 100)
    check(f'read_parquet("{name}").shape()', r"text\.parquet", "parquet")


def test_csv_that_is_binary(kernel):
    name = write(kernel, "binary.csv", bytes(range(256)) * 50)
    ran = kernel.fails(f'read_csv("{name}")')
    assert "binary.csv" in ran.error_text


def test_empty_file(kernel, check):
    name = write(kernel, "empty.csv", "")
    check(f'read_csv("{name}")', r"empty\.csv", "empty|no header|no rows|nothing")


def test_header_without_rows_is_an_empty_frame(kernel):
    name = write(kernel, "header.csv", "a,b\n")
    kernel.ok(f'let header_only = read_csv("{name}");')
    assert kernel.value("header_only.shape()") == "(0, 2)"


def test_duplicate_header(kernel):
    name = write(kernel, "double.csv", "a,b,a\n1,2,3\n")
    ran = kernel.run(f'read_csv("{name}")')
    # Either it is refused with the name, or the second one gets a name of its own.
    if ran.status == "error":
        assert "`a`" in ran.error_text and "double.csv" in ran.error_text
    else:
        assert "a" in ran.result and "3" in ran.result


def test_json_lines_with_a_broken_line(kernel, check):
    name = write(kernel, "broken.jsonl", '{"a": 1}\n{"a": \n{"a": 3}\n')
    check(f'read_json("{name}").shape()', r"broken\.jsonl")


def test_writing_where_nothing_can_be(kernel, check):
    check('toy.write_csv("no/such/folder/x.csv");', "no/such/folder")
