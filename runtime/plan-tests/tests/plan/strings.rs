//! Strings as bytes on a device, of more kinds than the tables of `tests/sql` have.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array, Int64Array, StringArray, StringViewArray};
use arrow::datatypes::DataType;
use onrush_frame::TaskHandle;
use onrush_wire::plan::Op;
use regex::Regex;

use super::support::{TestEngine, col, device, lit};

/// The rows of a query over one string column, `s`. Asserts that they came from the device.
fn rows(texts: &[String], query: &str) -> Vec<ArrayRef> {
    rows_of(vec![("s", Arc::new(StringViewArray::from_iter_values(texts)) as ArrayRef)], query)
}

fn rows_of(columns: Vec<(&str, ArrayRef)>, query: &str) -> Vec<ArrayRef> {
    let bench = device();
    let frame = bench.frame(columns);
    let id = bench.step(Op::Sql { query: query.to_string(), tables: vec![("t".to_string(), frame)] });
    let table = bench.engine.table(id, &[], &TaskHandle::new()).unwrap();
    let gpu = &bench.engine.accelerator().unwrap().gpu;
    assert!(!gpu.spent().1.is_zero(), "the query ran on the CPU: {query}");
    let columns = 0..table.schema().fields().len();
    let of = |column: usize| {
        let parts: Vec<&dyn Array> = table.batches().iter().map(|batch| batch.column(column).as_ref()).collect();
        arrow::compute::concat(&parts).unwrap()
    };
    columns.map(of).collect()
}

/// Expected values are those of Python's `str.upper` and `str.lower`. The last sigma of a Greek word has a separate
/// lower-case form, which the CPU knows.
#[test]
fn cases_are_unicodes() {
    let expected = [
        ("straße", "STRASSE", "straße"),
        ("ﬁn", "FIN", "ﬁn"),
        ("İstanbul", "İSTANBUL", "i\u{307}stanbul"),
        ("ŉ", "\u{2bc}N", "ŉ"),
        ("ῼ", "\u{3a9}\u{399}", "\u{1ff3}"),
        ("ǅ", "\u{1c4}", "\u{1c6}"),
        ("àéîõü", "ÀÉÎÕÜ", "àéîõü"),
        ("ЖЗИ", "ЖЗИ", "жзи"),
        ("ꮿ", "\u{13ef}", "ꮿ"),
        ("𐐨x and sixteen", "\u{10400}X AND SIXTEEN", "𐐨x and sixteen"),
        ("ǰ", "J\u{30c}", "ǰ"),
        ("@[`{ plain az AZ", "@[`{ PLAIN AZ AZ", "@[`{ plain az az"),
        ("ΐ", "\u{399}\u{308}\u{301}", "ΐ"),
    ];
    let check = |expected: &[(&str, &str, &str)]| {
        let texts: Vec<String> = expected.iter().map(|(text, ..)| text.to_string()).collect();
        let found = rows(&texts, "select upper(s), lower(s), upper(s) || lower(s) from t");
        let (upper, lower, both) = (found[0].as_string_view(), found[1].as_string_view(), found[2].as_string_view());
        for (row, (text, up, down)) in expected.iter().enumerate() {
            assert_eq!((upper.value(row), lower.value(row)), (*up, *down), "{text}");
            assert_eq!(both.value(row), format!("{up}{down}"));
        }
    };
    check(&expected);
    check(&[("ΑΣ ΣΑΣ", "ΑΣ ΣΑΣ", "ας σας"), ("x", "X", "x")]);
}

/// Short and long strings over a few characters, so that patterns match and nearly match.
fn random(rows: u64) -> Vec<String> {
    const CHARACTERS: [&str; 8] = ["a", "b", "ab", "é", "日", "1", " ", "aab"];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % bound
    };
    let text = |row: u64| {
        let length = if row.is_multiple_of(17) { 60 } else { row % 23 };
        (0..length).map(|_| CHARACTERS[below(8) as usize]).collect::<String>() + &row.to_string()
    };
    (0..rows).map(text).collect()
}

