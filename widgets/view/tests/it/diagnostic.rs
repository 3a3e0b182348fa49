//! Tracebacks through the public interface; expected lines are typed by hand after rustc's layout.

use onrush_wire::diagnostic::Severity;
use onrush_wire::{Call, Class, Diagnostic, Label, Span};

fn span(line: u32, column: u32, length: u32) -> Span {
    Span { file: "cell_3.rs".into(), line, column, length }
}

fn lines(diagnostic: &Diagnostic, source: &str) -> String {
    let source = |file: &str| (file == "cell_3.rs").then(|| source.to_string());
    onrush_view::diagnostic(diagnostic, &source, &|_| "In [3]".to_string(), false).join("\n")
}

fn error() -> Diagnostic {
    Diagnostic::error(Class::Plan, "unknown-column", "there is no column `dep_dely`")
}

/// The underline's row under a one-line source.
fn underline(source: &str, column: u32, length: u32) -> String {
    let text = lines(&error().at(span(1, column, length), ""), source);
    text.lines().nth(4).unwrap().to_string()
}

#[test]
fn a_column_that_is_not_there() {
    let diagnostic = error()
        .at(span(2, 19, 8), "not in this frame")
        .note("the frame has 19 columns\nand 336 776 rows")
        .help("did you mean `dep_delay`?");
    assert_eq!(
        lines(&diagnostic, "let f = 1;\nflights.filter(x!(dep_dely > 5))\n"),
        "\
error[unknown-column]: there is no column `dep_dely`
 --> In [3], line 2, column 19
  |
2 | flights.filter(x!(dep_dely > 5))
  |                   ^^^^^^^^ not in this frame
  |
  = note: the frame has 19 columns
          and 336 776 rows
  = help: did you mean `dep_delay`?"
    );
}

#[test]
fn underlines_stand_under_their_characters() {
    //                               a tab is four cells
    assert_eq!(underline("\tab", 2, 2), "  |     ^^");
    assert_eq!(underline("a\tb", 3, 1), "  |     ^");
    // Each of 東京 takes two cells.
    assert_eq!(underline("東京 = x", 1, 2), "  | ^^^^");
    assert_eq!(underline("東京 = x", 6, 1), "  |        ^");
    // One crab of two cells in front.
    assert_eq!(underline("🦀 x", 3, 1), "  |    ^");
    // The accent is a character of its own and takes no cell.
    assert_eq!(underline("e\u{301}x y", 3, 1), "  |  ^");
    // Past the end of the line, and a length that runs past it.
    assert_eq!(underline("ab", 3, 1), "  |   ^");
    assert_eq!(underline("ab", 2, 99), "  |  ^");
    assert_eq!(underline("", 1, 0), "  | ^");
}

#[test]
fn several_labels() {
    let mut diagnostic =
        Diagnostic::error(Class::Compile, "E0382", "use of moved value: `v`").at(span(4, 7, 1), "used here");
    for (place, text) in [(span(1, 5, 1), "has type `Vec<i32>`"), (span(2, 6, 1), "moved here")] {
        diagnostic.labels.push(Label { span: place, text: text.into(), primary: false });
    }
    assert_eq!(
        lines(&diagnostic, "let v = vec![1];\ndrop(v);\n\nshow(&v);\n"),
        "\
error[E0382]: use of moved value: `v`
 --> In [3], line 4, column 7
  |
1 | let v = vec![1];
  |     - has type `Vec<i32>`
2 | drop(v);
  |      - moved here
3 |
4 | show(&v);
  |       ^ used here
  |"
    );
}

#[test]
fn labels_on_one_line() {
    let mut diagnostic =
        Diagnostic::error(Class::Plan, "types", "`str` and `i64` cannot be added").at(span(1, 3, 1), "cannot be added");
    for (place, text) in [(span(1, 1, 1), "str"), (span(1, 5, 2), "i64")] {
        diagnostic.labels.push(Label { span: place, text: text.into(), primary: false });
    }
    assert_eq!(
        lines(&diagnostic, "a + bb"),
        "\
error[types]: `str` and `i64` cannot be added
 --> In [3], line 1, column 3
  |
1 | a + bb
  | - ^ -- i64
  | | |
  | | cannot be added
  | str
  |"
    );
}

