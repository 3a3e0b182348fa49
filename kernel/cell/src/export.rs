//! `:export crate`: writes the successful cells as a cargo project that does what the notebook does.
//!
//! Items go to the root of `main.rs`, each in its newest form; statements go to `main`, in the order of the cells. The
//! used parts of the prelude are added as source.

mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use onrush_wire::{Class, Diagnostic};

use crate::deps::{Dependencies, ROOT, lock};
use crate::prelude_build;

pub use source::{MainFile, Ran, left_out, main_file};

/// The first line of a generated manifest: its folder may be overwritten.
const MARK: &str = "# Written by `:export crate` of Onrush.";

/// Writes the project into a folder that is new or was written by an export. `notebook` is the notebook's folder, and
/// `name` the path of the project relative to it. Returns the message for the cell.
pub fn write(notebook: &Path, name: &str, cells: &[Ran], dependencies: &Dependencies) -> Result<String, Diagnostic> {
    let folder = notebook.join(name);
    let refuse = |what: String| Diagnostic::error(Class::Run, "export", what);
    let manifest = folder.join("Cargo.toml");
    let is_ours = fs::read_to_string(&manifest).is_ok_and(|text| text.starts_with(MARK));
    let is_empty = fs::read_dir(&folder).map_or(true, |mut entries| entries.next().is_none());
    if !is_ours && !is_empty {
        return Err(refuse(format!("the folder {} is not empty", folder.display()))
            .help("`:export crate NAME` writes another folder"));
    }
    let source = main_file(cells, way_back(Path::new(name)).as_deref());
    if source.text.is_empty() {
        return Err(refuse("no cell has run yet: there is nothing to export".to_string())
            .help("run the cells, then `:export crate` again"));
    }
    let files = files(&folder, &source, dependencies);
    for (name, bytes) in &files {
        let path = folder.join(name);
        let other = "choose another folder: `:export crate NAME`";
        fs::create_dir_all(path.parent().unwrap_or(&folder))
            .map_err(|e| refuse(format!("{} cannot be written: {e}", path.display())).help(other))?;
        onrush_files::write(&path, bytes).map_err(|why| why.help(other))?;
    }
    let mut text = format!("wrote {}: `cargo run` there does what the notebook does\n", folder.display());
    if source.uses_prelude {
        text.push_str(
            "the prelude lies next to it, as source; frames need an Onrush session, which the program starts\n",
        );
    }
    for note in &source.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    Ok(text)
}

/// `../..` for `out/project`; `None` if the path leads elsewhere.
fn way_back(folder: &Path) -> Option<String> {
    let steps = folder.components().filter(|c| *c != Component::CurDir);
    let steps: Option<Vec<&str>> = steps.map(|c| matches!(c, Component::Normal(_)).then_some("..")).collect();
    steps.filter(|steps| !steps.is_empty()).map(|steps| steps.join("/"))
}

fn files(folder: &Path, source: &MainFile, dependencies: &Dependencies) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let name: String = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let name = if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("notebook-{name}") };
    let mut manifest = format!(
        "{MARK}\n[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\
         exclude = [\"onrush\"]\n\n[dependencies]\n"
    );
    if source.uses_prelude {
        manifest.push_str("onrush = { path = \"onrush/kernel/onrush\" }\n");
        // The derives name it.
        if !dependencies.requests.contains_key("serde") {
            manifest.push_str("serde = { version = \"1\", features = [\"derive\"] }\n");
        }
    }
    for (name, request) in &dependencies.requests {
        manifest.push_str(&format!("{name} = {}\n", request.code()));
    }
    manifest.push_str("\n# As the cells were compiled.\n[profile.dev]\nopt-level = 1\n");
    files.insert("Cargo.toml".into(), manifest.into_bytes());
    files.insert("src/main.rs".into(), source.text.clone().into_bytes());
    let own = dependencies.graph.as_ref().map_or("version = 4\n", |graph| graph.lock.as_str());
    let versions = if source.uses_prelude { lock::merge(own, prelude_build::lock_file()) } else { own.to_string() };
    files.insert("Cargo.lock".into(), lock::without(&versions, ROOT).into_bytes());
    if source.uses_prelude {
        for (name, bytes) in prelude_build::sources() {
            let bytes = match name {
                // A program links it like any crate.
                "kernel/onrush/Cargo.toml" => {
                    String::from_utf8_lossy(bytes).replace("crate-type = [\"dylib\"]", "").into_bytes()
                }
                _ => bytes.to_vec(),
            };
            files.insert(Path::new("onrush").join(name), bytes);
        }
    }
    files
}
