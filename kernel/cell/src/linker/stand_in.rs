//! A stand-in for the C compiler as rustc's linker, on a machine that has none. It is a folder of the cache. A script
//! calls `rust-lld`, an object file is the entry point of programs, and links give the system's libraries the names
//! that `-l` looks for.
//!
//! With it, build scripts, procedural macros and crates in Rust are linked. C sources are not compiled.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::SystemLibraries;
use crate::toolchain::Toolchain;

/// The libraries that the standard library of Rust names. The last four are part of the C library today.
const LIBRARIES: [(&str, &str); 7] = [
    ("libc.so", "libc.so.6"),
    ("libm.so", "libm.so.6"),
    ("libgcc_s.so", "libgcc_s.so.1"),
    ("libdl.so", "libdl.so.2"),
    ("libpthread.so", "libpthread.so.0"),
    ("librt.so", "librt.so.1"),
    ("libutil.so", "libutil.so.1"),
];
const ENTRY: &str = include_str!("crt1.rs");
const SCRIPT: &str = include_str!("cc.sh");

/// Whether the search path has a C compiler that links programs. Their entry point is a development file of the C
/// library.
pub fn has_compiler() -> bool {
    super::asked_of_compiler("Scrt1.o").is_some()
}

/// Finds or makes the stand-in below `cache`. `None` if the toolchain has no linker for this processor, the system's
/// libraries are not found, or glibc is older than 2.34.
pub fn ensure(toolchain: &Toolchain, cache: &Path) -> io::Result<Option<PathBuf>> {
    let Some(linker) = super::program(toolchain).filter(|_| toolchain.host().starts_with("x86_64-")) else {
        return Ok(None);
    };
    let system = SystemLibraries::find();
    let Some(c_library) = system.path("libc.so.6") else { return Ok(None) };
    if !calls_constructors(&c_library)? {
        return Ok(None);
    }
    let mut libraries = Vec::new();
    for (name, soname) in LIBRARIES {
        match system.path(soname) {
            Some(path) => libraries.push((name, path)),
            None if name == "libgcc_s.so" => return Ok(None),
            None => libraries.push((name, c_library.clone())),
        }
    }
    let script = script(&linker);
    let folder = cache.join("link").join(name(toolchain, &script, &libraries));
    let program = folder.join("cc");
    if program.is_file() {
        return Ok(Some(program));
    }
    let partial = folder.with_extension(format!("{}.part", std::process::id()));
    // A process with the same number may have left it.
    remove(&partial)?;
    fs::create_dir_all(&partial)?;
    for (name, path) in libraries {
        symlink(path, partial.join(name))?;
    }
    fs::write(partial.join("crt1.rs"), ENTRY)?;
    let mut rustc = Command::new(&toolchain.rustc);
    rustc.args(["--crate-type=lib", "--edition=2024", "--emit=obj", "-Cpanic=abort", "-Copt-level=1", "crt1.rs"]);
    rustc.current_dir(&partial).stdin(Stdio::null()).env_remove("RUSTFLAGS").env_remove("LD_LIBRARY_PATH");
    let output = rustc.output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_string()));
    }
    let mut file = File::create(partial.join("cc"))?;
    file.write_all(script.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(0o755))?;
    drop(file);
    // A folder without the program is damaged.
    if !program.is_file() {
        remove(&folder)?;
    }
    // Another kernel process may have been faster: its folder is the same.
    if fs::rename(&partial, &folder).is_err() {
        fs::remove_dir_all(&partial)?;
    }
    Ok(program.is_file().then_some(program))
}

