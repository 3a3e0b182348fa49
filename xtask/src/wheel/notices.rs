//! The licences of the crates in a wheel, from the archives of the crates themselves: `NOTICE`, which has each text
//! once, and the bill of materials. The licences of embedded data are a list that is kept by hand.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::TRIPLE;
use super::package::bill_of;
use super::registry::checksums;
use crate::process::{self, Failure};
use crate::workspace::Workspace;

/// Starts of the names of licence files, in capitals.
const FILES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Data of another project that the programs embed.
struct EmbeddedData {
    title: &'static str,
    license: &'static str,
    authors: &'static str,
    address: &'static str,
    text: &'static str,
}

/// The origins that `kernel/map/data/README.md` names and that are not in the public domain.
const EMBEDDED: [EmbeddedData; 3] = [
    EmbeddedData {
        title: "i18n-iso-countries 7.14.0 (codes and names of countries)",
        license: "MIT",
        authors: "2016 widdix GmbH",
        address: "https://github.com/michaelwittig/node-i18n-iso-countries",
        text: include_str!("../../../kernel/map/data/LICENSE-i18n-iso-countries"),
    },
    EmbeddedData {
        title: "world-atlas 2.0.2 (land and countries)",
        license: "ISC",
        authors: "2013-2019 Michael Bostock",
        address: "https://github.com/topojson/world-atlas",
        text: include_str!("../../../kernel/map/data/LICENSE-world-atlas"),
    },
    EmbeddedData {
        title: "us-atlas 3.0.1 (states of the United States)",
        license: "ISC",
        authors: "2013-2019 Michael Bostock",
        address: "https://github.com/topojson/us-atlas",
        text: include_str!("../../../kernel/map/data/LICENSE-us-atlas"),
    },
];

/// Dependencies whose crates a wheel holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Linked crates.
    Linked,
    /// Also crates of build scripts: their libraries lie in the prelude build.
    WithBuildScripts,
}

impl Scope {
    fn includes(self, edge: &EdgeKind) -> bool {
        match edge.kind.as_deref() {
            None => true,
            Some(kind) => kind == "build" && self == Scope::WithBuildScripts,
        }
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Crate>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    /// `null` for a dependency that is linked.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Crate {
    id: String,
    name: String,
    version: String,
    source: Option<String>,
    license: Option<String>,
    license_file: Option<PathBuf>,
    authors: Vec<String>,
    repository: Option<String>,
    manifest_path: PathBuf,
}

/// The crates of the wheel that come from a registry.
pub struct Crates {
    crates: Vec<Crate>,
    /// By the place in `crates`.
    dependencies: Vec<BTreeSet<usize>>,
    checksums: HashMap<(String, String), String>,
}

impl Crates {
    /// `roots`: the packages of the workspace whose dependencies the wheel holds, as code or as archives.
    pub fn read(workspace: &Workspace, roots: &[&str], scope: Scope) -> Result<Self, Failure> {
        let mut cargo = workspace.cargo();
        cargo.args(["metadata", "--format-version=1", "--locked", "--filter-platform", TRIPLE]);
        let text = process::run_quietly("cargo metadata", &mut cargo)?;
        let metadata: Metadata =
            serde_json::from_str(&text).map_err(|e| Failure::new(format!("cargo metadata: {e}")))?;
        let lock = workspace.root.join("Cargo.lock");
        let lock = fs::read_to_string(&lock).map_err(|e| Failure::io(lock.display(), e))?;
        Ok(Crates::of(metadata, roots, scope, checksums(&lock)))
    }

