//! Empirical cumulative distribution functions: exact steps, or their heights on a grid if there are many values.

use std::collections::HashMap;

use onrush_wire::Diagnostic;
use onrush_wire::plot::{Axis, AxisScale, Layer, LayerRequest, Mark, Series};

use super::axis_values::{rank_of, ranked};
use super::{SERIES, Source};

/// Points of the grid, and distinct values of exact steps, however many series there are.
const FEWEST: usize = 200;
const MOST: usize = 2_000;

impl Source<'_> {
    /// The share of values at or below each value, as `seaborn.ecdfplot` and `scipy.stats.ecdf`. A curve for each value
    /// of the colour.
    pub(super) fn ecdf(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let color = layer.color.clone().or_else(|| layer.by.clone());
        let layer = &LayerRequest { color, ..layer.clone() };
        let (rows, values, mut color) = self.values(layer)?;
        if let Some(color) = &mut color {
            let all = color.keep_most(&rows, SERIES, self.task)?;
            self.most_frequent(SERIES, all, &color.label);
        }
        let has_log = self.has_log_bins;
        let drawn = move |value: f64| if has_log { value.log10() } else { value };
        let stats = values.sample_stats(&rows, self.task, 0, drawn)?;
        let series = color.as_ref().map_or(1, |color| color.categories().len());
        let most = (self.line / series.max(1)).clamp(FEWEST, MOST);
        let span = (stats.low, stats.high);
        let edges: Vec<f64> = (0..=most)
            .map(|i| match i as f64 / most as f64 {
                0.0 => span.0,
                1.0 => span.1,
                part => span.0 + (span.1 - span.0) * part,
            })
            .map(|at| if has_log { 10f64.powf(at) } else { at })
            .collect();
        let new = |_| Steps::new(&edges, most);
        let made = self.by_series((&rows, &values), color.as_ref(), new, |steps: &mut Steps<'_>, value| {
            steps.add(value);
            true
        })?;
        let series = made.into_iter().filter(|(_, steps)| steps.count > 0).map(|(name, steps)| {
            let (x, y) = steps.curve();
            Series { name, x, y }
        });
        let y = Axis { label: "proportion".to_string(), scale: AxisScale::Number, categories: Vec::new() };
        Ok(Layer::Xy { mark: Mark::Ecdf, x: values.axis(), y, series: series.collect() })
    }
}

/// The values of one series: how often each occurs, and how many lie between two edges of the grid.
struct Steps<'a> {
    count: u64,
    /// By rank. `None` if there are too many.
    distinct: Option<HashMap<i64, u64>>,
    most: usize,
    edges: &'a [f64],
    /// Values at or below the first edge, and above each edge up to the next one.
    below: Vec<u64>,
}

impl<'a> Steps<'a> {
    fn new(edges: &'a [f64], most: usize) -> Self {
        Steps { count: 0, distinct: Some(HashMap::new()), most, edges, below: vec![0; edges.len()] }
    }

    fn add(&mut self, value: f64) {
        self.count += 1;
        if let Some(distinct) = &mut self.distinct {
            *distinct.entry(rank_of(value)).or_default() += 1;
            if distinct.len() > self.most / 2 {
                self.distinct = None;
            }
        }
        let place = self.edges.partition_point(|edge| *edge < value);
        self.below[place.min(self.edges.len() - 1)] += 1;
    }

    fn curve(self) -> (Vec<f64>, Vec<f64>) {
        let count = self.count as f64;
        let (mut x, mut y, mut sum) = (Vec::new(), Vec::new(), 0);
        if let Some(distinct) = self.distinct {
            let mut distinct: Vec<(i64, u64)> = distinct.into_iter().collect();
            distinct.sort_unstable();
            for (rank, rows) in distinct {
                // A step is a vertical and a horizontal line.
                x.extend([ranked(rank); 2]);
                y.push(sum as f64 / count);
                sum += rows;
                y.push(sum as f64 / count);
            }
            return (x, y);
        }
        let first = self.below.iter().position(|rows| *rows > 0).unwrap_or(0);
        if first > 0 {
            x.push(self.edges[first - 1]);
            y.push(0.0);
        }
        for (edge, rows) in self.edges.iter().zip(&self.below).skip(first) {
            sum += rows;
            x.push(*edge);
            y.push(sum as f64 / count);
            if sum == self.count {
                break;
            }
        }
        (x, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.ecdf([3, 1, 2, 2]).cdf`: quantiles 1, 2, 3 and probabilities 0.25, 0.75, 1.
    #[test]
    fn steps_are_those_of_scipy() {
        let mut steps = Steps::new(&[1.0, 3.0], 10);
        [3.0, 1.0, 2.0, 2.0].into_iter().for_each(|value| steps.add(value));
        assert_eq!(steps.curve(), (vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0], vec![0.0, 0.25, 0.25, 0.75, 0.75, 1.0]));
    }

    /// By hand: of 0, 1, ..., 99, at or below 0, 33, 66 and 99.
    #[test]
    fn many_values_are_exact_at_the_grid() {
        let mut steps = Steps::new(&[0.0, 33.0, 66.0, 99.0], 10);
        (0..100).for_each(|value| steps.add(f64::from(value)));
        assert_eq!(steps.curve(), (vec![0.0, 33.0, 66.0, 99.0], vec![0.01, 0.34, 0.67, 1.0]));
    }
}
