//! `cargo xtask wheel --toolchain`: packages with the compiler of this machine and the prelude that it built. A cell
//! then needs neither rustup nor a C compiler. The kernel finds them below its own prefix
//! (`kernel/cell/src/toolchain.rs`).
//!
//! The files lie there as rustc wants them: nothing is unpacked at the first start.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::notices::Crates;
use super::package::{Compression, Description, WheelFolder, bill_of, glibc_of_folder};
use super::{TRIPLE, make, write};
use crate::process::{self, Failure};
use crate::workspace::Workspace;

/// The oldest glibc that the programs of the Rust project run with.
const GLIBC: u32 = 17;

/// One package: its name, its contents, their licence, and the licence files below `share/doc` of the toolchain.
struct Part {
    name: &'static str,
    summary: &'static str,
    license: &'static str,
    licenses: &'static [&'static str],
    contents: Contents,
}

enum Contents {
    /// Files of the toolchain, or all files of a folder whose names have one of the starts.
    Toolchain(&'static [(&'static str, &'static [&'static str])]),
    Prelude,
}

const RUST: &str = "Apache-2.0 OR MIT";

/// Each part has less than 100 MB when it is compressed. Left out: documentation, sanitizers, the profiler, the linkers
/// for other systems.
const PARTS: [Part; 4] = [
    Part {
        name: "onrush-toolchain-rustc",
        summary: "The Rust compiler and cargo for the Jupyter kernel Onrush",
        license: RUST,
        licenses: &[
            "rust/COPYRIGHT.html",
            "rust/COPYRIGHT-library.html",
            "rust/licenses/Apache-2.0.txt",
            "rust/licenses/MIT.txt",
            "cargo/LICENSE-THIRD-PARTY",
        ],
        contents: Contents::Toolchain(&[("bin", &["rustc", "cargo"]), ("lib", &["librustc_driver-"])]),
    },
    Part {
        name: "onrush-toolchain-llvm",
        summary: "LLVM and the linker of the Rust compiler for the Jupyter kernel Onrush",
        license: "Apache-2.0 WITH LLVM-exception",
        // The linkers contain parts of the standard library.
        licenses: &[
            "rust/COPYRIGHT.html",
            "rust/COPYRIGHT-library.html",
            "rust/licenses/Apache-2.0.txt",
            "rust/licenses/LLVM-exception.txt",
            "rust/licenses/NCSA.txt",
        ],
        contents: Contents::Toolchain(&[
            ("lib", &["libLLVM.so."]),
            ("lib/rustlib/x86_64-unknown-linux-gnu/bin", &["rust-lld"]),
            // rustc looks for it before it links by another linker.
            ("lib/rustlib/x86_64-unknown-linux-gnu/bin/gcc-ld", &["ld.lld"]),
        ]),
    },
    Part {
        name: "onrush-toolchain-std",
        summary: "The standard library of Rust for the Jupyter kernel Onrush",
        license: RUST,
        licenses: &["rust/COPYRIGHT-library.html", "rust/licenses/Apache-2.0.txt", "rust/licenses/MIT.txt"],
        contents: Contents::Toolchain(&[("lib/rustlib/x86_64-unknown-linux-gnu/lib", &["lib"])]),
    },
    Part {
        name: "onrush-toolchain-prelude",
        summary: "The prelude of cells, compiled, for the Jupyter kernel Onrush",
        license: RUST,
        // Libraries and `onrush-cell` contain parts of the standard library.
        licenses: &["rust/COPYRIGHT-library.html"],
        contents: Contents::Prelude,
    },
];

/// Files of the folder of the standard library that no cell links.
const LEFT_OUT: [&str; 2] = ["librustc-", "libprofiler_builtins-"];

/// The requirements of the extra `toolchain`.
pub fn requirements(version: &str) -> Vec<String> {
    let mut fields = vec!["Provides-Extra: toolchain".to_string()];
    fields.extend(PARTS.iter().map(|part| format!("Requires-Dist: {}=={version}; extra == \"toolchain\"", part.name)));
    fields
}

/// The folder of the workspace's toolchain.
pub fn sysroot(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let mut rustc = workspace.command("rustc");
    let sysroot = process::run_quietly("rustc", rustc.args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(sysroot.trim()))
}

