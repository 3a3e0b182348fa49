//! Scores by the number of training rows (`sklearn.model_selection.learning_curve`).

use onrush_wire::learn::{Size, Spec, Splitter, TrainSizes};

use super::validate::{self, Fold};
use crate::check;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::Trainer;
use crate::random::Mt19937;
use crate::run::Run;
use crate::split::RowSplit;

/// The work of [`crate::learning_curve`] with any trainer: for each number of training rows and each fold the number
/// and the scores.
///
/// # Errors
/// If a size does not fit the rows, if a split, a training or a score fails, and if the user stops the work.
pub(crate) fn learning_curve(
    spec: &Spec,
    data: &Data,
    splitter: &Splitter,
    sizes: &TrainSizes,
    scorers: &[String],
    run: &Run<'_>,
    trainer: Trainer<'_>,
) -> Result<Vec<(usize, Fold)>, Error> {
    check::spec(spec)?;
    let scorers = validate::named(scorers, !data.classes.is_empty())?;
    let mut splits = validate::splits_of(data, splitter)?;
    let most = splits.first().map_or(0, |(train, _)| train.len());
    let numbers = numbers_of_rows(&sizes.sizes, most)?;
    if sizes.shuffle {
        let mut random = Mt19937::new(sizes.random_state);
        splits.iter_mut().for_each(|(train, _)| random.shuffle(train));
    }
    let first = |rows: usize, (train, test): &RowSplit| (train.iter().copied().take(rows).collect(), test.clone());
    let mut curve = Vec::new();
    for (at, rows) in numbers.iter().enumerate() {
        let splits: Vec<RowSplit> = splits.iter().map(|split| first(*rows, split)).collect();
        let (before, parts) = (at as u64, numbers.len() as u64);
        let steps = |done: u64, all: u64| (run.steps)(before * all + done, parts * all);
        let inner = Run { is_stopped: run.is_stopped, stage: run.stage, steps: &steps, detail: run.detail };
        let folds = validate::score_folds(spec, data, &splits, &scorers, true, &inner, trainer);
        let folds = folds.map_err(|error| match error.kind {
            ErrorKind::OneClass if !sizes.shuffle => error
                .help(format!("the first {rows} training rows are of one class: `train_sizes([..]).shuffle(true)`")),
            _ => error,
        })?;
        curve.extend(folds.into_iter().map(|fold| (*rows, fold)));
    }
    Ok(curve)
}

/// The numbers of training rows, sorted, each once: `_translate_train_sizes`.
fn numbers_of_rows(sizes: &[Size], most: usize) -> Result<Vec<usize>, Error> {
    let number = |size: &Size| match *size {
        Size::Share(share) if share > 0.0 && share <= 1.0 => Ok(((share * most as f64) as usize).clamp(1, most.max(1))),
        Size::Rows(rows) if (1..=most).contains(&rows) => Ok(rows),
        Size::Share(share) => {
            let message = format!("`train_sizes` has {share}: a share is above 0 and at most 1");
            Err(Error::new(ErrorKind::Parameter, message))
        }
        Size::Rows(rows) => {
            let message = format!("`train_sizes` has {rows}: from 1 to {most}, the training rows of the first fold");
            Err(Error::new(ErrorKind::Parameter, message).help("shares are written with a point: `1.0`"))
        }
    };
    let mut numbers: Vec<usize> = sizes.iter().map(number).collect::<Result<_, Error>>()?;
    if numbers.is_empty() {
        return Err(Error::new(ErrorKind::Parameter, "`train_sizes` is empty: at least one number or share"));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}
