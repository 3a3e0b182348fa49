//! Samplers of imbalanced-learn as steps of a pipeline: `SMOTE` (Chawla, Bowyer, Hall and Kegelmeyer 2002),
//! `RandomOverSampler` and `RandomUnderSampler`. A sampler changes the training rows. Rows that are predicted pass
//! through.

use onrush_wire::learn::{Param, Spec};

use crate::check;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;

/// Whether an estimator changes the rows of a training.
pub(crate) fn is_sampler(spec: &Spec) -> bool {
    matches!(spec.estimator.as_str(), "SMOTE" | "RandomOverSampler" | "RandomUnderSampler")
}

/// A sampler outside of a pipeline.
pub(crate) fn alone(name: &str) -> Error {
    let message = format!("{name} changes the rows of a training: it is a step of a pipeline before the last one");
    Error::new(ErrorKind::Estimator, message)
        .help(format!("`make_pipeline(({name}::new(), LogisticRegression::new()))`"))
}

/// The rows of a training after a sampler.
///
/// # Errors
/// If the target has no classes, or a parameter does not fit them. If the user stops the work.
pub(crate) fn resampled(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Data, Error> {
    check::spec(spec)?;
    if data.classes.is_empty() {
        let message = format!("{} takes a target of classes", spec.estimator);
        return Err(Error::new(ErrorKind::Target, message).help("the last step of the pipeline must be a classifier"));
    }
    check::data(spec, data)?;
    let next = match spec.estimator.as_str() {
        "SMOTE" => smote(&params::SMOTE::of(spec), data, run)?,
        "RandomOverSampler" => over(&params::RandomOverSampler::of(spec), data)?,
        _ => under(&params::RandomUnderSampler::of(spec), data)?,
    };
    run.check(|| format!("{} of {} rows", data.rows, next.rows))?;
    Ok(next)
}

/// The classes with rows, in order: their position and their rows.
fn classes(data: &Data) -> Vec<(usize, Vec<usize>)> {
    let mut rows = vec![Vec::new(); data.classes.len()];
    for (row, class) in data.y.iter().enumerate() {
        rows[*class as usize].push(row);
    }
    rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()).collect()
}

/// For each sampled class its position and its number of rows afterwards: `imblearn.utils.check_sampling_strategy`.
fn wanted(strategy: &Param, classes: &[(usize, Vec<usize>)], grows: bool) -> Result<Vec<(usize, usize)>, Error> {
    let count = |class: &(usize, Vec<usize>)| class.1.len();
    // The first one of several classes with as many rows.
    let most = classes.iter().rev().max_by_key(|class| count(class)).map_or((0, 0), |c| (c.0, count(c)));
    let least = classes.iter().min_by_key(|class| count(class)).map_or((0, 0), |c| (c.0, count(c)));
    let target = if grows { most.1 } else { least.1 };
    let all_but = |other: Option<usize>| {
        let kept = classes.iter().filter(|class| Some(class.0) != other);
        kept.map(|class| (class.0, target)).collect::<Vec<(usize, usize)>>()
    };
    let only = |class: usize| vec![(class, target)];
    let wrong = |message: String| Err(Error::new(ErrorKind::Parameter, message));
    match (strategy, strategy.as_f64()) {
        (Param::Str(word), _) => match (word.as_str(), grows) {
            ("auto" | "not majority", true) | ("not majority", false) => Ok(all_but(Some(most.0))),
            ("auto" | "not minority", false) | ("not minority", true) => Ok(all_but(Some(least.0))),
            ("all", _) => Ok(all_but(None)),
            ("minority", true) => Ok(only(least.0)),
            ("majority", false) => Ok(only(most.0)),
            _ => {
                let other = if grows { "minority" } else { "majority" };
                wrong(format!(
                    "`sampling_strategy` is {word:?}: \"auto\", \"{other}\", \"not minority\", \"not majority\", \
                     \"all\" or a number"
                ))
            }
        },
        (_, Some(ratio)) if ratio > 0.0 && ratio <= 1.0 => {
            if classes.len() != 2 {
                return wrong(format!(
                    "`sampling_strategy` is {ratio}, and there are {} classes: a number takes 2",
                    classes.len()
                ));
            }
            let (class, size, rows) = match grows {
                true => (least.0, (most.1 as f64 * ratio) as usize, least.1),
                false => (most.0, (least.1 as f64 / ratio) as usize, most.1),
            };
            match if grows { size < rows } else { size > rows } {
                true => wrong(format!(
                    "`sampling_strategy` is {ratio}, which the classes have already: {} and {} rows",
                    most.1, least.1
                )),
                false => Ok(vec![(class, size)]),
            }
        }
        (other, _) => wrong(format!("`sampling_strategy` is {other}: a string or a number above 0, at most 1")),
    }
}

