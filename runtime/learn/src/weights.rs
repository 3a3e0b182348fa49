//! Weights of rows: those of the user, times those of classes.

use onrush_wire::learn::Param;

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params::word;

/// The weight of each row. `None` if all weigh 1. `class_weight` is that of [`of_counts`].
///
/// # Errors
/// As [`of_counts`].
pub fn of_rows(class_weight: &Param, data: &Data) -> Result<Option<Vec<f64>>, Error> {
    let Some(by_class) = of_classes(class_weight, data)? else { return Ok(data.weight.clone()) };
    Ok(Some((0..data.rows).map(|row| by_class[data.y[row] as usize] * data.weight_of(row)).collect()))
}

/// The weight of each class, of which rows count once whatever they weigh. `None` if all weigh 1.
///
/// # Errors
/// As [`of_counts`].
pub fn of_classes(class_weight: &Param, data: &Data) -> Result<Option<Vec<f64>>, Error> {
    let mut counts = vec![0.0; data.classes.len()];
    if word(class_weight) == Some("balanced") {
        data.y.iter().for_each(|class| counts[*class as usize] += 1.0);
    }
    of_counts(class_weight, data, &counts)
}

/// The weight of each class. `None` if all weigh 1. `class_weight` is `"balanced"`, or a list with one weight for each
/// class in their order. Balanced classes weigh rows / (classes x rows of the class), as in scikit-learn; `counts` are
/// the rows of the classes.
///
/// # Errors
/// If `class_weight` is neither, or a weight is not a finite number of at least 0.
pub fn of_counts(class_weight: &Param, data: &Data, counts: &[f64]) -> Result<Option<Vec<f64>>, Error> {
    match class_weight {
        Param::None => Ok(None),
        Param::Str(word) if word == "balanced" => {
            let total: f64 = counts.iter().sum();
            let share = |n: &f64| if *n > 0.0 { total / (counts.len() as f64 * n) } else { 0.0 };
            Ok(Some(counts.iter().map(share).collect()))
        }
        Param::List(list) if list.len() == data.classes.len() => {
            let weights = list.iter().map(|w| w.as_f64().filter(|w| w.is_finite() && *w >= 0.0));
            weights.collect::<Option<Vec<f64>>>().map(Some).ok_or_else(|| {
                let message = format!("`class_weight` is {class_weight}: expected finite numbers of at least 0");
                Error::new(ErrorKind::Parameter, message)
            })
        }
        other => {
            let message = format!(
                "`class_weight` is {other}: \"balanced\", or one number for each of {}",
                data.classes.join(", ")
            );
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}
