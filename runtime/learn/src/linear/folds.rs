//! Folds of cross-validation inside an estimator. Splitters are those of [`crate::split`]: stratified folds for a
//! classifier, consecutive rows for a regressor.

use onrush_wire::learn::Splitter;

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::split::splits;

/// The fold in which each row is a test row, and how many folds there are. Lists of rows are made for one fold at a
/// time, because those of all folds together take `count` times the rows.
pub struct Folds {
    of_row: Vec<usize>,
    pub count: usize,
}

impl Folds {
    /// Test rows of a fold, in order.
    pub fn test(&self, fold: usize) -> Vec<usize> {
        (0..self.of_row.len()).filter(|i| self.of_row[*i] == fold).collect()
    }

    /// Training rows of a fold, in order.
    pub fn train(&self, fold: usize) -> Vec<usize> {
        (0..self.of_row.len()).filter(|i| self.of_row[*i] != fold).collect()
    }

    /// The rows of the smallest training set.
    pub fn fewest(&self) -> usize {
        let mut tests = vec![0; self.count];
        self.of_row.iter().for_each(|fold| tests[*fold] += 1);
        self.of_row.len() - tests.into_iter().max().unwrap_or(0)
    }
}

/// Folds of a number, which is that of `cv`.
///
/// # Errors
/// If there are fewer rows than folds, or classes of fewer rows. If a fold has no weight, or folds times rows are too
/// many.
pub fn of(count: usize, data: &Data) -> Result<Folds, Error> {
    let classifier = !data.classes.is_empty();
    if count < 2 {
        return Err(Error::new(ErrorKind::Cv, format!("`cv` is {count}: at least 2 folds")));
    }
    if data.rows < count {
        return Err(Error::new(ErrorKind::Cv, format!("{count} folds of {} rows: each fold needs a row", data.rows))
            .help(format!("take at most {} folds", data.rows)));
    }
    let mut sizes = vec![0; data.classes.len()];
    data.y.iter().filter(|_| classifier).for_each(|class| sizes[*class as usize] += 1);
    if let Some(most) = sizes.iter().max().filter(|most| **most < count) {
        return Err(Error::new(ErrorKind::Cv, format!("{count} folds, but no class has more than {most} rows"))
            .help(format!("take at most {most} folds")));
    }
    let mut of_row = vec![0; data.rows];
    let found = splits(&Splitter::Auto { n_splits: count }, data.rows, Some(&data.y), classifier, None)?;
    for (fold, (_, test)) in found.into_iter().enumerate() {
        test.into_iter().for_each(|row| of_row[row] = fold);
    }
    let mut weight = vec![0.0; count];
    of_row.iter().enumerate().for_each(|(row, fold)| weight[*fold] += data.weight_of(row));
    let total: f64 = weight.iter().sum();
    if let Some(fold) = weight.iter().position(|w| !(*w > 0.0 && *w < total)) {
        return Err(Error::new(
            ErrorKind::Weight,
            format!("fold {fold} of {count} has all of the sample weight or none of it"),
        )
        .help("shuffle the folds, or leave rows of weight 0 out"));
    }
    Ok(Folds { of_row, count })
}
