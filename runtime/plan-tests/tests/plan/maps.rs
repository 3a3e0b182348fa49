//! Maps: rasters in projected positions, the checks of degrees, and the values of regions. Positions are those of
//! d3-geo 3.1.2 (`kernel/map/data/points.csv`), the rest is by hand.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use onrush_explore::Rasters;
use onrush_frame::TaskHandle;
use onrush_wire::map::{Choropleth, Projection, ShapeSet};
use onrush_wire::plot::{Layer, LayerRequest, Mark, Pixels, Plot, PlotRequest, PlotStyle};
use onrush_wire::visual::{VisualAsk, VisualHead, Window};
use onrush_wire::{Diagnostic, Expr, FrameId};

use super::support::TestEngine;

fn plot(bench: &TestEngine, frame: FrameId, layer: LayerRequest, style: PlotStyle) -> Result<Plot, Diagnostic> {
    let request = PlotRequest { frame, layers: vec![layer], style, facet: None };
    onrush_explore::plot(&bench.engine, &request, &TaskHandle::new())
}

fn layer(mark: Mark, x: &str, y: &str) -> LayerRequest {
    LayerRequest { mark, x: Some(Expr::column(x)), y: Some(Expr::column(y)), ..LayerRequest::default() }
}

fn on(projection: Projection, width: u32, height: u32) -> PlotStyle {
    PlotStyle { map: Some(projection), width: Some(width), height: Some(height), ..PlotStyle::default() }
}

/// John F. Kennedy Airport, Honolulu, Paris, and what is not a place: a latitude of 95, and a null.
fn places(bench: &TestEngine) -> FrameId {
    let lon: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(-73.7789), Some(-157.9225), Some(2.35), Some(10.0), None]));
    let lat: ArrayRef = Arc::new(Float64Array::from(vec![40.6397, 21.3187, 48.86, 95.0, 1.0]));
    let name: ArrayRef = Arc::new(StringArray::from(vec!["jfk", "hnl", "cdg", "a", "b"]));
    bench.frame(vec![("lon", lon), ("lat", lat), ("name", name)])
}

#[test]
fn a_raster_counts_projected_positions() {
    let bench = TestEngine::default();
    let frame = places(&bench);
    let made = plot(&bench, frame, layer(Mark::Raster, "lon", "lat"), on(Projection::WebMercator, 60, 36)).unwrap();
    let [Layer::Raster(raster)] = made.layers.as_slice() else { panic!("no raster") };
    assert_eq!(made.notes, ["2 rows with no position on the map left out", "3 rows"]);
    // Squares, with a margin around the three points: x from -2.7563 to 0.0410, in radians.
    let Window { x0, y0, x1, y1 } = raster.window;
    assert!(((x1 - x0) / 60.0 - (y1 - y0) / 36.0).abs() < 1e-12, "{:?}", raster.window);
    assert!((x0 + x1 - (0.041_015 - 2.756_268)).abs() < 1e-4 && (x1 - x0 - 2.797_28 * 1.04).abs() < 1e-3, "{x0} {x1}");
    let Pixels::Counts(counts) = &raster.pixels else { panic!("no counts") };
    // d3-geo: x 283.0513, y 131.0748 at a scale of 152.9479 around (480, 250).
    let (x, y) = ((283.051_325 - 480.0) / 152.947_902, (250.0 - 131.074_846) / 152.947_902);
    let (column, row) = ((x - x0) / (x1 - x0) * 60.0, (y1 - y) / (y1 - y0) * 36.0);
    assert_eq!(counts[row as usize * 60 + column as usize], 1);
    assert_eq!(counts.iter().sum::<u32>(), 3);

    // Paris is not in the United States.
    let made = plot(&bench, frame, layer(Mark::Raster, "lon", "lat"), on(Projection::AlbersUsa, 60, 36)).unwrap();
    assert_eq!(made.notes, ["3 rows with no position on the map left out", "2 rows"]);
}

#[test]
fn limits_are_degrees_and_other_windows_have_squares_too() {
    let bench = TestEngine::default();
    let frame = places(&bench);
    let limited = PlotStyle {
        x_limits: Some((-80.0, -70.0)),
        y_limits: Some((38.0, 43.0)),
        ..on(Projection::Equirectangular, 40, 20)
    };
    let request =
        PlotRequest { frame, layers: vec![layer(Mark::Raster, "lon", "lat")], style: limited.clone(), facet: None };
    let made = onrush_explore::plot(&bench.engine, &request, &TaskHandle::new()).unwrap();
    let [Layer::Raster(raster)] = made.layers.as_slice() else { panic!("no raster") };
    let Window { x0, y0, x1, y1 } = raster.window;
    let degrees = [x0, y0, x1, y1].map(|side| (side.to_degrees() * 1e6).round() / 1e6);
    assert_eq!((degrees, raster.rows), ([-80.0, 38.0, -70.0, 43.0], 1));

    let window = Window { x0: -3.0, y0: 0.0, x1: 1.0, y1: 1.0 };
    let ask = VisualAsk::Raster { window, width: 40, height: 20 };
    let answer = Rasters::default().answer(&bench.engine, &request, &ask, &TaskHandle::new()).unwrap();
    let VisualHead::Plot(plot) = answer else { panic!("no plot") };
    let [Layer::Raster(raster)] = plot.layers.as_slice() else { panic!("no raster") };
    assert_eq!(raster.window, Window { x0: -3.0, y0: -0.5, x1: 1.0, y1: 1.5 });
    assert_eq!((raster.rows, plot.style.map), (3, Some(Projection::Equirectangular)));
}

