//! Metrics of predictions as aggregates: `f.agg(x!(accuracy_score(survived, prediction)))`, also by group. The names
//! and results are those of `sklearn.metrics`; the algorithms are in `runtime/learn`.
//!
//! Rows with a null in either column are left out. The classes are the distinct values of both columns in their order;
//! for metrics of two classes the second one is the positive class. A metric that is not defined is null.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray, StringArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use onrush_learn::metrics::classification::{self, Average, Confusion};
use onrush_learn::metrics::{clusters, probability, ranking, regression};
use onrush_learn::{Error, ErrorKind};
use onrush_wire::Diagnostic;
use serde::{Deserialize, Serialize};

use super::function::{Call, Function, Kind, function};
use super::{Aggregation, Lower, TypedExpr};
use crate::diagnostics::{self, type_name};
use crate::error::{external, internal};
use crate::type_coercion;

/// The operands of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Of {
    /// Two columns of classes: numbers, strings or booleans.
    Classes,
    /// Two columns of numbers.
    Numbers,
    /// Classes, and the probability or score of the positive class.
    Scores,
}

macro_rules! metrics {
    ($($name:literal $of:ident;)*) => {
        pub const FUNCTIONS: &[Function] = &[
            $(function($name, &[], Kind::Aggregate, "self:any predicted:any", |l, c| metric(l, c, $name, Of::$of)),)*
        ];
    };
}
metrics! {
    "accuracy_score" Classes;
    "balanced_accuracy_score" Classes;
    "precision_score" Classes;
    "recall_score" Classes;
    "f1_score" Classes;
    "f1_macro_score" Classes;
    "f1_weighted_score" Classes;
    "jaccard_score" Classes;
    "matthews_corrcoef" Classes;
    "cohen_kappa_score" Classes;
    "zero_one_loss" Classes;
    "adjusted_rand_score" Classes;
    "normalized_mutual_info_score" Classes;
    "adjusted_mutual_info_score" Classes;
    "v_measure_score" Classes;
    "fowlkes_mallows_score" Classes;
    "homogeneity_score" Classes;
    "completeness_score" Classes;
    "rand_score" Classes;
    "mutual_info_score" Classes;
    "roc_auc_score" Scores;
    "average_precision_score" Scores;
    "log_loss" Scores;
    "brier_score_loss" Scores;
    "r2_score" Numbers;
    "explained_variance_score" Numbers;
    "mean_squared_error" Numbers;
    "root_mean_squared_error" Numbers;
    "mean_absolute_error" Numbers;
    "median_absolute_error" Numbers;
    "mean_absolute_percentage_error" Numbers;
    "mean_squared_log_error" Numbers;
    "max_error" Numbers;
    "mean_pinball_loss" Numbers;
    "mean_poisson_deviance" Numbers;
    "mean_gamma_deviance" Numbers;
    "d2_absolute_error_score" Numbers;
}

