//! Multilayer perceptrons: `sklearn/neural_network/_multilayer_perceptron.py`. A seed gives scikit-learn's first
//! weights, batches and held-out rows.

use onrush_wire::learn::{Detail, Param, Size};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::network::{Activation, Chunk, Network, NetworkRows, OutputUnit, chunk_rows};
use super::optimizer::{Optimizer, OptimizerKind, Rate};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::metrics::classification::accuracy;
use crate::metrics::regression::r2;
use crate::minimize::{DECREASE, End, MinimizeLimits, minimize};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::split::train_test_split_with;
use crate::tensor::Tensor;

/// A multilayer perceptron.
#[derive(Serialize, Deserialize)]
pub struct Perceptrons {
    /// Units of each layer: features, hidden layers, outputs.
    pub sizes: Vec<usize>,
    pub hidden: Activation,
    pub output: OutputUnit,
    /// Classes. 0 for a regressor.
    pub classes: usize,
    /// The weights of all layers, input after input, then the intercepts of all layers.
    pub params: Tensor,
    /// The loss of the last iteration.
    #[serde(with = "crate::tensor::scalar")]
    pub loss: f64,
    #[serde(with = "crate::tensor::scalar")]
    pub best_loss: Option<f64>,
    #[serde(with = "crate::tensor::scalar")]
    pub best_validation_score: Option<f64>,
    /// The loss of each iteration.
    pub losses: Tensor,
    /// The score of the held-out rows after each iteration. Empty without early stopping.
    pub scores: Tensor,
    pub n_iter: u64,
    /// Rows that stochastic solvers saw, each as often as they saw it.
    pub t: u64,
    pub notes: Vec<String>,
}

params::shared! {
    /// Parameters of classifiers and regressors.
    pub struct MlpParams of [MLPClassifier MLPRegressor] {
        hidden_layer_sizes: Param,
        activation: String,
        solver: String,
        alpha: f64,
        batch_size: Param,
        learning_rate: String,
        learning_rate_init: f64,
        power_t: f64,
        max_iter: usize,
        shuffle: bool,
        random_state: Option<usize>,
        tol: f64,
        momentum: f64,
        nesterovs_momentum: bool,
        early_stopping: bool,
        validation_fraction: f64,
        beta_1: f64,
        beta_2: f64,
        epsilon: f64,
        n_iter_no_change: usize,
        max_fun: usize,
    }
}

/// Most parameters of a network: 1 GB.
const MOST_PARAMETERS: usize = 1 << 27;

/// Trains `MLPClassifier`.
///
/// # Errors
/// As [`regressor`].
pub fn classifier(params: &params::MLPClassifier, data: &Data, run: &Run<'_>) -> Result<Perceptrons, Error> {
    let output = if data.classes.len() == 2 { OutputUnit::Logistic } else { OutputUnit::Softmax };
    fit(&params.into(), output, data, run)
}

/// Trains `MLPRegressor`.
///
/// # Errors
/// If a parameter does not fit, the target is outside of the domain of the loss, or the network is too large. If the
/// weights overflow, or the user stops the training.
pub fn regressor(params: &params::MLPRegressor, data: &Data, run: &Run<'_>) -> Result<Perceptrons, Error> {
    let is_poisson = params.loss == "poisson";
    if let Some(y) = data.y.iter().find(|y| is_poisson && **y < 0.0) {
        let message =
            format!("the target `{}` has the value {y}, and `loss` poisson takes values of at least 0", data.target);
        return Err(Error::new(ErrorKind::Target, message));
    }
    fit(&params.into(), if is_poisson { OutputUnit::Exp } else { OutputUnit::Identity }, data, run)
}

