//! Cells through the real compiler and the real cell process: plain Rust, without a session and without Jupyter.

use std::time::{Duration, Instant};

use crate::support::Notebook;

#[test]
fn variables_items_and_output_cross_cells() {
    let mut n = Notebook::new();
    assert_eq!(n.run("let x = 1;").ok().results, Vec::<String>::new());
    n.shows("x + 1", "2");
    n.run("#[derive(Debug, Clone)]\nstruct Point { x: f64, y: f64 }\nimpl Point { fn norm(&self) -> f64 { (self.x * self.x + self.y * self.y).sqrt() } }").ok();
    n.run("let mut p = Point { x: 3.0, y: 4.0 };").ok();
    n.shows("p.norm()", "5.0");
    n.run("p.x = 0.0; let s = String::from(\"ä\");").ok();
    n.shows("format!(\"{p:?} {s}\")", "\"Point { x: 0.0, y: 4.0 } ä\"");
    n.run("use std::collections::HashMap;\nlet mut m: HashMap<String, Vec<i32>> = HashMap::new(); m.insert(s.clone(), vec![1, 2]);").ok();
    n.shows("m[\"ä\"].len()", "2");
    n.run("macro_rules! double { ($e:expr) => { twice($e) } }\nfn twice(n: i32) -> i32 { n * 2 }").ok();
    n.shows("double!(x)", "2");
    n.run("trait Named { fn name(&self) -> String; }\nimpl Named for i32 { fn name(&self) -> String { format!(\"i{self}\") } }").ok();
    n.shows("x.name()", "\"i1\"");
    let run = n.run("println!(\"a\"); eprintln!(\"b\"); print!(\"c\"); eprint!(\"d\");").ok();
    assert_eq!(run.shown, "a\n[b\n]c[d]");
}

#[test]
fn shadowing_and_types() {
    let mut n = Notebook::new();
    n.run("let x = 1;").ok();
    n.run("let x = \"text\";").ok();
    n.shows("x", "\"text\"");
    n.run("let v: Vec<Option<f64>> = vec![Some(1.5), None]; let t = (1u8, 'c', [1, 2, 3]);").ok();
    n.shows("(v.len(), t.2[1])", "(2, 2)");
    n.run("let b: Box<dyn Fn(i32) -> i32> = Box::new(|x| x + 1);").ok();
    n.shows("b(4)", "5");
    n.run("use std::sync::{Arc, Mutex}; use std::rc::Rc; use std::cell::RefCell;\nlet a = Arc::new(Mutex::new(1)); let r = Rc::new(RefCell::new(vec![1]));").ok();
    n.run("*a.lock().unwrap() += 1; r.borrow_mut().push(2);").ok();
    n.shows("(*a.lock().unwrap(), r.borrow().len())", "(2, 2)");
    n.run("fn generic<T: std::fmt::Debug>(t: T) -> String { format!(\"{t:?}\") }\nenum Shape { Circle(f64), Square { side: f64 } }\nuse Shape::*;\nconst N: usize = 3; static NAME: &str = \"n\";").ok();
    n.shows(
        "match (Square { side: 2.0 }) { Circle(r) => generic(r), Square { side } => generic((side, N, NAME)) }",
        "\"(2.0, 3, \\\"n\\\")\"",
    );
}

#[test]
fn failures_leave_variables_as_they_were() {
    let mut n = Notebook::new();
    n.run("let mut v = vec![1, 2, 3];").ok();
    for (cell, code, words) in [
        ("v.push(4);\nlet i = 10; v[i]", "panic", "index out of bounds"),
        ("v.push(4); std::process::exit(3);", "exit", "exit code 3"),
        (
            "v.push(4);\nfn deep(n: u64) -> u64 { if n == u64::MAX { 0 } else { 1 + deep(n + 1) } }\ndeep(0)",
            "stack-overflow",
            "stack",
        ),
        ("v.push(4); unsafe { *(8 as *mut i32) = 1; }", "segfault", "segmentation"),
        ("v.push(4); std::process::abort();", "abort", "aborted"),
        ("v.push(4); \"x\".parse::<i32>()?;", "error", "invalid digit"),
        ("v.push(4); Err(\"plain text\")?;", "error", "plain text"),
        ("v.push(4); let z = v.len() - 4; 1 / z", "panic", "divide by zero"),
        ("v.push(4); let big: i32 = 2147483647; big + v[0]", "panic", "overflow"),
    ] {
        let run = n.run(cell);
        let error = run.error();
        assert_eq!(error.code, code, "{cell}: {error:#?}");
        assert!(error.message.contains(words), "{cell}: {error:#?}");
        assert!(!error.notes.iter().any(|n| n.contains("lost")), "{cell}: {error:#?}");
        n.shows("v.len()", "3");
    }
    let run = n.run("let i = 10;\n\n    let y = v[i];");
    let span = &run.error().labels[0].span;
    assert_eq!((span.file.as_str(), span.line, span.column), ("cell_20.rs", 3, 14));
}

