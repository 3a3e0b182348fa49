//! Calls of functions of cells on the workers of a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use onrush_wire::limits::size;
use onrush_wire::plan::Op;
use onrush_wire::{Class, Diagnostic, Span};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Cluster;
use crate::frame::Frame;
use crate::process::{CallEntry, call_entry, function_at};
use crate::raise::{Error, here};
use crate::session;

/// Bytes of all arguments, at most.
const MOST: u64 = 64 << 20;

impl Cluster {
    /// Calls `f` with each of the values on the workers, and gives what it returns, in the order of the values. Each
    /// worker makes as many calls at a time as it has threads, each in a separate process.
    ///
    /// `f` is a function of a cell, or a closure that captures nothing: `c.map(|seed: u64| simulate(seed), 0..1000)`.
    /// Arguments and results are numbers, strings, tuples, vectors and other types of serde. The workers get the
    /// compiled cell, so the same machine code runs there. Variables of the notebook, its frames and the files of its
    /// machine are not there: `f` gets what it needs as its argument. Its output appears where the worker
    /// was started.
    ///
    /// If a worker is lost, all calls are made once more on the others, so a call may be made twice. Arguments take at
    /// most 64 MiB in all, and a result at most 256 MiB.
    ///
    /// # Panics
    /// Raises an error of the cell if a call panics, ends its process, or returns what serde cannot write. The error
    /// names the first such call. All calls have been made by then. [`Cluster::try_map`] gives the error of each call
    /// instead.
    #[track_caller]
    pub fn map<F, A, R>(&self, f: F, values: impl IntoIterator<Item = A>) -> Vec<R>
    where
        F: Fn(A) -> R + Copy + 'static,
        A: Serialize + DeserializeOwned,
        R: Serialize + DeserializeOwned,
    {
        let at = here("map");
        let results = self.results(f, values, &at);
        results.into_iter().map(|result| result.unwrap_or_else(|error| session::raise_at(error, at.clone()))).collect()
    }

    /// As [`Cluster::map`], and gives the error of each call that fails.
    ///
    /// # Panics
    /// Raises an error of the cell if the calls cannot be made at all.
    #[track_caller]
    pub fn try_map<F, A, R>(&self, f: F, values: impl IntoIterator<Item = A>) -> Vec<Result<R, Error>>
    where
        F: Fn(A) -> R + Copy + 'static,
        A: Serialize + DeserializeOwned,
        R: Serialize + DeserializeOwned,
    {
        self.results(f, values, &here("try_map"))
    }

    fn results<F, A, R>(&self, _: F, values: impl IntoIterator<Item = A>, at: &Span) -> Vec<Result<R, Error>>
    where
        F: Fn(A) -> R + Copy + 'static,
        A: Serialize + DeserializeOwned,
        R: Serialize + DeserializeOwned,
    {
        let name = name_of(std::any::type_name::<F>());
        let written = |value: A| postcard::to_stdvec(&value).map_err(|e| e.to_string());
        let arguments = values.into_iter().map(written).collect::<Result<Vec<_>, _>>();
        let entry = (call_entry::<F, A, R> as CallEntry, size_of::<F>());
        let answers = call_all(&self.info.address, &name, entry, arguments, at);
        let read = |(number, answer): (usize, Result<Vec<u8>, String>)| {
            let value = answer.and_then(|bytes| postcard::from_bytes(&bytes).map_err(|e| e.to_string()));
            value.map_err(|reason| failed(&name, number, &reason))
        };
        answers.into_iter().enumerate().map(read).collect()
    }
}

/// Makes the calls of an entry whose function has captured so many bytes. The results are in the order of the
/// arguments.
#[inline(never)]
fn call_all(
    cluster: &str,
    name: &str,
    (entry, captured): (CallEntry, usize),
    arguments: Result<Vec<Vec<u8>>, String>,
    at: &Span,
) -> Vec<Result<Vec<u8>, String>> {
    if captured > 0 {
        let message = format!("{name} captures variables of the cell, which are not on the workers");
        let help = "give it what it needs as its argument, as in `c.map(|(x, factor): (f64, f64)| x * factor, pairs)`; \
                    name a function itself, not a variable that holds it";
        session::raise_at(Diagnostic::error(Class::Plan, "captures", message).help(help), at.clone());
    }
    let refused = |reason: String| -> ! {
        let message = format!("{name} cannot be called on the workers: {reason}");
        session::raise_at(Diagnostic::error(Class::Plan, "cluster-call", message), at.clone())
    };
    let arguments = arguments.unwrap_or_else(|reason| refused(format!("an argument cannot be sent: {reason}")));
    if arguments.is_empty() {
        return Vec::new();
    }
    let bytes = arguments.iter().map(|argument| argument.len() as u64).sum::<u64>();
    if bytes > MOST {
        let message = format!("the arguments have {}, and at most {} are sent to the workers", size(bytes), size(MOST));
        let help = "write the data to a file that all machines see, and give each call its place there";
        session::raise_at(Diagnostic::error(Class::Resources, "cluster-rows", message).help(help), at.clone());
    }
    let function = function_at(entry, name.to_string()).unwrap_or_else(|reason| refused(reason));
    let numbers = Arc::new(UInt64Array::from_iter_values(0..arguments.len() as u64)) as ArrayRef;
    let bytes = Arc::new(BinaryArray::from_iter_values(&arguments)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("n", numbers), ("argument", bytes)])
        .unwrap_or_else(|error| refused(error.to_string()));
    let input = Frame::new(session::send(&batch, at.clone()));
    let op = Op::Map { input: input.id(), cluster: cluster.to_string(), function, call: new_number() };
    let calls = Frame::step(op, at.clone());
    answers(&session::collect(calls.id(), Vec::new(), at.clone()), arguments.len())
        .unwrap_or_else(|| refused("the answer has other columns than expected".to_string()))
}

/// The results by the number of the call. A call without a result has an error.
fn answers(rows: &RecordBatch, calls: usize) -> Option<Vec<Result<Vec<u8>, String>>> {
    let numbers = rows.column_by_name("n")?.as_primitive_opt::<UInt64Type>()?;
    let values = cast(rows.column_by_name("value")?, &DataType::LargeBinary).ok()?;
    let values = values.as_binary_opt::<i64>()?;
    let errors = cast(rows.column_by_name("error")?, &DataType::Utf8).ok()?;
    let errors = errors.as_string_opt::<i32>()?;
    let mut all: Vec<Result<Vec<u8>, String>> = vec![Err("no answer came".to_string()); calls];
    for row in 0..rows.num_rows() {
        let answer = match errors.is_valid(row) {
            true => Err(errors.value(row).to_string()),
            false => Ok(values.value(row).to_vec()),
        };
        *all.get_mut(usize::try_from(numbers.value(row)).ok()?)? = answer;
    }
    Some(all)
}

/// A number that no other call of this or another process has.
fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    since ^ (u64::from(std::process::id()) << 40) ^ NEXT.fetch_add(1, Ordering::Relaxed)
}

fn failed(name: &str, number: usize, reason: &str) -> Diagnostic {
    let message = format!("call {number} of {name} failed: {reason}");
    Diagnostic::error(Class::Data, "call-failed", message)
        .help("`try_map` gives the values of the other calls, and the error of each that fails")
}

/// The last part of a type's name: `` `simulate` ``, or "the closure".
fn name_of(of_type: &str) -> String {
    match of_type.rsplit("::").next() {
        Some("{{closure}}") | None => "the closure".to_string(),
        Some(name) => format!("`{name}`"),
    }
}