    fn of(metadata: Metadata, roots: &[&str], scope: Scope, checksums: HashMap<(String, String), String>) -> Self {
        let below: HashMap<&str, Vec<&str>> = metadata
            .resolve
            .nodes
            .iter()
            .map(|node| {
                let is_held = |edge: &&Edge| edge.dep_kinds.iter().any(|kind| scope.includes(kind));
                (node.id.as_str(), node.deps.iter().filter(is_held).map(|edge| edge.pkg.as_str()).collect())
            })
            .collect();
        let members = metadata.packages.iter().filter(|package| package.source.is_none());
        let is_root = |package: &&Crate| roots.contains(&package.name.as_str());
        let mut open: Vec<&str> = members.filter(is_root).map(|package| package.id.as_str()).collect();
        let mut found: BTreeSet<String> = BTreeSet::new();
        while let Some(id) = open.pop() {
            if found.insert(id.to_string()) {
                open.extend(below.get(id).into_iter().flatten());
            }
        }
        let edges: HashMap<String, Vec<String>> = below
            .into_iter()
            .map(|(id, all)| (id.to_string(), all.into_iter().map(str::to_string).collect()))
            .collect();
        let mut crates: Vec<Crate> = metadata
            .packages
            .into_iter()
            .filter(|package| package.source.is_some() && found.contains(&package.id))
            .collect();
        crates.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        let places: HashMap<&str, usize> =
            crates.iter().enumerate().map(|(place, of)| (of.id.as_str(), place)).collect();
        let below = |of: &Crate| edges.get(&of.id).into_iter().flatten();
        let dependencies =
            crates.iter().map(|of| below(of).filter_map(|id| places.get(id.as_str()).copied()).collect()).collect();
        Crates { crates, dependencies, checksums }
    }

    pub fn len(&self) -> usize {
        self.crates.len()
    }

    /// The text of NOTICE: the crates, then each licence text with the crates that it belongs to.
    pub fn notice(&self) -> Result<String, Failure> {
        let mut out = String::from(
            "Onrush contains the crates below. Each licence text follows once, after the crates that it belongs to.\n\
             The sources of NAME VERSION are at https://crates.io/crates/NAME/VERSION.\n\n",
        );
        // By the words of the text: copies differ in their lines.
        let mut texts: BTreeMap<Vec<String>, (String, Vec<String>)> = BTreeMap::new();
        let mut lacking = Vec::new();
        for of in &self.crates {
            let title = format!("{} {}", of.name, of.version);
            let license = of.license.as_deref().unwrap_or("see its licence file");
            let _ = writeln!(out, "{title}: {license}");
            let found = licenses_of(of)?;
            if found.is_empty() {
                lacking.push((title, of));
                continue;
            }
            for text in found {
                let words = text.split_whitespace().map(str::to_string).collect();
                texts.entry(words).or_insert((text, Vec::new())).1.push(title.clone());
            }
        }
        let mut texts: Vec<(String, Vec<String>)> = texts.into_values().collect();
        texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
        for (text, mut titles) in texts {
            titles.dedup();
            let _ = write!(out, "\n{}\n{}\n\n{}\n", "=".repeat(80), titles.join(", "), text.trim_end());
        }
        let _ = write!(out, "\n{}\n", "=".repeat(80));
        let _ = writeln!(out, "The archives of these crates have no licence file. Their manifests say:\n");
        for (title, of) in lacking {
            let authors = if of.authors.is_empty() { "its authors".to_string() } else { of.authors.join(", ") };
            let repository = of.repository.as_deref().unwrap_or("crates.io");
            let license = of.license.as_deref().unwrap_or("no licence");
            let _ = writeln!(out, "{title}: {license}; copyright {authors}; {repository}");
        }
        Ok(out)
    }

