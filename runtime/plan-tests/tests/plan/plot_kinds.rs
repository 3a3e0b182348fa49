//! Plots of distributions, intervals, fits, hexagons, pairs, prices and scores. Expected values come from SciPy 1.17,
//! statsmodels 0.15, matplotlib 3.11 and scikit-learn 1.9, as each test says.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use onrush_frame::TaskHandle;
use onrush_wire::plot::marks::StepPosition;
use onrush_wire::plot::{ErrorBar, Interval, Layer, LayerRequest, Mark, Plot, PlotRequest, PlotStyle, Series, Violin};
use onrush_wire::{Diagnostic, Expr, FrameId};

use super::support::TestEngine;

fn layer(mark: Mark, x: &str, y: Option<&str>) -> LayerRequest {
    LayerRequest { mark, x: Some(Expr::column(x)), y: y.map(Expr::column), ..LayerRequest::default() }
}

fn colored(layer: LayerRequest, by: &str) -> LayerRequest {
    LayerRequest { color: Some(Expr::column(by)), ..layer }
}

fn plots(bench: &TestEngine, frame: FrameId, layers: Vec<LayerRequest>) -> Result<Plot, Diagnostic> {
    let request = PlotRequest { frame, layers, style: PlotStyle::default(), facet: None };
    onrush_explore::plot(&bench.engine, &request, &TaskHandle::new())
}

fn plot(bench: &TestEngine, frame: FrameId, layer: LayerRequest) -> Plot {
    plots(bench, frame, vec![layer]).unwrap()
}

fn numbers(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn string_array(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn series(plot: &Plot) -> &[Series] {
    match &plot.layers[0] {
        Layer::Xy { series, .. } => series,
        other => panic!("no series: {other:?}"),
    }
}

fn intervals(plot: &Plot) -> &[Interval] {
    match &plot.layers[0] {
        Layer::Intervals { series, .. } => series,
        other => panic!("no intervals: {other:?}"),
    }
}

#[track_caller]
fn close(found: &[f64], wanted: &[f64]) {
    let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-7 * b.abs().max(1.0) || (a.is_nan() && b.is_nan());
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(is_close), "{found:?}, expected {wanted:?}");
}

/// `scipy.stats.ecdf(v).cdf` of each group; quantiles and probabilities.
#[test]
fn ecdf_steps_by_group() {
    let bench = TestEngine::default();
    let values = numbers(&[3.0, 1.0, 2.0, 2.0, 5.0, f64::NAN]);
    let frame = bench.frame(vec![("v", values), ("k", string_array(&["a", "a", "a", "a", "b", "b"]))]);
    let made = plot(&bench, frame, LayerRequest { by: Some(Expr::column("k")), ..layer(Mark::Ecdf, "v", None) });
    let [a, b] = series(&made) else { panic!("{made:?}") };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
    close(&a.x, &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    close(&a.y, &[0.0, 0.25, 0.25, 0.75, 0.75, 1.0]);
    close(&b.y, &[0.0, 1.0]);
    assert_eq!(made.notes, ["1 row with no finite value left out"]);
    let error = plots(&bench, frame, vec![layer(Mark::Ecdf, "k", None)]).unwrap_err();
    assert!(error.message.contains("`k` is text"), "{error}");
}

/// By hand: the share of 0, 1, ..., 99,999 at or below `x` is `(floor(x) + 1) / 100,000`.
#[test]
fn ecdf_of_many_values_is_exact_at_its_points() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![("n", Arc::new(Int64Array::from_iter_values(0..100_000)) as ArrayRef)]);
    let made = plot(&bench, frame, layer(Mark::Ecdf, "n", None));
    let one = &series(&made)[0];
    assert!((1_000..3_000).contains(&one.x.len()), "{} points", one.x.len());
    let wanted: Vec<f64> = one.x.iter().map(|x| (x.floor() + 1.0) / 1e5).collect();
    close(&one.y, &wanted);
}

