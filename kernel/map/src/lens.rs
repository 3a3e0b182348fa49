//! Shapes in positions of a map: simplified to what can be seen, cut at the date line and at the window, closed around
//! the poles.
//!
//! Coordinates between two points of an edge are those of a straight line in degrees, as in the files of Natural Earth.

use onrush_wire::map::{Projection, ShapeSet};
use onrush_wire::visual::Window;

use crate::clip;
use crate::projection::{Part, Point, Projector, wrapped};
use crate::shapes::{Shapes, arc_index, shapes};

/// Longest step in degrees along an edge where meridians are curved.
const STEP: f64 = 2.0;
/// The whole sphere in degrees.
const SPHERE: Window = Window { x0: -180.0, y0: -90.0, x1: 180.0, y1: 90.0 };

/// The shapes of a set on a part of a map.
pub struct Lens {
    projector: Projector,
    shapes: &'static Shapes,
    /// The visible window.
    window: Window,
    /// The arcs without the points that cannot be told from a straight line.
    arcs: Vec<Vec<Point>>,
}

impl Lens {
    /// `pixel` is the size of a pixel in positions of the map.
    pub fn new(projection: Projection, set: ShapeSet, window: Window, pixel: f64) -> Lens {
        const TOLERANCE: f64 = 0.4;
        let (projector, shapes) = (Projector::new(projection), shapes(set));
        let project = |point: &Point| match projector.parts().first() {
            Some(part) => part.project((wrapped(point.0 - part.middle), point.1)),
            None => *point,
        };
        let simplified = |arc: &Vec<Point>| {
            let places: Vec<Point> = arc.iter().map(project).collect();
            let kept = simplified(&places, pixel * TOLERANCE);
            arc.iter().zip(kept).filter(|(_, kept)| *kept).map(|(point, _)| *point).collect()
        };
        // A polygon ends a bit outside, so that its edge is not seen.
        let margin = pixel * 4.0;
        let window =
            Window { x0: window.x0 - margin, y0: window.y0 - margin, x1: window.x1 + margin, y1: window.y1 + margin };
        Lens { arcs: shapes.arcs.iter().map(simplified).collect(), projector, shapes, window }
    }

    /// The rings of all land, or of the whole country; by the even-odd rule, or by the non-zero one.
    pub fn outline(&self) -> Vec<Vec<Point>> {
        self.rings(&self.shapes.outline)
    }

    /// The rings of a region.
    pub fn region(&self, index: usize) -> Vec<Vec<Point>> {
        self.shapes.regions.get(index).map_or(Vec::new(), |region| self.rings(&region.rings))
    }

    /// The lines between regions.
    pub fn borders(&self) -> Vec<Vec<Point>> {
        let borders = self.arcs.iter().zip(&self.shapes.is_border).filter(|(_, is_border)| **is_border);
        self.lines(borders.map(|(arc, _)| arc.as_slice()))
    }

    /// The edge of the whole sphere, if the map shows it as a curve.
    pub fn sphere(&self) -> Option<Vec<Point>> {
        let part = self.projector.parts().first().filter(|part| !part.is_straight())?;
        let edge = [(-180.0, -90.0), (-180.0, 90.0), (180.0, 90.0), (180.0, -90.0), (-180.0, -90.0)];
        (self.projector.parts().len() == 1).then(|| stepped(&edge).into_iter().map(|at| part.project(at)).collect())
    }

    fn rings(&self, rings: &[Vec<i64>]) -> Vec<Vec<Point>> {
        let mut made = Vec::new();
        for ring in rings.iter().map(|arcs| self.joined(arcs)).filter(|ring| ring.len() > 3) {
            for part in self.projector.parts() {
                self.project_ring(&ring, part, &mut made);
            }
        }
        made
    }

    /// The points of a ring, whose last one is its first one.
    fn joined(&self, arcs: &[i64]) -> Vec<Point> {
        let mut ring: Vec<Point> = Vec::new();
        for arc in arcs {
            let Some(points) = self.arcs.get(arc_index(*arc)) else { continue };
            // The end of an arc is the beginning of the next one.
            ring.pop();
            match arc < &0 {
                true => ring.extend(points.iter().rev()),
                false => ring.extend(points),
            }
        }
        ring
    }

