//! Plots from frames and from Rust values: a builder of plot requests. The session aggregates, the kernel process
//! draws.

mod annotations;
mod kinds;
mod map;
mod values;

pub use annotations::PlotValue;
pub(crate) use values::of_layer;
pub use values::{area, bar, box_plot, density, heatmap, hist, line, plot, scatter};

use std::fmt;

use onrush_wire::display::{Content, Picture};
use onrush_wire::plot::{
    Annotations, ColorMap, Facet, Layer, LayerRequest, Mark, PlotRequest, PlotStyle, Shading, Theme,
};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, Diagnostic, Expr, ExprKind, Span};

use crate::display::Show;
use crate::expr::IntoExprs;
use crate::frame::Frame;
use crate::raise::{here, raise};
use crate::{process, session};

/// A plot. It is shown when it is the last expression of a cell, and written to a file by [`Plot::save`].
///
/// Methods for data come first (`scatter`, `bar`, ...), then options of the last layer (`color`, `bins`, `aggregate`),
/// then the style.
#[derive(Clone)]
pub struct Plot {
    source: Source,
    style: PlotStyle,
    /// The column or expression of a panel for each value; `None` without panels.
    facet: Option<Expr>,
    at: Span,
    /// The values that [`hist`] counted, to count them again with other bins, and the number of bins that the user set.
    raw: Option<(Vec<f64>, Option<u32>)>,
    /// Notes of plots of Rust values on values that were left out or combined.
    notes: Vec<String>,
}

#[derive(Clone)]
enum Source {
    Frame {
        frame: Frame,
        layers: Vec<LayerRequest>,
    },
    Values(Vec<Layer>),
    /// Computed panels, and their notes.
    Panels(Vec<Facet>, Vec<String>),
}

/// A panel for each plot, with its name: `panels([("model", plot(xs, ys)), ("data", scatter(xs, measured))])`, of Rust
/// values, of frames, or of both. Each panel keeps its axis titles and its reference lines. Axes with the same name and
/// the same kind of values are shared; other axes are separate. Title, size and all other options can be set for the
/// whole: `panels(...).x_label("s").free_y()`.
#[track_caller]
pub fn panels<N: Into<String>>(plots: impl IntoIterator<Item = (N, Plot)>) -> Plot {
    let at = here("panels");
    let (mut facets, mut notes): (Vec<Facet>, Vec<String>) = (Vec::new(), Vec::new());
    let mut looks: Option<PlotStyle> = None;
    for (name, plot) in plots {
        let (name, drawn) = (name.into(), plot.drawn());
        if !drawn.facets.is_empty() {
            raise(
                Diagnostic::error(Class::Plan, "plot", "a panel cannot have panels inside of it")
                    .at(at, "")
                    .help("give `panels` plots without `facet`"),
            );
        }
        let PlotStyle { x_label, y_label, rules, annotations, .. } = drawn.style.clone();
        let own = of_all_panels(drawn.style);
        if let Some(option) = looks.as_ref().and_then(|first| difference(first, &own)) {
            let other = facets.first().map_or("", |facet| facet.name.as_str());
            raise(
                Diagnostic::error(
                    Class::Plan,
                    "plot",
                    format!("`{option}` is not the same in the panels `{other}` and `{name}`"),
                )
                .at(at, "")
                .help(format!("say `{option}` of each, or of the whole: after `panels(...)`")),
            );
        }
        looks.get_or_insert(own);
        notes.extend(drawn.notes.iter().map(|note| format!("{name}: {note}")));
        facets.push(Facet { name, layers: drawn.layers, x_label, y_label, rules, annotations });
    }
    Plot {
        source: Source::Panels(facets, notes),
        style: looks.unwrap_or_default(),
        facet: None,
        at,
        raw: None,
        notes: Vec::new(),
    }
}

/// The options that all panels must have in common. Other options are separate, or have no meaning in a panel.
fn of_all_panels(style: PlotStyle) -> PlotStyle {
    PlotStyle {
        title: None,
        x_label: None,
        y_label: None,
        width: None,
        height: None,
        png: false,
        alt: None,
        facet_columns: None,
        rules: Vec::new(),
        annotations: Annotations::default(),
        free_x: false,
        free_y: false,
        ..style
    }
}

