//! The card of a fitted model: static HTML without script, that reads well in light and dark and without styles.

use std::fmt::Write as _;

use onrush_wire::format_integer::thousands;
use onrush_wire::learn::{Card, Detail, Trial};
use serde_json::{Value, json};

use crate::bundle::Bundle;
use crate::html::escape;

/// Coefficients or importances that are shown; the others are folded.
const BARS: usize = 20;
/// Maximum length of a parameter's value, in characters.
const LONGEST: usize = 60;
/// Trials of a running search that are shown: the best, and those that ran last.
const BEST: usize = 5;
const LAST: usize = 5;

/// `RidgeCV(alpha=10) on 2930 x 4, r2 0.78` as text, the card as HTML.
pub fn card(card: &Card) -> Bundle {
    let mut bundle = Bundle::new();
    bundle.insert("text/html".into(), html(card).into());
    let mut text = card.title.clone();
    card.notes.iter().for_each(|note| _ = write!(text, "\n{note}"));
    bundle.insert("text/plain".into(), text.into());
    bundle
}

/// A number with so many digits as a reader compares.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if size < 1e6 && size.fract() == 0.0 => format!("{value:.0}"),
        size if !size.is_finite() => value.to_string(),
        size if !(1e-4..1e6).contains(&size) => format!("{value:.3e}"),
        size if size >= 1000.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

fn html(card: &Card) -> String {
    let mut out = String::from(
        "<div style=\"border:1px solid rgba(128,128,128,.4);border-radius:4px;padding:.6em .9em;max-width:60em;line-height:1.5\">\n",
    );
    let _ = write!(out, "<div><b style=\"font-size:1.1em\">{}</b>", escape(&card.estimator));
    // Rows, place and time are those of a training; a model of another library's file had none here.
    let (rows, training) = match card.rows == 0 && card.seconds == 0.0 {
        true => (String::new(), String::new()),
        false => (
            format!("{} rows × ", thousands(card.rows)),
            format!(" · {} · {}", escape(&card.place), seconds(card.seconds)),
        ),
    };
    let features = thousands(card.features);
    let _ = writeln!(out, " <span style=\"opacity:.7\">· {rows}{features} features{training}</span></div>");
    if !card.scores.is_empty() {
        out.push_str("<div>");
        for (i, (name, of, value)) in card.scores.iter().enumerate() {
            let dot = if i > 0 { " · " } else { "" };
            let _ = write!(out, "{dot}{} <b>{}</b> <small>({})</small>", escape(name), number(*value), escape(of));
        }
        out.push_str("</div>\n");
    }
    for note in &card.notes {
        let _ = writeln!(out, "<div>⚠ {}</div>", escape(note));
    }
    parameters(&mut out, card);
    parts(&mut out, &card.parts);
    if !card.curves.is_empty() {
        curve(&mut out, card);
    }
    bars(&mut out, card);
    out.push_str("</div>\n");
    out
}

fn seconds(value: f64) -> String {
    match value {
        v if v < 0.0995 => format!("{:.1} ms", v * 1000.0),
        v if v < 9.95 => format!("{v:.2} s"),
        v => format!("{v:.0} s"),
    }
}

/// Chosen parameters are bold, the defaults are folded.
fn parameters(out: &mut String, card: &Card) {
    let (defaults, chosen): (Vec<_>, Vec<_>) = card.params.iter().partition(|(_, _, is_default)| *is_default);
    if !chosen.is_empty() {
        let list: Vec<String> = chosen
            .iter()
            .map(|(name, value, _)| format!("{}=<b>{}</b>", escape(name), escape(&short(value))))
            .collect();
        let _ = writeln!(out, "<div>{}</div>", list.join(" · "));
    }
    if !defaults.is_empty() {
        let list: Vec<String> =
            defaults.iter().map(|(name, value, _)| format!("{}={}", escape(name), escape(&short(value)))).collect();
        let what = match defaults.len() {
            1 => "1 parameter has its default".to_string(),
            n => format!("{n} parameters have their defaults"),
        };
        let _ = writeln!(
            out,
            "<details><summary style=\"opacity:.7\">{what}</summary><small>{}</small></details>",
            list.join(" · ")
        );
    }
}