#[test]
fn columns_that_are_no_degrees_are_refused() {
    let bench = TestEngine::default();
    let frame = places(&bench);
    let error = |mark, x, y| plot(&bench, frame, layer(mark, x, y), on(Projection::WebMercator, 60, 36)).unwrap_err();
    assert!(error(Mark::Scatter, "name", "lat").message.contains("`name` is not a number"));
    let metres: ArrayRef = Arc::new(Int64Array::from(vec![500_000, 501_000]));
    let frame = bench.frame(vec![("x", Arc::clone(&metres)), ("y", metres)]);
    let wrong = plot(&bench, frame, layer(Mark::Raster, "x", "y"), on(Projection::WebMercator, 60, 36)).unwrap_err();
    assert!(wrong.message.contains("`x` is the longitude and `y` the latitude"), "{wrong:?}");
    assert!(wrong.help.iter().any(|help| help.contains("-90 to 90")), "{wrong:?}");
}

/// Six rows of four states, a value that is not a state, and one without a state.
fn delays(bench: &TestEngine) -> FrameId {
    let state = vec![Some("TX"), Some("TX"), Some("NY"), Some("Ohio"), Some("XX"), None, Some("PR")];
    let state: ArrayRef = Arc::new(StringArray::from(state));
    let delay: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 4.0, 7.0, -1.0, 9.0, 9.0, 9.0]));
    let fips: ArrayRef = Arc::new(Int64Array::from(vec![48, 48, 36, 39, 99, 1, 72]));
    let land = vec!["DEU", "DEU", "FRA", "ITA", "ESP", "Atlantis", "TUV"];
    let land: ArrayRef = Arc::new(StringArray::from(land));
    bench.frame(vec![("state", state), ("delay", delay), ("fips", fips), ("land", land)])
}

fn choropleth(plot: &Plot) -> &Choropleth {
    match plot.layers.as_slice() {
        [Layer::Choropleth(choropleth)] => choropleth,
        other => panic!("no choropleth: {other:?}"),
    }
}

fn values(plot: &Plot) -> Vec<(&str, f64)> {
    let mut values: Vec<_> =
        choropleth(plot).regions.iter().map(|region| (region.code.as_str(), region.value)).collect();
    values.sort_by(|a, b| a.0.cmp(b.0));
    values
}

#[test]
fn rows_are_grouped_by_the_region_that_they_name() {
    let bench = TestEngine::default();
    let frame = delays(&bench);
    let mean = LayerRequest {
        y: Some(Expr::call("max", [Expr::column("delay")])),
        ..layer(Mark::Choropleth, "state", "delay")
    };
    let made = plot(&bench, frame, mean, PlotStyle::default()).unwrap();
    assert_eq!(values(&made), [("NY", 7.0), ("OH", -1.0), ("TX", 4.0)]);
    assert_eq!((choropleth(&made).shapes, made.style.map), (ShapeSet::States, Some(Projection::AlbersUsa)));
    assert_eq!(choropleth(&made).color_label, "max(delay)");
    let notes = ["1 row with no region left out", "1 value is not known: 'XX'", "1 region is not on the map: 'PR'"];
    assert_eq!(made.notes, notes);

    // A column is averaged, numbers are codes, and `len()` counts rows.
    let made = plot(&bench, frame, layer(Mark::Choropleth, "fips", "delay"), PlotStyle::default()).unwrap();
    assert_eq!(values(&made), [("AL", 9.0), ("NY", 7.0), ("OH", -1.0), ("TX", 2.5)]);
    assert_eq!(choropleth(&made).color_label, "mean(delay)");
    let count = LayerRequest { y: None, aggregate: Some("count".into()), ..layer(Mark::Choropleth, "land", "delay") };
    let made = plot(&bench, frame, count, PlotStyle::default()).unwrap();
    assert_eq!(values(&made), [("DE", 2.0), ("ES", 1.0), ("FR", 1.0), ("IT", 1.0)]);
    assert_eq!(made.style.map, Some(Projection::NaturalEarth));
    assert_eq!(made.notes, ["1 value is not known: 'Atlantis'", "1 region is not on the map: 'TUV'"]);
}

#[test]
fn codes_of_two_sets_are_states_unless_it_is_said() {
    let bench = TestEngine::default();
    let code: ArrayRef = Arc::new(StringArray::from(vec!["CA", "DE"]));
    let value: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let frame = bench.frame(vec![("code", code), ("value", value)]);
    let made = plot(&bench, frame, layer(Mark::Choropleth, "code", "value"), PlotStyle::default()).unwrap();
    assert_eq!(choropleth(&made).shapes, ShapeSet::States);
    // One row for each region: the value is not a mean.
    assert_eq!(choropleth(&made).color_label, "value");
    assert_eq!(made.notes, ["code read as US states; `.shapes(\"countries\")` reads it as countries"]);
    let said = LayerRequest { shapes: Some(ShapeSet::Countries), ..layer(Mark::Choropleth, "code", "value") };
    let made = plot(&bench, frame, said, PlotStyle::default()).unwrap();
    let names: Vec<&str> = choropleth(&made).regions.iter().map(|region| region.name.as_str()).collect();
    assert_eq!(names, ["Canada", "Germany"]);
    assert!(made.notes.is_empty());
    let error = plot(&bench, frame, layer(Mark::Choropleth, "value", "value"), PlotStyle::default()).unwrap();
    assert_eq!(choropleth(&error).shapes, ShapeSet::States);
    let names: ArrayRef = Arc::new(StringArray::from(vec!["red", "blue"]));
    let frame = bench.frame(vec![("colour", names.clone()), ("n", names)]);
    let error = plot(&bench, frame, layer(Mark::Choropleth, "colour", "n"), PlotStyle::default()).unwrap_err();
    assert!(error.message.contains("mean") || error.message.contains("`colour` names no country"), "{error:?}");
}
