//! `:test`: the notebook's `#[test]` functions, compiled as one block of statements in which they are items, and run
//! one after another. Nothing of it stays.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::mpsc::Sender;

use onrush_wire::host::FinishedRun;
use onrush_wire::{Class, Diagnostic};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Attribute, Item, Stmt};

use super::{Executor, cell_file};
use crate::interface::Event;
use crate::parse::{is_for_tests, parse_cell, without_commands};
use crate::process::RunOutcome;

/// The lines of one item in the compiled text: the first, the last, its cell, its first line there.
type Lines = (u32, u32, u64, u32);

#[derive(Debug, Default)]
struct TestCrate {
    text: String,
    lines: Vec<Lines>,
    /// Code of the list of tests.
    tests: Vec<String>,
}

impl Executor {
    pub(super) fn test(&mut self, filter: &str, file: &str, events: &Sender<Event>) -> Result<(), Diagnostic> {
        let number = self.sources.get(file).map_or(0, |(number, _)| *number);
        let cells: Vec<(u64, &str)> = self.ran.iter().map(|ran| (ran.number, ran.code.as_str())).collect();
        let TestCrate { text, lines, tests } = collect(&cells, filter);
        if tests.is_empty() {
            let which = if filter.is_empty() { String::new() } else { format!(" whose name contains `{filter}`") };
            let message = format!("there is no test{which} in the cells that ran");
            return Err(Diagnostic::error(Class::Compile, "no-tests", message)
                .help("a test is a function without arguments: `#[test] fn adds() { assert_eq!(add(1, 2), 3) }`"));
        }
        let tests_file = format!("tests_{number}.rs");
        let places: String = lines
            .iter()
            .map(|(first, last, cell, start)| format!("({first}, {last}, \"{cell}\", {start}), "))
            .collect();
        let code =
            format!("{{ {text}\n::onrush::host::run_tests(&[{}], {tests_file:?}, &[{places}]); }};", tests.join(", "));
        let cell = parse_cell(&code);
        let count = self.used.entry(number).or_default();
        *count += 1;
        let crate_name = format!("onrush_cell_{number}_t{count}");
        let compiled = self.compiler.compile(&cell, &crate_name, &tests_file, &self.notebook, Vec::new());
        let ready = compiled.map_err(|diagnostics| {
            let first = diagnostics.into_iter().next();
            let mut diagnostic =
                first.unwrap_or_else(|| Diagnostic::error(Class::Compile, "tests", "no test compiles"));
            diagnostic.labels.retain_mut(|label| {
                let line = label.span.line;
                if label.span.file != tests_file {
                    return true;
                }
                let Some((first, _, cell, start)) = lines.iter().find(|(a, b, ..)| (*a..=*b).contains(&line)) else {
                    return false;
                };
                (label.span.file, label.span.line) = (cell_file(*cell), start + line - first);
                true
            });
            diagnostic.help.iter_mut().for_each(without_generated);
            diagnostic
        })?;
        self.process.know_pieces(&tests_file, &lines);
        match self.process.run(number, &ready.library, &ready.generated.entry, events) {
            RunOutcome::Ok(FinishedRun { released, published, .. }) => {
                self.of_tests.0.extend(released);
                self.of_tests.1.extend(published);
                Ok(())
            }
            RunOutcome::Failed { mut diagnostic, variables_lost } => {
                if variables_lost {
                    self.lose_variables(events);
                }
                diagnostic.labels.clear();
                Err(diagnostic)
            }
        }
    }
}

/// Leaves out the lines of a help that the user did not write: they have the text that makes a plain function of a
/// test.
fn without_generated(help: &mut String) {
    let Some((said, lines)) = help.split_once(":\n") else { return };
    if ["pub ", "crate::", "run_tests"].iter().any(|generated| lines.contains(generated)) {
        *help = said.to_string();
    }
}

/// The tests of these cells, the newest of each name.
fn collect(cells: &[(u64, &str)], filter: &str) -> TestCrate {
    let mut collected = TestCrate::default();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (number, code) in cells.iter().rev() {
        let code = without_commands(code);
        let parse = |input: syn::parse::ParseStream<'_>| -> syn::Result<Vec<Stmt>> {
            Attribute::parse_inner(input)?;
            syn::Block::parse_within(input)
        };
        let Ok(statements) = syn::parse::Parser::parse_str(parse, &code) else { continue };
        for statement in &statements {
            let Stmt::Item(item) = statement else { continue };
            let (attributes, name) = match item {
                Item::Fn(of) => (&of.attrs, of.sig.ident.to_string()),
                Item::Mod(of) => (&of.attrs, of.ident.to_string()),
                Item::Use(of) => (&of.attrs, String::new()),
                Item::Struct(of) => (&of.attrs, of.ident.to_string()),
                Item::Const(of) => (&of.attrs, of.ident.to_string()),
                _ => continue,
            };
            if attributes.iter().any(is_for_tests) && (name.is_empty() || known.insert(name)) {
                add(item, *number, &code, &mut collected, filter);
            }
        }
    }
    collected
}

