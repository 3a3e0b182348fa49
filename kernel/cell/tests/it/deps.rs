//! `:dep` through the real cargo, the real compiler and the real cell process, with local crates and no network. And
//! the crates of the registry that notebooks use most.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use onrush_cell::{Event, Outcome};

use crate::support::{LOCK, Notebook};

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A file that is the same keeps its time: nothing is built again.
        if fs::read_to_string(&path).ok().as_deref() != Some(*text) {
            fs::write(&path, text).unwrap();
        }
    }
}

/// A crate with a static, one without the standard library, one with a derive, and one that uses them all.
fn local_crates(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"1.2.3\"\nedition = \"2024\"\n[workspace]\n{rest}")
    };
    write(
        &folder,
        &[
            ("tally/Cargo.toml", &package("tally", "[features]\nloud = []\n")),
            (
                "tally/src/lib.rs",
                "use std::sync::atomic::{AtomicU32, Ordering};\nstatic COUNT: AtomicU32 = AtomicU32::new(0);\n\
                 pub fn tick() -> u32 { COUNT.fetch_add(1, Ordering::Relaxed) + 1 }\n\
                 #[cfg(feature = \"loud\")] pub fn shout() -> &'static str { \"TICK\" }\n\
                 mod hidden { #[derive(Debug, Clone, PartialEq)] pub struct Mark(pub u32); }\n\
                 pub use hidden::Mark;\npub fn mark() -> Mark { Mark(7) }\n",
            ),
            ("bare-metal/Cargo.toml", &package("bare-metal", "")),
            (
                "bare-metal/src/lib.rs",
                "#![no_std]\npub fn add<T: core::ops::Add<Output = T>>(a: T, b: T) -> T { a + b }\n",
            ),
            ("naming/Cargo.toml", &package("naming", "[lib]\nproc-macro = true\n")),
            (
                "naming/src/lib.rs",
                "use proc_macro::{TokenStream, TokenTree};\n#[proc_macro_derive(Named)]\n\
                 pub fn named(input: TokenStream) -> TokenStream {\n    let mut words = input.into_iter().skip_while(|t| \
                 !matches!(t, TokenTree::Ident(i) if i.to_string() == \"struct\"));\n    let name = \
                 words.nth(1).unwrap().to_string();\n    format!(\"impl ::everything::Named for {name} {{ fn name(&self) -> \
                 &'static str {{ {name:?} }} }}\").parse().unwrap()\n}\n\
                 #[proc_macro] pub fn forty_two(_: TokenStream) -> TokenStream { \"42\".parse().unwrap() }\n\
                 #[proc_macro_attribute] pub fn as_is(_: TokenStream, item: TokenStream) -> TokenStream { item }\n",
            ),
            (
                "everything/Cargo.toml",
                &package(
                    "everything",
                    "[dependencies]\ntally = { path = \"../tally\" }\nbare-metal = { path = \"../bare-metal\" }\n\
                     naming = { path = \"../naming\" }\n",
                ),
            ),
            (
                "everything/src/lib.rs",
                "pub use naming::{Named, as_is, forty_two};\npub trait Named { fn name(&self) -> &'static str; }\n\
                 pub fn tick() -> u32 { tally::tick() }\npub fn marks() -> Vec<tally::Mark> { vec![tally::mark()] }\n\
                 pub fn three() -> i32 { bare_metal::add(1, 2) }\n",
            ),
        ],
    );
    folder
}

#[test]
fn local_crates_are_there_once_for_all_cells() {
    let folder = local_crates("once");
    let mut n = Notebook::open(&folder, None);
    n.shows_last(":dep everything = { path = \"everything\" }\neverything::tick()", "1");
    // A crate of the graph that is asked for later is the same crate, and so is its static.
    let run = n
        .run(":dep tally = { path = \"tally\" }\n:dep metal = { package = \"bare-metal\", path = \"bare-metal\" }")
        .ok();
    assert!(run.texts[0].starts_with("metal 1.2.3, tally 1.2.3"), "{:?}", run.texts);
    n.shows_last("tally::tick()", "2");
    n.shows_last("everything::tick() + metal::add(10, 20)", "33");
    // Variables of a crate's types, of private modules and of crates that were not asked for.
    n.run("let m = tally::mark(); let v = everything::marks();").ok();
    n.shows_last("v[0] == m", "true");
    n.run("use everything::{Named, forty_two};\n#[derive(Named)]\nstruct Thing;\n#[everything::as_is]\nfn f() -> i32 { forty_two!() }").ok();
    n.shows_last("(Thing.name(), f(), everything::three())", "(\"Thing\", 42, 3)");
    let list = n.run(":dep").ok().texts.concat();
    assert!(list.contains("tally       1.2.3"), "{list}");
}

