//! Display of values in cells: converts a value of any type to an output. How an output looks is in `widgets/view`.
//!
//! `__show!` chooses at compile time by autoref specialisation: `evcxr_display` if the type has it, then `RichDisplay`,
//! then Onrush's types and lists, then `Debug`, then `Display`. Method resolution prefers the candidate with the fewest
//! references.

mod layout;

use std::cell::Cell;
use std::fmt::{self, Debug, Write};

use arrow::array::{Array, ArrayRef, RecordBatch};
use onrush_wire::display::{Content, Display, PreviewColumn, TableKind, TablePreview};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{DataType, Schema, Value};

use crate::arrow_conversion::{value_at, wire_type};
use crate::column::{Column, Element};
use crate::handle::Frame;
use crate::rich::{MimeBundle, RichDisplay};
use crate::{process, session};

/// Rows of a table that are shown: at the start and at the end.
const HEAD: usize = 10;
const TAIL: usize = 5;
/// Rows at the start of a frame that go into its output.
const SAVED: u32 = 100;
/// Length in elements above which a list is shown as a table.
const LONG: usize = 20;
/// Width in characters above which a `Debug` string is broken into lines.
const WIDE: usize = 80;
/// Length in bytes at which a printed value is cut.
const LONGEST: usize = 100_000;

/// Displays a value in the middle of a cell, as a last expression is displayed. For types without `Debug`:
/// `show!(value)`.
#[track_caller]
pub fn show<T: Debug + ?Sized>(value: &T) {
    send(content_of_debug(value), false);
}

/// Displays values of any types that can be the last expression of a cell, one output each: `show!(a)`, `show!(a, b)`.
#[macro_export]
macro_rules! show {
    ($($value:expr),+ $(,)?) => {{
        $($crate::__show!($value, false);)+
    }};
}

/// For generated code: displays a value without moving it.
#[doc(hidden)]
#[macro_export]
macro_rules! __show {
    ($value:expr, $is_result:expr) => {{
        match &$value {
            value => {
                #[allow(unused_imports)]
                use $crate::display::{InferReceiver as _, NoEvcxr as _, Referent as _, ReferentItself as _};
                #[allow(unused_imports)]
                use $crate::display::{ViaDebug as _, ViaDisplay as _, ViaNothing as _, ViaOwn as _, ViaRich as _};
                // Without this a value of a type that nothing says would be taken for a reference.
                (*value).__onrush_known();
                #[allow(unused_mut)]
                let mut referent = (&&$crate::display::ShownValue(value)).__onrush_referent();
                if $crate::display::Answer::from(referent.evcxr_display()).is_unhandled() {
                    (&&&&&$crate::display::ShownValue(value)).__onrush_show($is_result);
                }
            }
        }
    }};
}

/// For generated code: displays a value whose type rustc infers from the `Debug` bound.
#[doc(hidden)]
#[macro_export]
macro_rules! __show_debug {
    ($value:expr, $is_result:expr) => {{
        match &$value {
            value => $crate::display::show_debug(value, $is_result),
        }
    }};
}

/// For generated code: binds `name` to the value from here on. It asks rustc nothing about the value's type, because a
/// later statement of the cell may be the one that fixes it.
#[doc(hidden)]
#[macro_export]
macro_rules! __bind {
    ($name:expr, $value:expr) => {
        $crate::display::bind($name, $value)
    };
}

/// Notes the variable `name`, and its frame if it holds one.
#[doc(hidden)]
pub fn bind<T>(name: &str, value: &T) {
    bind_value(name, &process::AnyRef::new(value));
}

#[inline(never)]
fn bind_value(name: &str, value: &process::AnyRef<'_>) {
    match value.downcast::<Frame>() {
        Some(frame) => crate::bindings::bind(name, frame.weak_id()),
        None => crate::bindings::bind_name(name),
    }
}

impl<T: Element + Debug> Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if offer(self, || array_preview(&self.name, &self.array)) {
            return Ok(());
        }
        let values: &[T] = self;
        Debug::fmt(values, f)
    }
}

/// A value to display.
pub struct ShownValue<'a, T: ?Sized>(pub &'a T);

/// A method of every type. The call makes rustc infer the receiver's type.
pub trait InferReceiver {
    #[inline(always)]
    fn __onrush_known(&self) {}
}

impl<T: ?Sized> InferReceiver for T {}