fn fit(params: &MlpParams, output: OutputUnit, data: &Data, run: &Run<'_>) -> Result<Perceptrons, Error> {
    if data.weight.as_ref().is_some_and(|w| w.iter().sum::<f64>() <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "the sample weights are all 0: expected at least one above 0"));
    }
    let network = network(params, output, data)?;
    let mut random = Mt19937::new(params::seed(params.random_state));
    let start = first_weights(&network, &mut random);
    let x = data.row_major();
    let mut model = Perceptrons {
        sizes: network.sizes.clone(),
        hidden: network.hidden,
        output,
        classes: data.classes.len(),
        params: Tensor::default(),
        loss: f64::NAN,
        best_loss: None,
        best_validation_score: None,
        losses: Tensor::vector(Vec::new()),
        scores: Tensor::vector(Vec::new()),
        n_iter: 0,
        t: 0,
        notes: Vec::new(),
    };
    let training = Training { params, network: &network, data, x: &x, run };
    match params.solver.as_str() {
        "lbfgs" => training.all_rows(start, &mut model)?,
        _ => training.batches(start, &mut random, &mut model)?,
    }
    Ok(model)
}

/// The layers that the parameters describe.
fn network(params: &MlpParams, output: OutputUnit, data: &Data) -> Result<Network, Error> {
    let hidden = match &params.hidden_layer_sizes {
        Param::List(sizes) => sizes.iter().map(params::count).collect(),
        size => params::count(size).map(|size| vec![size]),
    };
    let Some(hidden) = hidden.filter(|sizes| sizes.iter().all(|size| *size > 0)) else {
        let message = format!(
            "`hidden_layer_sizes` is {}: expected an integer of at least 1, or a list of them",
            params.hidden_layer_sizes
        );
        return Err(Error::new(ErrorKind::Parameter, message));
    };
    let outputs = if output == OutputUnit::Softmax { data.classes.len() } else { 1 };
    let sizes: Vec<usize> = std::iter::once(data.width()).chain(hidden).chain([outputs]).collect();
    if parameters(&sizes).is_none_or(|count| count > MOST_PARAMETERS) {
        let layers: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        let message = format!("layers of {} units have more than 2^27 weights", layers.join(", "));
        return Err(Error::new(ErrorKind::Size, message).help("take smaller `hidden_layer_sizes`, or fewer features"));
    }
    let hidden = match params.activation.as_str() {
        "identity" => Activation::Identity,
        "logistic" => Activation::Logistic,
        "tanh" => Activation::Tanh,
        _ => Activation::Relu,
    };
    Ok(Network { sizes, hidden, output })
}

/// Weights and intercepts of layers. `None` if they are more than a number holds.
fn parameters(sizes: &[usize]) -> Option<usize> {
    sizes.windows(2).try_fold(0usize, |sum, pair| {
        pair[0].checked_add(1).and_then(|inputs| inputs.checked_mul(pair[1])).and_then(|size| sum.checked_add(size))
    })
}

/// Uniform weights (Glorot and Bengio 2010).
fn first_weights(network: &Network, random: &mut Mt19937) -> Vec<f64> {
    let mut weights = vec![0.0; network.parameters()];
    let factor = if network.hidden == Activation::Logistic { 2.0 } else { 6.0 };
    for layer in 0..network.depth() {
        let bound = (factor / (network.sizes[layer] + network.sizes[layer + 1]) as f64).sqrt();
        for range in [network.weights(layer), network.intercepts(layer)] {
            weights[range].iter_mut().for_each(|w| *w = -bound + 2.0 * bound * random.uniform());
        }
    }
    weights
}

/// Everything that a training looks at.
struct Training<'a> {
    params: &'a MlpParams,
    network: &'a Network,
    data: &'a Data,
    /// The features, row after row.
    x: &'a [f64],
    run: &'a Run<'a>,
}

/// The rows of a chunk, gathered.
#[derive(Default)]
struct GatheredRows {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
}

/// Held-out rows.
struct HeldRows {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Option<Vec<f64>>,
}

