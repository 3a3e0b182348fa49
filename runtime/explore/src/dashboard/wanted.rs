//! The slots that a cell asks for by values: `d.set("hour", 7..=9)`.

use onrush_expr::check::plan_error;
use onrush_wire::dashboard::{SlotKind, Wanted};
use onrush_wire::plot::AxisScale;
use onrush_wire::{Diagnostic, Value};

use super::dimension::{Coding, SlicedColumn};

impl SlicedColumn {
    /// The slots that have what is wanted, as half-open ranges.
    pub fn wanted(&self, wanted: &Wanted) -> Result<Vec<(u32, u32)>, Diagnostic> {
        let name = &self.shown.label;
        let position = |value: &Value| match value {
            Value::Int(value) => Some(*value as f64),
            Value::UInt(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Float32(value) => Some(f64::from(*value)),
            Value::Decimal { value, scale, .. } => Some(*value as f64 / 10_f64.powi(i32::from(*scale))),
            Value::Date(days) => Some(f64::from(*days) * 86_400.0),
            Value::Timestamp { value, unit, .. } => Some(*value as f64 / per_second(*unit)),
            Value::Text(text) => time_of(text).filter(|_| self.shown.scale == AxisScale::Time),
            _ => None,
        };
        let slots = &self.shown.slots;
        let mut chosen = vec![false; slots.len()];
        match (wanted, &self.coding) {
            (Wanted::Values(list), Coding::Values { values, .. }) => {
                for value in list {
                    let same =
                        |known: &Value| known == value || position(known).is_some_and(|at| Some(at) == position(value));
                    let at = values.iter().position(same);
                    let at = at.or_else(|| {
                        slots.iter().position(|slot| matches!(value, Value::Text(text) if *text == slot.name))
                    });
                    let Some(at) = at else {
                        let names: Vec<&str> = slots.iter().take(8).map(|slot| slot.name.as_str()).collect();
                        let message = format!("`{name}` has no bar for {}", plain(value));
                        return Err(
                            plan_error("argument", message).help(format!("its bars are {}, …", names.join(", ")))
                        );
                    };
                    chosen[at] = true;
                }
            }
            (Wanted::Values(list), _) => {
                for value in list {
                    let Some(at) = position(value) else { return Err(not_a_place(name, value)) };
                    let holds =
                        |kind: SlotKind| matches!(kind, SlotKind::Bin { low, high } if (low..high).contains(&at));
                    slots.iter().zip(&mut chosen).for_each(|(slot, chosen)| *chosen |= holds(slot.kind));
                }
            }
            (Wanted::Range { low, high, is_closed }, coding) => {
                let bound = |value: &Option<Value>| match value {
                    Some(value) => position(value).map(Some).ok_or_else(|| not_a_place(name, value)),
                    None => Ok(None),
                };
                let (low, high) = (bound(low)?, bound(high)?);
                let values: &[Value] = match coding {
                    Coding::Values { values, .. } => values,
                    _ => &[],
                };
                for (at, slot) in slots.iter().enumerate() {
                    let is_below =
                        |edge: f64| high.is_none_or(|high| if *is_closed { edge <= high } else { edge < high });
                    chosen[at] = match slot.kind {
                        SlotKind::Bin { low: from, high: to } => low.is_none_or(|low| to > low) && is_below(from),
                        SlotKind::Below(_) => low.is_none(),
                        SlotKind::Above(_) => high.is_none(),
                        SlotKind::Value => values
                            .get(at)
                            .and_then(&position)
                            .is_some_and(|value| low.is_none_or(|low| value >= low) && is_below(value)),
                        SlotKind::Other | SlotKind::Missing => false,
                    };
                }
            }
        }
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for slot in (0..slots.len() as u32).filter(|slot| chosen[*slot as usize]) {
            match ranges.last_mut() {
                Some((_, end)) if *end == slot => *end = slot + 1,
                _ => ranges.push((slot, slot + 1)),
            }
        }
        if ranges.is_empty() {
            let message = format!("nothing of `{name}` lies there");
            return Err(plan_error("argument", message).help("the bins are those that the dashboard shows"));
        }
        Ok(ranges)
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

/// Seconds of a date or a time as it is written.
fn time_of(text: &str) -> Option<f64> {
    let text = text.trim().replace('T', " ");
    let time = chrono::NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f")
        .or_else(|_| chrono::NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M"))
        .or_else(|_| {
            chrono::NaiveDate::parse_from_str(&text, "%Y-%m-%d").map(|day| day.and_time(chrono::NaiveTime::MIN))
        });
    time.ok().map(|time| time.and_utc().timestamp_micros() as f64 / 1e6)
}