/// The name of the style method in which two plots differ.
fn difference(a: &PlotStyle, b: &PlotStyle) -> Option<&'static str> {
    let all = [
        ("log_x", a.log_x != b.log_x),
        ("log_y", a.log_y != b.log_y),
        ("x_limits", a.x_limits != b.x_limits),
        ("y_limits", a.y_limits != b.y_limits),
        ("x_format", a.x_format != b.x_format),
        ("y_format", a.y_format != b.y_format),
        ("opacity", a.opacity != b.opacity),
        ("order", a.order != b.order),
        ("stacked", a.stacked != b.stacked),
        ("horizontal", a.is_horizontal != b.is_horizontal),
        ("legend", a.legend != b.legend),
        ("legend_title", a.legend_title != b.legend_title),
        ("color_map", a.color_map != b.color_map),
        ("projection", a.map != b.map),
        ("theme", a.theme != b.theme),
    ];
    all.into_iter().find(|look| look.1).map(|look| look.0)
}

impl Frame {
    /// Starts a plot of this frame: `f.plot().scatter("distance", "mph").color("carrier")`. Arguments are columns or
    /// expressions; the session computes the values.
    #[track_caller]
    pub fn plot(&self) -> Plot {
        Plot {
            source: Source::Frame { frame: self.clone(), layers: Vec::new() },
            style: PlotStyle::default(),
            facet: None,
            at: here("plot"),
            raw: None,
            notes: Vec::new(),
        }
    }
}

fn check_option(option: &str, mark: Mark, at: Span) {
    if mark.takes(option) {
        return;
    }
    let marks = Mark::ALL.iter().filter(|mark| mark.takes(option));
    let names: Vec<String> = marks.map(|mark| format!("`{}`", mark.info().method)).collect();
    let names = match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    };
    raise(
        Diagnostic::error(Class::Plan, "plot", format!("`{}` does not take `{option}`", mark.info().method))
            .at(at, "")
            .help(format!("leave it out, or say it after\n{names}")),
    )
}

/// Lists the methods of all marks with their columns, in lines that fit a terminal.
fn all_calls() -> String {
    const WIDTH: usize = 70;
    let calls = Mark::ALL.map(|mark| format!("`.{}({})`", mark.info().method, mark.info().columns.join(", ")));
    let (mut help, mut width) = ("add".to_string(), "add".len());
    for (index, call) in calls.iter().enumerate() {
        let before = if index + 1 == calls.len() { "or " } else { "" };
        let after = if index + 2 < calls.len() { "," } else { "" };
        let word = format!("{before}{call}{after}");
        let is_full = width + 1 + word.len() > WIDTH;
        help.push(if is_full { '\n' } else { ' ' });
        width = if is_full { word.len() } else { width + 1 + word.len() };
        help.push_str(&word);
    }
    help
}

/// The colour map of this name.
pub(crate) fn color_map(name: &str, at: Span) -> ColorMap {
    match name {
        "viridis" => ColorMap::Viridis,
        "cividis" => ColorMap::Cividis,
        "magma" => ColorMap::Magma,
        "greys" => ColorMap::Greys,
        "bluered" => ColorMap::BlueRed,
        other => raise(
            Diagnostic::error(Class::Plan, "color-map", format!("no colour map `{other}`"))
                .at(at, "")
                .help("they are \"viridis\", \"cividis\", \"magma\", \"greys\" and \"bluered\""),
        ),
    }
}

/// The shading of this name.
pub(crate) fn shading(name: &str, at: Span) -> Shading {
    match name {
        "linear" => Shading::Linear,
        "log" => Shading::Log,
        "cbrt" => Shading::Cbrt,
        "eq_hist" => Shading::EqHist,
        other => raise(
            Diagnostic::error(Class::Plan, "how", format!("no shading `{other}`"))
                .at(at, "")
                .help("they are \"eq_hist\", \"linear\", \"log\" and \"cbrt\""),
        ),
    }
}

/// The theme of this name.
pub(crate) fn theme(name: &str, at: Span) -> Theme {
    match name {
        "light" => Theme::Light,
        "dark" => Theme::Dark,
        "auto" => Theme::Auto,
        other => raise(
            Diagnostic::error(Class::Plan, "theme", format!("no theme `{other}`"))
                .at(at, "")
                .help("the themes are \"light\", \"dark\" and \"auto\""),
        ),
    }
}

