//! The outside check of the corpus: rustc compiles all notebooks as one program, each a function. Its output must be
//! what the files expect. Rust's own meaning of the cells, without Onrush.
//!
//! A cell that fails is left out: it might as well never have been run. A cell that defines an item again opens a
//! block, in which the new one hides the old one. Notebooks about what a program has not (commands, `await` at the top
//! level) say `not a program` in their header.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Block, Item, Stmt, UseTree};

use super::format::{Cell, Notebook, difference};

const NOT_A_PROGRAM: &str = "not a program";
/// A program that takes longer waits for something.
const LONGEST: Duration = Duration::from_secs(60);

/// The beginning of the program: a value is shown as its `Debug` text, in lines if that is wide.
const HEAD: &str = r##"#![allow(warnings)]
pub fn __show<T: std::fmt::Debug + ?Sized>(value: &T) {
    if std::any::type_name::<T>() == "()" { return }
    let text = format!("{value:?}");
    let text = if text.chars().count() > 80 && !text.contains('\n') { format!("{value:#?}") } else { text };
    print!("\u{1}{text}\u{2}");
}
"##;

/// Values without their line breaks: Onrush fills lines, and `{:#?}` begins one for each field.
fn on_one_line(lines: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut in_value = false;
    for line in lines {
        let value = line.strip_prefix("//=");
        match (value, joined.last_mut()) {
            (Some(value), Some(last)) if in_value => last.push_str(value),
            _ => joined.push(line.clone()),
        }
        in_value = value.is_some();
    }
    let plain = |line: String| {
        let text: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        [",]", ",}", ",)"].iter().fold(text, |text, end| text.replace(end, &end[1..]))
    };
    joined.into_iter().map(plain).collect()
}