#[test]
fn an_endless_loop_is_interrupted_in_time() {
    let mut n = Notebook::new();
    n.run("let x = 7;").ok();
    let stop = n.executor.interrupter();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        stop.interrupt();
        Instant::now()
    });
    let run = n.run("let mut k = x; loop { k = std::hint::black_box(k + 1) % 1000; }");
    let waited = stopper.join().unwrap().elapsed();
    assert_eq!(run.error().code, "interrupted", "{run:#?}");
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    n.shows("x", "7");
}

#[test]
fn output_of_every_kind() {
    let mut n = Notebook::new();
    let run = n.run("for i in 0..200_000 { println!(\"line {i:>44}\"); }").ok();
    assert!(run.shown.len() > 1_900_000 && run.shown.len() < 2_200_000, "{}", run.shown.len());
    assert!(run.shown.contains("MB more"), "{}", &run.shown[run.shown.len() - 200..]);
    let run = n.run("use std::io::Write;\nstd::io::stdout().write_all(b\"a\\xffb\\n\")?;").ok();
    assert_eq!(run.shown, "a\\xFFb\n");
    let run = n.run("std::process::Command::new(\"echo\").arg(\"child\").status()?;").ok();
    assert_eq!(run.shown, "child\n");
    let run = n.run("println!(\"EVCXR_BEGIN_CONTENT text/html\\n<b>x</b>\\nEVCXR_END_CONTENT\");").ok();
    assert_eq!(run.results, ["[(\"text/html\", \"<b>x</b>\")]"]);
}

#[test]
fn variables_that_cannot_stay() {
    let mut n = Notebook::new();
    n.run("let v = vec![1, 2]; let w = vec![3];").ok();
    n.run("drop(v);").ok();
    let run = n.run("v.len()");
    assert!(run.error().message.contains("`v` was moved by cell 2"), "{:#?}", run.error());
    n.run("let made = 1; panic!();").error();
    let run = n.run("made + 1");
    assert_eq!(run.error().message, "`made` is made by cell 4, which failed");
    n.run("let made = 1;").ok();
    n.run("made + 1").ok();
    let run = n.run("let add = |x: i32| x + 1; let y = add(1);").ok();
    assert!(run.warnings.is_empty(), "{run:#?}");
    n.shows("y + add(2)", "5");
    let run = n.run("let first = &w[0]; println!(\"{first}\");").ok();
    assert_eq!(run.shown, "3\n");
    assert!(run.warnings.is_empty(), "{run:#?}");
    n.shows("w.len()", "1");
    let run = n.run("first");
    assert!(run.error().message.contains("borrowed"), "{:#?}", run.error());
}

#[test]
fn compile_errors_have_the_users_lines() {
    let mut n = Notebook::new();
    let run = n.run("let a = 1;\nlet b: String = a;");
    let error = run.error();
    assert_eq!(error.code, "E0308");
    let label = error.labels.iter().find(|l| l.primary).unwrap();
    assert_eq!((label.span.line, label.span.column, label.span.length), (2, 17, 1), "{error:#?}");
    let run = n.run("struct Q { a: i32 }\nlet q = Q { a: 1 }; q.b");
    assert_eq!(run.error().labels[0].span.line, 2, "{:#?}", run.error());
    for bad in ["let x = (1;", "let s = \"abc", "let x = ;", "fn f( {", "}"] {
        let run = n.run(bad);
        assert!(run.error().labels.iter().any(|l| l.span.line == 1), "{bad}: {:#?}", run.errors);
    }
}

#[test]
fn types_that_only_rustc_can_spell() {
    let mut n = Notebook::new();
    n.run("#[derive(Debug, Clone, PartialEq)]\nstruct Own(i32);\nlet d = chrono::NaiveDate::from_ymd_opt(2013, 1, 1); let f = arrow::datatypes::Field::new(\"a\", arrow::datatypes::DataType::Int32, true);").ok();
    n.shows("d.unwrap().to_string()", "\"2013-01-01\"");
    n.shows("f.name().clone()", "\"a\"");
    n.run("let pairs = vec![Own(1)].into_iter().zip(vec![(2, Own(3))]).peekable();").ok();
    n.shows("pairs.clone().count()", "1");
    n.run("use std::sync::atomic::AtomicUsize; let counter = AtomicUsize::new(3);").ok();
    n.shows("counter.into_inner()", "3");
}

