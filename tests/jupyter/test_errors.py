"""Compile errors as the user reads them. What is expected is rustc's own: each cell is also the body of a function in an ordinary
crate, and what rustc says of that must be in the cell's error, at the same line and column."""

import json
import re
import subprocess

import pytest
from driver import PATIENCE, plain

# Cells that need no earlier one.
CELLS = [
    'let a: i32 = "x";',
    'fn takes(n: i32) -> i32 { n }\ntakes("five");',
    "fn takes(n: i32) -> i32 { n }\ntakes(1, 2);",
    "fn takes(n: i32, m: i32) -> i32 { n + m }\ntakes(1);",
    "#[derive(Debug)] struct P { x: f64 }\nfn borrow(p: &P) -> f64 { p.x }\nlet p = P { x: 1.0 };\nborrow(p);",
    "struct P { x: f64 }\nimpl P { fn norm(&self) -> f64 { self.x } }\nlet p = P { x: 1.0 };\np.nom();",
    "struct P { x: f64 }\nlet p = P { x: 1.0 };\np.z;",
    "struct P { x: f64, y: f64 }\nlet q = P { x: 1.0 };",
    "struct P { x: f64 }\nlet q = P { x: 1.0, z: 3.0 };",
    "struct P { x: f64, y: f64 }\nlet P { x, yy } = P { x: 1.0, y: 2.0 };",
    "undefined_thing + 1;",
    "let x: Strng = String::new();",
    'std::fs::read_to_strin("x");',
    "let v = vec![1];\nv.push(4);",
    "let mut m = vec![1];\nlet r = &mut m; let r2 = &mut m; r.push(1); r2.push(2);",
    'let s = String::from("t");\nlet t = s;\nlet n = s.len();',
    "let v = vec![1];\ndrop(v);\nv.len();",
    "fn longest(a: &str, b: &str) -> &str { a }",
    "struct Ref { s: &str }",
    "enum Shape { Circle(f64), Square { side: f64 } }\nfn f(s: Shape) -> i32 {\n    match s {\n        Shape::Circle(_) => 1,\n    }\n}",
    "let r = match 3 { 1 => 'a', 2 => 'b' };",
    "trait Area { fn area(&self) -> f64; }\nstruct Sq;\nimpl Area for Sq {}",
    "trait T1 { fn a(&self); }\nimpl T1 for i32 { fn a(&self) {} fn b(&self) {} }",
    'struct P;\nprintln!("{}", P);',
    'println!("{} {}", 1);',
    'let t = format!("{:?} {}", 1, 2, 3);',
    "let x = 5\nlet y = 6;",
    'fn g() -> i32 { "a" }',
    "fn g() -> i32 { 1; }",
    "let n = if 1 { 2 } else { 3 };",
    'let x = if true { 1 } else { "a" };',
    "let n: u8 = 256;",
    'let x: Vec<i32> = vec!["a", "b"];',
    'let x = "5".parse();',
    "async fn af() -> i32 { 1 }\nlet z: i32 = af();",
    "let rc = std::rc::Rc::new(1);\nstd::thread::spawn(move || drop(rc));",
    'macro_rules! two { ($a:expr) => { $a + "x" } }\nlet t = two!(1);',
    "macro_rules! one { ($a:ident) => { 1 } }\nlet t = one!(1 + 2);",
    "struct W<T> { t: T }\nimpl<T> W<T> { fn p(&self) -> String { self.t.to_string() } }",
    "let x = 1;\nx = 2;",
    "let f = |x: i32| x + 1;\nf(\"a\");",
    'for i in 5 { println!("{i}"); }',
    "let Some(y) = Some(3);",
    "struct Node { next: Node }",
    'const C: i32 = "a".len();',
    "#[derive(Debug, Copy, Clone)] struct HasString { s: String }",
    'let s = String::from("a") + String::from("b");',
    'let s = "a" + "b";',
    "let x = 1i32 + 1.0;",
    'let 名前 = 1;\nlet 数 = 名前 + "あ";',
    '\tlet tabbed: i32 =\t"tab";',
    'let t = if true and false { 1 } else { 2 };',
    "let z: Result<i32, String> = \"5\".parse::<i32>();",
    'let s = String::from("a");\nlet x: &str = s;',
    "fn dup(a: i32, a: i32) {}",
    "enum E { A, B }\nlet t = E::A == E::B;",
    "let o: Option<i32> = Some(1);\nlet p = o + 1;",
    "let o: Option<i32> = 5;",
    "#[derive(Dbug)] struct Q1;",
    "mod inner { fn hidden() {} }\ninner::hidden();",
    "let mut a = 5;\na++;",
    "const x = 5;",
    "let x: int = 5;",
    "fn f(x: i32) { return x; }",
    'let n = "abc".len;',
    'let c: char = "a";',
    "let it = vec![String::new()];\nfor s in it { }\nit.len();",
    "let b: Box<dyn Fn() -> i32> = || 3;",
    "std::collections::HashMap::<f64, i32>::new().insert(1.0, 2);",
    "break;",
    "let y = vec![1, 2, 3].iter();\ny.len();",
    "let t = vec![1, 2];\nlet n: Vec<String> = t.iter().map(|x| x + 1).collect();",
    "fn bound<T: Copy>(t: T) {}\nbound(String::new());",
    "use std::collections::HashMapp;",
    "let x = 3;\nlet y = *x;",
    "struct S;\nlet s = S;\ns();",
    "let a = [1, 2, 3];\nlet b: [i32; 2] = a;",
    "let (a, b) = (1, 2, 3);",
    "speed = 5;",
    'let n = "5".parse().unwrap();',
]