#[test]
fn without_source_or_place() {
    let unknown = onrush_view::diagnostic(
        &error().at(span(2, 19, 8), "not here").help("look"),
        &|_| None,
        &|f| f.to_string(),
        false,
    );
    assert_eq!(
        unknown,
        [
            "error[unknown-column]: there is no column `dep_dely`",
            " --> cell_3.rs, line 2, column 19",
            "  = not here",
            "  = help: look"
        ]
    );
    let mut warning = Diagnostic::error(Class::Run, "", "two\nlines").note("a").help("b\nc");
    warning.severity = Severity::Warning;
    assert_eq!(lines(&warning, ""), "warning: two\nlines\nnote: a\nhelp: b\n      c");
    // A place past the end of the source is drawn, not a crash.
    assert!(lines(&error().at(span(99, 1, 1), "here"), "x").contains("99 |\n   | ^ here"));
    assert!(lines(&error().at(span(0, 0, 0), "here"), "x").contains("^ here"));
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let source = format!("{}WRONG{}", "a".repeat(500), "b".repeat(500));
    let text = lines(&error().at(span(1, 501, 5), "this"), &source);
    let rows: Vec<&str> = text.lines().collect();
    let place = rows[3].find("WRONG").unwrap();
    // The ellipsis in front is three bytes and one cell.
    assert_eq!(rows[4].find("^^^^^ this").unwrap(), place - 2);
    assert!(rows.iter().all(|r| r.chars().count() <= 80), "{text}");
}

#[test]
fn words_of_places_far_to_the_right_begin_before_them() {
    let source = "let average_of_all_delays = delays_of_all_flights.iter().sum::<f64>() / count(x);";
    let mut diagnostic = error().at(span(1, 79, 1), "expected `f64`, found `&str`, which nothing can be divided by");
    diagnostic.labels.push(Label {
        span: span(1, 73, 5),
        text: "arguments to this function are wrong".into(),
        primary: false,
    });
    let text = lines(&diagnostic, source);
    assert_eq!(
        text.split_once("  |\n").unwrap().1,
        "\
1 | …rage_of_all_delays = delays_of_all_flights.iter().sum::<f64>() / count(x);
  |                                                                   ----- ^
  |                                                                   |     |
  |                                          expected `f64`, found `&str`, which
  |                                          nothing can be divided by
  |                                                                   |
  |                                         arguments to this function are wrong
  |"
    );
}