/// `scipy.stats.gaussian_kde(v)` at 0, 2.5, 5 and 9, and `numpy.quantile(v, [0.25, 0.5, 0.75])`; the ends are two
/// bandwidths beyond the values, as of `seaborn.violinplot`.
#[test]
fn violin_has_the_density_of_scipy() {
    let bench = TestEngine::default();
    let v = numbers(&[1.0, 2.0, 2.5, 3.0, 4.0, 4.5, 7.0, 9.0, 6.0, 6.0]);
    let frame =
        bench.frame(vec![("v", v), ("k", string_array(&["a", "a", "a", "a", "a", "a", "a", "a", "same", "same"]))]);
    let made = plot(&bench, frame, layer(Mark::Violin, "k", Some("v")));
    let Layer::Violins { x, violins, .. } = &made.layers[0] else { panic!("{made:?}") };
    assert_eq!(x.categories, ["a", "same"]);
    let [Violin { stats, at, density }, same] = violins.as_slice() else { panic!("{violins:?}") };
    close(&[stats.q1, stats.median, stats.q3], &[2.375, 3.5, 5.125]);
    let between = |x: f64| {
        let right = at.iter().position(|at| *at >= x).unwrap();
        let part = (x - at[right - 1]) / (at[right] - at[right - 1]);
        density[right - 1] + (density[right] - density[right - 1]) * part
    };
    for (x, wanted) in [(0.0, 0.059_301_95), (2.5, 0.137_697_38), (5.0, 0.102_323_34), (9.0, 0.044_824_08)] {
        assert!((between(x) / wanted - 1.0).abs() < 2e-3, "at {x}: {}, expected {wanted}", between(x));
    }
    assert!(at[0] >= -2.539_734 && at[0] < -2.3 && at[at.len() - 1] <= 12.539_734 && at[at.len() - 1] > 12.3, "{at:?}");
    assert!(same.at.is_empty() && same.stats.median == 6.0);
}

/// Means, and `scipy.stats.t.interval(0.95, n - 1, mean, scipy.stats.sem(v))`.
#[test]
fn point_plot_has_the_intervals_of_scipy() {
    let bench = TestEngine::default();
    let v = numbers(&[1.0, 3.0, 2.0, 5.0, 4.0, 8.0, 7.0, f64::NAN]);
    let frame = bench.frame(vec![("v", v), ("k", string_array(&["a", "b", "a", "b", "a", "a", "c", "c"]))]);
    let request = layer(Mark::PointPlot, "k", Some("v"));
    let made = plot(&bench, frame, request.clone());
    let one = &intervals(&made)[0];
    close(&one.y, &[3.75, 4.0, 7.0]);
    close(&one.low, &[-1.175_943_048_230_293_7, -8.706_204_736_174_694, f64::NAN]);
    close(&one.high, &[8.675_943_048_230_295, 16.706_204_736_174_694, f64::NAN]);
    assert_eq!(made.notes, ["1 row with no value left out", "bars: 95 % confidence interval of the mean"]);
    for (error, reach) in
        [(ErrorBar::Deviation, 3.095_695_936_834_452), (ErrorBar::StandardError, 1.547_847_968_417_226)]
    {
        let made = plot(&bench, frame, LayerRequest { error: Some(error), ..request.clone() });
        assert!((intervals(&made)[0].high[0] - 3.75 - reach).abs() < 1e-12);
    }
    let made = plot(&bench, frame, colored(request, "k"));
    assert_eq!(intervals(&made).iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn error_bars_and_bands_are_those_of_their_columns() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![
        ("x", numbers(&[3.0, 1.0, 2.0])),
        ("low", numbers(&[2.0, 0.0, f64::NAN])),
        ("high", numbers(&[4.0, 1.0, 5.0])),
        ("k", string_array(&["a", "b", "c"])),
    ]);
    for mark in [Mark::ErrorBars, Mark::Band] {
        let request = LayerRequest { more_y: vec![Expr::column("high")], ..layer(mark, "x", Some("low")) };
        let made = plot(&bench, frame, request.clone());
        let one = &intervals(&made)[0];
        assert_eq!((&one.x[..], &one.low[..], &one.high[..]), (&[1.0, 3.0][..], &[0.0, 2.0][..], &[1.0, 4.0][..]));
        assert_eq!(made.notes, ["1 row with no value left out"]);
        let wrong = LayerRequest { more_y: vec![Expr::column("k")], ..request };
        let error = plots(&bench, frame, vec![wrong]).unwrap_err();
        assert!(error.message.contains("needs a number, and `k` is text"), "{error}");
    }
    // Panels read all columns of a layer.
    let request = PlotRequest {
        frame,
        layers: vec![LayerRequest { more_y: vec![Expr::column("high")], ..layer(Mark::ErrorBars, "x", Some("low")) }],
        style: PlotStyle::default(),
        facet: Some(Expr::column("k")),
    };
    let made = onrush_explore::plot(&bench.engine, &request, &TaskHandle::new()).unwrap();
    assert_eq!(made.facets.len(), 3);
}

