//! Lines that are not Rust: `:` commands and their arguments, `!` and files, `%%sql` and its query, `%%cuda`.

use super::tokens::word_start;
use super::{Candidates, CursorContext, cuda, files, sql};
use crate::commands;
use crate::commands::python::{LIBRARIES, OPTIONS};
use crate::cuda::CHECK;
use crate::reference;

/// Whether the cursor is in such a line; what can stand there is offered then.
pub fn complete<'a>(place: &CursorContext<'a>, candidates: &mut Candidates<'a>) -> bool {
    let before = &place.text[..place.at];
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    let line = &before[line_start..];
    if let Some(head) = python_magic(place.text).filter(|head| before.len() > head + PYTHON.len()) {
        match before[head..].contains('\n') {
            true => python(place, head, candidates),
            false => python_options(&before[head..], place, candidates),
        }
        return true;
    }
    let first = place.text.trim_start();
    if first.starts_with("%%") {
        let head = before.len() - before.trim_start().len();
        if !before[head..].contains([' ', '\n']) {
            candidates.replace(place.text, head..place.at);
            commands::magics().for_each(|(name, help)| candidates.add(0, name, "magic", help));
        } else if first.starts_with("%%sql") {
            let query = place.text[head..].find([' ', '\n']).map_or(place.at, |n| head + n);
            sql::complete(place, &place.text[query.min(place.at)..place.at], &place.text[place.at..], candidates);
        } else if first.starts_with("%%cuda") && !before[head..].contains('\n') {
            candidates.replace(place.text, word_start(place.text, place.at)..place.at);
            candidates.add(0, CHECK, "magic", "run the CUDA kernels with memcheck and racecheck, also with a GPU");
        } else if first.starts_with("%%cuda") {
            cuda::complete(place, candidates);
        }
        return true;
    }
    // Inside of a text of several lines nothing is a command.
    let inside = crate::lexer::scan(&before[..line_start]).unterminated.is_some();
    if inside {
        return false;
    }
    if line.starts_with(':') && !line.starts_with("::") {
        match line.split_once(char::is_whitespace) {
            None => {
                candidates.replace(place.text, line_start..place.at);
                commands::commands().for_each(|(name, help)| candidates.add(0, name, "magic", help));
            }
            Some((name, _)) => arguments(name, place, candidates),
        }
        return true;
    }
    if line.starts_with('%') {
        candidates.replace(place.text, line_start..place.at);
        commands::magics().for_each(|(name, help)| candidates.add(0, name, "magic", help));
        return true;
    }
    // `!x` is an expression if `x` is one of ours.
    let shell = line.strip_prefix('!').filter(|rest| {
        let end = rest.find(|c: char| !super::tokens::is_word(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        !name.is_empty()
            && !place.names.notebook.variables.contains_key(name)
            && !rest[end..].starts_with(['(', '.', ':'])
    });
    if let Some(rest) = shell {
        let typed = rest.rsplit([' ', '=', '\'', '"', '>', '<', '|']).next().unwrap_or(rest);
        // The first word is a program, not a file.
        if typed.len() < rest.len() {
            files::complete(place.text, place.at, typed, place.names.folder(), &[], candidates);
        }
        return true;
    }
    false
}

const PYTHON: &str = "%%python";

/// The byte at which the magic of a Python cell begins. Comments of Rust may stand above it.
pub fn python_magic(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() && !line.trim_start().starts_with("//") {
            let is_python = line.strip_prefix(PYTHON).is_some_and(|rest| rest.starts_with(char::is_whitespace));
            return is_python.then_some(at);
        }
        at += line.len();
    }
    None
}

