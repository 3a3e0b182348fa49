//! `cargo xtask tidy --counts`: how far each crate is from the rules, and rows for the tables of the rules.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::{Tree, modules, retired_files, sentences, types};

/// The counts of one crate.
#[derive(Clone, Copy, Default)]
struct Counts {
    backward_imports: usize,
    string_parameters: usize,
    retired_files: usize,
    participles: usize,
    sentences: usize,
    wide_lines: usize,
}

const COLUMNS: [&str; 6] =
    ["backward imports", "string parameters", "retired files", "participles", "sentences", "wide comments"];

impl Counts {
    fn row(self) -> [usize; COLUMNS.len()] {
        let Counts { backward_imports, string_parameters, retired_files, participles, sentences, wide_lines } = self;
        [backward_imports, string_parameters, retired_files, participles, sentences, wide_lines]
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.backward_imports += other.backward_imports;
        self.string_parameters += other.string_parameters;
        self.retired_files += other.retired_files;
        self.participles += other.participles;
        self.sentences += other.sentences;
        self.wide_lines += other.wide_lines;
    }
}

pub fn print(tree: &Tree) {
    let all = counts(tree);
    let mut total = Counts::default();
    println!("{:24}{}", "crate", COLUMNS.map(|column| format!("{column:>19}")).concat());
    for (folder, counts) in &all {
        println!("{folder:24}{}", counts.row().map(|count| format!("{count:>19}")).concat());
        total += *counts;
    }
    println!("{:24}{}", "total", total.row().map(|count| format!("{count:>19}")).concat());
    println!("\nRows of STANDING in xtask/src/tidy/sentence_counts.rs:");
    for (folder, counts) in all.iter().filter(|(_, counts)| counts.sentences + counts.wide_lines > 0) {
        println!("    standing({folder:?}, {}, {}),", counts.sentences, counts.wide_lines);
    }
    println!("\nSTANDING in xtask/src/tidy/retired_files.rs: {}", total.retired_files);
    println!("\nOrders of crates that xtask/src/tidy/module_layers.rs lacks, from the lowest module to the highest:");
    for folder in tree.source_folders() {
        let order = modules::order(tree, &folder);
        if !order.is_listed && order.modules.len() > 1 {
            println!("    {folder}: &{:?}", order.modules);
        }
    }
}

fn counts(tree: &Tree) -> BTreeMap<String, Counts> {
    let mut all: BTreeMap<String, Counts> = BTreeMap::new();
    for folder in tree.source_folders() {
        let name = folder.strip_suffix("/src").unwrap_or(&folder).to_string();
        all.entry(name).or_default().backward_imports = modules::order(tree, &folder).backward;
    }
    for file in tree.sources.iter().filter(|file| file.is("rs")) {
        let name = tree.crate_folder(&file.path);
        if name == "runtime/learn" && file.path.starts_with("runtime/learn/src") {
            all.entry(name).or_default().string_parameters += string_parameters(&file.text);
        }
    }
    for path in retired_files::places(tree) {
        all.entry(tree.crate_folder(path)).or_default().retired_files += 1;
    }
    for path in types::participle_types(tree) {
        all.entry(tree.crate_folder(path)).or_default().participles += 1;
    }
    for (name, places) in sentences::places(tree) {
        let counts = all.entry(name).or_default();
        (counts.sentences, counts.wide_lines) = (places.sentences.len(), places.wide_lines.len());
    }
    all
}

/// Methods of a model's `Spec` that look a parameter up by its name.
const LOOKUPS: &[&str] = &["param", "float", "floats", "count", "flag", "string"];

/// How often a file looks up a parameter of a model by a string, such as `spec.float("c")`.
fn string_parameters(code: &str) -> usize {
    let calls = code.split("spec.").skip(1).filter(|rest| {
        let name = rest.split('(').next().unwrap_or_default();
        LOOKUPS.contains(&name) && rest[name.len()..].starts_with("(\"")
    });
    // Helpers such as `finite(spec, "alpha")`.
    calls.count() + code.matches("(spec, \"").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_by_string_are_counted() {
        let code = "let c = spec.float(\"c\").unwrap_or(finite(spec, \"tol\")?); spec.seed(); spec.float(name); spec.flag(\"a\");";
        assert_eq!(string_parameters(code), 3);
    }
}
