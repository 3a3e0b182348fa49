//! A fitted support vector machine with a kernel: classes by one against one, numbers, or one class.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::kernel::{Kernel, KernelForm, KernelPoints};
use super::platt;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::sums::dot;
use crate::tensor::Tensor;

/// Rows that are scored by a task.
const ROWS: usize = 64;

/// The target of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineTask {
    Classes,
    Numbers,
    /// 1 for rows like those of the training, -1 for others.
    OneClass,
}

/// Support vectors and their coefficients, as in LIBSVM.
#[derive(Serialize, Deserialize)]
pub struct Machine {
    pub task: MachineTask,
    pub kernel: Kernel,
    /// The position of each support vector among the rows of the training: class after class.
    pub support: Tensor,
    /// Support vectors x features.
    pub vectors: Tensor,
    /// (classes - 1) x support vectors, or a row. The pair of the classes `i < j` has two parts. The coefficients of
    /// the vectors of `i` are in row `j - 1`, those of the vectors of `j` in row `i`.
    pub dual_coef: Tensor,
    /// For each pair of classes in the order (0, 1), (0, 2), ...: a score above 0 is a vote for the first class.
    pub intercept: Tensor,
    /// Support vectors of each class. One number without classes.
    pub counts: Vec<usize>,
    /// For each pair slope and intercept of the logarithmic odds, if there are probabilities.
    pub platt: Option<Tensor>,
    /// Steps of the solver for each pair.
    pub n_iter: Vec<u64>,
    /// Whether the decision of several classes has a score for each class, and not for each pair.
    pub is_one_versus_rest: bool,
    pub break_ties: bool,
    pub notes: Vec<String>,
}

/// The pairs of classes in order.
pub fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |a| (a + 1..classes).map(move |b| (a, b)))
}

impl Machine {
    fn classes(&self) -> usize {
        self.counts.len()
    }

    /// Calls `visit` with the scores of each row, one for each pair, and the row's numbers to write: `width` of them.
    /// The numbers of all rows, row after row.
    fn scored(&self, data: &Data, width: usize, visit: impl Fn(&[f64], &mut [f64]) + Sync) -> Result<Vec<f64>, Error> {
        let features = self.vectors.shape[1];
        if data.total_width() != features {
            let message = format!("the rows have {} features, and the model has {features}", data.total_width());
            return Err(Error::new(ErrorKind::NoFeatures, message));
        }
        let shift = self.shift();
        let vectors = self.vectors.data.chunks_exact(features);
        let vectors = vectors.flat_map(|row| row.iter().zip(&shift).map(|(x, s)| x - s));
        let points = KernelPoints::new(vectors.collect(), features);
        let rows = data.shifted(&shift);
        let mut out = vec![0.0; data.rows * width];
        out.par_chunks_mut(ROWS * width.max(1)).enumerate().for_each(|(task, out)| {
            let mut values = vec![0.0; points.rows()];
            let mut scores = vec![0.0; self.intercept.data.len()];
            for (i, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
                let row = task * ROWS + i;
                self.kernel.values(&rows[row * features..(row + 1) * features], &points, &mut values);
                self.scores(&values, &mut scores);
                visit(&scores, out);
            }
        });
        Ok(out)
    }

    /// The mean of the support vectors for kernels of distances: near 0 the products lose fewer digits.
    fn shift(&self) -> Vec<f64> {
        let (rows, width) = (self.vectors.shape[0], self.vectors.shape[1]);
        let mut shift = vec![0.0; width];
        if self.kernel.form == KernelForm::Rbf && rows > 0 {
            for row in self.vectors.data.chunks_exact(width) {
                shift.iter_mut().zip(row).for_each(|(s, x)| *s += x / rows as f64);
            }
        }
        shift
    }