/// Expected values are the matches of the regex crate in the same strings.
#[test]
fn matches_are_counted_as_the_host_does() {
    let texts = random(500);
    let patterns = [
        "a",
        "aab|a",
        "a|aab",
        "(aa)+?b?",
        "[^ab]+",
        r"\d+",
        "^a+",
        "(?m)^.",
        r"(?-u:\b)[ab]+(?-u:\b)",
        "",
        "b*",
        "(é|日)?",
        "ba|",
        "日.*?é",
        ".*",
    ];
    let mut columns: Vec<String> = patterns.iter().map(|p| format!("regexp_count(s, '{p}')")).collect();
    columns.push("regexp_count(s, 'A', 1, 'i')".to_string());
    let found = rows(&texts, &format!("select {} from t", columns.join(", ")));
    for (pattern, column) in patterns.into_iter().chain(["(?i)A"]).zip(&found) {
        let regex = Regex::new(pattern).unwrap();
        let expected: Vec<i64> = texts.iter().map(|text| regex.find_iter(text).count() as i64).collect();
        assert_eq!(column.as_primitive::<arrow::datatypes::Int64Type>().values(), &expected, "{pattern}");
    }
}

/// What a device does not count by itself has the processor's answer: empty matches at a boundary, places to begin at,
/// what is null.
#[test]
fn other_matches_are_counted_by_the_processor() {
    let columns = ["'$'", "'^'", "'a*$'", r"'(?-u:\b)'", "'a', 3", "'a', 1, ''", "'a', 1, null", "null", "'a|^b*'"];
    let columns: Vec<String> = columns.iter().map(|rest| format!("regexp_count(s, {rest})")).collect();
    let query = format!("select {} from t", columns.join(", "));
    let rows = |bench: TestEngine| {
        let texts: Vec<Option<String>> = random(40).into_iter().map(Some).chain([None, Some(String::new())]).collect();
        let id = bench.frame(vec![("s", Arc::new(StringViewArray::from_iter(texts)) as ArrayRef)]);
        bench.sql(&query, &[("t", id)])
    };
    assert_eq!(rows(device()), rows(TestEngine::on_cpu()));
}

/// What Arrow writes, by the `ryu` crate: all exponents, powers of two and of ten and their neighbours, short decimals,
/// and bits at random.
#[test]
fn floats_are_written_as_arrow_does() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bits = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut wide =
        vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, 5e-324, 1.0 / 3.0];
    wide.extend((0..2047).flat_map(|exponent| [exponent << 52, (exponent << 52) | 1]).map(f64::from_bits));
    wide.extend((0..2047).map(|exponent| f64::from_bits((exponent << 52).max(1) - 1)));
    wide.extend((-320..309).map(|exponent: i32| format!("1e{exponent}").parse::<f64>().unwrap()));
    wide.extend((-30..30).map(|exponent: i32| format!("-12345.6789e{exponent}").parse::<f64>().unwrap()));
    wide.extend((0..2000).map(|i| f64::from(i) / 100.0));
    wide.extend((0..20_000).map(|_| f64::from_bits(bits())));
    wide.extend((0..5000).map(|_| (bits() >> 11) as f64));
    let mut short: Vec<f32> =
        (0..255).flat_map(|exponent| [exponent << 23, (exponent << 23) | 1]).map(f32::from_bits).collect();
    short.extend((0..255).map(|exponent| f32::from_bits((exponent << 23).max(1) - 1)));
    short.extend((-45..39).map(|exponent: i32| format!("1e{exponent}").parse::<f32>().unwrap()));
    short.extend([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::MAX]);
    short.extend((short.len()..wide.len()).map(|_| f32::from_bits(bits() as u32)));
    let columns: Vec<(&str, ArrayRef)> =
        vec![("f", Arc::new(Float64Array::from(wide))), ("g", Arc::new(Float32Array::from(short)))];
    let found = rows_of(columns.clone(), "select cast(f as varchar), cast(g as varchar) from t");
    for ((name, column), found) in columns.iter().zip(&found) {
        let expected = arrow::compute::cast(column, &DataType::Utf8View).unwrap();
        let found = arrow::compute::cast(found, &DataType::Utf8View).unwrap();
        for row in 0..expected.len() {
            assert_eq!(found.as_string_view().value(row), expected.as_string_view().value(row), "{name} {row}");
        }
    }
}