/// Packs the toolchain of this workspace. `program`: the `onrush` of the same release, which builds the prelude.
/// `crates`: those that the prelude links.
pub fn pack(
    workspace: &Workspace,
    version: &str,
    program: &Path,
    crates: &Crates,
    compression: Compression,
) -> Result<Vec<PathBuf>, Failure> {
    let sysroot = sysroot(workspace)?;
    let notice = crates.notice()?;
    let verbose = process::run_quietly("rustc", workspace.command(sysroot.join("bin/rustc")).arg("-vV"))?;
    if !verbose.contains(&format!("host: {TRIPLE}")) {
        return Err(Failure::new(format!("the wheels are for {TRIPLE}, and rustc says:\n{verbose}")));
    }
    let pack = |part: &'static Part| {
        let package = WheelFolder::new(workspace, part.name, version)?;
        let share = package.data().join("data/share/onrush/toolchain");
        match part.contents {
            Contents::Toolchain(folders) => place(&sysroot, folders, &share)?,
            Contents::Prelude => place_prelude(workspace, &sysroot, program, &share)?,
        }
        if part.name == PARTS[0].name {
            // The kernel compares it with the version of another rustc, and takes the folder for whole.
            write(&share.join("version"), &verbose)?;
        }
        describe(workspace, &package, part, &sysroot, &notice)?;
        package.bill(&match part.contents {
            Contents::Toolchain(_) => bill_of(part.name, version, vec![component(part, &verbose)], Vec::new()),
            Contents::Prelude => crates.bill(part.name, version),
        })?;
        let glibc = glibc_of_folder(package.root())?.max(GLIBC);
        let description = Description {
            summary: part.summary,
            license: part.license,
            // An upgrade of one package then upgrades all of them.
            fields: vec![format!("Requires-Dist: onrush-kernel[toolchain]=={version}")],
            page: format!(
                "{}. `pip install 'onrush-kernel[toolchain]'` installs it.\n\n```text\n{verbose}```\n",
                part.summary
            ),
        };
        package.pack(workspace, &description, glibc, compression)
    };
    // Compression has one thread.
    std::thread::scope(|scope| {
        let threads: Vec<_> = PARTS.iter().map(|part| scope.spawn(move || pack(part))).collect();
        let panicked = || Err(Failure::new("packing the toolchain panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
    })
}

fn place(sysroot: &Path, folders: &[(&str, &[&str])], to: &Path) -> Result<(), Failure> {
    for (folder, starts) in folders {
        let from = sysroot.join(folder);
        make(&to.join(folder))?;
        let mut count = 0;
        for entry in fs::read_dir(&from).map_err(|e| Failure::io(from.display(), e))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Programs are named in full: `rustc` is not `rustc-dev`.
            let is_named = |start: &&str| if *folder == "bin" { name == *start } else { name.starts_with(*start) };
            let is_left_out = LEFT_OUT.iter().any(|start| name.starts_with(start));
            if starts.iter().any(is_named) && !is_left_out && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let target = to.join(folder).join(&name);
                fs::copy(entry.path(), &target).map_err(|e| Failure::io(entry.path().display(), e))?;
                count += 1;
            }
        }
        if count == 0 {
            return Err(Failure::new(format!("{} has none of {}", from.display(), starts.join(", "))));
        }
    }
    Ok(())
}

/// Has the program build the prelude with the packed rustc, if the cache has it not, and copies what cells need of it.
fn place_prelude(workspace: &Workspace, sysroot: &Path, program: &Path, to: &Path) -> Result<(), Failure> {
    let mut kit = workspace.command(program);
    kit.arg("kit").env("RUSTC", sysroot.join("bin/rustc")).env("CARGO", sysroot.join("bin/cargo"));
    let said = process::run_quietly("onrush kit", &mut kit)?;
    let folder = said.lines().last().map(|line| PathBuf::from(line.trim())).unwrap_or_default();
    let key = folder.file_name().filter(|_| folder.join("kit.json").is_file());
    let key =
        key.ok_or_else(|| Failure::new(format!("`onrush kit` did not name the folder of the prelude:\n{said}")))?;
    let to = to.join("prelude").join(key);
    make(&to.join("deps"))?;
    for name in ["kit.json", "libonrush.so", "onrush-cell"] {
        fs::copy(folder.join(name), to.join(name)).map_err(|e| Failure::io(folder.join(name).display(), e))?;
    }
    let deps = folder.join("deps");
    for entry in fs::read_dir(&deps).map_err(|e| Failure::io(deps.display(), e))?.flatten() {
        // An `.rlib` has the metadata inside.
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "rmeta") && path.with_extension("rlib").is_file() {
            continue;
        }
        let target = to.join("deps").join(entry.file_name());
        fs::copy(&path, &target).map_err(|e| Failure::io(path.display(), e))?;
    }
    Ok(())
}

fn describe(
    workspace: &Workspace,
    package: &WheelFolder,
    part: &Part,
    sysroot: &Path,
    notice: &str,
) -> Result<(), Failure> {
    for from in part.licenses {
        let from = sysroot.join("share/doc").join(from);
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !from.is_file() {
            return Err(Failure::new(format!(
                "{} is missing: a toolchain of rustup has its licences, other ones may not",
                from.display()
            )));
        }
        package.license(&from, &name)?;
    }
    if matches!(part.contents, Contents::Prelude) {
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            package.license(&workspace.root.join(name), name)?;
        }
        write(&package.description().join("licenses/NOTICE"), notice)?;
    }
    Ok(())
}

/// The toolchain as a component of a bill of materials.
fn component(part: &Part, verbose: &str) -> serde_json::Value {
    let field = |name: &str| verbose.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let version = field("release: ");
    json!({
        "type": "application",
        "bom-ref": format!("pkg:github/rust-lang/rust@{version}"),
        "name": "rust",
        "version": version,
        "purl": format!("pkg:github/rust-lang/rust@{version}"),
        "licenses": [{ "expression": part.license }],
        "properties": [
            { "name": "rust:commit", "value": field("commit-hash: ") },
            { "name": "rust:llvm", "value": field("LLVM version: ") },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extra_names_every_part_of_the_same_version() {
        let fields = requirements("1.2.3");
        assert_eq!(fields.len(), PARTS.len() + 1);
        assert_eq!(fields[1], "Requires-Dist: onrush-toolchain-rustc==1.2.3; extra == \"toolchain\"");
    }

    #[test]
    fn files_are_chosen_by_the_start_of_their_names() {
        let folder = std::env::temp_dir().join(format!("onrush-parts-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        for name in ["bin/rustc", "bin/rustc-real", "bin/cargo-fmt", "lib/libcore-1.rlib", "lib/librustc-x.a"] {
            let path = from.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        place(&from, &[("bin", &["rustc"]), ("lib", &["lib"])], &to).unwrap();
        let names = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(to.join(folder)).unwrap().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        assert_eq!((names("bin"), names("lib")), (vec!["rustc".to_string()], vec!["libcore-1.rlib".to_string()]));
        assert!(place(&from, &[("bin", &["rust-lld"])], &to).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
