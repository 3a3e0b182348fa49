//! Hints on CUDA: launches with wrong arguments, and CUDA C++ in a Rust cell.

use onrush_wire::Diagnostic;

use super::{primary, rustc_text, text_at};
use crate::notebook::Notebook;

/// The reason why a `__device__` function of a `%%cuda` cell cannot be called from Rust.
pub fn no_function(named: &str, notebook: &Notebook) -> Option<String> {
    let start = format!("`{named}` cannot be called in `x!`: ");
    programs(notebook).find_map(|text| {
        let at = text.find(&start)?;
        text[at..].split('"').next().map(str::to_string)
    })
}

fn programs(notebook: &Notebook) -> impl Iterator<Item = &str> {
    let programs = notebook.sources.iter().filter(|(name, _)| name.starts_with("__CUDA_"));
    programs.map(|(_, source)| source.text.as_str())
}

/// The note on a failed cell with CUDA kernels: variables of CUDA kernels are not variables of the notebook.
pub fn variables_begin_anew(notebook: &Notebook) -> Option<String> {
    let has = |text: &str| crate::cuda::has_variables(&text.replace("\\n", "\n").replace("\\\"", "\""));
    programs(notebook)
        .any(has)
        .then(|| "`__device__` variables of `%%cuda` cells begin anew, as kernels run in a new process".to_string())
}

/// A Rust cell with CUDA C++ in it, or with a launch in CUDA's syntax: rustc's errors on it do not help.
pub fn not_rust(diagnostics: &mut Vec<Diagnostic>, code: &str) -> bool {
    let Some(first) = diagnostics.iter().position(rustc_text::is_syntax) else { return false };
    let help = if let Some(launch) = launch(code) {
        format!("a kernel is launched like a function, blocks and threads first: `{launch}`")
    } else if is_cuda(code) {
        "CUDA C++ goes into a cell whose first line is `%%cuda`".to_string()
    } else {
        return false;
    };
    diagnostics.swap(0, first);
    diagnostics.truncate(1);
    diagnostics[0].help = vec![help];
    true
}

fn is_cuda(code: &str) -> bool {
    let begins = |line: &str| {
        ["#include", "__global__", "__device__", "extern \"C\" __global__", "static __global__"]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    code.lines().any(begins)
}

/// The launch `k<<<1, 64>>>(&mut a)` in Onrush's syntax.
fn launch(code: &str) -> Option<String> {
    let (before, rest) = code.split_once("<<<")?;
    let (sizes, rest) = rest.split_once(">>>")?;
    let name = before.trim_end();
    let name = &name[name.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1)..];
    let sizes =
        sizes.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",").replace(", ", ",").replace(',', ", ");
    let arguments = rest.trim_start().strip_prefix('(')?;
    let end = if arguments.trim_start().starts_with(')') { ")" } else { ", …)" };
    (!name.is_empty()).then(|| format!("{name}({sizes}{end}"))
}

/// A buffer that a launch writes and that another of its arguments needs, too.
pub fn borrowed(diagnostic: &mut Diagnostic, code: &str, notebook: &Notebook) {
    let call = diagnostic.labels.iter().find(|label| label.text.ends_with("borrow later used by call"));
    let Some(name) = call.and_then(|label| text_at(code, &label.span)) else { return };
    let is_kernel =
        notebook.sources.get(&name).is_some_and(|source| source.text.contains("::onrush::cuda::Call::new("));
    let Some(place) = primary(diagnostic).filter(|_| is_kernel) else { return };
    let Some(rest) = code.lines().nth(place.line as usize - 1) else { return };
    let rest: String = rest.chars().skip(place.column as usize - 1).collect();
    let argument = argument(&rest);
    let value = argument.trim_start_matches('&').trim_start_matches("mut ").trim();
    let is_name = value.chars().all(|c| c.is_alphanumeric() || c == '_');
    let others = diagnostic.labels.iter().filter(|label| !label.primary);
    let is_buffer =
        argument.starts_with('&') && others.filter_map(|l| text_at(code, &l.span)).any(|t| t.starts_with('&'));
    diagnostic.help = vec![match is_buffer {
        true if diagnostic.code == "E0499" && is_name => {
            format!(
                "two parameters do not write to one buffer: `let mut other = {value}.clone();`, and `&mut other` here"
            )
        }
        true if is_name => format!(
            "a buffer that a launch writes is given to it once: `let before = {value}.clone();`, and `&before` where it is read"
        ),
        true => "a buffer that a launch writes is given to it once: give a copy where it is read".to_string(),
        false => format!("say it before the launch: `let n = {argument};`, and `n` here"),
    }];
}

/// The source up to the comma or the bracket after its first argument.
pub fn argument(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ',' | ';' if depth == 0 => return text[..at].trim_end(),
            ')' | ']' | '}' if depth == 0 => return text[..at].trim_end(),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_a_call() {
        assert_eq!(launch("let x = 1; k<<<1,4>>>(&mut o, 3)").as_deref(), Some("k(1, 4, …)"));
        assert_eq!(launch("k<<<blocks, 4>>>();").as_deref(), Some("k(blocks, 4)"));
        assert_eq!(launch("a << b"), None);
    }

    #[test]
    fn an_argument_ends_where_the_next_one_begins() {
        assert_eq!(argument("a.len() as i32)"), "a.len() as i32");
        assert_eq!(argument("f(a, b)[0], c)"), "f(a, b)[0]");
    }
}
