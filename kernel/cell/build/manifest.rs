//! The workspace of the prelude build: its members and its manifest. `cargo xtask wheel` includes this file too.

use std::fmt::Write;

/// The folders of the members, below `kernel`.
pub const CRATES: [&str; 5] = ["wire", "stats", "macros", "onrush", "host"];

/// Builds the workspace manifest of the prelude build: its members, and the sections that its crates inherit from.
pub fn kit_manifest(text: &str) -> String {
    let mut out = String::from("[workspace]\nresolver = \"3\"\nmembers = [");
    for name in CRATES {
        let _ = write!(out, "\"kernel/{name}\", ");
    }
    out.push_str("]\n\n");
    let mut keep = false;
    for line in text.lines() {
        if let Some(section) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
            keep = ["workspace.package", "workspace.dependencies", "workspace.lints", "profile.kit"]
                .iter()
                .any(|wanted| section == *wanted || section.starts_with(&format!("{wanted}.")));
        }
        if keep {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