/// `statsmodels.api.OLS(y, add_constant(x)).fit()`: parameters, R², and `get_prediction([1, 9]).conf_int()`.
#[test]
fn regression_has_the_band_of_statsmodels() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![
        ("x", numbers(&[1.0, 2.0, 3.0, 4.0, 6.0, 9.0])),
        ("y", numbers(&[2.0, 3.5, 3.0, 5.5, 6.0, 10.5])),
        ("k", string_array(&["a", "b", "a", "b", "a", "b"])),
    ]);
    let made = plot(&bench, frame, layer(Mark::Regression, "x", Some("y")));
    let one = &intervals(&made)[0];
    let ends = |list: &[f64]| [list[0], list[list.len() - 1]];
    close(&ends(&one.x), &[1.0, 9.0]);
    close(&ends(&one.low), &[0.429_350_9, 8.057_487_97]);
    close(&ends(&one.high), &[3.317_730_81, 11.907_492_57]);
    close(&ends(&one.y), &[0.859_922_18 + 1.013_618_68, 0.859_922_18 + 9.0 * 1.013_618_68]);
    assert_eq!(made.notes, ["y = 0.8599 + 1.014 x, R² = 0.942, 6 rows"]);
    let error = plots(&bench, frame, vec![layer(Mark::Regression, "k", Some("y"))]).unwrap_err();
    assert!(error.message.contains("needs numbers or times, and `k` is text"), "{error}");
    // Points and their line have names in the legend.
    let both = vec![layer(Mark::Scatter, "x", Some("y")), layer(Mark::Regression, "x", Some("y"))];
    let made = plots(&bench, frame, both).unwrap();
    let Layer::Intervals { series, .. } = &made.layers[1] else { panic!("{made:?}") };
    assert_eq!(series[0].name, "y (regression line)");
}

/// `matplotlib.pyplot.hexbin(x, y, gridsize=4, mincnt=1)`: offsets and counts.
#[test]
fn hexbin_counts_are_those_of_matplotlib() {
    let bench = TestEngine::default();
    let x: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 101) / 10.0).collect();
    let y: Vec<f64> = (0..200).map(|i| f64::from(i * 53 % 97) / 4.0).collect();
    let frame = bench.frame(vec![("x", numbers(&x)), ("y", numbers(&y))]);
    let made = plot(&bench, frame, LayerRequest { bins: Some(4), ..layer(Mark::Hexbin, "x", Some("y")) });
    let Layer::Hexagons(hexagons) = &made.layers[0] else { panic!("{made:?}") };
    close(&[hexagons.size.0, hexagons.size.1], &[2.5, 12.0]);
    let mut found: Vec<(i64, i64, u64)> = hexagons
        .xs
        .iter()
        .zip(&hexagons.ys)
        .zip(&hexagons.counts)
        .map(|((x, y), count)| ((x * 100.0).round() as i64, y.round() as i64, *count))
        .collect();
    let mut wanted = vec![
        (0, 0, 6),
        (0, 12, 6),
        (0, 24, 2),
        (250, 0, 6),
        (250, 12, 9),
        (250, 24, 8),
        (500, 0, 3),
        (500, 12, 15),
        (500, 24, 5),
        (750, 0, 10),
        (750, 12, 10),
        (750, 24, 7),
        (1000, 12, 9),
        (1000, 24, 4),
        (125, 6, 11),
        (125, 18, 16),
        (375, 6, 15),
        (375, 18, 9),
        (625, 6, 10),
        (625, 18, 14),
        (875, 6, 13),
        (875, 18, 12),
    ];
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

