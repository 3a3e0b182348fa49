//! One axis of a heat map: maps each row to its cell during a pass over the rows.

use std::collections::HashMap;

use onrush_frame::TaskHandle;
use onrush_stats as statistics;
use onrush_wire::plot::{Axis, AxisScale};
use onrush_wire::{Diagnostic, Expr};

use super::axis_values::{Values, names};
use super::row_source::Rows;

/// Bins of a side with more values than can be told apart.
const CELLS: u32 = 30;
/// Values of a side that each have a cell.
const VALUES: usize = 50;

/// The cells of a side with numbers or times: one for each value, or bins.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    Values(Vec<i64>),
    Bins(Vec<f64>),
}

pub struct Side {
    /// Categories, or what lies in the bins.
    pub values: Values,
    bins: Option<Vec<f64>>,
}

impl Side {
    /// Strings have a cell for each value, and so have numbers and times of which there are few; the others have bins:
    /// `bins` of them, and those that another panel has.
    pub fn of(
        rows: &Rows,
        index: usize,
        expr: &Expr,
        bins: Option<u32>,
        (known, key): (&mut HashMap<(usize, char), Cells>, (usize, char)),
        task: &TaskHandle,
    ) -> Result<Self, Diagnostic> {
        let values = Values::of(rows, index, expr)?;
        if values.scale == AxisScale::Category {
            return Ok(Side { values, bins: None });
        }
        let cells = match known.get(&key) {
            Some(cells) => cells.clone(),
            None => cells(&values, rows, bins, task)?,
        };
        known.insert(key, cells.clone());
        Ok(match cells {
            Cells::Values(keys) => Side { values: values.into_categories(rows, Some(&keys), task)?, bins: None },
            Cells::Bins(edges) => Side { values, bins: Some(edges) },
        })
    }

    /// Whether only walks tell its cells.
    pub fn is_text(&self) -> bool {
        self.bins.is_none() && self.values.keys().is_none()
    }

    /// The cell of a row at that position.
    pub fn cell(&self, at: f64) -> Option<usize> {
        match &self.bins {
            None => Some(at).filter(|at| *at >= 0.0).map(|at| at as usize),
            Some(edges) => statistics::bin(at, edges),
        }
    }

    /// Strings: the categories seen in a pass.
    pub fn axis(&self) -> Axis {
        let categories = match &self.bins {
            None => self.values.categories(),
            Some(edges) => names(self.values.scale, &edges[..edges.len() - 1]),
        };
        Axis { label: self.values.label.clone(), scale: AxisScale::Category, categories }
    }
}

fn cells(values: &Values, rows: &Rows, bins: Option<u32>, task: &TaskHandle) -> Result<Cells, Diagnostic> {
    if bins.is_none() {
        let distinct = values.distinct(rows, VALUES, task)?;
        if distinct.len() <= VALUES {
            return Ok(Cells::Values(distinct));
        }
    }
    let stats = values.sample_stats(rows, task, 0, |value| value)?;
    Ok(Cells::Bins(match (bins, values.scale) {
        (None, AxisScale::Number) if stats.count > 0 => statistics::round_edges(stats.low, stats.high, CELLS),
        _ => stats.edges(Some(bins.unwrap_or(CELLS)), false),
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};

    use onrush_frame::Table;

    use super::super::axis_values::each_of;
    use super::*;

    fn rows(columns: Vec<ArrayRef>) -> Rows<'static> {
        let named = columns.into_iter().enumerate().map(|(i, column)| (format!("p{i}"), column));
        let batch = RecordBatch::try_from_iter(named).unwrap();
        Rows::of_table(Table::new(batch.schema(), vec![batch]))
    }

    fn side(rows: &Rows, index: usize, bins: Option<u32>) -> Side {
        let known = (&mut HashMap::new(), (0, 'x'));
        Side::of(rows, index, &Expr::column("v"), bins, known, &TaskHandle::new()).unwrap()
    }

    /// `numpy.histogram2d(x, y, bins=[3, 2])`, NumPy 2.4.
    #[test]
    fn cells_hold_what_numpys_hold() {
        let x: ArrayRef = Arc::new(Float64Array::from_iter_values((0..200).map(|i| f64::from(i * 37 % 101) / 10.0)));
        let y: ArrayRef = Arc::new(Float64Array::from_iter_values((0..200).map(|i| f64::from(i * 53 % 97) / 4.0)));
        let rows = rows(vec![x, y]);
        let (x, y) = (side(&rows, 0, Some(3)), side(&rows, 1, Some(2)));
        assert_eq!(x.axis().categories, ["0", "3.33333", "6.66667"]);
        assert_eq!(y.axis().categories, ["0", "12"]);
        let mut counts = [[0; 2]; 3];
        each_of(&rows, [Some(&x.values), Some(&y.values)], &TaskHandle::new(), |[at, up]| {
            counts[x.cell(at).unwrap()][y.cell(up).unwrap()] += 1;
        })
        .unwrap();
        assert_eq!(counts, [[36, 31], [30, 35], [33, 35]]);
    }

    /// By hand.
    #[test]
    fn few_values_and_texts_have_a_cell_each() {
        let numbers = [Some(2.0), Some(-0.0), None, Some(0.0), Some(0.1234567), Some(0.1234568)];
        let numbers: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
        let texts: ArrayRef =
            Arc::new(StringArray::from(vec![Some("b"), None, Some("a"), Some(""), Some("\"\""), Some("b")]));
        let rows = rows(vec![numbers, texts]);
        let (x, y) = (side(&rows, 0, None), side(&rows, 1, None));
        let mut cells = Vec::new();
        let both = [Some(&x.values), Some(&y.values)];
        each_of(&rows, both, &TaskHandle::new(), |[at, up]| cells.push((x.cell(at), y.cell(up)))).unwrap();
        assert_eq!(x.axis().categories, ["0", "0.1234567", "0.1234568", "2"]);
        assert_eq!(y.axis().categories, ["b", "a", "\"\"", "\"\" (2)"]);
        let (columns, lines): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        assert_eq!(columns, [Some(3), Some(0), None, Some(0), Some(1), Some(2)]);
        assert_eq!(lines, [Some(0), None, Some(1), Some(2), Some(3), Some(0)]);
    }

    #[test]
    fn many_values_have_round_bins_that_panels_share() {
        let many: ArrayRef = Arc::new(Float64Array::from_iter_values((0..=600).map(f64::from)));
        let few: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 599.0]));
        let mut known = HashMap::new();
        let of = |known: &mut HashMap<(usize, char), Cells>, column| {
            Side::of(&rows(vec![column]), 0, &Expr::column("v"), None, (known, (0, 'x')), &TaskHandle::new()).unwrap()
        };
        let all = of(&mut known, many).axis().categories;
        // 600 by 30 bins is 20.
        assert_eq!((all.len(), all[1].as_str(), all[30].as_str()), (31, "20", "600"));
        assert_eq!(of(&mut known, few).axis().categories, all);
    }
}
