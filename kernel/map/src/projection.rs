//! Map projections of a unit sphere, with y upwards: Web Mercator (EPSG 3857), equirectangular, Natural Earth (Šavrič
//! et al. 2011), and Albers' equal-area conic projection of the United States. Alaska and Hawaii are in insets, as
//! d3-geo's `geoAlbersUsa` composes them. Nothing here knows shapes.

use onrush_wire::map::Projection;
use onrush_wire::visual::Window;

/// Longitude and latitude in degrees, or a position on the map.
pub type Point = (f64, f64);

/// The latitude where a Web Mercator map is a square.
pub const MERCATOR_END: f64 = 85.051_128_779_806_59;
/// Newton's steps for the latitude of a Natural Earth position.
const NEWTON: usize = 25;
const CLOSE: f64 = 1e-9;

/// Whether these are degrees of longitude and latitude.
pub fn is_degrees((lon, lat): Point) -> bool {
    (-180.0..=180.0).contains(&lon) && (-90.0..=90.0).contains(&lat)
}

/// A projection that is ready to be computed.
pub struct Projector {
    projection: Projection,
    parts: Vec<Part>,
}

impl Projector {
    pub fn new(projection: Projection) -> Projector {
        Projector { projection, parts: parts(projection) }
    }

    /// The position of a longitude and a latitude. `None` for what is not in degrees and for places that the map does
    /// not show.
    pub fn forward(&self, at: Point) -> Option<Point> {
        if !is_degrees(at) || (self.projection == Projection::WebMercator && at.1.abs() > MERCATOR_END) {
            return None;
        }
        self.parts.iter().find_map(|part| {
            let turned = wrapped(at.0 - part.middle);
            Some(part.project((turned, at.1))).filter(|place| contains(part.window, *place))
        })
    }

    /// The longitude and the latitude of a position. `None` outside of the map.
    pub fn inverse(&self, at: Point) -> Option<Point> {
        // Insets lie over the first part.
        self.parts.iter().rev().filter(|part| contains(part.window, at)).find_map(|part| {
            let (turned, lat) = part.invert(at)?;
            // Rounding must not push a point of the edge outside.
            if turned.abs() > 180.0 + CLOSE || lat.abs() > 90.0 + CLOSE {
                return None;
            }
            Some((wrapped(turned.clamp(-180.0, 180.0) + part.middle), lat.clamp(-90.0, 90.0)))
        })
    }

    /// The positions of the whole map.
    pub fn bounds(&self) -> Window {
        let all = self.parts.iter().map(|part| part.window);
        all.reduce(|a, b| Window { x0: a.x0.min(b.x0), y0: a.y0.min(b.y0), x1: a.x1.max(b.x1), y1: a.y1.max(b.y1) })
            .unwrap_or(Window { x0: 0.0, y0: 0.0, x1: 1.0, y1: 1.0 })
    }

    /// The window around a rectangle of longitudes and latitudes. `None` if the map shows nothing of it.
    pub fn window_of(&self, lon: (f64, f64), lat: (f64, f64)) -> Option<Window> {
        const STEPS: usize = 60;
        let along = |(low, high): (f64, f64), step: usize| low + (high - low) * step as f64 / STEPS as f64;
        let end = if self.projection == Projection::WebMercator { MERCATOR_END } else { 90.0 };
        let (lon, lat) = ((lon.0.max(-180.0), lon.1.min(180.0)), (lat.0.max(-end), lat.1.min(end)));
        if lon.0 >= lon.1 || lat.0 >= lat.1 {
            return None;
        }
        let grid = (0..=STEPS).flat_map(|i| (0..=STEPS).map(move |j| (i, j)));
        let places = grid.filter_map(|(i, j)| self.forward((along(lon, i), along(lat, j))));
        let around = places.fold(None, |window: Option<Window>, (x, y)| {
            Some(window.map_or(Window { x0: x, y0: y, x1: x, y1: y }, |w| Window {
                x0: w.x0.min(x),
                y0: w.y0.min(y),
                x1: w.x1.max(x),
                y1: w.y1.max(y),
            }))
        });
        around.filter(|window| window.x0 < window.x1 && window.y0 < window.y1)
    }

