//! Plots of steps, distributions, intervals, fits, pairs, prices and scores of a frame.

use onrush_wire::plot::marks::StepPosition;
use onrush_wire::plot::{ErrorBar, LayerRequest, Mark};
use onrush_wire::{Class, Diagnostic, Expr, Span};

use super::{Plot, one};
use crate::expr::IntoExprs;
use crate::raise::{here, raise};

impl Plot {
    /// A line of horizontal and vertical pieces through the points, in the order of `x`. [`Plot::step_where`] sets the
    /// place of the steps. A list of columns for `y` gives a line for each.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn step(self, x: impl IntoExprs, y: impl IntoExprs) -> Self {
        self.layer_of(Mark::Step(StepPosition::default()), x.into_exprs(), y.into_exprs(), here("step"))
    }

    /// The place of the steps of [`Plot::step`], as `where` in matplotlib: `"pre"` (a value holds to the left of its
    /// point; the default), `"post"` (to the right) or `"mid"` (half-way to both neighbours).
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn step_where(mut self, place: &str) -> Self {
        let at = here("step_where");
        let position = match place {
            "pre" => StepPosition::Pre,
            "post" => StepPosition::Post,
            "mid" => StepPosition::Mid,
            other => raise(
                Diagnostic::error(Class::Plan, "step", format!("no place of steps `{other}`"))
                    .at(at, "")
                    .help("they are \"pre\", \"post\" and \"mid\""),
            ),
        };
        self.last("step_where", at).mark = Mark::Step(position);
        self
    }

    /// The empirical cumulative distribution function of `x`: the share of values at or below each value. `.by(column)`
    /// or `.color(column)` draws a curve for each group.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn ecdf(self, x: impl IntoExprs) -> Self {
        self.layer_of(Mark::Ecdf, x.into_exprs(), Vec::new(), here("ecdf"))
    }

    /// The mean of `y` at each value of `x` with an error bar, the 95 % confidence interval of the mean
    /// (see [`Plot::error`]). `.color(column)` draws groups next to each other.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn point_plot(self, x: impl IntoExprs, y: impl IntoExprs) -> Self {
        self.layer_of(Mark::PointPlot, x.into_exprs(), y.into_exprs(), here("point_plot"))
    }

    /// Length of the error bars of [`Plot::point_plot`]: `"ci"` (95 % confidence interval of the mean by Student's t),
    /// `"sd"` (a standard deviation) or `"se"` (a standard error).
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn error(mut self, name: &str) -> Self {
        let at = here("error");
        let error = match name {
            "ci" => ErrorBar::Confidence,
            "sd" => ErrorBar::Deviation,
            "se" => ErrorBar::StandardError,
            other => raise(
                Diagnostic::error(Class::Plan, "error", format!("no error bar `{other}`"))
                    .at(at, "")
                    .help("they are \"ci\", \"sd\" and \"se\""),
            ),
        };
        self.last("error", at).error = Some(error);
        self
    }

    /// Error bars from `low` to `high` at each `x`: `f.plot().scatter("x", "mean").error_bars("x", "low", "high")`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn error_bars(self, x: impl IntoExprs, low: impl IntoExprs, high: impl IntoExprs) -> Self {
        let at = here("error_bars");
        self.columns_of(Mark::ErrorBars, x.into_exprs(), vec![low.into_exprs(), high.into_exprs()], at)
    }

    /// An area from `low` to `high` in the order of `x`: `f.plot().line("x", "mean").band("x", "low", "high")`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn band(self, x: impl IntoExprs, low: impl IntoExprs, high: impl IntoExprs) -> Self {
        let at = here("band");
        self.columns_of(Mark::Band, x.into_exprs(), vec![low.into_exprs(), high.into_exprs()], at)
    }

    /// A regression line by ordinary least squares with the 95 % confidence band of the mean, over the points or alone:
    /// `f.plot().scatter("x", "y").regression("x", "y")`. `.color(column)` draws a line for each group.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn regression(self, x: impl IntoExprs, y: impl IntoExprs) -> Self {
        self.layer_of(Mark::Regression, x.into_exprs(), y.into_exprs(), here("regression"))
    }

    /// A scatter plot for each pair of columns, with histograms on the diagonal: `f.plot().pair(["a", "b", "c"])`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn pair(self, columns: impl IntoExprs) -> Self {
        let at = here("pair");
        let layer = LayerRequest { mark: Mark::Pair, more_y: columns.into_exprs(), ..LayerRequest::default() };
        self.with_layer(layer, at)
    }

    /// A candle for each period: `f.plot().candlestick("date", "open", "high", "low", "close")`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn candlestick(
        self,
        x: impl IntoExprs,
        open: impl IntoExprs,
        high: impl IntoExprs,
        low: impl IntoExprs,
        close: impl IntoExprs,
    ) -> Self {
        let at = here("candlestick");
        let prices = vec![open.into_exprs(), high.into_exprs(), low.into_exprs(), close.into_exprs()];
        self.columns_of(Mark::Candlestick, x.into_exprs(), prices, at)
    }

    /// The ROC curve of scores for a truth of true and false, or 1 and 0, with its area in the legend. A list of scores
    /// gives a curve for each.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn roc(self, truth: impl IntoExprs, score: impl IntoExprs) -> Self {
        self.layer_of(Mark::Roc, truth.into_exprs(), score.into_exprs(), here("roc"))
    }

    /// The precision-recall curve of scores, with its average precision in the legend, as [`Plot::roc`].
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn precision_recall(self, truth: impl IntoExprs, score: impl IntoExprs) -> Self {
        self.layer_of(Mark::PrecisionRecall, truth.into_exprs(), score.into_exprs(), here("precision_recall"))
    }

    /// Number of rows of each pair of true and predicted class.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn confusion_matrix(self, truth: impl IntoExprs, predicted: impl IntoExprs) -> Self {
        self.layer_of(Mark::ConfusionMatrix, truth.into_exprs(), predicted.into_exprs(), here("confusion_matrix"))
    }

    /// A layer with several columns, each with a meaning.
    fn columns_of(self, mark: Mark, x: Vec<Expr>, columns: Vec<Vec<Expr>>, at: Span) -> Self {
        let mut columns: Vec<Option<Expr>> = columns.into_iter().map(|column| one(column, "y", &at)).collect();
        let y = columns.remove(0);
        let more_y = columns.into_iter().flatten().collect();
        self.with_layer(LayerRequest { mark, x: one(x, "x", &at), y, more_y, ..LayerRequest::default() }, at)
    }
}