    pub fn bill(&self, name: &str, version: &str) -> Value {
        let reference = |of: &Crate| format!("pkg:cargo/{}@{}", of.name, of.version);
        let component = |of: &Crate| {
            let mut component = json!({
                "type": "library",
                "bom-ref": reference(of),
                "name": of.name,
                "version": of.version,
                "purl": reference(of),
            });
            if let Some(license) = &of.license {
                // An older form of `OR`.
                component["licenses"] = json!([{ "expression": license.replace('/', " OR ").replace("  ", " ") }]);
            }
            if let Some(checksum) = self.checksums.get(&(of.name.clone(), of.version.clone())) {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
            }
            component
        };
        let depends = |(of, below): (&Crate, &BTreeSet<usize>)| {
            let below: Vec<String> = below.iter().map(|place| reference(&self.crates[*place])).collect();
            json!({ "ref": reference(of), "dependsOn": below })
        };
        let components = self.crates.iter().map(component).collect();
        bill_of(name, version, components, self.crates.iter().zip(&self.dependencies).map(depends).collect())
    }
}

/// The end of the NOTICE of the programs: the data of other projects in them.
pub fn of_data() -> String {
    let line = "=".repeat(80);
    let mut out = format!(
        "\n{line}\nThe programs contain the data below. The shapes are those of Natural Earth and the US Census Bureau,\n\
         whose data are in the public domain.\n"
    );
    for EmbeddedData { title, license, authors, address, text } in &EMBEDDED {
        let _ = write!(out, "\n{line}\n{title}: {license}; copyright {authors}; {address}\n\n{}\n", text.trim_end());
    }
    out
}

/// The contents of the licence files in a crate's folder, by name.
fn licenses_of(of: &Crate) -> Result<Vec<String>, Failure> {
    let folder = of.manifest_path.parent().unwrap_or(Path::new("."));
    let mut paths: BTreeSet<PathBuf> = of.license_file.iter().map(|file| folder.join(file)).collect();
    for entry in fs::read_dir(folder).map_err(|e| Failure::io(folder.display(), e))?.flatten() {
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if !FILES.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        match fs::read_dir(entry.path()) {
            Ok(inner) => paths.extend(inner.flatten().map(|entry| entry.path())),
            Err(_) => drop(paths.insert(entry.path())),
        }
    }
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).map_err(|e| Failure::io(path.display(), e))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    paths.into_iter().filter(|path| path.is_file()).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `onrush-session` links `a`, which links `b`; it is built with `c` and tested with `d`.
    #[test]
    fn linked_crates_are_named_with_their_texts() {
        let folder = std::env::temp_dir().join(format!("onrush-notices-{}", std::process::id()));
        for name in ["a", "b", "c", "d"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("a/LICENSE-MIT"), "The MIT License\n\ncopyright A\n").unwrap();
        let package = |name: &str, source: Option<&str>| {
            json!({ "id": name, "name": name, "version": "1.0.0", "source": source, "license": "MIT/Apache-2.0",
                "license_file": null, "authors": ["B"], "repository": null,
                "manifest_path": folder.join(name).join("Cargo.toml") })
        };
        let registry = Some("registry");
        let edge = |name: &str, kind: Option<&str>| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("onrush-session", None), package("b", registry), package("a", registry),
                package("c", registry), package("d", registry)],
            "resolve": { "nodes": [
                { "id": "onrush-session",
                    "deps": [edge("a", None), edge("c", Some("build")), edge("d", Some("dev"))] },
                { "id": "a", "deps": [edge("b", None)] },
                { "id": "b", "deps": [] }, { "id": "c", "deps": [] }, { "id": "d", "deps": [] },
            ] },
        });
        let checksums = HashMap::from([(("a".to_string(), "1.0.0".to_string()), "00ff".to_string())]);
        let read = |scope, checksums| {
            Crates::of(serde_json::from_value(metadata.clone()).unwrap(), &["onrush-session"], scope, checksums)
        };
        let crates = read(Scope::Linked, checksums);
        let notice = crates.notice().unwrap();
        assert_eq!(crates.len(), 2);
        assert!(notice.contains("\na 1.0.0\n\nThe MIT License\n\ncopyright A\n"), "{notice}");
        assert!(notice.contains("b 1.0.0: MIT/Apache-2.0; copyright B; crates.io"), "{notice}");
        assert!(!notice.contains("c 1.0.0"), "{notice}");
        let built = read(Scope::WithBuildScripts, HashMap::new());
        let notice = built.notice().unwrap();
        assert_eq!(built.len(), 3);
        assert!(notice.contains("c 1.0.0: MIT/Apache-2.0; copyright B; crates.io"), "{notice}");
        assert!(!notice.contains("d 1.0.0"), "{notice}");
        let bill = crates.bill("onrush-kernel", "0.2.0");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "00ff");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][0], json!({ "ref": "pkg:cargo/a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"] }));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn embedded_data_is_named_with_its_licence() {
        let notice = of_data();
        let titles = ["i18n-iso-countries 7.14.0", "world-atlas 2.0.2", "us-atlas 3.0.1"];
        assert!(titles.iter().all(|title| notice.contains(&format!("\n{title} ("))), "{notice}");
        // Each licence asks for its first line and its permission.
        assert_eq!(notice.matches("\nCopyright 2013-2019 Michael Bostock\n").count(), 2);
        assert_eq!(notice.matches("\nCopyright (c) 2016 widdix GmbH\n").count(), 1);
        assert_eq!(notice.matches("is hereby granted").count(), 3);
    }
}
