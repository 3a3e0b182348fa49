//! User-defined functions of `%%cuda` cells: their pipelines outside of fragments, the calls under way, and their
//! errors.
//!
//! On an engine without a device they run on the emulated one, unchecked, a batch at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_device::{Device, Emulation, Options};
use onrush_expr::device_udf::{Native, UdfRunner};
use onrush_expr::error::internal;
use onrush_ops::Output;
use onrush_ops::{DeviceColumn, DeviceTable, Executor, ExprGraph, Op, Sink, Stage, kind_of};
use onrush_wire::{Class, Diagnostic, NativeFunction, Span};
use parking_lot::{Mutex, MutexGuard};

use super::accelerator::Accelerator;
use super::blocking::Stop;
use super::diagnostics::diagnostic;

/// How long a call may go on after its query was stopped, and how long that may take to be told to it.
const PATIENCE: Duration = Duration::from_millis(150);
const STOP_DEADLINE: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A function, and the pipeline that calls it once for each row of a table of its arguments.
pub struct CompiledUdf {
    pub udf: Arc<onrush_ops::DeviceUdf>,
    result: DataType,
    stages: Arc<Vec<Stage>>,
}

impl std::fmt::Debug for CompiledUdf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CompiledUdf").field(&self.udf.symbol).finish()
    }
}

impl CompiledUdf {
    /// Made when it is first asked for.
    ///
    /// # Errors
    /// If a type has no place in a kernel.
    pub fn of(function: &Native) -> Result<Arc<CompiledUdf>, Diagnostic> {
        let make = || CompiledUdf::new(function.function(), function.parameters(), function.result()).map(Arc::new);
        let compiled = function.compiled(make);
        let compiled = compiled.and_then(|compiled| compiled.as_ref().as_ref().map(Arc::clone));
        compiled.ok_or_else(|| internal("a function takes or gives what has no place in a kernel"))
    }

    fn new(function: &NativeFunction, parameters: &[DataType], result: &DataType) -> Option<CompiledUdf> {
        let kinds = parameters.iter().map(kind_of).collect::<Option<Vec<_>>>()?;
        let kind = kind_of(result)?;
        let NativeFunction { name, file, text, .. } = function;
        let udf = Arc::new(onrush_ops::DeviceUdf::new(name, file, text, &kinds, kind)?);
        let mut graph = ExprGraph::new();
        let args: Vec<_> = kinds.iter().enumerate().map(|(index, kind)| graph.input(index, *kind)).collect();
        let op = Op::Udf { function: graph.native(&udf), guarded: false };
        let columns = vec![graph.add(op, &args, kind)];
        let stage = Stage {
            graph,
            joins: Vec::new(),
            window: None,
            repeat: None,
            structs: Vec::new(),
            lookups: Vec::new(),
            texts: Vec::new(),
            filter: None,
            sink: Sink::Output(Output { columns, skip: 0, limit: None }),
        };
        Some(CompiledUdf { udf, result: result.clone(), stages: Arc::new(vec![stage]) })
    }
}

/// The functions that some stages call.
pub fn called_by(stages: &[Stage]) -> Vec<&Arc<onrush_ops::DeviceUdf>> {
    let graphs =
        stages.iter().flat_map(|stage| std::iter::once(&stage.graph).chain(stage.joins.iter().map(|join| &join.graph)));
    graphs.flat_map(|graph| graph.natives()).collect()
}

/// Calls functions outside of fragments: on the device of the engine, else on a separate emulated device.
pub struct DeviceUdfRunner {
    accelerator: Option<Arc<Accelerator>>,
    cache: Option<PathBuf>,
    /// Opened when it is first needed.
    emulated: Arc<OnceLock<Result<Executor, Diagnostic>>>,
}

impl DeviceUdfRunner {
    pub fn new(accelerator: Option<&Arc<Accelerator>>, cache: Option<&Path>) -> DeviceUdfRunner {
        DeviceUdfRunner {
            accelerator: accelerator.map(Arc::clone),
            cache: cache.map(Path::to_path_buf),
            emulated: Arc::default(),
        }
    }

    fn gpu(&self) -> Result<&Executor, Diagnostic> {
        if let Some(accelerator) = &self.accelerator {
            return Ok(&accelerator.gpu);
        }
        let open = || {
            let options = Options { capacity: None, cache: self.cache.as_ref().map(|cache| cache.join("emulated")) };
            let device = Device::emulated(&Emulation::default(), &options)?;
            Executor::new(&device, self.cache.as_ref().map(|cache| cache.join("kernels")).as_deref())
        };
        let opened = self.emulated.get_or_init(|| open().map_err(diagnostic));
        opened.as_ref().map_err(Clone::clone)
    }
}

