//! Detection of programs, GPUs and folders on the machine, without loading a library.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The output of a program; `None` if it is not there or fails.
pub fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Signs of an NVIDIA GPU.
pub struct Gpu {
    pub device: bool,
    pub driver_library: Option<PathBuf>,
    /// By `nvidia-smi`.
    pub description: Option<String>,
}

/// `root` is `/` but for tests.
pub fn gpu(root: &Path) -> Gpu {
    const FOLDERS: [&str; 6] = [
        "usr/lib/x86_64-linux-gnu",
        "usr/lib64",
        "usr/lib",
        "usr/local/nvidia/lib64",
        // WSL2
        "usr/lib/wsl/lib",
        "run/opengl-driver/lib",
    ];
    let device = root.join("dev/nvidia0").exists() || root.join("dev/dxg").exists();
    let from_environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let driver_library = FOLDERS
        .iter()
        .map(|folder| root.join(folder))
        .chain(std::env::split_paths(&from_environment))
        .map(|folder| folder.join("libcuda.so.1"))
        .find(|path| path.exists());
    let query = ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"];
    let description = if device { output_of("nvidia-smi", &query) } else { None };
    let description = description.map(|text| text.lines().map(str::trim).collect::<Vec<_>>().join("; driver "));
    Gpu { device, driver_library, description: description.filter(|text| !text.is_empty()) }
}

/// Bytes of the files in a folder; links are not followed.
pub fn disk_usage(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => disk_usage(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |m| m.len()),
            _ => 0,
        })
        .sum()
}

pub fn megabytes(bytes: u64) -> String {
    match bytes as f64 / 1e6 {
        mb if mb >= 1000.0 => format!("{:.1} GB", mb / 1000.0),
        mb => format!("{mb:.0} MB"),
    }
}

pub fn is_writable(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".probe-{}", std::process::id()));
    fs::write(&probe, b"")?;
    fs::remove_file(&probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_without_a_device_is_seen_as_that() {
        let root = std::env::temp_dir().join(format!("onrush-gpu-{}", std::process::id()));
        fs::create_dir_all(root.join("usr/lib64")).unwrap();
        fs::write(root.join("usr/lib64/libcuda.so.1"), b"12345").unwrap();
        let found = gpu(&root);
        assert!(!found.device && found.description.is_none());
        assert_eq!(found.driver_library, Some(root.join("usr/lib64/libcuda.so.1")));
        assert_eq!(disk_usage(&root), 5);
        fs::remove_dir_all(root).unwrap();
    }
}
