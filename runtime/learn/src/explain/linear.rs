//! SHAP values of linear scores with independent features (`shap.LinearExplainer`): the coefficient times how far the
//! value is from the mean of background rows.

use rayon::prelude::*;

use super::ShapValues;
use crate::data::Data;

/// The SHAP values of rows. `coef` is scores x features, and `shift` is taken from the features first. Background rows
/// count equally.
pub fn explain(coef: &[Vec<f64>], intercept: &[f64], shift: &[f64], (data, background): (&Data, &Data)) -> ShapValues {
    let means = background.means();
    let shifted = |coef: &[f64]| {
        let terms = coef.iter().zip(&means).zip(shift);
        terms.map(|((coef, mean), shift)| coef * (mean - shift)).sum::<f64>()
    };
    let base = coef.iter().zip(intercept).map(|(coef, b)| b + shifted(coef)).collect();
    let of_output = |coef: &Vec<f64>| {
        let column = |j: usize| data.features[j].values.iter().map(|v| coef[j] * (v - means[j])).collect::<Vec<f64>>();
        (0..data.width()).into_par_iter().map(column).collect()
    };
    ShapValues { base, values: coef.iter().map(of_output).collect() }
}
