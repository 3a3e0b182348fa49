//! Annotations of plots: reference lines, shaded spans and text.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone};
use onrush_wire::plot::{PlotPosition, PlotText, Rule, ShadedSpan};
use onrush_wire::{Class, Diagnostic, Span};

use super::Plot;
use crate::raise::{here, raise};

/// A position on an axis of a plot: a number, a date or timestamp (or a string such as `"2013-07-04"`), or a category.
pub trait PlotValue {
    /// The position as it is sent.
    fn position(self) -> PlotPosition;
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl PlotValue for $kind {
            fn position(self) -> PlotPosition {
                PlotPosition::Number(self as f64)
            }
        }
    )*};
}
numbers!(f64, f32, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl PlotValue for &str {
    fn position(self) -> PlotPosition {
        PlotPosition::Name(self.to_string())
    }
}

impl PlotValue for String {
    fn position(self) -> PlotPosition {
        PlotPosition::Name(self)
    }
}

impl PlotValue for NaiveDateTime {
    fn position(self) -> PlotPosition {
        PlotPosition::Number(self.and_utc().timestamp_micros() as f64 / 1e6)
    }
}

impl PlotValue for NaiveDate {
    fn position(self) -> PlotPosition {
        self.and_time(chrono::NaiveTime::MIN).position()
    }
}

/// At the time that a clock in its zone shows.
impl<Z: TimeZone> PlotValue for DateTime<Z> {
    fn position(self) -> PlotPosition {
        self.naive_local().position()
    }
}

/// A number or a time; names of categories have no place between others.
fn number(value: impl PlotValue, what: &str, at: &Span) -> f64 {
    let name = match value.position() {
        PlotPosition::Number(number) => return number,
        PlotPosition::Name(name) => name,
    };
    let text = name.trim().replace('T', " ");
    let formats = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];
    let time = formats.iter().find_map(|format| NaiveDateTime::parse_from_str(&text, format).ok());
    let time =
        time.or_else(|| Some(NaiveDate::parse_from_str(&text, "%Y-%m-%d").ok()?.and_time(chrono::NaiveTime::MIN)));
    match time.map(PlotValue::position) {
        Some(PlotPosition::Number(seconds)) => seconds,
        _ => raise(
            Diagnostic::error(
                Class::Plan,
                "plot",
                format!("`{what}` takes a number or a date, and \"{name}\" is neither"),
            )
            .at(at.clone(), "")
            .help("write a date as \"2013-07-04\" or \"2013-07-04 12:30\""),
        ),
    }
}

impl Plot {
    /// A dashed reference line across the plot at a value of the vertical axis.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn hline(mut self, at: impl PlotValue, label: impl Into<String>) -> Self {
        let at = number(at, "hline", &here("hline"));
        self.style.rules.push(Rule { at, is_vertical: false, label: label.into() });
        self
    }

    /// A dashed reference line from bottom to top at a value of the horizontal axis: a number, or a date such as
    /// `"2013-07-04"`.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn vline(mut self, at: impl PlotValue, label: impl Into<String>) -> Self {
        let at = number(at, "vline", &here("vline"));
        self.style.rules.push(Rule { at, is_vertical: true, label: label.into() });
        self
    }

    /// Shades the plot between two values of the horizontal axis.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn vspan(mut self, low: impl PlotValue, high: impl PlotValue, label: impl Into<String>) -> Self {
        let at = here("vspan");
        let (low, high) = (number(low, "vspan", &at), number(high, "vspan", &at));
        self.style.annotations.spans.push(ShadedSpan { low, high, is_vertical: true, label: label.into() });
        self
    }

    /// Shades the plot between two values of the vertical axis.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn hspan(mut self, low: impl PlotValue, high: impl PlotValue, label: impl Into<String>) -> Self {
        let at = here("hspan");
        let (low, high) = (number(low, "hspan", &at), number(high, "hspan", &at));
        self.style.annotations.spans.push(ShadedSpan { low, high, is_vertical: false, label: label.into() });
        self
    }

    /// Text next to a position: `.text("2013-07-04", 12.5, "holiday")`. A category stands for its position.
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn text(mut self, x: impl PlotValue, y: impl PlotValue, text: impl Into<String>) -> Self {
        self.style.annotations.texts.push(PlotText { x: x.position(), y: y.position(), text: text.into() });
        self
    }

    /// Categories that come first on an axis, in this order: `.order(["low", "medium", "high"])`.
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn order<N: Into<String>>(mut self, categories: impl IntoIterator<Item = N>) -> Self {
        self.style.order = categories.into_iter().map(Into::into).collect();
        self
    }
}
