//! Shapes of areas, each from zero or stacked.

use std::collections::HashMap;

use onrush_wire::plot::{Axis, Mark, Series};

use super::super::shapes::Shape;
use super::{Builder, Key};

impl Builder {
    pub(super) fn areas(&mut self, x: &Axis, y: &Axis, series: &[Series]) {
        self.from_zero = true;
        let base = if self.y.log { f64::NEG_INFINITY } else { 0.0 };
        if self.stacked && series.len() > 1 {
            return self.stacked_areas(x, y, series);
        }
        let mut outlines = Vec::new();
        for s in series {
            let key = Key { is_line: false, ..self.key(&s.name, false) };
            for upper in self.segments(x, y, s) {
                let lower = upper.iter().map(|p| (p.0, base)).collect();
                let (series, opacity) = (s.name.clone(), self.opacity.unwrap_or(0.3));
                self.shapes.push(Shape::Area { series, upper: upper.clone(), lower, color: key.color, opacity });
                outlines.push((upper, key.clone()));
            }
        }
        for (points, key) in outlines {
            self.push_line(Mark::Line, points, &key);
        }
    }

    /// Stacks every series on the sum of those before it; a missing point counts as 0.
    fn stacked_areas(&mut self, x: &Axis, y: &Axis, series: &[Series]) {
        let mut positions: Vec<f64> =
            series.iter().flat_map(|s| s.x.iter().copied()).filter(|v| v.is_finite()).collect();
        positions.sort_by(f64::total_cmp);
        positions.dedup();
        let mut sums = vec![0.0; positions.len()];
        let base = if self.y.log { f64::NEG_INFINITY } else { 0.0 };
        for s in series {
            let color = self.key(&s.name, false).color;
            let mut values: HashMap<u64, f64> = HashMap::new();
            for (px, py) in s.x.iter().zip(&s.y).filter(|(_, py)| py.is_finite()) {
                *values.entry((px + 0.0).to_bits()).or_default() += py;
            }
            let (mut upper, mut lower) = (Vec::new(), Vec::new());
            for (at, sum) in positions.iter().zip(&mut sums) {
                let before = *sum;
                *sum += values.get(&(at + 0.0).to_bits()).copied().unwrap_or(0.0);
                if let Some(px) = self.x(x, *at) {
                    let position = |v: f64| self.y.position(Self::place(&self.y, y, v)).unwrap_or(base);
                    lower.push((px, position(before)));
                    upper.push((px, position(*sum)));
                }
            }
            if !upper.is_empty() {
                let opacity = self.opacity.unwrap_or(0.85);
                self.shapes.push(Shape::Area { series: s.name.clone(), upper, lower, color, opacity });
            }
        }
    }
}
