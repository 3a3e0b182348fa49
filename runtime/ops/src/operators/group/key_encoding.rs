//! Sparse integer keys are dictionary-encoded once (`DeviceColumn::encoded`), alone or as composite keys, so that
//! grouping uses a direct-address table.

use std::borrow::Cow;
use std::sync::Arc;

use onrush_kernels::{Column, Context, Scalar};

use crate::codegen::group::{self as codegen, KeyLookup};
use crate::codegen::{ColumnRef, KernelBody, RowSource, SideInputs};
use crate::column::derived::CompositeKey;
use crate::column::{DeviceColumn, DeviceTable, DictionaryEncoding};
use crate::ir::expr::{DeviceType, ExprGraph, NodeId, Op};
use crate::ir::packed_key::PackedKeyPart;
use crate::launch::kernel_cache::KernelCache;
use crate::launch::launch;
use crate::operators::group;
use crate::{Error, Result};

/// Ranges up to this size are looked up as they are.
const NARROW_RANGE: i128 = 1 << 16;
/// Numbers of several columns, above which few rows would be lost in a table of all: such a table is cleared and looked
/// through whole.
const MOST_FILTERED: u64 = 1 << 22;

/// The keys that were replaced. Readers of their values keep them.
#[derive(Default)]
pub struct EncodedKeys {
    /// Each by itself: which of them, the column with its numbers, what is stored, and the number's input.
    keys: Vec<(usize, Arc<DictionaryEncoding>, DeviceType, usize)>,
    /// All of them by one number, and its input.
    together: Option<(Arc<CompositeKey>, usize)>,
}

/// The device, memory and caches that encoding works with.
pub struct EncodingContext<'a> {
    pub context: &'a Context,
    pub memo: &'a KernelCache,
    pub fault: u64,
    /// Whether rows are left out.
    pub filtered: bool,
}

impl EncodedKeys {
    /// Adds the numbers of keys that are columns of wide ranges to a source of the table, unless the keys are dense as
    /// they are.
    pub fn new(
        with: &EncodingContext,
        table: &DeviceTable,
        graph: &ExprGraph,
        keys: &[NodeId],
        source: &mut RowSource,
    ) -> Result<EncodedKeys> {
        let mut coded = EncodedKeys::default();
        let width = |range: Option<(i128, i128)>| range.map_or(i128::MAX, |(low, high)| high - low + 1);
        let columns: Vec<Option<usize>> = keys
            .iter()
            .map(|key| match graph.node(*key).op {
                Op::Input(index) => Some(index as usize),
                _ => None,
            })
            .collect();
        let product = columns.iter().try_fold(1_i128, |product, column| {
            column.and_then(|index| product.checked_mul(width(source.inputs[index].range)))
        });
        if product.is_some_and(|product| product <= 2 * i128::from(table.rows)) {
            return Ok(coded);
        }
        for (number, column) in columns.iter().enumerate() {
            let Some(index) = *column else { continue };
            if width(source.inputs[index].range) <= NARROW_RANGE || source.inputs[index].kind == DeviceType::DictIndex {
                continue;
            }
            let Some(encoded) = table.columns[index].encoded(with.context)? else { continue };
            let valid = source.inputs[index].valid.clone();
            let input = add_codes(source, &format!("e{number}"), &encoded, valid);
            coded.keys.push((number, encoded, table.columns[index].stored(), input));
        }
        if let Some(columns) = columns.into_iter().collect::<Option<Vec<usize>>>()
            && columns.len() > 1
        {
            coded.number(with, table, (graph, keys, &columns), source)?;
        }
        Ok(coded)
    }