impl UdfRunner for DeviceUdfRunner {
    fn call(&self, function: &Native, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, Diagnostic> {
        let compiled = CompiledUdf::of(function)?;
        if rows == 0 {
            return Ok(new_empty_array(&compiled.result));
        }
        let gpu = self.gpu()?;
        let run = || {
            let _call = UdfCall::begin(None);
            let lane = gpu.lane(rows as u64)?;
            let upload = |array: &ArrayRef| {
                DeviceColumn::upload(&lane.context, array.data_type(), std::slice::from_ref(array), false)
            };
            let columns = args.iter().map(upload).collect::<onrush_ops::Result<_>>()?;
            let table = DeviceTable { rows: rows as u64, columns };
            let done = gpu.run(&lane, &table, &[], &compiled.stages, &|| false)?;
            done.download(&lane, &Schema::new(vec![Field::new("result", compiled.result.clone(), true)]))
        };
        let mut columns = gpu.with_eviction(run).map_err(|error| failed(&[&compiled.udf], error))?;
        columns.pop().ok_or_else(|| internal("a function of a `%%cuda` cell gave nothing"))
    }
}

impl std::fmt::Debug for DeviceUdfRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeviceUdfRunner")
    }
}

/// The calls under way: each has a number, later ones a higher one, and what says that its query was stopped.
static UNDER_WAY: Mutex<(u64, BTreeMap<u64, Option<Stop>>)> = Mutex::new((0, BTreeMap::new()));

fn under_way() -> MutexGuard<'static, (u64, BTreeMap<u64, Option<Stop>>)> {
    UNDER_WAY.lock()
}

/// While it is there, functions of `%%cuda` cells may run.
pub struct UdfCall(u64);

impl UdfCall {
    /// `stop` is none where DataFusion calls them, which does not say for which query.
    pub fn begin(stop: Option<Stop>) -> UdfCall {
        let mut under_way = under_way();
        under_way.0 += 1;
        let number = under_way.0;
        under_way.1.insert(number, stop);
        UdfCall(number)
    }
}

impl Drop for UdfCall {
    fn drop(&mut self) {
        under_way().1.remove(&self.0);
    }
}

/// Whether any runs now.
pub fn is_any() -> bool {
    !under_way().1.is_empty()
}

/// Waits for the functions that run now, just after a query was stopped. Says whether a function of a stopped query
/// still runs after a while. Then nothing ends it but the end of the process. The time of compilations does not count.
/// Functions that DataFusion calls may belong to any query, and count as stopped.
pub fn is_endless() -> bool {
    let before: Vec<u64> = under_way().1.keys().copied().collect();
    let mut waited = Duration::ZERO;
    loop {
        let left = {
            let under_way = under_way();
            let stops = before.iter().filter_map(|number| under_way.1.get(number));
            // A query that goes on may call for as long as it likes.
            stops.map(|stop| stop.as_ref().is_none_or(Stop::is_set)).collect::<Vec<_>>()
        };
        if left.is_empty() {
            return false;
        }
        if waited >= PATIENCE && left.contains(&true) {
            return true;
        }
        if waited >= STOP_DEADLINE {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
        if !onrush_kernels::is_compiling() {
            waited += POLL_INTERVAL;
        }
    }
}

/// Turns an error of a kernel that calls such functions into a diagnostic about the user's functions.
pub fn failed(functions: &[&Arc<onrush_ops::DeviceUdf>], error: onrush_ops::Error) -> Diagnostic {
    use onrush_device::Error;
    let onrush_ops::Error::Kernels(onrush_kernels::Error::Device(device)) = &error else {
        return diagnostic(error);
    };
    let names: Vec<String> = functions.iter().map(|function| format!("`{}`", function.name)).collect();
    let names = names.join(" or ");
    match device {
        Error::Compile { log, .. } => {
            for function in functions {
                let Some(found) = onrush_device::compiler_messages(log, &function.symbol).into_iter().next() else {
                    continue;
                };
                let message = format!("`{}` does not compile: {}", function.name, found.message);
                let (column, length) = found.place(&function.text);
                let span = Span { file: function.file.clone(), line: found.line, column, length };
                return Diagnostic::error(Class::Compile, "cuda", message).at(span, "");
            }
            diagnostic(error)
        }
        // The emulated device stops at these, and nothing was written but the function's own.
        Error::Kernel { reason, .. }
            if ["the assertion", "__trap()", "divided by zero"].iter().any(|word| reason.contains(word)) =>
        {
            let what = reason.split_once(": ").map_or(reason.as_str(), |(_, what)| what);
            let what = what.rsplit_once(" at ").map_or(what, |(what, _)| what);
            Diagnostic::error(Class::Run, "cuda-fault", format!("{names}: {what}"))
                .help("leave such rows out with a filter before, or let the function give a result for them")
        }
        Error::Lost { .. } => {
            let lost = diagnostic(error);
            let help = format!(
                "{names}: an assertion that does not hold, or a pointer that leads nowhere? With ONRUSH_ENGINE=emulated assertions are named"
            );
            Diagnostic { help: Vec::new(), ..lost }.help(help)
        }
        _ => diagnostic(error),
    }
}
