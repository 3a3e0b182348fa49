//! Shapes of annotations: spans behind the marks, text over them; and the order of categories.

use chrono::{NaiveDate, NaiveDateTime};
use onrush_wire::plot::{Annotations, AxisScale, PlotPosition, Rule};

use super::super::scale::Scale;
use super::super::shapes::Shape;
use super::Builder;

impl Builder {
    pub(super) fn rules(&mut self, rules: &[Rule]) {
        for rule in rules {
            let scale = if rule.is_vertical { &self.x } else { &self.y };
            if let Some(at) = scale.position(rule.at).filter(|_| scale.kind != AxisScale::Category) {
                self.shapes.push(Shape::Rule { at, is_vertical: rule.is_vertical, label: rule.label.clone() });
            }
        }
    }

    pub(super) fn annotations(&mut self, annotations: &Annotations) {
        let mut spans = Vec::new();
        for span in &annotations.spans {
            let scale = if span.is_vertical { &self.x } else { &self.y };
            let ends = [span.low, span.high].map(|end| scale.position(end));
            if let [Some(low), Some(high)] = ends {
                let (low, high) = (low.min(high), low.max(high));
                spans.push(Shape::Span { ends: (low, high), is_vertical: span.is_vertical, label: span.label.clone() });
            } else {
                self.missing.push(format!("no span from {} to {} on a logarithmic axis", span.low, span.high));
            }
        }
        self.shapes.splice(0..0, spans);
        for text in &annotations.texts {
            match (position(&self.x, &text.x), position(&self.y, &text.y)) {
                (Ok(x), Ok(y)) => self.shapes.push(Shape::Text { x, y, text: text.text.clone() }),
                (Err(why), _) | (_, Err(why)) => self.missing.push(format!("text \"{}\" left out: {why}", text.text)),
            }
        }
    }
}

/// A drawn position, or what is missing.
fn position(scale: &Scale, at: &PlotPosition) -> Result<f64, String> {
    match (at, scale.kind) {
        (PlotPosition::Number(value), _) => {
            scale.position(*value).ok_or_else(|| format!("{value} is not on a logarithmic axis"))
        }
        (PlotPosition::Name(name), AxisScale::Category) => {
            let place = scale.categories.iter().position(|category| category == name);
            place.map(|place| place as f64).ok_or_else(|| format!("there is no category \"{name}\""))
        }
        (PlotPosition::Name(name), AxisScale::Time) => seconds(name)
            .ok_or_else(|| format!("\"{name}\" is not a date or time such as 2013-07-04 or 2013-07-04 12:30")),
        (PlotPosition::Name(name), AxisScale::Number) => Err(format!("\"{name}\" is text, and the axis has numbers")),
    }
}

/// Seconds since 1970-01-01 of a date or timestamp.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim().replace('T', " ");
    let formats = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];
    let time = formats.iter().find_map(|format| NaiveDateTime::parse_from_str(&text, format).ok());
    let date = || NaiveDate::parse_from_str(&text, "%Y-%m-%d").ok().and_then(|date| date.and_hms_opt(0, 0, 0));
    time.or_else(date).map(|time| time.and_utc().timestamp_micros() as f64 / 1e6)
}

/// Categories in the order of the user, then all others in their order.
pub(super) fn ordered(categories: &mut [String], order: &[String]) {
    let place = |name: &String| order.iter().position(|wanted| wanted == name).unwrap_or(order.len());
    categories.sort_by_key(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_and_other_words_are_not() {
        assert_eq!(seconds("1970-01-02"), Some(86_400.0));
        assert_eq!(seconds("1970-01-01T00:01"), Some(60.0));
        assert_eq!(seconds("1970-01-01 00:00:01.5"), Some(1.5));
        assert_eq!(seconds("July"), None);
    }

    #[test]
    fn categories_of_the_order_come_first() {
        let mut categories = ["a", "b", "c", "d"].map(String::from);
        ordered(&mut categories, &["d".to_string(), "x".to_string(), "b".to_string()]);
        assert_eq!(categories.join(" "), "d b a c");
    }
}