/// Expected values are those of the regex crate and the standard library for the same strings.
#[test]
fn patterns_and_searches_are_those_of_the_host() {
    let texts = random(700);
    let patterns =
        ["aab+", "^[a-z]{3}", "日.*é", "(a|b)1$", "[^ab1 ]{4}", r"\d\d$", r"\s\w", "a(b|é)?a", "^$|^1", "(?i)AB É?"];
    let needles = ["aab", "é日", "abababab", "1", "日 日", "aabaabaabaab", ""];
    let mut columns: Vec<String> = patterns.iter().map(|p| format!("regexp_matches(s, '{p}')")).collect();
    columns.extend(needles.iter().map(|n| format!("contains(s, '{n}')")));
    columns.extend(needles.iter().map(|n| format!("strpos(s, '{n}')")));
    columns.push("replace(s, 'aa', 'é')".to_string());
    columns.push("split_part(s, 'b', 3)".to_string());
    columns.push("right(s, 4)".to_string());
    let found = rows(&texts, &format!("select {} from t", columns.join(", ")));
    let mut at = found.iter();
    let truths = |column: Option<&ArrayRef>| -> Vec<bool> { column.unwrap().as_boolean().values().iter().collect() };
    for pattern in patterns {
        let regex = Regex::new(pattern).unwrap();
        let expected: Vec<bool> = texts.iter().map(|text| regex.is_match(text)).collect();
        assert_eq!(truths(at.next()), expected, "{pattern}");
    }
    for needle in needles {
        let expected: Vec<bool> = texts.iter().map(|text| text.contains(needle)).collect();
        assert_eq!(truths(at.next()), expected, "{needle}");
    }
    for needle in needles {
        let column = arrow::compute::cast(at.next().unwrap(), &arrow::datatypes::DataType::Int64).unwrap();
        let place = |text: &String| text.find(needle).map_or(0, |byte| text[..byte].chars().count() as i64 + 1);
        let expected: Vec<i64> = texts.iter().map(place).collect();
        assert_eq!(column.as_primitive::<arrow::datatypes::Int64Type>().values(), &expected, "{needle}");
    }
    let mut same = |expected: &dyn Fn(&str) -> String| {
        let column = arrow::compute::cast(at.next().unwrap(), &arrow::datatypes::DataType::Utf8View).unwrap();
        let column = column.as_string_view();
        for (row, text) in texts.iter().enumerate() {
            assert_eq!(column.value(row), expected(text), "{text}");
        }
    };
    same(&|text| text.replace("aa", "é"));
    same(&|text| text.split('b').nth(2).unwrap_or_default().to_string());
    same(&|text| text.chars().skip(text.chars().count().saturating_sub(4)).collect());
}

/// Blanks around a number do not count, as in DuckDB and Arrow; by hand.
#[test]
fn numbers_are_read_from_texts() {
    let expected = [
        (" 4 ", Some(4)),
        ("\t-7", Some(-7)),
        ("8\r\n", Some(8)),
        ("\u{b}9", None),
        ("4 2", None),
        ("+5", Some(5)),
        ("-", None),
        ("", None),
        ("  ", None),
        ("１", None),
        ("-128", Some(-128)),
        ("128", None),
        ("-129", None),
        ("00000000000000000000127", Some(127)),
        ("1e2", None),
    ];
    let texts: Vec<String> = expected.iter().map(|(text, _)| text.to_string()).collect();
    let found = rows(&texts, "select try_cast(s as tinyint) from t");
    let found: Vec<Option<i8>> = found[0].as_primitive::<arrow::datatypes::Int8Type>().iter().collect();
    assert_eq!(found, expected.map(|(_, number)| number));
}