fn short(value: &str) -> String {
    crate::clip(value, LONGEST)
}

/// The estimators inside, as nested boxes.
fn parts(out: &mut String, parts: &[(String, Card)]) {
    if parts.is_empty() {
        return;
    }
    out.push_str("<div style=\"margin:.3em 0\">\n");
    for (name, part) in parts {
        let _ = writeln!(
            out,
            "<div style=\"border-left:2px solid rgba(128,128,128,.5);margin:.2em 0;padding:0 0 0 .6em\"><b>{}</b> <small style=\"opacity:.7\">{}</small>",
            escape(&part.estimator),
            escape(&short(name))
        );
        parameters(out, part);
        self::parts(out, &part.parts);
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n");
}

/// Coefficients or importances, the largest first.
fn bars(out: &mut String, card: &Card) {
    if card.bars.is_empty() {
        return;
    }
    let most = card.bars.iter().map(|(_, v)| v.abs()).filter(|v| v.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
    let row = |(name, value): &(String, f64)| {
        // `f64::min` of NaN is the other number, the longest bar.
        let width = if value.is_nan() { 0.0 } else { (value.abs() / most * 12.0).min(12.0) };
        let color = if *value < 0.0 { "#c44e52" } else { "#4c72b0" };
        format!(
            "<tr><td align=\"left\" style=\"text-align:left;padding:0 .7em\">{}</td>\
             <td align=\"right\" style=\"text-align:right;padding:0 .7em\">{}</td>\
             <td align=\"left\" style=\"text-align:left\"><div style=\"height:.7em;width:{width:.2}em;background:{color}\"></div></td></tr>\n",
            escape(&crate::clip(name, 40)),
            number(*value),
        )
    };
    let head = format!(
        "<thead><tr><th align=\"left\" style=\"text-align:left\">feature</th><th align=\"right\" style=\"text-align:right\">{}</th><th></th></tr></thead>\n",
        escape(&card.bars_title)
    );
    let table = |rows: &[(String, f64)], head: &str| {
        let body: String = rows.iter().map(row).collect();
        format!(
            "<table style=\"border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3em 0\">\n{head}<tbody>\n{body}</tbody></table>\n"
        )
    };
    let (shown, rest) = card.bars.split_at(card.bars.len().min(BARS));
    out.push_str(&table(shown, &head));
    if !rest.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary style=\"opacity:.7\">{} more</summary>\n{}</details>",
            rest.len(),
            table(rest, "")
        );
    }
}

/// Losses or scores by iteration: a line for each series, with its name at the last point.
fn curve(out: &mut String, card: &Card) {
    let points = || card.curves.iter().flat_map(|(_, points)| points).filter(|(x, y)| x.is_finite() && y.is_finite());
    let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    for (x, y) in points() {
        low = (low.0.min(*x), low.1.min(*y));
        high = (high.0.max(*x), high.1.max(*y));
    }
    if !(low.0 <= high.0 && low.1 <= high.1) {
        return;
    }
    const WIDTH: f64 = 420.0;
    const HEIGHT: f64 = 120.0;
    let span = (if high.0 > low.0 { high.0 - low.0 } else { 1.0 }, if high.1 > low.1 { high.1 - low.1 } else { 1.0 });
    let at = |x: f64, y: f64| (60.0 + (x - low.0) / span.0 * WIDTH, 8.0 + (1.0 - (y - low.1) / span.1) * HEIGHT);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"training curve\" style=\"max-width:100%\" font-size=\"11\" fill=\"currentColor\">",
        WIDTH + 170.0,
        HEIGHT + 32.0,
        WIDTH + 170.0,
        HEIGHT + 32.0
    );
    let (left, bottom) = (60.0, 8.0 + HEIGHT);
    let _ = writeln!(
        out,
        "<path d=\"M{left} 8V{bottom}H{}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".4\"/>\
         <text x=\"{}\" y=\"16\" text-anchor=\"end\">{}</text><text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">{}</text>\
         <text x=\"{left}\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} {}</text>",
        left + WIDTH,
        left - 6.0,
        number(high.1),
        left - 6.0,
        number(low.1),
        bottom + 16.0,
        number(low.0),
        left + WIDTH,
        bottom + 16.0,
        escape(&card.curve_title.0),
        number(high.0),
    );
    for (i, (name, points)) in card.curves.iter().enumerate() {
        let color = ["#4c72b0", "#dd8452", "#55a868", "#c44e52"][i % 4];
        let mut path = String::new();
        let mut last = None;
        for (x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let (px, py) = at(*x, *y);
            let _ = write!(path, "{}{px:.1} {py:.1}", if path.is_empty() { "M" } else { "L" });
            last = Some((px, py));
        }
        let _ = write!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>");
        if let Some((px, py)) = last {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{}</text>",
                px + 4.0,
                py + 4.0,
                escape(name)
            );
        }
    }
    out.push_str("</svg>\n");
}

