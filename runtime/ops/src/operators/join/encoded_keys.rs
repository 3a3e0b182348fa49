//! Joins on sparse integer keys through the dictionary encoding of the probe column (`DeviceColumn::encoded`). The
//! build keys are looked up in that dictionary once; then both sides have dense keys, and the probe needs no hash.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onrush_device::Arguments;
use onrush_kernels::{Context, Program, headers};

use crate::Result;
use crate::column::{DeviceColumn, DeviceTable, DictionaryEncoding};
use crate::ir::expr::{DeviceType, Op};
use crate::launch::launch;
use crate::operators::join::{ALWAYS, SPARSE};
use crate::pipeline::{Join, JoinKind, Stage};

/// Threads of a block.
const THREADS: u32 = 256;

/// Gives the joins of the first stage dense keys where they can have them, for a table of `from` rows at least.
pub(crate) fn joins(
    context: &Context,
    stages: &mut Cow<[Stage]>,
    table: &mut Cow<DeviceTable>,
    others: &mut [DeviceTable],
    from: u64,
) -> Result<()> {
    if table.rows < from {
        return Ok(());
    }
    for number in 0..stages[0].joins.len() {
        let (stage, join) = (&stages[0], &stages[0].joins[number]);
        let other = &others[join.table];
        let Some((probe, key)) = columns(stage, join) else { continue };
        let (column, of) = (&table.columns[probe], &other.columns[key]);
        let is_number = |kind| matches!(kind, DeviceType::Number(scalar) if !scalar.is_float() && scalar.bytes() <= 8);
        let are_alike = column.kind == of.kind && column.kind != DeviceType::DictIndex;
        let has_keys = are_alike && is_number(column.stored()) && is_number(of.stored());
        let finds = !join.nulls_equal && join.how != JoinKind::Full && (1..=table.rows).contains(&other.rows);
        let most = u64::max(ALWAYS, other.rows.saturating_mul(SPARSE));
        let is_dense = |(low, high): (i128, i128)| high - low < i128::from(most);
        if !has_keys || !finds || of.range(context)?.is_none_or(is_dense) {
            continue;
        }
        let is_new = !column.join_key_stats.asked.swap(true, Ordering::Relaxed);
        let is_there = column.encoded.get().is_some();
        if !is_there && (is_new || most <= column.join_key_stats.refused.load(Ordering::Relaxed)) {
            continue;
        }
        let few = |encoded: &DictionaryEncoding| encoded.entries <= most;
        let Some(encoded) = column.encoded_if(context, few)?.filter(|encoded| few(encoded)) else {
            column.join_key_stats.refused.fetch_max(most, Ordering::Relaxed);
            continue;
        };
        let found = match among(context, of, (column, &encoded)) {
            Err(error) if error.is_memory() => continue,
            found => found?,
        };
        let codes = DeviceColumn {
            validity: column.validity.clone(),
            ..DeviceColumn::codes(Arc::clone(&encoded.codes), table.rows, encoded.entries)
        };
        let table_of = join.table;
        let (stage, table) = (&mut stages.to_mut()[0], table.to_mut());
        table.columns.push(codes);
        others[table_of].columns.push(found);
        let input = stage.graph.input(table.columns.len() - 1, DeviceType::DictIndex);
        let join = &mut stage.joins[number];
        stage.graph.set_args(join.probe, vec![input]);
        join.keys = vec![join.graph.input(others[table_of].columns.len() - 1, DeviceType::DictIndex)];
    }
    Ok(())
}

/// The columns of the only key: on the probe side and on the build side.
fn columns(stage: &Stage, join: &Join) -> Option<(usize, usize)> {
    let ([probe], [key]) = (&stage.graph.node(join.probe).args[..], &join.keys[..]) else { return None };
    match (&stage.graph.node(*probe).op, &join.graph.node(*key).op) {
        (Op::Input(probe), Op::Input(key)) => Some((*probe as usize, *key as usize)),
        _ => None,
    }
}

/// A column's values as dictionary indices of another column's encoding, null if that lacks the value.
fn among(
    context: &Context,
    of: &DeviceColumn,
    (column, encoded): (&DeviceColumn, &Arc<DictionaryEncoding>),
) -> Result<DeviceColumn> {
    if let Some(numbers) = of.join_key_stats.among.get(&[encoded]) {
        return Ok(numbers);
    }
    let (values, keys) = (column.stored().cuda(), of.stored().cuda());
    let program = program(values, keys);
    let slots = 2 * encoded.entries.max(1);
    let table = match encoded.slots.get() {
        Some(table) => table,
        None => {
            let table = context.zeros(slots * 4)?;
            let fill = context.library.function(&program, "number_fill")?;
            let arguments = Arguments::new().buffer(&encoded.values).value(encoded.entries).buffer(&table).value(slots);
            launch(context, &fill, arguments, encoded.entries, THREADS, 0)?;
            // Other runs find it from here on.
            context.stream.synchronize()?;
            encoded.slots.get_or_init(|| table)
        }
    };
    let numbers = context.allocate(of.rows.max(1) * 4)?;
    let there = context.allocate(of.rows.div_ceil(32).max(1) * 4)?;
    let missing = context.zeros(8)?;
    let look = context.library.function(&program, "number_rows")?;
    let arguments = Arguments::new().buffer(&of.values).optional(of.validity.as_deref()).value(of.rows);
    let arguments = arguments.buffer(&encoded.values).buffer(table).value(slots);
    let arguments = arguments.buffer(&numbers).buffer(&there).buffer(&missing);
    launch(context, &look, arguments, of.rows, THREADS, 0)?;
    let validity = (missing.read_one::<u64>(&context.stream)? > 0).then(|| Arc::new(there));
    let found = DeviceColumn { validity, ..DeviceColumn::codes(Arc::new(numbers), of.rows, encoded.entries) };
    of.join_key_stats.among.put(&[encoded], found.clone());
    Ok(found)
}

fn program(values: &str, keys: &str) -> Program {
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) number_fill(const {values}* values, u64 entries, u32* table, u64 slots) {{\n  \
         lookup_fill(values, entries, table, slots);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) number_rows(const {keys}* keys, const u32* validity, u64 rows, \
         const {values}* values, const u32* table, u64 slots, u32* numbers, u32* there, u64* missing) {{\n  \
         lookup_rows(keys, validity, rows, values, table, slots, numbers, there, missing);\n}}\n"
    );
    Program::new(&[&headers::VALUE_LOOKUP], text, ["number_fill", "number_rows"])
}
