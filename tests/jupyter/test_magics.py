"""Magics, questions and what they show, over the real protocol."""

import re
import time

import pytest
from driver import PATIENCE


@pytest.fixture(scope="module")
def running(kernel):
    """The module's kernel, after its first cell. Each test leaves it usable."""
    kernel.ok("let kept = 41;")
    return kernel


def ask(running, code, *answers):
    """Runs a cell, gives the answers in turn, and returns the questions with what the cell did."""
    begun = time.monotonic()
    message = running.client.execute(code, allow_stdin=True)
    questions = []
    for answer in answers:
        content = running.client.get_stdin_msg(timeout=PATIENCE)["content"]
        questions.append((content["prompt"], content["password"]))
        running.client.input(answer)
    return questions, running.wait(message, begun)


def test_help_fits_a_terminal(running):
    text = running.ok(":help").stdout
    assert "%%sql" in text and ":restart-cells" in text
    assert max(map(len, text.splitlines())) <= 80


def test_help_of_a_word_is_the_reference(running):
    text = running.ok(":help group_by").stdout
    assert text.startswith("Frame.group_by\n") and "pandas groupby; Polars group_by; SQL GROUP BY" in text
    # Names of other libraries lead to those here.
    assert "Frame.group_by" in running.ok(":help groupby").stdout
    assert "Frame.fill_null" in running.ok(":help fillna").stdout
    assert "Frame.left_join" in running.ok(":help left join").stdout
    # An expression and a function of SQL.
    text = running.ok(":help coalesce").stdout
    assert "coalesce (expression)" in text and "coalesce (SQL)" in text
    assert max(map(len, text.splitlines())) <= 80
    assert ":dep rand" in running.ok(":help :dep").stdout
    assert "did you mean `group_by`" in str(running.fails(":help grup_by").error)


def test_the_rest_of_a_cell_is_shown(running):
    html = running.ok("// a title\n%%html\n<b>bold</b>").bundles[0]
    assert html == {"text/html": "<b>bold</b>", "text/plain": "<b>bold</b>"}
    assert running.ok("%%markdown\n# T\n$a^2$").bundles[0]["text/markdown"] == "# T\n$a^2$"


def test_time_separates_work_from_waiting(running):
    cell = "%%time\nlet begun = std::time::Instant::now();\n"
    busy = running.ok(cell + "while begun.elapsed().as_millis() < 200 {}").stdout
    waiting = running.ok(cell + "std::thread::sleep(std::time::Duration::from_millis(200));").stdout

    def milliseconds(text, name):
        number, unit = re.search(rf"{name} ([\d.]+) (s|ms|µs)|$", text).groups()
        return float(number) * {"s": 1000, "ms": 1, "µs": 0.001}[unit]

    for text in busy, waiting:
        assert 200 <= milliseconds(text, "wall") < 5000, text
        assert re.search(r"\n(compiled|found compiled) in [\d.]+ (s|ms|µs) before that\n", text)
    # Another process may take the processor meanwhile; waiting takes next to nothing.
    assert milliseconds(busy, "processor") > 5 * milliseconds(waiting, "processor"), (busy, waiting)


def test_commands_after_code_see_what_it_made(running):
    ran = running.ok("let magic_after = 41;\n:vars")
    assert "magic_after" in ran.bundles[0]["text/plain"]
    ran = running.fails("let magic_kept = 1;\n!exit 3")
    assert "line 2" in ran.error_text
    assert running.value("magic_kept") == "1"


@pytest.mark.parametrize(
    ("cell", "advice"),
    [
        ("%timeit f()", "%%time"),
        ("%matplotlib inline", "plot"),
        ("!pip install polars", ":dep"),
        ("%%bash\nls", "!COMMAND"),
        (":efmt {}", "always"),
        (":preserve_vars_on_panic 1", "always"),
        (":vasr", "`:vars`"),
        # There is no GPU, or the session of another notebook is there already (or comes meanwhile) and runs elsewhere.
        (":engine cuda", "`:engine auto`"),
        ("let a = 1;\n%%sql\nselect 1", "first line"),
    ],
)
def test_what_is_elsewhere_is_explained(running, cell, advice):
    assert advice in running.fails(cell).error_text


def test_the_engine_is_described(running):
    text = running.ok(":engine").stdout
    assert text.startswith("engine   cpu") and "session" in text


def test_restarted_cells_forget_and_work(running):
    running.ok("let gone_with_it = 5; fn helper() -> i32 { 3 }")
    text = running.ok(":restart-cells").stdout
    assert "gone_with_it" in text and "helper" in text
    assert ":restart-cells" in running.fails("gone_with_it").error_text
    running.ok("let gone_with_it = 6; fn helper() -> i32 { 4 }")
    assert running.value("gone_with_it + helper()") == "10"


