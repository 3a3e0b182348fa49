//! A resolved and built graph of crates: what cells link, and what it is locked to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One crate of a graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Crate {
    pub package: String,
    pub version: String,
    /// As its own code is named: `serde_json`.
    pub name: String,
    /// Its name in cells, if the notebook asks for it.
    pub direct: Option<String>,
    pub library: PathBuf,
    /// It is the prelude's own.
    pub shared: bool,
    pub is_macro: bool,
    /// The crates that it was built with.
    #[serde(default)]
    pub features: BTreeSet<String>,
}

impl Crate {
    /// Cells have it from the prelude, under the same name.
    pub fn is_in_prelude(&self) -> bool {
        self.shared
            && matches!(self.direct.as_deref(), Some("arrow" | "chrono" | "serde"))
            && self.direct.as_ref() == Some(&self.name)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Graph {
    /// Stands for all that was asked for and how it was resolved.
    pub key: String,
    /// Links to all libraries.
    pub folder: PathBuf,
    /// The text of `Cargo.lock`.
    pub lock: String,
    pub crates: Vec<Crate>,
    /// Notes for the user about the builds.
    pub notes: Vec<String>,
    /// Folders of local crates, and what their files looked like.
    pub stamps: BTreeMap<PathBuf, String>,
}
