//! Pearson correlation matrix of the numeric columns of a frame, over rows valid in both columns, as in pandas and
//! NumPy.
//!
//! Two passes with centred sums keep precision if values are large and their differences small.

use onrush_engine::{Engine, KEPT};
use onrush_expr::diagnostics::plan_error;
use onrush_frame::TaskHandle;
use onrush_wire::plot::{Axis, AxisScale, Layer};
use onrush_wire::{DataType, Diagnostic, Expr, FrameId};

use super::axis_values::Values;
use super::row_source::Rows;

/// Columns that can be told apart.
const COLUMNS: usize = 60;

/// Sums of a pair of columns.
#[derive(Clone, Copy, Default)]
struct Pair {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Pair {
    fn coefficient(&self) -> Option<f64> {
        let x = self.xx - self.x * self.x / self.n;
        let y = self.yy - self.y * self.y / self.n;
        let r = (self.xy - self.x * self.y / self.n) / (x.sqrt() * y.sqrt());
        // A constant column has no correlation.
        (self.n >= 2.0 && x > 0.0 && y > 0.0 && r.is_finite()).then(|| r.clamp(-1.0, 1.0))
    }
}

pub fn layer(engine: &Engine, frame: FrameId, task: &TaskHandle) -> Result<Layer, Diagnostic> {
    let schema = engine.schema(frame)?;
    let is_number = |dtype: &DataType| dtype.is_numeric();
    let names: Vec<String> = schema.fields.iter().filter(|f| is_number(&f.dtype)).map(|f| f.name.clone()).collect();
    if names.len() < 2 {
        let message = format!(
            "a correlation matrix needs two columns of numbers, and this frame has {}",
            if names.is_empty() { "none".to_string() } else { format!("one, `{}`", names[0]) }
        );
        return Err(plan_error("plot-type", message).help("cast or compute columns first: `f.select(x!(a, b = ...))`"));
    }
    if names.len() > COLUMNS {
        let message = format!("{} columns of numbers cannot be told apart in a matrix", names.len());
        return Err(
            plan_error("plot-size", message).help(format!("select at most {COLUMNS}: `f.select([...]).plot()`"))
        );
    }
    let exprs: Vec<Expr> =
        names.iter().enumerate().map(|(i, name)| Expr::column(name).alias(format!("p{i}"))).collect();
    let rows = Rows::select(engine, frame, &exprs, engine.memory_limit() / KEPT)?;
    let columns: Vec<Values> = names
        .iter()
        .enumerate()
        .map(|(i, name)| Values::of(&rows, i, &Expr::column(name)))
        .collect::<Result<_, _>>()?;
    let mut sums = vec![(0.0, 0.0); names.len()];
    rows.each(task, &mut |piece, batch| {
        for (column, (sum, count)) in columns.iter().zip(&mut sums) {
            for value in column.read(&rows, piece, batch)?.into_iter().filter(|v| v.is_finite()) {
                *sum += value;
                *count += 1.0;
            }
        }
        Ok(())
    })?;
    let means: Vec<f64> = sums.iter().map(|(sum, count)| if *count > 0.0 { sum / count } else { 0.0 }).collect();
    let mut pairs = vec![vec![Pair::default(); names.len()]; names.len()];
    rows.each(task, &mut |piece, batch| {
        let centred = |(column, mean): (&Values, &f64)| {
            let values = column.read(&rows, piece, batch)?;
            Ok::<Vec<f64>, Diagnostic>(values.into_iter().map(|v| v - mean).collect())
        };
        let columns = columns.iter().zip(&means).map(centred).collect::<Result<Vec<_>, _>>()?;
        for i in 0..names.len() {
            for j in 0..=i {
                let pair = &mut pairs[i][j];
                for (x, y) in columns[i].iter().zip(&columns[j]) {
                    if !x.is_finite() || !y.is_finite() {
                        continue;
                    }
                    pair.n += 1.0;
                    pair.x += x;
                    pair.y += y;
                    pair.xx += x * x;
                    pair.yy += y * y;
                    pair.xy += x * y;
                }
            }
        }
        Ok(())
    })?;
    let cell = |i: usize, j: usize| {
        let coefficient = pairs[i.max(j)][i.min(j)].coefficient();
        if i == j { coefficient.map(|_| 1.0) } else { coefficient }
    };
    // Rows from the bottom: the diagonal falls from the left.
    let values = (0..names.len()).rev().map(|i| (0..names.len()).map(|j| cell(i, j)).collect()).collect();
    let axis = |categories: Vec<String>| Axis { label: String::new(), scale: AxisScale::Category, categories };
    let upwards = axis(names.iter().rev().cloned().collect());
    let color_label = "correlation".to_string();
    Ok(Layer::HeatMap { x: axis(names), y: upwards, values, color_label, range: Some((-1.0, 1.0)) })
}
