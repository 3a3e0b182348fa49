//! Dashboards: views of one frame that filter each other. A builder of requests; the session counts, the kernel process
//! draws and keeps the filters.

mod choice;
mod wanted;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use onrush_wire::control::Setting;
use onrush_wire::dashboard::{DashboardRequest, Filter, ViewKind, ViewRequest};
use onrush_wire::display::{Content, DashboardFile, DashboardRows, Picture};
use onrush_wire::host::FromHost;
use onrush_wire::plot::{LayerRequest, Mark, Shading, Theme};
use onrush_wire::visual::{VisualAsk, VisualHead, VisualSpec};
use onrush_wire::{Class, Diagnostic, Expr, Span};

pub use wanted::IntoWanted;

use crate::display::Show;
use crate::expr::IntoExprs;
use crate::frame::Frame;
use crate::plot::{self, one};
use crate::raise::{here, raise};
use crate::{process, session};

/// Most rows of a page that filters without a kernel. A larger frame is sampled.
const PAGE_ROWS: u64 = 500_000;

/// Views of one frame that filter each other: select in one, and all others show the rows that are left.
///
/// It is shown when it is the last expression of a cell. [`Dashboard::selection`] gives the selected rows in a later
/// cell. Methods that add a view come first, then the options of the last view, then those of the whole.
#[derive(Clone)]
pub struct Dashboard {
    frame: Frame,
    views: Vec<ViewRequest>,
    title: Option<String>,
    columns: Option<u32>,
    theme: Theme,
    id: String,
    /// Filters that a cell has set while no front end shows the dashboard.
    filters: Arc<Mutex<Vec<Filter>>>,
    at: Span,
}

/// Starts a dashboard over a frame: `dashboard(&flights).histogram("dep_delay").bar("origin")`. Nothing runs until it
/// is shown.
#[track_caller]
#[must_use = "a dashboard is shown at the end of a cell, by `show(&d)`, or by `.save(path)`"]
pub fn dashboard(frame: &Frame) -> Dashboard {
    Dashboard {
        frame: frame.clone(),
        views: Vec::new(),
        title: None,
        columns: None,
        theme: Theme::default(),
        id: process::new_id("dashboard"),
        filters: Arc::default(),
        at: here("dashboard"),
    }
}

impl Frame {
    /// A dashboard with views for the frame's columns: histograms of numbers and times, bars of categories, a raster of
    /// positions; at most eight.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn explore(&self) -> Dashboard {
        let at = here("explore");
        choice::views(dashboard(self), self, &at)
    }
}

impl Dashboard {
    fn view(mut self, kind: ViewKind, mark: Mark, x: Vec<Expr>, y: Vec<Expr>, at: Span) -> Self {
        let (x, y) = (one(x, "x", &at), one(y, "y", &at));
        let layer = LayerRequest { mark, x, y, ..LayerRequest::default() };
        self.views.push(ViewRequest {
            kind,
            layer,
            columns: Vec::new(),
            range: None,
            title: None,
            wide: false,
            tall: false,
        });
        self.at = at;
        self
    }

    /// The view that an option applies to, if it takes it.
    fn last(&mut self, option: &str, kinds: &[ViewKind], at: Span) -> &mut ViewRequest {
        let name = |kind: &ViewKind| match kind {
            ViewKind::Histogram => "histogram",
            ViewKind::Bar => "bar",
            ViewKind::HeatMap => "heatmap",
            ViewKind::Line => "line",
            ViewKind::Raster => "raster",
            ViewKind::Numbers => "number",
            ViewKind::Table => "table",
        };
        match self.views.last_mut() {
            Some(view) if kinds.is_empty() || kinds.contains(&view.kind) => view,
            Some(view) => {
                let names: Vec<String> = kinds.iter().map(|kind| format!("`{}`", name(kind))).collect();
                let message = format!("`{}` does not take `{option}`", name(&view.kind));
                raise(
                    Diagnostic::error(Class::Plan, "dashboard", message)
                        .at(at, "")
                        .help(format!("leave it out, or say it after {}", names.join(", "))),
                )
            }
            None => raise(
                Diagnostic::error(Class::Plan, "dashboard", format!("`{option}` has nothing to work on"))
                    .at(at, "")
                    .help("before it stands a view, such as `.histogram(\"fare\")`"),
            ),
        }
    }