/// A computed string in two results, one of which is null: each has its length. By hand.
#[test]
fn what_is_made_twice_has_lengths_of_its_own() {
    let texts: Vec<String> = (0..40).map(|row| format!("xyz{row}x")).collect();
    let query = "select upper(s) || nullif(right(s, 2), '7x'), upper(s), replace(s, 'x', 'ab') || nullif(right(s, 2), '7x'), \
                 replace(s, 'x', 'ab') from t";
    let found = rows(&texts, query);
    let column = |index: usize| arrow::compute::cast(&found[index], &arrow::datatypes::DataType::Utf8View).unwrap();
    let columns: Vec<ArrayRef> = (0..4).map(column).collect();
    for row in 0..40 {
        let value = |index: usize| columns[index].is_valid(row).then(|| columns[index].as_string_view().value(row));
        assert_eq!(value(1), Some(format!("XYZ{row}X").as_str()));
        assert_eq!(value(3), Some(format!("abyz{row}ab").as_str()));
        let last = (row % 10 != 7).then(|| format!("{}x", row % 10));
        assert_eq!(value(0), last.as_ref().map(|last| format!("XYZ{row}X{last}")).as_deref());
        assert_eq!(value(2), last.as_ref().map(|last| format!("abyz{row}ab{last}")).as_deref());
    }
}

/// DuckDB 2.0: all parts are found from the start, and a number below zero counts them from the end.
#[test]
fn separators_that_overlap_are_found_from_the_start() {
    let texts: Vec<String> = ["aaa", "x:::y", "a", "::"].map(String::from).to_vec();
    let found = rows(&texts, "select split_part(s, 'aa', -1), split_part(s, '::', -1), length(s) from t");
    let column = |index: usize| -> Vec<String> {
        let column = arrow::compute::cast(&found[index], &arrow::datatypes::DataType::Utf8).unwrap();
        column.as_string::<i32>().iter().flatten().map(String::from).collect()
    };
    assert_eq!(column(0), ["a", "x:::y", "a", "::"]);
    assert_eq!(column(1), ["aaa", ":y", "a", ""]);
}

/// Many conditions on one computed string: planning visits each condition once.
#[test]
fn many_conditions_on_a_computed_text_are_planned_at_once() {
    let texts: Vec<String> = (0..50).map(|row| format!("{row} and {row}")).collect();
    let terms: Vec<String> = (0..40).map(|term| format!("c like '%{term}-%'")).collect();
    let query = format!("select c, {} from (select s || '-' || s as c, length(s) from t)", terms.join(" or "));
    let begun = std::time::Instant::now();
    let found = rows(&texts, &query);
    assert_eq!(found[1].as_boolean().true_count(), 50);
    // It took minutes, twice as long for each term.
    assert!(begun.elapsed().as_secs() < 60);
}

/// Functions of frames, whose names and meanings are Polars'. What is expected is the standard library's.
#[test]
fn functions_of_frames_are_those_of_the_host() {
    let mut texts = random(60);
    texts.extend(["  both \t", "\u{a0}no-break\u{2003}", "", "xx1xx", "\u{3000}日本 "].map(String::from));
    let bench = device();
    let s = Arc::new(StringViewArray::from_iter_values(&texts)) as ArrayRef;
    let frame = bench.frame(vec![("s", s)]);
    let check = |expr: onrush_wire::Expr, expected: &dyn Fn(&str) -> String| {
        let id = bench.step(Op::Select { input: frame, exprs: vec![expr.clone()] });
        let expected: Vec<String> = texts.iter().map(|text| expected(text)).collect();
        assert_eq!(bench.column(id, 0), expected, "{expr:?}");
    };
    let (on, of) = (|name: &str, args: Vec<onrush_wire::Expr>| onrush_wire::Expr::call(name, args), || col("s"));
    check(on("str.count_matches", vec![of(), lit("a")]), &|t| t.matches('a').count().to_string());
    check(on("str.count_matches", vec![of(), lit("[a1]+")]), &|t| {
        Regex::new("[a1]+").unwrap().find_iter(t).count().to_string()
    });
    check(on("str.strip_chars", vec![of()]), &|t| t.trim().to_string());
    check(on("str.strip_chars_start", vec![of()]), &|t| t.trim_start().to_string());
    check(on("str.strip_chars_end", vec![of(), lit("x1")]), &|t| t.trim_end_matches(['x', '1']).to_string());
    check(on("str.slice", vec![of(), lit(-3), lit(2)]), &|t| {
        let all = t.chars().count();
        // A start before the text uses up some of the length.
        let length = if all < 3 { (all + 2).saturating_sub(3) } else { 2 };
        t.chars().skip(all.saturating_sub(3)).take(length).collect()
    });
    check(on("str.head", vec![of(), lit(3)]), &|t| t.chars().take(3).collect());
    check(on("str.replace_all", vec![of(), lit("ab"), lit("-")]), &|t| t.replace("ab", "-"));
    check(on("str.to_uppercase", vec![of()]), &str::to_uppercase);
    check(on("str.len_bytes", vec![of()]), &|t| t.len().to_string());
    check(on("str.len_chars", vec![of()]), &|t| t.chars().count().to_string());
    assert!(!bench.engine.accelerator().unwrap().gpu.spent().1.is_zero());
}