/// By hand: the points of a step line are in the order of x, means as those of a line.
#[test]
fn steps_are_in_the_order_of_x() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![("x", numbers(&[3.0, 1.0, 2.0, 1.0])), ("y", numbers(&[5.0, 2.0, 8.0, 4.0]))]);
    let steps = layer(Mark::Step(StepPosition::Post), "x", Some("y"));
    let made = plot(&bench, frame, LayerRequest { aggregate: Some("mean".into()), ..steps.clone() });
    assert!(matches!(made.layers[0], Layer::Xy { mark: Mark::Step(StepPosition::Post), .. }), "{made:?}");
    let one = |made: &Plot| (series(made)[0].x.clone(), series(made)[0].y.clone());
    assert_eq!(one(&made), (vec![1.0, 2.0, 3.0], vec![3.0, 8.0, 5.0]));
    let (x, _) = one(&plot(&bench, frame, steps));
    assert_eq!(x, [1.0, 1.0, 2.0, 3.0]);
}

#[test]
fn strip_shows_a_sample_of_many_rows() {
    let bench = TestEngine::default();
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values((0..20_000).map(|i| i % 3)));
    let frame = bench.frame(vec![("n", n), ("k", k)]);
    let made = plot(&bench, frame, layer(Mark::Strip, "k", Some("n")));
    let Layer::Xy { mark: Mark::Strip, x, .. } = &made.layers[0] else { panic!("{made:?}") };
    assert_eq!((x.categories.join(" ").as_str(), series(&made)[0].x.len()), ("0 1 2", 5_000));
    assert_eq!(made.notes, ["5\u{202f}000 of 20\u{202f}000 points shown"]);
}

#[test]
fn pair_plot_has_a_panel_for_each_pair() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![
        ("a", numbers(&[1.0, 2.0, 3.0])),
        ("b", numbers(&[3.0, 1.0, f64::NAN])),
        ("k", string_array(&["p", "q", "p"])),
    ]);
    let pair = |columns: &[&str]| LayerRequest {
        mark: Mark::Pair,
        more_y: columns.iter().map(|name| Expr::column(*name)).collect(),
        ..LayerRequest::default()
    };
    let frames = bench.engine.frame_count();
    let made = plot(&bench, frame, colored(pair(&["a", "b"]), "k"));
    assert_eq!(bench.engine.frame_count(), frames);
    let kinds: Vec<(&str, &str, bool)> = made
        .facets
        .iter()
        .map(|facet| {
            let is_histogram = matches!(facet.layers[0], Layer::Histogram { .. });
            (facet.x_label.as_deref().unwrap(), facet.y_label.as_deref().unwrap(), is_histogram)
        })
        .collect();
    assert_eq!(kinds, [("a", "a", true), ("b", "a", false), ("a", "b", false), ("b", "b", true)]);
    assert!(made.style.is_grid && made.style.facet_columns == Some(2));
    for (wrong, said) in [
        (vec![pair(&["a"])], "takes 2 to 8 columns, and there are 1"),
        (vec![pair(&["a", "b"]), layer(Mark::Scatter, "a", Some("b"))], "is not a layer of another plot"),
    ] {
        let error = plots(&bench, frame, wrong).unwrap_err();
        assert!(error.message.contains(said), "{error}");
    }
}