    /// Numbers the keys together, where as one number they would be hashed.
    fn number(
        &mut self,
        with: &EncodingContext,
        table: &DeviceTable,
        (graph, keys, columns): (&ExprGraph, &[NodeId], &[usize]),
        source: &mut RowSource,
    ) -> Result<()> {
        let (mut of, mut found_by) = (Cow::Borrowed(graph), keys.to_vec());
        self.replace(&mut of, &mut found_by);
        let body = KernelBody::new(source, &of, SideInputs::default(), None, with.memo);
        let KeyLookup::HashPacked { digits } = group::choose_key_lookup(&body, &found_by, table.rows) else {
            return Ok(());
        };
        let columns: Vec<&DeviceColumn> = columns.iter().map(|index| &table.columns[*index]).collect();
        let others: Vec<_> = columns[1..].iter().map(|column| &column.encoded).collect();
        // The digits were others if a column had no numbers for want of memory.
        let fits = |found: &Option<Arc<CompositeKey>>| found.as_ref().is_none_or(|found| found.is_of(&digits));
        let found = match columns[0].composite_keys.get(&others).filter(fits) {
            Some(found) => found,
            None => {
                let made = match numbered(with, &body, digits) {
                    Err(Error::Kernels(onrush_kernels::Error::TooManyGroups { .. })) => None,
                    Err(error) if error.is_memory() => return Ok(()),
                    other => Some(Arc::new(other?)),
                };
                columns[0].composite_keys.put(&others, made.clone());
                made
            }
        };
        let found = found.filter(|found| !with.filtered || found.encoded.entries <= MOST_FILTERED);
        if let Some(found) = found {
            let input = add_codes(source, "et", &found.encoded, None);
            self.together = Some((found, input));
        }
        Ok(())
    }

    /// Puts the numbers in the place of the keys.
    pub fn replace(&self, graph: &mut Cow<ExprGraph>, keys: &mut Vec<NodeId>) {
        if let Some((_, input)) = &self.together {
            *keys = vec![graph.to_mut().input(*input, DeviceType::DictIndex)];
            return;
        }
        for (number, _, _, input) in &self.keys {
            keys[*number] = graph.to_mut().input(*input, DeviceType::DictIndex);
        }
    }

    /// Makes the groups' numbers keys again.
    pub fn decode(&self, groups: &mut RowSource, kinds: &dyn Fn(usize) -> DeviceType) {
        if let Some((numbered, _)) = &self.together {
            groups.parameters.buffer("const u64* __restrict__", "etv", &numbered.encoded.values);
            codegen::digit_parameters(&numbered.digits, "et", &mut groups.parameters);
            let number = format!("etv[{}]", groups.inputs[0].value);
            groups.inputs.splice(0..1, codegen::keys_of(&numbered.digits, "et", &number));
        }
        for (number, encoded, stored, _) in &self.keys {
            let name = format!("ev{number}");
            groups.parameters.buffer(&format!("const {}* __restrict__", stored.cuda()), &name, &encoded.values);
            let access = &mut groups.inputs[*number];
            access.kind = kinds(*number);
            access.value = format!("({}){name}[{}]", access.kind.cuda(), access.value);
            access.range = None;
        }
    }
}

/// The codes as a further column of a source; which one.
fn add_codes(source: &mut RowSource, name: &str, encoded: &DictionaryEncoding, valid: Option<String>) -> usize {
    source.parameters.buffer("const u32* __restrict__", name, &encoded.codes);
    source.inputs.push(ColumnRef {
        kind: DeviceType::DictIndex,
        value: format!("{name}[row]"),
        valid,
        range: Some((0, i128::from(encoded.entries) - 1)),
        elements: Vec::new(),
    });
    source.inputs.len() - 1
}

fn numbered(with: &EncodingContext, body: &KernelBody, digits: Vec<PackedKeyPart>) -> Result<CompositeKey> {
    let (context, rows) = (with.context, body.source.rows);
    let numbers = context.allocate(rows * 8)?;
    let parameters = codegen::number_parameters(body, &digits, with.fault, &numbers);
    let key_lookup = KeyLookup::HashPacked { digits };
    let program = || codegen::numbers(body, &key_lookup, &parameters);
    let function = body.kernel(context, "group_numbers", key_lookup.codegen_key(), program)?;
    launch(context, &function, parameters.arguments(), rows, codegen::DIRECT_THREADS, 0)?;
    let encoded = DictionaryEncoding::of(context, &Column::new(Scalar::U64, &numbers).slice(0, rows), None)?;
    let KeyLookup::HashPacked { digits } = key_lookup else { unreachable!("as it was made") };
    Ok(CompositeKey { digits, encoded })
}
