//! `check`, which the tests share, with sizes, null patterns, columns and short names for nodes of expression graphs.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array, new_null_array};
use arrow::compute::{SortColumn, concat, lexsort_to_indices, prep_null_mask_filter, take};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_device::{Device, Emulation, Options};
use onrush_kernels::Scalar;
use onrush_ops::column::string::reads_bytes;
use onrush_ops::pipeline::{estimate_rows, graph_of_table};
use onrush_ops::{
    DeviceColumn, DeviceTable, DeviceType, Error, Executor, ExprGraph, LiteralValue, NodeId, Op, Output,
    OverflowPolicy, Result, Sink, SortKey, Stage, StreamContext, Tuning,
};

pub const BOOL: DeviceType = DeviceType::Bool;
pub const INT: DeviceType = DeviceType::Number(Scalar::I32);
pub const LONG: DeviceType = DeviceType::Number(Scalar::I64);
pub const UNSIGNED: DeviceType = DeviceType::Number(Scalar::U64);
pub const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);
pub const WIDE: DeviceType = DeviceType::Number(Scalar::I128);
pub const INDEX: DeviceType = DeviceType::DictIndex;
pub const STRING: DeviceType = DeviceType::String;
pub const LIST: DeviceType = DeviceType::ListView;
/// The type of a row number of a build side.
pub const ROW: DeviceType = DeviceType::Number(Scalar::U32);

/// Around a warp, a block and a tile. A fragment without rows runs on the CPU (`GpuExec`), so no test has 0 rows of
/// input; filters leave none.
pub const SIZES: [usize; 7] = [1, 31, 32, 33, 1023, 1024, 1025];
/// For variants of a case.
pub const FEW_SIZES: [usize; 3] = [1, 33, 1025];

/// The pattern of nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    None,
    All,
    Alternating,
    First,
    Last,
}

impl Nulls {
    pub const ALL: [Nulls; 5] = [Nulls::None, Nulls::All, Nulls::Alternating, Nulls::First, Nulls::Last];

    pub fn is_valid(self, row: usize, rows: usize) -> bool {
        match self {
            Nulls::None => true,
            Nulls::All => false,
            Nulls::Alternating => row.is_multiple_of(2),
            Nulls::First => row != 0,
            Nulls::Last => row + 1 != rows,
        }
    }
}

/// A column of some rows.
pub fn column<A, T>(rows: usize, nulls: Nulls, value: impl Fn(usize) -> T) -> ArrayRef
where
    A: Array + FromIterator<Option<T>> + 'static,
{
    Arc::new((0..rows).map(|row| nulls.is_valid(row, rows).then(|| value(row))).collect::<A>())
}

/// SplitMix64 of a row's number: the same values in each run.
pub fn random(row: usize, seed: u64) -> u64 {
    let mut x = (row as u64).wrapping_add(seed << 32).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// One of some values for each row.
pub fn one_of<T: Copy>(values: &[T], row: usize, seed: u64) -> T {
    values[(random(row, seed) % values.len() as u64) as usize]
}

/// Integers with the ends of their range among them.
pub fn long(row: usize, seed: u64) -> i64 {
    const EDGES: [i64; 6] = [i64::MIN, i64::MAX, 0, -1, 1, i64::MIN + 1];
    match random(row, seed ^ 0x51) % 4 {
        0 => one_of(&EDGES, row, seed),
        1 => (random(row, seed) % 20) as i64 - 10,
        _ => random(row, seed) as i64,
    }
}

/// Floats with NaN, infinities and both zeros among them.
pub fn float(row: usize, seed: u64) -> f64 {
    const EDGES: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, -1.5];
    match random(row, seed ^ 0x52) % 3 {
        0 => one_of(&EDGES, row, seed),
        1 => (random(row, seed) % 20) as f64 / 2.0 - 5.0,
        _ => (random(row, seed) as i64 as f64) / 1e9,
    }
}

