//! Cuts the values of an expression into slots: bins of numbers and times, the most frequent values of categories.
//!
//! A row's slot is found by comparing with the edges, so that the condition of a filter selects the same rows.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as Arrow, Float64Type, Int64Type, TimeUnit};
use onrush_engine::Engine;
use onrush_expr::calendar_interval::{self, CalendarInterval};
use onrush_expr::diagnostics::{place, plan_error, type_name};
use onrush_expr::error::internal;
use onrush_frame::TaskHandle;
use onrush_frame::scalar::value_at;
use onrush_stats as statistics;
use onrush_wire::dashboard::{Dimension, MAX_SLOTS, Slot, SlotKind, ViewKind, ViewRequest};
use onrush_wire::plot::AxisScale;
use onrush_wire::{DataType, Diagnostic, Expr, ExprKind, FrameId, Value};

use crate::plot::{fitting, label, names, visible, without_alias};

/// Bins if the user does not say how many.
const BINS: u32 = 40;
/// Bins of a side of a heat map.
const CELLS: u32 = 30;
/// Values of a bar view that have a slot.
const VALUES: usize = 50;
/// Most values that the rows between the lowest and the highest edge may leave out at either end.
const TAIL: f64 = 0.001;
/// The whole range is binned if it is not longer than this many times the range without tails.
const WIDER: f64 = 1.5;
/// Values that quantiles are taken from, at most twice as many.
const SAMPLE: usize = 100_000;

/// An expression whose values are cut into slots.
pub struct SlicedColumn {
    /// The expression that is compared with the edges or values of the slots.
    pub expr: Expr,
    /// The expression as it was given, without a name.
    pub raw: Expr,
    pub shown: Dimension,
    pub coding: Coding,
    /// Whether there are NaN.
    pub has_nan: bool,
    pub dtype: Arrow,
}

pub enum Coding {
    Floats(Edges<f64>),
    /// Integers, and times in microseconds.
    Ints(Edges<i64>),
    /// Categories: the slot of each value, and the values in the order of their slots.
    Values {
        slots: Slots,
        values: Vec<Value>,
    },
}

/// Slots by value.
pub enum Slots {
    Strings(HashMap<String, u16>),
    /// Integers, times and booleans as integers, floats as bits.
    Bits(HashMap<i64, u16>),
}

/// Edges of bins, and the slots of what has no bin. Slots are in this order: missing, below, the bins, above.
pub struct Edges<T> {
    pub edges: Vec<T>,
    pub missing: Option<u16>,
    pub below: Option<u16>,
    pub first: u16,
    pub above: Option<u16>,
    /// Whether a value is the highest edge, which the last bin has.
    pub is_closed: bool,
}

/// Slots of rows.
pub enum Codes {
    Narrow(Vec<u8>),
    Wide(Vec<u16>),
}

impl Codes {
    pub fn new(slots: usize) -> Self {
        if slots <= 256 { Codes::Narrow(Vec::new()) } else { Codes::Wide(Vec::new()) }
    }

    pub fn bytes(&self) -> usize {
        match self {
            Codes::Narrow(_) => 1,
            Codes::Wide(_) => 2,
        }
    }

    fn push(&mut self, slot: u16) {
        match self {
            Codes::Narrow(all) => all.push(slot as u8),
            Codes::Wide(all) => all.push(slot),
        }
    }

    /// Writes the slots of the rows from `start` on, times `factor`, onto `keys`.
    pub fn add_to(&self, start: usize, factor: u32, keys: &mut [u32]) {
        let end = start + keys.len();
        match self {
            Codes::Narrow(all) => {
                keys.iter_mut().zip(&all[start..end]).for_each(|(key, slot)| *key += u32::from(*slot) * factor);
            }
            Codes::Wide(all) => {
                keys.iter_mut().zip(&all[start..end]).for_each(|(key, slot)| *key += u32::from(*slot) * factor);
            }
        }
    }
}

