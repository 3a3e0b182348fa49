//! Generates `main.rs` of an exported notebook from the sources of its cells.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proc_macro2::{TokenStream, TokenTree};

use crate::commands::{CellParts, Command, CommandKind};
use crate::generate::copies;
use crate::index;
use crate::parse::{Cell, ItemKind, ItemPart, PartKind, UseLeaf, parse_cell};

/// A successful cell: its number, and its code without commands.
#[derive(Clone, Debug)]
pub struct Ran {
    pub number: u64,
    pub code: String,
    /// The source as the user wrote it.
    pub text: String,
    /// The parts that a program leaves out: shell commands and displayed text.
    pub left_out: Vec<String>,
}

/// A part that an export leaves out, in words for the reader.
pub fn left_out(cell: &CellParts) -> Vec<String> {
    let shell = |command: &Command| match &command.kind {
        CommandKind::Shell(line) => Some(format!("!{}", line.trim())),
        _ => None,
    };
    let commands = cell.before.iter().chain(&cell.after).filter_map(shell);
    let shown = cell.shown.as_ref().map(|(mime, _)| format!("%%{}", mime.trim_start_matches("text/")));
    let python = cell.python.as_ref().map(|_| "%%python".to_string());
    commands.chain(shown).chain(python).collect()
}

pub struct MainFile {
    pub text: String,
    pub uses_prelude: bool,
    /// Notes for the reader, by cell.
    pub notes: Vec<String>,
}

/// Exports of the prelude in addition to the functions and types that completion knows.
const PRELUDE: [&str; 16] = [
    "Serialize",
    "Deserialize",
    "serde",
    "chrono",
    "arrow",
    "RecordBatch",
    "DateTime",
    "NaiveDate",
    "NaiveDateTime",
    "NaiveTime",
    "TimeDelta",
    "Utc",
    "DataType",
    "TimeUnit",
    "Schema",
    "show",
];

/// Displays values without the prelude: `Debug`, else `Display`, else nothing.
const SHOW: &str = r#"
/// Prints the value of a cell's last expression, as a notebook displays it.
macro_rules! show {
    ($($value:expr),+ $(,)?) => {{
        $(match &$value {
            value => {
                #[allow(unused_imports)]
                use shown::{ViaDebug as _, ViaDisplay as _, ViaNothing as _};
                (&&&shown::ShownValue(value)).show();
            }
        })+
    }};
}
use show;

mod shown {
    use std::fmt::{Debug, Display};

    pub struct ShownValue<'a, T: ?Sized>(pub &'a T);

    pub trait ViaDebug {
        fn show(&self);
    }

    impl<T: Debug + ?Sized> ViaDebug for &&ShownValue<'_, T> {
        fn show(&self) {
            if std::any::type_name::<T>() != "()" {
                println!("{:?}", self.0);
            }
        }
    }

    pub trait ViaDisplay {
        fn show(&self);
    }

    impl<T: Display + ?Sized> ViaDisplay for &ShownValue<'_, T> {
        fn show(&self) {
            println!("{}", self.0);
        }
    }

    pub trait ViaNothing {
        fn show(&self);
    }

    impl<T: ?Sized> ViaNothing for ShownValue<'_, T> {
        fn show(&self) {}
    }
}
"#;

/// An item of a cell, and the key by which a later one replaces it.
struct Item<'a> {
    number: u64,
    text: &'a str,
    keys: BTreeSet<String>,
    is_macro: bool,
}