    fn project_ring(&self, ring: &[Point], part: &Part, made: &mut Vec<Vec<Point>>) {
        let mut turned = unwound(ring, part.middle);
        let (Some(first), Some(last)) = (turned.first().copied(), turned.last().copied()) else { return };
        if (last.0 - first.0).abs() > 180.0 {
            // The ring goes around a pole.
            let middle = turned.iter().map(|point| point.1).sum::<f64>() / turned.len() as f64;
            let pole = if middle < 0.0 { -90.0 } else { 90.0 };
            turned.extend([(last.0, pole), (first.0, pole)]);
        } else {
            turned.pop();
        }
        for copy in copies(&turned) {
            let mut cut = clip::polygon(copy, SPHERE);
            if cut.len() < 3 {
                continue;
            }
            if !part.is_straight() {
                cut.extend(cut.first().copied());
                cut = stepped(&cut);
                cut.pop();
            }
            let places = cut.into_iter().map(|point| part.project(point)).collect();
            let seen = clip::polygon(places, common(part.window, self.window));
            if seen.len() > 2 {
                made.push(seen);
            }
        }
    }

    fn lines<'l>(&self, lines: impl Iterator<Item = &'l [Point]>) -> Vec<Vec<Point>> {
        let mut made = Vec::new();
        for line in lines {
            for part in self.projector.parts() {
                let turned = unwound(line, part.middle);
                for cut in copies(&turned).flat_map(|copy| clip::line(&copy, SPHERE)) {
                    let cut = if part.is_straight() { cut } else { stepped(&cut) };
                    let places: Vec<Point> = cut.into_iter().map(|point| part.project(point)).collect();
                    made.extend(clip::line(&places, common(part.window, self.window)));
                }
            }
        }
        made
    }
}

/// The window of a map around a rectangle of degrees; a side that is not given is the whole one. `None` if the map
/// shows nothing of it.
pub fn degrees_window(projection: Projection, lon: Option<(f64, f64)>, lat: Option<(f64, f64)>) -> Option<Window> {
    let projector = Projector::new(projection);
    if lon.is_none() && lat.is_none() {
        return Some(projector.bounds());
    }
    projector.window_of(lon.unwrap_or((-180.0, 180.0)), lat.unwrap_or((-90.0, 90.0)))
}

fn common(a: Window, b: Window) -> Window {
    Window { x0: a.x0.max(b.x0), y0: a.y0.max(b.y0), x1: a.x1.min(b.x1), y1: a.y1.min(b.y1) }
}

/// Longitudes from a middle one, without jumps at the date line.
fn unwound(points: &[Point], middle: f64) -> Vec<Point> {
    let mut turns = 0.0;
    let mut before: Option<f64> = None;
    let mut unwound = Vec::with_capacity(points.len());
    for (lon, lat) in points {
        let lon = wrapped(lon - middle);
        if let Some(before) = before {
            // The shorter way.
            turns += match lon - before {
                jump if jump > 180.0 => -360.0,
                jump if jump < -180.0 => 360.0,
                _ => 0.0,
            };
        }
        before = Some(lon);
        unwound.push((lon + turns, *lat));
    }
    unwound
}

/// Copies that together show on one sheet what was unwound.
fn copies(points: &[Point]) -> impl Iterator<Item = Vec<Point>> {
    let low = points.iter().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let meets = move |turn: &f64| low + turn < 180.0 && high + turn > -180.0;
    [0.0, 360.0, -360.0].into_iter().filter(meets).map(|turn| points.iter().map(|(x, y)| (x + turn, *y)).collect())
}

/// With more points, so that edges bend as the map does.
fn stepped(points: &[Point]) -> Vec<Point> {
    let mut stepped = Vec::with_capacity(points.len());
    stepped.extend(points.first().copied());
    for two in points.windows(2) {
        let (dx, dy) = (two[1].0 - two[0].0, two[1].1 - two[0].1);
        let steps = (dx.abs().max(dy.abs()) / STEP).ceil().max(1.0);
        let shares = (1..steps as usize).map(|step| step as f64 / steps);
        stepped.extend(shares.map(|share| (two[0].0 + dx * share, two[0].1 + dy * share)));
        stepped.push(two[1]);
    }
    stepped
}