pub fn test(notebooks: &[(String, Notebook)]) {
    let programs: Vec<&(String, Notebook)> =
        notebooks.iter().filter(|(_, notebook)| !notebook.header.contains(NOT_A_PROGRAM)).collect();
    let mut source = HEAD.to_string();
    for (at, (name, notebook)) in programs.iter().enumerate() {
        let _ = write!(source, "mod notebook_{at} {{ // {name}\n{}}}\n", function(notebook));
    }
    source.push_str("fn main() {\n");
    for at in 0..programs.len() {
        let _ = writeln!(
            source,
            "print!(\"\\u{{4}}\"); if let Err(e) = notebook_{at}::run() {{ print!(\"\\u{{1}}{{e}}\\u{{2}}\") }}"
        );
    }
    source.push_str("}\n");
    let output = run(&source);
    let parts: Vec<&str> = output.split('\u{4}').skip(1).collect();
    let mut wrong = Vec::new();
    for (at, (name, notebook)) in programs.iter().enumerate() {
        let cells: Vec<&str> = parts.get(at).unwrap_or(&"").split('\u{3}').skip(1).collect();
        let kept = notebook.cells.iter().filter(|cell| !fails(cell));
        for (number, cell) in kept.enumerate() {
            let given = cells.get(number).map_or_else(Vec::new, |text| lines(text));
            let expected: Vec<String> =
                cell.expected.iter().filter(|l| l.starts_with("//>") || l.starts_with("//=")).cloned().collect();
            if let Some(difference) = difference(&on_one_line(&expected), &on_one_line(&given)) {
                wrong.push(format!("{name}: rustc gives otherwise for\n{}\n{difference}", cell.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Whether a cell is expected to end with an error.
fn fails(cell: &Cell) -> bool {
    cell.expected.iter().any(|line| line.starts_with("//! error"))
}

/// The output of the program, as lines of the corpus.
fn lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for piece in text.split_inclusive('\u{2}') {
        let (printed, shown) = match piece.strip_suffix('\u{2}').and_then(|piece| piece.split_once('\u{1}')) {
            Some((printed, shown)) => (printed, Some(shown)),
            None => (piece, None),
        };
        for line in printed.split_inclusive('\n') {
            lines.push(match line.strip_suffix('\n') {
                Some(line) => format!("//> {line}"),
                None => format!("//> {line}\\"),
            });
        }
        lines.extend(shown.into_iter().flat_map(|shown| shown.split('\n').map(|line| format!("//= {line}"))));
    }
    lines
}

/// A function whose statements are those of the cells.
fn function(notebook: &Notebook) -> String {
    let mut out = "use super::__show;\npub fn run() -> Result<(), Box<dyn std::error::Error>> {\n".to_string();
    let mut blocks = 0;
    let mut defined = BTreeSet::new();
    for cell in notebook.cells.iter().filter(|cell| !fails(cell)) {
        let parse = |input: ParseStream<'_>| -> syn::Result<Vec<Stmt>> {
            Attribute::parse_inner(input)?;
            Block::parse_within(input)
        };
        let statements = parse.parse_str(&cell.code).unwrap_or_else(|e| panic!("{e}: {}", cell.code));
        let names: Vec<String> = statements.iter().flat_map(names).collect();
        if names.iter().any(|name| defined.contains(name)) {
            out.push_str("{\n");
            blocks += 1;
        }
        defined.extend(names);
        out.push_str("print!(\"\\u{3}\");\n");
        for (at, statement) in statements.iter().enumerate() {
            let text = &cell.code[statement.span().byte_range()];
            let is_last = at + 1 == statements.len();
            let _ = match statement {
                Stmt::Expr(_, None) if is_last => writeln!(out, "__show(&({text}));"),
                Stmt::Macro(call) if is_last && call.semi_token.is_none() && !defines(&call.mac.tokens) => {
                    writeln!(out, "__show(&({text}));")
                }
                _ => writeln!(out, "{text}"),
            };
        }
    }
    out + "Ok(())\n" + &"}".repeat(blocks + 1) + "\n"
}

/// Whether a macro's tokens are those of `thread_local!`.
fn defines(tokens: &TokenStream) -> bool {
    tokens.to_string().starts_with("static ") || tokens.to_string().starts_with("pub static ")
}

/// The names of a statement that can be defined once in a block.
fn names(statement: &Stmt) -> Vec<String> {
    let Stmt::Item(item) = statement else { return Vec::new() };
    vec![match item {
        Item::Struct(i) => i.ident.to_string(),
        Item::Union(i) => i.ident.to_string(),
        Item::Enum(i) => i.ident.to_string(),
        Item::Fn(i) => i.sig.ident.to_string(),
        Item::Const(i) => i.ident.to_string(),
        Item::Static(i) => i.ident.to_string(),
        Item::Type(i) => i.ident.to_string(),
        Item::Mod(i) => i.ident.to_string(),
        Item::Trait(i) => i.ident.to_string(),
        Item::Use(i) => return imported(&i.tree),
        _ => return Vec::new(),
    }]
}

fn imported(tree: &UseTree) -> Vec<String> {
    match tree {
        UseTree::Path(path) => imported(&path.tree),
        UseTree::Group(group) => group.items.iter().flat_map(imported).collect(),
        UseTree::Name(name) => vec![name.ident.to_string()],
        UseTree::Rename(rename) => vec![rename.rename.to_string()],
        UseTree::Glob(_) => Vec::new(),
    }
}

fn run(source: &str) -> String {
    let folder = env::temp_dir().join(format!("onrush-program-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let (file, program) = (folder.join("notebooks.rs"), folder.join("notebooks"));
    fs::write(&file, source).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "-Cdebuginfo=0", "-Coverflow-checks=on", "--color=never", "-o"]).arg(&program);
    let compiled = rustc.arg(&file).stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("rustc: {e}"));
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "the notebooks are no program ({}):\n{errors}", file.display());
    let printed = folder.join("printed");
    let to = |name: &str| fs::File::create(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut command = Command::new(&program);
    command.stdin(Stdio::null()).stdout(to("printed")).stderr(to("errors"));
    let mut child = command.spawn().unwrap_or_else(|e| panic!("the program: {e}"));
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap_or_else(|e| panic!("{e}")) {
            Some(status) => break Some(status),
            None if start.elapsed() > LONGEST => break child.kill().map(|()| None).unwrap_or(None),
            None => std::thread::park_timeout(Duration::from_millis(10)),
        }
    };
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let output = read(&printed);
    let last = output.rsplit('\u{4}').next().unwrap_or_default();
    let place = format!("notebook {} of them: {last}", output.matches('\u{4}').count());
    assert!(status.is_some(), "the program does not end: it stands still in {place}");
    let success = status.is_some_and(|status| status.success());
    assert!(success, "the program failed in {place}\n{}", read(&folder.join("errors")));
    let _ = fs::remove_dir_all(&folder);
    output
}