    /// A histogram of numbers or times. Dragging over it selects bins.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn histogram(self, x: impl IntoExprs) -> Self {
        self.view(ViewKind::Histogram, Mark::Histogram, x.into_exprs(), Vec::new(), here("histogram"))
    }

    /// Bars of the most frequent values of a column, and of all others. A click selects a value, with Shift several.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn bar(self, x: impl IntoExprs) -> Self {
        self.view(ViewKind::Bar, Mark::Bar, x.into_exprs(), Vec::new(), here("bar"))
    }

    /// A heat map of two columns. Dragging over it selects a rectangle.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn heatmap(self, x: impl IntoExprs, y: impl IntoExprs) -> Self {
        self.view(ViewKind::HeatMap, Mark::HeatMap, x.into_exprs(), y.into_exprs(), here("heatmap"))
    }

    /// The mean of `y` in each bin of `x`, as a line; another aggregate with [`Dashboard::aggregate`].
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn line(self, x: impl IntoExprs, y: impl IntoExprs) -> Self {
        let mut made = self.view(ViewKind::Line, Mark::Line, x.into_exprs(), y.into_exprs(), here("line"));
        if let Some(view) = made.views.last_mut() {
            view.layer.aggregate = Some("mean".to_string());
        }
        made
    }

    /// All rows as points, as [`crate::Plot::raster`]. Dragging selects a box, with Alt a lasso.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn raster(self, x: impl IntoExprs, y: impl IntoExprs) -> Self {
        self.view(ViewKind::Raster, Mark::Raster, x.into_exprs(), y.into_exprs(), here("raster"))
    }

    /// Aggregates of the selected rows as cards: `.number(x!(flights = len(), "mean delay" = dep_delay.mean()))`.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn number(self, values: impl IntoExprs) -> Self {
        let mut made = self.view(ViewKind::Numbers, Mark::Bar, Vec::new(), Vec::new(), here("number"));
        if let Some(view) = made.views.last_mut() {
            view.columns = values.into_exprs();
        }
        made
    }

    /// The first of the selected rows: `.table(["carrier", "dep_delay"])`, or `.table(())` with all columns.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn table(self, columns: impl IntoExprs) -> Self {
        let mut made = self.view(ViewKind::Table, Mark::Bar, Vec::new(), Vec::new(), here("table"));
        if let Some(view) = made.views.last_mut() {
            view.columns = columns.into_exprs();
        }
        made
    }

    /// The range of the bins: `.histogram("fare").range(0.0, 60.0)`. Default: without the longest thousandth at either
    /// end.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn range(mut self, low: impl Into<f64>, high: impl Into<f64>) -> Self {
        let kinds = [ViewKind::Histogram, ViewKind::Line];
        self.last("range", &kinds, here("range")).range = Some((low.into(), high.into()));
        self
    }

    /// The number of bins, of bars, or of cells along a side.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn bins(mut self, bins: u32) -> Self {
        let kinds = [ViewKind::Histogram, ViewKind::Bar, ViewKind::Line, ViewKind::HeatMap];
        self.last("bins", &kinds, here("bins")).layer.bins = Some(bins.max(1));
        self
    }

    /// The length of the bins of times: `"1h"`, `"1d"`, `"1w"`, `"1mo"`.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn every(mut self, length: &str) -> Self {
        let kinds = [ViewKind::Histogram, ViewKind::Line];
        self.last("every", &kinds, here("every")).layer.every = Some(length.to_string());
        self
    }

    /// How the values of a line combine: `"mean"` (the default), `"sum"`, `"min"`, `"max"`, `"count"`.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn aggregate(mut self, function: &str) -> Self {
        let kinds = [ViewKind::Line, ViewKind::Raster];
        self.last("aggregate", &kinds, here("aggregate")).layer.aggregate = Some(function.to_string());
        self
    }

    fn measure(mut self, function: &str, value: Vec<Expr>, at: Span) -> Self {
        let value = one(value, function, &at);
        let view = self.last(function, &[ViewKind::Histogram, ViewKind::Bar, ViewKind::HeatMap], at);
        view.layer.aggregate = Some(function.to_string());
        match view.kind {
            ViewKind::HeatMap => view.layer.color = value,
            _ => view.layer.y = value,
        }
        self
    }

    /// Shows the sum of a column instead of the number of rows.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn sum(self, value: impl IntoExprs) -> Self {
        self.measure("sum", value.into_exprs(), here("sum"))
    }

    /// Shows the mean of a column instead of the number of rows.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn mean(self, value: impl IntoExprs) -> Self {
        self.measure("mean", value.into_exprs(), here("mean"))
    }

    /// Shows the least value of a column instead of the number of rows.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn min(self, value: impl IntoExprs) -> Self {
        self.measure("min", value.into_exprs(), here("min"))
    }

    /// Shows the greatest value of a column instead of the number of rows.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn max(self, value: impl IntoExprs) -> Self {
        self.measure("max", value.into_exprs(), here("max"))
    }

    /// The colour of a raster: a column, as [`crate::Plot::color`].
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn color(mut self, by: impl IntoExprs) -> Self {
        let at = here("color");
        let color = one(by.into_exprs(), "color", &at);
        self.last("color", &[ViewKind::Raster], at).layer.color = color;
        self
    }

    /// How the values of a raster become colours: `"eq_hist"`, `"linear"`, `"log"` or `"cbrt"`.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn how(mut self, name: &str) -> Self {
        let at = here("how");
        let how: Shading = plot::shading(name, at.clone());
        self.last("how", &[ViewKind::Raster], at).layer.how = Some(how);
        self
    }

    /// The name of the last view. Default: its column.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn name(mut self, text: impl Into<String>) -> Self {
        self.last("name", &[], here("name")).title = Some(text.into());
        self
    }

    /// Makes the last view as wide as the dashboard.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn wide(mut self) -> Self {
        self.last("wide", &[], here("wide")).wide = true;
        self
    }

    /// Makes the last view twice as high.
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn tall(mut self) -> Self {
        self.last("tall", &[], here("tall")).tall = true;
        self
    }

    /// Title above the dashboard.
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.title = Some(text.into());
        self
    }

    /// Views in a row, from 1 to 12. Default: three histograms or bars.
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn columns(mut self, count: u32) -> Self {
        self.columns = Some(count.clamp(1, 12));
        self
    }

    /// `"light"`, `"dark"` or `"auto"` (readable on both; the default).
    #[track_caller]
    #[must_use = "a dashboard is shown at the end of a cell, or by `show(&d)`"]
    pub fn theme(mut self, name: &str) -> Self {
        self.theme = plot::theme(name, here("theme"));
        self
    }
}

