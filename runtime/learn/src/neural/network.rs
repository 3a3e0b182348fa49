//! The layers of a multilayer perceptron: values forward, gradients backward (`sklearn/neural_network`).
//!
//! Parameters are one vector: the weights of all layers, then the intercepts of all layers. The weights of a layer are
//! input after input, as rows of NumPy. Knows no estimator and no optimizer.

use std::ops::Range;

use onrush_dense::{View, multiply_into};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::elementary::{exp, tanh};

/// The activation of hidden layers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Activation {
    Identity,
    Logistic,
    Tanh,
    Relu,
}

/// The activation of the last layer, with its loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutputUnit {
    /// Half the squared error.
    Identity,
    /// The log loss of the second of two classes.
    Logistic,
    /// The log loss of several classes.
    Softmax,
    /// Half the deviance of Poisson.
    Exp,
}

/// The layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Units of each layer: features, hidden layers, outputs.
    pub sizes: Vec<usize>,
    pub hidden: Activation,
    pub output: OutputUnit,
}

/// Rows with their targets.
#[derive(Clone, Copy)]
pub struct NetworkRows<'a> {
    /// Row after row.
    pub x: &'a [f64],
    /// The value, or the position of the class.
    pub y: &'a [f64],
    pub weight: Option<&'a [f64]>,
}

/// Memory of a pass over a chunk of rows, and its results.
#[derive(Default)]
pub struct Chunk {
    /// The values of each layer, row after row.
    layers: Vec<Vec<f64>>,
    delta: Vec<f64>,
    before: Vec<f64>,
    /// The sum of the gradients of the rows.
    pub gradient: Vec<f64>,
    /// The sum of the losses of the rows.
    pub loss: f64,
    /// The sum of the weights of the rows.
    pub weight: f64,
}

/// Rows of a chunk in a batch of `rows`: it follows from their number alone.
pub fn chunk_rows(rows: usize) -> usize {
    rows.div_ceil((rows / 48).clamp(1, 16)).max(1)
}

impl Network {
    pub fn features(&self) -> usize {
        self.sizes[0]
    }