#[test]
fn impls_for_types_of_earlier_cells() {
    let mut n = Notebook::new();
    n.run("#[derive(Debug)]\nstruct Dog { name: String }\nstatic BARKS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(5);\nfn barks() -> usize { BARKS.fetch_add(1, std::sync::atomic::Ordering::SeqCst) }").ok();
    n.run("let d = Dog { name: \"Rex\".into() }; barks();").ok();
    n.run("fn shout(d: &Dog) -> String { d.name.to_uppercase() }").ok();
    n.run("impl Dog {\n    fn bark(&self) -> String { format!(\"{} {}\", self.name, barks()) }\n    fn fail(&self) { let v: Vec<i32> = vec![]; let _ = v[self.name.len()]; }\n}\nd.bark()").ok();
    n.shows("(d.bark(), shout(&d))", "(\"Rex 7\", \"REX\")");
    n.run("use std::fmt;\nimpl fmt::Display for Dog { fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { write!(f, \"dog {}\", self.name) } }").ok();
    n.shows("d.to_string()", "\"dog Rex\"");
    n.run("trait Legs { fn legs(&self) -> u32; }\nimpl Legs for Dog { fn legs(&self) -> u32 { 4 } }").ok();
    n.run("impl Legs for i32 { fn legs(&self) -> u32 { *self as u32 } }").ok();
    n.shows("(d.legs(), 3.legs(), shout(&d))", "(4, 3, \"REX\")");
    let run = n.run("d.fail()");
    let span = &run.error().labels[0].span;
    assert_eq!((span.file.as_str(), span.line), ("cell_4.rs", 3), "{run:#?}");
    let run = n.run("impl Dog { fn bad(&self) -> i32 { self.nam } }");
    assert_eq!((run.error().code.as_str(), run.error().labels[0].span.column), ("E0609", 40), "{run:#?}");
    n.shows("d.legs()", "4");
}

#[test]
fn commands_and_input() {
    let mut n = Notebook::new();
    n.run("let mut total = 2.5;").ok();
    assert_eq!(n.run(":type total").ok().shown, "total: f64\n");
    assert!(n.run(":vars").ok().results[0].contains("total"), "no table");
    assert_eq!(n.run("!echo hello; echo oops >&2").ok().shown.replace("[oops\n]", ""), "hello\n");
    assert_eq!(n.run("!exit 3").error().code, "shell");
    assert_eq!(n.run(":vasr").error().help, ["did you mean `:vars`?"]);
    assert_eq!(n.run(":dep rand 1").error().code, "dep");
    n.shows("input(\"name? \")", "\"typed\"");
    n.shows("let mut line = String::new(); std::io::stdin().read_line(&mut line)?; line", "\"typed\\n\"");
    n.run(":clear").ok();
    assert!(n.run("total").error().message.contains("total"));
}

#[test]
fn a_notebook_that_ran_before_compiles_nothing() {
    let cells = ["struct Cached { a: i64 }\nlet c = Cached { a: 41 };", "c.a + 1"];
    let mut n = Notebook::new();
    n.run(":timing\nlet mut k = 10;").ok();
    n.run("k -= 5;\n\nlet part = 100 / k;").ok();
    let run = n.run("k -= 5;\n\nlet part = 100 / k;");
    assert!(run.shown.contains("found compiled"), "{run:#?}");
    let span = &run.error().labels[0].span;
    assert_eq!((span.file.as_str(), span.line, span.column), ("cell_3.rs", 3, 12), "{run:#?}");
    let mut times = Vec::new();
    for _ in 0..2 {
        let mut n = Notebook::new();
        n.run(":timing").ok();
        for cell in cells {
            times.push(n.run(cell).ok().shown);
        }
    }
    assert!(times[2].contains("found compiled") && times[3].contains("found compiled"), "{times:?}");
}

#[test]
fn a_lost_snapshot_is_reported_and_the_notebook_goes_on() {
    let mut n = Notebook::new();
    n.run("#[derive(Debug)] struct Kept(i32);\nlet x = 7;").ok();
    let run = n.run(
        "let me = std::process::id();\nstd::process::Command::new(\"pkill\").args([\"-9\", \"-P\", &me.to_string(), \"onrush-cell\"]).status()?;\nstd::process::abort();",
    );
    assert!(run.error().notes.iter().any(|note| note.contains("lost")), "{run:#?}");
    assert!(n.run("x").error().message.contains("`x` was lost"), "a variable that is gone");
    n.shows("Kept(3)", "Kept(3)");
}