/// Whether the C library calls the constructors of a program itself. Before glibc 2.34 it called a function that the
/// C compiler's `crt1.o` gave to it, and `crt1.rs` gives none.
fn calls_constructors(c_library: &Path) -> io::Result<bool> {
    // The name of the first version in which `__libc_start_main` does so.
    Ok(fs::read(c_library)?.split(|byte| *byte == 0).any(|name| name == b"GLIBC_2.34"))
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The script with the path of the linker in front of its last line.
fn script(linker: &Path) -> String {
    let quoted = linker.display().to_string().replace('\'', r"'\''");
    SCRIPT.replace("exec \"$LLD\"", &format!("LLD='{quoted}'\nexec \"$LLD\""))
}

fn name(toolchain: &Toolchain, script: &str, libraries: &[(&str, PathBuf)]) -> String {
    let mut hasher = blake3::Hasher::new();
    let paths = libraries.iter().map(|(_, path)| path.as_os_str().as_encoded_bytes());
    for part in [toolchain.verbose_version.as_bytes(), script.as_bytes(), ENTRY.as_bytes()].into_iter().chain(paths) {
        hasher.update(part);
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex()[..16].to_string()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// A program prints the arguments that the script gives to the linker.
    fn given_to_linker(arguments: &[&str]) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("onrush cc'{}-{}", std::process::id(), arguments.len()));
        fs::create_dir_all(&folder).unwrap();
        let linker = folder.join("lld");
        fs::write(&linker, "#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done\n").unwrap();
        fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).unwrap();
        let cc = folder.join("cc");
        fs::write(&cc, script(&linker)).unwrap();
        let output = Command::new("/bin/sh").arg(&cc).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let here = folder.display().to_string();
        fs::remove_dir_all(&folder).unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.replace(&here, "HERE")).collect()
    }

    #[test]
    fn a_shared_library_has_no_entry_point() {
        let lines = given_to_linker(&["-m64", "-shared", "-o", "a b.so", "*.o", "-Wl,-soname,x,-rpath,$ORIGIN", "-lc"]);
        let own = lines.iter().position(|line| line == "HERE").unwrap() + 1;
        assert_eq!(lines[own..], ["-shared", "-o", "a b.so", "*.o", "-soname", "x", "-rpath", "$ORIGIN", "-lc"]);
        assert!(!lines.contains(&"HERE/crt1.o".to_string()));
    }

    #[test]
    fn a_program_begins_with_its_entry_point() {
        let lines =
            given_to_linker(&["-pie", "main.o", "-nodefaultlibs", "-fuse-ld=lld", "-B/gcc-ld", "-Wl,--as-needed"]);
        let start = lines.iter().position(|line| line == "HERE/crt1.o").unwrap();
        assert_eq!(lines[start..], ["HERE/crt1.o", "-L", "HERE", "-pie", "main.o", "--as-needed"]);
    }

    fn toolchain() -> Toolchain {
        let output = |argument: &[&str]| {
            let output = Command::new("rustc").args(argument).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let sysroot = PathBuf::from(output(&["--print", "sysroot"]).trim());
        let [rustc, cargo] = ["rustc", "cargo"].map(|name| sysroot.join("bin").join(name));
        Toolchain { rustc, cargo, sysroot, verbose_version: output(&["-vV"]), linker: None, no_linker: None }
    }

    #[test]
    fn an_old_c_library_is_not_enough() {
        let file = std::env::temp_dir().join(format!("onrush-libc-{}", std::process::id()));
        for (names, is_enough) in [("\0GLIBC_2.33\0GLIBC_2.4\0", false), ("\0GLIBC_2.34\0GLIBC_2.36\0", true)] {
            fs::write(&file, names).unwrap();
            assert_eq!(calls_constructors(&file).unwrap(), is_enough);
        }
        fs::remove_file(&file).unwrap();
    }

    /// A program, a panic that is caught, and a thread: the parts of the C library that a build script uses.
    #[test]
    fn programs_run_that_were_linked_without_a_compiler() {
        let cache = std::env::temp_dir().join(format!("onrush-stand-in-{}", std::process::id()));
        fs::create_dir_all(&cache).unwrap();
        let toolchain = toolchain();
        let cc = ensure(&toolchain, &cache).unwrap().unwrap();
        assert_eq!(ensure(&toolchain, &cache).unwrap(), Some(cc.clone()));
        // As processes leave it that were ended in between.
        let partial = cc.parent().unwrap().with_extension(format!("{}.part", std::process::id()));
        fs::create_dir_all(&partial).unwrap();
        fs::write(partial.join("libc.so"), "").unwrap();
        fs::remove_file(&cc).unwrap();
        assert_eq!(ensure(&toolchain, &cache).unwrap(), Some(cc.clone()));
        let source = "thread_local! { static DROPPED: Note = const { Note }; } struct Note;
            impl Drop for Note { fn drop(&mut self) { println!(\"dropped\"); } }
            fn main() {
                println!(\"{:?}\", std::env::args().skip(1).collect::<Vec<_>>());
                std::panic::set_hook(Box::new(|_| ()));
                println!(\"{}\", std::panic::catch_unwind(|| panic!(\"no\")).is_err());
                std::thread::spawn(|| DROPPED.with(|_| println!(\"{}\", 4f64.sqrt()))).join().unwrap();
            }";
        let main = cache.join("main.rs");
        fs::write(&main, source).unwrap();
        let program = cache.join("main");
        let mut rustc = Command::new(&toolchain.rustc);
        rustc.arg(&main).arg("-o").arg(&program).arg(format!("-Clinker={}", cc.display()));
        let output = rustc.env("PATH", OsStr::new("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = Command::new(&program).args(["a", "b"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "[\"a\", \"b\"]\ntrue\n2\ndropped\n");
        fs::remove_dir_all(&cache).unwrap();
    }
}