impl<T: PartialOrd + Copy> Edges<T> {
    /// `guess` is a bin that the value is in or near.
    fn slot(&self, value: T, guess: usize) -> u16 {
        let last = self.edges.len() - 2;
        if value < self.edges[0] {
            return self.below.unwrap_or(self.first);
        }
        // The last bin has its upper edge.
        if value > self.edges[last + 1] {
            return self.above.unwrap_or(self.first + last as u16);
        }
        let mut bin = guess.min(last);
        while bin > 0 && value < self.edges[bin] {
            bin -= 1;
        }
        while bin < last && value >= self.edges[bin + 1] {
            bin += 1;
        }
        self.first + bin as u16
    }
}

fn broken<T>(result: Result<T, arrow::error::ArrowError>) -> Result<T, Diagnostic> {
    result.map_err(|error| internal(&error.to_string()))
}

/// Integers as they are, and times in whole microseconds.
fn integers(array: &ArrayRef) -> Result<ArrayRef, Diagnostic> {
    let is_time = matches!(array.data_type(), Arrow::Timestamp(..) | Arrow::Date32 | Arrow::Date64);
    if !is_time {
        return broken(cast(array, &Arrow::Int64));
    }
    if let Arrow::Timestamp(TimeUnit::Nanosecond, _) = array.data_type() {
        // A cast rounds towards zero.
        let nanoseconds = broken(cast(array, &Arrow::Int64))?;
        let whole = nanoseconds.as_primitive::<Int64Type>();
        let micros: arrow::array::Int64Array = whole.unary(|value| value.div_euclid(1_000));
        return Ok(std::sync::Arc::new(micros));
    }
    let micros = broken(cast(array, &Arrow::Timestamp(TimeUnit::Microsecond, None)))?;
    broken(cast(&micros, &Arrow::Int64))
}

/// The facts about a column after the first pass over the rows.
#[derive(Default)]
pub struct Extent {
    low: Option<f64>,
    high: Option<f64>,
    has_missing: bool,
    has_nan: bool,
    sample: Vec<f64>,
    every: usize,
    row: usize,
}

impl Extent {
    fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.low = Some(self.low.map_or(value, |low| low.min(value)));
            self.high = Some(self.high.map_or(value, |high| high.max(value)));
            let every = self.every.max(1);
            if self.row.is_multiple_of(every) {
                self.sample.push(value);
                if self.sample.len() > 2 * SAMPLE {
                    let mut nth = 0;
                    self.sample.retain(|_| {
                        nth += 1;
                        nth % 2 == 1
                    });
                    self.every = every * 2;
                }
            }
            self.row += 1;
        } else if value.is_nan() {
            (self.has_missing, self.has_nan) = (true, true);
        } else if value > 0.0 {
            self.high = Some(f64::INFINITY);
        } else {
            self.low = Some(f64::NEG_INFINITY);
        }
    }

    /// The range that bins cover: without the tails, if these are long.
    fn range(&mut self) -> Option<(f64, f64)> {
        let (low, high) = (self.low?, self.high?);
        if self.sample.is_empty() {
            return None;
        }
        self.sample.sort_unstable_by(f64::total_cmp);
        let last = (self.sample.len() - 1) as f64;
        let (from, to) =
            (self.sample[(last * TAIL).floor() as usize], self.sample[(last * (1.0 - TAIL)).ceil() as usize]);
        let is_short = high - low <= (to - from) * WIDER;
        Some(if is_short && low.is_finite() && high.is_finite() { (low, high) } else { (from, to) })
    }
}

/// A column before its slots are known.
pub struct UnslicedColumn {
    expr: Expr,
    raw: Expr,
    label: String,
    dtype: Arrow,
    is_categories: bool,
    extent: Extent,
}

