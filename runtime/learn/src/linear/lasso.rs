//! Lasso and elastic net, with a given penalty or one that cross-validation chooses.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onrush_dense::Matrix;
use onrush_wire::learn::Param;
use rayon::prelude::*;

use super::descent::{DescentColumns, DescentEnd, DescentOrder, Goal, Products, Residuals, descend};
use super::design::{Design, Gram, add, intercept};
use super::least_squares::WIDE;
use super::{Linear, finite, folds, ridge, scores};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// Numbers in the sums of products of all folds up to which they are held. With more of them each path reads its rows.
const PRODUCTS: usize = 1 << 28;

/// Settings of all fits of an estimator.
struct Settings {
    centre: bool,
    positive: bool,
    max_iter: usize,
    tol: f64,
    /// The seed, if coordinates are taken at random.
    random: Option<u32>,
}

params::shared! {
    /// Parameters of the descent.
    struct DescentParams of [Lasso ElasticNet LassoCV ElasticNetCV] {
        fit_intercept: bool,
        positive: bool,
        max_iter: usize,
        tol: f64,
        random_state: Option<usize>,
        selection: String,
    }
}

impl Settings {
    fn of(params: DescentParams) -> Result<Self, Error> {
        Ok(Settings {
            centre: params.fit_intercept,
            positive: params.positive,
            max_iter: params.max_iter,
            tol: finite("tol", params.tol)?,
            random: (params.selection == "random").then(|| params::seed(params.random_state)),
        })
    }

    /// The penalty `alpha` for rows of this total weight.
    fn goal(&self, alpha: f64, ratio: f64, total: f64) -> Goal {
        Goal {
            l1: alpha * ratio * total,
            l2: alpha * (1.0 - ratio) * total,
            positive: self.positive,
            max_iter: self.max_iter,
            tol: self.tol,
        }
    }
}

/// The columns of a set of rows in the form that the descent takes.
enum Source {
    Products(Products),
    Residuals(Residuals),
}

/// A set of rows, ready for descents.
struct LassoProblem {
    source: Source,
    mean: Vec<f64>,
    total: f64,
}

impl LassoProblem {
    fn from_products(products: &Matrix, design: &Design<'_>, centre: bool) -> Self {
        let gram = Gram::new(products, &design.mean, &design.scale, centre);
        LassoProblem { source: Source::Products(Products::new(&gram)), total: gram.total, mean: gram.mean }
    }

    fn from_rows(design: &Design<'_>) -> Self {
        let (x, y) = ridge::unscaled(design);
        let source = Source::Residuals(Residuals::new(x, y));
        LassoProblem { source, mean: design.mean.clone(), total: design.total }
    }

    /// Coefficients along a path of penalties, each from the one before; and how the last descent ended.
    fn path(self, alphas: &[f64], ratio: f64, settings: &Settings, run: &Run<'_>) -> Result<Path, Error> {
        match self.source {
            Source::Products(mut columns) => follow(&mut columns, self.total, alphas, ratio, settings, run),
            Source::Residuals(mut columns) => follow(&mut columns, self.total, alphas, ratio, settings, run),
        }
    }

    /// The products of the columns and the target.
    fn along_target(&self) -> Vec<f64> {
        match &self.source {
            Source::Products(products) => products.q.clone(),
            Source::Residuals(residuals) => residuals.along_target(),
        }
    }
}

/// Coefficients for each penalty, and the ends of the descents.
struct Path {
    coefs: Vec<Vec<f64>>,
    ends: Vec<DescentEnd>,
    total: f64,
}

