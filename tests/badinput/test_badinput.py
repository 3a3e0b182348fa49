"""What a user or a file can get wrong: each a message that says what, where and what to do, the kernel alive, and the
variables of earlier cells as they were."""

import os
import re

import pytest

TOY = 'let toy = frame! { a: [1, 2, 3], b: ["x", "y", "z"], big: [9223372036854775807i64, 1, 2] };'


@pytest.fixture(scope="module", autouse=True)
def earlier_variables(kernel):
    kernel.ok(TOY)
    kernel.ok('let mut kept = vec![1, 2, 3]; kept.push(4); let name = String::from("kept");')


@pytest.fixture(autouse=True)
def everything_survives(kernel):
    """After each test: the kernel lives, Rust variables and frames are there."""
    yield
    assert kernel.is_alive()
    assert kernel.value("(kept.clone(), name.clone())") == '([1, 2, 3, 4], "kept")'
    assert kernel.value("toy.shape()") == "(3, 3)"


def write(kernel, name: str, content: bytes | str) -> str:
    data = content.encode() if isinstance(content, str) else content
    (kernel.folder / name).write_bytes(data)
    return name


def check(kernel, code: str, *expected: str):
    """The cell fails, and its error holds every one of `expected` (patterns, any case)."""
    ran = kernel.fails(code)
    for pattern in expected:
        assert re.search(pattern, ran.error_text, re.IGNORECASE), f"no {pattern!r} in:\n{ran.error_text}"
    assert "panicked at" not in ran.error_text
    return ran


# Files

def test_missing_file(kernel):
    check(kernel, 'let f = read_csv("no-such-file.csv");', r"no-such-file\.csv", "no (such )?file|not (exist|found)|does not exist")
    check(kernel, 'let f = read_parquet("no-such-file.parquet");', r"no-such-file\.parquet")


