//! The filter that a cell asks for by values: `d.set("hour", 7..=9)`. Whole slots are a filter of slots, as by a brush.

use arrow::datatypes::DataType as Arrow;
use onrush_expr::diagnostics::plan_error;
use onrush_wire::dashboard::{KeptSlots, SlotKind, SlotQuery};
use onrush_wire::plot::AxisScale;
use onrush_wire::{Diagnostic, Value};

use super::dimension::{Coding, SlicedColumn};

/// Integers up to here are floats without loss.
const SAFE: f64 = 9_007_199_254_740_992.0;

/// The bounds of a range as positions of the axis.
struct Bounds {
    low: Option<f64>,
    high: Option<f64>,
    is_closed: bool,
}

impl Bounds {
    fn holds(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.ends_after(value)
    }

    fn ends_after(&self, value: f64) -> bool {
        self.high.is_none_or(|high| if self.is_closed { value <= high } else { value < high })
    }

    /// Whether positions are exact enough to compare bounds with edges.
    fn are_safe(&self) -> bool {
        [self.low, self.high].into_iter().flatten().all(|bound| bound.abs() < SAFE)
    }
}

impl SlicedColumn {
    /// The position of a value on the axis.
    pub(super) fn position(&self, value: &Value) -> Option<f64> {
        match value {
            Value::Int(value) => Some(*value as f64),
            Value::UInt(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Float32(value) => Some(f64::from(*value)),
            Value::Decimal { value, scale, .. } => Some(*value as f64 / 10_f64.powi(i32::from(*scale))),
            Value::Date(days) => Some(f64::from(*days) * 86_400.0),
            Value::Timestamp { value, unit, .. } => Some(*value as f64 / per_second(*unit)),
            Value::Text(text) => {
                micros_of(text).filter(|_| self.shown.scale == AxisScale::Time).map(|micros| micros as f64 / 1e6)
            }
            _ => None,
        }
    }

    /// The filter for what is wanted: slots if whole slots are wanted, else the values themselves.
    pub fn wanted(&self, wanted: &SlotQuery) -> Result<KeptSlots, Diagnostic> {
        let (chosen, is_whole) = match (wanted, &self.coding) {
            (SlotQuery::Values(list), Coding::Values { values, .. }) => (self.bars_of(list, values)?, true),
            (SlotQuery::Values(list), _) => self.bins_of(list)?,
            (SlotQuery::Range { low, high, is_closed }, _) => {
                let bound = |value: &Option<Value>| match value {
                    Some(value) => self.position(value).map(Some).ok_or_else(|| not_a_place(&self.shown.label, value)),
                    None => Ok(None),
                };
                self.within_bounds(&Bounds { low: bound(low)?, high: bound(high)?, is_closed: *is_closed })
            }
        };
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (slot, _) in (0..).zip(&chosen).filter(|(_, part)| part.is_some()) {
            match ranges.last_mut() {
                Some((_, end)) if *end == slot => *end = slot + 1,
                _ => ranges.push((slot, slot + 1)),
            }
        }
        if ranges.is_empty() {
            let message = format!("nothing of `{}` lies there", self.shown.label);
            return Err(plan_error("argument", message).help("the bins are those that the dashboard shows"));
        }
        if is_whole {
            return Ok(KeptSlots::Slots(ranges));
        }
        let part = |slot: u32| chosen.get(slot as usize).copied().flatten().unwrap_or((0.0, 1.0));
        let ends = |(from, to): &(u32, u32)| (f64::from(*from) + part(*from).0, f64::from(to - 1) + part(to - 1).1);
        let marks = ranges.iter().map(ends).filter(|(from, to)| from < to).collect();
        Ok(KeptSlots::Exact { wanted: wanted.clone(), marks })
    }

    /// The bars of values.
    fn bars_of(&self, list: &[Value], values: &[Value]) -> Result<Vec<Option<(f64, f64)>>, Diagnostic> {
        let slots = &self.shown.slots;
        let mut chosen = vec![None; slots.len()];
        for value in list {
            let same = |known: &Value| {
                known == value || self.position(known).is_some_and(|at| Some(at) == self.position(value))
            };
            let at = values.iter().position(same);
            let at =
                at.or_else(|| slots.iter().position(|slot| matches!(value, Value::Text(text) if *text == slot.name)));
            let Some(at) = at else {
                let names: Vec<&str> = slots.iter().take(8).map(|slot| slot.name.as_str()).collect();
                let message = format!("`{}` has no bar for {}", self.shown.label, plain(value));
                return Err(plan_error("argument", message).help(format!("its bars are {}, …", names.join(", "))));
            };
            chosen[at] = Some((0.0, 1.0));
        }
        Ok(chosen)
    }

    /// The bins of values, and whether the values are all that these bins can hold.
    fn bins_of(&self, list: &[Value]) -> Result<(Vec<Option<(f64, f64)>>, bool), Diagnostic> {
        let slots = &self.shown.slots;
        let (mut chosen, mut is_whole) = (vec![None; slots.len()], self.step().is_some());
        for value in list {
            let Some(at) = self.position(value) else { return Err(not_a_place(&self.shown.label, value)) };
            for (slot, _) in slots.iter().enumerate().filter(|(slot, _)| self.has(*slot, at)) {
                chosen[slot] = Some((0.0, 1.0));
                is_whole &= self.extent_of(slot).is_some_and(|(low, high)| low == at && high == at && at.abs() < SAFE);
            }
        }
        Ok((chosen, is_whole))
    }

    /// The parts of slots that lie within bounds, and whether these are whole slots.
    fn within_bounds(&self, bounds: &Bounds) -> (Vec<Option<(f64, f64)>>, bool) {
        let values: &[Value] = match &self.coding {
            Coding::Values { values, .. } => values,
            _ => &[],
        };
        let slots = &self.shown.slots;
        // The values that have no bar of their own are not known here.
        let mut is_whole = bounds.are_safe() && !slots.iter().any(|slot| slot.kind == SlotKind::Other);
        let part = |slot: usize| match slots[slot].kind {
            SlotKind::Bin { low: from, high: to } => {
                let is_inside = bounds.low.is_none_or(|low| to > low || self.has(slot, low)) && bounds.ends_after(from);
                let step = if bounds.is_closed { self.step().unwrap_or_default() } else { 0.0 };
                let start = bounds.low.map_or(0.0, |low| (low - from) / (to - from));
                let end = bounds.high.map_or(1.0, |high| (high + step - from) / (to - from));
                is_inside.then(|| (start.clamp(0.0, 1.0), end.clamp(0.0, 1.0)))
            }
            SlotKind::Below(edge) => bounds.low.is_none_or(|low| low < edge).then_some((0.0, 1.0)),
            SlotKind::Above(edge) => bounds.high.is_none_or(|high| high > edge).then_some((0.0, 1.0)),
            SlotKind::Value => {
                let at = values.get(slot).and_then(|value| self.position(value));
                at.is_some_and(|at| bounds.holds(at)).then_some((0.0, 1.0))
            }
            SlotKind::Other | SlotKind::Missing => None,
        };
        let chosen: Vec<Option<(f64, f64)>> = (0..slots.len()).map(part).collect();
        for (slot, _) in chosen.iter().enumerate().filter(|(_, part)| part.is_some()) {
            is_whole &= match slots[slot].kind {
                SlotKind::Below(edge) => bounds.low.is_none() && bounds.high.is_none_or(|high| high >= edge),
                SlotKind::Above(edge) => bounds.high.is_none() && bounds.low.is_none_or(|low| low <= edge),
                SlotKind::Bin { low, high } => match self.extent_of(slot) {
                    Some((least, greatest)) => bounds.holds(least) && bounds.holds(greatest),
                    // Values come as close to the upper edge as can be.
                    None => {
                        bounds.low.is_none_or(|bound| bound <= low) && bounds.high.is_none_or(|bound| bound >= high)
                    }
                },
                _ => true,
            };
        }
        (chosen, is_whole)
    }

    /// The distance of neighboring values: of integers 1, of dates a day. `None` for all others.
    fn step(&self) -> Option<f64> {
        match (&self.coding, &self.dtype) {
            (Coding::Ints(_), Arrow::Date32 | Arrow::Date64) => Some(86_400.0),
            (Coding::Ints(_), _) if self.shown.scale == AxisScale::Number => Some(1.0),
            _ => None,
        }
    }

    /// Whether the last bin, which has its upper edge, is this slot.
    fn is_last(&self, slot: usize) -> bool {
        match &self.coding {
            Coding::Floats(placed) => placed.is_closed && slot == placed.first as usize + placed.edges.len() - 2,
            Coding::Ints(placed) => placed.is_closed && slot == placed.first as usize + placed.edges.len() - 2,
            Coding::Values { .. } => false,
        }
    }

    /// The least and the greatest value that a bin can hold. `None` if there is no greatest one below its upper edge.
    fn extent_of(&self, slot: usize) -> Option<(f64, f64)> {
        let SlotKind::Bin { low, high } = self.shown.slots[slot].kind else { return None };
        match (self.is_last(slot), self.step()) {
            (true, _) => Some((low, high)),
            (false, Some(step)) => Some((low, (high - step).max(low))),
            (false, None) => None,
        }
    }

    /// Whether a value has this slot.
    fn has(&self, slot: usize, at: f64) -> bool {
        match self.shown.slots[slot].kind {
            SlotKind::Bin { low, high } => (low..high).contains(&at) || at == high && self.is_last(slot),
            SlotKind::Below(edge) => at < edge,
            SlotKind::Above(edge) => at > edge,
            _ => false,
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

fn not_a_place(name: &str, value: &Value) -> Diagnostic {
    plan_error("argument", format!("{} has no place on the axis of `{name}`", plain(value)))
        .help("give numbers for numbers, and times as \"2013-01-31\" or \"2013-01-31 12:00:00\"")
}

fn per_second(unit: onrush_wire::TimeUnit) -> f64 {
    match unit {
        onrush_wire::TimeUnit::Second => 1.0,
        onrush_wire::TimeUnit::Millisecond => 1e3,
        onrush_wire::TimeUnit::Microsecond => 1e6,
        onrush_wire::TimeUnit::Nanosecond => 1e9,
    }
}

/// Microseconds of a date or a time as it is written.
pub(super) fn micros_of(text: &str) -> Option<i64> {
    let text = text.trim().replace('T', " ");
    let time = chrono::NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f")
        .or_else(|_| chrono::NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M"));
    let time = time.ok().or_else(|| day_of(&text).map(|day| day.and_time(chrono::NaiveTime::MIN)));
    time.map(|time| time.and_utc().timestamp_micros())
}

/// A date that is written without a time.
pub(super) fn day_of(text: &str) -> Option<chrono::NaiveDate> {
    chrono::NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").ok()
}