    /// The window of a map of these positions: all of it if they span most of it, and if it has insets.
    pub fn shown(&self, around: Window) -> Window {
        const MOST: f64 = 0.5;
        let whole = self.bounds();
        let is_wide = around.x1 - around.x0 > (whole.x1 - whole.x0) * MOST;
        match self.projection {
            Projection::AlbersUsa => whole,
            Projection::NaturalEarth if is_wide => whole,
            _ => around,
        }
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

/// A longitude within 180 degrees of the middle one. 180 and -180 stay apart.
pub fn wrapped(lon: f64) -> f64 {
    match lon {
        lon if lon > 180.0 => lon - 360.0,
        lon if lon < -180.0 => lon + 360.0,
        lon => lon,
    }
}

fn contains(window: Window, (x, y): Point) -> bool {
    (window.x0..=window.x1).contains(&x) && (window.y0..=window.y1).contains(&y)
}

/// One projection with a rectangle of the map. Only [`Projection::AlbersUsa`] has several.
pub struct Part {
    /// The longitude in its middle, in degrees.
    pub middle: f64,
    raw: Raw,
    /// The visible part, in positions of the map.
    pub window: Window,
}

#[derive(Clone, Copy)]
enum Raw {
    Mercator,
    Equirectangular,
    NaturalEarth,
    Conic(Conic),
}

/// Albers' conic projection, moved and scaled.
#[derive(Clone, Copy)]
struct Conic {
    n: f64,
    c: f64,
    r0: f64,
    scale: f64,
    offset: Point,
}

impl Conic {
    /// With two standard parallels. `center`, in degrees from the middle longitude, comes to the position `at`.
    fn new(parallels: (f64, f64), center: Point, scale: f64, at: Point) -> Conic {
        let sine = parallels.0.to_radians().sin();
        let n = (sine + parallels.1.to_radians().sin()) / 2.0;
        let c = 1.0 + sine * (2.0 * n - sine);
        let mut conic = Conic { n, c, r0: c.sqrt() / n, scale, offset: (0.0, 0.0) };
        let (x, y) = conic.project(center);
        conic.offset = (at.0 - x, at.1 - y);
        conic
    }

    fn project(&self, (lon, lat): Point) -> Point {
        let r = (self.c - 2.0 * self.n * lat.to_radians().sin()).max(0.0).sqrt() / self.n;
        let angle = lon.to_radians() * self.n;
        let (x, y) = (r * angle.sin(), self.r0 - r * angle.cos());
        (x * self.scale + self.offset.0, y * self.scale + self.offset.1)
    }

    fn invert(&self, (x, y): Point) -> Point {
        let (x, y) = ((x - self.offset.0) / self.scale, self.r0 - (y - self.offset.1) / self.scale);
        let mut angle = x.atan2(y.abs()) * y.signum();
        if y * self.n < 0.0 {
            angle -= std::f64::consts::PI * x.signum() * y.signum();
        }
        let sine = (self.c - (x * x + y * y) * self.n * self.n) / (2.0 * self.n);
        ((angle / self.n).to_degrees(), sine.asin().to_degrees())
    }
}

/// The factors of x and of y of a latitude in radians.
fn natural_earth(lat: f64) -> (f64, f64) {
    let p2 = lat * lat;
    let p4 = p2 * p2;
    let along = 0.8707 - 0.131_979 * p2 + p4 * (-0.013_791 + p4 * (0.003_971 * p2 - 0.001_529 * p4));
    let up = lat * (1.007_226 + p2 * (0.015_085 + p4 * (-0.044_475 + 0.028_874 * p2 - 0.005_916 * p4)));
    (along, up)
}

impl Part {
    /// The position of a longitude from the middle one, without regard to the window.
    pub fn project(&self, (lon, lat): Point) -> Point {
        match self.raw {
            Raw::Mercator => {
                let lat = lat.clamp(-MERCATOR_END, MERCATOR_END).to_radians();
                (lon.to_radians(), (std::f64::consts::FRAC_PI_4 + lat / 2.0).tan().ln())
            }
            Raw::Equirectangular => (lon.to_radians(), lat.to_radians()),
            Raw::NaturalEarth => {
                let (along, up) = natural_earth(lat.to_radians());
                (lon.to_radians() * along, up)
            }
            Raw::Conic(conic) => conic.project((lon, lat)),
        }
    }

    /// The longitude from the middle one, and the latitude.
    fn invert(&self, (x, y): Point) -> Option<Point> {
        let (lon, lat) = match self.raw {
            Raw::Mercator => (x.to_degrees(), (2.0 * y.exp().atan() - std::f64::consts::FRAC_PI_2).to_degrees()),
            Raw::Equirectangular => (x.to_degrees(), y.to_degrees()),
            Raw::NaturalEarth => {
                let mut lat = y;
                for _ in 0..NEWTON {
                    let p2 = lat * lat;
                    let p4 = p2 * p2;
                    let slope = 1.007_226
                        + p2 * (0.015_085 * 3.0
                            + p4 * (-0.044_475 * 7.0 + 0.028_874 * 9.0 * p2 - 0.005_916 * 11.0 * p4));
                    let step = (natural_earth(lat).1 - y) / slope;
                    lat -= step;
                    if step.abs() < CLOSE * CLOSE {
                        break;
                    }
                }
                ((x / natural_earth(lat).0).to_degrees(), lat.to_degrees())
            }
            Raw::Conic(conic) => conic.invert((x, y)),
        };
        (lon.is_finite() && lat.is_finite()).then_some((lon, lat))
    }

    /// Whether meridians and parallels are straight lines.
    pub fn is_straight(&self) -> bool {
        matches!(self.raw, Raw::Mercator | Raw::Equirectangular)
    }
}

/// The parts of a map, the one that is looked at first at the beginning.
fn parts(projection: Projection) -> Vec<Part> {
    use std::f64::consts::{FRAC_PI_2, PI};
    // A position of the edge is on the map in spite of rounding.
    const EDGE: f64 = 1e-12;
    let one = |raw, x: f64, y: f64| {
        let (x, y) = (x + EDGE, y + EDGE);
        vec![Part { middle: 0.0, raw, window: Window { x0: -x, y0: -y, x1: x, y1: y } }]
    };
    match projection {
        Projection::WebMercator => one(Raw::Mercator, PI, PI),
        Projection::Equirectangular => one(Raw::Equirectangular, PI, FRAC_PI_2),
        Projection::NaturalEarth => one(Raw::NaturalEarth, PI * 0.8707, natural_earth(FRAC_PI_2).1),
        Projection::AlbersUsa => {
            // The numbers are those of d3-geo, whose y goes down and whose insets are smaller by 1e-6 at a scale of
            // 1070.
            let part = |middle, conic, (x0, y0): Point, (x1, y1): Point| Part {
                middle,
                raw: Raw::Conic(conic),
                window: Window { x0, y0, x1, y1 },
            };
            vec![
                part(-96.0, Conic::new((29.5, 45.5), (-0.6, 38.7), 1.0, (0.0, 0.0)), (-0.455, -0.238), (0.455, 0.238)),
                part(
                    -154.0,
                    Conic::new((55.0, 65.0), (-2.0, 58.5), 0.35, (-0.307, -0.201)),
                    (-0.425 + CLOSE, -0.234 + CLOSE),
                    (-0.214 - CLOSE, -0.120 - CLOSE),
                ),
                part(
                    -157.0,
                    Conic::new((8.0, 18.0), (-3.0, 19.9), 1.0, (-0.205, -0.212)),
                    (-0.214 + CLOSE, -0.234 + CLOSE),
                    (-0.115 - CLOSE, -0.166 - CLOSE),
                ),
            ]
        }
    }
}