    pub fn outputs(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    /// Layers of weights.
    pub fn depth(&self) -> usize {
        self.sizes.len() - 1
    }

    /// The places of the weights of a layer.
    pub fn weights(&self, layer: usize) -> Range<usize> {
        let size = |l: usize| self.sizes[l] * self.sizes[l + 1];
        let start = (0..layer).map(size).sum();
        start..start + size(layer)
    }

    /// Weights of all layers.
    pub fn all_weights(&self) -> usize {
        (0..self.depth()).map(|l| self.sizes[l] * self.sizes[l + 1]).sum()
    }

    /// The places of the intercepts of a layer.
    pub fn intercepts(&self, layer: usize) -> Range<usize> {
        let start = self.all_weights() + self.sizes[1..=layer].iter().sum::<usize>();
        start..start + self.sizes[layer + 1]
    }

    pub fn parameters(&self) -> usize {
        self.all_weights() + self.sizes[1..].iter().sum::<usize>()
    }

    /// One layer forward: `to` has `rows` rows of the units after `layer`.
    fn forward(&self, params: &[f64], layer: usize, from: &[f64], to: &mut [f64]) {
        let (inputs, units) = (self.sizes[layer], self.sizes[layer + 1]);
        let rows = from.len() / inputs;
        let weights = View::new(units, inputs, &params[self.weights(layer)]);
        multiply_into(weights, View::new(inputs, rows, from), to);
        let intercepts = &params[self.intercepts(layer)];
        for row in to.chunks_exact_mut(units) {
            row.iter_mut().zip(intercepts).for_each(|(z, b)| *z += b);
        }
        if layer + 1 < self.depth() {
            self.hidden.apply(to);
        } else {
            self.output.apply(to, units);
        }
    }

    /// The outputs of rows, row after row, on all threads.
    pub fn predict(&self, params: &[f64], x: &[f64]) -> Vec<f64> {
        const ROWS: usize = 128;
        let (features, outputs) = (self.features(), self.outputs());
        let mut out = vec![0.0; x.len() / features * outputs];
        let parts = x.par_chunks(ROWS * features).zip(out.par_chunks_mut(ROWS * outputs));
        parts.for_each_init(
            || (Vec::new(), Vec::new()),
            |(from, to), (x, out)| {
                let rows = x.len() / features;
                for layer in 0..self.depth() {
                    let source = if layer == 0 { x } else { &from[..] };
                    if layer + 1 == self.depth() {
                        self.forward(params, layer, source, out);
                    } else {
                        resize(to, rows * self.sizes[layer + 1]);
                        self.forward(params, layer, source, to);
                        std::mem::swap(from, to);
                    }
                }
            },
        );
        out
    }

    /// The losses and gradients of a chunk of rows, without the penalty.
    pub fn pass(&self, params: &[f64], rows: NetworkRows<'_>, chunk: &mut Chunk) {
        let (depth, count) = (self.depth(), rows.y.len());
        chunk.layers.resize_with(depth, Vec::new);
        for layer in 0..depth {
            let (before, after) = chunk.layers.split_at_mut(layer);
            let from = before.last().map_or(rows.x, Vec::as_slice);
            resize(&mut after[0], count * self.sizes[layer + 1]);
            self.forward(params, layer, from, &mut after[0]);
        }
        chunk.delta.clear();
        chunk.delta.extend_from_slice(&chunk.layers[depth - 1]);
        chunk.loss = self.output.differences(&mut chunk.delta, self.outputs(), rows);
        chunk.weight = rows.weight.map_or(count as f64, |w| w.iter().sum());
        resize(&mut chunk.gradient, self.parameters());
        for layer in (0..depth).rev() {
            let (inputs, units) = (self.sizes[layer], self.sizes[layer + 1]);
            let from = if layer == 0 { rows.x } else { &chunk.layers[layer - 1] };
            let delta = View::new(units, count, &chunk.delta);
            let gradient = &mut chunk.gradient[self.weights(layer)];
            multiply_into(delta, View::new(inputs, count, from).transposed(), gradient);
            let intercepts = &mut chunk.gradient[self.intercepts(layer)];
            intercepts.fill(0.0);
            for row in chunk.delta.chunks_exact(units) {
                intercepts.iter_mut().zip(row).for_each(|(g, d)| *g += d);
            }
            if layer > 0 {
                resize(&mut chunk.before, count * inputs);
                let weights = View::new(units, inputs, &params[self.weights(layer)]).transposed();
                multiply_into(weights, delta, &mut chunk.before);
                self.hidden.slope(from, &mut chunk.before);
                std::mem::swap(&mut chunk.delta, &mut chunk.before);
            }
        }
    }
}

/// Sets a length without writing values that stay.
fn resize(values: &mut Vec<f64>, len: usize) {
    if values.len() > len {
        values.truncate(len);
    } else {
        values.resize(len, 0.0);
    }
}

fn expit(z: f64) -> f64 {
    let small = (-z.abs()).exp();
    if z >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

impl Activation {
    fn apply(self, values: &mut [f64]) {
        match self {
            Activation::Identity => {}
            Activation::Logistic => values.iter_mut().for_each(|v| *v = 1.0 / (1.0 + exp(-*v))),
            Activation::Tanh => values.iter_mut().for_each(|v| *v = tanh(*v)),
            // NaN stays.
            Activation::Relu => values.iter_mut().for_each(|v| *v = if *v < 0.0 { 0.0 } else { *v }),
        }
    }

    /// Multiplies `delta` by the slopes at the `values` after the activation.
    fn slope(self, values: &[f64], delta: &mut [f64]) {
        let pairs = delta.iter_mut().zip(values);
        match self {
            Activation::Identity => {}
            Activation::Logistic => pairs.for_each(|(d, z)| *d *= z * (1.0 - z)),
            Activation::Tanh => pairs.for_each(|(d, z)| *d *= 1.0 - z * z),
            Activation::Relu => pairs.for_each(|(d, z)| *d = if *z == 0.0 { 0.0 } else { *d }),
        }
    }
}

impl OutputUnit {
    fn apply(self, values: &mut [f64], units: usize) {
        match self {
            OutputUnit::Identity => {}
            OutputUnit::Logistic => values.iter_mut().for_each(|v| *v = expit(*v)),
            OutputUnit::Exp => values.iter_mut().for_each(|v| *v = v.exp()),
            OutputUnit::Softmax => {
                for row in values.chunks_exact_mut(units) {
                    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    row.iter_mut().for_each(|v| *v = (*v - largest).exp());
                    let total: f64 = row.iter().sum();
                    row.iter_mut().for_each(|v| *v /= total);
                }
            }
        }
    }

    /// Turns the outputs into weighted slopes of the loss before the activation, and gives the weighted loss.
    fn differences(self, outputs: &mut [f64], units: usize, rows: NetworkRows<'_>) -> f64 {
        let mut sum = 0.0;
        for (i, (row, y)) in outputs.chunks_exact_mut(units).zip(rows.y).enumerate() {
            let weight = rows.weight.map_or(1.0, |w| w[i]);
            sum += weight * self.loss(row, *y);
            match self {
                OutputUnit::Softmax => row[*y as usize] -= 1.0,
                _ => row[0] -= y,
            }
            if rows.weight.is_some() {
                row.iter_mut().for_each(|d| *d *= weight);
            }
        }
        sum
    }

    /// The loss of the outputs of a row.
    fn loss(self, row: &[f64], y: f64) -> f64 {
        let clipped = |p: f64| if p.is_nan() { p } else { p.clamp(f64::EPSILON, 1.0 - f64::EPSILON) };
        match self {
            OutputUnit::Identity => 0.5 * (y - row[0]) * (y - row[0]),
            OutputUnit::Logistic if y > 0.5 => -clipped(row[0]).ln(),
            OutputUnit::Logistic => -(1.0 - clipped(row[0])).ln(),
            OutputUnit::Softmax => -clipped(row[y as usize]).ln(),
            OutputUnit::Exp if y == 0.0 => row[0],
            OutputUnit::Exp => y * (y / row[0]).ln() - y + row[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_the_slopes_of_the_loss() {
        let x = [0.3, -1.2, 0.8, 1.1, 0.4, -0.7, -0.2, 0.9, 1.5];
        for (hidden, output, y) in [
            (Activation::Tanh, OutputUnit::Softmax, [0.0, 2.0, 1.0]),
            (Activation::Logistic, OutputUnit::Logistic, [0.0, 1.0, 1.0]),
            (Activation::Relu, OutputUnit::Identity, [0.5, -2.0, 1.0]),
            (Activation::Identity, OutputUnit::Exp, [0.0, 2.0, 1.0]),
        ] {
            let outputs = if output == OutputUnit::Softmax { 3 } else { 1 };
            let network = Network { sizes: vec![3, 4, 2, outputs], hidden, output };
            let params: Vec<f64> = (0..network.parameters()).map(|i| (i as f64 * 1.7).sin() * 0.8).collect();
            let weight = Some(&[1.0, 0.5, 2.0][..]);
            let mut chunk = Chunk::default();
            let mut at = |params: &[f64]| {
                network.pass(params, NetworkRows { x: &x, y: &y, weight }, &mut chunk);
                (chunk.loss, chunk.gradient.clone())
            };
            let (_, gradient) = at(&params);
            for i in 0..params.len() {
                let mut moved = params.clone();
                moved[i] += 1e-6;
                let (above, _) = at(&moved);
                moved[i] -= 2e-6;
                let (below, _) = at(&moved);
                let slope = (above - below) / 2e-6;
                assert!((slope - gradient[i]).abs() < 1e-7, "{hidden:?} {output:?} {i}: {slope} and {}", gradient[i]);
            }
        }
    }
}