impl Training<'_> {
    /// L-BFGS over all rows.
    fn all_rows(&self, start: Vec<f64>, model: &mut Perceptrons) -> Result<(), Error> {
        let (network, params, data) = (self.network, self.params, self.data);
        let features = network.features();
        let rows = chunk_rows(data.rows);
        let mut chunks: Vec<Chunk> = std::iter::repeat_with(Chunk::default).take(data.rows.div_ceil(rows)).collect();
        let penalised = network.all_weights();
        let objective = |weights: &[f64]| {
            self.run.check(|| "a pass over the rows".to_string())?;
            chunks.par_iter_mut().enumerate().for_each(|(c, chunk)| {
                let range = c * rows..((c + 1) * rows).min(data.rows);
                let weight = data.weight.as_ref().map(|w| &w[range.clone()]);
                let x = &self.x[range.start * features..range.end * features];
                network.pass(weights, NetworkRows { x, y: &data.y[range], weight }, chunk);
            });
            let total: f64 = chunks.iter().map(|c| c.weight).sum();
            let mut gradient = vec![0.0; weights.len()];
            for chunk in &chunks {
                gradient.iter_mut().zip(&chunk.gradient).for_each(|(g, c)| *g += c);
            }
            let mut squares = 0.0;
            for (g, w) in gradient[..penalised].iter_mut().zip(weights) {
                *g += params.alpha * w;
                squares += w * w;
            }
            gradient.iter_mut().for_each(|g| *g /= total);
            let loss = chunks.iter().map(|c| c.loss).sum::<f64>() / total;
            Ok((loss + 0.5 * params.alpha * squares / total, gradient))
        };
        let mut losses = Vec::new();
        let shown = |iteration: usize, loss: f64| {
            losses.push(loss);
            self.show(iteration, &losses, &[]);
            self.run.check(|| format!("{iteration} of {} iterations", params.max_iter))
        };
        let limits = MinimizeLimits {
            max_iter: params.max_iter,
            max_fun: params.max_fun,
            gradient: params.tol,
            decrease: DECREASE,
        };
        let found = minimize(start, &limits, objective, shown)?;
        self.check_finite(found.value, &found.x, found.iterations)?;
        let why = match found.end {
            End::Converged => None,
            End::Iterations => Some(format!("stopped after {0} of {0} iterations; raise `max_iter`", params.max_iter)),
            End::Evaluations => Some(format!("stopped after {0} of {0} evaluations; raise `max_fun`", params.max_fun)),
            End::Stuck => Some(format!("the line search found no descent after {} iterations", found.iterations)),
        };
        model.notes.extend(why.map(|why| format!("{why}, or scale the features")));
        model.n_iter = found.iterations.min(params.max_iter) as u64;
        model.loss = found.value;
        model.losses = Tensor::vector(losses);
        model.params = Tensor::vector(found.x);
        Ok(())
    }

    /// Adam or stochastic gradients over batches.
    fn batches(&self, mut weights: Vec<f64>, random: &mut Mt19937, model: &mut Perceptrons) -> Result<(), Error> {
        let params = self.params;
        let (mut order, held) = self.held_out(random)?;
        let batch = self.batch_rows(order.len(), &mut model.notes)?;
        let mut optimizer = Optimizer::new(self.kind(), params.learning_rate_init, weights.len());
        let (mut losses, mut scores) = (Vec::new(), Vec::new());
        let (mut best_loss, mut best_score, mut idle) = (f64::INFINITY, f64::NEG_INFINITY, 0);
        let mut best = held.is_some().then(|| weights.clone());
        let mut converged = false;
        let mut memory = (Vec::new(), Vec::new());
        while losses.len() < params.max_iter && !converged {
            if params.shuffle {
                order = random.permutation(order.len()).into_iter().map(|i| order[i]).collect();
            }
            let mut sum = 0.0;
            for (number, rows) in order.chunks(batch).enumerate() {
                if number % 64 == 0 {
                    self.run.check(|| format!("{} of {} iterations", losses.len(), params.max_iter))?;
                }
                sum += self.batch(rows, &mut weights, &mut optimizer, &mut memory)? * rows.len() as f64;
            }
            losses.push(sum / order.len() as f64);
            let loss = losses[losses.len() - 1];
            self.check_finite(loss, &weights, losses.len())?;
            let improves = match &held {
                Some(held) => {
                    let score = self.score(&weights, held);
                    scores.push(score);
                    let improves = score.is_nan() || score >= best_score + params.tol;
                    if score > best_score {
                        best_score = score;
                        best = Some(weights.clone());
                    }
                    improves
                }
                None => {
                    let improves = loss.is_nan() || loss <= best_loss - params.tol;
                    best_loss = best_loss.min(loss);
                    improves
                }
            };
            idle = if improves { 0 } else { idle + 1 };
            self.show(losses.len(), &losses, &scores);
            optimizer.iteration_ends((losses.len() * order.len()) as f64);
            if idle > params.n_iter_no_change {
                converged = optimizer.is_at_end();
                idle = 0;
            }
        }
        if !converged {
            let (done, what) = (losses.len(), if held.is_some() { "validation score" } else { "loss" });
            model.notes.push(format!(
                "stopped after {done} of {done} iterations; the {what} still improves; raise `max_iter`"
            ));
        }
        (model.n_iter, model.t) = (losses.len() as u64, (losses.len() * order.len()) as u64);
        model.loss = losses.last().copied().unwrap_or(f64::NAN);
        model.best_loss = held.is_none().then_some(best_loss);
        model.best_validation_score = held.is_some().then_some(best_score);
        (model.losses, model.scores) = (Tensor::vector(losses), Tensor::vector(scores));
        model.params = Tensor::vector(best.unwrap_or(weights));
        Ok(())
    }

    fn kind(&self) -> OptimizerKind {
        let params = self.params;
        match params.solver.as_str() {
            "sgd" => OptimizerKind::Sgd {
                momentum: params.momentum,
                is_nesterov: params.nesterovs_momentum,
                rate: match params.learning_rate.as_str() {
                    "invscaling" => Rate::InvScaling { power: params.power_t },
                    "adaptive" => Rate::Adaptive,
                    _ => Rate::Constant,
                },
            },
            _ => OptimizerKind::Adam { beta_1: params.beta_1, beta_2: params.beta_2, epsilon: params.epsilon },
        }
    }

    /// Rows of a batch.
    fn batch_rows(&self, rows: usize, notes: &mut Vec<String>) -> Result<usize, Error> {
        match &self.params.batch_size {
            Param::Str(word) if word == "auto" => Ok(rows.min(200)),
            given => match params::count(given).filter(|count| *count > 0) {
                Some(count) if count > rows => {
                    notes.push(format!("`batch_size` is {count}, and a batch has all {rows} rows"));
                    Ok(rows)
                }
                Some(count) => Ok(count),
                None => {
                    let message = format!("`batch_size` is {given}: \"auto\", or an integer of at least 1");
                    Err(Error::new(ErrorKind::Parameter, message))
                }
            },
        }
    }

    /// The rows to train on in their order, and those of early stopping.
    fn held_out(&self, random: &mut Mt19937) -> Result<(Vec<usize>, Option<HeldRows>), Error> {
        let data = self.data;
        if !self.params.early_stopping {
            return Ok(((0..data.rows).collect(), None));
        }
        let share = self.params.validation_fraction;
        let test = (share * data.rows as f64).ceil();
        if test < 2.0 || share >= 1.0 || test >= data.rows as f64 {
            let message = format!("early stopping holds out {test} of {} rows: at least 2, and not all", data.rows);
            return Err(Error::new(ErrorKind::Parameter, message)
                .help("set `early_stopping(false)`, or another `validation_fraction`"));
        }
        let stratify = (data.classes.len() == 2).then_some(&data.y[..]);
        let (train, test) = train_test_split_with(data.rows, Size::Share(share), stratify, random)?;
        let mut rows = GatheredRows::default();
        self.gather(&test, &mut rows);
        let weight = data.weight.is_some().then_some(rows.weight);
        Ok((train, Some(HeldRows { x: rows.x, y: rows.y, weight })))
    }

    fn gather(&self, rows: &[usize], to: &mut GatheredRows) {
        let width = self.network.features();
        to.x.clear();
        rows.iter().for_each(|row| to.x.extend_from_slice(&self.x[row * width..(row + 1) * width]));
        to.y.clear();
        to.y.extend(rows.iter().map(|row| self.data.y[*row]));
        if let Some(weight) = &self.data.weight {
            to.weight.clear();
            to.weight.extend(rows.iter().map(|row| weight[*row]));
        }
    }

    /// A step along the gradient of some rows: their loss before the step.
    fn batch(
        &self,
        rows: &[usize],
        weights: &mut [f64],
        optimizer: &mut Optimizer,
        (gathered, chunks): &mut (Vec<GatheredRows>, Vec<Chunk>),
    ) -> Result<f64, Error> {
        let size = chunk_rows(rows.len());
        let count = rows.len().div_ceil(size);
        gathered.resize_with(count.max(gathered.len()), GatheredRows::default);
        chunks.resize_with(count.max(chunks.len()), Chunk::default);
        let parts = rows.par_chunks(size).zip(gathered.par_iter_mut()).zip(chunks.par_iter_mut());
        parts.for_each(|((rows, gathered), chunk)| {
            self.gather(rows, gathered);
            let weight = self.data.weight.is_some().then_some(&gathered.weight[..]);
            self.network.pass(weights, NetworkRows { x: &gathered.x, y: &gathered.y, weight }, chunk);
        });
        let chunks = &chunks[..count];
        let total: f64 = chunks.iter().map(|c| c.weight).sum();
        if total <= 0.0 {
            return Err(Error::new(ErrorKind::Weight, "the sample weights of a batch are all 0")
                .help("leave out rows with the weight 0, or raise `batch_size`"));
        }
        let loss = chunks.iter().map(|c| c.loss).sum::<f64>() / total;
        let alpha = self.params.alpha;
        let squares = optimizer.step(weights, chunks, self.network.all_weights(), alpha, total);
        Ok(loss + 0.5 * alpha * squares / total)
    }

    /// Accuracy or r2.
    fn score(&self, weights: &[f64], held: &HeldRows) -> f64 {
        let out = self.network.predict(weights, &held.x);
        let predicted = predictions(self.network.output, &out, self.network.outputs());
        let weight = held.weight.as_deref();
        match self.data.classes.is_empty() {
            true => r2(&held.y, &predicted, weight),
            false => accuracy(&held.y, &predicted, weight),
        }
    }

    fn check_finite(&self, loss: f64, weights: &[f64], iteration: usize) -> Result<(), Error> {
        if loss.is_finite() && weights.iter().all(|w| w.is_finite()) {
            return Ok(());
        }
        let message = format!("the weights overflowed in iteration {iteration}: the loss is {loss}");
        let error =
            Error::new(ErrorKind::Overflow, message).help("scale the features, for example with `StandardScaler`");
        Err(match self.params.solver == "lbfgs" {
            true => error,
            false => error.help(format!("or lower `learning_rate_init`, which is {}", self.params.learning_rate_init)),
        })
    }

    /// Shows the losses so far, about twenty times in a training and in each of the first iterations.
    fn show(&self, iteration: usize, losses: &[f64], scores: &[f64]) {
        let most = self.params.max_iter;
        (self.run.steps)(iteration as u64, most as u64);
        let score = scores.last().map_or_else(String::new, |s| format!(", validation score {s:.4}"));
        let loss = losses.last().copied().unwrap_or(f64::NAN);
        self.run.stage(format!("iteration {iteration} of {most}, loss {loss:.6}{score}"));
        if iteration <= 10 || iteration.is_multiple_of((most / 20).max(1)) {
            (self.run.detail)(Detail::Curves(curves(losses, scores)));
        }
    }
}

