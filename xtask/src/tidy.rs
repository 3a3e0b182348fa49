//! `cargo xtask tidy`: the rules of the repository, each a function that reports what breaks it.

mod counts;
mod documents;
mod edges;
mod module_layers;
mod modules;
mod notebooks;
mod retired_files;
mod sentence_counts;
mod sentences;
mod sources;
mod standing;
mod twins;
mod types;
mod words;
mod writers;

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use crate::process::Failure;
use crate::workspace::Workspace;

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    /// Relative to the root; with a line number if there is one.
    pub place: String,
    /// The problem and the remedy.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.place, self.message, self.rule)
    }
}

pub struct Report {
    pub rules: usize,
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn broken_rules(&self) -> usize {
        let mut rules: Vec<&str> = self.findings.iter().map(|f| f.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules.len()
    }

    pub fn print(&self) {
        for finding in &self.findings {
            println!("{finding}");
        }
        println!("tidy: {} rules, {} findings", self.rules, self.findings.len());
    }
}

/// A text file of the repository. Binary files are excluded.
pub struct SourceFile {
    /// Relative to the root.
    pub path: PathBuf,
    pub text: String,
}

impl SourceFile {
    fn is(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|e| e == extension)
    }

    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }
}

/// The input of the rules.
pub struct Tree {
    pub root: PathBuf,
    pub paths: Vec<PathBuf>,
    pub sources: Vec<SourceFile>,
    pub packages: Vec<edges::Package>,
}

impl Tree {
    /// The `src` folder of each crate that has Rust files there.
    fn source_folders(&self) -> Vec<String> {
        let mut folders: Vec<String> = self.packages.iter().filter_map(|package| package.folder(&self.root)).collect();
        folders.sort_unstable();
        folders.iter_mut().for_each(|folder| folder.push_str("/src"));
        folders
    }

    /// The folder of the crate that a file belongs to, or the topmost folder.
    fn crate_folder(&self, path: &Path) -> String {
        let folders = self.packages.iter().filter_map(|package| package.folder(&self.root));
        folders.filter(|folder| path.starts_with(folder)).max_by_key(String::len).unwrap_or_else(|| {
            path.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default()
        })
    }
}

type Rule = (&'static str, fn(&Tree) -> Vec<Finding>);

const RULES: &[Rule] = &[
    ("module-docs", sources::module_docs),
    ("file-size", sources::file_size),
    ("no-mod-rs", sources::no_mod_rs),
    ("file-names", sources::file_names),
    ("unsafe", sources::unsafe_code),
    ("machine-paths", sources::machine_paths),
    ("unfinished", sources::unfinished),
    ("crate-edges", edges::crate_edges),
    ("outside-things", edges::outside_things),
    ("folder-names", edges::folder_names),
    ("twins", twins::twins),
    ("module-order", modules::module_order),
    ("document-paths", documents::paths_exist),
    ("documents", documents::required),
    ("document-width", documents::width),
    ("words", words::retired_words),
    ("type-names", types::public_names),
    ("participles", types::participles),
    ("sentences", sentences::sentences),
    ("comment-width", sentences::comment_width),
    ("retired-files", retired_files::retired_files),
    ("code-map", documents::map_is_complete),
    ("notebooks", notebooks::well_formed),
    ("one-writer", writers::one_writer),
];

pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let report = check(workspace)?;
    report.print();
    if report.findings.is_empty() { Ok(()) } else { Err(Failure::new("the repository breaks its own rules")) }
}

/// Prints how far each crate is from the rules.
pub fn counts(workspace: &Workspace) -> Result<(), Failure> {
    counts::print(&read(workspace)?);
    Ok(())
}

fn read(workspace: &Workspace) -> Result<Tree, Failure> {
    let paths = workspace.files()?;
    let sources = paths.iter().filter_map(|path| read_text(&workspace.root, path)).collect();
    Ok(Tree { root: workspace.root.clone(), paths, sources, packages: edges::packages(workspace)? })
}

pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    let tree = read(workspace)?;
    let findings = RULES.iter().flat_map(|(_, rule)| rule(&tree)).collect();
    Ok(Report { rules: RULES.len(), findings })
}

fn read_text(root: &Path, path: &Path) -> Option<SourceFile> {
    let bytes = fs::read(root.join(path)).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then(|| SourceFile { path: path.to_path_buf(), text })
}

fn finding(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Finding {
    Finding { rule, place: place.into(), message: message.into() }
}
