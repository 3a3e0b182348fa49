//! Filters by values: their condition, and the rows that pass it. The rows come from the condition itself, so that a
//! dashboard counts the rows of its selection.

use arrow::array::AsArray;
use arrow::datatypes::DataType as Arrow;
use onrush_engine::Engine;
use onrush_expr::error::internal;
use onrush_frame::TaskHandle;
use onrush_wire::dashboard::{Filter, KeptSlots, SlotQuery};
use onrush_wire::plot::AxisScale;
use onrush_wire::{BinaryOp, Diagnostic, Expr, ExprKind, TimeUnit, Value};

use super::condition::{all, join, not, op};
use super::dimension::{Coding, SlicedColumn};
use super::wanted::{day_of, micros_of};
use super::{Index, Kind, SHARE};
use crate::plot::Rows;

const DAY: i64 = 86_400_000_000;

impl SlicedColumn {
    /// The rows with the values that a cell wrote: the condition that a user would write.
    pub fn exactly(&self, wanted: &SlotQuery) -> Expr {
        match wanted {
            SlotQuery::Range { low, high, is_closed } => {
                let ends_with = if *is_closed { BinaryOp::LessEqual } else { BinaryOp::Less };
                let low = low.as_ref().and_then(|low| self.compare(BinaryOp::GreaterEqual, low));
                let high = high.as_ref().and_then(|high| self.compare(ends_with, high));
                // NaN is greater than all numbers, and in no range.
                let there = match (&low, &high) {
                    (None, None) => Some(not(self.is_missing())),
                    (_, None) if self.has_nan => Some(not(Expr::call("is_nan", [self.expr.clone()]))),
                    _ => None,
                };
                all([low, high, there].into_iter().flatten()).unwrap_or_else(|| Expr::literal(true))
            }
            SlotQuery::Values(list) => {
                let days = list.iter().filter_map(|value| self.whole_day(value));
                let others = list.iter().filter(|value| self.whole_day(value).is_none());
                let others: Vec<Expr> = others.map(|value| Expr::literal(self.literal(value))).collect();
                let is_one = (!others.is_empty())
                    .then(|| Expr::new(ExprKind::In { value: Box::new(self.compared()), list: others }));
                join(BinaryOp::Or, days.chain(is_one)).unwrap_or_else(|| Expr::literal(false))
            }
        }
    }

    fn is_time(&self) -> bool {
        self.shown.scale == AxisScale::Time
    }

    /// The values that are compared with literals: as they are, and times as a clock of their zone shows them.
    fn compared(&self) -> Expr {
        if self.is_time() { self.expr.clone() } else { self.raw.clone() }
    }

    /// A comparison. `None` if it is true for all values.
    fn compare(&self, with: BinaryOp, value: &Value) -> Option<Expr> {
        // No common type has all unsigned and negative numbers.
        let is_below_all = self.dtype.is_unsigned_integer() && matches!(value, Value::Int(value) if *value < 0);
        if is_below_all && with == BinaryOp::GreaterEqual {
            return None;
        }
        if is_below_all {
            return Some(Expr::literal(false));
        }
        Some(op(with, self.compared(), Expr::literal(self.literal(value))))
    }

    /// A value as a literal of the type of the column.
    fn literal(&self, value: &Value) -> Value {
        match value {
            Value::Text(text) if self.is_time() => micros_of(text).map_or(Value::Null, |micros| self.time(micros)),
            other => other.clone(),
        }
    }

    /// A time as a literal of the type of the column.
    pub(super) fn time(&self, micros: i64) -> Value {
        let dtype = match &self.dtype {
            Arrow::Dictionary(_, values) => values,
            other => other,
        };
        match dtype {
            Arrow::Date32 | Arrow::Date64 if micros.rem_euclid(DAY) == 0 => Value::Date(micros.div_euclid(DAY) as i32),
            _ => Value::Timestamp { value: micros, unit: TimeUnit::Microsecond, zone: None },
        }
    }

    /// All times of a day that is written without a time.
    fn whole_day(&self, value: &Value) -> Option<Expr> {
        let (Value::Text(text), Arrow::Timestamp(..), Coding::Ints(_)) = (value, &self.dtype, &self.coding) else {
            return None;
        };
        day_of(text)?;
        let start = micros_of(text)?;
        let edge = |micros| Expr::literal(self.time(micros));
        all([
            op(BinaryOp::GreaterEqual, self.compared(), edge(start)),
            op(BinaryOp::Less, self.compared(), edge(start + DAY)),
        ])
    }
}

impl Index {
    /// The condition of a filter by values. `None` for other filters.
    fn exact(&self, filter: &Filter) -> Option<Expr> {
        match (&filter.kept, self.views.get(filter.view as usize)?) {
            (KeptSlots::Exact { wanted, .. }, Kind::Slots { x, .. }) => Some(self.dimensions[*x].exactly(wanted)),
            _ => None,
        }
    }

    /// Whether each row fails a filter by values: 1 if it does. `None` for other filters.
    pub(super) fn fails(
        &self,
        engine: &Engine,
        filter: &Filter,
        task: &TaskHandle,
    ) -> Result<Option<Vec<u8>>, Diagnostic> {
        let Some(condition) = self.exact(filter) else { return Ok(None) };
        let rows = Rows::select(engine, self.request.frame, &[condition.alias("kept")], engine.memory_limit() / SHARE)?;
        let mut fails = Vec::with_capacity(self.rows);
        rows.each(task, &mut |_, batch| {
            let kept = batch.column(0).as_boolean_opt().ok_or_else(|| internal("a filter is not a condition"))?;
            fails.extend(kept.iter().map(|kept| u8::from(kept != Some(true))));
            Ok(())
        })?;
        if fails.len() != self.rows {
            return Err(internal("the rows of the dashboard's frame have changed"));
        }
        Ok(Some(fails))
    }
}
