//! Integer keys that lie anywhere, as numbers from 0 on: a column's numbers are found once (`DeviceColumn::encoded`), and from then on
//! grouping by it is grouping by a dense key.

use std::borrow::Cow;
use std::sync::Arc;

use onrush_kernels::Context;

use crate::Result;
use crate::codegen::{Access, Source};
use crate::column::{DeviceTable, Encoded};
use crate::graph::{Graph, Id, Kind, Op};

/// Ranges up to this size are looked up as they are.
const NARROW: i128 = 1 << 16;

/// The keys that were replaced: which of them, the column with its numbers, what is stored, and the number's input.
#[derive(Default)]
pub struct Coded {
    keys: Vec<(usize, Arc<Encoded>, Kind, usize)>,
}

impl Coded {
    /// Adds the numbers of keys that are columns of wide ranges to a source of the table, unless the keys are dense as they are.
    pub fn new(
        context: &Context,
        table: &DeviceTable,
        graph: &Graph,
        keys: &[Id],
        source: &mut Source,
    ) -> Result<Coded> {
        let mut coded = Coded::default();
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
            if width(source.inputs[index].range) <= NARROW || source.inputs[index].kind == Kind::Code {
                continue;
            }
            let Some(encoded) = table.columns[index].encoded(context)? else { continue };
            let name = format!("e{number}");
            source.parameters.buffer("const u32* __restrict__", &name, &encoded.codes);
            source.inputs.push(Access {
                kind: Kind::Code,
                value: format!("{name}[row]"),
                valid: source.inputs[index].valid.clone(),
                range: Some((0, i128::from(encoded.entries) - 1)),
                elements: Vec::new(),
            });
            coded.keys.push((number, encoded, table.columns[index].stored(), source.inputs.len() - 1));
        }
        Ok(coded)
    }

    /// Puts the numbers in the place of the keys.
    pub fn replace(&self, graph: &mut Cow<Graph>, keys: &mut [Id]) {
        for (number, _, _, input) in &self.keys {
            keys[*number] = graph.to_mut().input(*input, Kind::Code);
        }
    }

    /// Makes the groups' numbers keys again.
    pub fn decode(&self, groups: &mut Source, kinds: &dyn Fn(usize) -> Kind) {
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
