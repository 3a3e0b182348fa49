//! The versions of a notebook's crates: the text of a `Cargo.lock`. It is kept with the outputs of the cells that ask
//! for crates, and read from there when the notebook is opened again.
//!
//! Locked versions are advice to cargo: a request that no longer fits is resolved anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The MIME type of the output that carries a lock, and the key of the notebook's metadata that may.
pub const MIME: &str = "application/vnd.onrush.lock+json";

/// The crates whose types the prelude has in its interface: a notebook gets the prelude's own.
pub fn is_shared(name: &str) -> bool {
    matches!(name, "serde" | "serde_core" | "chrono" | "arrow") || name.starts_with("arrow-")
}

fn blocks(lock: &str) -> impl Iterator<Item = &str> {
    lock.split("[[package]]\n").skip(1)
}

fn field<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

/// Name, version and source of every crate but the notebook itself.
pub fn packages(lock: &str) -> BTreeSet<(&str, &str, &str)> {
    let of = |block| Some((field(block, "name")?, field(block, "version")?, field(block, "source").unwrap_or("")));
    blocks(lock).filter_map(of).filter(|(name, ..)| *name != super::ROOT).collect()
}

/// The versions that cargo starts from: the notebook's, and the prelude's for shared crates.
pub fn seed(notebook: Option<&str>, prelude: &str) -> String {
    let mut out = String::from("version = 4\n");
    let mut add = |block: &str| {
        out.push_str("\n[[package]]\n");
        out.push_str(block.trim_end());
        out.push('\n');
    };
    let name = |block: &&str| field(block, "name").unwrap_or_default().to_string();
    blocks(prelude).filter(|block| is_shared(&name(block))).for_each(&mut add);
    let own = |block: &&str| !is_shared(&name(block)) && name(block) != super::ROOT;
    blocks(notebook.unwrap_or_default()).filter(own).for_each(&mut add);
    out
}

/// One lock, and of another one the crates that it does not have.
pub fn merge(newer: &str, older: &str) -> String {
    let has: BTreeSet<&str> = packages(newer).into_iter().map(|(name, ..)| name).collect();
    let is_new = |block: &&str| field(block, "name").is_some_and(|name| !has.contains(name) && name != super::ROOT);
    let more = blocks(older).filter(is_new);
    let more: String = more.map(|block| format!("\n[[package]]\n{}\n", block.trim_end())).collect();
    format!("{}\n{more}", newer.trim_end())
}

/// A lock without one crate.
pub fn without(lock: &str, name: &str) -> String {
    let own = |block: &&str| field(block, "name") != Some(name);
    let head = lock.split("[[package]]\n").next().unwrap_or_default().trim_end();
    let rest: String = blocks(lock).filter(own).map(|block| format!("\n[[package]]\n{}\n", block.trim_end())).collect();
    format!("{head}\n{rest}")
}

/// The lock in a notebook's file, `None` if there is none. The last cell that asked for crates knows of all of them.
pub fn in_notebook(path: &Path) -> Option<String> {
    let file: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let of_output = |output: &Value| lock_of(&output["data"][MIME]);
    let cells = file["cells"].as_array()?;
    let outputs = cells.iter().filter_map(|cell| cell["outputs"].as_array()).flatten();
    outputs.filter_map(of_output).next_back().or_else(|| lock_of(&file["metadata"]["onrush"]))
}

fn lock_of(value: &Value) -> Option<String> {
    match &value["lock"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => {
            Some(lines.iter().filter_map(Value::as_str).flat_map(|line| [line, "\n"]).collect::<String>())
        }
        _ => None,
    }
}

/// The data of the output that carries a lock.
pub fn data(lock: &str) -> String {
    serde_json::json!({ "lock": lock.lines().collect::<Vec<_>>() }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "# comment\nversion = 4\n\n[[package]]\nname = \"rand\"\nversion = \"0.9.5\"\nsource = \"r\"\n\
        dependencies = [\n \"serde\",\n]\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\n\n[[package]]\n\
        name = \"onrush_dependencies\"\nversion = \"0.0.0\"\n";

    #[test]
    fn what_the_prelude_shares_comes_in_its_version() {
        let prelude = "version = 4\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.9\"\n\n[[package]]\nname = \"libc\"\n\
            version = \"0.2.1\"\n";
        assert_eq!(packages(LOCK), BTreeSet::from([("rand", "0.9.5", "r"), ("serde", "1.0.1", "")]));
        let seeded = seed(Some(LOCK), prelude);
        assert_eq!(packages(&seeded), BTreeSet::from([("rand", "0.9.5", "r"), ("serde", "1.0.9", "")]));
        assert_eq!(packages(&seed(None, prelude)).len(), 1);
        let merged = merge(prelude, LOCK);
        assert_eq!(
            packages(&merged),
            BTreeSet::from([("rand", "0.9.5", "r"), ("serde", "1.0.9", ""), ("libc", "0.2.1", "")])
        );
    }

    #[test]
    fn the_last_output_counts() {
        let folder = std::env::temp_dir().join(format!("onrush-lock-{}", std::process::id()));
        let output = |lock: &str| {
            let data: Value = serde_json::from_str(&data(lock)).unwrap();
            serde_json::json!({ "outputs": [{ "data": { MIME: data } }] })
        };
        let file = serde_json::json!({ "cells": [output("old"), { "source": "" }, output(LOCK)], "metadata": {} });
        fs::write(&folder, file.to_string()).unwrap();
        assert_eq!(in_notebook(&folder).as_deref(), Some(LOCK));
        fs::write(&folder, "{\"cells\": [], \"metadata\": {\"onrush\": {\"lock\": \"a\"}}}").unwrap();
        assert_eq!(in_notebook(&folder).as_deref(), Some("a"));
        fs::remove_file(folder).unwrap();
    }
}
