//! Embeds the sources of the prelude build. The kernel builds the prelude from them for the rustc that it finds.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "../src/index/source.rs"]
#[allow(dead_code, reason = "cells are indexed when they run")]
mod source;

mod manifest;

use manifest::{CRATES, kit_manifest};

fn main() {
    // Clones of the repository share a target folder. The output names no path in a clone: another clone would read
    // that path.
    let root = Path::new("../..");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    for name in CRATES {
        let folder = root.join("kernel").join(name);
        println!("cargo:rerun-if-changed={}", folder.display());
        walk(&folder, &mut files);
    }
    files.sort();
    files.push(root.join("Cargo.lock"));
    println!("cargo:rerun-if-changed={}", root.join("Cargo.lock").display());
    let mut kit = String::from("pub static FILES: &[(&str, &[u8])] = &[\n");
    for file in &files {
        let name = file.strip_prefix(root).expect("inside the workspace");
        let copy = out.join("kit").join(name);
        fs::create_dir_all(copy.parent().unwrap_or(&out)).expect("OUT_DIR is writable");
        fs::copy(file, &copy).expect("OUT_DIR is writable");
        let (name, copy) = (name.display().to_string(), format!("/kit/{}", name.display()));
        let _ = writeln!(kit, "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), {copy:?}))),");
    }
    kit.push_str("];\n");
    let manifest = root.join("Cargo.toml");
    println!("cargo:rerun-if-changed={}", manifest.display());
    let _ = writeln!(
        kit,
        "pub static MANIFEST: &str = {:?};",
        kit_manifest(&fs::read_to_string(manifest).expect("Cargo.toml"))
    );
    fs::write(out.join("kit_files.rs"), kit).expect("OUT_DIR is writable");
    let mut index = String::new();
    for (folder, name) in [("onrush", "onrush"), ("wire", "onrush_wire"), ("macros", "onrush_macros")] {
        index.push_str(&source::index_crate(&root.join("kernel").join(folder).join("src/lib.rs"), name));
    }
    fs::write(out.join("prelude.index"), index).expect("OUT_DIR is writable");
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            // Cells do not link the tests of these crates.
            if !matches!(name.as_str(), "target" | "tests" | "benches" | "examples") {
                walk(&path, files);
            }
        } else if name.ends_with(".rs") || name == "Cargo.toml" {
            files.push(path);
        }
    }
}