/// The only one of a list of columns.
pub(crate) fn one(exprs: Vec<Expr>, what: &str, at: &Span) -> Option<Expr> {
    if exprs.len() > 1 {
        raise(
            Diagnostic::error(Class::Plan, "plot", format!("`{what}` takes one column, and there are {}", exprs.len()))
                .at(at.clone(), "")
                .help("draw a plot for each column, or make one column of them: `f.unpivot(...)`"),
        );
    }
    exprs.into_iter().next()
}

/// A call without values counts rows, because a bar for each row cannot be meant.
fn is_count(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { function, args } if function == "len" && args.is_empty())
}

impl Plot {
    #[inline(never)]
    fn layer_of(self, mark: Mark, x: Vec<Expr>, y: Vec<Expr>, at: Span) -> Self {
        let mut more_y = y;
        let mut y = if mark.info().has_several_y {
            (!more_y.is_empty()).then(|| more_y.remove(0))
        } else {
            one(std::mem::take(&mut more_y), "y", &at)
        };
        let count = more_y.is_empty() && y.as_ref().is_some_and(is_count);
        if count {
            y = None;
        }
        let layer = LayerRequest {
            mark,
            x: one(x, "x", &at),
            y,
            more_y,
            aggregate: count.then(|| "count".to_string()),
            ..LayerRequest::default()
        };
        self.with_layer(layer, at)
    }

    fn with_layer(mut self, layer: LayerRequest, at: Span) -> Self {
        match &mut self.source {
            Source::Frame { layers, .. } => layers.push(layer),
            Source::Values(_) | Source::Panels(..) => raise(
                Diagnostic::error(Class::Plan, "plot", "this plot is made from Rust values and has no columns")
                    .at(at.clone(), "")
                    .help("start from a frame: `f.plot()`"),
            ),
        }
        self.at = at;
        self
    }

    /// The layer that an option applies to.
    fn last(&mut self, option: &str, at: Span) -> &mut LayerRequest {
        let problem = match &mut self.source {
            Source::Frame { layers, .. } => match layers.last_mut() {
                Some(layer) => {
                    check_option(option, layer.mark, at);
                    return layer;
                }
                None => "before it stands what is drawn, such as `.bar(\"x\", \"y\")`",
            },
            Source::Values(_) => "the plot is made from Rust values: start from a frame, `f.plot()`",
            Source::Panels(..) => "it concerns the single plots: say it before `panels`",
        };
        raise(
            Diagnostic::error(Class::Plan, "plot", format!("`{option}` has nothing to work on"))
                .at(at, "")
                .help(problem),
        )
    }