impl UnslicedColumn {
    /// # Errors
    /// A column of a type that has no slots, such as a list.
    pub fn of(
        engine: &Engine,
        frame: FrameId,
        expr: &Expr,
        kind: ViewKind,
        task: &TaskHandle,
    ) -> Result<Self, Diagnostic> {
        let dtype = engine.type_of(frame, expr, task)?;
        let name = label(expr);
        let values = match &dtype {
            Arrow::Dictionary(_, values) => values,
            other => other,
        };
        let is_text = matches!(values, Arrow::Boolean | Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View);
        let is_time = matches!(values, Arrow::Timestamp(..) | Arrow::Date32 | Arrow::Date64);
        let is_categories = is_text || kind == ViewKind::Bar;
        let wrong = |message: String, help: &str| {
            Err(place(plan_error("plot-type", message), expr.span.as_ref(), None, "").help(help))
        };
        if !(is_text || is_time || values.is_numeric() || *values == Arrow::Null) {
            let message = format!("`{name}` has the type {}, which has no bins", type_name(&dtype));
            return wrong(message, "take a column of numbers, times, strings or booleans");
        }
        if is_text && matches!(kind, ViewKind::Histogram | ViewKind::Line) {
            let what = if kind == ViewKind::Line { "line" } else { "histogram" };
            let message = format!("a {what} needs numbers or times, and `{name}` is {}", type_name(&dtype));
            return wrong(message, "a view of categories is `.bar(..)`");
        }
        // A comparison with edges has one type on both sides, whatever the literal's type is.
        let raw = without_alias(expr).clone();
        let inner = || Box::new(raw.clone());
        let expr = match values {
            Arrow::Timestamp(_, Some(_)) => {
                let none = Expr::literal(Value::Null);
                Expr::call("dt.replace_time_zone", [raw.clone(), none])
            }
            _ if is_categories => raw.clone(),
            Arrow::Float16 | Arrow::Float32 | Arrow::UInt64 => to_float(inner()),
            t if t.is_decimal() => to_float(inner()),
            _ => raw.clone(),
        };
        Ok(UnslicedColumn { expr, raw, label: name, dtype, is_categories, extent: Extent::default() })
    }

