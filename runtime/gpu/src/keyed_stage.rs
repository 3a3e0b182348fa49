//! Window functions that have keys and neither partition nor order, and the stage that several of them share.

use std::any::Any;
use std::sync::Arc;

use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_plan::windows::WindowUDFExpr;
use onrush_expr::first_last::{self, KeyedUdf};
use onrush_ops::NodeId;
use onrush_wire::plan::Keep;

use super::aggregates::Accumulators;
use super::quantiles::{self, FilteredValue};

/// A call of a window function that has keys and neither partition nor order.
pub struct KeyedCall {
    pub how: KeyedFunction,
    pub keys: Vec<Arc<dyn PhysicalExpr>>,
    /// The second sort key, among rows of equal keys: the row's number, or the value of a quantile.
    pub then: Option<FilteredValue>,
}

pub enum KeyedFunction {
    Distinct(Keep),
    Aggregate { function: Arc<AggregateUDF>, values: Vec<Arc<dyn PhysicalExpr>>, filter: Option<Arc<dyn PhysicalExpr>> },
}

impl KeyedCall {
    /// The call of a window expression. `None` for any other one.
    pub fn of(expr: &Arc<dyn WindowExpr>) -> Option<KeyedCall> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function: &dyn Any = standard.get_standard_func_expr().as_any();
        let function = function.downcast_ref::<WindowUDFExpr>()?;
        let inner: &dyn Any = function.fun().inner().as_ref();
        let args = function.args();
        Some(match first_last::keyed(inner)? {
            KeyedUdf::Distinct(keep) => {
                let (row, keys) = args.split_last()?;
                let then = FilteredValue { of: Arc::clone(row), filter: None };
                KeyedCall { how: KeyedFunction::Distinct(keep), keys: keys.to_vec(), then: Some(then) }
            }
            KeyedUdf::Spread { function, values, filtered } => {
                let (values, rest) = args.split_at(values);
                let (filter, keys) = rest.split_at(usize::from(filtered));
                let is_quantile = quantiles::parameters(function).is_some();
                KeyedCall {
                    how: KeyedFunction::Aggregate {
                        function: Arc::clone(function),
                        values: values.to_vec(),
                        filter: filter.first().cloned(),
                    },
                    keys: keys.to_vec(),
                    then: values
                        .first()
                        .filter(|_| is_quantile)
                        .map(|of| FilteredValue { of: Arc::clone(of), filter: filter.first().cloned() }),
                }
            }
        })
    }

    /// The call of a node with one window.
    pub fn only(exprs: &[Arc<dyn WindowExpr>]) -> Option<KeyedCall> {
        if let [expr] = exprs { KeyedCall::of(expr) } else { None }
    }

    /// Whether one order of the rows does for both.
    pub fn is_alike(&self, other: &KeyedCall) -> bool {
        self.keys == other.keys && self.then == other.then
    }
}

/// A stage over rows that are sorted by keys, to which more windows can be added.
pub struct KeyedStage {
    pub keys: Vec<Arc<dyn PhysicalExpr>>,
    pub then: Option<FilteredValue>,
    /// The number of columns of the rows themselves.
    pub width: usize,
    /// The input of the stage that has what rows of equal keys are sorted by, or else the last key.
    pub sorted: usize,
    pub partition: Vec<NodeId>,
    pub accumulators: Accumulators,
}

/// Words of the accumulators of a stage to which more are added: one more function has room in shared memory.
const MAX_WORDS: u32 = 10;

impl KeyedStage {
    /// Whether calls can be computed in this stage, too: by the same keys, of columns that its table has.
    pub fn takes(&self, call: &KeyedCall) -> bool {
        let words: u32 = self.accumulators.all.iter().map(|accumulator| accumulator.op.words()).sum();
        let (values, filter) = match &call.how {
            KeyedFunction::Distinct(_) => (&[][..], None),
            KeyedFunction::Aggregate { values, filter, .. } => (&values[..], filter.as_ref()),
        };
        let of_table = |expr: &Arc<dyn PhysicalExpr>| {
            let columns = collect_columns(expr);
            columns.iter().all(|column| column.index() < self.width)
        };
        let is_sorted = call.then.is_none() || call.then == self.then;
        words <= MAX_WORDS && is_sorted && call.keys == self.keys && values.iter().chain(filter).all(of_table)
    }
}