    /// The colour of each series: one colour for each value of a string column, a colour scale for numbers. In a heat
    /// map, the value of the cells.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn color(mut self, by: impl IntoExprs) -> Self {
        let at = here("color");
        let color = one(by.into_exprs(), "color", &at);
        self.last("color", at).color = color;
        self
    }

    /// How rows of the same position combine: `"sum"`, `"mean"`, `"median"`, `"min"`, `"max"`, `"count"`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn aggregate(mut self, function: &str) -> Self {
        self.last("aggregate", here("aggregate")).aggregate = Some(function.to_string());
        self
    }

    /// Combines the rows of each time bucket by [`Plot::aggregate`] or their mean: `"15m"`, `"1h"`, `"1d"`, `"1w"`,
    /// `"1mo"`, `"1q"`, `"1y"`. Without it, `aggregate` chooses time buckets if there are more timestamps than can be
    /// drawn.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn every(mut self, length: &str) -> Self {
        self.last("every", here("every")).every = Some(length.to_string());
        self
    }

    /// Number of bins of a histogram or heat map. Default: from the data.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn bins(mut self, bins: u32) -> Self {
        let at = here("bins");
        if values::rebin(&mut self, bins) {
            return self;
        }
        self.last("bins", at).bins = Some(bins.max(1));
        self
    }

    /// The area of the points of a scatter plot: a column or expression of numbers.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn size_by(mut self, by: impl IntoExprs) -> Self {
        let at = here("size_by");
        let size = one(by.into_exprs(), "size_by", &at);
        self.last("size_by", at).size = size;
        self
    }

    /// The group of each row: a line of [`Plot::raster_lines`] connects the rows of one group, in their order, and
    /// [`Plot::ecdf`] draws a curve for each group.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn by(mut self, group: impl IntoExprs) -> Self {
        let at = here("by");
        let by = one(group.into_exprs(), "by", &at);
        self.last("by", at).by = by;
        self
    }

    /// How the values of a raster's pixels become colours: `"eq_hist"` (by rank; the default of counts), `"linear"`
    /// (the default of other aggregates), `"log"` or `"cbrt"`, as in datashader.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn how(mut self, name: &str) -> Self {
        let at = here("how");
        let how = shading(name, at.clone());
        self.last("how", at).how = Some(how);
        self
    }

    /// Widens each pixel of a raster by this many pixels, at most 16, so that single points can be seen. Default: up to
    /// 3, as long as fewer than half of the pixels have a neighbor.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn spread(mut self, pixels: u32) -> Self {
        self.last("spread", here("spread")).spread = Some(pixels.min(16));
        self
    }

    /// Standard deviation of the kernels of a density estimate, in units of its column. Default: Scott's rule.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn bandwidth(mut self, width: f64) -> Self {
        self.last("bandwidth", here("bandwidth")).bandwidth = Some(width);
        self
    }

    /// A panel for each value of a column, with the same axes: `f.plot().hist("delay").facet("origin")`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn facet(mut self, by: impl IntoExprs) -> Self {
        let at = here("facet");
        self.facet = one(by.into_exprs(), "facet", &at);
        self.last("facet", at);
        self
    }

    /// Colour scale of numbers: `"viridis"` (the default), `"cividis"`, `"magma"`, `"greys"` or `"bluered"`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn color_map(mut self, name: &str) -> Self {
        self.style.color_map = Some(color_map(name, here("color_map")));
        self
    }

    /// The name of a plot of Rust values in the legend: `plot(xs, ys).name("model")`.
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if let Source::Values(layers) = &mut self.source {
            layers.iter_mut().for_each(|layer| values::rename(layer, &name));
        }
        self
    }

    /// Draws another plot over this one. Both are made from Rust values, or both from the same frame.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn with(mut self, other: Plot) -> Self {
        match (&mut self.source, other.source) {
            (Source::Values(layers), Source::Values(more)) => {
                layers.extend(more);
                self.raw = None;
                self.notes.extend(other.notes);
            }
            (Source::Frame { frame, layers }, Source::Frame { frame: second, layers: more })
                if frame.id() == second.id() =>
            {
                layers.extend(more);
            }
            _ => raise(
                Diagnostic::error(Class::Plan, "plot", "these two plots have different data")
                    .at(here("with"), "")
                    .help("draw both from one frame, or both from Rust values"),
            ),
        }
        self
    }

    /// `"light"`, `"dark"` or `"auto"` (readable on both; the default).
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn theme(mut self, name: &str) -> Self {
        self.style.theme = theme(name, here("theme"));
        self
    }

    /// Draws the plot into a file: `.svg`, `.png` or `.pdf`. Returns the plot, so that it can still be shown.
    #[track_caller]
    pub fn save(self, path: impl AsRef<std::path::Path>) -> Self {
        let at = here("save");
        let path = std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_path_buf());
        if let Err(diagnostic) = process::save_picture(Picture::Plot(self.drawn()), &path.display().to_string()) {
            session::raise_at(diagnostic, at);
        }
        self
    }

    pub(crate) fn set_color_map(&mut self, map: ColorMap) {
        self.style.color_map = Some(map);
    }

    /// Adds a line below the plot of Rust values.
    pub(crate) fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn can_lie(&self) -> bool {
        let can_lie = |mark: Mark| mark.info().can_be_horizontal;
        let is_made = |layer: &Layer| can_lie(layer.mark());
        match &self.source {
            Source::Frame { layers, .. } => layers.iter().all(|layer| can_lie(layer.mark)),
            Source::Values(layers) => layers.iter().all(is_made),
            Source::Panels(facets, _) => facets.iter().flat_map(|facet| &facet.layers).all(is_made),
        }
    }

    /// Computes the panels: the session aggregates what is needed.
    #[inline(never)]
    fn drawn(&self) -> onrush_wire::plot::Plot {
        self.check_map();
        if self.style.is_horizontal && !self.can_lie() {
            raise(
                Diagnostic::error(
                    Class::Plan,
                    "plot",
                    "only bars, histograms, box plots, violins and strips can be horizontal",
                )
                .at(self.at.clone(), "")
                .help("leave `.horizontal()` out, or exchange x and y"),
            );
        }
        match &self.source {
            Source::Panels(facets, notes) => onrush_wire::plot::Plot {
                layers: Vec::new(),
                style: self.style.clone(),
                notes: notes.clone(),
                facets: facets.clone(),
                facet_label: String::new(),
            },
            Source::Values(layers) => {
                let style = self.style.clone();
                let mut plot = onrush_wire::plot::Plot {
                    layers: layers.clone(),
                    notes: self.notes.clone(),
                    facets: Vec::new(),
                    facet_label: String::new(),
                    style,
                };
                if if plot.style.is_horizontal { plot.style.log_y } else { plot.style.log_x } {
                    values::with_log_bins(&mut plot, self.raw.as_ref());
                }
                plot
            }
            Source::Frame { layers, .. } if layers.is_empty() => raise(
                Diagnostic::error(Class::Plan, "plot", "this plot does not say what is drawn")
                    .at(self.at.clone(), "")
                    .help(all_calls()),
            ),
            Source::Frame { frame, layers } => {
                let request = PlotRequest {
                    frame: frame.id(),
                    layers: layers.clone(),
                    style: self.style.clone(),
                    facet: self.facet.clone(),
                };
                match session::expect(&Request::Plot(request), self.at.clone()) {
                    Reply::Plot(plot) => plot,
                    other => session::unexpected(&other, self.at.clone()),
                }
            }
        }
    }
}

