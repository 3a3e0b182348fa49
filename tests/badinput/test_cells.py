"""Cells that do not compile, and cells that crash, exit, loop or flood."""

import re


def test_syntax_error(kernel, check):
    ran = check("let a = 1;\nlet b = (2;", "error")
    assert re.search(r"2:|line 2", ran.error_text), ran.error_text


def test_type_error(kernel, check):
    ran = check('let n: i32 = "text";', "E0308|mismatched types")
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
        assert re.search(r"[\d.]+ MB more; they are in .*\.txt", text[-500:] + ran.stderr), text[-500:]
    assert text.startswith(" " * 98 + "0\n")


def test_one_long_line(kernel):
    ran = kernel.ok('print!("{}", "x".repeat(3_000_000));', timeout=60)
    assert ran.stdout.startswith("x" * 1000)


def test_bytes_that_are_not_utf8(kernel):
    ran = kernel.ok(
        'use std::io::Write; std::io::stdout().write_all(b"caf\\xe9 ok \\xff\\n").unwrap(); println!("after");'
    )
    # Shown as what they are, or as replacement characters; the text around them is whole.
    assert re.search(r"caf(\ufffd|\\xE9) ok (\ufffd|\\xFF)\n", ran.stdout), repr(ran.stdout)
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


def test_an_unknown_magic(kernel, check):
    check("%%no_such_magic\nabc", "no_such_magic")