    /// The first support vector of each class.
    fn starts(&self) -> Vec<usize> {
        self.counts.iter().scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count))).collect()
    }

    /// The score of each pair by the kernel's values of a row with the support vectors.
    fn scores(&self, values: &[f64], out: &mut [f64]) {
        if self.task != MachineTask::Classes {
            out[0] = dot(&self.dual_coef.data, values) + self.intercept.data[0];
            return;
        }
        let starts = self.starts();
        let part = |class: usize, row: usize| {
            let vectors = starts[class]..starts[class] + self.counts[class];
            dot(&self.dual_coef.row(row)[vectors.clone()], &values[vectors])
        };
        for ((out, (a, b)), intercept) in out.iter_mut().zip(pairs(self.classes())).zip(&self.intercept.data) {
            *out = part(a, b - 1) + part(b, a) + intercept;
        }
    }

    /// The class of the most votes, the first one on ties, as in LIBSVM.
    fn vote(&self, scores: &[f64]) -> usize {
        if self.break_ties && self.is_one_versus_rest && self.classes() > 2 {
            let decision = self.one_versus_rest(scores);
            return (1..decision.len()).fold(0, |best, c| if decision[c] > decision[best] { c } else { best });
        }
        let mut votes = vec![0usize; self.classes()];
        pairs(self.classes()).zip(scores).for_each(|((a, b), score)| votes[if *score > 0.0 { a } else { b }] += 1);
        (1..votes.len()).fold(0, |best, c| if votes[c] > votes[best] { c } else { best })
    }

    /// Votes for each class, plus a number below 1/3 by the sum of the scores, as in scikit-learn's
    /// `_ovr_decision_function`.
    fn one_versus_rest(&self, scores: &[f64]) -> Vec<f64> {
        let (mut votes, mut sums) = (vec![0.0; self.classes()], vec![0.0; self.classes()]);
        for ((a, b), score) in pairs(self.classes()).zip(scores) {
            votes[if *score < 0.0 { b } else { a }] += 1.0;
            sums[a] += score;
            sums[b] -= score;
        }
        votes.iter().zip(&sums).map(|(vote, sum)| vote + sum / (3.0 * (f64::abs(*sum) + 1.0))).collect()
    }

    /// The columns of the decision function for the scores of a row.
    fn decide(&self, scores: &[f64], out: &mut [f64]) {
        match (self.task, self.classes()) {
            (MachineTask::Classes, 2) => out[0] = -scores[0],
            (MachineTask::Classes, _) if self.is_one_versus_rest => out.copy_from_slice(&self.one_versus_rest(scores)),
            _ => out.copy_from_slice(scores),
        }
    }

    /// 1 for pairs that are told with the other sign: two classes have the scores of the second one.
    fn sign(&self) -> f64 {
        if self.task == MachineTask::Classes && self.classes() == 2 { -1.0 } else { 1.0 }
    }

    /// Columns with the classes of each pair: the one of scores above 0, and the other one.
    fn pair_columns(&self, classes: &[String]) -> Vec<(String, Values)> {
        let name = |class: usize| classes.get(class).cloned().unwrap_or_default();
        let (first, second): (Vec<String>, Vec<String>) =
            pairs(self.classes()).map(|(a, b)| (name(a), name(b))).unzip();
        let (class, other) = if self.classes() == 2 { (second, first) } else { (first, second) };
        vec![("class".to_string(), Values::Strs(class)), ("other".to_string(), Values::Strs(other))]
    }

    /// For each pair the coefficients of the features, of a linear kernel.
    fn coef(&self) -> Vec<Vec<f64>> {
        let width = self.vectors.shape[1];
        let mut of_row = (0..width).map(|j| {
            let values: Vec<f64> = self.vectors.data.iter().skip(j).step_by(width).copied().collect();
            let mut scores = vec![0.0; self.intercept.data.len()];
            self.scores(&values, &mut scores);
            scores.iter().zip(&self.intercept.data).map(|(score, b)| score - b).collect::<Vec<f64>>()
        });
        let mut coef = vec![Vec::with_capacity(width); self.intercept.data.len()];
        of_row.by_ref().for_each(|scores| coef.iter_mut().zip(scores).for_each(|(c, s)| c.push(self.sign() * s)));
        coef
    }

    fn coef_frame(&self, features: &[Field], classes: &[String]) -> Option<Attribute> {
        if self.kernel.form != KernelForm::Linear {
            return None;
        }
        let coef = self.coef();
        if coef.len() == 1 {
            return Some(Attribute::by_feature(features, "coef", &coef[0]));
        }
        let mut columns = vec![(
            "feature".to_string(),
            Values::Strs(coef.iter().flat_map(|_| features.iter().map(|f| f.name.clone())).collect()),
        )];
        for (name, values) in self.pair_columns(classes) {
            if let Values::Strs(values) = values {
                let values = values.iter().flat_map(|v| features.iter().map(move |_| v.clone())).collect();
                columns.push((name, Values::Strs(values)));
            }
        }
        columns.push(("coef".to_string(), Values::Floats(coef.concat())));
        Some(Attribute::Frame(columns))
    }

    fn dual_frame(&self) -> Attribute {
        let rows = self.dual_coef.shape[0];
        let name = |k: usize| if rows == 1 { "dual_coef".to_string() } else { format!("dual_coef_{k}") };
        let column = |k: usize| self.dual_coef.row(k).iter().map(|a| self.sign() * a).collect();
        Attribute::Frame((0..rows).map(|k| (name(k), Values::Floats(column(k)))).collect())
    }
}

