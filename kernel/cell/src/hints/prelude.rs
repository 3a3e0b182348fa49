//! Errors in calls of the prelude: a sentence from the prelude's signatures replaces rustc's general one.

use onrush_wire::Diagnostic;

use super::{frame_methods, habits, offset, primary, text_at};
use crate::index::{Entry, entries};

pub fn advise(diagnostic: &mut Diagnostic, code: &str) {
    let other = of_other_languages(diagnostic, code);
    match diagnostic.code.as_str() {
        "E0308" => {
            buffer(diagnostic, code);
            argument(diagnostic, code);
        }
        "E0061" => count(diagnostic, code),
        "E0277" => bound(diagnostic, code),
        "E0599" => method(diagnostic),
        _ => {}
    }
    if let Some(help) = other {
        diagnostic.help = vec![help];
    }
}

/// A function of the prelude that is called with what another language's function of that name takes.
fn of_other_languages(diagnostic: &Diagnostic, code: &str) -> Option<String> {
    let of_call = |label: &&onrush_wire::Label| match diagnostic.code.as_str() {
        "E0061" => label.primary && diagnostic.message.starts_with("this function"),
        "E0308" => label.text == "arguments to this function are incorrect",
        "E0277" => label.text == "required by a bound introduced by this call",
        _ => false,
    };
    let call = diagnostic.labels.iter().find(of_call).filter(|_| is_defined_elsewhere(diagnostic))?;
    let (name, at) = (text_at(code, &call.span)?, offset(code, &call.span)?);
    let rest = code[at..].strip_prefix(name.as_str())?.trim_start().strip_prefix('(')?;
    let found = code[..at].trim_end().ends_with(['.', ':']);
    entries().iter().find(|entry| entry.name == name && entry.owner.is_empty() && !found)?;
    habits::of_function(&name, super::cuda::argument(rest))
}

/// The prelude's function or method of a name, if there is only one signature for it.
fn entry(name: &str, is_method: bool) -> Option<&'static Entry> {
    let mut found = entries().iter().filter(|e| e.name == name && e.owner.is_empty() != is_method);
    let first = found.next()?;
    // Among methods of several types, the frame's is meant, if it has one.
    let others: Vec<&Entry> = found.collect();
    if others.is_empty() || first.owner == "Frame" {
        Some(first)
    } else {
        others.into_iter().find(|e| e.owner == "Frame")
    }
}

/// Whether rustc pointed at a definition outside of the cells: of the prelude or the standard library.
fn is_defined_elsewhere(diagnostic: &Diagnostic) -> bool {
    !diagnostic.labels.iter().any(|l| l.text.ends_with("defined here"))
}

fn argument(diagnostic: &mut Diagnostic, code: &str) {
    let called = diagnostic.labels.iter().find(|l| l.text.ends_with(" are incorrect"));
    let (Some(called), true) = (called, is_defined_elsewhere(diagnostic)) else { return };
    let is_method = called.text.contains("method");
    let Some(name) = text_at(code, &called.span) else { return };
    let Some(entry) = entry(&name, is_method) else { return };
    let said = diagnostic.labels.iter().find(|l| l.primary).map(|l| l.text.clone()).unwrap_or_default();
    let Some((expected, found)) = said.strip_prefix("expected ").and_then(|s| s.split_once(", found ")) else { return };
    diagnostic.message = format!("`{name}` takes {expected} here, and was given {found}");
    diagnostic.notes = vec![format!("`{}`", entry.signature)];
}

/// An argument of a CUDA kernel that is not a buffer, or one that cannot be written.
fn buffer(diagnostic: &mut Diagnostic, code: &str) {
    let Some(label) = diagnostic.labels.iter().find(|l| l.primary) else { return };
    let given = text_at(code, &label.span).unwrap_or_default();
    let value = given.trim_start_matches('&').trim_start_matches("mut ").trim().to_string();
    if label.text == "types differ in mutability" && diagnostic.notes.iter().any(|note| note.contains("Buffer<")) {
        diagnostic
            .help
            .push(format!("the kernel may write there: `&mut {value}`; one that only reads takes `const …*`"));
    }
    let Some((expected, found)) = label.text.strip_prefix("expected `").and_then(|s| s.split_once("`, found ")) else {
        return;
    };
    let Some((before, element)) = expected.strip_suffix('>').and_then(|s| s.split_once("Buffer<")) else { return };
    let simple = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || c == '_');
    if found.contains("Buffer<") && !found.contains(&format!("Buffer<{element}>")) {
        let values = if simple { value.as_str() } else { "data" };
        diagnostic.help.push(format!(
            "the kernel takes values of type `{element}`: `let {values}: Buffer<{element}> = {values}.iter().map(|v| *v as {element}).collect();`"
        ));
    } else if ["Vec<", "[", "Column<"]
        .iter()
        .any(|kind| found.trim_start_matches(['&', '`']).trim_start_matches("mut ").starts_with(kind))
    {
        let (mutable, values) =
            (if before.contains("mut") { "mut " } else { "" }, if simple { value.as_str() } else { "values" });
        diagnostic.help.push(format!(
            "kernels take buffers: `let {mutable}data = Buffer::from({values});`, and `{before}data` here"
        ));
    }
}