#[test]
fn an_impl_is_corrected_by_running_its_cell_again() {
    let mut n = Notebook::new();
    n.run("#[derive(Debug, Clone, Copy)] struct V { x: f64 }\nlet v = V { x: 1.0 };").ok();
    n.run("impl V { fn len(&self) -> f64 { self.x } fn other(&self) -> i32 { 1 } }").ok();
    n.run("impl V { fn len(&self) -> f64 { self.x * 100.0 } }").ok();
    n.shows("(v.len(), v.other())", "(100.0, 1)");
    for name in ["A", "B"] {
        n.run(&format!("impl std::fmt::Display for V {{ fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {{ write!(f, \"{name}{{}}\", self.x) }} }}")).ok();
        n.shows("v.to_string()", &format!("\"{name}1\""));
    }
    n.run("impl std::ops::Mul<V> for f64 { type Output = V; fn mul(self, v: V) -> V { V { x: self * v.x } } }").ok();
    n.shows("2.0 * v", "V { x: 2.0 }");
    n.shows("std::marker::PhantomData::<V>", "PhantomData<V>");
    n.run("trait Animal { fn name(&self) -> String; }\nstruct Dog; impl Animal for Dog { fn name(&self) -> String { \"dog\".into() } }\nlet zoo: Vec<Box<dyn Animal>> = vec![Box::new(Dog)];").ok();
    n.run("trait Animal { fn name(&self) -> String; fn legs(&self) -> u32 { 4 } }").ok();
    n.run("impl Animal for Dog { fn name(&self) -> String { \"new\".into() } }").ok();
    n.shows("(Dog.legs(), Dog.name())", "(4, \"new\")");
}

#[test]
fn a_borrow_never_costs_a_variable() {
    let mut n = Notebook::new();
    n.run("let mut big = vec![1, 2, 3]; let m = std::sync::Mutex::new(1);").ok();
    for (cell, borrower) in [
        ("let g = m.lock().unwrap();", "g"),
        ("let r = &mut big; r.push(4);", "r"),
        ("let f = |a: i32| a + big[0]; f(1)", "f"),
        ("let mut add = |a: i32| big.push(a); add(1); big.len()", "add"),
    ] {
        let run = n.run(cell).ok();
        // One that its cell has used is explained when another cell wants it.
        let unused = run.warnings.iter().any(|w| w.message.starts_with(&format!("`{borrower}` borrows")));
        assert_eq!(unused, borrower == "g", "{run:#?}");
        let said = n.run(borrower).error().message.clone();
        assert!(said.starts_with(&format!("`{borrower}` ")) && said.contains("borrow"), "{cell}: {said}");
    }
    let run = n.run("let big = &big[..1];");
    assert_eq!(run.error().code, "borrowed-variable", "{run:#?}");
    assert_eq!(run.error().labels[0].span.column, 12, "{run:#?}");
    assert_eq!(n.run("let guard = m.lock().unwrap(); let guard = 5;").error().code, "borrowed-variable");
    n.shows("(big.len(), *m.lock().unwrap())", "(5, 1)");
    let run = n.run("let f = i32::abs; fn twice(n: i32) -> i32 { n * 2 } let g = twice;").ok();
    assert!(run.warnings.iter().all(|w| w.message.contains("is a function")), "{run:#?}");
    n.shows("twice(2)", "4");
}

#[test]
fn what_a_cell_ends_with() {
    let mut n = Notebook::new();
    n.run("let mut m = 5;").ok();
    assert_eq!(n.run("m += 5").ok().results, Vec::<String>::new());
    n.shows("m // a comment", "10");
    n.run("#[test] fn checks() { assert!(true) }").ok();
    assert!(n.run(";").ok().results.is_empty());
    let run = n.run("let y = m // the last line");
    assert_eq!(run.error().labels[0].span.column, 10, "{run:#?}");
    n.run("async fn later(n: i32) -> i32 { n + 1 }").ok();
    n.shows("let a = later(m).await; a", "11");
    n.run("let _t = 1;").ok();
    assert!(n.run("_t").error().message.contains("begins with `_`"));
    n.run("use arrow::array::*; use arrow::datatypes::*; let s = Schema::new(vec![Field::new(\"a\", DataType::Int32, true)]);").ok();
    n.shows("s.fields().len()", "1");
}