#[inline(never)]
fn send(content: Content, is_result: bool) {
    // Without a kernel process nothing can draw tables.
    let content = match content {
        Content::Table(table) if process::context().is_none() => Content::Text(crate::text_table::table(&table)),
        Content::Frame { preview, .. } if process::context().is_none() => {
            Content::Text(crate::text_table::table(&preview.short(HEAD, TAIL)))
        }
        content => content,
    };
    process::display(Display { content, display_id: None, update: false, is_result });
}

/// The result of `evcxr_display`: of the type's method, or of the stand-in.
pub struct Answer(bool);

/// The result of the stand-in for `evcxr_display`.
pub struct NoDisplayMethod;

impl Answer {
    pub fn is_unhandled(&self) -> bool {
        self.0
    }
}

impl From<NoDisplayMethod> for Answer {
    fn from(_: NoDisplayMethod) -> Self {
        Answer(true)
    }
}

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Answer(false)
    }
}

impl<T, E> From<Result<T, E>> for Answer {
    fn from(_: Result<T, E>) -> Self {
        Answer(false)
    }
}

/// Found if neither a type nor a trait in scope has a method `evcxr_display`. A method that takes `&self` is found
/// before one that takes `&mut self`.
pub trait NoEvcxr {
    fn evcxr_display(&mut self) -> NoDisplayMethod {
        NoDisplayMethod
    }
}

impl<T: ?Sized> NoEvcxr for T {}

/// The referent of a shown reference.
pub trait Referent<'a, T: ?Sized> {
    fn __onrush_referent(&self) -> &'a T;
}

impl<'a, T: ?Sized> Referent<'a, T> for &ShownValue<'a, &'a T> {
    #[inline(always)]
    fn __onrush_referent(&self) -> &'a T {
        self.0
    }
}

/// The displayed value, if it is not a reference.
pub trait ReferentItself<'a, T: ?Sized> {
    fn __onrush_referent(&self) -> &'a T;
}

impl<'a, T: ?Sized> ReferentItself<'a, T> for ShownValue<'a, T> {
    #[inline(always)]
    fn __onrush_referent(&self) -> &'a T {
        self.0
    }
}

/// A type with a display of Onrush: tables, plots, lists.
pub trait Show {
    /// The output; `None` displays nothing.
    #[doc(hidden)]
    #[track_caller]
    fn content(&self) -> Option<Content>;
}

impl Show for MimeBundle {
    fn content(&self) -> Option<Content> {
        Some(self.as_content())
    }
}

pub trait ViaRich {
    fn __onrush_show(&self, is_result: bool);
}

impl<T: RichDisplay + ?Sized> ViaRich for &&&&ShownValue<'_, T> {
    fn __onrush_show(&self, is_result: bool) {
        if let Some(content) = self.0.mime_bundle().content() {
            send(content, is_result);
        }
    }
}

pub trait ViaOwn {
    #[track_caller]
    fn __onrush_show(&self, is_result: bool);
}

impl<T: Show + ?Sized> ViaOwn for &&&ShownValue<'_, T> {
    #[track_caller]
    fn __onrush_show(&self, is_result: bool) {
        if let Some(content) = self.0.content() {
            send(content, is_result);
        }
    }
}

pub trait ViaDebug {
    #[track_caller]
    fn __onrush_show(&self, is_result: bool);
}

impl<T: Debug + ?Sized> ViaDebug for &&ShownValue<'_, T> {
    #[track_caller]
    fn __onrush_show(&self, is_result: bool) {
        send(content_of_debug(self.0), is_result);
    }
}

#[track_caller]
pub fn show_debug<T: Debug + ?Sized>(value: &T, is_result: bool) {
    send(content_of_debug(value), is_result);
}

pub trait ViaDisplay {
    fn __onrush_show(&self, is_result: bool);
}

impl<T: fmt::Display + ?Sized> ViaDisplay for &ShownValue<'_, T> {
    fn __onrush_show(&self, is_result: bool) {
        send(Content::Text(limited(format_args!("{}", self.0))), is_result);
    }
}

