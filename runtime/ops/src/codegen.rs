//! Code generation: an expression graph becomes CUDA C++ statements for one row. The kernels themselves are in
//! `codegen/`.
//!
//! The code depends on the graph, on nullability, on which 128-bit values fit into 64 bits, and on the key lookup of
//! groups and joins. Values that come from data (literals, ranges, addresses) are kernel parameters, so one
//! compilation serves all of them.

pub mod expand;
pub mod group;
pub mod join;
mod list;
mod operation;
pub mod output;
mod parameters;
pub mod partition;
pub mod reduce;
pub mod source;
mod string;
pub mod top_k;
mod udf;
pub mod window;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hash;
use std::sync::Arc;

use onrush_device::{Buffer, Function};
use onrush_kernels::headers::{self, Header};
use onrush_kernels::{Program, Scalar};

use crate::ir::expr::{DeviceType, ExprGraph, Node, NodeId, Op};
use crate::ir::value_range::{self, KnownRanges, Range};
use crate::launch::kernel_cache::{KernelCache, KernelKey};
use crate::{Error, Result};

pub use join::ProbePlan;
pub use parameters::Parameters;
pub use source::{ColumnRef, RowSource};

use operation::NodeCode;
use window::WindowState;

/// The most parameters of inputs and literals with which a kernel is tried; outputs come in addition. CUDA allows 32 kB
/// of parameters from version 12.1 on, and the C++ compiler of the host stops at 900.
const MOST_PARAMETERS: usize = 3600;
const MOST_EMULATED: usize = 440;
/// The most parameters of a kernel in all. NVRTC takes 27 s for a filter of 3,000 conditions (H100), and the time grows
/// faster than their number.
const MOST_IN_ALL: usize = 2000;
const MOST_IN_ALL_EMULATED: usize = 880;

/// Fails if a kernel would have more parameters than its compiler takes: the plan then runs on the CPU.
pub fn check_parameters(context: &onrush_kernels::Context, parameters: &Parameters) -> Result<()> {
    let most = if context.device().is_emulated() { MOST_IN_ALL_EMULATED } else { MOST_IN_ALL };
    match parameters.len() {
        count if count > most => Err(Error::Unsupported(format!(
            "a pipeline with so many columns and literals that it takes {count} parameters (limit {most})"
        ))),
        _ => Ok(()),
    }
}

/// A table of values by code, for one pipeline: the last entry is that of null.
pub struct LookupTable {
    pub values: Buffer,
    pub valid: Option<Buffer>,
    /// Whether a value is valid exactly if its string is.
    pub keeps_nulls: bool,
    pub entries: u64,
    pub range: Option<(i128, i128)>,
    /// Whether each value has the dictionary index of the string that it was computed from, and that of null is null.
    /// One example is `upper`, if it leaves the order.
    pub is_same: bool,
}

impl LookupTable {
    /// Values that are all there, and of which nothing else is known.
    pub fn plain(values: Buffer, entries: u64) -> LookupTable {
        LookupTable { values, valid: None, keeps_nulls: false, entries, range: None, is_same: false }
    }
}

/// Inputs of a pipeline in addition to its source.
#[derive(Clone, Copy, Default)]
pub struct SideInputs<'a> {
    pub tables: &'a [Arc<LookupTable>],
    pub joins: &'a [&'a ProbePlan],
    pub window: Option<&'a WindowState>,
}

/// Source, expressions and tables: what all kernels of a pipeline have in common.
pub struct KernelBody<'a> {
    pub source: &'a RowSource,
    pub graph: &'a ExprGraph,
    pub beside: SideInputs<'a>,
    pub filter: Option<NodeId>,
    pub memo: &'a KernelCache,
    signature: OnceCell<KernelKey>,
    ranges: OnceCell<Vec<Option<Range>>>,
}