/// Strings of one to four bytes a character, empty ones, and prefixes of each other.
pub const STRINGS: [&str; 12] = [
    "",
    "a",
    "ab",
    "abc",
    "Zebra",
    "zebra",
    "é",
    "Straße",
    "日本語",
    "日本",
    "🦀 crab",
    "a string of more than sixteen bytes, which ends with ß",
];

/// The folder in which the engine keeps compiled kernels too (`kernel/wire/src/paths.rs`).
fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("ONRUSH_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("onrush")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/onrush")))
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")))
}

/// The emulated device, which checks each access of a kernel if `checked`.
pub fn open(checked: bool, tuning: Option<Tuning>) -> Executor {
    let cache = cache();
    let options = Options { capacity: None, cache: Some(cache.join("emulated")) };
    // A checked kernel takes minutes on a busy machine.
    let emulation = Emulation { checked, patience: Duration::from_secs(600), ..Emulation::default() };
    let device = Device::emulated(&emulation, &options).unwrap();
    let mut gpu = Executor::new(&device, Some(&cache.join("kernels"))).unwrap();
    gpu.tuning = tuning.unwrap_or(gpu.tuning);
    gpu
}

/// A device with the tuning of a GPU, and others with the one in which all algorithms run on small tables.
pub struct Devices {
    pub large: LazyLock<Executor>,
    pub small: LazyLock<Executor>,
    pub unchecked: LazyLock<Executor>,
}

pub static DEVICES: Devices = Devices {
    large: LazyLock::new(|| open(false, None)),
    small: LazyLock::new(|| open(true, Some(Tuning::small()))),
    unchecked: LazyLock::new(|| open(false, Some(Tuning::small()))),
};

impl Devices {
    pub fn all(&self) -> [&Executor; 2] {
        [&*self.large, &*self.small]
    }
}

/// A column as the arrays that are uploaded, one after the other.
type Chunks = Vec<ArrayRef>;

/// The rows as two slices of a longer array, with other rows before and after. Neither begins at a multiple of 8.
pub fn sliced(array: &ArrayRef) -> Chunks {
    let around = |rows: usize| match array.len() {
        0 => new_null_array(array.data_type(), rows),
        len => {
            let some = UInt32Array::from_iter_values((0..rows).map(|row| (row * 7 % len) as u32));
            take(array, &some, None).unwrap()
        }
    };
    let all = concat(&[&around(3), array, &around(5)]).unwrap();
    let first = array.len() / 3 + usize::from(array.len() / 3 % 8 == 5);
    let first = first.min(array.len());
    let parts = [all.slice(3, first), all.slice(3 + first, array.len() - first)];
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

pub fn upload(lane: &StreamContext, columns: &[Chunks], as_bytes: &dyn Fn(usize) -> bool) -> Result<DeviceTable> {
    let rows = columns.first().map_or(0, |chunks| chunks.iter().map(|chunk| chunk.len() as u64).sum());
    let upload = |(index, chunks): (usize, &Chunks)| {
        DeviceColumn::upload(&lane.context, chunks[0].data_type(), chunks, as_bytes(index))
    };
    Ok(DeviceTable { rows, columns: columns.iter().enumerate().map(upload).collect::<Result<_>>()? })
}

pub fn download(
    gpu: &Executor,
    lane: &StreamContext,
    table: &DeviceTable,
    types: &[DataType],
) -> Result<Vec<ArrayRef>> {
    assert_eq!(table.columns.len(), types.len());
    let columns = table.columns.iter().zip(types);
    let columns = columns.map(|(column, dtype)| gpu.compacted(lane, dtype, column)).collect::<Result<_>>()?;
    let fields: Vec<Field> = types.iter().map(|dtype| Field::new("c", dtype.clone(), true)).collect();
    DeviceTable { rows: table.rows, columns }.download(lane, &Schema::new(fields))
}

/// Runs stages over uploaded arrays as a fragment does: the first table is the pipeline's, the others are build sides.
/// Later runs over the same memory may be replayed, or find columns that were encoded.
pub fn run(
    gpu: &Executor,
    stages: &Arc<Vec<Stage>>,
    tables: &[Vec<Chunks>],
    types: &[DataType],
    runs: usize,
) -> Result<Vec<Vec<ArrayRef>>> {
    let lane = gpu.lane(estimate_rows(stages, &[]))?;
    let table = |(number, columns): (usize, &Vec<Chunks>)| {
        let graph = graph_of_table(stages, number);
        upload(&lane, columns, &|index| graph.is_some_and(|graph| reads_bytes(graph, index)))
    };
    let tables = tables.iter().enumerate().map(table).collect::<Result<Vec<_>>>()?;
    let once = |_| {
        let found = gpu.run(&lane, &tables[0], &tables[1..], stages, &|| false)?;
        download(gpu, &lane, &found, types)
    };
    (0..runs).map(once).collect()
}

fn in_order(columns: &[ArrayRef]) -> Vec<ArrayRef> {
    if columns.is_empty() || columns[0].is_empty() {
        return columns.to_vec();
    }
    let keys: Vec<SortColumn> =
        columns.iter().map(|values| SortColumn { values: Arc::clone(values), options: None }).collect();
    let order = lexsort_to_indices(&keys, None).unwrap();
    columns.iter().map(|column| take(column, &order, None).unwrap()).collect()
}

/// A condition in which null is false.
pub fn condition(column: &ArrayRef) -> BooleanArray {
    match column.null_count() {
        0 => column.as_boolean().clone(),
        _ => prep_null_mask_filter(column.as_boolean()),
    }
}

/// How rows are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Given,
    Any,
}