/// A column may be called anything; by hand.
#[test]
fn names_neither_break_lines_nor_turn_them_around() {
    let named = |class| {
        let message = "there is no column `net\nsales`";
        let mut diagnostic = Diagnostic::error(class, "c", message).note("columns: `\u{202e}evil`, `a\tb`\nand more");
        diagnostic.help.push("\u{1b}[2Jlook\r\nhere".into());
        lines(&diagnostic, "")
    };
    assert_eq!(
        named(Class::Plan),
        "\
error[c]: there is no column `net↵sales`
note: columns: `\\u{202e}evil`, `a⇥b`
      and more
help: \\u{1b}[2Jlook
      here"
    );
    // The notes of a program have their own lines.
    assert!(named(Class::Run).starts_with("error[c]: there is no column `net\nsales`\nnote: columns: `\\u{202e}evil`"));
}

/// Wherever it stands, a token is shown with its underline under it and all of its words, in 80 cells.
#[test]
fn nothing_is_cut_off_at_any_place() {
    let words = "expected `f64`, found `&str` with some more words that need two or three lines of it";
    for (before, after, wide) in [(0, 0, false), (50, 0, false), (62, 30, false), (70, 200, false), (300, 300, true)] {
        let filler = if wide { "東" } else { "a" };
        for second in [None, Some(1), Some(before as u32 + 12)] {
            let source = format!("{}TOKEN + OTHER{}", filler.repeat(before), filler.repeat(after));
            let mut diagnostic = error().at(span(1, before as u32 + 1, 5), words);
            if let Some(column) = second {
                let text = "this was the other one".to_string();
                diagnostic.labels.push(Label { span: span(1, column, 2), text, primary: false });
            }
            let text = lines(&diagnostic, &source);
            let rows: Vec<&str> = text.lines().collect();
            let width = |row: &str| unicode_width::UnicodeWidthStr::width(row);
            assert!(rows.iter().all(|row| width(row) <= 80), "{text}");
            let at = rows.iter().position(|row| row.contains("^^^^^")).unwrap_or_else(|| panic!("{text}"));
            let place = rows[at - 1].split_once("TOKEN").map(|(before, _)| width(before));
            assert_eq!(rows[at].find("^^^^^"), place, "{text}");
            let said: Vec<&str> =
                text.split(|c: char| c.is_whitespace() || "|^-".contains(c)).filter(|w| !w.is_empty()).collect();
            assert!(said.join(" ").contains(words), "{text}");
            assert_eq!(said.join(" ").contains("this was the other one"), second.is_some(), "{text}");
        }
    }
}

#[test]
fn colours_only_when_asked() {
    let diagnostic = error().at(span(1, 1, 1), "x").help("y");
    let source = |_: &str| Some("a".to_string());
    let coloured = onrush_view::diagnostic(&diagnostic, &source, &|_| "In [3]".into(), true);
    assert_eq!(coloured[0], "\x1b[1;31merror[unknown-column]\x1b[0m\x1b[1m: there is no column `dep_dely`\x1b[0m");
    let plain = lines(&diagnostic, "a");
    assert!(!plain.contains('\x1b'));
    let stripped: Vec<String> = coloured
        .iter()
        .map(|l| {
            ["31", "34"]
                .iter()
                .fold(l.clone(), |l, c| l.replace(&format!("\x1b[1;{c}m"), ""))
                .replace("\x1b[1m", "")
                .replace("\x1b[0m", "")
        })
        .collect();
    assert_eq!(stripped.join("\n"), plain);
}

#[test]
fn who_called_is_said_last() {
    let call = |file: &str, line, function: &str| Call { file: file.into(), line, function: function.into() };
    let mut diagnostic = Diagnostic::error(Class::Run, "panic", "bottom").at(span(1, 1, 1), "").help("look");
    diagnostic.trace = vec![call("cell_3.rs", Some(1), "Point::norm")];
    // The place itself is no trace.
    assert!(!lines(&diagnostic, "x").contains("trace"));
    diagnostic.trace.extend([
        call("cell_3.rs", Some(2), "{{closure}}"),
        call("cell_3.rs", Some(2), "mean::{{closure}}::{{closure}}"),
        call("cell_3.rs", None, ""),
    ]);
    assert!(
        lines(&diagnostic, "x").ends_with(
            "\
  = help: look
  = trace: In [3], line 1, in `Point::norm`
           In [3], line 2, in a closure
           In [3], line 2, in a closure of `mean`
           In [3]"
        ),
        "{}",
        lines(&diagnostic, "x")
    );
}

/// The front end's extension reads the lines back: its test has the same text.
#[test]
fn the_front_end_reads_these_lines() {
    let mut first = error()
        .at(span(2, 23, 8), "<b>not</b> in this frame")
        .note("the frame has 19 columns\nand 336 776 rows")
        .help("did you mean `dep_delay`?");
    first.labels.push(Label { span: span(1, 5, 1), text: "made here".into(), primary: false });
    first.labels.push(Label { span: span(2, 1, 2), text: "".into(), primary: false });
    let call = |line, function: &str| Call { file: "cell_3.rs".into(), line, function: function.into() };
    first.trace = vec![call(Some(2), "late"), call(Some(12), "")];
    let mut second =
        Diagnostic::error(Class::Compile, "E0382", "two\nlines & more").help("write:\n    v.clone();\n     ++++++++");
    second.severity = Severity::Warning;
    let source =
        |file: &str| (file == "cell_3.rs").then(|| "let f = 1;\n数.filter(x!(ab > 1 && dep_dely > 5))\n".to_string());
    let drawn = |one: &Diagnostic| onrush_view::diagnostic(one, &source, &|_| "In [3]".to_string(), true).join("\n");
    assert_eq!(format!("{}\n\n{}\n", drawn(&first), drawn(&second)), include_str!("../../../web/test/error.txt"));
}

/// Lines of at most 80 cells, counted by hand; in colours a reset tells that a line goes on.
#[test]
fn long_words_go_on_below() {
    let long =
        "the column `a b c` has 12 values that are no numbers, and the other one has none at all of them, and more";
    let mut diagnostic = Diagnostic::error(Class::Plan, "type", long).at(span(1, 9, 1), long).help(long);
    diagnostic.help.push(
        "write:\n    a line of code that is longer than a terminal is wide, and stays as it is because it is code"
            .into(),
    );
    let lines = lines(&diagnostic, "let a = b;");
    assert_eq!(
        lines,
        "\
error[type]: the column `a b c` has 12 values that are no numbers, and the other
  one has none at all of them, and more
 --> In [3], line 1, column 9
  |
1 | let a = b;
  |         ^ the column `a b c` has 12 values that are no numbers, and the
  |           other one has none at all of them, and more
  |
  = help: the column `a b c` has 12 values that are no numbers, and the other
            one has none at all of them, and more
  = help: write:
              a line of code that is longer than a terminal is wide, and stays as it is because it is code"
    );
    let none = |_: &str| None;
    let colored = onrush_view::diagnostic(&diagnostic, &none, &|_| "In [3]".to_string(), true);
    assert!(colored[1].starts_with("\x1b[0m  \x1b[1mone has none"), "{colored:?}");
    let narrow = Diagnostic::error(Class::Plan, "c", "").help(
        "a `code with blanks that stays together` and \
         `another one that would not fit on the first of the lines`",
    );
    let lines = onrush_view::diagnostic(&narrow, &none, &|_| String::new(), false);
    assert_eq!(lines[1], "help: a `code with blanks that stays together` and");
    assert_eq!(lines[2], "        `another one that would not fit on the first of the lines`");
}