/// A node's value and what goes with it, as expressions over variables.
#[derive(Clone, Debug, Default)]
pub struct ValueExpr {
    pub value: String,
    pub valid: Option<String>,
    pub fault: Option<String>,
}

impl ValueExpr {
    /// Whether the value is there.
    pub fn ok(&self) -> &str {
        self.valid.as_deref().unwrap_or("true")
    }
}

/// Columns of a row that are loaded before it is computed: the structure `Columns`, and the functor that fills it.
pub struct Loads {
    pub columns: String,
    pub load: String,
}

/// Sources of columns when statements are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// From memory, where they are used.
    Memory,
    /// From `loaded`, the structure of the columns of a row that was loaded before.
    Loaded,
}

impl<'a> KernelBody<'a> {
    pub fn new(
        source: &'a RowSource,
        graph: &'a ExprGraph,
        beside: SideInputs<'a>,
        filter: Option<NodeId>,
        memo: &'a KernelCache,
    ) -> Self {
        KernelBody { source, graph, beside, filter, memo, signature: OnceCell::new(), ranges: OnceCell::new() }
    }

    /// Begins a key of what is generated from this body: all that its text depends on.
    fn key(&self, entry: &str) -> KernelKey {
        let signature = self.signature.get_or_init(|| {
            let mut key = KernelKey::new("body");
            self.graph.nodes().hash(&mut key);
            for (kind, _) in self.graph.literals() {
                kind.hash(&mut key);
            }
            for native in self.graph.natives() {
                native.symbol.hash(&mut key);
            }
            self.source.parameters.declarations.hash(&mut key);
            for access in self.source.inputs.iter().chain(&self.source.fetched) {
                access.codegen_key().hash(&mut key);
            }
            self.source.present.hash(&mut key);
            self.source.is_partitioned.hash(&mut key);
            for table in self.beside.tables {
                (table.valid.is_some(), table.keeps_nulls).hash(&mut key);
            }
            for probing in self.beside.joins {
                probing.codegen_key().hash(&mut key);
            }
            if let Some(window) = self.beside.window {
                (&window.parameters.declarations, &window.sliding, &window.block_tree).hash(&mut key);
            }
            self.filter.hash(&mut key);
            for id in 0..self.graph.len() as NodeId {
                self.fits_i64(id).hash(&mut key);
            }
            key
        });
        let mut key = KernelKey::new(entry);
        key.add(signature);
        key
    }

    /// Lowest and highest value that a node can have, for integers, codes and booleans; wider than the truth where
    /// little is known.
    pub fn range(&self, id: NodeId) -> Option<Range> {
        self.ranges.get_or_init(|| value_range::all(self.graph, self))[id as usize]
    }

    /// Whether a node of 128 bits has values of 64.
    fn fits_i64(&self, id: NodeId) -> bool {
        let fits = |(low, high): Range| low >= i64::MIN.into() && high <= i64::MAX.into();
        self.graph.kind(id) == DeviceType::Number(Scalar::I128) && self.range(id).is_some_and(fits)
    }

    /// Compiles a kernel over this body, or returns the cached one. `of` is hashed: all that the kernel's text depends
    /// on in addition to the body.
    pub fn kernel(
        &self,
        context: &onrush_kernels::Context,
        entry: &str,
        of: impl Hash,
        program: impl FnOnce() -> Program,
    ) -> Result<Function> {
        let joined = self.beside.joins.iter().map(|probing| probing.parameters.declarations.len());
        let given = self.source.parameters.declarations.len() + self.graph.literals().len() + joined.sum::<usize>();
        if given > if context.device().is_emulated() { MOST_EMULATED } else { MOST_PARAMETERS } {
            return Err(Error::Unsupported(format!(
                "a pipeline with so many columns and literals that it takes {given} parameters"
            )));
        }
        let mut key = self.key(entry);
        of.hash(&mut key);
        self.memo.function(context, key, entry, program)
    }