macro_rules! looks {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $type:ty),*) |$style:ident| $set:expr;)*) => {
        impl Plot {$(
            $(#[$doc])*
            #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
            pub fn $name(mut self $(, $value: $type)*) -> Self {
                let $style = &mut self.style;
                $set;
                self
            }
        )*}
    };
}
looks! {
    /// Maximum number of panels in a row.
    columns(count: u32) |style| style.facet_columns = Some(count);
    /// Scales the horizontal axis of each panel to its values.
    free_x() |style| style.free_x = true;
    /// Scales the vertical axis of each panel to its values.
    free_y() |style| style.free_y = true;
    /// Draws bars, bins and boxes horizontally, with room for long names: categories on the left side. Labels, formats
    /// and reference lines apply to the axis as it is drawn.
    horizontal() |style| style.is_horizontal = true;
    /// Number format (d3-format: `",.1f"`, `".0%"`, `"~s"`) or time format (`"%b %Y"`) of the horizontal axis.
    x_format(format: impl Into<String>) |style| style.x_format = Some(format.into());
    /// Number format of the vertical axis, as [`Plot::x_format`].
    y_format(format: impl Into<String>) |style| style.y_format = Some(format.into());
    /// Alternative text for screen readers. Default: a description of the data.
    alt(text: impl Into<String>) |style| style.alt = Some(text.into());
    /// Opacity of points, bars, bins and areas, from 0 to 1. Default: from their number.
    opacity(share: f64) |style| style.opacity = Some(share.clamp(0.0, 1.0));
    /// Title above the plot.
    title(text: impl Into<String>) |style| style.title = Some(text.into());
    /// Title of the horizontal axis. Default: the column's name.
    x_label(text: impl Into<String>) |style| style.x_label = Some(text.into());
    /// Title of the vertical axis. Default: the column's name.
    y_label(text: impl Into<String>) |style| style.y_label = Some(text.into());
    /// Whether there is a legend. Default: if there is more than one series.
    legend(shown: bool) |style| style.legend = Some(shown);
    /// Title of the legend. Default: the column's name.
    legend_title(text: impl Into<String>) |style| style.legend_title = Some(text.into());
    /// Width and height in pixels.
    size(width: u32, height: u32) |style| (style.width, style.height) = (Some(width), Some(height));
    /// Limits of the horizontal axis: `.x_limits(0.0, 100.0)`. Values outside are not drawn.
    x_limits(low: impl Into<f64>, high: impl Into<f64>) |style| style.x_limits = Some((low.into(), high.into()));
    /// Limits of the vertical axis, as [`Plot::x_limits`].
    y_limits(low: impl Into<f64>, high: impl Into<f64>) |style| style.y_limits = Some((low.into(), high.into()));
    /// A logarithmic horizontal axis.
    log_x() |style| style.log_x = true;
    /// A logarithmic vertical axis.
    log_y() |style| style.log_y = true;
    /// Stacks bars and areas: each series stands on the sum of those before it.
    stacked() |style| style.stacked = true;
    /// Also puts a PNG into the notebook, for viewers that show no SVG.
    png() |style| style.png = true;
}