# What rustc says about a crate, and not about the code.
NOISE = (
    "aborting due to",
    "For more information",
    "this error originates in",
    "in this expansion of",
    "the full name for the type",
    "consider using `--verbose`",
    "`#[deny(",
    "some errors have detailed",
    "the following other types implement",
    "the following types implement",
    "Some errors have detailed",
    "you might be missing a crate",
)


def rustcs(cell, folder):
    """rustc's errors about the cell as the body of a function. Its lines begin at the second."""
    source = folder / "normal.rs"
    source.write_text("fn normal() {\n" + cell + "\n}\n")
    command = ["rustc", "--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--error-format", "json"]
    command += ["--diagnostic-width", "100", "-A", "warnings", "-o", str(folder / "out.rmeta"), str(source)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    messages = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("{")]
    return [m for m in messages if m["level"] == "error" and m["spans"]]


def shortened(text):
    """rustc's paths of the standard library, as short as cells show them, and closures without their places."""
    text = re.sub(r"\{closure@[^}]*\}", "{closure}", text)
    return re.sub(r"std::(option::(?=Option)|string::(?=String)|result::(?=Result)|vec::(?=Vec)|boxed::(?=Box))", "", text)


def squeezed(text):
    """Without the drawing: words of a label that has several lines are apart in it."""
    return re.sub(r"[\s|]+", " ", shortened(text)).strip()


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.replace("\n", " ")[:50])
def test_an_error_says_what_rustc_says(kernel, tmp_path, cell):
    expected = rustcs(cell, tmp_path)
    assert expected, "rustc accepts it"
    ran = kernel.fails(cell)
    text = plain("\n".join(ran.error["traceback"]))
    for leak in ("__onrush", "onrush_cell_", "__body", "onrush::", ".rs:"):
        assert leak not in text, text
    words = squeezed(text)
    first = expected[0]
    assert ran.error["evalue"] == shortened(first["message"]).split("\n")[0], text
    assert ran.error["ename"] == (first["code"]["code"] if first["code"] else "syntax")
    primary = next(s for s in first["spans"] if s["is_primary"])
    while not primary["file_name"].endswith("normal.rs"):
        primary = primary["expansion"]["span"]
    assert f"line {primary['line_start'] - 1}, column {primary['column_start']}\n" in text, (text, primary)
    for span in first["spans"]:
        if span["label"] and span["file_name"].endswith("normal.rs"):
            assert squeezed(span["label"]) in words, f"{span['label']}\n{text}"
    for child in first["children"]:
        said = shortened(child["message"])
        if not said or said.startswith(NOISE) or "defined here" in said or "required by" in said:
            continue
        assert squeezed(said.rstrip(":")) in words, f"{said}\n{text}"
        # A suggestion is shown in the line that it would change.
        spans = [s for s in child["spans"] if s["suggested_replacement"] is not None]
        if len(spans) == 1 and spans[0]["line_start"] == spans[0]["line_end"] and "\n" not in spans[0]["suggested_replacement"]:
            span = spans[0]
            line = cell.split("\n")[span["line_start"] - 2]
            new = line[: span["column_start"] - 1] + span["suggested_replacement"] + line[span["column_end"] - 1 :]
            assert squeezed(new) in words, f"{new}\n{text}"


