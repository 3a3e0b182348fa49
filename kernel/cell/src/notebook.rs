//! The state that a notebook's earlier cells left behind: variables, items, macros, imports, and the crates that hold
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use crate::deps::Dependencies;
use crate::parse::UseLeaf;
use crate::source_map::SourceMap;

/// One compiled cell.
#[derive(Clone, Debug)]
pub struct CellCrate {
    /// `onrush_cell_3`.
    pub name: String,
    /// The file name that rustc was given.
    pub file: String,
    pub library: PathBuf,
    /// Indexes of the crates that it links.
    pub links: BTreeSet<usize>,
    /// The sources that rustc was given, to make the crate again with more in it.
    pub files: Vec<(String, String)>,
    /// The cell's text with everything but its `macro_rules!` blanked out.
    pub macros: String,
    pub map: SourceMap,
}

#[derive(Clone, Debug)]
pub struct KnownVariable {
    /// The type as code can spell it.
    pub type_code: String,
    pub mutable: bool,
    pub preview: Option<String>,
    pub bytes: u64,
}

/// The reason why a variable no longer exists, and the cell that ended it. Displayed as the rest of a sentence: "was
/// moved by cell 3".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its name begins with `_`.
    Underscore(u64),
    Moved(u64),
    MovedInPart(u64),
    /// Declared without a value.
    Unset(u64),
    /// From another variable.
    Borrowed(u64),
    /// The kind of its value, which cannot outlive a cell: as for `hints::keeping`.
    Unkept(&'static str, u64),
    /// Another variable of the cell borrows.
    WithCell(u64),
    /// The cell returned before the `let`.
    NotMade(u64),
    CellFailed(u64),
    ProcessLost,
    Cleared,
    CellsRestarted,
    /// The name of its crate, which was built again.
    EarlierBuild(String),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Underscore(cell) => write!(f, "begins with `_`, so it ended with cell {cell}"),
            Loss::Moved(cell) => write!(f, "was moved by cell {cell}"),
            Loss::MovedInPart(cell) => write!(f, "was moved in part by cell {cell}"),
            Loss::Unset(cell) => write!(f, "got no value in cell {cell}"),
            Loss::Borrowed(cell) => write!(f, "borrowed from another variable and ended with cell {cell}"),
            Loss::Unkept(what, cell) => write!(f, "is {what}, and ended with cell {cell}"),
            Loss::WithCell(cell) => write!(f, "ended with cell {cell}, in which something borrows"),
            Loss::NotMade(cell) => write!(f, "was not made: cell {cell} returned before it"),
            Loss::CellFailed(cell) => write!(f, "is made by cell {cell}, which failed"),
            Loss::ProcessLost => write!(f, "was lost with the cell process"),
            Loss::Cleared => write!(f, "was forgotten by `:clear`"),
            Loss::CellsRestarted => write!(f, "went with its cell process (`:restart-cells`)"),
            Loss::EarlierBuild(name) => write!(f, "was of an earlier build of `{name}`"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct KnownMacro {
    pub home: usize,
    pub mentions: BTreeSet<String>,
}

/// The newest item of a name as it was written.
#[derive(Clone, Debug)]
pub struct KnownSource {
    pub text: String,
    pub mentions: BTreeSet<String>,
    /// The crates of all items that had the name.
    pub homes: BTreeSet<usize>,
    /// Imports and crates that decide the meaning of its names, in addition to other items.
    pub import_context: BTreeSet<String>,
    /// The cell that it stands in.
    pub file: String,
}

#[derive(Clone, Debug, Default)]
pub struct Notebook {
    /// The folder of its file.
    pub folder: PathBuf,
    pub crates: Vec<CellCrate>,
    pub variables: BTreeMap<String, KnownVariable>,
    /// Named items and the crate that has the newest of that name.
    pub items: BTreeMap<String, usize>,
    pub sources: BTreeMap<String, KnownSource>,
    pub traits: BTreeSet<String>,
    pub macros: BTreeMap<String, KnownMacro>,
    /// Names that calls of macros may have defined, and in which crates, older first.
    pub made: Vec<(BTreeSet<String>, usize)>,
    pub uses: Vec<UseLeaf>,
    /// Files of impls that went to an earlier crate: the cell's file, and how their columns lead there.
    pub impl_files: BTreeMap<String, (String, SourceMap)>,
    /// Names of methods by the type that cells gave them to.
    pub methods: BTreeMap<String, BTreeSet<String>>,
    /// Variables that no longer exist, with the reason.
    pub gone: BTreeMap<String, Loss>,
    /// Variables to which a later cell can assign: `mut` ones that a cell has moved, with the code of their type. And
    /// declared ones that got no value, with the type as the user wrote it.
    pub moved: BTreeMap<String, KnownVariable>,
    /// Names of the prelude that the globs among `uses` have not, as rustc found out.
    pub missing: BTreeSet<String>,
    /// Crates of `:dep`.
    pub dependencies: Dependencies,
}

impl Notebook {
    pub fn crate_by_file(&self, file: &str) -> Option<&CellCrate> {
        self.crates.iter().rev().find(|c| c.file == file)
    }

    /// The user's file and the map for a file that rustc was given.
    pub fn map_of<'a>(&'a self, file: &'a str) -> Option<(&'a str, &'a SourceMap)> {
        let impls = self.impl_files.get(file).map(|(users, map)| (users.as_str(), map));
        impls.or_else(|| self.crate_by_file(file).map(|c| (file, &c.map)))
    }

    pub fn crate_by_name(&self, name: &str) -> Option<usize> {
        self.crates.iter().position(|c| c.name == name)
    }

    /// Parses the definition of a macro of an earlier cell.
    pub fn macro_definition(&self, name: &str) -> Option<syn::ItemMacro> {
        let text = &self.crates[self.macros.get(name)?.home].macros;
        let items = syn::parse_file(text).ok()?.items;
        items.into_iter().find_map(|item| match item {
            syn::Item::Macro(item) if item.ident.as_ref().is_some_and(|ident| ident == name) => Some(item),
            _ => None,
        })
    }

    /// A crate with all that it links, each after what it links itself.
    pub fn closure(&self, roots: &BTreeSet<usize>) -> Vec<usize> {
        let mut order = Vec::new();
        roots.iter().for_each(|&index| self.visit(index, &mut order));
        order
    }

    /// Links have no cycles: rustc would not have compiled them.
    fn visit(&self, index: usize, order: &mut Vec<usize>) {
        if !order.contains(&index) {
            self.crates[index].links.iter().for_each(|&link| self.visit(link, order));
            order.push(index);
        }
    }
}
