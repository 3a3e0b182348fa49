//! A side of a heat map: each row's cell along it, found while walking over the rows.

use std::collections::{HashMap, HashSet};

use onrush_frame::{Table, TaskHandle};
use onrush_wire::plot::statistics::{self, Survey};
use onrush_wire::plot::{Axis, AxisScale};
use onrush_wire::{Diagnostic, Expr};

use super::columns::{Column, Values, names, rank_of, ranked};

/// Bins of a side with more values than can be told apart.
const CELLS: u32 = 30;
/// Values of a side that each have a cell.
const VALUES: usize = 50;

/// The cells of a side with numbers or times: one for each value, or bins.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    Values(Vec<f64>),
    Bins(Vec<f64>),
}

pub enum Side {
    Texts(Column),
    Numbers { values: Values, cells: Cells },
}

impl Side {
    /// Texts have a cell for each value, and so have numbers and times of which there are few; the others have bins: `bins` of them,
    /// and those that another panel has.
    pub fn of(
        table: &Table,
        index: usize,
        expr: &Expr,
        bins: Option<u32>,
        (known, key): (&mut HashMap<(usize, char), Cells>, (usize, char)),
        task: &TaskHandle,
    ) -> Result<Self, Diagnostic> {
        let values = Values::of(table, index, expr)?;
        if values.scale == AxisScale::Category {
            return Column::of(table, index, expr).map(Side::Texts);
        }
        let cells = match known.get(&key) {
            Some(cells) => cells.clone(),
            None => cells(&values, bins, task)?,
        };
        known.insert(key, cells.clone());
        Ok(Side::Numbers { values, cells })
    }

    /// What must be walked over.
    pub fn values(&self) -> Option<&Values> {
        match self {
            Side::Texts(_) => None,
            Side::Numbers { values, .. } => Some(values),
        }
    }

    /// The cell of a row whose value is that.
    pub fn cell(&self, row: usize, value: f64) -> Option<usize> {
        match self {
            Side::Texts(column) => Some(column.positions[row]).filter(|p| *p >= 0.0).map(|p| p as usize),
            Side::Numbers { cells: Cells::Values(distinct), .. } => {
                distinct.binary_search_by(|d| d.total_cmp(&(value + 0.0))).ok()
            }
            Side::Numbers { cells: Cells::Bins(edges), .. } => statistics::bin(value, edges),
        }
    }

    pub fn axis(&self) -> Axis {
        match self {
            Side::Texts(column) => column.axis(),
            Side::Numbers { values, cells } => {
                let positions = match cells {
                    Cells::Values(distinct) => distinct.as_slice(),
                    Cells::Bins(edges) => &edges[..edges.len() - 1],
                };
                let categories = names(values.scale, positions);
                Axis { label: values.label.clone(), scale: AxisScale::Category, categories }
            }
        }
    }
}

/// In one walk.
fn cells(values: &Values, bins: Option<u32>, task: &TaskHandle) -> Result<Cells, Diagnostic> {
    let (mut survey, mut distinct) = (Survey::default(), HashSet::new());
    values.each(task, |_, value| {
        survey.add(value);
        if bins.is_none() && distinct.len() <= VALUES && value.is_finite() {
            distinct.insert(rank_of(value));
        }
    })?;
    if bins.is_none() && distinct.len() <= VALUES {
        let mut distinct: Vec<i64> = distinct.into_iter().collect();
        distinct.sort_unstable();
        return Ok(Cells::Values(distinct.into_iter().map(ranked).collect()));
    }
    Ok(Cells::Bins(match (bins, values.scale) {
        (None, AxisScale::Number) if survey.count > 0 => statistics::round_edges(survey.low, survey.high, CELLS),
        _ => survey.edges(Some(bins.unwrap_or(CELLS)), false),
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};

    use super::super::columns::each_of;
    use super::*;

    fn table(columns: Vec<ArrayRef>) -> Table {
        let named = columns.into_iter().enumerate().map(|(i, column)| (format!("p{i}"), column));
        let batch = RecordBatch::try_from_iter(named).unwrap();
        Table::new(batch.schema(), vec![batch])
    }

    fn side(table: &Table, index: usize, bins: Option<u32>) -> Side {
        let known = (&mut HashMap::new(), (0, 'x'));
        Side::of(table, index, &Expr::column("v"), bins, known, &TaskHandle::new()).unwrap()
    }

    /// `numpy.histogram2d(x, y, bins=[3, 2])`, NumPy 2.4.
    #[test]
    fn cells_hold_what_numpys_hold() {
        let x: ArrayRef = Arc::new(Float64Array::from_iter_values((0..200).map(|i| f64::from(i * 37 % 101) / 10.0)));
        let y: ArrayRef = Arc::new(Float64Array::from_iter_values((0..200).map(|i| f64::from(i * 53 % 97) / 4.0)));
        let table = table(vec![x, y]);
        let (x, y) = (side(&table, 0, Some(3)), side(&table, 1, Some(2)));
        assert_eq!(x.axis().categories, ["0", "3.33333", "6.66667"]);
        assert_eq!(y.axis().categories, ["0", "12"]);
        let mut counts = [[0; 2]; 3];
        each_of([x.values(), y.values()], 200, &TaskHandle::new(), |row, [at, up]| {
            counts[x.cell(row, at).unwrap()][y.cell(row, up).unwrap()] += 1;
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
        let table = table(vec![numbers, texts]);
        let (x, y) = (side(&table, 0, None), side(&table, 1, None));
        assert_eq!(x.axis().categories, ["0", "0.1234567", "0.1234568", "2"]);
        assert_eq!(y.axis().categories, ["b", "a", "\"\"", "\"\" (2)"]);
        let mut cells = Vec::new();
        each_of([x.values()], 6, &TaskHandle::new(), |row, [at]| cells.push((x.cell(row, at), y.cell(row, f64::NAN))))
            .unwrap();
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
            Side::of(&table(vec![column]), 0, &Expr::column("v"), None, (known, (0, 'x')), &TaskHandle::new()).unwrap()
        };
        let all = of(&mut known, many).axis().categories;
        // 600 by 30 bins is 20.
        assert_eq!((all.len(), all[1].as_str(), all[30].as_str()), (31, "20", "600"));
        assert_eq!(of(&mut known, few).axis().categories, all);
    }
}
