//! Embeds the Python package `onrush`: the files of `kernel/python/onrush`, as a list that `package.rs` includes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../python/onrush");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    collect(&folder, "", &mut files)?;
    files.sort();
    let mut text = String::from("&[\n");
    for (name, path) in files {
        writeln!(text, "    ({name:?}, include_bytes!({path:?})),", path = path.display().to_string())?;
    }
    text.push_str("]\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("files.rs"), text)?;
    Ok(())
}

/// The modules of a folder by their path below the package.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else if name.ends_with(".py") || name.ends_with("py.typed") {
            println!("cargo::rerun-if-changed={}", entry.path().display());
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