/// Losses and scores by iteration.
fn curves(losses: &[f64], scores: &[f64]) -> Vec<(String, Vec<(f64, f64)>)> {
    let points = |values: &[f64]| values.iter().enumerate().map(|(i, v)| ((i + 1) as f64, *v)).collect();
    let mut curves = vec![("loss".to_string(), points(losses))];
    if !scores.is_empty() {
        curves.push(("validation score".to_string(), points(scores)));
    }
    curves
}

/// The positions of the classes, or the values, from outputs row after row.
fn predictions(output: OutputUnit, out: &[f64], outputs: usize) -> Vec<f64> {
    match output {
        OutputUnit::Identity | OutputUnit::Exp => out.to_vec(),
        OutputUnit::Logistic => out.iter().map(|p| f64::from(u8::from(*p > 0.5))).collect(),
        OutputUnit::Softmax => out
            .chunks_exact(outputs)
            .map(|row| (1..outputs).fold(0, |best, c| if row[c] > row[best] { c } else { best }) as f64)
            .collect(),
    }
}

impl Perceptrons {
    fn network(&self) -> Network {
        Network { sizes: self.sizes.clone(), hidden: self.hidden, output: self.output }
    }

    fn by_iteration(title: &str, values: &Tensor) -> Option<Attribute> {
        let iterations = (1..=values.data.len() as i64).collect();
        (!values.data.is_empty()).then(|| {
            Attribute::Frame(vec![
                ("iteration".to_string(), Values::Ints(iterations)),
                (title.to_string(), Values::Floats(values.data.clone())),
            ])
        })
    }