fn follow<C: DescentColumns>(
    columns: &mut C,
    total: f64,
    alphas: &[f64],
    ratio: f64,
    settings: &Settings,
    run: &Run<'_>,
) -> Result<Path, Error> {
    let mut coef = vec![0.0; columns.width()];
    let mut random = settings.random.map(Mt19937::new);
    let mut path = Path { coefs: Vec::new(), ends: Vec::new(), total };
    for alpha in alphas {
        let order = random.as_mut().map(DescentOrder::new);
        let end = descend(columns, &mut coef, settings.goal(*alpha, ratio, total), order, run)?;
        path.coefs.push(coef.clone());
        path.ends.push(end);
    }
    Ok(path)
}

/// Trains `Lasso`.
pub fn lasso(params: &params::Lasso, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    fit(params.into(), params.alpha, 1.0, data, run)
}

/// Trains `ElasticNet`.
pub fn elastic_net(params: &params::ElasticNet, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    fit(params.into(), params.alpha, params.l1_ratio, data, run)
}

fn fit(params: DescentParams, alpha: f64, ratio: f64, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    let settings = Settings::of(params)?;
    let (alpha, ratio) = (finite("alpha", alpha)?, finite("l1_ratio", ratio)?);
    let design = Design::of(data, settings.centre)?;
    run.stage("products of columns");
    let prepared = match is_wide(data.width(), design.rows) {
        true => LassoProblem::from_rows(&design),
        false => LassoProblem::from_products(&design.products(run)?, &design, settings.centre),
    };
    run.stage("coordinate descent");
    finish(prepared, alpha, ratio, &settings, run)
}

fn is_wide(width: usize, rows: usize) -> bool {
    width > WIDE || width > rows
}

/// The model for one penalty.
fn finish(prepared: LassoProblem, alpha: f64, ratio: f64, settings: &Settings, run: &Run<'_>) -> Result<Linear, Error> {
    let mean = prepared.mean.clone();
    let path = prepared.path(&[alpha], ratio, settings, run)?;
    let mut notes = Vec::new();
    if alpha == 0.0 {
        notes.push(
            "`alpha` is 0: `LinearRegression` solves this exactly, coordinate descent converges slowly".to_string(),
        );
    }
    let end = &path.ends[0];
    if !end.converged {
        let asked = settings.tol;
        notes.push(format!(
            "stopped after {} of {} iterations; the duality gap is {:.1e}, `tol` {asked:e} asks for less; raise \
             `max_iter`, scale the features or raise `alpha`",
            end.iterations,
            settings.max_iter,
            end.gap / path.total,
        ));
    }
    let coef = path.coefs[0].clone();
    Ok(Linear {
        intercept: if settings.centre { intercept(&mean, &coef) } else { 0.0 },
        coef: Tensor::vector(coef),
        n_iter: Some(end.iterations as u64),
        dual_gap: Some(end.gap / path.total),
        notes,
        ..Linear::default()
    })
}