#[test]
fn a_type_of_a_crate_that_was_not_asked_for_has_a_name() {
    let folder = local_crates("indirect");
    let mut n = Notebook::open(&folder, None);
    n.run(":dep everything = { path = \"everything\" }\nlet v = everything::marks();").ok();
    n.shows_last("v.len()", "1");
    assert_eq!(n.executor.variables()[0].type_name, "Vec<Mark>");
}

#[test]
fn features_come_together_and_old_values_go() {
    let folder = local_crates("features");
    let mut n = Notebook::open(&folder, None);
    n.run(":dep tally = { path = \"tally\" }\nlet m = tally::mark(); let kept = 5;").ok();
    assert!(n.run("tally::shout()").error().message.contains("shout"));
    let run = n.run(":dep tally = { features = [\"loud\"] }").ok();
    assert!(run.warnings.iter().any(|warning| warning.message.contains("`m` went")), "{run:#?}");
    n.shows_last("tally::shout()", "\"TICK\"");
    n.shows_last("kept", "5");
    let error = n.run("m");
    assert!(format!("{:?}", error.error()).contains("earlier build of `tally`"), "{error:#?}");
}

#[test]
fn a_local_crate_can_be_edited() {
    let folder = local_crates("edited");
    let library = folder.join("tally/src/lib.rs");
    let before = fs::read_to_string(&library).unwrap();
    let mut n = Notebook::open(&folder, None);
    n.shows_last(":dep tally = { path = \"tally\" }\ntally::mark()", "Mark(7)");
    fs::write(&library, before.replace("Mark(7)", "Mark(8)")).unwrap();
    n.shows_last(":dep tally = { path = \"tally\" }\ntally::mark()", "Mark(8)");
    // A build error is the crate's own.
    fs::write(&library, before.replace("Mark(7)", "Mark(nothing)")).unwrap();
    let run = n.run(":dep tally = { path = \"tally\" }");
    assert_eq!(run.error().message, "the crate `tally` does not compile");
    assert!(run.error().notes.concat().contains("cannot find value `nothing`"), "{run:#?}");
    fs::write(&library, &before).unwrap();
    n.shows_last("tally::mark()", "Mark(8)");
}

#[test]
fn what_cargo_refuses_is_said_in_its_words() {
    let folder = local_crates("refused");
    let mut n = Notebook::open(&folder, None);
    let run = n.run("let x = 1;\n:dep tally = { path = \"nowhere\" }");
    assert!(run.error().notes.concat().contains("nowhere"), "{run:#?}");
    assert_eq!(run.error().labels[0].span.line, 2);
    let run = n.run(":dep tally = { path = \"tally\", features = [\"quiet\"] }");
    assert_eq!(run.error().message, "a feature that was asked for does not exist");
    assert!(run.error().notes.concat().contains("quiet"), "{run:#?}");
    let run = n.run(":dep tally 1.0");
    assert_eq!(run.error().message, "`=` was expected after `tally`, found `1.0`");
    // Nothing of this stays.
    assert_eq!(n.run(":dep").ok().texts, ["no crates yet: `:dep regex`, `:dep rand = \"0.9\"`\n"]);
    n.run("1 + 1").ok();
}