    fn coefs(&self) -> Attribute {
        let network = self.network();
        let place = |layer: usize| {
            let units = network.sizes[layer + 1];
            (0..network.sizes[layer]).flat_map(move |from| (0..units).map(move |to| (layer, from, to)))
        };
        let places: Vec<(usize, usize, usize)> = (0..network.depth()).flat_map(place).collect();
        let column = |pick: fn(&(usize, usize, usize)) -> usize| {
            Values::Ints(places.iter().map(|place| pick(place) as i64).collect())
        };
        Attribute::Frame(vec![
            ("layer".to_string(), column(|place| place.0)),
            ("from".to_string(), column(|place| place.1)),
            ("to".to_string(), column(|place| place.2)),
            ("weight".to_string(), Values::Floats(self.params.data[..network.all_weights()].to_vec())),
        ])
    }

    fn intercepts(&self) -> Attribute {
        let network = self.network();
        let units = (0..network.depth()).flat_map(|layer| (0..network.sizes[layer + 1]).map(move |unit| (layer, unit)));
        let (layers, units) = units.map(|(layer, unit)| (layer as i64, unit as i64)).unzip();
        Attribute::Frame(vec![
            ("layer".to_string(), Values::Ints(layers)),
            ("unit".to_string(), Values::Ints(units)),
            ("intercept".to_string(), Values::Floats(self.params.data[network.all_weights()..].to_vec())),
        ])
    }
}

