//! What completion and inspection need of an executor, as a copy: they are asked while a cell runs, and the executor is busy
//! then.

use std::collections::BTreeMap;

use crate::complete;
use crate::executor::{Completeness, Completions, Inspection};
use crate::notebook::Notebook;

/// The notebook as it was when the last cell had ended.
#[derive(Clone, Default)]
pub struct Names {
    notebook: Notebook,
    sources: BTreeMap<String, (u64, String)>,
}

impl Names {
    pub(crate) fn new(notebook: &Notebook, sources: &BTreeMap<String, (u64, String)>) -> Self {
        Names { notebook: notebook.clone(), sources: sources.clone() }
    }

    pub fn is_complete(&self, text: &str) -> Completeness {
        complete::is_complete(text)
    }

    /// `columns` gives a frame variable's column names, from the session.
    pub fn complete(&self, text: &str, cursor: usize, columns: &dyn Fn(&str) -> Vec<String>) -> Completions {
        complete::complete(&self.notebook, text, cursor, columns)
    }

    pub fn inspect(&self, text: &str, cursor: usize) -> Inspection {
        inspect(&self.notebook, &self.sources, text, cursor)
    }
}

/// With the text of items that cells define.
pub(crate) fn inspect(
    notebook: &Notebook,
    sources: &BTreeMap<String, (u64, String)>,
    text: &str,
    cursor: usize,
) -> Inspection {
    let source = |name: &str| {
        let home = notebook.items.get(name).copied().or_else(|| notebook.macros.get(name).map(|m| m.home))?;
        let (_, code) = sources.get(&notebook.crates[home].file)?;
        complete::item_text(code, name)
    };
    complete::inspect(notebook, &source, text, cursor)
}
