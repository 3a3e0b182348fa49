//! Outputs of linear models as expressions of DataFusion.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, CastExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::{LinearForm, LinearLink};

type Physical = Arc<dyn PhysicalExpr>;

/// Classes of a softmax at most.
const MOST_CLASSES: usize = 4;

fn literal(value: ScalarValue) -> Physical {
    Arc::new(Literal::new(value))
}

fn number(value: f64) -> Physical {
    literal(ScalarValue::Float64(Some(value)))
}

fn binary(left: &Physical, operator: Operator, right: &Physical) -> Physical {
    Arc::new(BinaryExpr::new(Arc::clone(left), operator, Arc::clone(right)))
}

fn choose(condition: Physical, yes: Physical, no: Physical) -> Option<Physical> {
    Some(Arc::new(CaseExpr::try_new(None, vec![(condition, yes)], Some(no)).ok()?))
}

fn exp(argument: Physical) -> Physical {
    let field = Arc::new(Field::new("exp", DataType::Float64, true));
    let function = datafusion::functions::math::exp();
    Arc::new(ScalarFunctionExpr::new("exp", function, vec![argument], field, Arc::new(ConfigOptions::default())))
}

/// A sum in the form of a balanced tree: its depth is the logarithm of the number of terms.
fn sum(terms: &[Physical]) -> Physical {
    match terms {
        [] => number(0.0),
        [only] => Arc::clone(only),
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            binary(&sum(left), Operator::Plus, &sum(right))
        }
    }
}

/// A score, or a division by zero where it is null or not finite.
fn score(coef: &[f64], intercept: f64, shift: &[f64], features: &[Physical]) -> Option<Physical> {
    let term = |((feature, coef), shift): ((&Physical, &f64), &f64)| {
        let centred =
            if *shift == 0.0 { Arc::clone(feature) } else { binary(feature, Operator::Minus, &number(*shift)) };
        binary(&centred, Operator::Multiply, &number(*coef))
    };
    let terms: Vec<Physical> = features.iter().zip(coef).zip(shift).map(term).collect();
    let score = binary(&sum(&terms), Operator::Plus, &number(intercept));
    let zero = binary(&score, Operator::Minus, &score);
    let integer = |value: i64| literal(ScalarValue::Int64(Some(value)));
    let fails = binary(&integer(1), Operator::Divide, &integer(0));
    let fails = Arc::new(CastExpr::new(fails, DataType::Float64, None));
    choose(binary(&zero, Operator::Eq, &number(0.0)), score, fails)
}

/// The output at `position`.
pub fn output(form: &LinearForm, features: &[Physical], position: usize) -> Option<Physical> {
    let one = |k: usize| score(form.coef.get(k)?, *form.intercept.get(k)?, &form.shift, features);
    match &form.link {
        LinearLink::Identity => one(position),
        LinearLink::Logistic(classes) => {
            let z = one(0)?;
            match position {
                0 => {
                    let above = binary(&z, Operator::Gt, &number(0.0));
                    choose(above, literal(classes.get(1)?.clone()), literal(classes.first()?.clone()))
                }
                // 1 / (1 + exp(-z)), and of the first class 1 / (1 + exp(z)).
                _ => {
                    let sign = if position == 2 { -1.0 } else { 1.0 };
                    let power = exp(binary(&z, Operator::Multiply, &number(sign)));
                    Some(binary(&number(1.0), Operator::Divide, &binary(&number(1.0), Operator::Plus, &power)))
                }
            }
        }
        // Each maximum occurs twice in the next one, and plans are trees.
        LinearLink::Softmax(classes) if classes.len() > MOST_CLASSES => None,
        LinearLink::Softmax(classes) => {
            let scores = (0..classes.len()).map(one).collect::<Option<Vec<Physical>>>()?;
            let (first, rest) = scores.split_first()?;
            let (mut most, mut class) = (Arc::clone(first), literal(classes.first()?.clone()));
            for (score, name) in rest.iter().zip(&classes[1..]) {
                let above = binary(score, Operator::Gt, &most);
                class = choose(Arc::clone(&above), literal(name.clone()), class)?;
                most = choose(above, Arc::clone(score), most)?;
            }
            if position == 0 {
                return Some(class);
            }
            let powers: Vec<Physical> = scores.iter().map(|s| exp(binary(s, Operator::Minus, &most))).collect();
            Some(binary(powers.get(position - 1)?, Operator::Divide, &sum(&powers)))
        }
    }
}