/// Adds an item at the columns that it has in its cell, as a plain one.
fn add(item: &Item, number: u64, code: &str, collected: &mut TestCrate, filter: &str) {
    let range = item.span().byte_range();
    let mut text = code[range.clone()].to_string();
    let mut changes: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
    let mut tests = Vec::new();
    plain(item, "", &mut changes, &mut tests);
    if let Item::Mod(of) = item {
        // The block is in a function: what is around the module in its cell is the crate's root here.
        of.content.iter().flat_map(|(_, items)| items).filter(|item| !matches!(item, Item::Mod(_))).for_each(|item| {
            supers(item.to_token_stream(), &mut changes);
        });
    }
    changes.sort_by_key(|(range, _)| std::cmp::Reverse((range.start, range.end)));
    for (place, new) in changes {
        let place = place.start - range.start..place.end - range.start;
        let mut filled = new.to_string();
        // Removed text leaves blanks: lines and columns stay.
        filled.extend(text[place.clone()].chars().skip(new.len()).map(|c| if c == '\n' { c } else { ' ' }));
        text.replace_range(place, &filled);
    }
    let first = collected.text.matches('\n').count() as u32 + 2;
    let (line, column) = crate::lexer::position(code, range.start);
    let _ = write!(collected.text, "\n{:1$}{text}", "", column as usize - 1);
    collected.lines.push((first, first + text.matches('\n').count() as u32, number, line));
    collected.tests.extend(tests.into_iter().filter(|(name, _)| name.contains(filter)).map(|(_, code)| code));
}

/// The text that makes tests of an item plain functions, and the list of them.
fn plain(
    item: &Item,
    path: &str,
    changes: &mut Vec<(std::ops::Range<usize>, &'static str)>,
    tests: &mut Vec<(String, String)>,
) {
    let (attributes, visibility, start) = match item {
        Item::Fn(of) => (&of.attrs, &of.vis, start_of(&of.sig)),
        Item::Mod(of) => (&of.attrs, &of.vis, of.mod_token.span().byte_range().start),
        Item::Use(of) => (&of.attrs, &of.vis, of.use_token.span().byte_range().start),
        Item::Struct(of) => (&of.attrs, &of.vis, of.struct_token.span().byte_range().start),
        Item::Const(of) => (&of.attrs, &of.vis, of.const_token.span().byte_range().start),
        _ => return,
    };
    let of_a_test = |attribute: &&Attribute| {
        is_for_tests(attribute) || ["ignore", "should_panic"].iter().any(|name| attribute.path().is_ident(name))
    };
    changes.extend(attributes.iter().filter(of_a_test).map(|attribute| (attribute.span().byte_range(), "")));
    let is_called = match item {
        Item::Fn(of) if attributes.iter().any(|attribute| attribute.path().is_ident("test")) => {
            let name = format!("{path}{}", of.sig.ident);
            let find = |name: &str| attributes.iter().find(|attribute| attribute.path().is_ident(name));
            let panics = find("should_panic").map(|attribute| expected(attribute).unwrap_or_default());
            let code = format!(
                "::onrush::host::Test {{ name: {name:?}, ignored: {}, should_panic: {panics:?}, \
                 run: || ::onrush::host::Verdict::verdict({name}()) }}",
                find("ignore").is_some()
            );
            tests.push((name, code));
            true
        }
        Item::Mod(of) => {
            let path = format!("{path}{}::", of.ident);
            of.content.iter().flat_map(|(_, items)| items).for_each(|item| plain(item, &path, changes, tests));
            true
        }
        _ => false,
    };
    // The list of tests is outside of the module.
    if is_called && !path.is_empty() && matches!(visibility, syn::Visibility::Inherited) {
        let last = attributes.last().filter(of_a_test).map(|attribute| attribute.span().byte_range());
        match last.and_then(|last| changes.iter_mut().find(|(range, _)| *range == last)) {
            // In its place, so that all columns stay.
            Some((_, new)) => *new = "pub",
            None => changes.push((start..start, "pub ")),
        }
    }
}

fn start_of(signature: &syn::Signature) -> usize {
    signature.span().byte_range().start
}

/// `#[should_panic(expected = "…")]`, `#[should_panic = "…"]`.
fn expected(attribute: &Attribute) -> Option<String> {
    let text = |tokens: TokenStream| {
        tokens.into_iter().find_map(|token| match token {
            TokenTree::Literal(literal) => Some(syn::parse_str::<syn::LitStr>(&literal.to_string()).ok()?.value()),
            _ => None,
        })
    };
    text(attribute.meta.to_token_stream()).or_else(|| {
        let groups = attribute.meta.to_token_stream().into_iter();
        groups.filter_map(|token| if let TokenTree::Group(group) = token { text(group.stream()) } else { None }).next()
    })
}

/// `super` of the module itself becomes `crate`, which is as long.
fn supers(tokens: TokenStream, changes: &mut Vec<(std::ops::Range<usize>, &'static str)>) {
    let mut after_path = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(word) if word == "super" && !after_path => {
                changes.push((word.span().byte_range(), "crate"));
            }
            TokenTree::Group(group) if group.delimiter() != Delimiter::None => supers(group.stream(), changes),
            _ => {}
        }
        after_path = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ':');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_become_plain_functions_at_their_columns() {
        let code = "fn f() {}\n#[cfg(test)] mod tests {\n    use super::*;\n    #[test] fn a() {}\n    #[test] #[should_panic(expected = \"b\")] fn b() {}\n}";
        let collected = collect(&[(1, "#[test] fn c() { old }"), (2, code), (3, "#[test] fn c() { new }")], "");
        assert_eq!(collected.tests.len(), 3);
        assert!(collected.tests[1].contains("tests::a") && collected.tests[2].contains("Some(\"b\")"));
        let lines: Vec<&str> = collected.text.lines().collect();
        // Each item stands at its column in the cell.
        assert_eq!(lines[1], "        fn c() { new }");
        assert_eq!(lines[2], "             mod tests {");
        assert_eq!(lines[3], "    use crate::*;");
        assert_eq!(lines[4], "    pub     fn a() {}");
        assert_eq!(collected.lines, [(2, 2, 3, 1), (3, 7, 2, 2)]);
        let mut help = "import it:\n    pub     fn a() {}".to_string();
        without_generated(&mut help);
        assert_eq!(help, "import it");
    }
}
