//! The reference of functions: methods of frames, expressions, SQL and the other objects of cells. Each has examples
//! and the names that pandas, Polars and SQL have for it. `:help WORD` and inspection show entries, and
//! `docs/reference` is written from them.
//!
//! Names, signatures and sentences come from the prelude's sources (`crate::index`). Functions of expressions and
//! placements come from the engine: the test of placements in `runtime/plan-tests` writes
//! `data/reference/functions.txt`. Examples and names of other libraries come from the reviewed lists in
//! `data/reference`.

mod lists;
mod search;
mod show;

pub use lists::{SECTIONS, entries};
pub use search::{Answer, find, function, help, method, sql_function};
pub use show::{elsewhere, footer, markdown, places, plain};

/// The kind of thing that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionKind {
    /// A method of `Frame`.
    Frame,
    /// A method of `GroupBy`.
    Group,
    /// A function of the prelude.
    Function,
    /// A function or method of `x!` and `Expr`.
    Expression,
    Sql,
    /// A method of another type of the prelude.
    Object,
}

/// The devices that run a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    Cpu,
    /// The GPU, or the CPU without one.
    Gpu,
    /// Some forms of it run on a GPU.
    Partly,
}

/// A function or method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionEntry {
    pub kind: FunctionKind,
    /// The type of a method, otherwise empty.
    pub owner: String,
    /// `group_by`, `str.contains`.
    pub name: String,
    pub section: &'static str,
    /// Empty for functions of SQL.
    pub signature: String,
    /// One sentence.
    pub sentence: String,
    /// Empty if there is none. The contents of `x!` for an expression, or a statement.
    pub example: &'static str,
    pub pandas: Vec<&'static str>,
    pub polars: Vec<&'static str>,
    pub sql: Vec<&'static str>,
    /// Other names of it here.
    pub aliases: Vec<&'static str>,
    /// `None` where no plan says it.
    pub place: Option<Placement>,
}

impl FunctionEntry {
    /// The name with its type: `Frame.group_by`, `str.contains`.
    pub fn title(&self) -> String {
        if self.owner.is_empty() { self.name.clone() } else { format!("{}.{}", self.owner, self.name) }
    }

    /// The example as a statement of a cell in which `f` is a frame.
    pub fn statement(&self) -> String {
        match self.kind {
            FunctionKind::Expression if !self.example.starts_with("f.") => format!("f.select(x!({}))", self.example),
            FunctionKind::Sql => format!("select {} from f", self.example),
            _ => self.example.to_string(),
        }
    }
}