/// `to_notebook`: the path from the project's folder to the notebook's, to which paths in cells are relative.
pub fn main_file(cells: &[Ran], to_notebook: Option<&str>) -> MainFile {
    let mut notes = Vec::new();
    let cells: Vec<(&Ran, Cell)> = newest(cells).map(|ran| (ran, parse_cell(&ran.code))).collect();
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut uses: Vec<&UseLeaf> = Vec::new();
    let mut body = String::new();
    let (mut awaits, mut shows) = (false, false);
    let mut variables: BTreeSet<&str> = BTreeSet::new();
    for (Ran { number, left_out, .. }, cell) in &cells {
        for what in left_out {
            notes.push(format!("`{what}` of In [{number}] is not in the program"));
            let _ = write!(body, "\n    // In [{number}] also had `{what}`, which is not Rust.\n");
        }
        if let Some(error) = &cell.error {
            notes.push(format!("In [{number}] is left out: {error}"));
            continue;
        }
        let mut statements = String::new();
        for part in &cell.parts {
            let text = &cell.code[part.range.clone()];
            match &part.kind {
                PartKind::Item(ItemPart { kind: ItemKind::Use(leaves), .. }) => {
                    for leaf in leaves {
                        uses.retain(|old| *old != leaf && (!leaf.has_name() || old.name != leaf.name));
                        uses.push(leaf);
                    }
                }
                PartKind::Item(item) => {
                    let keys = keys(item, text);
                    // A redefinition replaces the earlier item.
                    items.retain(|old| old.keys.is_empty() || !old.keys.is_subset(&keys));
                    if let Some(old) = items.iter().find(|old| old.keys.intersection(&keys).next().is_some()) {
                        let again = format!(
                            "an `impl` of In [{number}] defines some of what one of In [{}] defines",
                            old.number
                        );
                        notes.push(format!("{again}: take one of them out"));
                    }
                    items.push(Item { number: *number, text, keys, is_macro: matches!(item.kind, ItemKind::Macro(_)) });
                }
                kind => {
                    awaits |= part.mentions.contains("await");
                    // A query names variables in a string; in a notebook the session resolves them.
                    if part.mentions.contains("sql") {
                        for name in variables.iter().filter(|name| has_word(text, name)) {
                            let _ = writeln!(statements, "    onrush::__bind!({name:?}, &{name});");
                        }
                    }
                    let before = variables.clone();
                    if let PartKind::Let { names, .. } = kind {
                        variables.extend(names.iter().map(|binding| binding.name.as_str()));
                    }
                    let text = with_copies(text, &before);
                    let text = text.trim_end().trim_end_matches(';');
                    match kind {
                        PartKind::Show => {
                            shows = true;
                            let _ = writeln!(statements, "    show!({text});");
                        }
                        _ => {
                            let _ = writeln!(statements, "    {text};");
                        }
                    }
                }
            }
        }
        if !statements.is_empty() {
            let _ = write!(body, "\n    // In [{number}]\n{statements}");
        }
    }
    if cells.iter().all(|(_, cell)| cell.parts.is_empty()) {
        return MainFile { text: String::new(), uses_prelude: false, notes };
    }
    let own: BTreeSet<&str> = items.iter().flat_map(|item| item.keys.iter().map(String::as_str)).collect();
    let text_of_items = items.iter().map(|item| item.text);
    let mentions_prelude = uses.iter().any(|leaf| matches!(leaf.first(), "arrow" | "chrono" | "serde" | "onrush"))
        || text_of_items.chain([body.as_str()]).any(|text| {
            // Outside of the prelude a body that does not parse alone would display nothing.
            text.parse::<TokenStream>().is_ok_and(|tokens| names_prelude(tokens, &own))
        });
    let uses_prelude = mentions_prelude || awaits;

    let mut text = String::from("//! A notebook as a program.\n#![allow(unused, nonstandard_style)]\n\n");
    if uses_prelude {
        text.push_str("use onrush::prelude::*;\n");
    }
    let _ = uses
        .iter()
        .try_for_each(|leaf| writeln!(text, "use {};", if uses_prelude { leaf.code() } else { leaf.plain_code() }));
    if uses_prelude && shows {
        text.push_str("use onrush::show;\n");
    } else if shows {
        text.push_str(SHOW);
    }
    // A macro is in scope from its definition on.
    items.sort_by_key(|item| !item.is_macro);
    for item in &items {
        let _ = write!(text, "\n// In [{}]\n{}\n", item.number, item.text);
    }
    text.push_str("\nfn main() -> Result<(), Box<dyn std::error::Error>> {\n");
    if let Some(way) = to_notebook {
        let _ = write!(
            text,
            "    // Paths start from the notebook's folder.\n    \
             std::env::set_current_dir(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{way}\"))?;\n\n"
        );
    }
    if awaits {
        text.push_str("    onrush::host::block_on(async {\n");
    }
    text.push_str(body.trim_start_matches('\n'));
    text.push_str("    Ok(())\n");
    if awaits {
        text.push_str("    })\n");
    }
    text.push_str("}\n");
    MainFile { text, uses_prelude, notes }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|other| other == word)
}

/// The code of a cell, or its whole source if it has no code.
fn what(ran: &Ran) -> &str {
    if ran.code.trim().is_empty() { ran.text.trim() } else { ran.code.trim() }
}

/// A cell that ran several times unchanged counts once.
fn newest(cells: &[Ran]) -> impl Iterator<Item = &Ran> {
    let mut seen = BTreeMap::new();
    for (at, ran) in cells.iter().enumerate() {
        seen.entry(what(ran)).or_insert(at);
    }
    let is_first = move |(at, ran): &(usize, &Ran)| seen.get(what(ran)) == Some(at);
    cells.iter().enumerate().filter(is_first).map(|(_, ran)| ran)
}

/// The name that an item defines. Empty: nothing replaces the item.
fn keys(item: &ItemPart, text: &str) -> BTreeSet<String> {
    match &item.kind {
        ItemKind::Named(name) | ItemKind::Trait(name) => BTreeSet::from([name.clone()]),
        ItemKind::Macro(name) => BTreeSet::from([format!("{name}!")]),
        ItemKind::Statics(names) => names.iter().cloned().collect(),
        ItemKind::Impl { methods, .. } => {
            // Without its body: `impl Named for Point`.
            let header: String =
                text.split('{').next().unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ");
            if header.contains(" for ") {
                BTreeSet::from([header])
            } else {
                methods.iter().map(|method| format!("{header}::{method}")).collect()
            }
        }
        _ => BTreeSet::new(),
    }
}