/// The penalties that cross-validation tries, in descending order:
/// `sklearn.linear_model._coordinate_descent._alpha_grid`.
fn grid(given: &Param, eps: f64, prepared: &LassoProblem, ratio: f64, positive: bool) -> Result<Vec<f64>, Error> {
    if let Param::List(_) = given {
        let mut alphas = params::floats(given).unwrap_or_default();
        if alphas.is_empty() || alphas.iter().any(|a| !(a.is_finite() && *a >= 0.0)) {
            let message = format!("`alphas` is {given}: expected a count, or finite numbers of at least 0");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        alphas.sort_by(|a, b| b.total_cmp(a));
        return Ok(alphas);
    }
    let count = params::count(given).filter(|n| (1..=100_000).contains(n)).ok_or_else(|| {
        let message = format!("`alphas` is {given}: expected a count of 1 to 100000, or a list of numbers");
        Error::new(ErrorKind::Parameter, message)
    })?;
    if ratio == 0.0 {
        return Err(Error::new(
            ErrorKind::Parameter,
            "`l1_ratio` is 0, which has no largest penalty from which the grid could start",
        )
        .help("give the penalties in `alphas`, or take `RidgeCV`"));
    }
    let along = prepared.along_target();
    let largest = match positive {
        true => along.iter().copied().fold(0.0, f64::max),
        false => along.iter().fold(0.0, |a: f64, q| a.max(q.abs())),
    };
    let top = largest / (prepared.total * ratio);
    if top <= 1e-15 {
        return Ok(vec![1e-15; count]);
    }
    let eps = finite("eps", eps)?;
    let (high, low) = (top.log10(), (top * eps).log10());
    let at = |i: usize| 10f64.powf(high + (low - high) * i as f64 / (count - 1) as f64);
    let mut alphas: Vec<f64> = (0..count).map(|i| if i == 0 { top } else { at(i) }).collect();
    if count > 1 {
        alphas[count - 1] = top * eps;
    }
    Ok(alphas)
}

/// Mean squared errors of the test rows of a fold, from sums of products of these rows, or from the rows if the sums
/// cancel.
fn errors(
    path: &Path,
    mean: &[f64],
    products: Option<&Matrix>,
    (data, test): (&Data, &Design<'_>),
    centre: bool,
    run: &Run<'_>,
) -> Result<Vec<f64>, Error> {
    let d = test.columns.len() - 1;
    let held = OnceCell::new();
    let one = |coef: &Vec<f64>| {
        run.check(|| "the descents of a fold".to_string())?;
        let shift = if centre { intercept(mean, coef) } else { 0.0 };
        if let Some(p) = products {
            // The residual is this combination of the scaled columns, the scaled target and 1.
            let mut v: Vec<f64> = (0..d).map(|j| -coef[j] * (test.scale[d] / test.scale[j])).collect();
            let rest = if centre { intercept(&test.mean, coef) - shift } else { 0.0 };
            v.extend([1.0, rest * test.scale[d]]);
            let squares: f64 = (0..d + 2).map(|j| dot(p.column(j), &v) * v[j]).sum();
            if squares > 1e-6 * p.at(d, d) {
                return Ok(squares / test.scale[d] / test.scale[d] / p.at(d + 1, d + 1));
            }
        }
        let held = held.get_or_init(|| data.take(test.pick.unwrap_or_default()));
        let (mut sum, mut total) = (0.0, 0.0);
        for (i, fitted) in scores(held, coef, shift).into_iter().enumerate() {
            let error = held.y[i] - fitted;
            sum += held.weight_of(i) * error * error;
            total += held.weight_of(i);
        }
        Ok(sum / total)
    };
    path.coefs.iter().map(one).collect()
}

params::shared! {
    /// The penalties that cross-validation tries, and its folds.
    struct PathParams of [LassoCV ElasticNetCV] {
        eps: f64,
        alphas: Param,
        cv: usize,
    }
}

/// Trains `LassoCV`.
pub fn lasso_cv(params: &params::LassoCV, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    fit_cv(params.into(), &params.into(), &[1.0], data, run)
}

/// Trains `ElasticNetCV`.
pub fn elastic_net_cv(params: &params::ElasticNetCV, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    let ratios = params::floats(&params.l1_ratio).unwrap_or_default();
    if ratios.is_empty() || ratios.iter().any(|r| !(0.0..=1.0).contains(r)) {
        let message = format!("`l1_ratio` is {}: expected numbers between 0 and 1", params.l1_ratio);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    fit_cv(params.into(), &params.into(), &ratios, data, run)
}

fn fit_cv(
    descent: DescentParams,
    params: &PathParams,
    ratios: &[f64],
    data: &Data,
    run: &Run<'_>,
) -> Result<Linear, Error> {
    let settings = Settings::of(descent)?;
    let folds = folds::of(params.cv, data)?;
    let design = Design::of(data, settings.centre)?;
    let numbers = folds.count.saturating_mul((data.width() + 2) * (data.width() + 2));
    let wide = is_wide(data.width(), folds.fewest()) || numbers > PRODUCTS;
    run.stage("products of columns");
    // Sums over the test rows of each fold: those of its training rows are the sums of the other folds.
    let mut products = Vec::new();
    for fold in 0..if wide { 0 } else { folds.count } {
        products.push(design.on(&folds.test(fold)).products(run)?);
    }
    let others = |fold: Option<usize>| {
        let mut sum = Matrix::zeros(data.width() + 2, data.width() + 2);
        let kept = products.iter().enumerate().filter(|(f, _)| Some(*f) != fold);
        kept.for_each(|(_, p)| add(&mut sum.data, &p.data));
        sum
    };
    let prepared = |fold: Option<usize>| -> Result<LassoProblem, Error> {
        if !wide {
            return Ok(LassoProblem::from_products(&others(fold), &design, settings.centre));
        }
        let Some(fold) = fold else { return Ok(LassoProblem::from_rows(&design)) };
        let train = folds.train(fold);
        let train = Design::new(design.columns.clone(), design.weight, Some(&train), settings.centre)?;
        Ok(LassoProblem::from_rows(&train))
    };
    let whole = prepared(None)?;
    let grid = |ratio: &f64| grid(&params.alphas, params.eps, &whole, *ratio, settings.positive);
    let grids: Vec<Vec<f64>> = ratios.iter().map(grid).collect::<Result<_, _>>()?;
    run.stage(format!("{} penalties on {} folds", grids.iter().map(Vec::len).sum::<usize>(), folds.count));
    let jobs: Vec<(usize, usize)> = (0..ratios.len()).flat_map(|r| (0..folds.count).map(move |f| (r, f))).collect();
    let done = AtomicU64::new(0);
    let found: Vec<Result<(Vec<f64>, bool), Error>> = jobs
        .par_iter()
        .map(|(ratio, fold)| {
            run.check(|| format!("{} of {} paths", done.load(Relaxed), jobs.len()))?;
            let part = prepared(Some(*fold))?;
            let mean = part.mean.clone();
            let path = part.path(&grids[*ratio], ratios[*ratio], &settings, run)?;
            let test = folds.test(*fold);
            let held = (data, &design.on(&test));
            let errors = errors(&path, &mean, products.get(*fold), held, settings.centre, run)?;
            (run.steps)(done.fetch_add(1, Relaxed) + 1, jobs.len() as u64);
            Ok((errors, path.ends.iter().all(|e| e.converged)))
        })
        .collect();
    let found: Vec<(Vec<f64>, bool)> = found.into_iter().collect::<Result<_, _>>()?;
    let (mut best, mut chosen) = (f64::INFINITY, (0, 0));
    let (mut alphas, mut table) = (Vec::new(), Vec::new());
    for (r, ratio) in ratios.iter().enumerate() {
        for (i, alpha) in grids[r].iter().enumerate() {
            alphas.extend([*ratio, *alpha]);
            let mse = |fold: usize| found[r * folds.count + fold].0[i];
            let mean = (0..folds.count).map(mse).sum::<f64>() / folds.count as f64;
            (0..folds.count).for_each(|fold| table.extend([*ratio, *alpha, fold as f64, mse(fold)]));
            if mean < best {
                (best, chosen) = (mean, (r, i));
            }
        }
    }
    let (ratio, alpha) = (ratios[chosen.0], grids[chosen.0][chosen.1]);
    run.stage("the chosen penalty on all rows");
    let mut model = finish(whole, alpha, ratio, &settings, run)?;
    let slow = found.iter().filter(|f| !f.1).count();
    if slow > 0 {
        model.notes.push(format!(
            "{slow} of {} paths have a descent that reached `max_iter` {}",
            jobs.len(),
            settings.max_iter
        ));
    }
    Ok(Linear {
        alpha: Some(alpha),
        l1_ratio: Some(ratio),
        alphas: Some(Tensor::new(vec![alphas.len() / 2, 2], alphas)),
        mse_path: Some(Tensor::new(vec![table.len() / 4, 4], table)),
        ..model
    })
}