    /// The expression that is selected from the frame.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    pub fn is_categories(&self) -> bool {
        self.is_categories
    }

    /// Looks at the values of a piece of rows.
    pub fn look(&mut self, array: &ArrayRef) -> Result<(), Diagnostic> {
        if self.is_categories {
            return Ok(());
        }
        let numbers = match array.data_type() {
            Arrow::Float64 => broken(cast(array, &Arrow::Float64))?,
            _ => broken(cast(&integers(array)?, &Arrow::Float64))?,
        };
        self.extent.has_missing |= numbers.null_count() > 0;
        numbers.as_primitive::<Float64Type>().iter().flatten().for_each(|value| self.extent.add(value));
        Ok(())
    }

    /// The slots, after all rows were looked at.
    pub fn sliced(
        mut self,
        engine: &Engine,
        frame: FrameId,
        request: &ViewRequest,
        task: &TaskHandle,
    ) -> Result<SlicedColumn, Diagnostic> {
        if self.is_categories {
            return self.categories(engine, frame, request, task);
        }
        let range = self.extent.range();
        let bins = request.layer.bins.unwrap_or(if request.kind == ViewKind::HeatMap { CELLS } else { BINS });
        let bins = bins.clamp(1, MAX_SLOTS as u32 - 3);
        let values = match &self.dtype {
            Arrow::Dictionary(_, values) => (**values).clone(),
            other => other.clone(),
        };
        let is_time = matches!(values, Arrow::Timestamp(..) | Arrow::Date32 | Arrow::Date64);
        if is_time {
            return self.times(range, bins, request);
        }
        if request.layer.every.is_some() {
            let message = format!("`every` needs dates or times, and `{}` has none", self.label);
            return Err(place(plan_error("plot-type", message), self.expr.span.as_ref(), None, "not a time"));
        }
        let (low, high) = range.unwrap_or((0.0, 1.0));
        let mut edges = match request.range {
            Some((low, high)) if low < high && low.is_finite() && high.is_finite() => {
                (0..=bins).map(|i| low + (high - low) * f64::from(i) / f64::from(bins)).collect()
            }
            Some(range) => {
                let message = format!("the range {range:?} is empty");
                return Err(plan_error("argument", message).help("write `.range(0.0, 60.0)`, the lower end first"));
            }
            None => statistics::round_edges(low, high, bins),
        };
        if values.is_integer() && values != Arrow::UInt64 {
            edges.iter_mut().for_each(|edge| *edge = edge.floor());
            edges.dedup();
            if edges.len() < 2 {
                edges = vec![edges[0], edges[0] + 1.0];
            }
            let mut edges: Vec<i64> = edges.into_iter().map(|edge| edge as i64).collect();
            // A bin is named by its first integer, so that the last one must not have two.
            let last = edges[edges.len() - 1];
            if request.range.is_none() && edges.len() > 1 && last as f64 <= high {
                edges.push(last + (last - edges[edges.len() - 2]).max(1));
            }
            return Ok(self.integers(edges));
        }
        edges.iter_mut().for_each(|edge| *edge = tidy(*edge));
        edges.dedup();
        Ok(self.floats(edges))
    }

    fn floats(self, edges: Vec<f64>) -> SlicedColumn {
        let (low, high) = (self.extent.low, self.extent.high);
        let names = names(AxisScale::Number, &edges);
        let name = |bin: usize| format!("{} to {}", names[bin], names[bin + 1]);
        let (slots, placed) = slots(
            &edges,
            (
                low.is_some_and(|low| low < edges[0]),
                high.is_some_and(|high| high > edges[edges.len() - 1]),
                high.is_some_and(|high| high >= edges[edges.len() - 1]),
            ),
            self.extent.has_missing,
            |edge| *edge,
            (&name, names[0].as_str(), names[names.len() - 1].as_str()),
        );
        let shown = Dimension { label: self.label, scale: AxisScale::Number, slots };
        let coding = Coding::Floats(placed);
        SlicedColumn { expr: self.expr, raw: self.raw, shown, coding, has_nan: self.extent.has_nan, dtype: self.dtype }
    }

    fn integers(self, edges: Vec<i64>) -> SlicedColumn {
        let (low, high) = (self.extent.low, self.extent.high);
        let end = edges[edges.len() - 1];
        let name = |bin: usize| {
            // The last bin has its upper edge only if a value is there.
            let (from, to) = (edges[bin], edges[bin + 1] - 1);
            if from >= to { from.to_string() } else { format!("{from} to {to}") }
        };
        let (slots, placed) = slots(
            &edges,
            (
                low.is_some_and(|low| low < edges[0] as f64),
                high.is_some_and(|high| high > end as f64),
                high.is_some_and(|high| high >= end as f64),
            ),
            self.extent.has_missing,
            |edge| *edge as f64,
            (&name, &edges[0].to_string(), &end.to_string()),
        );
        let shown = Dimension { label: self.label.clone(), scale: AxisScale::Number, slots };
        self.of_integers(shown, placed)
    }

    fn of_integers(self, shown: Dimension, placed: Edges<i64>) -> SlicedColumn {
        let (expr, raw, dtype) = (self.expr, self.raw, self.dtype);
        SlicedColumn { expr, raw, shown, coding: Coding::Ints(placed), has_nan: false, dtype }
    }

    fn times(self, range: Option<(f64, f64)>, bins: u32, request: &ViewRequest) -> Result<SlicedColumn, Diagnostic> {
        let wrong =
            |text: &str| plan_error("plot-every", format!("`{text}` is not a time span")).help(calendar_interval::HELP);
        let (low, high) = range.unwrap_or((0.0, 0.0));
        let every = match request.layer.every.as_deref() {
            Some(text) => CalendarInterval::parse(text).ok_or_else(|| wrong(text))?,
            None => fitting((high - low) / 1e6, f64::from(bins)),
        };
        // With a length of the user's all values are binned.
        let (low, high) = match (&request.layer.every, self.extent.low, self.extent.high) {
            (Some(_), Some(low), Some(high)) => (low, high),
            _ => (low, high),
        };
        let too_long = || internal("a time is outside of the calendar");
        let first = every.index(low as i64).ok_or_else(too_long)?;
        let last = every.index(high as i64).ok_or_else(too_long)? + 1;
        let count = last.saturating_sub(first);
        if count as usize > MAX_SLOTS - 3 {
            let message = format!("{count} bins, one for each {}, are more than {}", every.words(), MAX_SLOTS - 3);
            return Err(plan_error("plot-size", message).help("take longer ones, such as `.every(\"1w\")`"));
        }
        let edges: Option<Vec<i64>> = (first..=last).map(|index| every.start(index)).collect();
        let edges = edges.ok_or_else(too_long)?;
        let starts: Vec<f64> = edges.iter().map(|edge| *edge as f64 / 1e6).collect();
        let names = names(AxisScale::Time, &starts);
        let name = |bin: usize| names[bin].clone();
        let (lowest, highest) = (self.extent.low, self.extent.high);
        let end = edges[edges.len() - 1];
        let (slots, placed) = slots(
            &edges,
            (
                lowest.is_some_and(|low| low < edges[0] as f64),
                highest.is_some_and(|high| high > end as f64),
                highest.is_some_and(|high| high >= end as f64),
            ),
            self.extent.has_missing,
            |edge| *edge as f64 / 1e6,
            (&name, names[0].as_str(), names[names.len() - 1].as_str()),
        );
        let shown = Dimension { label: self.label.clone(), scale: AxisScale::Time, slots };
        Ok(self.of_integers(shown, placed))
    }

    fn categories(
        self,
        engine: &Engine,
        frame: FrameId,
        request: &ViewRequest,
        task: &TaskHandle,
    ) -> Result<SlicedColumn, Diagnostic> {
        let most = request.layer.bins.map_or(VALUES, |bins| bins as usize).clamp(1, MAX_SLOTS - 2);
        let counted = Expr::call("len", []).alias("n");
        let groups = engine.run_aggregate(frame, &[self.expr.clone().alias("x")], &[counted], task)?;
        let (mut found, mut missing, mut has_nan) = (Vec::<(String, Value, i64, u64)>::new(), false, false);
        let is_text = |dtype: &Arrow| matches!(dtype, Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View);
        let mut is_strings = false;
        for batch in groups.batches() {
            let array = plain(batch.column(0))?;
            is_strings |= is_text(array.data_type());
            let counts = broken(cast(batch.column(1), &Arrow::Int64))?;
            let texts = broken(cast(&array, &Arrow::Utf8))?;
            let bits = if is_strings { None } else { Some(bits_of(&array)?) };
            for row in 0..array.len() {
                let value = value_at(&array, row);
                let is_nan =
                    matches!(value, Value::Float(v) if v.is_nan()) || matches!(value, Value::Float32(v) if v.is_nan());
                has_nan |= is_nan;
                if is_nan || value == Value::Null {
                    missing = true;
                    continue;
                }
                let name = visible(texts.as_string::<i32>().value(row));
                let bits = bits.as_ref().map_or(0, |bits| bits[row].unwrap_or_default());
                found.push((name, value, bits, counts.as_primitive::<Int64Type>().value(row) as u64));
            }
        }
        found.sort_by(|a, b| b.3.cmp(&a.3).then_with(|| a.0.cmp(&b.0)));
        let has_other = found.len() > most;
        found.truncate(most);
        if !is_strings {
            let is_float = matches!(self.dtype, Arrow::Float16 | Arrow::Float32 | Arrow::Float64);
            found.sort_by(|a, b| match is_float {
                true => f64::from_bits(a.2 as u64).total_cmp(&f64::from_bits(b.2 as u64)),
                false => a.2.cmp(&b.2),
            });
        }
        let mut shown: Vec<Slot> =
            found.iter().map(|one| Slot { name: one.0.clone(), kind: SlotKind::Value }).collect();
        let slots = match is_strings {
            true => Slots::Strings(
                found
                    .iter()
                    .zip(0..)
                    .map(|(one, slot)| {
                        (if let Value::Text(text) = &one.1 { text.clone() } else { one.0.clone() }, slot)
                    })
                    .collect(),
            ),
            false => Slots::Bits(found.iter().zip(0..).map(|(one, slot)| (one.2, slot)).collect()),
        };
        if has_other {
            shown.push(Slot { name: "other".to_string(), kind: SlotKind::Other });
        }
        if missing {
            shown.push(Slot { name: "missing".to_string(), kind: SlotKind::Missing });
        }
        if shown.is_empty() {
            shown.push(Slot { name: "other".to_string(), kind: SlotKind::Other });
        }
        let values = found.into_iter().map(|one| one.1).collect();
        let shown = Dimension { label: self.label, scale: AxisScale::Category, slots: shown };
        Ok(SlicedColumn {
            expr: self.expr,
            raw: self.raw,
            shown,
            coding: Coding::Values { slots, values },
            has_nan,
            dtype: self.dtype,
        })
    }
}