    /// Whether each of some nodes can be null, in the code that is generated for them.
    pub fn nullable(&self, roots: &[NodeId]) -> Vec<bool> {
        let mut key = self.key("nullable");
        roots.hash(&mut key);
        self.memo.flags(key, || {
            let mut writer = Writer::new(self, Inputs::Memory, "");
            roots.iter().map(|root| writer.value(*root).valid.is_some()).collect()
        })
    }

    /// The parameters of all kernels: the source's, literals, tables, then `rows` and `fault`.
    pub fn parameters(&self, fault: u64) -> Parameters {
        let mut parameters = self.source.parameters.clone();
        for (index, (kind, value)) in self.graph.literals().iter().enumerate() {
            parameters.literal(&format!("p{index}"), *kind, *value);
        }
        for probing in self.beside.joins {
            parameters.extend(&probing.parameters);
        }
        if let Some(window) = self.beside.window {
            parameters.extend(&window.parameters);
        }
        for (index, table) in self.beside.tables.iter().enumerate() {
            parameters.address("const void*", &format!("l{index}"), table.values.address());
            parameters.address("const u8*", &format!("lv{index}"), table.valid.as_ref().map_or(0, Buffer::address));
            parameters.u32(&format!("n{index}"), (table.entries - 1) as u32);
        }
        parameters.u64("rows", self.source.rows);
        parameters.address("u32*", "fault", fault);
        parameters
    }

