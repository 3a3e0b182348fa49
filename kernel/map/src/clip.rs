//! Lines and polygons inside of a rectangle: polygons by Sutherland and Hodgman (1974), lines by Liang and Barsky
//! (1984).

use onrush_wire::visual::Window;

use crate::projection::Point;

/// The part of a polygon inside of a window, in one ring; pieces are connected along the window's edge. Empty if
/// nothing is left.
pub fn polygon(ring: Vec<Point>, window: Window) -> Vec<Point> {
    let Window { x0, y0, x1, y1 } = window;
    let (mut xs, mut ys) = ((f64::INFINITY, f64::NEG_INFINITY), (f64::INFINITY, f64::NEG_INFINITY));
    for (x, y) in &ring {
        (xs, ys) = ((xs.0.min(*x), xs.1.max(*x)), (ys.0.min(*y), ys.1.max(*y)));
    }
    if xs.1 < x0 || xs.0 > x1 || ys.1 < y0 || ys.0 > y1 {
        return Vec::new();
    }
    let mut ring = ring;
    // Distances from the four edges, positive inside.
    let edges: [&dyn Fn(Point) -> f64; 4] = [&|p| p.0 - x0, &|p| x1 - p.0, &|p| p.1 - y0, &|p| y1 - p.1];
    for inside in edges {
        if ring.iter().all(|point| inside(*point) >= 0.0) {
            continue;
        }
        let mut cut = Vec::with_capacity(ring.len() + 4);
        let mut before = ring.last().copied();
        for at in ring {
            if let Some(from) = before {
                let (a, b) = (inside(from), inside(at));
                if (a >= 0.0) != (b >= 0.0) {
                    let share = a / (a - b);
                    cut.push((from.0 + (at.0 - from.0) * share, from.1 + (at.1 - from.1) * share));
                }
                if b >= 0.0 {
                    cut.push(at);
                }
            }
            before = Some(at);
        }
        ring = cut;
    }
    ring
}

/// The parts of a line inside of a window.
pub fn line(points: &[Point], window: Window) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    let mut goes_on = false;
    for two in points.windows(2) {
        let Some((from, to)) = segment(two[0], two[1], window) else {
            goes_on = false;
            continue;
        };
        match parts.last_mut().filter(|_| goes_on) {
            Some(part) => part.push(to),
            None => parts.push(vec![from, to]),
        }
        goes_on = to == two[1];
    }
    parts
}

fn segment(from: Point, to: Point, window: Window) -> Option<(Point, Point)> {
    let Window { x0, y0, x1, y1 } = window;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (step, distance) in [(-dx, from.0 - x0), (dx, x1 - from.0), (-dy, from.1 - y0), (dy, y1 - from.1)] {
        if step == 0.0 && distance < 0.0 {
            return None;
        } else if step < 0.0 {
            enter = enter.max(distance / step);
        } else if step > 0.0 {
            leave = leave.min(distance / step);
        }
    }
    let at = |share: f64| (from.0 + share * dx, from.1 + share * dy);
    let end = if leave < 1.0 { at(leave) } else { to };
    (enter <= leave).then(|| (if enter > 0.0 { at(enter) } else { from }, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: Window = Window { x0: 0.0, y0: 0.0, x1: 2.0, y1: 2.0 };

    /// By hand.
    #[test]
    fn lines_and_polygons_end_at_the_window() {
        let lines = line(&[(-1.0, 1.0), (1.0, 1.0), (3.0, 1.0), (3.0, 0.5), (1.0, 0.5)], SQUARE);
        assert_eq!(lines, [vec![(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)], vec![(2.0, 0.5), (1.0, 0.5)]]);
        assert!(line(&[(3.0, 3.0), (4.0, 0.0)], SQUARE).is_empty());
        let mut ring = polygon(vec![(1.0, 1.0), (3.0, 1.0), (3.0, 3.0), (1.0, 3.0)], SQUARE);
        ring.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(ring, [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0)]);
        assert!(polygon(vec![(3.0, 0.0), (4.0, 0.0), (4.0, 1.0)], SQUARE).is_empty());
        // A polygon around the window is the window.
        let around = polygon(vec![(-9.0, -9.0), (9.0, -9.0), (9.0, 9.0), (-9.0, 9.0)], SQUARE);
        assert_eq!(around.len(), 4);
    }
}
