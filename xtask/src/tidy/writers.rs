//! Files that users name are written by `kernel/files` alone: it follows links, keeps modes and refuses devices.
//! Calls that make or replace a file are allowed in the places that are listed here.

use super::{Finding, SourceFile, Tree, finding};

/// Calls that make, truncate or replace a file. In pieces, so that this file does not find itself.
const CALLS: &[&str] = &[
    concat!("fs::", "rename("),
    concat!("fs::", "write("),
    concat!("fs::", "copy("),
    concat!("File::", "create"),
    concat!(".persist", "(path"),
    concat!("NamedTemp", "File"),
    concat!("tempfile_", "in("),
];

/// Places with files that users do not name: caches, build folders, logs and spilled data. By the start of the path,
/// with the reason.
const OWN_FILES: &[(&str, &str)] = &[
    ("kernel/files/", "the writer itself"),
    ("kernel/python-cells/src/package.rs", "the Python package in the cache folder"),
    ("kernel/cell/src/compile.rs", "the cache of compiled cells"),
    ("kernel/cell/src/deps", "build folders and the store of crates"),
    ("kernel/cell/src/index/crates.rs", "the cache of indexes"),
    ("kernel/cell/src/prelude_build", "the folder of kits"),
    ("kernel/cell/src/linker", "the stand-in for a C compiler in the cache"),
    ("kernel/cell/src/process/output.rs", "long outputs in the folder of the notebook's session"),
    ("kernel/cell/src/rustc", "the sources and artifacts of a compilation"),
    ("kernel/cell/src/types.rs", "the cache of types"),
    ("kernel/host/src/calls.rs", "a setting of the operating system in `/proc`"),
    ("kernel/host/src/snapshot.rs", "a setting of the operating system in `/proc`"),
    ("kernel/jupyter/src/doctor/find.rs", "a probe whether a folder can be written"),
    ("kernel/jupyter/src/install/extension.rs", "the folder of ipywidgets' files, which pip made"),
    ("kernel/jupyter/src/kernel/history.rs", "the history in the cache folder"),
    ("kernels/src/cache.rs", "the cache of compiled CUDA kernels"),
    ("runtime/device/src/emulated", "the cache of compiled CUDA kernels, and scratch folders of the compiler"),
    ("runtime/calls/src/processes.rs", "shared objects of cells in the cache folder"),
    ("runtime/frame/src/disk.rs", "tables that were spilled"),
    ("runtime/io/src/spill.rs", "rows that were spilled"),
    ("runtime/oracle/", "data of tests"),
    ("runtime/places/src/kept.rs", "the cache of fetched files"),
    ("runtime/session/src/supervisor/copies.rs", "copies of models that were spilled"),
    ("runtime/session/src/engine.rs", "a setting of the operating system in `/proc`"),
    ("xtask/", "automation"),
];

/// Folders whose code is not part of the product.
const NOT_PRODUCT: &[&str] = &["/tests/", "/benches/", "/examples/", "/build/"];

pub fn one_writer(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().filter(|file| file.is("rs")).flat_map(writes).collect()
}

fn writes(file: &SourceFile) -> Vec<Finding> {
    let path = file.path.to_string_lossy();
    let is_exempt = OWN_FILES.iter().any(|(start, _)| path.starts_with(start))
        || NOT_PRODUCT.iter().any(|folder| path.contains(folder))
        || path.ends_with("/build.rs")
        || path.ends_with("/tests.rs");
    if is_exempt {
        return Vec::new();
    }
    let product = product_lines(&file.text);
    let found = product.filter(|(_, line)| {
        let code = line.split("//").next().unwrap_or_default();
        // Text about code, as in a help for the user, is quoted.
        CALLS.iter().any(|call| code.find(call).is_some_and(|at| code[..at].matches('"').count().is_multiple_of(2)))
    });
    found
        .map(|(number, _)| {
            let message = "files are written by `onrush_files`: another file is an entry in xtask/src/tidy/writers.rs";
            finding("one-writer", file.place(number), message)
        })
        .collect()
}

/// Numbered lines above the tests of a file.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = || text.lines();
    let tests = lines().zip(lines().skip(1)).position(|(attribute, next)| {
        attribute.trim() == "#[cfg(test)]" && next.trim_start().starts_with("mod tests {")
    });
    (1..).zip(text.lines()).take(tests.unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: PathBuf::from(path), text: text.to_string() };
        writes(&file).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn writers_are_found_outside_of_their_places() {
        let text =
            concat!("fn f() {\n    fs::", "rename(a, b);\n}\n#[cfg(test)]\nmod tests {\n    fs::", "write(a, b)\n}\n");
        assert_eq!(found("widgets/view/src/plot.rs", text), ["widgets/view/src/plot.rs:2"]);
        for exempt in ["runtime/places/src/kept.rs", "widgets/view/tests/it/vega.rs", "widgets/web/build.rs"] {
            assert!(found(exempt, text).is_empty(), "{exempt}");
        }
        let quoted = concat!("help(\"std::fs::", "write(name)\") // std::fs::", "write\n");
        assert!(found("widgets/view/src/plot.rs", quoted).is_empty());
    }
}
