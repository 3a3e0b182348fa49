"""Steps on frames that cannot be: names, types, arithmetic, SQL."""

import re

import pytest

pytestmark = pytest.mark.usefixtures("toy_survives")


def test_column_in_the_wrong_case(kernel, check):
    check("toy.select([\"A\"])", "`A`", "`a`")
    check("toy.filter(x!(A > 1))", "`A`", "`a`")


def test_unknown_column_is_underlined(kernel, check):
    ran = check("toy.with_columns(x!(\n    c = a + bb,\n))", "`bb`")
    assert re.search(r"2:13|line 2", ran.error_text), ran.error_text
    assert "^^" in ran.error_text


def test_comparing_text_with_a_number(kernel, check):
    check("toy.filter(x!(b > 5))", "`?b`?", "text|string|`str`|utf8", "`i32`|int|number")
    check('toy.filter(x!(a == "x"))', "text|string|`str`|utf8", "`i32`|int|number")


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
    # Polars wraps around; SQL, as DuckDB, refuses.
    assert kernel.value("toy.select(x!(o = big + 1)).value::<i64>(x!(o.min()))") == "-9223372036854775808"
    ran = kernel.fails('sql("select big + 1 as o from toy")')
    assert "overflow" in ran.error_text.lower() or "out of range" in ran.error_text.lower(), ran.error_text
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
    kernel.ok('none.plot().hist("a")')
    assert kernel.value('none.column::<i64>("a").len()') == "0"


def test_duplicate_column_name(kernel, check):
    check("toy.select([\"a\", \"a\"])", "`a`", "twice|duplicate|more than once|already")
    check("toy.select(x!(c = a, c = b))", "`c`", "twice|duplicate|more than once|already")


def test_wrong_type_asked_of_a_column(kernel, check):
    check('let v = toy.column::<f64>("b");', "`b`", "text|string|`str`|utf8", "f64")


def test_unknown_method_in_an_expression(kernel, check):
    check("toy.with_columns(x!(c = b.str.to_upercase()))", "to_upercase", "to_uppercase")


def test_join_without_a_common_column(kernel, check):
    check('toy.inner_join(&frame! { c: [1] }, on("a", "d"))', "`d`")


def test_bad_sql(kernel, check):
    check('sql("selec 1")', "selec")
    check('sql("select nope from toy")', "nope")
    check('sql("select * from no_such_table")', "no_such_table")


def test_functions_of_cuda_cells(kernel, check):
    kernel.ok("%%cuda\n__device__ int third(int x) { return x / 3; }\n__device__ int over(int a, int b) { return a / b; }\n__device__ int pick(int* data) { return data[0]; }")
    check("toy.filter(x!(third(a, 1) > 1))", "takes 1 argument but 2", "1:\\d+|line 1")
    check("toy.filter(x!(third(b) > 1))", "`x` of `third` is `i32`, but this is `str`", "cast")
    check("toy.filter(x!(third(a / 2) > 1))", "`f64`", "round")
    check("toy.filter(x!(third(nothing) > 1))", "no column `nothing`")
    check("toy.select(x!(v = pick(a)))", "`pick` cannot be called in `x!`", "pointer")
    # 9223372036854775807 has no place in an `int`, and neither has 1 / 0.
    check("toy.select(x!(v = third(big)))", "9223372036854775807", "`i32`")
    check("toy.select(x!(v = over(a, a - 1)))", "divided by zero")
    check("%%cuda\n__device__ int wrong(int x) { return y; }", "`y`", "line 2")
