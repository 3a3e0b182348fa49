//! The methods of `Frame`, the handle of a lazy table in the session.
//!
//! A method sends one step of a plan. The session checks it against the schema at once, and runs the plan when the
//! frame is shown, collected, written or persisted.

mod arguments;
mod collect;
mod database;
mod group;
mod join;
mod pick;
pub(crate) mod read;
mod reshape;
mod rows;
mod sql;
mod tables;
pub(crate) mod text;
mod time;
mod write;

pub use arguments::{IntoFrames, IntoPairs, IntoSampleSize};
pub use collect::FromValue;
pub use database::{DatabaseWriter, read_database};
pub use group::GroupBy;
pub use join::{Asof, IntoAsof, IntoJoin, On, asof, on, using};
pub use reshape::{concat, concat_diagonal, concat_horizontal};
pub use sql::sql;
pub use time::{Resample, date_range, int_range};
pub use write::{CsvWriter, ExcelWriter, IpcWriter, JsonWriter, ParquetWriter};

use std::path::Path;

use onrush_wire::display::Content;
use onrush_wire::plan::Op;
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, Diagnostic, FrameId, Schema, Span};

use crate::display::{Show, offer};
use crate::expr::{IntoExprs, IntoSortKeys};
pub(crate) use crate::handle::Frame;
use crate::raise::{here, raise};
use crate::{process, session};

impl Frame {
    /// The session's id of the frame. Raises if that session has ended.
    #[doc(hidden)]
    pub fn id(&self) -> FrameId {
        self.handle.known_id().unwrap_or_else(|| crate::raise::raise(session::restarted()))
    }

    /// Names and types of the columns. Does not run the plan.
    pub fn schema(&self) -> Schema {
        self.handle.schema.clone()
    }

    /// Names of the columns, in order.
    pub fn columns(&self) -> Vec<String> {
        self.handle.schema.names().map(str::to_string).collect()
    }

    /// The names of columns that are named, or that selectors such as `numeric()` stand for. Raises for other
    /// expressions.
    pub(crate) fn chosen(&self, exprs: Vec<onrush_wire::Expr>, at: &Span) -> Vec<String> {
        use onrush_wire::ExprKind;
        let name = |expr: &onrush_wire::Expr| match &expr.kind {
            ExprKind::Column(name) => Some(name.clone()),
            _ => None,
        };
        if let Some(names) = exprs.iter().map(name).collect::<Option<Vec<_>>>() {
            return names;
        }
        let is_selector = |expr: &onrush_wire::Expr| match &expr.kind {
            ExprKind::Column(_) | ExprKind::All { .. } => true,
            ExprKind::Call { function, .. } => onrush_wire::reserved_names::is_selector(function),
            _ => false,
        };
        if let Some(other) = exprs.iter().find(|expr| !is_selector(expr)) {
            let text = crate::arrow_conversion::expression_text(other);
            let message = format!("`{text}` is an expression, and the name of a column is expected");
            let help = "name columns, or take selectors such as `numeric()` and `matching(\"^x_\")`; an expression becomes a column \
                        with `with_columns(x!(name = ..))`";
            let place = other.span.clone().unwrap_or_else(|| at.clone());
            raise(Diagnostic::error(Class::Plan, "column-name", message).at(place, "").help(help));
        }
        Frame::step(Op::Select { input: self.id(), exprs }, at.clone()).columns()
    }

    /// Names of the columns: an alias of [`Frame::columns`].
    pub fn column_names(&self) -> Vec<String> {
        self.columns()
    }

    /// Types of the columns, in order.
    pub fn dtypes(&self) -> Vec<onrush_wire::DataType> {
        self.handle.schema.fields.iter().map(|f| f.dtype.clone()).collect()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.handle.schema.fields.len()
    }

    /// Number of rows. Runs the plan if that is not known.
    #[track_caller]
    pub fn height(&self) -> usize {
        self.count_rows(here("height"))
    }

    /// Number of rows: an alias of [`Frame::height`].
    #[allow(clippy::len_without_is_empty)]
    #[track_caller]
    pub fn len(&self) -> usize {
        self.count_rows(here("len"))
    }