#[test]
fn candles_are_in_order() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![
        ("t", numbers(&[2.0, 1.0, 3.0])),
        ("open", numbers(&[5.0, 4.0, 1.0])),
        ("high", numbers(&[7.0, 6.0, 2.0])),
        ("low", numbers(&[4.0, 3.0, f64::NAN])),
        ("close", numbers(&[6.0, 3.5, 1.0])),
    ]);
    let more_y = ["high", "low", "close"].map(Expr::column).to_vec();
    let made = plot(&bench, frame, LayerRequest { more_y, ..layer(Mark::Candlestick, "t", Some("open")) });
    let Layer::Candles(candles) = &made.layers[0] else { panic!("{made:?}") };
    assert_eq!((&candles.at[..], &candles.close[..]), (&[1.0, 2.0][..], &[3.5, 6.0][..]));
    assert_eq!(made.notes, ["1 row with no value left out"]);
}

/// `sklearn.metrics`: `roc_curve`, `roc_auc_score`, `precision_recall_curve` and `average_precision_score`.
#[test]
fn curves_of_scores_are_those_of_scikit_learn() {
    let bench = TestEngine::default();
    let truth: ArrayRef = Arc::new(Int64Array::from(vec![0, 0, 1, 1, 0, 1, 1, 0]));
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![false, false, true, true, false, true, true, false]));
    let score = numbers(&[0.1, 0.4, 0.35, 0.8, 0.4, 0.4, 0.9, 0.2]);
    let class = string_array(&["n", "n", "y", "y", "n", "y", "y", "n"]);
    let frame = bench.frame(vec![("truth", truth), ("flag", flag), ("score", score), ("class", class)]);
    for truth in ["truth", "flag"] {
        let made = plot(&bench, frame, layer(Mark::Roc, truth, Some("score")));
        let [curve, chance] = series(&made) else { panic!("{made:?}") };
        assert_eq!((curve.name.as_str(), chance.name.as_str()), ("score (AUC 0.812)", "chance"));
        close(&curve.x, &[0.0, 0.0, 0.0, 0.5, 0.5, 1.0]);
        close(&curve.y, &[0.0, 0.25, 0.5, 0.75, 1.0, 1.0]);
        let made = plot(&bench, frame, layer(Mark::PrecisionRecall, truth, Some("score")));
        let curve = &series(&made)[0];
        assert_eq!(curve.name, "score (AP 0.817)");
        close(&curve.x, &[1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]);
        close(&curve.y, &[0.5, 4.0 / 7.0, 2.0 / 3.0, 0.6, 1.0, 1.0, 1.0]);
    }
    let error = plots(&bench, frame, vec![layer(Mark::Roc, "class", Some("score"))]).unwrap_err();
    assert!(error.message.contains("needs a truth of two classes, and `class` has \"n\", \"y\""), "{error}");
    assert!(error.help.iter().any(|help| help.contains("positive class")), "{error:?}");
}

/// `sklearn.metrics.confusion_matrix(truth, predicted)`: `[[0, 0, 1], [0, 2, 0], [0, 1, 2]]`.
#[test]
fn confusion_matrix_is_that_of_scikit_learn() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![
        ("truth", string_array(&["cat", "dog", "dog", "bird", "cat", "dog"])),
        ("predicted", string_array(&["cat", "dog", "cat", "dog", "cat", "dog"])),
    ]);
    let made = plot(&bench, frame, layer(Mark::ConfusionMatrix, "truth", Some("predicted")));
    let Layer::HeatMap { x, y, values, .. } = &made.layers[0] else { panic!("{made:?}") };
    assert_eq!((x.categories.join(" "), y.categories.join(" ")), ("bird cat dog".into(), "dog cat bird".into()));
    let rows: Vec<Vec<f64>> = values.iter().rev().map(|row| row.iter().map(|v| v.unwrap()).collect()).collect();
    assert_eq!(rows, [[0.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.0, 1.0, 2.0]]);
}