impl Dashboard {
    fn request(&self) -> DashboardRequest {
        DashboardRequest {
            frame: self.frame.id(),
            views: self.views.clone(),
            title: self.title.clone(),
            columns: self.columns,
            theme: self.theme,
        }
    }

    fn ask(&self, ask: VisualAsk, at: Span) -> (VisualHead, Vec<onrush_wire::visual::Section>, Vec<u8>) {
        session::visual(VisualSpec::Dashboard(Box::new(self.request())), ask, at)
    }

    /// The filters that a user or a cell has set.
    fn filters(&self) -> Vec<Filter> {
        match process::read_control(&self.id) {
            Some(Setting::Filters(filters)) => filters,
            _ => self.filters.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn keep(&self, filters: Vec<Filter>) {
        self.filters.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&filters);
        process::tell(&FromHost::Filter { id: self.id.clone(), filters });
    }

    #[inline(never)]
    fn condition(&self, at: Span) -> (Option<Expr>, String) {
        let filters = self.filters();
        if filters.is_empty() {
            return (None, String::new());
        }
        match self.ask(VisualAsk::Condition { filters }, at.clone()) {
            (VisualHead::Condition { condition, code }, ..) => (condition, code),
            _ => wrong_answer(at),
        }
    }

    /// The rows that pass all filters: those of the frame, in their order. Without a filter it is the frame.
    #[track_caller]
    pub fn selection(&self) -> Frame {
        let at = here("selection");
        match self.condition(at).0 {
            Some(condition) => self.frame.filter(crate::expr::Expr(condition)),
            None => self.frame.clone(),
        }
    }

    /// The selection as code: `f.filter(x!(fare >= 10.0 && fare < 20.0))`.
    #[track_caller]
    pub fn code(&self) -> String {
        match self.condition(here("code")) {
            (Some(_), code) => format!("f.filter(x!({code}))"),
            (None, _) => "f".to_string(),
        }
    }

    /// Selects in the view of a column: `d.set("hour", 7..=9)`, `d.set("carrier", ["AA", "UA"])`, `d.set("day",
    /// "2013-02-01"..)`. Exactly the rows with these values are selected, also if a range ends inside of a bin. A day
    /// in a list selects all of its times. Nulls and NaN are in no range.
    #[track_caller]
    pub fn set(&self, view: &str, wanted: impl IntoWanted) {
        let at = here("set");
        self.set_to(view, wanted.into_wanted(), at);
    }

    #[inline(never)]
    fn set_to(&self, view: &str, wanted: onrush_wire::dashboard::SlotQuery, at: Span) {
        let (view, kept) = match self.ask(VisualAsk::Slots { view: view.to_string(), wanted }, at.clone()) {
            (VisualHead::Slots { view, kept }, ..) => (view, kept),
            _ => wrong_answer(at),
        };
        let mut filters: Vec<Filter> = self.filters().into_iter().filter(|filter| filter.view != view).collect();
        filters.push(Filter { view, kept });
        filters.sort_by_key(|filter| filter.view);
        self.keep(filters);
    }

    /// Removes all filters.
    pub fn clear(&self) {
        self.keep(Vec::new());
    }

    /// Draws the dashboard into a file: `.svg` or `.png` as it is now, or `.html`: one page that filters without a
    /// kernel and without a network. A page has at most 500,000 rows, a sample if there are more, and says so. Returns
    /// the dashboard.
    #[track_caller]
    pub fn save(self, path: impl AsRef<Path>) -> Self {
        let at = here("save");
        let path = std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_path_buf());
        let is_page = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("html") || extension.eq_ignore_ascii_case("htm"));
        let filters = self.filters();
        let rows = is_page.then(|| {
            match self.ask(VisualAsk::Export { rows: PAGE_ROWS, filters: filters.clone() }, at.clone()) {
                (VisualHead::Export { rows, total }, sections, memory) => {
                    DashboardRows { rows, total, sections, memory }
                }
                _ => wrong_answer(at.clone()),
            }
        });
        let data = self.drawn(filters.clone(), at.clone());
        let file = DashboardFile { filters, rows };
        let picture = Picture::Dashboard(Box::new(self.request()), data, file);
        if let Err(diagnostic) = process::save_picture(picture, &path.display().to_string()) {
            session::raise_at(diagnostic, at);
        }
        self
    }

    #[inline(never)]
    fn drawn(&self, filters: Vec<Filter>, at: Span) -> Box<onrush_wire::dashboard::Dashboard> {
        match self.ask(VisualAsk::Dashboard { filters, moving: false }, at.clone()) {
            (VisualHead::Dashboard(data), ..) => data,
            _ => wrong_answer(at),
        }
    }

    fn shown(&self) -> Content {
        let filters = self.filters();
        let data = self.drawn(filters.clone(), self.at.clone());
        Content::Dashboard { id: self.id.clone(), request: Box::new(self.request()), filters, data }
    }
}

fn wrong_answer(at: Span) -> ! {
    session::raise_at(
        Diagnostic::error(Class::Internal, "reply", "the session gave another answer than a dashboard takes")
            .help("restart the kernel: the session is of another version"),
        at,
    )
}

impl Show for Dashboard {
    fn content(&self) -> Option<Content> {
        Some(self.shown())
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if crate::display::offer(self, || self.shown()) {
            return Ok(());
        }
        let views = self.views.len();
        write!(f, "Dashboard of {views} view{}", if views == 1 { "" } else { "s" })
    }
}
