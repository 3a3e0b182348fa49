//! Optimizers of multilayer perceptrons: `sklearn/neural_network/_stochastic_optimizers.py`.

use rayon::prelude::*;

use super::network::Chunk;

/// The schedule of the learning rate of [`OptimizerKind::Sgd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    Constant,
    InvScaling { power: f64 },
    Adaptive,
}

/// How a gradient becomes a step.
#[derive(Clone, Copy)]
pub enum OptimizerKind {
    /// Adam (Kingma and Ba 2015).
    Adam { beta_1: f64, beta_2: f64, epsilon: f64 },
    /// Momentum, and Nesterov's.
    Sgd { momentum: f64, is_nesterov: bool, rate: Rate },
}

/// The state of an optimizer.
pub struct Optimizer {
    kind: OptimizerKind,
    initial: f64,
    rate: f64,
    /// Steps so far.
    steps: f64,
    /// The mean gradients, or the velocities.
    first: Vec<f64>,
    /// The mean squared gradients.
    second: Vec<f64>,
}

/// Parameters of a part that one thread works on.
const PART: usize = 16_384;

impl Optimizer {
    pub fn new(kind: OptimizerKind, initial: f64, parameters: usize) -> Self {
        // A velocity has no second moment, and the loop has one form.
        let moments = || vec![0.0; parameters];
        Optimizer { kind, initial, rate: initial, steps: 0.0, first: moments(), second: moments() }
    }

    /// Adds the gradients of the chunks of a batch in their order, and moves the parameters. The first `penalised`
    /// parameters have the l2 penalty `alpha`. Gives the sum of their squares before the move.
    pub fn step(&mut self, params: &mut [f64], chunks: &[Chunk], penalised: usize, alpha: f64, weight: f64) -> f64 {
        self.steps += 1.0;
        let steps = self.steps;
        if let OptimizerKind::Adam { beta_1, beta_2, .. } = self.kind {
            self.rate = self.initial * (1.0 - beta_2.powf(steps)).sqrt() / (1.0 - beta_1.powf(steps));
        }
        let (kind, rate) = (self.kind, self.rate);
        let work = |(part, ((params, first), second)): (usize, ((&mut [f64], &mut [f64]), &mut [f64]))| {
            let start = part * PART;
            let mut gradient =
                chunks.first().map_or_else(Vec::new, |c| c.gradient[start..start + params.len()].to_vec());
            for chunk in &chunks[1..] {
                let other = &chunk.gradient[start..start + params.len()];
                gradient.iter_mut().zip(other).for_each(|(g, o)| *g += o);
            }
            let end = penalised.saturating_sub(start).min(params.len());
            let mut squares = 0.0;
            for (g, w) in gradient[..end].iter_mut().zip(&*params) {
                squares += w * w;
                *g += alpha * w;
            }
            let inputs = params.iter_mut().zip(&gradient).zip(first).zip(second);
            match kind {
                OptimizerKind::Adam { beta_1, beta_2, epsilon } => inputs.for_each(|(((w, g), m), v)| {
                    let g = g / weight;
                    *m = beta_1 * *m + (1.0 - beta_1) * g;
                    *v = beta_2 * *v + (1.0 - beta_2) * (g * g);
                    *w += -rate * *m / (v.sqrt() + epsilon);
                }),
                OptimizerKind::Sgd { momentum, is_nesterov, .. } => inputs.for_each(|(((w, g), m), _)| {
                    let g = g / weight;
                    *m = momentum * *m - rate * g;
                    *w += if is_nesterov { momentum * *m - rate * g } else { *m };
                }),
            }
            squares
        };
        let sizes = (params.par_chunks_mut(PART), self.first.par_chunks_mut(PART), self.second.par_chunks_mut(PART));
        let squares: Vec<f64> = sizes.0.zip(sizes.1).zip(sizes.2).enumerate().map(work).collect();
        squares.iter().sum()
    }

    /// After a pass over all rows, when `rows` rows were seen since the start.
    pub fn iteration_ends(&mut self, rows: f64) {
        if let OptimizerKind::Sgd { rate: Rate::InvScaling { power }, .. } = self.kind {
            self.rate = self.initial / (rows + 1.0).powf(power);
        }
    }

    /// Whether the training ends if it no longer improves. The schedule `adaptive` goes on with a smaller rate.
    pub fn is_at_end(&mut self) -> bool {
        match self.kind {
            OptimizerKind::Sgd { rate: Rate::Adaptive, .. } if self.rate > 1e-6 => {
                self.rate /= 5.0;
                false
            }
            _ => true,
        }
    }
}
