//! GroupLines through the rows of a group, drawn as rows come.

use super::super::axis_values::grown;
use super::Canvas;

/// The last position of each group's line.
#[derive(Default)]
pub(super) struct GroupLines {
    /// The last position of each group, and whether the line has begun.
    last: Vec<Option<((f64, f64), bool)>>,
}

impl GroupLines {
    /// Draws a group's line on to its next position. A position that is not finite breaks it.
    pub(super) fn next(&mut self, canvas: &mut Canvas, at: (f64, f64), color: f64, group: f64) {
        if group.is_nan() {
            return;
        }
        let last = grown(&mut self.last, group as usize);
        if !(at.0.is_finite() && at.1.is_finite()) {
            *last = None;
            return;
        }
        canvas.rows += u64::from(canvas.scales.cell(at).is_some());
        let is_start = match *last {
            Some((from, is_start)) => {
                canvas.segment(from, at, color, is_start);
                false
            }
            None => true,
        };
        *last = Some((at, is_start));
    }
}