/// Fails at the first row that differs, for both tunings: over whole arrays, three times, and over slices. Floats are
/// equal if their bits are.
#[track_caller]
fn check_on(small: &Executor, stages: Vec<Stage>, tables: &[&[ArrayRef]], expected: &[ArrayRef], order: Order) {
    let stages = Arc::new(stages);
    let types: Vec<DataType> = expected.iter().map(|column| column.data_type().clone()).collect();
    let form = |of: &dyn Fn(&ArrayRef) -> Chunks| -> Vec<Vec<Chunks>> {
        tables.iter().map(|columns| columns.iter().map(of).collect()).collect()
    };
    let whole = form(&|array| vec![Arc::clone(array)]);
    let slices = form(&sliced);
    let rows = tables[0].first().map_or(0, |column| column.len());
    for (name, gpu, tables, runs) in
        [("whole", &*DEVICES.large, &whole, 3), ("sliced, small tuning", small, &slices, 2)]
    {
        let found = run(gpu, &stages, tables, &types, runs);
        let found = found.unwrap_or_else(|error| panic!("{name}, {rows} rows: {error}"));
        for (number, found) in found.iter().enumerate() {
            let ordered =
                |columns: &[ArrayRef]| if order == Order::Given { columns.to_vec() } else { in_order(columns) };
            for (index, (found, expected)) in ordered(found).iter().zip(ordered(expected)).enumerate() {
                let place = format!("{name}, {rows} rows, run {number}, column {index}");
                assert_eq!(found.len(), expected.len(), "{place}: rows");
                if found.as_ref() != expected.as_ref() {
                    let differs = |row: &usize| found.slice(*row, 1).as_ref() != expected.slice(*row, 1).as_ref();
                    let row = (0..found.len()).find(differs).unwrap_or_default();
                    let (found, expected) = (found.slice(row, 1), expected.slice(row, 1));
                    panic!("{place}, row {row}: {found:?}, expected {expected:?}");
                }
            }
        }
    }
}

/// Checks the rows and their order.
#[track_caller]
pub fn check(stages: Vec<Stage>, tables: &[&[ArrayRef]], expected: &[ArrayRef]) {
    check_on(&DEVICES.small, stages, tables, expected, Order::Given);
}