macro_rules! marks {
    ($($(#[$doc:meta])* $name:ident $mark:ident),*) => {
        impl Plot {$(
            $(#[$doc])*
            #[track_caller]
            #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
            pub fn $name(self, x: impl IntoExprs, y: impl IntoExprs) -> Self {
                self.layer_of(Mark::$mark, x.into_exprs(), y.into_exprs(), here(stringify!($name)))
            }
        )*}
    };
}
marks! {
    /// A bar for each value of `x`, as high as `y`; with several rows for a value, see [`Plot::aggregate`].
    /// `f.plot().bar("origin", len())` counts.
    bar Bar,
    /// A line through the points, in the order of `x`; a list of columns for `y` gives a line for each.
    line Line,
    /// A point for each row.
    scatter Scatter,
    /// A filled line.
    area Area,
    /// Quartiles, whiskers and outliers of `y` for each value of `x`.
    box_plot Box,
    /// A density estimate of `y` for each value of `x` (Scott's bandwidth), with quartiles and median inside.
    violin Violin,
    /// A point for each row at the category of `x`, with jitter. Many rows are drawn as a sample, and a note says so.
    strip Strip,
    /// Rows counted in hexagons; [`Plot::bins`] sets their number along x.
    hexbin Hexbin,
    /// A coloured cell for each pair of values of `x` and `y`: number of rows, or [`Plot::color`] with
    /// [`Plot::aggregate`].
    heatmap HeatMap,
    /// All rows as a picture, however many there are: pixels are coloured by the number of rows, or by [`Plot::color`]:
    /// the mean of a numeric column ([`Plot::aggregate`] chooses another one), or a mix of the colours of a string
    /// column's values. `f.plot().raster("lon", "lat")`; see [`Plot::how`] and [`Plot::spread`].
    raster Raster,
    /// Lines through all rows of each group of [`Plot::by`], in the order of the rows, coloured by the number of lines
    /// at a pixel.
    raster_lines RasterLines,
    /// A map whose regions are coloured: `f.plot().choropleth("state", x!(delay.mean()))`. `x` names countries (ISO
    /// 3166 codes, English names) or US states (FIPS, postal codes, names), and `y` is an aggregate of the rows of each
    /// region, or a column whose mean is taken. See [`Plot::shapes`] and [`Plot::projection`].
    choropleth Choropleth
}

impl Plot {
    /// A histogram: number of values of `x` in each bin.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn hist(self, x: impl IntoExprs) -> Self {
        self.layer_of(Mark::Histogram, x.into_exprs(), Vec::new(), here("hist"))
    }

    /// A smooth histogram whose area is 1 (a kernel density estimate).
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn density(self, x: impl IntoExprs) -> Self {
        self.layer_of(Mark::Density, x.into_exprs(), Vec::new(), here("density"))
    }

    /// Pearson's correlation of each pair of the frame's numeric columns, over the rows where both have a value.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn correlation(self) -> Self {
        self.layer_of(Mark::Correlation, Vec::new(), Vec::new(), here("correlation"))
    }
}

impl Plot {
    /// A plot of one raster is live: the session draws it again for other windows.
    fn shown(&self) -> Content {
        let plot = self.drawn();
        match &self.source {
            Source::Frame { frame, layers } if self.facet.is_none() => match layers.as_slice() {
                [layer] if layer.mark.info().is_raster => {
                    let (layers, style) = (layers.clone(), self.style.clone());
                    let request = Box::new(PlotRequest { frame: frame.id(), layers, style, facet: None });
                    Content::Raster { id: process::new_id("raster"), request, plot }
                }
                _ => Content::Plot(plot),
            },
            _ => Content::Plot(plot),
        }
    }
}

impl Show for Plot {
    fn content(&self) -> Option<Content> {
        Some(self.shown())
    }
}

impl fmt::Debug for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if crate::display::offer(self, || self.shown()) {
            return Ok(());
        }
        let layers = match &self.source {
            Source::Frame { layers, .. } => layers.len(),
            Source::Values(layers) => layers.len(),
            Source::Panels(facets, _) => facets.iter().map(|facet| facet.layers.len()).sum(),
        };
        write!(f, "Plot of {layers} layer{}", if layers == 1 { "" } else { "s" })
    }
}