/// The answers are DataFusion's on the processor, which knows more forms of dates than kernels do.
#[test]
fn texts_are_dates_where_they_are_on_the_processor() {
    let texts = [
        "2020-1-2x",
        "2020-1-12 ",
        "2020-01-2 ",
        "2020-1-2",
        "2020-1-23",
        "20200102",
        "2020-01-02",
        "2020-13-01",
        "2020-1",
        "",
    ];
    let values: Vec<String> = (0..200).map(|row| texts[row % texts.len()].to_string()).collect();
    let cpu = TestEngine::on_cpu();
    let query = "select id, try_cast(s || '' as date) as d from t order by id limit 20";
    let rows = |bench: &TestEngine| {
        let id = bench.frame(vec![
            ("id", Arc::new(Int64Array::from_iter_values(0..200)) as ArrayRef),
            ("s", Arc::new(StringArray::from(values.clone()))),
        ]);
        bench.sql(query, &[("t", id)])
    };
    assert_eq!(rows(&device()), rows(&cpu));
}

/// A step that changes the strings of a dictionary, and a step that takes columns as they are. Each runs twice over one
/// table and then over another. Expected values are those of Rust's string functions.
#[test]
fn steps_that_share_columns_run_again() {
    let bench = device();
    let texts = |shift: usize| {
        let text = move |row: usize| (row % 7 != 2).then(|| ["straße", "ab", "", "Zug"][(row + shift) % 4].to_string());
        (0..4000).map(text).collect::<Vec<_>>()
    };
    let frame = |texts: &[Option<String>]| {
        let s: ArrayRef = Arc::new(StringViewArray::from_iter(texts.iter().map(Option::as_deref)));
        bench.frame(vec![("n", Arc::new(Int64Array::from_iter_values(0..4000)) as ArrayRef), ("s", s)])
    };
    let (one, other) = (texts(0), texts(1));
    let frames = [(frame(&one), &one), (frame(&other), &other)];
    for (frame, texts) in [&frames[0], &frames[0], &frames[1], &frames[0], &frames[1]] {
        for (query, of) in [
            ("select upper(s) as u, n, s from t", str::to_uppercase as fn(&str) -> String),
            ("select s as u, n, s from t", str::to_string),
        ] {
            let found = bench.sql(query, &[("t", *frame)]);
            let rows = found.split('|').skip(1).map(str::to_string).collect::<Vec<_>>();
            let expected = texts.iter().enumerate().map(|(n, text)| match text {
                Some(text) => format!("{} {n} {text}", of(text)),
                None => format!("null {n} null"),
            });
            assert_eq!(rows, expected.collect::<Vec<_>>(), "{query}");
        }
    }
    assert!(bench.engine.accelerator().unwrap().gpu.spent().0 > 0, "the queries ran on the CPU");
}