    /// Whether the frame has no rows.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.count_rows(here("is_empty")) == 0
    }

    /// Rows and columns.
    #[track_caller]
    pub fn shape(&self) -> (usize, usize) {
        (self.count_rows(here("shape")), self.width())
    }

    #[inline(never)]
    fn count_rows(&self, at: Span) -> usize {
        match session::expect(&Request::RowCount { frame: self.id() }, at.clone()) {
            Reply::Count(rows) => rows as usize,
            other => session::unexpected(&other, at),
        }
    }

    /// Keeps columns, and computes new ones: `f.select(["a", "b"])`, `f.select(x!(a, double = b * 2))`. An aggregate
    /// gives one row.
    #[track_caller]
    pub fn select(&self, exprs: impl IntoExprs) -> Frame {
        Frame::step(Op::Select { input: self.id(), exprs: exprs.into_exprs() }, here("select"))
    }

    /// Adds columns or replaces those of the same name; the others stay: `f.with_columns(x!(mph = distance / hours))`.
    #[track_caller]
    pub fn with_columns(&self, exprs: impl IntoExprs) -> Frame {
        Frame::step(Op::WithColumns { input: self.id(), exprs: exprs.into_exprs() }, here("with_columns"))
    }

    /// Adds or replaces columns: an alias of [`Frame::with_columns`].
    #[track_caller]
    pub fn with_column(&self, expr: impl IntoExprs) -> Frame {
        Frame::step(Op::WithColumns { input: self.id(), exprs: expr.into_exprs() }, here("with_column"))
    }

    /// Keeps the rows for which all conditions are true; a null is not true. The order stays.
    /// `f.filter(x!(delay > 10 && origin in ["JFK", "LGA"]))`
    #[track_caller]
    pub fn filter(&self, predicate: impl IntoExprs) -> Frame {
        let at = here("filter");
        let predicate = arguments::condition(predicate.into_exprs(), &at);
        Frame::step(Op::Filter { input: self.id(), predicate }, at)
    }

    /// Starts an aggregation: `f.group_by("origin").agg(x!(n = len(), mean = delay.mean()))`. The result has one row
    /// for each combination of the keys' values, in the keys' order, nulls first.
    pub fn group_by(&self, keys: impl IntoExprs) -> GroupBy {
        GroupBy::new(self.clone(), keys.into_exprs())
    }

    /// Sorts by one or several keys: `f.sort("a")`, `f.sort([desc("n"), asc("name")])`. Nulls come first; equal rows
    /// keep their order.
    #[track_caller]
    pub fn sort(&self, keys: impl IntoSortKeys) -> Frame {
        Frame::step(Op::Sort { input: self.id(), keys: keys.into_sort_keys() }, here("sort"))
    }

    /// The first `n` rows.
    #[track_caller]
    pub fn head(&self, n: usize) -> Frame {
        self.part(0, Some(n as u64), here("head"))
    }

    /// The first `n` rows: an alias of [`Frame::head`].
    #[track_caller]
    pub fn limit(&self, n: usize) -> Frame {
        self.part(0, Some(n as u64), here("limit"))
    }

    /// The last `n` rows.
    #[track_caller]
    pub fn tail(&self, n: usize) -> Frame {
        let n = n as u64;
        self.part(-i64::try_from(n).unwrap_or(i64::MAX), Some(n), here("tail"))
    }

    /// `length` rows from `offset`; a negative offset counts from the end.
    #[track_caller]
    pub fn slice(&self, offset: i64, length: usize) -> Frame {
        self.part(offset, Some(length as u64), here("slice"))
    }

    #[inline(never)]
    fn part(&self, offset: i64, length: Option<u64>, at: Span) -> Frame {
        Frame::step(Op::Slice { input: self.id(), offset, length }, at)
    }

    /// Drops columns.
    #[track_caller]
    pub fn drop(&self, columns: impl IntoExprs) -> Frame {
        let at = here("drop");
        let columns = self.chosen(columns.into_exprs(), &at);
        Frame::step(Op::Drop { input: self.id(), columns }, at)
    }

    /// Renames columns: `f.rename([("old", "new")])`.
    #[track_caller]
    pub fn rename(&self, names: impl IntoPairs<String>) -> Frame {
        Frame::step(Op::Rename { input: self.id(), names: names.into_pairs() }, here("rename"))
    }

    /// Runs the plan and caches the result in memory until the last handle is dropped. Later steps start from the
    /// result.
    #[track_caller]
    pub fn persist(&self) -> Frame {
        let at = here("persist");
        match session::expect(&Request::Persist { frame: self.id() }, at.clone()) {
            Reply::Frame { id, schema } => Frame::new((id, schema)),
            other => session::unexpected(&other, at),
        }
    }

    /// The plan as text, with the device of each fragment. Does not run the plan.
    #[track_caller]
    pub fn explain(&self) -> Explanation {
        self.explanation(false, here("explain"))
    }

    /// Runs the plan and returns it as text, with rows and times.
    #[track_caller]
    pub fn explain_analyze(&self) -> Explanation {
        self.explanation(true, here("explain_analyze"))
    }

    fn explanation(&self, analyze: bool, at: Span) -> Explanation {
        match session::expect(&Request::Explain { frame: self.id(), analyze }, at.clone()) {
            Reply::Text(text) => Explanation(text),
            other => session::unexpected(&other, at),
        }
    }

    /// Publishes the frame to all notebooks under `name`, after the cell has succeeded. Notebooks take it with [`get`].
    pub fn publish(&self, name: &str) {
        process::publish(name, self.id());
    }
}

/// A plan as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Explanation(String);

impl std::ops::Deref for Explanation {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Show for Explanation {
    fn content(&self) -> Option<Content> {
        Some(Content::Plan(self.0.clone()))
    }
}

/// As it is, line by line.
impl std::fmt::Debug for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if offer(self, || Content::Plan(self.0.clone())) {
            return Ok(());
        }
        f.write_str(&self.0)
    }
}

/// Publishes a frame to all notebooks under `name`, after the cell has succeeded.
pub fn publish(name: &str, frame: &Frame) {
    frame.publish(name);
}

/// The frame that a notebook published under `name`.
#[track_caller]
pub fn get(name: &str) -> Frame {
    let at = here("get");
    match session::expect(&Request::Get { name: name.to_string() }, at.clone()) {
        Reply::Frame { id, schema } => Frame::new((id, schema)),
        Reply::Model { .. } => session::raise_at(
            Diagnostic::error(Class::Plan, "kind", format!("`{name}` is a model, not a frame"))
                .help("`get_model` gives models"),
            at,
        ),
        other => session::unexpected(&other, at),
    }
}

/// The working directory, to which relative paths refer wherever the session runs.
pub(crate) fn folder() -> String {
    std::env::current_dir().unwrap_or_default().display().to_string()
}

/// A path as the user wrote it, with `~/` as the home folder.
pub(crate) fn path_text(path: impl AsRef<Path>) -> String {
    let text = path.as_ref().display().to_string();
    match (text.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => text,
    }
}