#[test]
fn crates_of_the_registry() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("registry");
    fs::create_dir_all(&folder).unwrap();
    let deps = ":dep serde_json = \"1\"\n:dep rayon = \"1\"\n:dep regex = \"1\"\n";
    let mut n = Notebook::open(&folder, None);
    let first = n.run(&format!("{deps}let word = regex::Regex::new(r\"(\\w+)@\")?;")).ok();
    let lock = &first.locks[0];
    assert!(lock.contains("regex-automata") && lock.contains("checksum"), "{lock}");
    // The prelude's derives are those that the registry's crates know.
    n.run("#[derive(Serialize, Deserialize, Debug, PartialEq)]\nstruct Mail { to: String, copies: Vec<u8> }").ok();
    n.shows_last(
        "serde_json::to_string(&Mail { to: \"a\".into(), copies: vec![1] })?",
        "\"{\\\"to\\\":\\\"a\\\",\\\"copies\\\":[1]}\"",
    );
    n.shows_last("serde_json::from_str::<Mail>(\"{\\\"to\\\":\\\"b\\\",\\\"copies\\\":[]}\")?.to", "\"b\"");
    n.shows_last("&word.captures(\"to ann@x\").unwrap()[1]", "\"ann\"");
    n.run("use rayon::prelude::*;\nlet mut v: Vec<u64> = (0..10_000).into_par_iter().map(|x| x * x % 1009).collect();")
        .ok();
    // Rayon's pool is there again after a cell failed: the snapshot that goes on has none of its threads.
    let failed = n.run("v.par_sort(); panic!(\"no\")");
    assert!(failed.error().message.contains("no"), "{failed:#?}");
    n.shows_last("v.par_sort_unstable(); v.par_iter().max().copied()", "Some(1008)");

    // Another notebook, with the versions of the first in its file: no cargo, and the same versions.
    let file = folder.join("locked.ipynb");
    let data: serde_json::Value = serde_json::from_str(lock).unwrap();
    let cell = serde_json::json!({ "cell_type": "code", "outputs": [{ "data": { LOCK: data } }] });
    fs::write(&file, serde_json::json!({ "cells": [cell], "metadata": {} }).to_string()).unwrap();
    let mut other = Notebook::open(&folder, Some(file));
    let run = other.run(deps).ok();
    assert_eq!((&run.locks[0], run.working.len()), (lock, 0));

    let run = n.run(":dep serde_jsn = \"1\"");
    assert_eq!(run.error().message, "there is no crate `serde_jsn`");
    assert!(run.error().notes.concat().contains("no matching package named `serde_jsn` found"), "{run:#?}");
}

#[test]
fn an_exported_notebook_is_a_program() {
    let folder = local_crates("exported");
    let mut n = Notebook::open(&folder, None);
    n.run(":dep tally = { path = \"tally\" }\nlet mut v = vec![1u32, 2];\nfn twice(n: u32) -> u32 { n * 3 }").ok();
    n.run("fn twice(n: u32) -> u32 { n * 2 }").ok();
    n.run("v.push(\"40\".parse::<u32>()?);\nv.iter().sum::<u32>()").ok();
    assert!(!n.run("v.clear(); panic!(\"not this one\")").errors.is_empty());
    n.run("println!(\"{}\", twice(tally::tick())); tally::mark()").ok();
    // A path of the notebook is the program's too.
    n.run("std::fs::read_to_string(\"tally/Cargo.toml\")?.lines().next().map(str::to_string)").ok();
    let program = folder.join("program");
    let _ = fs::remove_dir_all(&program);
    n.run(":export crate program").ok();
    let target = folder.join("program-target");
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline"]).current_dir(&program).env("CARGO_TARGET_DIR", target);
    let output = cargo.env_remove("RUSTFLAGS").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // 1 + 2 + 40, and two times the first tick.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "43\n2\nMark(7)\nSome(\"[package]\")\n", "{said}");
    // Written again it replaces itself; a folder with something else in it is left alone.
    n.run(":export crate program").ok();
    assert_eq!(n.run(":export crate tally").error().code, "export");
}

/// Runs a program that must succeed, and gives the first line that it prints.
fn said_by(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = std::process::Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_string()
}

#[test]
fn crates_of_git_are_those_that_the_notebook_was_saved_with() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("git");
    // Cargo remembers a repository by its address: each run has its own.
    let name = format!("repository-{}", std::process::id());
    let repository = folder.join(&name);
    let manifest = "[package]\nname = \"greeting\"\nversion = \"0.3.0\"\nedition = \"2024\"\n";
    let library = |word: &str| format!("pub fn greet() -> &'static str {{ \"{word}\" }}\n");
    let git = |arguments: &[&str]| {
        let mut all = vec!["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"];
        all.extend(arguments);
        said_by("git", &all, &repository)
    };
    let commit = |word: &str| {
        write(&repository, &[("Cargo.toml", manifest), ("src/lib.rs", &library(word))]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", word]);
        git(&["rev-parse", "HEAD"])
    };
    fs::create_dir_all(&repository).unwrap();
    git(&["init", "--quiet", "--initial-branch=trunk"]);
    let first = commit("hello");
    git(&["tag", "v1"]);
    let second = commit("good day");

    let dep = format!(":dep greeting = {{ git = \"file://{}\" }}", repository.display());
    let mut n = Notebook::open(&folder, None);
    let run = n.run(&format!("{dep}\ngreeting::greet()")).ok();
    assert_eq!(run.texts.last().map(String::as_str), Some("\"good day\""));
    assert!(run.locks[0].contains(&second), "the lock names the commit: {}", run.locks[0]);
    // By tag, and by commit.
    n.shows_last(&format!("{}, tag = \"v1\" }}\ngreeting::greet()", dep.trim_end_matches(" }")), "\"hello\"");
    let by_commit = format!("{}, rev = \"{second}\" }}", dep.trim_end_matches(" }"));
    n.shows_last(&format!("{by_commit}\ngreeting::greet()"), "\"good day\"");
    assert!(!first.is_empty() && n.run(":dep").ok().texts.concat().contains(&name));

    // A notebook that was saved then gets what it had, also where nothing of it is built yet.
    commit("good night");
    let file = folder.join("saved.ipynb");
    let data: serde_json::Value = serde_json::from_str(&run.locks[0]).unwrap();
    fs::write(&file, serde_json::json!({ "cells": [], "metadata": { "onrush": data } }).to_string()).unwrap();
    let mut saved = Notebook::open(&folder, Some(file));
    saved.shows_last(
        &format!("{}, default-features = false }}\ngreeting::greet()", dep.trim_end_matches(" }")),
        "\"good day\"",
    );
    let run = n.run(":dep none = { git = \"file:///nowhere/at/all\" }");
    assert!(run.error().notes.concat().contains("/nowhere/at/all"), "{run:#?}");
    fs::remove_dir_all(&repository).unwrap();
}

