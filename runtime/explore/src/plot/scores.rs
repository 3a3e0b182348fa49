//! Curves of scores, and the confusion matrix, from a column of truth and columns of scores or predictions.

use std::collections::HashMap;

use onrush_expr::diagnostics::{place, plan_error};
use onrush_learn::metrics::ranking::{PrecisionRecallCurve, RocCurve};
use onrush_stats::spread;
use onrush_wire::plot::{Axis, AxisScale, Layer, LayerRequest, Mark, Series};
use onrush_wire::{Diagnostic, Expr};

use super::axis_values::{Values, each_of, label};
use super::{Source, grouped, needed};

/// Points of a curve.
const CURVE: usize = 1_000;
/// Classes of a confusion matrix that can be told apart.
const CLASSES: usize = 50;

impl Source<'_> {
    /// A curve for each column of scores, with its area in the legend: `sklearn.metrics.roc_curve` and `roc_auc_score`,
    /// `precision_recall_curve` and `average_precision_score`.
    pub(super) fn curves(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let truth_expr = needed(layer.x.as_ref(), layer.mark, "truth")?;
        needed(layer.y.as_ref(), layer.mark, "score")?;
        let is_roc = layer.mark == Mark::Roc;
        let mut series = Vec::new();
        for expr in layer.y.iter().chain(&layer.more_y) {
            let (positive, scores) = self.scored(layer, truth_expr, expr)?;
            let (x, y, name) = if is_roc {
                let curve = RocCurve::new(&positive, &scores, None, true);
                let name = format!("{} (AUC {:.3})", label(expr), curve.area());
                (curve.fpr, curve.tpr, name)
            } else {
                let curve = PrecisionRecallCurve::new(&positive, &scores, None);
                let name = format!("{} (AP {:.3})", label(expr), curve.area());
                (curve.recall, curve.precision, name)
            };
            let points: Vec<usize> = spread(x.len(), CURVE).collect();
            let at = |list: &[f64]| points.iter().map(|point| list[*point]).collect();
            series.push(Series { name, x: at(&x), y: at(&y) });
        }
        if is_roc {
            series.push(Series { name: "chance".to_string(), x: vec![0.0, 1.0], y: vec![0.0, 1.0] });
        }
        let axis = |label: &str| Axis { label: label.to_string(), scale: AxisScale::Number, categories: Vec::new() };
        let (x, y) = match is_roc {
            true => (axis("false positive rate"), axis("true positive rate")),
            false => (axis("recall"), axis("precision")),
        };
        Ok(Layer::Xy { mark: layer.mark, x, y, series })
    }

    /// Whether each row is positive, and its score.
    fn scored(
        &mut self,
        layer: &LayerRequest,
        truth_expr: &Expr,
        score_expr: &Expr,
    ) -> Result<(Vec<bool>, Vec<f64>), Diagnostic> {
        let rows = self.rows([Some(truth_expr), Some(score_expr)])?;
        let truth = Values::of(&rows, 0, truth_expr)?;
        let score = Values::of(&rows, 1, score_expr)?
            .number(&format!("the score of a {}", layer.mark.info().name), score_expr)?;
        let (mut values, mut scores, mut left_out) = (Vec::new(), Vec::new(), 0);
        each_of(&rows, [Some(&truth), Some(&score)], self.task, |[value, score]| {
            if value.is_finite() && score.is_finite() {
                values.push(value);
                scores.push(score);
            } else {
                left_out += 1;
            }
        })?;
        self.left_out(left_out, "row", "no truth or no score");
        let mut found: Vec<f64> = values.clone();
        found.sort_by(f64::total_cmp);
        found.dedup();
        let names = truth.categories();
        let positive = match (truth.scale, found.as_slice()) {
            (AxisScale::Number, [low, high]) if [0.0, -1.0].contains(low) && *high == 1.0 => 1.0,
            (AxisScale::Category, [_, _]) if names.iter().all(|name| name == "true" || name == "false") => {
                names.iter().position(|name| name == "true").unwrap_or(0) as f64
            }
            _ => return Err(not_a_truth(&truth, &found, layer.mark, truth_expr)),
        };
        Ok((values.into_iter().map(|value| value == positive).collect(), scores))
    }

    /// Rows of each pair of truth and prediction, the truth from the top: `sklearn.metrics.confusion_matrix`.
    pub(super) fn confusion(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let truth_expr = needed(layer.x.as_ref(), layer.mark, "truth")?;
        let predicted_expr = needed(layer.y.as_ref(), layer.mark, "prediction")?;
        let rows = self.rows([Some(truth_expr), Some(predicted_expr)])?;
        let of = |index: usize, expr: &Expr| Values::of(&rows, index, expr)?.into_categories(&rows, None, self.task);
        let (truth, predicted) = (of(0, truth_expr)?, of(1, predicted_expr)?);
        let mut counts: HashMap<(usize, usize), u64> = HashMap::new();
        let mut left_out = 0;
        each_of(&rows, [Some(&truth), Some(&predicted)], self.task, |[truth, predicted]| {
            if truth >= 0.0 && predicted >= 0.0 {
                *counts.entry((truth as usize, predicted as usize)).or_default() += 1;
            } else {
                left_out += 1;
            }
        })?;
        self.left_out(left_out, "row", "no truth or no prediction");
        let (truths, predictions) = (truth.categories(), predicted.categories());
        let mut classes: Vec<String> = truths.iter().chain(&predictions).cloned().collect();
        classes.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a.total_cmp(&b),
            _ => a.cmp(b),
        });
        classes.dedup();
        if classes.len() > CLASSES {
            let message = format!("{} classes cannot be told apart, the most are {CLASSES}", grouped(classes.len()));
            return Err(place(plan_error("plot-size", message), truth_expr.span.as_ref(), None, "too many values")
                .help("round numbers to classes, or filter the frame"));
        }
        let place_of = |name: &String| classes.iter().position(|class| class == name).unwrap_or(0);
        let mut values = vec![vec![Some(0.0); classes.len()]; classes.len()];
        for ((truth, predicted), count) in counts {
            // Rows of a heat map begin at the bottom.
            let row = classes.len() - 1 - place_of(&truths[truth]);
            values[row][place_of(&predictions[predicted])] = Some(count as f64);
        }
        let axis = |label: &str, categories: Vec<String>| Axis {
            label: label.to_string(),
            scale: AxisScale::Category,
            categories,
        };
        let y = axis(&truth.label, classes.iter().rev().cloned().collect());
        let x = axis(&predicted.label, classes);
        Ok(Layer::HeatMap { x, y, values, color_label: "rows".to_string(), range: None })
    }
}

fn not_a_truth(truth: &Values, found: &[f64], mark: Mark, expr: &Expr) -> Diagnostic {
    const SHOWN: usize = 3;
    let names = truth.categories();
    let shown = found.iter().take(SHOWN).map(|value| match truth.scale {
        AxisScale::Category => format!("\"{}\"", names.get(*value as usize).map_or("", String::as_str)),
        _ => value.to_string(),
    });
    let more = if found.len() > SHOWN { ", …" } else { "" };
    let shown = shown.collect::<Vec<_>>().join(", ");
    let has = if found.is_empty() { "no values".to_string() } else { format!("{shown}{more}") };
    let message = format!("a {} needs a truth of two classes, and `{}` has {has}", mark.info().name, truth.label);
    place(plan_error("plot-type", message), expr.span.as_ref(), None, "not true and false, nor 0 and 1")
        .help("compare it with the positive class: `x!(survived == \"yes\")`")
}