impl Model for Machine {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        match self.task {
            MachineTask::OneClass => vec![Role::Label],
            _ => {
                let classes = if self.platt.is_some() { self.classes() } else { 0 };
                std::iter::once(Role::Prediction).chain((0..classes).map(Role::Proba)).collect()
            }
        }
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let width = wanted.len();
        let with_proba = wanted.iter().any(|w| *w > 0);
        let values = self.scored(data, width, |scores, out| {
            let proba = match &self.platt {
                Some(platt) if with_proba => platt::probabilities(scores, &platt.data, self.classes()),
                _ => Vec::new(),
            };
            for (out, wanted) in out.iter_mut().zip(wanted) {
                *out = match (*wanted, self.task) {
                    (0, MachineTask::Classes) => self.vote(scores) as f64,
                    (0, MachineTask::Numbers) => scores[0],
                    (0, MachineTask::OneClass) => {
                        if scores[0] > 0.0 {
                            1.0
                        } else {
                            -1.0
                        }
                    }
                    (class, _) => proba[class - 1],
                };
            }
        })?;
        Ok((0..width).map(|k| values.iter().skip(k).step_by(width).copied().collect()).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let width = match (self.task, self.classes()) {
            (MachineTask::Numbers, _) => return Ok(None),
            (MachineTask::Classes, classes) if classes > 2 && self.is_one_versus_rest => classes,
            _ => self.intercept.data.len(),
        };
        let values = self.scored(data, width, |scores, out| self.decide(scores, out))?;
        Ok(Some((0..width).map(|k| values.iter().skip(k).step_by(width).copied().collect()).collect()))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let is_classes = self.task == MachineTask::Classes;
        match name {
            "classes" if is_classes => Some(Attribute::Strs(classes.to_vec())),
            "support" => {
                let rows = self.support.data.iter().map(|row| *row as i64).collect();
                Some(Attribute::Frame(vec![("row".to_string(), Values::Ints(rows))]))
            }
            "support_vectors" => Some(Attribute::by_row(None, features, &self.vectors.data)),
            "n_support" if is_classes => Some(Attribute::Frame(vec![
                ("class".to_string(), Values::Strs(classes.to_vec())),
                ("n_support".to_string(), Values::Ints(self.counts.iter().map(|n| *n as i64).collect())),
            ])),
            "dual_coef" => Some(self.dual_frame()),
            "intercept" if is_classes => {
                let mut columns = self.pair_columns(classes);
                let values = self.intercept.data.iter().map(|b| self.sign() * b).collect();
                columns.push(("intercept".to_string(), Values::Floats(values)));
                Some(Attribute::Frame(columns))
            }
            "intercept" => self.intercept.data.first().map(|b| Attribute::Float(*b)),
            "offset" => self.intercept.data.first().map(|b| Attribute::Float(-b)),
            "coef" => self.coef_frame(features, classes),
            "n_iter" if is_classes => {
                let mut columns = self.pair_columns(classes);
                let values = self.n_iter.iter().map(|n| *n as i64).collect();
                columns.push(("n_iter".to_string(), Values::Ints(values)));
                Some(Attribute::Frame(columns))
            }
            "n_iter" => self.n_iter.first().map(|n| Attribute::Int(*n as i64)),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        let is_plain = self.kernel.form == KernelForm::Linear && self.intercept.data.len() == 1;
        is_plain.then(|| ("coefficient", self.coef().swap_remove(0)))
    }

    fn linear(&self) -> Option<LinearScores> {
        (self.kernel.form == KernelForm::Linear && self.task == MachineTask::Numbers).then(|| LinearScores {
            coef: self.coef(),
            intercept: self.intercept.data.clone(),
            shift: vec![0.0; self.vectors.shape[1]],
            link: Link::Identity,
        })
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        let count = self.support.data.len();
        if features == 0 || self.vectors.shape != [count, features] {
            return wrong(format!("{count} vectors of the shape {:?} for {features} features", self.vectors.shape));
        }
        let (parts, scores) = match self.task {
            MachineTask::Classes => (classes, pairs(classes).count()),
            _ => (1, 1),
        };
        if scores == 0 || self.counts.len() != parts || self.intercept.data.len() != scores {
            return wrong(format!("{} intercepts for {classes} classes", self.intercept.data.len()));
        }
        let total = self.counts.iter().try_fold(0usize, |sum, n| sum.checked_add(*n));
        if total != Some(count) || self.dual_coef.shape != [parts.saturating_sub(1).max(1), count] {
            return wrong(format!("coefficients of the shape {:?} for {count} vectors", self.dual_coef.shape));
        }
        match self.platt.as_ref().is_some_and(|platt| platt.shape != [scores, 2] || self.task != MachineTask::Classes) {
            true => wrong("probabilities that do not fit the classes".to_string()),
            false => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.vectors.bytes() + self.dual_coef.bytes() + self.support.bytes()
    }
}