#[test]
fn crates_with_c_code() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native");
    let build = |objects: &str, library: &str| {
        format!(
            "use std::process::Command;\nfn main() {{\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
             let run = |c: &mut Command| assert!(c.status().unwrap().success());\n    let mut all = Vec::new();\n    \
             for name in [{objects}] {{\n        let object = format!(\"{{out}}/{{name}}.o\");\n        \
             run(Command::new(\"cc\").args([\"-c\", \"-fPIC\", \"-fvisibility=hidden\", \"-o\", &object, &format!(\"{{name}}.c\")]));\n        \
             all.push(object);\n    }}\n    run(Command::new(\"ar\").arg(\"crs\").arg(format!(\"{{out}}/lib{library}.a\"))\
             .args(&all));\n    println!(\"cargo::rustc-link-search=native={{out}}\");\n    \
             println!(\"cargo::rustc-link-lib=static={library}\");\n}}\n"
        )
    };
    let manifest =
        |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n");
    write(
        &folder,
        &[
            ("sums/Cargo.toml", &manifest("sums")),
            ("sums/build.rs", &build("\"sum\", \"count\"", "sums_of_c")),
            ("sums/count.c", "static int calls;\nint counted(void) { return ++calls; }\n"),
            ("sums/sum.c", "extern int counted(void);\nlong sum(long a, long b) { counted(); return a + b; }\n"),
            (
                "sums/src/lib.rs",
                // The generic function is compiled in the cell: it must find the function of C from there.
                "use std::ffi::{c_int, c_long};\nunsafe extern \"C\" { fn sum(a: c_long, b: c_long) -> c_long; fn counted() -> c_int; }\n\
                 pub fn add(a: i64, b: i64) -> i64 { unsafe { sum(a, b) } }\n\
                 pub fn add_any<T: Into<i64>>(a: T, b: T) -> i64 { unsafe { sum(a.into(), b.into()) } }\n\
                 pub fn calls() -> i32 { unsafe { counted() } }\n",
            ),
            // Both objects have `value`: taken whole, the library cannot be linked. If one is enough, it can.
            ("twins/Cargo.toml", &manifest("twins")),
            ("twins/build.rs", &build("\"one\", \"two\"", "twins_of_c")),
            ("twins/one.c", "int value(void) { return 41; }\n"),
            ("twins/two.c", "int value(void) { return 42; }\nint other(void) { return 43; }\n"),
            (
                "twins/src/lib.rs",
                "unsafe extern \"C\" { fn value() -> i32; }\npub fn get() -> i32 { unsafe { value() } }\n",
            ),
        ],
    );
    let mut n = Notebook::open(&folder, None);
    n.shows_last(":dep sums = { path = \"sums\" }\nsums::add(40, 2)", "42");
    n.shows_last("sums::add_any(1i32, 2i32)", "3");
    n.shows_last("sums::calls()", "3");
    let run = n.run(":dep twins = { path = \"twins\" }").ok();
    assert!(run.texts.concat().contains("`twins` cannot be a shared library"), "{run:#?}");
    n.shows_last("let got = twins::get(); got", "41");
    n.shows_last("(got, twins::get(), sums::add(1, 1))", "(41, 41, 2)");
}

/// Takes the lock of a target folder, as the build of another notebook does.
fn taken(lock: &Path, notebook: &str) -> fs::File {
    let file = fs::File::options().create(true).truncate(false).write(true).open(lock).unwrap();
    file.lock().unwrap();
    fs::write(lock, notebook).unwrap();
    file
}

#[test]
fn a_small_build_does_not_wait_for_a_large_one() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pool");
    let _ = fs::remove_dir_all(&folder);
    let manifest = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    for name in ["one", "two", "three"] {
        write(
            &folder,
            &[
                (&format!("{name}/Cargo.toml"), &manifest(name)),
                (&format!("{name}/src/lib.rs"), "pub struct Point(pub i32); pub fn origin() -> Point { Point(0) }"),
            ],
        );
    }
    // Locks of this test alone.
    let cache = folder.join("cache");
    fs::create_dir_all(&cache).unwrap();
    std::os::unix::fs::symlink(onrush_wire::paths::cache_dir().join("kit"), cache.join("kit")).unwrap();
    let mut n = Notebook::open_with_cache(&folder, None, Some(cache.clone()));
    let first = n.run(":dep one = { path = \"one\" }\nlet point = one::origin();").ok();
    assert!(first.worked[0].starts_with("1 crate built in ") && !first.worked[0].contains("waiting"), "{first:#?}");
    let locks: Vec<PathBuf> = fs::read_dir(cache.join("deps/locks")).unwrap().map(|e| e.unwrap().path()).collect();
    let mut pool: Vec<PathBuf> = locks.into_iter().filter(|lock| lock.to_string_lossy().contains("target-")).collect();
    pool.sort();
    assert_eq!(pool.len(), 3, "{pool:?}");

    // Another notebook builds in the first folder: the next one is taken.
    let large = taken(&pool[0], "large.ipynb");
    let begun = Instant::now();
    let run = n.run(":dep two = { path = \"two\" }").ok();
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(run.worked[0].starts_with("2 crates built in "), "{run:#?}");
    // The crate of the first folder is the same in the second: a value of its type lives on.
    assert!(run.warnings.is_empty(), "{run:#?}");
    n.shows_last("point.0 + one::origin().0", "0");

    // All folders are taken: the build waits for them, and says for whom.
    let others: Vec<fs::File> = pool[1..].iter().map(|lock| taken(lock, "other.ipynb")).collect();
    let mut held = Some((large, others));
    let (events, receiver) = channel();
    let runner = std::thread::spawn(move || n.executor.execute(n.next, ":dep three = { path = \"three\" }", &events));
    let mut said = Vec::new();
    for event in receiver {
        match event {
            Event::Working { what, .. }
                if what.starts_with("waiting for the build of ") && what.ends_with(".ipynb") =>
            {
                held = None;
                said.push(what);
            }
            Event::Worked(line) => said.push(line),
            _ => {}
        }
    }
    assert!(matches!(runner.join().unwrap(), Outcome::Ok { .. }), "{said:?}");
    assert!(held.is_none() && said.len() == 2 && said[1].starts_with("3 crates built in "), "{said:?}");
}

#[test]
fn an_interrupt_stops_cargo() {
    let folder = local_crates("interrupted");
    write(
        &folder,
        &[
            ("slow/Cargo.toml", "[package]\nname = \"slow\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n"),
            ("slow/src/lib.rs", ""),
            // Its child holds the same outputs and is in another process group.
            (
                "slow/build.rs",
                "fn main() { std::process::Command::new(\"setsid\").args([\"sleep\", \"30\"]).spawn().unwrap(); \
                 std::thread::sleep(std::time::Duration::from_secs(120)); }\n",
            ),
        ],
    );
    let mut n = Notebook::open(&folder, None);
    n.run("let kept = 1;").ok();
    let interrupter = n.executor.interrupter();
    let (events, receiver) = channel();
    let watcher = std::thread::spawn(move || {
        let mut interrupted = None;
        for event in receiver {
            if matches!(&event, Event::Working { what, .. } if what.starts_with("compiling slow")) {
                interrupted.get_or_insert_with(Instant::now);
                interrupter.interrupt();
            }
        }
        interrupted
    });
    let outcome = n.executor.execute(n.next, ":dep slow = { path = \"slow\" }", &events);
    n.next += 1;
    let ended = Instant::now();
    drop(events);
    let interrupted = watcher.join().unwrap().expect("it was interrupted");
    let Outcome::Failed { diagnostics, .. } = outcome else { panic!("it was not stopped") };
    assert_eq!(diagnostics[0].code, "interrupted");
    // A fifth of a second on a calm machine.
    assert!(ended - interrupted < Duration::from_secs(1), "{:?}", ended - interrupted);
    n.shows_last("kept", "1");
    assert_eq!(n.run(":dep").ok().texts, ["no crates yet: `:dep regex`, `:dep rand = \"0.9\"`\n"]);
}