impl Model for Perceptrons {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.classes).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let network = self.network();
        let outputs = network.outputs();
        let out = network.predict(&self.params.data, &data.row_major());
        let column = |position: &usize| match (*position, self.output) {
            (0, _) => predictions(self.output, &out, outputs),
            (1, OutputUnit::Logistic) => out.iter().map(|p| 1.0 - p).collect(),
            (_, OutputUnit::Logistic) => out.clone(),
            (class, _) => out.iter().skip(class - 1).step_by(outputs).copied().collect(),
        };
        Ok(wanted.iter().map(column).collect())
    }

    fn attribute(&self, name: &str, _: &[Field], classes: &[String]) -> Option<Attribute> {
        match name {
            "classes" => Some(Attribute::Strs(classes.to_vec())),
            "loss" => Some(Attribute::Float(self.loss)),
            "best_loss" => self.best_loss.map(Attribute::Float),
            "best_validation_score" => self.best_validation_score.map(Attribute::Float),
            "loss_curve" => Self::by_iteration("loss", &self.losses),
            "validation_scores" => Self::by_iteration("score", &self.scores),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            "t" => Some(Attribute::Int(self.t as i64)),
            "coefs" => Some(self.coefs()),
            "intercepts" => Some(self.intercepts()),
            _ => None,
        }
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        curves(&self.losses.data, &self.scores.data)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        let outputs = match self.output {
            OutputUnit::Logistic if classes == 2 => 1,
            OutputUnit::Softmax if classes > 2 => classes,
            OutputUnit::Identity | OutputUnit::Exp if classes == 0 => 1,
            _ => return wrong(format!("an output {:?} for {classes} classes", self.output)),
        };
        let sizes = &self.sizes;
        if self.classes != classes || sizes.len() < 2 || sizes.contains(&0) {
            return wrong(format!("{} layers and {} classes, expected {classes}", sizes.len(), self.classes));
        }
        if sizes[0] != features || sizes[sizes.len() - 1] != outputs {
            return wrong(format!("layers of {sizes:?} units for {features} features and {outputs} outputs"));
        }
        match parameters(sizes) == Some(self.params.data.len()) {
            true => Ok(()),
            false => wrong(format!("{} weights for layers of {sizes:?} units", self.params.data.len())),
        }
    }

    fn bytes(&self) -> u64 {
        self.params.bytes() + self.losses.bytes() + self.scores.bytes()
    }
}
