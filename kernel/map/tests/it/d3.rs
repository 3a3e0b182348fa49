//! Projections against d3-geo 3.1.2: `data/points.csv`, which `data/make.mjs` writes with its default scales.

use onrush_map::Projector;
use onrush_wire::map::Projection;

const POINTS: &str = include_str!("../../data/points.csv");
/// d3-geo's default scales; the middle of its maps is (480, 250).
const SCALES: [(Projection, f64); 4] = [
    (Projection::WebMercator, 961.0 / std::f64::consts::TAU),
    (Projection::Equirectangular, 152.63),
    (Projection::NaturalEarth, 175.295),
    (Projection::AlbersUsa, 1070.0),
];

fn rows() -> impl Iterator<Item = Vec<Option<f64>>> {
    POINTS.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().ok()).collect())
}

#[test]
fn positions_are_those_of_d3() {
    for (index, (projection, scale)) in SCALES.into_iter().enumerate() {
        let projector = Projector::new(projection);
        let mut shown = 0;
        for row in rows() {
            let (lon, lat) = (row[0].unwrap(), row[1].unwrap());
            let expected = row[2 + 2 * index].zip(row[3 + 2 * index]);
            let found = projector.forward((lon, lat)).map(|(x, y)| (480.0 + scale * x, 250.0 - scale * y));
            // d3-geo gives a position beyond the end of a Mercator map.
            if projection == Projection::WebMercator && lat > 85.06 {
                assert_eq!(found, None);
                continue;
            }
            match (found, expected) {
                (Some((x, y)), Some((u, v))) => {
                    assert!((x - u).abs() < 1e-5 && (y - v).abs() < 1e-5, "{projection:?} {lon} {lat}: {x} {y}");
                    shown += 1;
                }
                (found, expected) => assert_eq!(found, expected, "{projection:?} {lon} {lat}"),
            }
        }
        assert!(shown > 50, "{projection:?}: {shown}");
    }
}

#[test]
fn the_inverse_of_a_position_is_its_point() {
    for (projection, _) in SCALES {
        let projector = Projector::new(projection);
        for row in rows() {
            let (lon, lat) = (row[0].unwrap(), row[1].unwrap());
            let Some(place) = projector.forward((lon, lat)) else { continue };
            let (u, v) = projector.inverse(place).unwrap_or_else(|| panic!("{projection:?} {lon} {lat}"));
            let turn = (u - lon).abs();
            // The inset of Alaska lies over a part of Mexico.
            if projection == Projection::AlbersUsa && lat < 33.0 && v > 50.0 {
                continue;
            }
            // The two sides of the date line are one place.
            assert!(turn.min(360.0 - turn) < 1e-7 && (v - lat).abs() < 1e-7, "{projection:?} {lon} {lat}: {u} {v}");
        }
        let outside = projector.bounds();
        assert_eq!(projector.inverse((outside.x1 + 0.1, outside.y1 + 0.1)), None);
    }
}

#[test]
fn what_is_not_in_degrees_has_no_position() {
    for (projection, _) in SCALES {
        let projector = Projector::new(projection);
        for at in [(181.0, 0.0), (0.0, 90.5), (f64::NAN, 0.0), (0.0, f64::INFINITY)] {
            assert_eq!(projector.forward(at), None, "{projection:?} {at:?}");
        }
    }
    assert_eq!(Projector::new(Projection::WebMercator).forward((0.0, 86.0)), None);
    assert_eq!(Projector::new(Projection::AlbersUsa).forward((2.3, 48.9)), None);
}
