//! A full disk, named: the folder that is full, how much is free there, and what to do. The file that failed on it is
//! not looked at here.

use std::path::Path;

use onrush_wire::{Class, Diagnostic, paths};

/// The messages of the system, rustc, the linker and cargo for a file that cannot grow.
const WORDS: [&str; 6] =
    ["No space left on device", "os error 28", "Disk quota exceeded", "os error 122", "File too large", "os error 27"];
/// Less than a compile needs: a linker that maps its output dies without a word.
const LITTLE: u64 = 1 << 20;

/// The error as it came, or that the disk with `folder` is full, if that is why.
pub fn explained(diagnostic: Diagnostic, folder: &Path) -> Diagnostic {
    let said = [&diagnostic.message].into_iter().chain(&diagnostic.notes);
    let says = said.into_iter().any(|text| is_full(text));
    let dies = matches!(diagnostic.class, Class::Environment | Class::Internal);
    if says || dies && paths::free(folder).is_some_and(|free| free < LITTLE) {
        return full(folder).note(diagnostic.message);
    }
    diagnostic
}

pub fn is_full(text: &str) -> bool {
    WORDS.iter().any(|word| text.contains(word))
}

/// That there is no room for what is written to `folder`, or to the folder for temporary files, whichever has less.
pub fn full(folder: &Path) -> Diagnostic {
    let temporary = std::env::temp_dir();
    let free = |folder: &Path| paths::free(folder).unwrap_or(u64::MAX);
    let is_temporary = free(&temporary) < free(folder);
    let fullest = if is_temporary { temporary.as_path() } else { folder };
    let left = match paths::free(fullest) {
        Some(bytes) => format!("{:.1} MB are free", bytes as f64 / 1e6),
        None => "how much is free is not known".to_string(),
    };
    let variable = if is_temporary { "TMPDIR" } else { paths::CACHE_DIR };
    Diagnostic::error(Class::Environment, "disk-full", format!("the disk of {} is full: {left}", fullest.display()))
        .help(format!("delete files there, or set {variable} to a folder on another disk and restart the kernel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words are those of Linux's `strerror` and of Rust's `io::Error`.
    #[test]
    fn a_full_disk_is_named_and_other_errors_stay() {
        let error = |text: &str| Diagnostic::error(Class::Compile, "rustc", text);
        let folder = std::env::temp_dir();
        let full =
            explained(error("rustc could not be run").note(std::io::Error::from_raw_os_error(28).to_string()), &folder);
        assert_eq!(full.code, "disk-full");
        assert!(full.message.starts_with(&format!("the disk of {} is full: ", folder.display())), "{}", full.message);
        assert!(full.help[0].contains("delete files there"), "{:?}", full.help);
        assert_eq!(explained(error("mismatched types"), &folder).code, "rustc");
    }
}