/// An edge without the digits that a sum of steps leaves behind.
fn tidy(edge: f64) -> f64 {
    format!("{edge:.12e}").parse().unwrap_or(edge)
}

fn to_float(value: Box<Expr>) -> Expr {
    Expr::new(ExprKind::Cast { value, to: DataType::Float64, strict: true })
}

/// The values of a dictionary.
fn plain(array: &ArrayRef) -> Result<ArrayRef, Diagnostic> {
    match array.data_type() {
        Arrow::Dictionary(_, values) => broken(cast(array, values)),
        _ => Ok(array.clone()),
    }
}

/// Values as integers that are the same for the same values.
fn bits_of(array: &ArrayRef) -> Result<Vec<Option<i64>>, Diagnostic> {
    Ok(match array.data_type() {
        Arrow::Boolean => {
            let values: &BooleanArray = array.as_boolean();
            values.iter().map(|value| value.map(i64::from)).collect()
        }
        Arrow::Float16 | Arrow::Float32 | Arrow::Float64 => {
            let values = broken(cast(array, &Arrow::Float64))?;
            // 0 and -0 are the same value.
            let bits = |value: f64| (value + 0.0).to_bits() as i64;
            let values = values.as_primitive::<Float64Type>();
            values.iter().map(|value| value.filter(|value| !value.is_nan()).map(bits)).collect()
        }
        dtype if dtype.is_decimal() => {
            let values = broken(cast(array, &Arrow::Utf8))?;
            // Two decimals with the same hash would share a slot; that takes billions of values.
            let hash = |text: &str| {
                use std::hash::{Hash as _, Hasher as _};
                let mut hasher = std::hash::DefaultHasher::new();
                text.hash(&mut hasher);
                hasher.finish() as i64
            };
            values.as_string::<i32>().iter().map(|text| text.map(hash)).collect()
        }
        Arrow::Timestamp(..) => {
            let values = broken(cast(array, &Arrow::Int64))?;
            values.as_primitive::<Int64Type>().iter().collect()
        }
        Arrow::UInt64 => {
            let values = array.as_primitive::<arrow::datatypes::UInt64Type>();
            values.iter().map(|value| value.map(|value| value as i64)).collect()
        }
        _ => {
            let values = integers(array)?;
            values.as_primitive::<Int64Type>().iter().collect()
        }
    })
}

