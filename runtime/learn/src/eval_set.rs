//! Evaluation sets of boosted models, made to fit the training rows.

use onrush_wire::learn::Spec;

use crate::check;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Field, codes, missing};

/// An evaluation set with the features, the codes of categories and the classes of the training. A category that the
/// training has none of is missing.
///
/// # Errors
/// If a feature or a class is not there, or a value or a weight cannot be used. If there are no rows.
pub fn aligned(spec: &Spec, data: &Data, eval: &Data) -> Result<Data, Error> {
    let known: Vec<Field> =
        data.features.iter().map(|c| Field { name: c.name.clone(), kind: c.kind.clone() }).collect();
    let mut columns = Vec::new();
    for field in &known {
        let column = eval.feature(&field.name).ok_or_else(|| missing(&field.name, &known))?;
        let values = match (&field.kind, &column.kind) {
            (Kind::Category(names), Kind::Category(others)) if names != others => {
                let codes = codes(names, others);
                let code = |v: &f64| codes.get(*v as usize).copied().filter(|code| *code < names.len() as f64);
                let code = |v: &f64| if v.is_nan() { *v } else { code(v).unwrap_or(f64::NAN) };
                column.values.iter().map(code).collect()
            }
            (Kind::Number, Kind::Number) | (Kind::Category(_), Kind::Category(_)) => column.values.clone(),
            _ => {
                let message = format!("`{}` of `eval_set` has another type than in training", field.name);
                return Err(Error::new(ErrorKind::TypeMismatch, message));
            }
        };
        columns.push(Column { name: field.name.clone(), kind: field.kind.clone(), values });
    }
    let mut y = eval.y.clone();
    if eval.classes != data.classes {
        let codes = codes(&data.classes, &eval.classes);
        if let Some(unknown) = codes.iter().position(|code| *code as usize == data.classes.len()) {
            let class = &eval.classes[unknown];
            let message = format!("`eval_set` has the class `{class}`, and the training has none of it");
            return Err(Error::new(ErrorKind::UnknownClass, message)
                .help(format!("its classes are {}", data.classes.join(", "))));
        }
        y.iter_mut().for_each(|y| *y = codes.get(*y as usize).copied().unwrap_or(f64::NAN));
    }
    if let Some(row) = y.iter().position(|y| !y.is_finite()) {
        let message = format!("the target `{}` of `eval_set` is null or infinite in row {row}", data.target);
        return Err(Error::new(ErrorKind::Nulls, message).help("`drop_nulls()` leaves these rows out"));
    }
    if let Some(bad) = eval.weight.iter().flatten().find(|w| !(w.is_finite() && **w >= 0.0)) {
        return Err(Error::new(ErrorKind::Weight, format!("a weight of `eval_set` is {bad}: at least 0")));
    }
    if eval.rows == 0 {
        return Err(Error::new(ErrorKind::NoRows, "a frame of `eval_set` has no rows"));
    }
    let aligned = Data { y, ..eval.with_features(columns) };
    check::features(spec, &aligned)?;
    Ok(aligned)
}