fn metric(lower: &mut Lower, call: &Call, name: &'static str, of: Of) -> std::result::Result<TypedExpr, Diagnostic> {
    let (truth, predicted) = (call.this(), call.arg(1));
    let is_number = |value: &TypedExpr| type_coercion::is_feature(&value.dtype);
    let needs_numbers: &[&TypedExpr] = match of {
        Of::Numbers => &[&truth, &predicted],
        Of::Scores => &[&predicted],
        Of::Classes => &[],
    };
    for value in needs_numbers {
        if !is_number(value) {
            let message = format!("`{name}` compares numbers, and `{}` is `{}`", value.name, type_name(&value.dtype));
            return Err(lower.fail(
                diagnostics::plan_error("type-mismatch", message),
                value.span.as_ref().or(call.span),
                "",
            ));
        }
    }
    let are_strings = !is_number(&truth) || (of == Of::Classes && !is_number(&predicted));
    let truth_expr = if are_strings { truth.text() } else { truth.f64() };
    let predicted_expr = if are_strings && of == Of::Classes { predicted.text() } else { predicted.f64() };
    let function = Metric::function(name, are_strings, of);
    let expr = lower.aggregate(function, vec![truth_expr, predicted_expr], Aggregation::default())?;
    Ok(TypedExpr { name: name.to_string(), ..truth.with(expr, DataType::Float64) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Metric {
    name: &'static str,
    /// The true classes are strings; predicted ones, too, unless they are scores.
    are_strings: bool,
    of: Of,
    signature: Signature,
}

impl Metric {
    fn function(name: &'static str, are_strings: bool, of: Of) -> Arc<AggregateUDF> {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Metric { name, are_strings, of, signature }))
    }
}

/// A metric as data.
#[derive(Serialize, Deserialize)]
pub(crate) struct MetricForm {
    name: String,
    are_strings: bool,
    of: Of,
}

impl MetricForm {
    /// The form of a metric. `None` for any other function.
    pub(crate) fn of(function: &AggregateUDF) -> Option<MetricForm> {
        let inner: &dyn Any = function.inner().as_ref();
        let Metric { name, are_strings, of, .. } = inner.downcast_ref::<Metric>()?;
        Some(MetricForm { name: (*name).to_string(), are_strings: *are_strings, of: *of })
    }

    /// # Errors
    /// If there is no metric of the name.
    pub(crate) fn into_function(self) -> Result<Arc<AggregateUDF>> {
        let known = FUNCTIONS.iter().find(|function| function.name == self.name);
        let known = known.ok_or_else(|| external(internal(&format!("there is no metric `{}`", self.name))))?;
        Ok(Metric::function(known.name, self.are_strings, self.of))
    }
}

impl AggregateUDFImpl for Metric {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let predicted_strings = self.are_strings && self.of == Of::Classes;
        Ok(Box::new(Pairs {
            name: self.name,
            of: self.of,
            truth: Side::new(self.are_strings),
            predicted: Side::new(predicted_strings),
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |name: &str, strings: bool| {
            let item = if strings { DataType::Utf8 } else { DataType::Float64 };
            let list = DataType::List(Arc::new(Field::new_list_field(item, true)));
            Arc::new(Field::new(format!("{}[{name}]", args.name), list, true))
        };
        Ok(vec![field("truth", self.are_strings), field("predicted", self.are_strings && self.of == Of::Classes)])
    }
}

/// The values of one of the columns.
#[derive(Debug)]
enum Side {
    Numbers(Vec<f64>),
    Strings { codes: Vec<u32>, names: Vec<String>, known: HashMap<String, u32> },
}

impl Side {
    fn new(strings: bool) -> Side {
        match strings {
            true => Side::Strings { codes: Vec::new(), names: Vec::new(), known: HashMap::new() },
            false => Side::Numbers(Vec::new()),
        }
    }

    fn push(&mut self, array: &dyn Array, row: usize) {
        match self {
            // Minus zero is zero.
            Side::Numbers(values) => values.push(array.as_primitive::<Float64Type>().value(row) + 0.0),
            Side::Strings { codes, names, known } => {
                let value = array.as_string::<i32>().value(row);
                let code = known.get(value).copied().unwrap_or_else(|| {
                    names.push(value.to_string());
                    known.insert(value.to_string(), names.len() as u32 - 1);
                    names.len() as u32 - 1
                });
                codes.push(code);
            }
        }
    }

    fn dtype(&self) -> DataType {
        match self {
            Side::Numbers(_) => DataType::Float64,
            Side::Strings { .. } => DataType::Utf8,
        }
    }

    fn array(&self) -> ArrayRef {
        match self {
            Side::Numbers(values) => Arc::new(Float64Array::from(values.clone())),
            Side::Strings { codes, names, .. } => {
                Arc::new(StringArray::from_iter_values(codes.iter().map(|c| &names[*c as usize])))
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Side::Numbers(values) => values.capacity() * size_of::<f64>(),
            Side::Strings { codes, names, .. } => {
                codes.capacity() * size_of::<u32>() + names.iter().map(|n| 2 * n.len() + 64).sum::<usize>()
            }
        }
    }
}

/// The rows of a group.
struct Pairs {
    name: &'static str,
    of: Of,
    truth: Side,
    predicted: Side,
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Pairs {
    fn add(&mut self, truth: &ArrayRef, predicted: &ArrayRef) -> Result<()> {
        let (truth, predicted) = (cast(truth, &self.truth.dtype())?, cast(predicted, &self.predicted.dtype())?);
        for row in 0..truth.len() {
            if truth.is_valid(row) && predicted.is_valid(row) {
                self.truth.push(&truth, row);
                self.predicted.push(&predicted, row);
            }
        }
        Ok(())
    }

    /// Both columns as positions in the sorted classes of both, and how many classes there are.
    fn classes(&self) -> (Vec<f64>, Vec<f64>, usize) {
        match (&self.truth, &self.predicted) {
            (Side::Strings { codes: a, names, .. }, Side::Strings { codes: b, names: others, .. }) => {
                let mut all: Vec<&String> = names.iter().chain(others).collect();
                all.sort();
                all.dedup();
                let rank = |name: &String| all.partition_point(|other| *other < name) as f64;
                let (ra, rb): (Vec<f64>, Vec<f64>) =
                    (names.iter().map(rank).collect(), others.iter().map(rank).collect());
                let positions = |codes: &[u32], ranks: &[f64]| codes.iter().map(|c| ranks[*c as usize]).collect();
                (positions(a, &ra), positions(b, &rb), all.len())
            }
            (Side::Numbers(a), Side::Numbers(b)) => {
                // As in scikit-learn, 0 and 1 are the negative and the positive class, also in a group that has one of
                // them.
                if a.iter().chain(b).all(|v| *v == 0.0 || *v == 1.0) {
                    return (a.clone(), b.clone(), 2);
                }
                let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
                all.sort_by(f64::total_cmp);
                all.dedup();
                let positions = |values: &[f64]| {
                    values.iter().map(|v| all.partition_point(|o| o.total_cmp(v).is_lt()) as f64).collect()
                };
                (positions(a), positions(b), all.len())
            }
            _ => (Vec::new(), Vec::new(), 0),
        }
    }

    /// Whether each row is of the second class, and the scores.
    fn scores(&self) -> std::result::Result<(Vec<bool>, &[f64]), Error> {
        let Side::Numbers(scores) = &self.predicted else {
            return Err(Error::new(ErrorKind::Metric, "scores are numbers"));
        };
        let alone = Pairs { name: self.name, of: Of::Classes, truth: Side::new(false), predicted: Side::new(false) };
        let (positions, classes) = match &self.truth {
            Side::Numbers(values) => {
                let both =
                    Pairs { truth: Side::Numbers(values.clone()), predicted: Side::Numbers(values.clone()), ..alone };
                let (positions, _, classes) = both.classes();
                (positions, classes)
            }
            Side::Strings { codes, names, .. } => {
                let mut order: Vec<u32> = (0..names.len() as u32).collect();
                order.sort_by_key(|code| &names[*code as usize]);
                let mut rank = vec![0.0; names.len()];
                order.iter().enumerate().for_each(|(position, code)| rank[*code as usize] = position as f64);
                (codes.iter().map(|c| rank[*c as usize]).collect(), names.len())
            }
        };
        if classes < 2 {
            // The class cannot be known.
            return Ok((Vec::new(), scores));
        }
        if classes > 2 {
            let message =
                format!("`{}` compares two classes with the score of the second, and there are {classes}", self.name);
            return Err(Error::new(ErrorKind::Metric, message));
        }
        Ok((positions.into_iter().map(|p| p > 0.0).collect(), scores))
    }

    fn value(&self) -> std::result::Result<f64, Error> {
        match self.of {
            Of::Numbers => {
                let (Side::Numbers(y), Side::Numbers(p)) = (&self.truth, &self.predicted) else {
                    return Err(Error::new(ErrorKind::Metric, "numbers are compared"));
                };
                of_numbers(self.name, y, p)
            }
            Of::Scores => {
                let (positive, scores) = self.scores()?;
                if positive.is_empty() {
                    return Ok(f64::NAN);
                }
                let y: Vec<f64> = positive.iter().map(|p| f64::from(*p)).collect();
                let other: Vec<f64> = scores.iter().map(|p| 1.0 - p).collect();
                Ok(match self.name {
                    "roc_auc_score" => ranking::roc_auc(&positive, scores, None),
                    "average_precision_score" => ranking::average_precision(&positive, scores, None),
                    "log_loss" => probability::log_loss(&y, &[&other, scores], None),
                    _ => probability::brier_score(&y, &[&other, scores], None),
                })
            }
            Of::Classes => {
                let (y, p, classes) = self.classes();
                of_classes(self.name, &y, &p, classes)
            }
        }
    }
}

fn of_numbers(name: &str, y: &[f64], p: &[f64]) -> std::result::Result<f64, Error> {
    Ok(match name {
        "r2_score" => regression::r2(y, p, None),
        "explained_variance_score" => regression::explained_variance(y, p, None),
        "mean_squared_error" => regression::mean_squared_error(y, p, None),
        "root_mean_squared_error" => regression::root_mean_squared_error(y, p, None),
        "mean_absolute_error" => regression::mean_absolute_error(y, p, None),
        "median_absolute_error" => regression::median_absolute_error(y, p, None),
        "mean_absolute_percentage_error" => regression::mean_absolute_percentage_error(y, p, None),
        "mean_squared_log_error" => regression::mean_squared_log_error(y, p, None)?,
        "max_error" => regression::max_error(y, p),
        "mean_pinball_loss" => regression::mean_pinball_loss(y, p, None, 0.5),
        "mean_poisson_deviance" => regression::mean_tweedie_deviance(y, p, None, 1.0)?,
        "mean_gamma_deviance" => regression::mean_tweedie_deviance(y, p, None, 2.0)?,
        _ => regression::d2_absolute_error_score(y, p, None),
    })
}

/// Classes of which pairs are counted at most.
const MOST_CLASSES: usize = 2048;

fn of_classes(name: &str, y: &[f64], p: &[f64], classes: usize) -> std::result::Result<f64, Error> {
    let counts = !matches!(
        name,
        "accuracy_score"
            | "zero_one_loss"
            | "adjusted_rand_score"
            | "normalized_mutual_info_score"
            | "adjusted_mutual_info_score"
            | "v_measure_score"
            | "fowlkes_mallows_score"
            | "homogeneity_score"
            | "completeness_score"
            | "rand_score"
            | "mutual_info_score"
    );
    if counts && classes > MOST_CLASSES {
        let message =
            format!("`{name}` compares classes, and there are {classes} different values: at most {MOST_CLASSES}");
        return Err(Error::new(ErrorKind::Metric, message)
            .help("metrics of numbers are `r2_score`, `mean_squared_error` and so on"));
    }
    let confusion = || Confusion::new(y, p, None, classes);
    let binary = || match classes {
        0..=2 => Ok(Average::Binary),
        _ => Err(Error::new(ErrorKind::Metric, format!("`{name}` is for two classes, and there are {classes}"))
            .help("`f1_macro_score` and `f1_weighted_score` take any number of classes")),
    };
    Ok(match name {
        "accuracy_score" => classification::accuracy(y, p, None),
        "zero_one_loss" => classification::zero_one_loss(y, p, None),
        "balanced_accuracy_score" => confusion().balanced_accuracy(),
        "precision_score" => binary().map(|average| confusion().precision(average))?,
        "recall_score" => binary().map(|average| confusion().recall(average))?,
        "f1_score" => binary().map(|average| confusion().fbeta(1.0, average))?,
        "f1_macro_score" => confusion().fbeta(1.0, Average::Macro),
        "f1_weighted_score" => confusion().fbeta(1.0, Average::Weighted),
        "jaccard_score" => binary().map(|average| confusion().jaccard(average))?,
        "matthews_corrcoef" => confusion().matthews_corrcoef(),
        "cohen_kappa_score" => confusion().cohen_kappa(None),
        "adjusted_rand_score" => clusters::adjusted_rand_score(y, p),
        "normalized_mutual_info_score" => clusters::normalized_mutual_info_score(y, p),
        "adjusted_mutual_info_score" => clusters::adjusted_mutual_info_score(y, p),
        "v_measure_score" => clusters::homogeneity_completeness_v_measure(y, p).2,
        "homogeneity_score" => clusters::homogeneity_completeness_v_measure(y, p).0,
        "completeness_score" => clusters::homogeneity_completeness_v_measure(y, p).1,
        "rand_score" => clusters::rand_score(y, p),
        "mutual_info_score" => clusters::mutual_info_score(y, p),
        _ => clusters::fowlkes_mallows_score(y, p),
    })
}

impl Accumulator for Pairs {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], &values[1])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let is_empty = match &self.truth {
            Side::Numbers(values) => values.is_empty(),
            Side::Strings { codes, .. } => codes.is_empty(),
        };
        if is_empty {
            return Ok(ScalarValue::Float64(None));
        }
        let value = self.value().map_err(|error| {
            let diagnostic = diagnostics::plan_error(error.kind.code(), error.message);
            DataFusionError::External(Box::new(error.help.into_iter().fold(diagnostic, Diagnostic::help)))
        })?;
        Ok(ScalarValue::Float64((!value.is_nan()).then_some(value)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.truth.bytes() + self.predicted.bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |side: &Side| -> Result<ScalarValue> {
            let (array, item) = (side.array(), Arc::new(Field::new_list_field(side.dtype(), true)));
            let list = ListArray::try_new(item, OffsetBuffer::from_lengths([array.len()]), array, None)?;
            Ok(ScalarValue::List(Arc::new(list)))
        };
        Ok(vec![list(&self.truth)?, list(&self.predicted)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (truth, predicted) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for row in 0..truth.len() {
            if truth.is_valid(row) && predicted.is_valid(row) {
                self.add(&truth.value(row), &predicted.value(row))?;
            }
        }
        Ok(())
    }
}