/// The progress of a search or a curve, as a table: head and rows. `None` if there is nothing to show.
fn table(detail: &Detail) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    match detail {
        Detail::Trials(trials) if !trials.is_empty() => Some(trials_table(trials)),
        Detail::Curves(curves) => {
            let rows: Vec<Vec<String>> = curves
                .iter()
                .filter_map(|(name, points)| {
                    let (x, y) = points.last()?;
                    Some(vec![name.clone(), number(*x), number(*y)])
                })
                .collect();
            let head = ["", "iteration", "value"].map(str::to_string).to_vec();
            (!rows.is_empty()).then_some((head, rows))
        }
        Detail::Trials(_) => None,
    }
}

/// The best trials, then those that ran last.
fn trials_table(trials: &[Trial]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in trials.iter().flat_map(|trial| &trial.params) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let mut order: Vec<&Trial> = trials.iter().filter(|t| t.mean.is_some()).collect();
    order.sort_by(|a, b| b.mean.unwrap_or(f64::MIN).total_cmp(&a.mean.unwrap_or(f64::MIN)));
    order.truncate(BEST);
    let last = trials.iter().rev().filter(|t| !order.iter().any(|o| o.number == t.number)).take(LAST);
    let last: Vec<&Trial> = last.collect();
    order.extend(last.into_iter().rev());
    let mut head = vec!["trial".to_string(), "mean".to_string(), "std".to_string(), "folds".to_string()];
    // The step of the pipeline is known.
    head.extend(names.iter().map(|name| name.rsplit("__").next().unwrap_or(name).to_string()));
    head.push("state".to_string());
    let score = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.4}"));
    let rows = order.iter().map(|trial| {
        let mut row = vec![trial.number.to_string(), score(trial.mean), score(trial.std), trial.folds.to_string()];
        for name in &names {
            let value = trial.params.iter().find(|(n, _)| n == name);
            row.push(value.map_or(String::new(), |(_, v)| match v.as_f64() {
                Some(v) if v.fract() != 0.0 => number(v),
                _ => crate::clip(&v.to_string(), 24),
            }));
        }
        row.push(trial.state.clone());
        row
    });
    (head, rows.collect())
}

/// The table of a running task for the extension: text only.
pub fn detail_json(detail: Option<&Detail>) -> Value {
    match detail.and_then(table) {
        Some((head, rows)) => json!({ "head": head, "rows": rows }),
        None => Value::Null,
    }
}

/// The same for front ends without the extension.
pub fn detail_html(detail: Option<&Detail>) -> String {
    let Some((head, rows)) = detail.and_then(table) else { return String::new() };
    let cells = |row: &[String], tag: &str| {
        row.iter()
            .map(|cell| {
                format!("<{tag} align=\"right\" style=\"text-align:right;padding:0 .6em\">{}</{tag}>", escape(cell))
            })
            .collect::<String>()
    };
    let body: String = rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
    format!(
        "<table style=\"border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums\"><thead><tr>{}</tr></thead>\n<tbody>\n{body}</tbody></table>\n",
        cells(&head, "th")
    )
}

