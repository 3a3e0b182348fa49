//! Maps under rasters and scatter plots: the window of a raster in positions of the map, and the checks of degrees.

use onrush_expr::diagnostics::{place, plan_error};
use onrush_map::{Projector, degrees_window};
use onrush_wire::map::{Projection, ShapeSet};
use onrush_wire::plot::{Axis, AxisScale, Layer, LayerRequest, Plot, PlotStyle};
use onrush_wire::visual::Window;
use onrush_wire::{Diagnostic, Expr};

/// The space around the data, as a share of the window.
const MARGIN: f64 = 0.04;
/// The least extent of a window in radians, some 3 kilometres.
const LEAST: f64 = 5e-4;

/// The window of a raster around its positions, or the user's limits in degrees, so that its pixels are squares.
pub(super) fn window(
    around: Window,
    projection: Projection,
    style: &PlotStyle,
    (width, height): (u32, u32),
) -> Result<Window, Diagnostic> {
    let projector = Projector::new(projection);
    let (around, bounds) = (projector.shown(around), projector.bounds());
    let Some(limits) = degrees_window(projection, style.x_limits, style.y_limits) else {
        let message = "the map does not show the area between these limits";
        return Err(plan_error("plot", message)
            .help("`.x_limits(..)` are degrees of longitude, `.y_limits(..)` degrees of latitude"));
    };
    let side = |low: f64, high: f64| {
        let (middle, half) = ((low + high) / 2.0, ((high - low) / 2.0 * (1.0 + MARGIN)).max(LEAST / 2.0));
        (middle - half, middle + half)
    };
    let ((x0, x1), (y0, y1)) = (side(around.x0, around.x1), side(around.y0, around.y1));
    let (x0, x1) = if style.x_limits.is_some() { (limits.x0, limits.x1) } else { (x0, x1) };
    let (y0, y1) = if style.y_limits.is_some() { (limits.y0, limits.y1) } else { (y0, y1) };
    let window = Window { x0, y0, x1, y1 }.with_aspect(width, height);
    // A window that reaches beyond the map is moved, if the map is large enough.
    let inside = |(low, high): (f64, f64), (first, last): (f64, f64)| match high - low {
        span if span >= last - first => ((first + last - span) / 2.0, (first + last + span) / 2.0),
        span if low < first => (first, first + span),
        span if high > last => (last - span, last),
        _ => (low, high),
    };
    let (x0, x1) = inside((window.x0, window.x1), (bounds.x0, bounds.x1));
    let (y0, y1) = inside((window.y0, window.y1), (bounds.y0, bounds.y1));
    Ok(Window { x0, y0, x1, y1 })
}

/// The columns of a map are numbers.
pub(super) fn check_degrees(axes: [(&Axis, &Expr); 2]) -> Result<(), Diagnostic> {
    match axes.into_iter().find(|(axis, _)| axis.scale != AxisScale::Number) {
        None => Ok(()),
        Some((axis, expr)) => {
            let message =
                format!("a map needs degrees of longitude and latitude, and `{}` is not a number", axis.label);
            Err(place(plan_error("plot-type", message), expr.span.as_ref(), None, "not a number"))
        }
    }
}

/// As [`check_degrees`], of the layers of a scatter plot.
pub(super) fn check_layers(style: &PlotStyle, layer: &LayerRequest, made: &[Layer]) -> Result<(), Diagnostic> {
    let (Some(_), Some(x_expr), Some(y_expr)) = (style.map, &layer.x, &layer.y) else { return Ok(()) };
    match made.last() {
        Some(Layer::Xy { x, y, .. } | Layer::Points { x, y, .. }) => check_degrees([(x, x_expr), (y, y_expr)]),
        _ => Ok(()),
    }
}

pub(super) fn nothing_there((x, y): (&str, &str), at: Option<&Expr>) -> Diagnostic {
    let message = format!("no row has its position on the map: `{x}` is the longitude and `{y}` the latitude");
    let span = at.and_then(|expr| expr.span.as_ref());
    place(plan_error("plot-degrees", message), span, None, "")
        .help("longitudes go from -180 to 180 degrees, latitudes from -90 to 90; the longitude comes first")
}

/// A choropleth is a map in any case: of the United States in an equal-area projection, of countries in that of Natural
/// Earth.
pub(super) fn choose_projection(plot: &mut Plot) {
    let mut layers = plot.layers.iter().chain(plot.facets.iter().flat_map(|facet| &facet.layers));
    let shapes = layers.find_map(|layer| match layer {
        Layer::Choropleth(choropleth) => Some(choropleth.shapes),
        _ => None,
    });
    if let Some(shapes) = shapes {
        plot.style.map.get_or_insert(default_projection(shapes));
    }
}

pub(super) fn default_projection(shapes: ShapeSet) -> Projection {
    match shapes {
        ShapeSet::Countries => Projection::NaturalEarth,
        ShapeSet::States => Projection::AlbersUsa,
    }
}