/// Checks the rows and their order without looking at each access. If a run of equal upper bits is too long, threads of
/// `sort_repair` race on keys that are then sorted again by all digits.
#[track_caller]
pub fn check_unchecked(stages: Vec<Stage>, tables: &[&[ArrayRef]], expected: &[ArrayRef]) {
    check_on(&DEVICES.unchecked, stages, tables, expected, Order::Given);
}

/// Checks the rows in any order.
#[track_caller]
pub fn check_unordered(stages: Vec<Stage>, tables: &[&[ArrayRef]], expected: &[ArrayRef]) {
    check_on(&DEVICES.small, stages, tables, expected, Order::Any);
}

/// Checks that a row fails to evaluate, and that the device works afterwards.
#[track_caller]
pub fn check_row_error(stages: Vec<Stage>, tables: &[&[ArrayRef]], types: &[DataType]) {
    let stages = Arc::new(stages);
    let whole: Vec<Vec<Chunks>> =
        tables.iter().map(|columns| columns.iter().map(|column| vec![Arc::clone(column)]).collect()).collect();
    for gpu in DEVICES.all() {
        for _ in 0..2 {
            let found = run(gpu, &stages, &whole, types, 1);
            assert!(matches!(found, Err(Error::Fault)), "{found:?}");
        }
    }
}

pub fn stage(graph: ExprGraph, sink: Sink) -> Stage {
    Stage {
        graph,
        joins: Vec::new(),
        window: None,
        repeat: None,
        structs: Vec::new(),
        lookups: Vec::new(),
        texts: Vec::new(),
        filter: None,
        sink,
    }
}

pub fn output(columns: Vec<NodeId>) -> Sink {
    Sink::Output(Output { columns, skip: 0, limit: None })
}

/// A pipeline that projects some columns.
pub fn project(graph: ExprGraph, columns: Vec<NodeId>) -> Vec<Stage> {
    vec![stage(graph, output(columns))]
}

/// A float as SQL groups and sorts it: with one zero and one NaN, as `runtime/plan` does it (`as_group`).
pub fn as_group(graph: &mut ExprGraph, value: NodeId) -> NodeId {
    let zero = graph.number(Scalar::F64, 0);
    let value = graph.add(Op::Add, &[value, zero], FLOAT);
    let nan = graph.literal(FLOAT, LiteralValue::F64(f64::NAN.to_bits()));
    let is_nan = graph.add(Op::MathFn("is_nan"), &[value], BOOL);
    graph.add(Op::IfElse, &[is_nan, nan, value], FLOAT)
}

/// A sort key, as `runtime/plan` makes it (`FragmentBuilder::ordered`).
pub fn sort_key(graph: &mut ExprGraph, value: NodeId, descending: bool, nulls_first: bool) -> SortKey {
    let key = match graph.kind(value) {
        UNSIGNED => value,
        kind => {
            let op = match kind {
                BOOL | INDEX | WIDE => Op::Convert(OverflowPolicy::Error),
                _ => Op::OrderKey,
            };
            let signed = graph.add(op, &[value], LONG);
            let bits = graph.add(Op::Bits, &[signed], UNSIGNED);
            let sign = graph.literal(UNSIGNED, LiteralValue::U64(1 << 63));
            graph.add(Op::BitXor, &[bits, sign], UNSIGNED)
        }
    };
    let all = graph.literal(UNSIGNED, LiteralValue::U64(u64::MAX));
    let key = if descending { graph.add(Op::BitXor, &[key, all], UNSIGNED) } else { key };
    let null = graph.literal(UNSIGNED, LiteralValue::U64(if nulls_first { 0 } else { u64::MAX }));
    let key = graph.add(Op::Coalesce, &[key, null], UNSIGNED);
    let mut absent = graph.add(Op::IsNull, &[value], BOOL);
    if nulls_first {
        absent = graph.add(Op::Not, &[absent], BOOL);
    }
    let absent = graph.add(Op::Convert(OverflowPolicy::Error), &[absent], UNSIGNED);
    SortKey { value, key, absent, descending }
}