/// Functions, methods and closures of several cells, also where the compiler has put one into another.
#[test]
fn an_error_says_which_calls_led_there() {
    let mut notebook = Notebook::new();
    notebook.run("fn at(all: &[i32], nth: usize) -> i32 { all[nth] }").ok();
    notebook
        .run(
            "struct Three;\nimpl Three {\n    fn at(&self, nth: usize) -> i32 {\n        at(&[1, 2, 3], nth)\n    }\n}",
        )
        .ok();
    let run = notebook.run("let three = Three;\n[1usize, 7].iter().map(|nth| three.at(*nth)).sum::<i32>()");
    let place = |call: &onrush_wire::Call| (call.file.clone(), call.line, call.function.ends_with("{{closure}}"));
    let expected = [("cell_1.rs", 1, false), ("cell_2.rs", 4, false), ("cell_3.rs", 2, true), ("cell_3.rs", 2, false)];
    let expected = expected.map(|(file, line, closure)| (file.to_string(), Some(line), closure));
    assert_eq!(run.error().trace.iter().map(place).collect::<Vec<_>>(), expected, "{:#?}", run.error());
    assert_eq!(run.error().trace[0].function, "at");

    notebook.run("fn deep(n: u32) -> u32 {\n    if n == 0 { panic!(\"bottom\") }\n    1 + deep(n - 1)\n}").ok();
    let run = notebook.run("deep(500)");
    let lines: Vec<_> = run.error().trace.iter().map(|call| (call.file.as_str(), call.line)).collect();
    assert_eq!(lines, [("cell_4.rs", Some(2)), ("cell_4.rs", Some(3)), ("cell_5.rs", Some(1))]);

    // A panic that was caught before leaves nothing behind.
    let run =
        notebook.run("let caught = std::panic::catch_unwind(|| deep(3)).is_err();\nstd::fs::read(\"/nowhere\")?;");
    assert_eq!(run.error().trace, []);
}

#[test]
fn advice_that_rustc_cannot_give() {
    let mut n = Notebook::new();
    for (cell, code, help) in [
        ("x!(hour // 2 == 1)", "syntax", "(hour / 2).floor()"),
        ("let s = 'UA';", "syntax", "write \"UA\""),
        ("x = 5", "E0423", "let x = "),
        ("let v = HashMap::<i32, i32>::new();", "E0433", "use std::collections::HashMap;"),
        ("let v = \"5\".parse().unwrap();", "E0284", "explicit type"),
        ("let a = x!(a).abs()?;", "E0277", "leave out the `?`"),
    ] {
        let run = n.run(cell);
        assert_eq!(run.errors.len(), 1, "{cell}: {run:#?}");
        assert_eq!(run.error().code, code, "{cell}: {run:#?}");
        assert!(run.error().help.iter().any(|h| h.contains(help)), "{cell}: {run:#?}");
    }
}

#[test]
fn warnings_are_about_the_users_lines_and_come_again_from_the_cache() {
    for _ in 0..2 {
        let mut n = Notebook::new();
        let run = n.run("let unused = 5;\nfn endless(n: u64) -> u64 { endless(n) + 1 }\nOk::<i32, String>(1);").ok();
        let found: Vec<_> = run.warnings.iter().map(|w| (w.code.as_str(), w.labels[0].span.line)).collect();
        assert_eq!(found, [("unconditional_recursion", 2), ("unused_must_use", 3)], "{run:#?}");
        let run = n.run("\nfn endless(n: u64) -> u64 { endless(n) + 1 }").ok();
        let found: Vec<_> = run.warnings.iter().map(|w| (w.code.as_str(), w.labels[0].span.line)).collect();
        assert_eq!(found, [("unconditional_recursion", 2)], "of a function that stays where it is: {run:#?}");
        n.run("fn a() -> i32 { 1 }").ok();
        n.run("fn b() -> i32 { a() + 10 }").ok();
        assert!(n.run("fn a() -> i32 { 1 }").ok().warnings.is_empty());
        let run = n.run("fn a(n: i32) -> i32 { n }").ok();
        assert_eq!(run.warnings[0].message, "`b` (cell 4) still uses the earlier `a`");
    }
}

#[test]
fn outputs_never_wait_for_a_timer() {
    let mut n = Notebook::new();
    n.run("let x = 1;").ok();
    n.shows("x + 1", "2");
    // From memory, so that only the cell process and the messages take time.
    let start = Instant::now();
    for _ in 0..40 {
        n.shows("x + 1", "2");
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
