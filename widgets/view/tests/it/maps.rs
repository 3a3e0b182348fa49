//! Maps: what the picture has, where points are, and how large it is. Positions are those of d3-geo 3.1.2.

use onrush_map::regions;
use onrush_view::{bundle, save_plot};
use onrush_wire::display::Content;
use onrush_wire::map::{Choropleth, Projection, RegionValue, ShapeSet};
use onrush_wire::plot::{Axis, AxisScale, Facet, Layer, Mark, Plot, PlotStyle, Series, Theme};

const VEGA: &str = "application/vnd.vegalite.v5+json";

fn axis(label: &str) -> Axis {
    Axis { label: label.into(), scale: AxisScale::Number, categories: Vec::new() }
}

fn plot(layer: Layer, style: PlotStyle) -> Plot {
    Plot { layers: vec![layer], style, notes: vec![], facets: vec![], facet_label: String::new() }
}

fn points(points: &[(f64, f64)]) -> Layer {
    let (x, y) = points.iter().copied().unzip();
    let series = vec![Series { name: String::new(), x, y }];
    Layer::Xy { mark: Mark::Scatter, x: axis("lon"), y: axis("lat"), series }
}

fn on(projection: Projection) -> PlotStyle {
    PlotStyle { map: Some(projection), ..PlotStyle::default() }
}

/// A value for each region that has a shape.
fn choropleth(shapes: ShapeSet) -> Layer {
    let with_shape = regions(shapes).iter().filter(|region| region.has_shape());
    let regions = with_shape.enumerate().map(|(index, region)| RegionValue {
        code: region.short.clone(),
        name: region.name().to_string(),
        value: index as f64,
    });
    Layer::Choropleth(Choropleth {
        shapes,
        regions: regions.collect(),
        label: "region".into(),
        color_label: "mean(delay)".into(),
    })
}

fn svg(plot: &Plot) -> String {
    bundle(&Content::Plot(plot.clone()))["image/svg+xml"].as_str().unwrap().to_string()
}

/// The places of points, which are strokes without a length.
fn places(svg: &str) -> Vec<(f64, f64)> {
    let marks = svg.split_once("class=\"marks\"").unwrap().1.split_once("</g>").unwrap().0;
    let of_point = |part: &str| {
        let at = part.split_once("h0")?.0;
        let (x, y) = at.split_once(' ')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    let mut places: Vec<(f64, f64)> = marks.split('M').filter_map(of_point).collect();
    places.sort_by(|a, b| a.partial_cmp(b).unwrap());
    places
}

#[test]
fn points_are_where_d3_has_them_and_units_are_squares() {
    // d3-geo's positions of these points, at a scale of 961 / 2π around (480, 250): 0, 283.0513 and 506.6944 to the
    // right.
    let made = plot(points(&[(0.0, 0.0), (-73.7789, 40.6397), (10.0, 60.0)]), on(Projection::WebMercator));
    let found = places(&svg(&made));
    let expected = [(283.051_325, 131.074_846), (480.0, 250.0), (506.694_444, 48.574_1)];
    let scale = (found[1].0 - found[0].0) / (expected[1].0 - expected[0].0);
    for (index, (x, y)) in expected.iter().enumerate() {
        let (dx, dy) = ((x - expected[0].0) * scale, (y - expected[0].1) * scale);
        let (u, v) = (found[index].0 - found[0].0, found[index].1 - found[0].1);
        assert!((u - dx).abs() < 0.15 && (v - dy).abs() < 0.15, "{index}: {u} {v} for {dx} {dy}");
    }
}

#[test]
fn points_outside_of_the_map_are_counted_and_limits_are_degrees() {
    let layer = points(&[(-100.0, 40.0), (2.3, 48.9), (-200.0, 0.0), (-99.0, 41.0)]);
    let made = bundle(&Content::Plot(plot(layer, on(Projection::AlbersUsa))));
    let text = made["text/plain"].as_str().unwrap();
    assert!(text.contains("map = albers_usa"), "{text}");
    let svg_of = made["image/svg+xml"].as_str().unwrap();
    assert!(svg_of.contains("2 points with no position on the map left out"));
    assert!(!made.contains_key(VEGA) && made.contains_key("image/png"));

    // One degree is as wide as another is high: a square between limits that are a square.
    let limited =
        PlotStyle { x_limits: Some((0.0, 20.0)), y_limits: Some((40.0, 60.0)), ..on(Projection::Equirectangular) };
    let found = places(&svg(&plot(points(&[(5.0, 45.0), (15.0, 55.0)]), limited)));
    let (dx, dy) = (found[1].0 - found[0].0, found[0].1 - found[1].1);
    assert!((dx - dy).abs() < 0.15 && dx > 150.0, "{found:?}");
}

#[test]
fn regions_have_colours_names_and_a_colour_bar() {
    let made = bundle(&Content::Plot(plot(choropleth(ShapeSet::States), on(Projection::AlbersUsa))));
    let svg = made["image/svg+xml"].as_str().unwrap();
    // Territories are not on this map.
    let titles: Vec<&str> =
        svg.split("<title>").skip(2).filter_map(|part| part.split_once("</title>")).map(|p| p.0).collect();
    assert_eq!(titles.len(), 51, "{titles:?}");
    assert!(titles.iter().any(|title| title.starts_with("Texas: ")), "{titles:?}");
    assert!(svg.contains("class=\"color-bar\"") && svg.contains("mean(delay)") && svg.contains("US Census Bureau"));
    let text = made["text/plain"].as_str().unwrap();
    assert!(text.starts_with("choropleth: 56 states, colour = mean(delay), map = albers_usa\nhighest: "), "{text}");
    assert!(text.contains("\nlowest: Alabama 0, Alaska 1, Arizona 2"), "{text}");

    let made = bundle(&Content::Plot(plot(choropleth(ShapeSet::Countries), on(Projection::NaturalEarth))));
    let svg = made["image/svg+xml"].as_str().unwrap();
    assert!(svg.contains("<title>Germany: ") && svg.contains("Natural Earth"));
}

#[test]
fn pictures_of_the_world_are_small_and_themes_differ() {
    for (layer, projection) in [
        (points(&[(-150.0, -50.0), (170.0, 70.0)]), Projection::WebMercator),
        (points(&[(-150.0, -50.0), (170.0, 70.0)]), Projection::NaturalEarth),
        (choropleth(ShapeSet::Countries), Projection::NaturalEarth),
        (choropleth(ShapeSet::States), Projection::AlbersUsa),
    ] {
        let of = |theme| svg(&plot(layer.clone(), PlotStyle { theme, ..on(projection) }));
        let [light, dark, auto] = [Theme::Light, Theme::Dark, Theme::Auto].map(of);
        assert!(light != dark && dark != auto);
        assert!(auto.len() < 200_000, "{projection:?}: {}", auto.len());
    }
}

#[test]
fn panels_and_files_have_maps_too() {
    let panel =
        |name: &str| Facet { name: name.into(), layers: vec![choropleth(ShapeSet::States)], ..Facet::default() };
    let made = Plot {
        layers: vec![],
        style: on(Projection::AlbersUsa),
        notes: vec![],
        facets: vec![panel("one"), panel("two")],
        facet_label: "year".into(),
    };
    assert_eq!(svg(&made).matches("class=\"base-map\"").count(), 2);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("map.pdf");
    save_plot(&made, &file).unwrap();
    assert!(std::fs::read(&file).unwrap().starts_with(b"%PDF"));
}
