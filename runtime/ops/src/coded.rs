//! Keys that lie anywhere, as numbers from 0 on: an integer column's numbers are found once (`DeviceColumn::encoded`), those of several columns
//! together, too, and from then on grouping by them is grouping by a dense key.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use onrush_kernels::{Column, Context, Scalar};

use crate::codegen::group::{self as codegen, Digit, Finding};
use crate::codegen::{Access, Beside, Body, Source};
use crate::column::{DeviceColumn, DeviceTable, Encoded};
use crate::few::Few;
use crate::graph::{Graph, Id, Kind, Op};
use crate::launch::launch;
use crate::memo::Memo;
use crate::{Error, Result, group};

/// Ranges up to this size are looked up as they are.
const NARROW: i128 = 1 << 16;
/// Numbers of several columns, above which few rows would be lost in a table of all: such a table is cleared and looked through whole.
const MOST_FILTERED: u64 = 1 << 22;

/// Numbers of a column's values together with those of others, by what makes these themselves; none where there are too many.
pub type Together = Few<OnceLock<Option<Arc<Encoded>>>, Option<Arc<Numbered>>>;

/// Keys of several columns as one number (`digits`), and that as numbers from 0 on.
pub struct Numbered {
    digits: Vec<Digit>,
    pub encoded: Encoded,
}

impl Numbered {
    fn is_of(&self, digits: &[Digit]) -> bool {
        let of = |digit: &Digit| (digit.kind, digit.base, digit.count, digit.nullable);
        self.digits.len() == digits.len() && self.digits.iter().zip(digits).all(|(a, b)| of(a) == of(b))
    }
}

/// The keys that were replaced. What reads their values keeps it.
#[derive(Default)]
pub struct Coded {
    /// Each by itself: which of them, the column with its numbers, what is stored, and the number's input.
    keys: Vec<(usize, Arc<Encoded>, Kind, usize)>,
    /// All of them by one number, and its input.
    together: Option<(Arc<Numbered>, usize)>,
}

/// What numbering works with.
pub struct Numbering<'a> {
    pub context: &'a Context,
    pub memo: &'a Memo,
    pub fault: u64,
    /// Whether rows are left out.
    pub filtered: bool,
}

impl Coded {
    /// Adds the numbers of keys that are columns of wide ranges to a source of the table, unless the keys are dense as they are.
    pub fn new(
        with: &Numbering,
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
        with: &Numbering,
        table: &DeviceTable,
        (graph, keys, columns): (&Graph, &[Id], &[usize]),
        source: &mut Source,
    ) -> Result<()> {
        let (mut of, mut found_by) = (Cow::Borrowed(graph), keys.to_vec());
        self.replace(&mut of, &mut found_by);
        let body = Body::new(source, &of, Beside::default(), None, with.memo);
        let Finding::Packed { digits } = group::finding(&body, &found_by, table.rows) else { return Ok(()) };
        let columns: Vec<&DeviceColumn> = columns.iter().map(|index| &table.columns[*index]).collect();
        let others: Vec<_> = columns[1..].iter().map(|column| &column.encoded).collect();
        // Where a column had no numbers for want of memory, the digits were others.
        let fits = |found: &Option<Arc<Numbered>>| found.as_ref().is_none_or(|found| found.is_of(&digits));
        let found = match columns[0].together.get(&others).filter(fits) {
            Some(found) => found,
            None => {
                let made = match numbered(with, &body, digits) {
                    Err(Error::Kernels(onrush_kernels::Error::TooManyGroups { .. })) => None,
                    Err(error) if error.is_memory() => return Ok(()),
                    other => Some(Arc::new(other?)),
                };
                columns[0].together.put(&others, made.clone());
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
    pub fn replace(&self, graph: &mut Cow<Graph>, keys: &mut Vec<Id>) {
        if let Some((_, input)) = &self.together {
            *keys = vec![graph.to_mut().input(*input, Kind::Code)];
            return;
        }
        for (number, _, _, input) in &self.keys {
            keys[*number] = graph.to_mut().input(*input, Kind::Code);
        }
    }

    /// Makes the groups' numbers keys again.
    pub fn decode(&self, groups: &mut Source, kinds: &dyn Fn(usize) -> Kind) {
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
fn add_codes(source: &mut Source, name: &str, encoded: &Encoded, valid: Option<String>) -> usize {
    source.parameters.buffer("const u32* __restrict__", name, &encoded.codes);
    source.inputs.push(Access {
        kind: Kind::Code,
        value: format!("{name}[row]"),
        valid,
        range: Some((0, i128::from(encoded.entries) - 1)),
        elements: Vec::new(),
    });
    source.inputs.len() - 1
}

fn numbered(with: &Numbering, body: &Body, digits: Vec<Digit>) -> Result<Numbered> {
    let (context, rows) = (with.context, body.source.rows);
    let numbers = context.allocate(rows * 8)?;
    let parameters = codegen::number_parameters(body, &digits, with.fault, &numbers);
    let finding = Finding::Packed { digits };
    let program = || codegen::numbers(body, &finding, &parameters);
    let function = body.kernel(context, "group_numbers", finding.form(), program)?;
    launch(context, &function, parameters.arguments(), rows, codegen::DIRECT_THREADS, 0)?;
    let encoded = Encoded::of(context, &Column::new(Scalar::U64, &numbers).slice(0, rows), None)?;
    let Finding::Packed { digits } = finding else { unreachable!("as it was made") };
    Ok(Numbered { digits, encoded })
}
