//! Folds of cross-validation inside an estimator: scikit-learn's `KFold` and `StratifiedKFold`.

use onrush_wire::learn::{Spec, Splitter};

use crate::data::Data;
use crate::error::Error;
use crate::random::Mt19937;

/// The number of the fold in which each row is a test row, and how many folds there are.
pub struct Folds {
    pub of_row: Vec<usize>,
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
}

/// The folds that `cv` asks for: a splitter, or a number of folds, which are stratified for a classifier and
/// consecutive rows for a regressor. `None` if neither is set.
///
/// # Errors
/// If there are fewer rows than folds, or classes of fewer rows, if a fold has no weight, or if the splitter has no
/// disjoint folds.
pub fn of(spec: &Spec, data: &Data) -> Result<Option<Folds>, Error> {
    let classifier = !data.classes.is_empty();
    let (count, stratified, seed) = match (&spec.cv, spec.count("cv")) {
        (Some(Splitter::Auto { n_splits }), _) => (*n_splits, classifier, None),
        (Some(Splitter::KFold { n_splits, shuffle, random_state }), _) => {
            (*n_splits, false, shuffle.then_some(*random_state))
        }
        (Some(Splitter::StratifiedKFold { n_splits, shuffle, random_state }), _) => {
            (*n_splits, true, shuffle.then_some(*random_state))
        }
        (Some(Splitter::LeaveOneOut), _) => (data.rows, false, None),
        (Some(_), _) => {
            let message = format!("{} takes a number of folds, `KFold` or `StratifiedKFold` as `cv`", spec.estimator);
            return Err(Error::new("cv", message).help("`GridSearchCV` takes any splitter"));
        }
        (None, Some(count)) => (count, classifier, None),
        (None, None) => return Ok(None),
    };
    if count < 2 {
        return Err(Error::new("cv", format!("`cv` is {count}: at least 2 folds")));
    }
    if data.rows < count {
        return Err(Error::new("cv", format!("{count} folds of {} rows: each fold needs a row", data.rows))
            .help(format!("take at most {} folds", data.rows)));
    }
    let of_row = match stratified {
        true => stratified_folds(data, count, seed)?,
        false => consecutive(data.rows, count, seed),
    };
    let mut weight = vec![0.0; count];
    of_row.iter().enumerate().for_each(|(row, fold)| weight[*fold] += data.weight_of(row));
    let total: f64 = weight.iter().sum();
    if let Some(fold) = weight.iter().position(|w| !(*w > 0.0 && *w < total)) {
        return Err(Error::new("weight", format!("fold {fold} of {count} has all of the sample weight or none of it"))
            .help("shuffle the folds, or leave rows of weight 0 out"));
    }
    Ok(Some(Folds { of_row, count }))
}

/// `KFold`: the first folds have one row more.
fn consecutive(rows: usize, count: usize, seed: Option<u32>) -> Vec<usize> {
    let order: Vec<usize> = match seed {
        Some(seed) => Mt19937::new(seed).permutation(rows),
        None => (0..rows).collect(),
    };
    let mut of_row = vec![0; rows];
    let mut start = 0;
    for fold in 0..count {
        let size = rows / count + usize::from(fold < rows % count);
        order[start..start + size].iter().for_each(|row| of_row[*row] = fold);
        start += size;
    }
    of_row
}

/// `StratifiedKFold`: the sorted classes are dealt out to the folds in turn, and the rows of each class get its folds
/// in order.
fn stratified_folds(data: &Data, count: usize, seed: Option<u32>) -> Result<Vec<usize>, Error> {
    if data.classes.is_empty() {
        return Err(
            Error::new("cv", "`StratifiedKFold` needs classes, and the target is a number").help("take `KFold`")
        );
    }
    let classes = data.classes.len();
    let code: Vec<usize> = data.y.iter().map(|y| *y as usize).collect();
    // Classes count in the order in which they appear first.
    let mut order: Vec<usize> = Vec::new();
    let mut rank = vec![usize::MAX; classes];
    for c in &code {
        if rank[*c] == usize::MAX {
            rank[*c] = order.len();
            order.push(*c);
        }
    }
    let mut counts = vec![0usize; order.len()];
    code.iter().for_each(|c| counts[rank[*c]] += 1);
    if counts.iter().all(|n| *n < count) {
        let most = counts.iter().copied().max().unwrap_or(0);
        return Err(Error::new("cv", format!("{count} folds, but no class has more than {most} rows"))
            .help(format!("take at most {most} folds")));
    }
    let mut allocation = vec![vec![0usize; order.len()]; count];
    let mut position = 0;
    for (class, n) in counts.iter().enumerate() {
        for _ in 0..*n {
            allocation[position % count][class] += 1;
            position += 1;
        }
    }
    let mut random = seed.map(Mt19937::new);
    let mut of_row = vec![0; data.rows];
    for (class, name) in order.iter().enumerate() {
        let mut folds: Vec<usize> = (0..count).flat_map(|f| std::iter::repeat_n(f, allocation[f][class])).collect();
        if let Some(random) = &mut random {
            random.shuffle(&mut folds);
        }
        let rows = (0..data.rows).filter(|i| code[*i] == *name);
        rows.zip(folds).for_each(|(row, fold)| of_row[row] = fold);
    }
    Ok(of_row)
}