fn count(diagnostic: &mut Diagnostic, code: &str) {
    let Some(place) = primary(diagnostic).filter(|_| is_defined_elsewhere(diagnostic)) else { return };
    let Some(text) = text_at(code, &place) else { return };
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let is_method = diagnostic.message.starts_with("this method");
    let Some(entry) = entry(&name, is_method) else { return };
    let (takes, given) = match diagnostic.message.split_once(" takes ").and_then(|(_, rest)| rest.split_once(" but ")) {
        Some((takes, given)) => (takes.to_string(), given.split(' ').next().unwrap_or("").to_string()),
        None => return,
    };
    diagnostic.message = format!("`{name}` takes {takes}, and was given {given}");
    diagnostic.notes = vec![format!("`{}`", entry.signature)];
    const LISTS: [&str; 8] =
        ["select", "with_columns", "group_by", "drop", "sort", "unique_by", "drop_nulls_in", "explode"];
    if is_method && LISTS.contains(&name.as_str()) && given.parse::<u32>().is_ok_and(|n| n > 1) {
        diagnostic.help = vec![format!("several columns are one list: `{name}([\"a\", \"b\"])` or `{name}(x!(a, b))`")];
    }
    // The argument is represented by a placeholder.
    diagnostic.help.retain(|help| !help.contains("/* "));
}

/// An argument of a type that does not fit a parameter that takes several types.
fn bound(diagnostic: &mut Diagnostic, code: &str) {
    let call = diagnostic.labels.iter().find(|l| l.text == "required by a bound introduced by this call");
    let Some(name) = call.and_then(|l| text_at(code, &l.span)) else { return };
    let Some(entry) = entries().iter().find(|e| e.name == name) else { return };
    // The name of the prelude's trait means nothing to its users.
    diagnostic.help.retain(|help| !help.starts_with("the trait "));
    let Some((found, wanted)) = diagnostic
        .message
        .strip_prefix("the trait bound `")
        .and_then(|m| m.split_once("` is not"))
        .and_then(|(m, _)| m.split_once(": "))
    else {
        return;
    };
    let wanted = match wanted {
        "AsRef<Path>" => "the path of a file, as text".to_string(),
        other => format!("a value that is `{other}`"),
    };
    diagnostic.message = format!("`{name}` takes {wanted}, and was given `{found}`");
    diagnostic.labels.iter_mut().filter(|l| l.primary).for_each(|l| l.text.clear());
    diagnostic.notes = vec![format!("`{}`", entry.signature)];
}

/// Aggregates that exist only as expressions, not as methods of a frame.
const AGGREGATES: &[&str] =
    &["mean", "median", "sum", "min", "max", "std", "var", "count", "quantile", "n_unique", "first", "last"];

/// A method that a type of Onrush does not have.
fn method(diagnostic: &mut Diagnostic) {
    let mut names = diagnostic.message.split('`').skip(1).step_by(2);
    let (Some(method), Some(owner)) = (names.next(), names.next()) else { return };
    let owner = owner.trim_start_matches('&').rsplit("::").next().unwrap_or(owner);
    let owner = owner.split('<').next().unwrap_or(owner);
    let known: Vec<&str> = entries().iter().filter(|e| e.owner == owner).map(|e| e.name.as_str()).collect();
    if known.is_empty() {
        return;
    }
    let help = match (owner, method) {
        ("Frame", "agg") => {
            "groups come first: `f.group_by(\"a\").agg(x!(m = b.mean()))`; without groups it is `f.select(x!(m = b.mean()))`".into()
        }
        ("Frame", name) if AGGREGATES.contains(&name) => {
            format!("`f.select(x!(a.{name}()))` gives a frame with it, and `let v: f64 = f.value(x!(a.{name}()));` the number")
        }
        ("GroupBy", name) if frame_methods::of_groups(name).is_some() => frame_methods::of_groups(name).unwrap_or_default(),
        ("Frame", name) if frame_methods::of_frame(name).is_some() => frame_methods::of_frame(name).unwrap_or_default(),
        (_, "groupby") => "did you mean `group_by`?".to_string(),
        (_, name) if diagnostic.help.is_empty() => {
            let distance = |other: &&str| strsim::damerau_levenshtein(name, other);
            // At most a third of a name may be wrong.
            let near = known.iter().copied().min_by_key(distance).filter(|n| distance(n) * 3 <= name.len());
            match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => return,
            }
        }
        _ => return,
    };
    diagnostic.help = vec![help];
}