/// The positions of the classes of [`wanted`] with their rows and the number of new rows.
fn additions<'a>(
    strategy: &Param,
    classes: &'a [(usize, Vec<usize>)],
) -> Result<Vec<(usize, &'a [usize], usize)>, Error> {
    let found = wanted(strategy, classes, true)?.into_iter().filter_map(|(class, size)| {
        let rows = &classes.iter().find(|(other, _)| *other == class)?.1;
        Some((class, rows.as_slice(), size.saturating_sub(rows.len())))
    });
    Ok(found.collect())
}

fn over(params: &params::RandomOverSampler, data: &Data) -> Result<Data, Error> {
    let classes = classes(data);
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut rows: Vec<usize> = (0..data.rows).collect();
    // For each new row the shifts of its features.
    let mut shifts: Vec<Vec<f64>> = Vec::new();
    let width = data.width();
    let smooth = (4.0 / ((width as f64 + 2.0) * data.rows as f64)).powf(1.0 / (width as f64 + 4.0));
    for (_, own, count) in additions(&params.sampling_strategy, &classes)? {
        rows.extend((0..count).map(|_| own[random.randint(0, own.len() as u64) as usize]));
        let Some(shrinkage) = params.shrinkage else { continue };
        if let Some(column) = data.features.iter().find(|c| c.kind != Kind::Number) {
            let message = format!("`{}` holds strings, and `shrinkage` takes numbers", column.name);
            return Err(Error::new(ErrorKind::Strings, message));
        }
        let deviation = |column: &Column| {
            let mean = own.iter().map(|row| column.values[*row]).sum::<f64>() / own.len() as f64;
            let square = own.iter().map(|row| (column.values[*row] - mean).powi(2)).sum::<f64>();
            shrinkage * smooth * (square / own.len() as f64).sqrt()
        };
        let scales: Vec<f64> = data.features.iter().map(deviation).collect();
        shifts.extend((0..count).map(|_| scales.iter().map(|scale| scale * random.normal()).collect()));
    }
    let mut next = data.take(&rows);
    for (row, shift) in (data.rows..next.rows).zip(&shifts) {
        next.features.iter_mut().zip(shift).for_each(|(column, shift)| column.values[row] += shift);
    }
    Ok(next)
}

fn under(params: &params::RandomUnderSampler, data: &Data) -> Result<Data, Error> {
    let classes = classes(data);
    let wanted = wanted(&params.sampling_strategy, &classes, false)?;
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut rows: Vec<usize> = Vec::new();
    for (class, own) in &classes {
        match wanted.iter().find(|(other, _)| other == class) {
            Some((_, size)) if params.replacement => {
                rows.extend((0..*size).map(|_| own[random.randint(0, own.len() as u64) as usize]));
            }
            Some((_, size)) => rows.extend(random.choice(own.len(), *size).into_iter().map(|at| own[at])),
            None => rows.extend(own),
        }
    }
    Ok(data.take(&rows))
}

fn smote(params: &params::SMOTE, data: &Data, run: &Run<'_>) -> Result<Data, Error> {
    if data.weight.is_some() || data.groups.is_some() {
        let message = "SMOTE makes rows without a weight and a group: `sample_weight` and `groups` are not taken";
        return Err(
            Error::new(ErrorKind::Parameter, message).help("`RandomOverSampler` repeats rows, with their weights")
        );
    }
    let (classes, width, neighbors) = (classes(data), data.width(), params.k_neighbors);
    let mut next = data.clone();
    for (class, own, count) in additions(&params.sampling_strategy, &classes)? {
        if count == 0 {
            continue;
        }
        if own.len() <= neighbors {
            let name = data.classes.get(class).map_or("", String::as_str);
            let message = format!(
                "class `{name}` has {}, and `k_neighbors` is {neighbors}: it takes more rows",
                check::plural(own.len(), "row")
            );
            return Err(Error::new(ErrorKind::Parameter, message).help("set `k_neighbors` to a smaller number"));
        }
        let points = data.take(own).row_major();
        let index = Index::new(Metric::Euclidean, &points, width);
        let nearest = |list: Vec<(f64, u32)>| Ok(list.into_iter().skip(1).map(|(_, row)| row as usize).collect());
        let queries = index.prepared(points.clone());
        let lists: Vec<Vec<usize>> = index.search(&queries, NeighborSearch::Count(neighbors + 1), run, nearest)?;
        // Each class has the random numbers from the seed on, as in imbalanced-learn.
        let mut random = Mt19937::new(params::seed(params.random_state));
        let places: Vec<usize> =
            (0..count).map(|_| random.randint(0, (own.len() * neighbors) as u64) as usize).collect();
        for place in places {
            let (row, step) = (place / neighbors, random.uniform());
            let other = lists[row][place % neighbors];
            for (j, column) in next.features.iter_mut().enumerate() {
                let (from, to) = (points[row * width + j], points[other * width + j]);
                column.values.push(from + step * (to - from));
            }
        }
        next.y.extend(std::iter::repeat_n(class as f64, count));
        next.rows += count;
    }
    Ok(next)
}