/// The slots of bins, in their order.
fn slots<T: Copy>(
    edges: &[T],
    (has_below, has_above, is_closed): (bool, bool, bool),
    has_missing: bool,
    position: impl Fn(&T) -> f64,
    (name, lowest, highest): (&dyn Fn(usize) -> String, &str, &str),
) -> (Vec<Slot>, Edges<T>) {
    let (mut slots, mut next) = (Vec::new(), 0);
    let mut push = |name: String, kind| {
        slots.push(Slot { name, kind });
        next += 1;
        next - 1
    };
    let last = edges.len() - 1;
    let missing = has_missing.then(|| push("missing".to_string(), SlotKind::Missing));
    let below = has_below.then(|| push(format!("below {lowest}"), SlotKind::Below(position(&edges[0]))));
    let mut first = 0;
    for bin in 0..last {
        let kind = SlotKind::Bin { low: position(&edges[bin]), high: position(&edges[bin + 1]) };
        let slot = push(name(bin), kind);
        if bin == 0 {
            first = slot;
        }
    }
    let above = has_above.then(|| push(format!("above {highest}"), SlotKind::Above(position(&edges[last]))));
    (slots, Edges { edges: edges.to_vec(), missing, below, first, above, is_closed })
}

impl SlicedColumn {
    pub fn count(&self) -> usize {
        self.shown.slots.len()
    }

