//! File and folder names, relative to the notebook's folder.

use std::path::{Path, PathBuf};

use super::Candidates;

/// More than a person reads.
const MOST: usize = 500;

/// `typed` is what stands before the cursor, which is at byte `at` of the text. `liked` are endings that come first.
pub fn complete<'a>(
    text: &'a str,
    at: usize,
    typed: &str,
    folder: &Path,
    liked: &[String],
    candidates: &mut Candidates<'a>,
) {
    let (above, name) = typed.rsplit_once('/').map_or(("", typed), |(above, name)| (above, name));
    let base = match typed.contains('/') {
        false => folder.to_path_buf(),
        true if above.is_empty() => PathBuf::from("/"),
        true => folder.join(above),
    };
    candidates.replace(text, at - name.len()..at);
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for entry in entries.flatten().take(MOST) {
        let file = entry.file_name().to_string_lossy().into_owned();
        if file.starts_with('.') && !name.starts_with('.') {
            continue;
        }
        // For a link, the target.
        let is_folder = entry.path().is_dir();
        let is_liked = liked.is_empty() || liked.iter().any(|ending| file.ends_with(ending.as_str()));
        match is_folder {
            true => candidates.add(1, &format!("{file}/"), "folder", ""),
            false => candidates.add(if is_liked { 0 } else { 2 }, &file, "file", ""),
        }
    }
}
