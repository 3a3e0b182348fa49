//! From addresses in shared objects of cells to the calls that the user has written. Code of the standard library, the
//! prelude and of `:dep`, and what generated code put around the cell, is left out.

use std::path::Path;

use addr2line::Loader;
use onrush_wire::host::Address;
use onrush_wire::{Call, Diagnostic, Label, Span};

use crate::notebook::Notebook;
use crate::process::is_crash;
use crate::source_map::SourceMap;

const CLOSURE: &str = "{{closure}}";
/// The outer calls of a deeper recursion are left out.
const MOST: usize = 40;

/// The cell that runs: it is not in the notebook yet.
pub struct Current<'a> {
    pub library: &'a Path,
    pub file: &'a str,
    pub map: &'a SourceMap,
}

/// The innermost call first; one that repeats itself is there once.
pub fn calls(addresses: &[Address], notebook: &Notebook, current: Option<&Current<'_>>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut loaded: Option<(&str, Option<Loader>)> = None;
    for address in addresses {
        // The prelude and the standard library are large, and have no cell's code.
        let Some(home) = home(&address.library, notebook, current) else { continue };
        let (_, loader) = match loaded.take() {
            Some(known) if known.0 == address.library => loaded.insert(known),
            _ => loaded.insert((&address.library, Loader::new(&address.library).ok())),
        };
        let Some(loader) = loader else { continue };
        let mut found = frames(loader, address.offset, notebook, current);
        if found.is_empty() {
            found.extend(without_lines(loader, address.offset, &home));
        }
        for call in found {
            if calls.len() < MOST && calls.last() != Some(&call) {
                calls.push(call);
            }
        }
    }
    calls
}

/// Labels an error that names no place with the line of its innermost call: a crash has only its calls. `source` gives
/// the text of a cell.
pub fn place<'s>(diagnostic: &mut Diagnostic, source: impl Fn(&str) -> Option<&'s str>) {
    let Some(call) = diagnostic.trace.first().filter(|_| is_crash(diagnostic) && diagnostic.labels.is_empty()) else {
        return;
    };
    let Some(line) = call.line else { return };
    let text = source(&call.file).and_then(|text| text.lines().nth(line as usize - 1)).unwrap_or_default();
    let column = text.chars().take_while(|c| c.is_whitespace()).count() as u32 + 1;
    let length = text.trim().chars().count().max(1) as u32;
    let span = Span { file: call.file.clone(), line, column, length };
    diagnostic.labels.push(Label { span, text: String::new(), primary: true });
}

/// The file of the cell that a library belongs to, and how many lines it has.
struct Home {
    file: String,
    lines: u32,
}

fn home(library: &str, notebook: &Notebook, current: Option<&Current<'_>>) -> Option<Home> {
    let name = Path::new(library).file_name()?;
    let of_current = current.filter(|current| current.library.file_name() == Some(name));
    let found = of_current.map(|current| (current.file, current.map));
    let (file, map) = found.or_else(|| {
        let known = notebook.crates.iter().rev().find(|known| known.library.file_name() == Some(name))?;
        Some((known.file.as_str(), &known.map))
    })?;
    Some(Home { file: file.to_string(), lines: map.lines })
}

/// The calls at an address, with the functions that the compiler has inlined.
fn frames(loader: &Loader, offset: u64, notebook: &Notebook, current: Option<&Current<'_>>) -> Vec<Call> {
    let mut calls = Vec::new();
    let Ok(mut frames) = loader.find_frames(offset) else { return calls };
    while let Ok(Some(frame)) = frames.next() {
        let Some(location) = frame.location else { continue };
        let (Some(path), Some(line)) = (location.file, location.line) else { continue };
        let file = path.rsplit('/').next().unwrap_or(path);
        let found = match current.filter(|current| current.file == file) {
            Some(current) => Some((current.file, current.map)),
            None => notebook.map_of(file),
        };
        let Some((file, _)) = found.filter(|(_, map)| map.is_users(line)) else { continue };
        // The tables name only what was put into another function; that one is among the symbols.
        let named = frame.function.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
        let function = named.or_else(|| symbol(loader, offset)).map(|name| short(&name)).unwrap_or_default();
        calls.push(Call { file: file.to_string(), line: Some(line), function });
    }
    calls
}

fn symbol(loader: &Loader, offset: u64) -> Option<String> {
    Some(addr2line::demangle_auto(loader.find_symbol(offset)?.into(), None).into_owned())
}

/// The call of a cell of one line, which has no table of lines.
fn without_lines(loader: &Loader, offset: u64, home: &Home) -> Option<Call> {
    if home.lines != 1 {
        return None;
    }
    let name = symbol(loader, offset)?;
    // Instances of the standard library's generics for this cell stand in it, too.
    let is_foreign = ["core::", "alloc::", "std::", "<", "onrush::"].iter().any(|start| name.starts_with(start));
    let function = match name.starts_with("core::ops::function::") {
        // How a closure is called from elsewhere, with the closure in it.
        true => CLOSURE.to_string(),
        false if is_foreign => return None,
        false => short(&name),
    };
    Some(Call { file: home.file.clone(), line: Some(1), function })
}

/// `onrush_cell_3::__body::Point::norm::h0123456789abcdef` is `Point::norm`; the function around a cell's statements
/// has no name.
fn short(name: &str) -> String {
    let mut parts: Vec<&str> = name.split("::").collect();
    // The tables of lines count them.
    parts.iter_mut().filter(|part| part.starts_with("{closure")).for_each(|part| *part = CLOSURE);
    parts.retain(|part| !part.starts_with("onrush_cell_") && *part != "__body" && !is_hash(part));
    let inner = parts.iter().position(|part| part.starts_with("__onrush"));
    if let Some(entry) = inner {
        // Its first closure is made for it as well.
        parts.drain(..=entry);
        if parts.first() == Some(&CLOSURE) {
            parts.remove(0);
        }
    }
    parts.join("::")
}

fn is_hash(part: &str) -> bool {
    part.len() == 17 && part.starts_with('h') && part[1..].bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_users() {
        assert_eq!(short("onrush_cell_3::Point::norm::h0123456789abcdef"), "Point::norm");
        assert_eq!(short("onrush_cell_1[1f2a]::__body::outer::{{closure}}"), "outer::{{closure}}");
        assert_eq!(short("{closure#1}"), "{{closure}}");
        assert_eq!(short("__onrush_run::{{closure}}"), "");
        assert_eq!(short("__onrush_run::{{closure}}::{{closure}}"), "{{closure}}");
    }
}