#[cfg(test)]
mod tests {
    use onrush_wire::learn::Param;

    use super::*;

    fn ridge() -> Card {
        Card {
            title: "Ridge(alpha=0.5) on 442 x 2, r2 0.512".to_string(),
            estimator: "Ridge".to_string(),
            rows: 442,
            features: 2,
            place: "cpu".to_string(),
            seconds: 0.0021,
            params: vec![
                ("alpha".to_string(), "0.5".to_string(), false),
                ("fit_intercept".to_string(), "true".to_string(), true),
            ],
            scores: vec![("r2".to_string(), "training".to_string(), 0.512)],
            bars_title: "coefficient".to_string(),
            bars: vec![("bmi <b>".to_string(), 940.0), ("age".to_string(), -10.0)],
            curve_title: ("iteration".to_string(), "loss".to_string()),
            curves: vec![("training".to_string(), vec![(1.0, 2.0), (2.0, f64::NAN), (3.0, 0.5)])],
            notes: vec!["rank 4 of 5".to_string()],
            parts: Vec::new(),
        }
    }

    #[test]
    fn a_card_names_what_was_chosen_and_escapes_names() {
        let bundle = card(&ridge());
        assert_eq!(bundle["text/plain"], "Ridge(alpha=0.5) on 442 x 2, r2 0.512\nrank 4 of 5");
        let html = bundle["text/html"].as_str().unwrap();
        assert!(html.contains("alpha=<b>0.5</b>") && html.contains("1 parameter has its default"));
        assert!(html.contains("bmi &lt;b&gt;") && !html.contains("bmi <b>"));
        assert!(html.contains("442 rows × 2 features") && html.contains("2.1 ms"));
        assert!(!html.contains("NaN"), "a point without a value is left out");
    }

    #[test]
    fn a_value_that_is_not_a_number_has_no_bar() {
        let bars = vec![("a".to_string(), f64::NAN), ("b".to_string(), 2.0), ("c".to_string(), f64::INFINITY)];
        let html = html(&Card { bars, ..ridge() });
        let widths: Vec<&str> = html.split(";width:").skip(1).map(|rest| rest.split(';').next().unwrap()).collect();
        assert_eq!(widths, ["0.00em", "12.00em", "12.00em"]);
    }

    #[test]
    fn a_model_that_was_not_trained_here_has_neither_rows_nor_time() {
        let html = html(&Card { rows: 0, seconds: 0.0, ..ridge() });
        assert!(html.contains("· 2 features<") && !html.contains("rows") && !html.contains(" ms"), "{html}");
        let html = super::html(&Card { rows: 0, ..ridge() });
        assert!(html.contains("0 rows × 2 features · cpu · 2.1 ms"), "{html}");
    }

    #[test]
    fn a_running_search_shows_its_best_trials_first() {
        let trial = |number: u32, mean: Option<f64>| Trial {
            number,
            params: vec![("ridge__alpha".to_string(), Param::Float(0.25 * f64::from(number)))],
            mean,
            std: mean.map(|_| 0.1),
            folds: 5,
            state: "done".to_string(),
        };
        let trials = (1..=20).map(|n| trial(n, (n < 20).then(|| f64::from(n % 7)))).collect();
        let value = detail_json(Some(&Detail::Trials(trials)));
        assert_eq!(value["head"][4], "alpha");
        assert_eq!(value["rows"].as_array().unwrap().len(), BEST + LAST);
        assert_eq!(value["rows"][0][1], "6.0000");
        assert_eq!(value["rows"][9][0], "20");
        assert_eq!(detail_json(None), Value::Null);
        assert!(detail_html(Some(&Detail::Trials(Vec::new()))).is_empty());
    }
}