/// The points that stay if none may be further than `tolerance` from the line (Douglas and Peucker 1973). The ends
/// stay.
fn simplified(points: &[Point], tolerance: f64) -> Vec<bool> {
    let mut kept = vec![false; points.len()];
    let Some(last) = points.len().checked_sub(1) else { return kept };
    (kept[0], kept[last]) = (true, true);
    let mut open = vec![(0, last)];
    while let Some((from, to)) = open.pop() {
        let ((x0, y0), (x1, y1)) = (points[from], points[to]);
        let (dx, dy) = (x1 - x0, y1 - y0);
        let length = dx * dx + dy * dy;
        let distance = |at: usize| {
            let (x, y) = (points[at].0 - x0, points[at].1 - y0);
            // The ends of a ring are one point.
            let share = if length > 0.0 { ((x * dx + y * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
            (x - share * dx).hypot(y - share * dy)
        };
        let far = (from + 1..to).map(|at| (at, distance(at))).max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((at, distance)) = far
            && distance > tolerance
        {
            kept[at] = true;
            open.extend([(from, at), (at, to)]);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(projection: Projection) -> Window {
        Projector::new(projection).bounds()
    }

    /// Signed by the direction of the ring.
    fn area(ring: &[Point]) -> f64 {
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum::<f64>() / 2.0
    }

    #[test]
    fn lines_and_rings_are_cut_at_the_date_line() {
        let lens =
            Lens::new(Projection::Equirectangular, ShapeSet::Countries, whole(Projection::Equirectangular), 1e-4);
        // Fiji: a ring over the date line becomes two, of 2 and of 3 degrees.
        let mut made = Vec::new();
        let ring = [(178.0, -18.0), (-177.0, -18.0), (-177.0, -17.0), (178.0, -17.0), (178.0, -18.0)];
        lens.project_ring(&ring, &lens.projector.parts()[0], &mut made);
        let mut areas: Vec<f64> =
            made.iter().map(|ring| (area(ring) * 180.0f64.powi(2) / std::f64::consts::PI.powi(2)).round()).collect();
        areas.sort_by(f64::total_cmp);
        assert_eq!(areas, [2.0, 3.0]);
        let line = [(170.0, 10.0), (-170.0, 20.0)];
        let lines = lens.lines(std::iter::once(&line[..]));
        assert_eq!(lines.len(), 2);
        let ends: Vec<Point> =
            lines.iter().flatten().map(|(x, y)| (x.to_degrees().round(), y.to_degrees().round())).collect();
        assert_eq!(ends, [(170.0, 10.0), (180.0, 15.0), (-180.0, 15.0), (-170.0, 20.0)]);
    }

    /// 149 million km² of 510 are land, with inland water. The map keeps areas in no other way than by this sum.
    #[test]
    fn land_has_the_area_of_the_earths_land_and_reaches_the_pole() {
        let lens =
            Lens::new(Projection::Equirectangular, ShapeSet::Countries, whole(Projection::Equirectangular), 1e-6);
        let rings = lens.outline();
        // The area under each edge on the sphere: the sine of the latitude for the latitude.
        let on_sphere = |ring: &Vec<Point>| area(&ring.iter().map(|(x, y)| (*x, y.sin())).collect::<Vec<_>>());
        let share = rings.iter().map(on_sphere).sum::<f64>().abs() / (4.0 * std::f64::consts::PI);
        assert!((0.28..0.30).contains(&share), "{share}");
        let lowest = rings.iter().flatten().map(|point| point.1).fold(0.0, f64::min);
        assert!((lowest + std::f64::consts::FRAC_PI_2).abs() < 1e-9, "{lowest}");
    }

    /// Wyoming has 253,335 km² of the 9.37 million that the fifty states and their waters have (US Census Bureau).
    #[test]
    fn the_states_keep_their_areas_on_an_equal_area_map() {
        let lens = Lens::new(Projection::AlbersUsa, ShapeSet::States, whole(Projection::AlbersUsa), 1e-5);
        let states = &lens.shapes.regions;
        let of = |name: &str| {
            let index = states.iter().position(|state| state.name() == name).unwrap();
            lens.region(index).iter().map(|ring| area(ring)).sum::<f64>().abs() * 6371.0f64.powi(2)
        };
        assert!((of("Wyoming") / 253_335.0 - 1.0).abs() < 0.01, "{}", of("Wyoming"));
        assert!((of("Texas") / 695_662.0 - 1.0).abs() < 0.03, "{}", of("Texas"));
        // Alaska is drawn at 0.35 of its size.
        assert!((of("Alaska") / (1_723_337.0 * 0.35 * 0.35) - 1.0).abs() < 0.15, "{}", of("Alaska"));
        assert!(of("Puerto Rico") == 0.0);
    }

    #[test]
    fn what_cannot_be_seen_is_left_out() {
        let line = [(0.0, 0.0), (1.0, 0.001), (2.0, 0.0), (2.0, 2.0)];
        assert_eq!(simplified(&line, 0.01), [true, false, true, true]);
        let world = |pixel| {
            let lens = Lens::new(Projection::WebMercator, ShapeSet::Countries, whole(Projection::WebMercator), pixel);
            lens.outline().iter().map(Vec::len).sum::<usize>()
        };
        let (fine, coarse) = (world(1e-6), world(0.01));
        assert!(coarse * 5 < fine, "{fine} {coarse}");
    }
}