    /// The slot of this kind.
    fn of_kind(&self, kind: SlotKind) -> u16 {
        let at = self.shown.slots.iter().position(|slot| slot.kind == kind);
        at.unwrap_or(self.count() - 1) as u16
    }

    /// Appends the slots of a piece of rows.
    pub fn encode(&self, array: &ArrayRef, codes: &mut Codes) -> Result<(), Diagnostic> {
        match &self.coding {
            Coding::Floats(placed) => {
                let values = broken(cast(array, &Arrow::Float64))?;
                let (low, count) = (placed.edges[0], placed.edges.len() - 1);
                let per = count as f64 / (placed.edges[count] - low);
                let missing = placed.missing.unwrap_or(0);
                for value in values.as_primitive::<Float64Type>() {
                    codes.push(match value.filter(|value| !value.is_nan()) {
                        Some(value) => placed.slot(value, ((value - low) * per) as usize),
                        None => missing,
                    });
                }
            }
            Coding::Ints(placed) => {
                let values = integers(array)?;
                let (low, count) = (placed.edges[0], placed.edges.len() - 1);
                let per = count as f64 / (placed.edges[count] - low) as f64;
                let missing = placed.missing.unwrap_or(0);
                for value in values.as_primitive::<Int64Type>() {
                    codes.push(match value {
                        Some(value) => placed.slot(value, (value.saturating_sub(low) as f64 * per) as usize),
                        None => missing,
                    });
                }
            }
            Coding::Values { slots, .. } => {
                let (other, missing) = (self.of_kind(SlotKind::Other), self.of_kind(SlotKind::Missing));
                match slots {
                    Slots::Strings(known) => strings(array, known, (other, missing), codes)?,
                    Slots::Bits(known) => {
                        let of = |bits: i64| known.get(&bits).copied().unwrap_or(other);
                        let mut last = None;
                        for bits in bits_of(&plain(array)?)? {
                            let slot = match (bits, last) {
                                (None, _) => missing,
                                (Some(bits), Some((before, slot))) if bits == before => slot,
                                (Some(bits), _) => of(bits),
                            };
                            last = bits.map(|bits| (bits, slot));
                            codes.push(slot);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn strings(
    array: &ArrayRef,
    known: &HashMap<String, u16>,
    (other, missing): (u16, u16),
    codes: &mut Codes,
) -> Result<(), Diagnostic> {
    let of = |text: &str| known.get(text).copied().unwrap_or(other);
    if let Some(dictionary) = array.as_any_dictionary_opt().filter(|d| d.values().len() <= array.len()) {
        let (keys, nulls) = (dictionary.normalized_keys(), array.logical_nulls());
        let texts = broken(cast(dictionary.values(), &Arrow::Utf8))?;
        let slots: Vec<u16> = texts.as_string::<i32>().iter().map(|text| text.map_or(missing, of)).collect();
        for (row, key) in keys.iter().enumerate() {
            let is_there = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            codes.push(if is_there { slots[*key] } else { missing });
        }
        return Ok(());
    }
    let texts = broken(cast(array, &Arrow::Utf8))?;
    let mut last: Option<(&str, u16)> = None;
    for text in texts.as_string::<i32>() {
        let slot = match (text, last) {
            (None, _) => missing,
            // Neighbors are often the same.
            (Some(text), Some((before, slot))) if text == before => slot,
            (Some(text), _) => of(text),
        };
        last = text.map(|text| (text, slot));
        codes.push(slot);
    }
    Ok(())
}