    /// The headers that some nodes need, with those of the kernel.
    pub fn program(&self, kernel: &[&'static Header], body: String, entry: &str) -> Program {
        let mut all: Vec<&'static Header> = vec![&headers::PIPELINE, &headers::ROWS];
        all.extend(kernel);
        for id in 0..self.graph.len() as NodeId {
            match self.graph.node(id).op {
                Op::DatePart(..) | Op::Truncate(..) | Op::ToLocal(..) | Op::ToUtc(..) => all.push(&headers::DATES),
                Op::AddExact | Op::SubtractExact | Op::MultiplyExact | Op::DivideExact => all.push(&headers::DECIMAL),
                Op::DivideRounded | Op::CheckRange(_) => all.push(&headers::DECIMAL),
                Op::Probe(_) => all.push(&headers::HASH_GROUP),
                Op::Str(op) => all.extend(string::headers_of(op)),
                Op::List(_) => all.push(&headers::LIST),
                Op::Sliding(_) => all.push(&headers::WINDOW),
                _ => {}
            }
        }
        let texts = self.source.inputs.iter().chain(&self.source.fetched);
        let joined = self.beside.joins.iter().flat_map(|probing| &probing.columns);
        if texts.chain(joined).any(|access| access.kind == DeviceType::String) {
            all.push(&headers::STRINGS);
        }
        let spans = self.beside.window.and_then(|found| found.block_tree.as_deref());
        let body = [spans.unwrap_or_default(), &body].concat();
        let called = self.graph.natives().iter().filter(|native| body.contains(&native.symbol));
        let before = called.map(|native| Arc::clone(&native.source)).collect();
        Program { before, ..Program::new(&all, body, [entry]) }
    }

    /// Columns that some nodes read.
    pub fn inputs(&self, roots: &[NodeId]) -> Vec<usize> {
        let inputs = self.graph.needed(roots).into_iter().filter_map(|id| match self.graph.node(id).op {
            Op::Input(index) => Some(index as usize),
            _ => None,
        });
        inputs.collect()
    }

    /// Rows that a thread has under way: fewer where computing a row takes long.
    pub fn unroll(&self, roots: &[NodeId]) -> u32 {
        if self.source.is_partitioned {
            return 1;
        }
        let needed = self.graph.needed(roots);
        let heavy = needed.iter().filter(|id| {
            let node = self.graph.node(**id);
            let wide = node.kind == DeviceType::Number(Scalar::I128);
            matches!(
                node.op,
                Op::Str(_)
                    | Op::List(_)
                    | Op::MathFn(_)
                    | Op::Udf { .. }
                    | Op::Divide
                    | Op::Remainder
                    | Op::DatePart(..)
                    | Op::Truncate(..)
                    | Op::ToLocal(..)
                    | Op::ToUtc(..)
            ) || wide
        });
        match (heavy.count(), needed.len()) {
            (0, 0..=6) => 8,
            (0..=1, 0..=24) => 4,
            (0..=4, 0..=60) => 2,
            _ => 1,
        }
    }

    /// How the columns that some nodes read are loaded before rows are computed.
    pub fn loads(&self, roots: &[NodeId]) -> Loads {
        let (mut fields, mut each) = (String::new(), String::new());
        for index in self.inputs(roots) {
            let access = &self.source.inputs[index];
            let _ = write!(fields, " {} c{index};", access.kind.cuda());
            let _ = write!(each, " loaded.c{index} = {};", access.value);
            if let Some(valid) = &access.valid {
                let _ = write!(fields, " bool v{index};");
                let _ = write!(each, " loaded.v{index} = {valid};");
            }
        }
        Loads {
            columns: format!("struct Columns {{{fields} }};\n"),
            load: format!("[&](u64 row, Columns& loaded) ROW_CODE {{{each} }}"),
        }
    }

    /// A loop over rows, with `unroll` of a thread in flight. `compute` has the statements for a `row`.
    pub fn rows_loop(&self, loads: &Loads, unroll: u32, compute: &str) -> String {
        self.ending_loop(loads, unroll, compute, None, "")
    }

    /// As [`KernelBody::rows_loop`]. A thread ends if `compute` returns false, or if the condition `goes_on` does not
    /// hold. `finish` has the statements behind the last row of a thread that did not end before.
    pub fn ending_loop(
        &self,
        loads: &Loads,
        unroll: u32,
        compute: &str,
        goes_on: Option<&str>,
        finish: &str,
    ) -> String {
        let (name, goes_on) = match goes_on {
            Some(condition) => ("each_row_while", format!("[&]() ROW_CODE {{ return {condition}; }}, ")),
            None => ("each_row", String::new()),
        };
        format!(
            "  {name}<Columns, {unroll}>(rows, {goes_on}{},\n    [&](u64 row, const Columns& loaded) ROW_CODE {{\n\
             {compute}        return true;\n    }},\n    \
             [&]() ROW_CODE {{ if (faults != 0) atomicOr(fault, 1u);{finish} }});\n",
            loads.load,
        )
    }

    /// The condition that a row is present and passes the filter, after statements that compute it. Notes the filter's
    /// row errors.
    pub fn passing(&self, writer: &mut Writer) -> String {
        let mut conditions: Vec<String> = self.source.present.iter().map(|present| format!("({present})")).collect();
        if let Some(filter) = self.filter {
            let names = writer.value(filter);
            writer.note(&names);
            conditions.extend(names.valid.clone());
            conditions.push(names.value);
        }
        if conditions.is_empty() { "true".to_string() } else { conditions.join(" && ") }
    }
}

impl KnownRanges for KernelBody<'_> {
    fn input(&self, column: u32) -> Option<Range> {
        self.source.inputs[column as usize].range
    }

    fn lookup(&self, table: u32) -> Option<Range> {
        self.beside.tables.get(table as usize)?.range
    }

    fn build_rows(&self, join: u32) -> Option<Range> {
        self.beside.joins.get(join as usize).map(|probing| (0, i128::from(probing.rows) - 1))
    }

    fn build_column(&self, join: u32, column: u32) -> Option<Range> {
        self.beside.joins.get(join as usize)?.columns.get(column as usize)?.range
    }

    fn prefix(&self, accumulator: u32) -> Option<Range> {
        *self.beside.window?.prefix.get(accumulator as usize)?
    }