/// The message in place of a value that cannot be printed, by the name of its type.
fn unshowable(name: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if name.ends_with("{{closure}}") {
        return "a closure, which has no text\nhelp: call it: `(…)(arguments)`".to_string();
    }
    // The type name without its modules. Types of cells can derive `Debug`.
    let (mut short, mut own) = (String::new(), Vec::<&str>::new());
    for piece in name.split_inclusive(|c: char| !is_word(c) && c != ':') {
        let path = piece.trim_end_matches(|c: char| !is_word(c) && c != ':');
        let last = path.rsplit("::").next().unwrap_or(path);
        if path.starts_with("onrush_cell_") && !own.contains(&last) {
            own.push(last);
        }
        short.push_str(last);
        short.push_str(&piece[path.len()..]);
    }
    let head = short.split('<').next().unwrap_or("");
    if name.contains("::") && head.starts_with(|c: char| c.is_lowercase()) && head.chars().all(is_word) {
        return format!("the function `{head}`, which has no text\nhelp: call it: `{head}(…)`");
    }
    let help = match own.as_slice() {
        [] if name.starts_with("onrush::") && matches!(head, "GroupBy" | "Resample") => {
            "groups become a frame by an aggregate: `.agg(x!(m = a.mean()))`, `.len()`, `.sum(\"a\")`".to_string()
        }
        [] => "show a part of it, or what it was made from".to_string(),
        own => format!("add `#[derive(Debug)]` to `{}`", own.join("` and `")),
    };
    format!("a value of type `{short}`, which has neither `Debug` nor `Display`\nhelp: {help}")
}

pub trait ViaNothing {
    fn __onrush_show(&self, is_result: bool);
}

impl<T: ?Sized> ViaNothing for ShownValue<'_, T> {
    fn __onrush_show(&self, is_result: bool) {
        let text = unshowable(std::any::type_name::<T>());
        send(Content::Text(text), is_result);
    }
}

thread_local! {
    /// The address of a value that `show` is printing with `Debug`, until something was written for it.
    static ASKED: Cell<usize> = const { Cell::new(0) };
    static OFFERED: Cell<Option<Content>> = const { Cell::new(None) };
}

/// Called by the `Debug` of Onrush's types. The very value that `show` was given is displayed as rich output instead of
/// text. (A function cannot choose by type as `__show!` does.)
pub(crate) fn offer<T: ?Sized>(value: &T, content: impl FnOnce() -> Content) -> bool {
    let address = std::ptr::from_ref(value).cast::<()>().addr();
    if ASKED.get() != address {
        return false;
    }
    ASKED.set(0);
    OFFERED.set(Some(content()));
    true
}

#[track_caller]
fn content_of_debug<T: Debug + ?Sized>(value: &T) -> Content {
    debug_text(&value, std::ptr::from_ref(value).cast::<()>().addr())
}

// Compiled with the prelude, not with every cell.
#[inline(never)]
#[track_caller]
fn debug_text(value: &dyn Debug, address: usize) -> Content {
    ASKED.set(address);
    let line = limited(format_args!("{value:?}"));
    ASKED.set(0);
    if let Some(content) = OFFERED.take() {
        return content;
    }
    if line.len() > WIDE && line.chars().count() > WIDE && !line.contains('\n') {
        let text = layout::wrap(&line, WIDE);
        return Content::Text(text.unwrap_or_else(|| limited(format_args!("{value:#?}"))));
    }
    Content::Text(line)
}

/// Stops after [`LONGEST`] bytes, so that a huge value does not fill the notebook.
struct LimitedText(String);

impl Write for LimitedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        ASKED.set(0);
        let room = LONGEST.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        Err(fmt::Error)
    }
}

#[inline(never)]
fn limited(text: fmt::Arguments<'_>) -> String {
    let mut out = LimitedText(String::new());
    let complete = out.write_fmt(text).is_ok();
    if !complete && out.0.len() + 4 > LONGEST {
        out.0.push_str("\n… cut here: the text is longer than 100 kB");
    }
    out.0
}

impl Show for () {
    fn content(&self) -> Option<Content> {
        None
    }
}

impl<T: Show + ?Sized> Show for &T {
    #[track_caller]
    fn content(&self) -> Option<Content> {
        (**self).content()
    }
}

impl<T: Show + ?Sized> Show for &mut T {
    #[track_caller]
    fn content(&self) -> Option<Content> {
        (**self).content()
    }
}

impl Show for Frame {
    #[track_caller]
    fn content(&self) -> Option<Content> {
        let at = crate::raise::here("");
        // More rows than are printed: a saved notebook can still scroll through them.
        let request = Request::Preview { frame: self.id(), head: SAVED, tail: TAIL as u32, nulls: true };
        match session::expect(&request, at.clone()) {
            Reply::Preview(preview) => Some(Content::Frame { frame: self.id(), preview }),
            other => session::unexpected(&other, at),
        }
    }
}