EARLIER = """#[derive(Debug, Clone)]
struct Point { x: f64, y: f64 }
impl Point { fn norm(&self) -> f64 { (self.x * self.x + self.y * self.y).sqrt() } }
fn takes(n: i32) -> i32 { n }
let p = Point { x: 3.0, y: 4.0 };
let words = vec![String::from("a")];"""


@pytest.fixture(scope="module")
def earlier(kernel):
    kernel.ok(EARLIER)
    return kernel


# By hand: rustc knows nothing of earlier cells.
@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('takes("five")', ["mismatched types", "line 4, column 4", "function defined here", "expected `i32`, found `&str`"]),
        ("p.x = 1.0;", ["`p` was defined without `mut`", "`let mut p = p;`"]),
        ("words.push(String::new());", ["`words` was defined without `mut`"]),
        ("p.nom()", ["there is a method `norm` with a similar name:", "p.norm()\n"]),
        ("drop(words); words.len()", ["value moved here", "move occurs because `words` has type `Vec<String>`", "drop(words.clone()); words.len()"]),
        ("impl Point { fn bad(&self) -> i32 { self.x } }", ["expected `i32`, found `f64`", "line 1, column 37"]),
        ("return Err(5);", ["mismatched types"]),
        ("use rand::Rng;", [":dep rand"]),
        ("let n = null;", ["`None`"]),
        ("std::thread::spawn(|| words.len());", ["still borrowed", "move ||"]),
        ('let t = f"x {p:?}";', ["`format!("]),
        ("0x", ["no valid digits found for number"]),
    ],
)
def test_an_error_about_earlier_cells(earlier, cell, expected):
    text = earlier.fails(cell).error_text
    for piece in expected:
        assert piece in text, text
    assert "__onrush" not in text and "onrush_cell" not in text


# By hand, from the prelude's signatures.
@pytest.mark.parametrize(
    ("cell", "message", "advice"),
    [
        ('fn t(f: Frame) { f.head("5"); }', "`head` takes `usize` here, and was given `&str`", "fn head(&self, n: usize) -> Frame"),
        ("fn t(f: Frame) { f.head(); }", "`head` takes 1 argument, and was given 0", "fn head(&self, n: usize) -> Frame"),
        ("read_csv(5)", "`read_csv` takes the path of a file, as text, and was given `{integer}`", "fn read_csv("),
        ("fn t(f: Frame, n: i32) { f.select(n); }", "`i32` is not a list of columns or expressions", 'write "a"'),
        ('fn t(f: Frame) { f.groupby("a"); }', "no method named `groupby` found for struct `Frame`", "group_by"),
        ('fn t(f: Frame) { f.mean("a"); }', "no method named `mean` found for struct `Frame`", "x!(a.mean())"),
        ('fn t(f: Frame) { f.filter(col("a") > 1); }', "binary operation `>` cannot be applied to type `Expr`", "x!(a > 1)"),
        ("fn t(f: Frame) { for r in f {} }", "`Frame` is not an iterator", "f.rows()"),
        ('fn t(f: Frame) { f["a"]; }', "cannot index into a value of type `Frame`", "f.column"),
        ("fn t(f: Frame) { f.filter(x!(a and b)); }", 'in Rust, "and" is `&&`', "a && b"),
        ("fn t(f: Frame) { f.filter(x!(a ** 2 > 1)); }", "`**` is not an operator in Rust", "pow(2)"),
        ("sql(select 1)", "expected one of", 'sql("select'),
    ],
)
def test_a_wrong_call_of_the_prelude_is_one_sentence(kernel, cell, message, advice):
    ran = kernel.fails(cell)
    assert ran.error["evalue"].startswith(message), ran.error_text
    assert advice in ran.error_text
    assert "onrush::" not in ran.error_text