/// In the line of `%%python`: options, frames after `-i`, libraries after `--as`.
fn python_options<'a>(line: &str, place: &CursorContext<'a>, candidates: &mut Candidates<'a>) {
    let typed = line.rsplit([' ', ',', '=']).next().unwrap_or_default();
    candidates.replace(place.text, place.at - typed.len()..place.at);
    let before = line[..line.len() - typed.len()].trim_end();
    let ends_with_option = OPTIONS.iter().any(|(option, _)| before.ends_with(option));
    if !ends_with_option && !before.ends_with([',', '=']) {
        return OPTIONS.iter().for_each(|(option, about)| candidates.add(0, option, "magic", about));
    }
    let last = OPTIONS.iter().filter_map(|(option, _)| Some((before.rfind(option)?, *option))).max();
    match last.map(|(_, option)| option) {
        Some("-i") => {
            let variables = &place.names.notebook.variables;
            let frames = place.frames.frames().into_iter().filter(|frame| variables.contains_key(&frame.name));
            frames.for_each(|frame| candidates.add(0, &frame.name, "variable", "Frame"));
        }
        Some("--as") => LIBRARIES.iter().for_each(|library| candidates.add(0, library, "magic", "")),
        _ => {}
    }
}

/// In the code of a `%%python` cell, whose magic begins at `head`: by the worker of the notebook.
fn python<'a>(place: &CursorContext<'a>, head: usize, candidates: &mut Candidates<'a>) {
    let Some(known) = &place.names.knowledge else { return };
    let code_start = place.text[head..].find('\n').map_or(place.text.len(), |at| head + at + 1);
    let Some(before) = place.text.get(code_start..place.at) else { return };
    let code = &place.text[code_start..];
    let Some((matches, start, end)) = known.python.complete(code, before.chars().count()) else { return };
    let byte = |at: usize| code_start + code.char_indices().nth(at).map_or(code.len(), |(byte, _)| byte);
    let (start, end) = (byte(start), byte(end));
    if start > end {
        return;
    }
    candidates.replace(place.text, start..end);
    for text in &matches {
        // Names that a module keeps for itself come last.
        let name = text.rsplit('.').next().unwrap_or(text);
        candidates.add_as(u8::from(name.starts_with('_')), text, "name", "");
    }
}

/// Names of crates for `:dep`: those of the notebook, and those that cargo has on this machine.
fn crates<'a>(place: &CursorContext<'a>, candidates: &mut Candidates<'a>) {
    let before = &place.text[..place.at];
    let start = before.rfind(char::is_whitespace).map_or(0, |n| n + 1);
    let line = &before[before.rfind('\n').map_or(0, |n| n + 1)..];
    let typed = &before[start..];
    if typed.starts_with(['.', '/']) {
        files::complete(place.text, place.at, typed, place.names.folder(), &[], candidates);
        return;
    }
    // Behind the name come versions and settings.
    if line.split_whitespace().count() > 1 + usize::from(!typed.is_empty()) || typed.contains('=') {
        return;
    }
    candidates.replace(place.text, start..place.at);
    let crates = place.names.notebook.dependencies.crates();
    crates.iter().filter(|c| c.direct.is_some()).for_each(|c| candidates.add(0, &c.package, "crate", &c.version));
    for package in crate::index::crates::on_this_machine() {
        candidates.add(1, &package.name, "crate", &package.version);
    }
}

fn arguments<'a>(command: &str, place: &CursorContext<'a>, candidates: &mut Candidates<'a>) {
    candidates.replace(place.text, word_start(place.text, place.at)..place.at);
    match command {
        ":type" | ":t" => {
            for (name, variable) in &place.names.notebook.variables {
                candidates.add(0, name, "variable", &crate::types::short(&variable.type_code));
            }
        }
        ":opt" => ["0", "1", "2", "3"].iter().for_each(|level| candidates.add(0, level, "argument", "")),
        ":dep" => crates(place, candidates),
        ":help" => {
            // Names with a namespace, `str.contains`, are one word.
            let typed = place.text[..place.at].rsplit(char::is_whitespace).next().unwrap_or("");
            candidates.replace(place.text, place.at - typed.len()..place.at);
            for entry in reference::entries().iter().filter(|entry| entry.kind != reference::FunctionKind::Object) {
                candidates.add(0, &entry.name, "function", &entry.sentence);
            }
        }
        ":sh" => {
            let typed = place.text[..place.at].rsplit(' ').next().unwrap_or("");
            files::complete(place.text, place.at, typed, place.names.folder(), &[], candidates);
        }
        _ => {}
    }
}