def test_missing_file_with_a_neighbour_is_suggested(kernel):
    write(kernel, "measurements.csv", "a,b\n1,2\n")
    check(kernel, 'read_csv("measurement.csv")', r"measurement\.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_file(kernel):
    name = write(kernel, "secret.csv", "a,b\n1,2\n")
    (kernel.folder / name).chmod(0)
    check(kernel, f'read_csv("{name}")', r"secret\.csv", "permission|not allowed|may not")


def test_directory(kernel):
    (kernel.folder / "folder").mkdir(exist_ok=True)
    check(kernel, 'read_csv("folder")', "folder", "directory|folder.*not a file|is a folder")
    check(kernel, 'read_parquet("folder")', "folder")


def test_glob_without_a_match(kernel):
    check(kernel, 'read_csv("nothing-*.csv")', r"nothing-\*\.csv")


def test_ragged_rows(kernel):
    name = write(kernel, "ragged.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n")
    check(kernel, f'read_csv("{name}")', r"ragged\.csv", r"\b3\b", r"2 (fields|columns|values)|\b2\b")


def test_bad_utf8(kernel):
    name = write(kernel, "latin1.csv", "name,n\nJosé,1\nok,2\n".encode("latin-1"))
    check(kernel, f'read_csv("{name}")', r"latin1\.csv", "UTF-8")


def test_wrong_delimiter(kernel):
    name = write(kernel, "semicolon.csv", "a;b;c\n1;2;3\n4;5;6\n")
    ran = kernel.run(f'let f = read_csv("{name}"); f.select(["a", "b"])')
    assert ran.status == "error"
    # One column `a;b;c`: the message shows that name, or says which separator the file has.
    assert ";" in ran.error_text
    assert kernel.value(f"csv().sep(';').read(\"{name}\").shape()") == "(2, 3)"


def test_parquet_cut_off(kernel, data_dir):
    whole = (data_dir / "flights.parquet").read_bytes()
    name = write(kernel, "cut.parquet", whole[: len(whole) // 2])
    check(kernel, f'read_parquet("{name}").shape()', r"cut\.parquet", "parquet|footer|cut|damaged|truncated")
    name = write(kernel, "tiny.parquet", b"PAR1")
    check(kernel, f'read_parquet("{name}").shape()', r"tiny\.parquet")
    name = write(kernel, "hole.parquet", whole[:1000] + bytes(len(whole) - 2_000_000) + whole[-1_999_000:])
    ran = kernel.run(f'read_parquet("{name}").describe()')
    assert ran.status == "error", "a file with a hole of zeros was read"


def test_not_parquet_at_all(kernel):
    name = write(kernel, "text.parquet", "a,b\n1,2\n" * 100)
    check(kernel, f'read_parquet("{name}").shape()', r"text\.parquet", "parquet")


def test_csv_that_is_binary(kernel):
    name = write(kernel, "binary.csv", bytes(range(256)) * 50)
    ran = kernel.fails(f'read_csv("{name}")')
    assert "binary.csv" in ran.error_text


def test_empty_file(kernel):
    name = write(kernel, "empty.csv", "")
    check(kernel, f'read_csv("{name}")', r"empty\.csv", "empty|no header|no rows|nothing")


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


def test_json_lines_with_a_broken_line(kernel):
    name = write(kernel, "broken.jsonl", '{"a": 1}\n{"a": \n{"a": 3}\n')
    check(kernel, f'read_json("{name}").shape()', r"broken\.jsonl")


def test_writing_where_nothing_can_be(kernel):
    check(kernel, 'toy.write_csv("no/such/folder/x.csv");', "no/such/folder")


# Frames

def test_column_in_the_wrong_case(kernel):
    check(kernel, "toy.select([\"A\"])", "`A`", "`a`")
    check(kernel, "toy.filter(x!(A > 1))", "`A`", "`a`")


def test_unknown_column_is_underlined(kernel):
    ran = check(kernel, "toy.with_columns(x!(\n    c = a + bb,\n))", "`bb`")
    assert re.search(r"2:13|line 2", ran.error_text), ran.error_text
    assert "^^" in ran.error_text


def test_comparing_text_with_a_number(kernel):
    check(kernel, "toy.filter(x!(b > 5))", "`?b`?", "text|string|utf8", "int|number")
    check(kernel, 'toy.filter(x!(a == "x"))', "text|string|utf8", "int|number")


def test_division_by_zero(kernel):
    # Polars: 1 / 0 is infinite. In a user's Rust code it is a panic with its line.
    ran = kernel.ok("toy.select(x!(q = a / 0))")
    assert "inf" in ran.result.lower()
    ran = kernel.fails("let zero = kept.len() - 4;\nlet q = 10 / zero;")
    assert "divide by zero" in ran.error_text
    assert re.search(r"2:9|line 2", ran.error_text), ran.error_text


def test_integer_remainder_by_zero(kernel):
    ran = kernel.run("toy.select(x!(r = a % 0))")
    # Polars: null. An error that says so is as good; a wrong number or a dead engine is not.
    if ran.status == "ok":
        assert "null" in ran.result.lower()
    else:
        assert "zero" in ran.error_text


def test_overflow(kernel):
    # Polars wraps, SQL's way is an error: either, but the message or the value must be right.
    ran = kernel.run("toy.select(x!(o = big + 1)).value(x!(o.min()))")
    if ran.status == "error":
        assert "overflow" in ran.error_text.lower()
    ran = kernel.fails("let limit = i32::MAX - (kept.len() as i32) + 4;\nlet over = limit + 1;")
    assert "overflow" in ran.error_text


def test_empty_frame(kernel):
    kernel.ok("let none = toy.filter(x!(a > 100));")
    assert kernel.value("none.shape()") == "(0, 3)"
    ran = kernel.ok("none")
    assert "a" in ran.result
    kernel.ok("none.describe()")
    kernel.ok("none.sort(\"a\").head(3)")
    assert kernel.value('none.group_by("b").agg(x!(n = len())).shape()') == "(0, 2)"
    kernel.ok('none.plot().histogram("a")')
    assert kernel.value('none.column::<i64>("a").len()') == "0"


def test_duplicate_column_name(kernel):
    check(kernel, "toy.select([\"a\", \"a\"])", "`a`", "twice|duplicate|more than once|already")
    check(kernel, "toy.select(x!(c = a, c = b))", "`c`", "twice|duplicate|more than once|already")


def test_wrong_type_asked_of_a_column(kernel):
    check(kernel, 'let v = toy.column::<f64>("b");', "`b`", "text|string|utf8", "f64")


def test_unknown_method_in_an_expression(kernel):
    check(kernel, "toy.with_columns(x!(c = b.str.to_upercase()))", "to_upercase", "to_uppercase")


def test_join_without_a_common_column(kernel):
    check(kernel, 'toy.inner_join(&frame! { c: [1] }, on("a", "d"))', "`d`")


def test_bad_sql(kernel):
    check(kernel, 'sql("selec 1")', "selec")
    check(kernel, 'sql("select nope from toy")', "nope")
    check(kernel, 'sql("select * from no_such_table")', "no_such_table")


# Cells

def test_syntax_error(kernel):
    ran = check(kernel, "let a = 1;\nlet b = (2;", "error")
    assert re.search(r"2:|line 2", ran.error_text), ran.error_text


def test_type_error(kernel):
    ran = check(kernel, 'let n: i32 = "text";', "E0308|mismatched types")
    assert "let n: i32" in ran.error_text


def test_a_failed_cell_changes_nothing(kernel):
    kernel.fails('kept.push(5);\nlet new_one = 1;\npanic!("stop here");')
    ran = kernel.fails("new_one")
    assert "new_one" in ran.error_text


def test_panic_says_its_line(kernel):
    ran = kernel.fails('let v: Vec<i32> = Vec::new();\nlet first = v[0];')
    assert "index out of bounds" in ran.error_text
    assert re.search(r"2:13|line 2", ran.error_text), ran.error_text


def test_question_mark_on_an_error(kernel):
    ran = kernel.fails('let n: i32 = "12x".parse()?;')
    assert "invalid digit" in ran.error_text


def test_infinite_recursion(kernel):
    ran = kernel.fails(
        "#[allow(unconditional_recursion)]\nfn down(n: u64) -> u64 { std::hint::black_box(down(n + 1) + 1) }\ndown(0)"
    )
    assert re.search("stack", ran.error_text, re.IGNORECASE), ran.error_text


def test_segfault(kernel):
    ran = kernel.fails("unsafe { std::ptr::null_mut::<i32>().write_volatile(1) };")
    assert re.search("SIGSEGV|segmentation|memory|null pointer", ran.error_text, re.IGNORECASE), ran.error_text


def test_abort(kernel):
    ran = kernel.fails("std::process::abort();")
    assert re.search("SIGABRT|abort", ran.error_text, re.IGNORECASE), ran.error_text


def test_exit(kernel):
    ran = kernel.fails("std::process::exit(3);")
    assert re.search(r"exit.*3|3.*exit", ran.error_text, re.IGNORECASE | re.DOTALL), ran.error_text


def test_endless_loop_is_interrupted(kernel):
    import threading

    timer = threading.Timer(1.0, kernel.interrupt)
    timer.start()
    ran = kernel.fails("let mut n = 0u64; loop { n = std::hint::black_box(n.wrapping_add(1)); }")
    timer.join()
    assert re.search("interrupt", ran.error_text, re.IGNORECASE), ran.error_text
    assert ran.seconds < 10


def test_sleep_is_interrupted(kernel):
    import threading

    timer = threading.Timer(0.7, kernel.interrupt)
    timer.start()
    ran = kernel.fails("std::thread::sleep(std::time::Duration::from_secs(60));")
    timer.join()
    assert ran.seconds < 10


def test_ten_megabytes_of_output(kernel):
    ran = kernel.ok('for i in 0..100_000 { println!("{i:>99}"); }', timeout=60)
    text = ran.stdout
    # All of it, or its beginning with a note that says what was left out.
    if len(text) != 10_000_000:
        assert len(text) >= 100_000
        assert re.search("omitted|left out|cut|truncated|more bytes|not shown", text[-500:] + ran.stderr), text[-500:]
    assert text.startswith(" " * 98 + "0\n")


def test_one_long_line(kernel):
    ran = kernel.ok('print!("{}", "x".repeat(3_000_000));', timeout=60)
    assert ran.stdout.startswith("x" * 1000)


def test_bytes_that_are_not_utf8(kernel):
    ran = kernel.ok(
        'use std::io::Write; std::io::stdout().write_all(b"caf\\xe9 ok \\xff\\n").unwrap(); println!("after");'
    )
    assert "caf\ufffd ok \ufffd" in ran.stdout
    assert "after" in ran.stdout


def test_a_character_in_two_pieces(kernel):
    ran = kernel.ok(
        'use std::io::Write;\nlet mut out = std::io::stdout();\n'
        'out.write_all(b"caf\\xc3").unwrap(); out.flush().unwrap();\n'
        "std::thread::sleep(std::time::Duration::from_millis(150));\n"
        'out.write_all(b"\\xa9\\n").unwrap(); out.flush().unwrap();'
    )
    assert "café" in ran.stdout


def test_an_empty_cell_and_a_comment(kernel):
    assert kernel.ok("").outputs == []
    assert kernel.ok("// nothing here").outputs == []


def test_a_nul_in_the_cell(kernel):
    kernel.fails("let a = 1;\0 let b = 2;")


def test_an_unknown_magic(kernel):
    check(kernel, "%%no_such_magic\nabc", "no_such_magic")