/// Copies the variables of `interact!` in a program as a cell does.
fn with_copies(text: &str, known: &BTreeSet<&str>) -> String {
    let mut text = text.to_string();
    for (at, names) in copies(&text.clone(), known).into_iter().rev() {
        text.insert_str(at, &names);
    }
    text
}

/// Whether code calls a function or a macro of the prelude, or names one of its types.
fn names_prelude(tokens: TokenStream, own: &BTreeSet<&str>) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, c: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == c);
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => names_prelude(group.stream(), own),
        TokenTree::Ident(ident) => {
            let name = ident.to_string();
            if at > 0 && (is(at - 1, '.') || is(at - 1, ':')) || own.contains(name.as_str()) {
                return false;
            }
            let is_macro = is(at + 1, '!') && !is(at + 2, '=');
            let is_call = matches!(tokens.get(at + 1), Some(TokenTree::Group(_)));
            let is_type = name.starts_with(char::is_uppercase) || is(at + 1, ':') && is(at + 2, ':');
            let known = || {
                !index::prelude().at(&format!("onrush::prelude::{name}")).is_empty() || PRELUDE.contains(&name.as_str())
            };
            // The generated source calls `show!` in any case.
            name != "show" && !own.contains(format!("{name}!").as_str()) && (is_macro || is_call || is_type) && known()
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(cells: &[&str]) -> MainFile {
        let ran = |(i, code): (usize, &&str)| {
            let text = code.to_string();
            let separated = crate::commands::separate(&text, "cell", &|_| false).unwrap();
            let left_out = left_out(&separated);
            Ran { number: i as u64 + 1, code: separated.code, text, left_out }
        };
        main_file(&cells.iter().enumerate().map(ran).collect::<Vec<_>>(), Some(".."))
    }

    #[test]
    fn items_are_the_newest_and_statements_are_in_order() {
        let source = export(&[
            "struct P { x: i32 }\nimpl P { fn a(&self) -> i32 { 1 } }",
            "let p = P { x: 1 };\nfn f() -> i32 { 1 }\np.a()",
            "fn f() -> i32 { 2 }\nuse std::fmt::Write as _;",
            "impl P { fn a(&self) -> i32 { 2 } }",
            "f() + p.len()",
        ]);
        assert!(!source.uses_prelude);
        assert_eq!(source.text.matches("fn f()").count(), 1);
        assert!(source.text.contains("fn f() -> i32 { 2 }") && source.text.contains("fn a(&self) -> i32 { 2 }"));
        assert!(!source.text.contains("{ 1 } }"));
        let main = source.text.split("fn main").nth(1).unwrap();
        assert!(main.contains("set_current_dir(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/..\"))?;"), "{main}");
        assert!(main.find("let p").unwrap() < main.find("show!(p.a());").unwrap());
        assert!(main.contains("show!(f() + p.len());"));
        assert!(syn::parse_file(&source.text).is_ok(), "{}", source.text);
    }

    #[test]
    fn a_query_finds_the_variables_that_it_names() {
        let source = export(&["let (f, g) = two();", "let more = sql(\"select * from f\");", "sql(\"from more\")"]);
        let main = source.text.split("fn main").nth(1).unwrap();
        let at = |text: &str| main.find(text).unwrap_or_else(|| panic!("{text} is not in {main}"));
        assert!(at("let (f, g)") < at("onrush::__bind!(\"f\", &f);") && at("__bind!(\"f\"") < at("let more"));
        assert!(at("__bind!(\"more\", &more)") < at("show!(sql(") && !main.contains("__bind!(\"g\""), "{main}");
    }

    #[test]
    fn what_no_program_does_is_said() {
        let source =
            export(&["!ls -l\nlet a = 1;\n!echo two", "%%html\n<b>bold</b>", "%%html\n<i>more</i>", "a + 1", ":vars"]);
        assert_eq!(
            source.notes,
            [
                "`!ls -l` of In [1] is not in the program",
                "`!echo two` of In [1] is not in the program",
                "`%%html` of In [2] is not in the program",
                "`%%html` of In [3] is not in the program",
            ]
        );
        assert!(source.text.contains("// In [1] also had `!ls -l`, which is not Rust."), "{}", source.text);
        assert!(syn::parse_file(&source.text).is_ok(), "{}", source.text);
        assert!(export(&["!ls"]).text.is_empty());
    }

    #[test]
    fn the_prelude_comes_along_where_it_is_used() {
        assert!(export(&["let f = read_csv(\"a.csv\"); f"]).uses_prelude);
        assert!(export(&["#[derive(Serialize)]\nstruct A;"]).uses_prelude);
        assert!(export(&["let d = NaiveDate::from_ymd_opt(2026, 1, 2);"]).uses_prelude);
        assert!(export(&["async fn f() {}\nf().await;"]).uses_prelude);
        assert!(!export(&["let len = vec![1].len(); fn get() {}\nget(); len"]).uses_prelude);
        assert!(export(&[]).text.is_empty());
    }
}
