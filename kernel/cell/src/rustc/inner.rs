//! Crates inside of the prelude. The compiler loads them with it, and names their impls, methods and traits in errors
//! about plain code of the standard library. The user has not asked for these crates and cannot name them: errors leave
//! them out.

use std::collections::BTreeSet;

use super::Job;
use super::messages::Message;

/// Crates of the prelude that cells can name, by the start of the name.
const NAMED: [&str; 4] = ["onrush", "arrow", "chrono", "serde"];

/// A private crate of the standard library with methods of numbers.
const OF_STD: &str = "compiler_builtins";

/// The names of the crates that are left out.
pub struct Inner(BTreeSet<String>);

impl Inner {
    /// The crates that the prelude was built from, without those of `:dep`.
    pub fn of(job: &Job<'_>) -> Inner {
        let of_prelude = job.kit.paths.crates.iter().map(|of| of.name.replace('-', "_"));
        let own: BTreeSet<&str> = job.notebook.dependencies.crates().iter().map(|of| of.name.as_str()).collect();
        let is_inner =
            |name: &String| !own.contains(name.as_str()) && !NAMED.iter().any(|start| name.starts_with(start));
        Inner(of_prelude.chain([OF_STD.to_string()]).filter(is_inner).collect())
    }

    pub fn leave_out(&self, messages: &mut [Message]) {
        messages.iter_mut().for_each(|message| self.of_message(message));
    }

    fn of_message(&self, message: &mut Message) {
        message.message = self.text(&message.message);
        for label in message.spans.iter_mut().filter_map(|span| span.label.as_mut()) {
            *label = self.text(label);
        }
        let before = message.children.len();
        message.children.retain_mut(|child| {
            let count = child.spans.len();
            child.spans.retain(|span| !span.suggested_replacement.as_deref().is_some_and(|new| self.is_named(new)));
            let is_empty = count > 0 && child.spans.is_empty();
            if !is_empty {
                self.of_message(child);
            }
            !is_empty
        });
        // An introduction to the imports that are left out now.
        let imports = |child: &Message| child.message.contains("in scope; perhaps you want to import");
        if message.children.len() < before && !message.children.iter().any(imports) {
            message.children.retain(|child| !child.message.starts_with("items from traits can only be used"));
        }
    }

    /// The ranges of paths into these crates.
    fn paths(&self, text: &str) -> Vec<(usize, usize)> {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let mut found = Vec::new();
        let mut start = 0;
        for piece in text.split_inclusive(|c: char| !is_path(c)) {
            let path = piece.trim_end_matches(|c: char| !is_path(c)).trim_end_matches(':');
            let root = path.trim_start_matches("::").split_once("::").map_or("", |(root, _)| root);
            if self.0.contains(root) {
                found.push((start, start + path.len()));
            }
            start += piece.len();
        }
        found
    }

    fn is_named(&self, text: &str) -> bool {
        !self.paths(text).is_empty()
    }

    /// A list without the lines about these crates; elsewhere their paths are cut to the last name.
    fn text(&self, text: &str) -> String {
        let mut lines = text.lines();
        let first = self.crates(&self.shortened(lines.next().unwrap_or_default()));
        let mut out = vec![first];
        let indent = |line: &str| line.len() - line.trim_start().len();
        let mut left_out = None;
        for line in lines {
            // A line that stands further in belongs to the one above: `where T: ...`.
            if left_out.is_some_and(|outer| indent(line) > outer) {
                continue;
            }
            left_out = self.is_named(line).then(|| indent(line));
            if left_out.is_none() {
                out.push(line.to_string());
            }
        }
        out.join("\n")
    }

    fn shortened(&self, line: &str) -> String {
        let mut out = line.to_string();
        for (start, end) in self.paths(line).into_iter().rev() {
            let last = line[start..end].rsplit("::").next().unwrap_or_default();
            out.replace_range(start..end, last);
        }
        out
    }

    /// ``in the following crates: `core`, `num_bigint`:`` without these crates.
    fn crates(&self, line: &str) -> String {
        const LIST: &str = "in the following crates: ";
        let Some((before, list)) = line.split_once(LIST) else { return line.to_string() };
        let (list, end) = list.split_at(list.trim_end_matches(':').len());
        let is_named = |name: &&str| !self.0.contains(name.trim_matches('`'));
        let names: Vec<&str> = list.split(", ").filter(is_named).collect();
        match &names[..] {
            [one] => format!("{before}in the {one} crate{end}"),
            all => format!("{before}{LIST}{}{end}", all.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inner() -> Inner {
        Inner(["num_bigint", "num_traits"].map(str::to_string).into())
    }

    #[test]
    fn lists_of_impls_name_the_standard_library_alone() {
        let text = "multiple `impl`s satisfying `i32: Add<_>` found in the following crates: `core`, `num_bigint`:\n\
                    - impl Add for i32;\n\
                    - impl<T> Add<num_bigint::bigint::BigInt> for i32\n  where T: Copy;\n\
                    - impl Add<&i32> for i32;";
        assert_eq!(
            inner().text(text),
            "multiple `impl`s satisfying `i32: Add<_>` found in the `core` crate:\n\
             - impl Add for i32;\n\
             - impl Add<&i32> for i32;"
        );
        let same = "`rand::Rng` is not `num_traits`, and `i32` is no `std::ops::Add`";
        assert_eq!(inner().text(same), same);
    }

    #[test]
    fn a_method_is_named_without_its_crate() {
        let text = "use the `.` operator to call the method `num_traits::sign::Signed::abs` on `{integer}`";
        assert_eq!(inner().text(text), "use the `.` operator to call the method `abs` on `{integer}`");
    }

    #[test]
    fn imports_of_these_crates_are_left_out() {
        let json = r#"{"message":"no method `is_odd`","code":null,"level":"error","spans":[],"children":[
            {"message":"items from traits can only be used if the trait is in scope","code":null,"level":"help","spans":[],"children":[]},
            {"message":"trait `Integer` which provides `is_odd` is implemented but not in scope; perhaps you want to import it",
             "code":null,"level":"help","children":[],"spans":[{"file_name":"c","line_start":1,"line_end":1,"column_start":1,
             "column_end":1,"is_primary":true,"label":null,"suggested_replacement":"use num_traits::Integer;\n","expansion":null}]},
            {"message":"there is a method `pow`","code":null,"level":"help","spans":[],"children":[]}]}"#;
        let mut messages = vec![serde_json::from_str::<Message>(json).unwrap()];
        inner().leave_out(&mut messages);
        let left: Vec<&str> = messages[0].children.iter().map(|child| child.message.as_str()).collect();
        assert_eq!(left, ["there is a method `pow`"]);
    }
}
