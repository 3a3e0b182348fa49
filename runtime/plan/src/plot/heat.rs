//! A side of a heat map: each row's cell along it, found while walking over the rows.

use std::collections::HashSet;

use onrush_frame::{Table, TaskHandle};
use onrush_wire::plot::statistics::{self, Survey};
use onrush_wire::plot::{Axis, AxisScale};
use onrush_wire::{Diagnostic, Expr};

use super::Edges;
use super::columns::{Column, Values, text};

/// Bins of a side with more values than can be told apart.
const CELLS: u32 = 30;
/// Values of a side that each have a cell.
const VALUES: usize = 50;

pub enum Side {
    Texts(Column),
    /// A cell for each value.
    Values {
        values: Values,
        distinct: Vec<f64>,
    },
    Bins {
        values: Values,
        edges: Vec<f64>,
    },
}

impl Side {
    /// Texts have a cell for each value, and so have numbers and times of which there are few; the others have bins: `bins` of them,
    /// and those that another panel has.
    pub fn of(
        table: &Table,
        index: usize,
        expr: &Expr,
        bins: Option<u32>,
        (known, key): (&mut Edges, (usize, char)),
        task: &TaskHandle,
    ) -> Result<Self, Diagnostic> {
        let values = Values::of(table, index, expr)?;
        if values.scale == AxisScale::Category {
            return Column::of(table, index, expr).map(Side::Texts);
        }
        let mut distinct = HashSet::new();
        if bins.is_none() && !known.contains_key(&key) {
            values.each(task, |_, value| {
                if distinct.len() <= VALUES && value.is_finite() {
                    distinct.insert((value + 0.0).to_bits());
                }
            })?;
            if distinct.len() <= VALUES {
                let mut distinct: Vec<f64> = distinct.into_iter().map(f64::from_bits).collect();
                distinct.sort_by(f64::total_cmp);
                return Ok(Side::Values { values, distinct });
            }
        }
        let edges = match known.get(&key) {
            Some(edges) => edges.clone(),
            None => {
                let mut survey = Survey::default();
                values.each(task, |_, value| survey.add(value))?;
                match (bins, values.scale) {
                    (None, AxisScale::Number) if survey.count > 0 => {
                        statistics::round_edges(survey.low, survey.high, CELLS)
                    }
                    _ => survey.edges(Some(bins.unwrap_or(CELLS)), false),
                }
            }
        };
        known.insert(key, edges.clone());
        Ok(Side::Bins { values, edges })
    }

    /// What must be walked over.
    pub fn values(&self) -> Option<&Values> {
        match self {
            Side::Texts(_) => None,
            Side::Values { values, .. } | Side::Bins { values, .. } => Some(values),
        }
    }

    /// The cell of a row whose value is that.
    pub fn cell(&self, row: usize, value: f64) -> Option<usize> {
        match self {
            Side::Texts(column) => Some(column.positions[row]).filter(|p| *p >= 0.0).map(|p| p as usize),
            Side::Values { distinct, .. } => distinct.binary_search_by(|d| d.total_cmp(&(value + 0.0))).ok(),
            Side::Bins { edges, .. } => statistics::bin(value, edges),
        }
    }

    pub fn axis(&self) -> Axis {
        let named = |values: &Values, positions: &[f64]| Axis {
            label: values.label.clone(),
            scale: AxisScale::Category,
            categories: positions.iter().map(|at| text(values.scale, *at)).collect(),
        };
        match self {
            Side::Texts(column) => column.axis(),
            Side::Values { values, distinct } => named(values, distinct),
            Side::Bins { values, edges } => named(values, &edges[..edges.len() - 1]),
        }
    }
}