    fn suffix(&self, accumulator: u32) -> Option<Range> {
        *self.beside.window?.suffix.get(accumulator as usize)?
    }
}

/// Writes the statements that compute nodes, each once.
pub struct Writer<'a> {
    body: &'a KernelBody<'a>,
    inputs: Inputs,
    indent: &'static str,
    pub text: String,
    names: HashMap<NodeId, ValueExpr>,
    /// The lengths of computed strings, as C++ expressions.
    lengths: HashMap<NodeId, String>,
}

fn both(a: &Option<String>, b: &Option<String>, operator: &str) -> Option<String> {
    match (a, b) {
        (Some(a), Some(b)) if a == b => Some(a.clone()),
        (Some(a), Some(b)) => Some(format!("({a} {operator} {b})")),
        (one, other) => one.clone().or_else(|| other.clone()),
    }
}

impl<'a> Writer<'a> {
    pub fn new(body: &'a KernelBody<'a>, inputs: Inputs, indent: &'static str) -> Self {
        Writer { body, inputs, indent, text: String::new(), names: HashMap::new(), lengths: HashMap::new() }
    }

    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", self.indent);
    }

    /// Notes a row error of this row.
    pub fn note(&mut self, names: &ValueExpr) {
        if let Some(fault) = &names.fault {
            let line = format!("faults |= {fault};");
            self.line(&line);
        }
    }

    /// A node's value is known already.
    fn know(&mut self, id: NodeId, names: ValueExpr) {
        self.names.insert(id, names);
    }

    /// The probes so far, and the build-side rows that they yield.
    fn probes(&self) -> Vec<(NodeId, ValueExpr)> {
        let is_probe = |id: &NodeId| matches!(self.body.graph.node(*id).op, Op::Probe(_));
        let mut found: Vec<_> =
            self.names.iter().filter(|(id, _)| is_probe(id)).map(|(id, n)| (*id, n.clone())).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        found
    }

    /// Computes a node, with all that it needs.
    pub fn value(&mut self, id: NodeId) -> ValueExpr {
        if let Some(known) = self.names.get(&id) {
            return known.clone();
        }
        for needed in self.body.graph.needed(&[id]) {
            if !self.names.contains_key(&needed) {
                let names = self.node(needed);
                self.names.insert(needed, names);
            }
        }
        self.names[&id].clone()
    }

    fn node(&mut self, id: NodeId) -> ValueExpr {
        let node = self.body.graph.node(id);
        let (kind, t) = (node.kind, node.kind.cuda());
        let args: Vec<ValueExpr> = node.args.iter().map(|arg| self.names[arg].clone()).collect();
        let from = node.args.first().map(|arg| self.body.graph.kind(*arg));
        let plain = |value: String| ValueExpr { value, ..ValueExpr::default() };
        // The validity and row errors of a strict function of its arguments.
        let valid = args.iter().fold(None, |valid, arg| both(&valid, &arg.valid, "&&"));
        let fault = args.iter().fold(None, |fault, arg| both(&fault, &arg.fault, "||"));
        let a = || args[0].value.as_str();
        let ok = valid.clone().unwrap_or_else(|| "true".to_string());
        let mut code = NodeCode { id, node, from, args: &args, ok: &ok, valid, fault, own_fault: None };
        let value = match node.op {
            Op::Input(index) => {
                let access = &self.body.source.inputs[index as usize];
                let place = |name: &str| format!("loaded.{name}{index}");
                return match self.inputs {
                    Inputs::Loaded => {
                        ValueExpr { value: place("c"), valid: access.valid.as_ref().map(|_| place("v")), fault: None }
                    }
                    Inputs::Memory => {
                        let (value, valid) = (access.value.clone(), access.valid.clone());
                        self.define(id, kind, value, valid, None)
                    }
                };
            }
            Op::Literal(index) if kind == DeviceType::Bool => return plain(format!("(p{index} != 0)")),
            Op::Literal(index) => return plain(format!("p{index}")),
            Op::RowNumber => return plain("row".to_string()),
            Op::RepeatIndex => return plain("spread_place[row]".to_string()),
            Op::List(op) => return self.list(id, op, &args),
            Op::Gather(index) => {
                let access = &self.body.source.fetched[index as usize];
                let there = access.valid.as_deref().unwrap_or("true");
                self.line(&format!("{t} fx{id} = ({t})0; bool fb{id} = {ok};"));
                let value = &access.value;
                self.line(&format!("if (fb{id}) {{ const u64 row = {}; fx{id} = {value}; fb{id} = {there}; }}", a()));
                code.valid = Some(format!("fb{id}"));
                format!("fx{id}")
            }
            Op::Probe(join) => return self.probe(id, join, &args),
            Op::BuildColumn(join, column) => return self.joined(id, join, column, &args[0]),
            Op::WindowBoundary(edge) => Writer::edge(edge).to_string(),
            Op::Prefix(number) => return self.running(id, ("wrun", number), kind, &args[0]),
            Op::Suffix(number) => return self.running(id, ("wback", number), kind, &args[0]),
            Op::Sliding(number) => return self.sliding(id, number, kind, &args[0], &args[1]),
            Op::LowerBound { .. } => return self.seek(id, node, &args),
            Op::Null => return ValueExpr { value: format!("({t})0"), valid: Some("false".into()), fault: None },
            Op::MathFn("sin" | "cos") if kind == DeviceType::Number(Scalar::F64) => {
                if let Some(names) = self.sine_and_cosine(id, a(), &code.valid, &code.fault) {
                    return names;
                }
                let name = if node.op == Op::MathFn("sin") { "sin" } else { "cos" };
                format!("{name}({})", a())
            }
            Op::Udf { function, guarded } => return self.native(id, function, guarded, &args),
            _ => self.operation(&mut code),
        };
        let NodeCode { valid, mut fault, own_fault, .. } = code;
        if let Some(found) = own_fault {
            let guarded = if ok == "true" { format!("({found})") } else { format!("({ok} && {found})") };
            fault = both(&fault, &Some(guarded), "||");
        }
        self.define(id, kind, value, valid, fault)
    }

    /// Both at once where both are asked for: half of the work is the same. The other one is known from then on.
    fn sine_and_cosine(
        &mut self,
        id: NodeId,
        of: &str,
        valid: &Option<String>,
        fault: &Option<String>,
    ) -> Option<ValueExpr> {
        let graph = self.body.graph;
        let node = graph.node(id);
        let sine = node.op == Op::MathFn("sin");
        let other = Node { op: Op::MathFn(if sine { "cos" } else { "sin" }), ..node.clone() };
        let other = graph.find(&other)?;
        self.line(&format!("f64 sx{id}, cx{id}; sincos({of}, &sx{id}, &cx{id});"));
        let names =
            |letter: char| ValueExpr { value: format!("{letter}x{id}"), valid: valid.clone(), fault: fault.clone() };
        let (mine, its) = if sine { ('s', 'c') } else { ('c', 's') };
        self.names.insert(other, names(its));
        Some(names(mine))
    }

    fn define(
        &mut self,
        id: NodeId,
        kind: DeviceType,
        value: String,
        valid: Option<String>,
        fault: Option<String>,
    ) -> ValueExpr {
        self.line(&format!("const {} x{id} = {value};", kind.cuda()));
        // Plain names and constants stay as they are.
        let mut name = |letter: char, text: Option<String>| {
            text.map(|text| match text.contains([' ', '(', '[']) {
                true => {
                    self.line(&format!("const bool {letter}x{id} = {text};"));
                    format!("{letter}x{id}")
                }
                false => text,
            })
        };
        ValueExpr { value: format!("x{id}"), valid: name('b', valid), fault: name('f', fault) }
    }
}