/// A table of the first and last rows, as plain text.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content() {
            Some(Content::Frame { preview, .. }) => f.write_str(&crate::text_table::table(&preview.short(HEAD, TAIL))),
            _ => Ok(()),
        }
    }
}

/// Names and types of the columns.
impl Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if offer(self, || self.content().unwrap_or(Content::Text(String::new()))) {
            return Ok(());
        }
        let schema = self.schema();
        let columns: Vec<String> = schema.fields.iter().map(|c| format!("{}: {}", c.name, c.dtype)).collect();
        write!(f, "Frame [{}]", columns.join(", "))
    }
}

impl Show for RecordBatch {
    fn content(&self) -> Option<Content> {
        Some(batch_preview(self))
    }
}

impl<T: Element> Show for Column<T> {
    fn content(&self) -> Option<Content> {
        Some(array_preview(self.name(), self.array()))
    }
}

impl Show for Schema {
    fn content(&self) -> Option<Content> {
        let row = |f: &onrush_wire::Field| vec![Value::Text(f.name.clone()), Value::Text(f.dtype.to_string())];
        let column = |name: &str| PreviewColumn { name: name.to_string(), dtype: DataType::String, nulls: Some(0) };
        Some(Content::Table(TablePreview {
            kind: TableKind::Values,
            columns: vec![column("column"), column("type")],
            total_rows: self.fields.len() as u64,
            head: self.fields.iter().map(row).collect(),
            tail: Vec::new(),
            bytes: None,
            location: "memory".to_string(),
        }))
    }
}

impl Show for onrush_wire::Diagnostic {
    fn content(&self) -> Option<Content> {
        Some(Content::Text(self.to_string()))
    }
}

fn list_content<T: crate::into_column::ColumnValue + Debug>(values: &[T]) -> Option<Content> {
    if values.len() <= LONG {
        return Some(content_of_debug(values));
    }
    // Only the shown rows are converted.
    let head = T::array(&values[..HEAD]);
    let tail = T::array(&values[values.len() - TAIL..]);
    Some(long_list(&head, &tail, values.len()))
}

#[inline(never)]
fn long_list(head: &ArrayRef, tail: &ArrayRef, total: usize) -> Content {
    let rows = |array: &ArrayRef| (0..array.len()).map(|row| vec![value_at(array, row)]).collect();
    Content::Table(TablePreview {
        kind: TableKind::Values,
        columns: vec![PreviewColumn { name: "value".to_string(), dtype: wire_type(head.data_type()), nulls: None }],
        total_rows: total as u64,
        head: rows(head),
        tail: rows(tail),
        bytes: None,
        location: "memory".to_string(),
    })
}

impl<T: crate::into_column::ColumnValue + Debug> Show for Vec<T> {
    fn content(&self) -> Option<Content> {
        list_content(self)
    }
}

impl<T: crate::into_column::ColumnValue + Debug> Show for [T] {
    fn content(&self) -> Option<Content> {
        list_content(self)
    }
}

impl<T: crate::into_column::ColumnValue + Debug, const N: usize> Show for [T; N] {
    fn content(&self) -> Option<Content> {
        list_content(self)
    }
}

#[inline(never)]
pub(crate) fn array_preview(name: &str, array: &ArrayRef) -> Content {
    table(TableKind::Column, &[(name, array)], array.len())
}

#[inline(never)]
fn batch_preview(batch: &RecordBatch) -> Content {
    let schema = batch.schema();
    let columns: Vec<(&str, &ArrayRef)> =
        schema.fields().iter().zip(batch.columns()).map(|(f, c)| (f.name().as_str(), c)).collect();
    table(TableKind::Frame, &columns, batch.num_rows())
}

fn table(kind: TableKind, columns: &[(&str, &ArrayRef)], rows: usize) -> Content {
    let all = rows <= HEAD + TAIL;
    let row = |row: usize| columns.iter().map(|(_, array)| value_at(array, row)).collect();
    Content::Table(TablePreview {
        kind,
        columns: columns
            .iter()
            .map(|(name, array)| PreviewColumn {
                name: name.to_string(),
                dtype: wire_type(array.data_type()),
                nulls: Some(array.null_count() as u64),
            })
            .collect(),
        total_rows: rows as u64,
        head: (0..if all { rows } else { HEAD }).map(row).collect(),
        tail: (if all { rows } else { rows - TAIL }..rows).map(row).collect(),
        bytes: Some(columns.iter().map(|(_, array)| array.get_buffer_memory_size() as u64).sum()),
        location: "memory".to_string(),
    })
}