/// Some thousand strings that end anywhere in a word, some of them longer than a warp gathers at once: of all rows, of
/// some rows, and sorted.
#[test]
fn texts_of_many_lengths_lie_one_behind_the_other() {
    let text =
        |i: usize| (i % 11 != 3).then(|| format!("{i}-é{}", "xyz".repeat(if i % 97 < 3 { 400 } else { i % 13 })));
    let texts: Vec<Option<String>> = (0..5003).map(text).collect();
    let columns = || {
        let s: ArrayRef = Arc::new(StringViewArray::from_iter(texts.iter().map(Option::as_deref)));
        vec![("s", s), ("i", Arc::new(Int64Array::from_iter_values(0..5003)) as ArrayRef)]
    };
    let made = "upper(s), s || '/' || s, substr(s, 3), reverse(s), i";
    for (query, rows) in [
        (format!("select {made} from t"), (0..5003).collect::<Vec<usize>>()),
        (format!("select {made} from t where i % 3 = 1"), (0..5003).filter(|i| i % 3 == 1).collect()),
        (format!("select {made} from t order by i desc"), (0..5003).rev().collect()),
        ("select upper(s), i from t".to_string(), (0..5003).collect()),
    ] {
        let found = rows_of(columns(), &query);
        let of: [&dyn Fn(&str) -> String; 4] =
            [&|s| s.to_uppercase(), &|s| format!("{s}/{s}"), &|s| s.chars().skip(2).collect(), &|s| {
                s.chars().rev().collect()
            }];
        let numbers = found.last().unwrap().as_primitive::<arrow::datatypes::Int64Type>();
        assert_eq!(numbers.values().iter().map(|i| *i as usize).collect::<Vec<_>>(), rows);
        for (column, of) in found.iter().take(found.len() - 1).zip(of) {
            let column = column.as_string_view();
            for (at, row) in rows.iter().enumerate() {
                let value = column.is_valid(at).then(|| column.value(at).to_string());
                assert_eq!(value, texts[*row].as_deref().map(of), "{query}, row {row}");
            }
        }
    }
}

/// Dictionaries with as many strings as fit one byte, one more, as many as fit two bytes, and one more. Dictionary
/// indices have 8, 16 and 32 bits. A second table has strings that the first one lacks. The answers are DataFusion's on
/// the CPU.
#[test]
fn numbers_of_texts_are_as_narrow_as_they_may_be() {
    const ROWS: u64 = 70_000;
    let table = |bench: &TestEngine, rows: u64, first: u64| {
        let texts = |many: u64| {
            let text = |row: u64| (row % 11 != 4).then(|| format!("t{:06}", first + row * 48_271 % many));
            Arc::new((0..rows).map(text).collect::<StringViewArray>()) as ArrayRef
        };
        bench.frame(vec![
            ("n", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
            ("a", texts(256)),
            ("b", texts(257)),
            ("c", texts(65_536)),
            ("d", texts(65_537)),
        ])
    };
    let (device, cpu) = (device(), TestEngine::on_cpu());
    let gpu = &device.engine.accelerator().unwrap().gpu;
    let tables =
        [(ROWS, 0), (ROWS / 2, 100)].map(|(rows, first)| [&device, &cpu].map(|bench| table(bench, rows, first)));
    let queries = [
        "select n, a, b, c, d from t where n % 1009 = 5 or c like '%65535' order by n",
        "select count(*), min(a), max(b), min(c), max(d), count(distinct a), count(distinct b), count(c) from t",
        "select a, count(*), sum(n), min(d) from t group by a order by a nulls first",
        "select b, a, count(*) from t where d > 't060000' group by b, a order by b, a limit 700",
        "select n, d, c from t order by c desc nulls last, n limit 50",
        "select n, upper(a) as u, a || '-' || b as ab, length(c) as l, substr(d, 3) as s from t where b in ('t000256', 't000003') order by n",
        "select n, upper(a) as u, lower(b) as w, a from t where n >= 69000 order by n",
        "select t.n, t.a, u.c from t join u on t.c = u.c where u.n % 97 = 1 order by t.n, u.n",
        "select t.n, u.n as m from t join u on t.a = u.b and t.n = u.n order by t.n limit 300",
        "select n, a from t where a not in (select a from u where a is not null) order by n limit 400",
        "select a, count(*) from (select a from t union all select b from u) group by a order by a",
        "select n, d, c from (select n, d, c from t where n < 40000 union all select n, c, d from u) where n % 997 = 3 order by n, d, c",
        "select n, p, q from (select n, lag(a) over (order by n) as p, max(b) over (partition by a order by n) as q from t) where n % 499 = 2 order by n",
        "select case when n % 2 = 0 then a else b end as e, count(*) from t group by e order by e",
    ];
    for query in queries {
        let before = gpu.spent().1;
        let [[t, other_t], [u, other_u]] = tables;
        let (found, expected) =
            (device.sql(query, &[("t", t), ("u", u)]), cpu.sql(query, &[("t", other_t), ("u", other_u)]));
        assert_eq!(found, expected, "{query}");
        assert!(gpu.spent().1 > before, "it ran on the CPU: {query}");
    }
}
