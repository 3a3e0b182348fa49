//! Macros whose meaning depends on the place of the source: `include_str!` finds files next to the notebook, and
//! `column!` counts columns of the user's source, not of the generated code.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use super::layout::Insertion;
use crate::notebook::Notebook;
use crate::parse::{Cell, PartKind};

const INCLUDES: [&str; 3] = ["include_str", "include_bytes", "include"];

/// Positions in a cell's text, in bytes of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MacroPositions {
    /// Insertion points for the folder, inside of the quotes of a relative path.
    pub folders: Vec<usize>,
    /// The files that are read.
    pub files: Vec<PathBuf>,
    /// Calls of `column!()`: where they begin and end.
    pub columns: Vec<(usize, usize)>,
}

pub fn find(code: &str, folder: &Path) -> MacroPositions {
    let mut found = MacroPositions::default();
    let is_there = INCLUDES.iter().chain(&["column"]).any(|name| code.contains(&format!("{name}!")));
    if is_there && let Ok(tokens) = code.parse::<TokenStream>() {
        collect(tokens, folder, &mut found);
    }
    found
}

fn collect(tokens: TokenStream, folder: &Path, found: &mut MacroPositions) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let name = match at.checked_sub(2).map(|name| &tokens[name..at]) {
            Some([TokenTree::Ident(name), TokenTree::Punct(mark)]) if mark.as_char() == '!' => name.to_string(),
            _ => String::new(),
        };
        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
        match &inner[..] {
            [] if name == "column" => {
                found.columns.push((tokens[at - 2].span().byte_range().start, group.span_close().byte_range().end));
            }
            [TokenTree::Literal(path), ..] if INCLUDES.contains(&name.as_str()) => {
                let Ok(text) = syn::parse_str::<syn::LitStr>(&path.to_string()) else { continue };
                found.files.push(folder.join(text.value()));
                let quote = path.to_string().find('"').unwrap_or(0);
                if !Path::new(&text.value()).is_absolute() {
                    found.folders.push(path.span().byte_range().start + quote + 1);
                }
            }
            // The rules of a macro stand elsewhere than what they are expanded to.
            _ if is_rules(&tokens[..at]) => {}
            _ => collect(group.stream(), folder, found),
        }
    }
}

fn is_rules(before: &[TokenTree]) -> bool {
    matches!(before, [.., TokenTree::Ident(word), TokenTree::Punct(_), TokenTree::Ident(_)] if word == "macro_rules")
}

/// Folders and columns, to be put into the text.
pub fn insertions<'a>(
    found: &'a MacroPositions,
    cell: &'a Cell,
    notebook: &'a Notebook,
) -> impl Iterator<Item = Insertion> + use<'a> {
    let is_item =
        |at: usize| cell.parts.iter().any(|part| matches!(part.kind, PartKind::Item(_)) && part.range.contains(&at));
    let folder = notebook.folder.display().to_string();
    // A path that a literal would have to escape is left alone.
    let folder = if folder.contains(['"', '\\']) { String::new() } else { format!("{folder}/") };
    let insertion = move |at: usize, text: String| Insertion { at, text, into_items: is_item(at) };
    let folders = found.folders.iter().map(move |&at| (at, folder.clone()));
    // The number follows when all that is inserted is known. It has always as many digits.
    let columns =
        found.columns.iter().flat_map(|&(start, end)| [(start, "(".to_string()), (end, format!(" - {:0DIGITS$})", 0))]);
    folders.chain(columns).map(move |(at, text)| insertion(at, text))
}

/// Digits of a number of columns.
const DIGITS: usize = 7;

/// Takes what was inserted before a `column!()` from what it gives.
pub fn number_columns(insertions: &mut [Insertion], columns: &[(usize, usize)], code: &str, width: usize) {
    for &(start, end) in columns {
        let line = code[..start].rfind('\n').map_or(0, |at| at + 1);
        let before = insertions.iter().filter(|i| (line..=start).contains(&i.at));
        let before: usize = before.map(|i| i.text.chars().count()).sum();
        let shift = before + if line == 0 { width } else { 0 };
        let wanted = format!(" - {:0DIGITS$})", 0);
        if let Some(insertion) = insertions.iter_mut().find(|i| i.at == end && i.text == wanted) {
            insertion.text = format!(" - {shift:0DIGITS$})");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_columns_are_found() {
        let code = "let a = f(include_str!(\"x.txt\"), column!()); include_bytes!(r\"/abs\"); macro_rules! m { () => { column!() } }";
        let found = find(code, Path::new("/n"));
        assert_eq!(&code[found.folders[0]..][..5], "x.txt");
        assert_eq!(found.files, [PathBuf::from("/n/x.txt"), PathBuf::from("/abs")]);
        assert_eq!(found.columns.iter().map(|&(a, b)| &code[a..b]).collect::<Vec<_>>(), ["column!()"]);
    }
}