def test_macros_ask(running):
    cell = 'let n: i32 = input!("n {}: ", 1).trim().parse::<i32>()?;\nlet key = password!("key? ");\n(n + 1, key)'
    questions, ran = ask(running, cell, " 41", "Zoë ✓")
    assert questions == [("n 1: ", False), ("key? ", True)]
    assert ran.result == '(42, "Zoë ✓")'


def test_an_answer_that_does_not_parse_is_an_error_of_the_cell(running):
    running.ok("let kept_by_input = vec![1];")
    _, ran = ask(running, 'let n: i32 = input!("n: ").trim().parse::<i32>()?;', "x")
    assert ran.status == "error" and "invalid digit" in ran.error_text
    assert running.value("kept_by_input.len()") == "1"


def test_macros_without_a_front_end_that_can_ask(running):
    for cell in 'input!("n: ")', 'password!("key: ")':
        assert "input" in running.fails(cell, allow_stdin=False).error_text


# ---- `%%sql`, with frames of the notebook

@pytest.fixture(scope="module")
def small(running):
    running.ok('let small = frame! { a: [1, 2, 3], b: ["x", "y", "z"] };')
    return running


def test_a_query_keeps_its_result_under_a_name(small):
    ran = small.ok("// the largest\n%%sql top\nselect a + 1 as n\nfrom small\nwhere a > 1;")
    assert "│   2 │" not in ran.result and "│   4 │" in ran.result
    assert small.value("top.column::<i32>(\"n\").to_vec()") == "[3, 4]"
    assert small.ok("%%sql\nselect sum(n) as s from top").result.split("│")[1].strip() == "s"


@pytest.mark.parametrize(
    ("query", "place", "words"),
    [
        ("select a,\n  bb from small", "line 3, column 3\n", "did you mean `b`?"),
        ("select * from smal", "line 2, column 15\n", "did you mean `small`?"),
        ("selct * from small", "line 2, column 1\n", "Expected: an SQL statement"),
        ("select a\nfrom small\nwhere a = = 1", "line 4, column 11\n", "Expected: an expression"),
        ("select a from small where", "line 2, column 25\n", "found: EOF"),
        ("select nofunc(a) from small", "line 2, column 8\n", "nofunc"),
    ],
)
def test_an_error_of_a_query_is_underlined_in_it(small, query, place, words):
    text = small.fails("%%sql\n" + query).error_text
    assert place in text and words in text, text


def test_an_expression_in_a_text_is_explained(small):
    assert "`x!(a > 1)`" in small.fails('small.filter("a > 1")').error_text


def test_the_engine_and_frames_are_described(small):
    text = small.ok(":engine").stdout
    assert re.search(r"^memory   .* of .* held by \d+ frames?$", text, re.MULTILINE), text


def test_frames_are_listed_with_their_bytes_and_place(small):
    small.ok(
        "let held_here = frame! { n: [1, 2, 3] }; let planned = held_here.filter(x!(n > 1)); let kept_here = planned.persist();"
        "let a_variable_with_a_long_name_indeed: std::collections::BTreeMap<String, Vec<(i64, Option<String>)>> = Default::default();"
    )
    listed = small.ok(":vars").bundles[0]["text/plain"]
    rows = {row[2].strip(): row[2:] for row in (re.split("[│┆]", line) for line in listed.splitlines()) if len(row) > 5}
    # Three and two numbers of eight bytes, with what Arrow adds to each buffer.
    for name, size, least in (("held_here", "3 × 1", 24), ("kept_here", "2 × 1", 16)):
        assert f"{size} on cpu" in rows[name][2] and least <= int(rows[name][3]) < 100_000, rows[name]
    assert "planned, 1" in rows["planned"][2] and "null" in rows["planned"][3], rows["planned"]
    assert max(map(len, listed.splitlines())) <= 80, listed


def test_a_new_cell_process_releases_frames_in_lists_too(small):
    def frames() -> int:
        return int(re.search(r"held by (\d+) frames?$", small.ok(":engine").stdout, re.MULTILINE)[1])

    small.ok("let listed: Vec<Frame> = (0..20).map(|n| frame! { a: [n] }.persist()).collect();")
    before = frames()
    assert before >= 20
    small.ok(":restart-cells")
    assert frames() <= before - 20


def test_top_says_what_the_session_does_and_holds(kernel):
    kernel.ok("let held = frame! { a: (0..100_000i64).collect::<Vec<_>>() }.persist();")
    text = kernel.ok(":top").stdout
    row = re.search(r"^this one +(\d+) +([\d.]+) (kB|MB)$", text, re.MULTILINE)
    # 100,000 numbers of eight bytes are 800 kB.
    assert row and int(row[1]) >= 1 and (row[3] == "MB" or int(row[2]) >= 800), text
    assert "no task runs" in text
