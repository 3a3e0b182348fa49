//! Kernels of support vector machines, and their values for a row and many others.
//!
//! Products are chains of fused multiply-adds in the order of the features, as in [`crate::neighbors::tile`]. The bits
//! are the same on each processor and on any number of threads.

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::linear::finite;
use crate::neighbors::tile::{LANES, Panels};
use crate::params::word;

/// Panels that are multiplied with a row at once: their sums fit the registers.
const AT_ONCE: usize = 4;

/// Panels of a task.
const TASK: usize = 256;

/// Multiplications for which a row of values is worth several threads.
const WORTH_THREADS: usize = 1 << 19;

/// The form of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelForm {
    /// `a b`.
    Linear,
    /// `(gamma a b + coef0)^degree`.
    Poly,
    /// `exp(-gamma |a - b|^2)`.
    Rbf,
    /// `tanh(gamma a b + coef0)`.
    Sigmoid,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    pub form: KernelForm,
    #[serde(with = "crate::tensor::scalar")]
    pub gamma: f64,
    #[serde(with = "crate::tensor::scalar")]
    pub coef0: f64,
    pub degree: u32,
}

impl Kernel {
    /// The kernel of parameters. `x` are all features of the training, of which there are `width`.
    ///
    /// # Errors
    /// If `gamma` is neither `scale` nor `auto` nor a finite number of at least 0.
    pub fn new(
        form: &str,
        gamma: &Param,
        (coef0, degree): (f64, usize),
        x: &[f64],
        width: usize,
    ) -> Result<Kernel, Error> {
        let gamma = match (gamma, word(gamma)) {
            (_, Some("scale")) => match variance(x) {
                variance if variance > 0.0 => 1.0 / (width as f64 * variance),
                _ => 1.0,
            },
            (_, Some("auto")) => 1.0 / width as f64,
            (given, _) => given.as_f64().filter(|gamma| gamma.is_finite() && *gamma >= 0.0).ok_or_else(|| {
                let message = format!("`gamma` is {given}: \"scale\", \"auto\" or a finite number of at least 0");
                Error::new(ErrorKind::Parameter, message)
            })?,
        };
        let form = match form {
            "linear" => KernelForm::Linear,
            "poly" => KernelForm::Poly,
            "sigmoid" => KernelForm::Sigmoid,
            _ => KernelForm::Rbf,
        };
        let degree = u32::try_from(degree).unwrap_or(u32::MAX);
        Ok(Kernel { form, gamma, coef0: finite("coef0", coef0)?, degree })
    }

    /// The value for the product of two rows, and the sum of their squares.
    #[inline(always)]
    fn value(&self, product: f64, squares: f64) -> f64 {
        match self.form {
            KernelForm::Linear => product,
            KernelForm::Poly => power(self.gamma.mul_add(product, self.coef0), self.degree),
            KernelForm::Rbf => self.radial(product, squares),
            KernelForm::Sigmoid => self.gamma.mul_add(product, self.coef0).tanh(),
        }
    }

    #[inline(always)]
    fn radial(&self, product: f64, squares: f64) -> f64 {
        let distance = squares - 2.0 * product;
        exp(-self.gamma * if distance > 0.0 { distance } else { 0.0 })
    }

    /// The value of each point with itself.
    pub fn diagonal(&self, points: &KernelPoints) -> Vec<f64> {
        points.squares[..points.rows()].iter().map(|square| self.value(*square, 2.0 * square)).collect()
    }

    /// The values of a row with all points. On several threads only if that pays.
    pub fn values(&self, row: &[f64], points: &KernelPoints, out: &mut [f64]) {
        let work = |(task, out): (usize, &mut [f64])| {
            pulp::Arch::new().dispatch(Values { kernel: *self, row, points, first: task * TASK, out });
        };
        let tasks = TASK * LANES;
        match out.len() * (points.width + 8) > WORTH_THREADS {
            true => out.par_chunks_mut(tasks).enumerate().for_each(work),
            false => out.chunks_mut(tasks).enumerate().for_each(work),
        }
    }
}

/// The variance of all values.
fn variance(x: &[f64]) -> f64 {
    let mean = crate::sums::mean(x, None);
    let squares: Vec<f64> = x.iter().map(|v| (v - mean) * (v - mean)).collect();
    crate::sums::mean(&squares, None)
}

/// Rows, packed for products.
pub struct KernelPoints {
    panels: Panels,
    pub width: usize,
    /// For each row the sum of its squares, then zeros up to the end of the last panel.
    squares: Vec<f64>,
    data: Vec<f64>,
}

impl KernelPoints {
    /// Packs a row-major matrix.
    pub fn new(data: Vec<f64>, width: usize) -> Self {
        let panels = Panels::new(&data, width);
        let mut squares: Vec<f64> = data.chunks_exact(width).map(square).collect();
        squares.resize(panels.count() * LANES, 0.0);
        KernelPoints { panels, width, squares, data }
    }

    pub fn rows(&self) -> usize {
        self.panels.rows
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.width..(row + 1) * self.width]
    }
}

/// The values of a row with the points of some panels, from `first` on.
struct Values<'a> {
    kernel: Kernel,
    row: &'a [f64],
    points: &'a KernelPoints,
    first: usize,
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Values<'_> {
    type Output = ();

    // Inlined into the code for each set of instructions: a call would leave it.
    #[inline(always)]
    fn call(self) {
        let Values { kernel, row, points, first, out } = self;
        let own = square(row);
        for (group, out) in out.chunks_mut(AT_ONCE * LANES).enumerate() {
            let panel = first + group * AT_ONCE;
            let mut values = [[0.0; LANES]; AT_ONCE];
            match out.len() == AT_ONCE * LANES {
                true => {
                    let panels: [&[f64]; AT_ONCE] = std::array::from_fn(|p| points.panels.panel(panel + p));
                    values = products(row, &panels);
                }
                false => {
                    for (p, values) in values.iter_mut().enumerate().take(out.len().div_ceil(LANES)) {
                        *values = products(row, &[points.panels.panel(panel + p)])[0];
                    }
                }
            }
            let squares = &points.squares[panel * LANES..];
            let pairs = out.iter_mut().zip(values.as_flattened().iter().zip(squares));
            // A loop for each form, so that each is compiled for wide registers.
            match kernel.form {
                KernelForm::Rbf => {
                    pairs.for_each(|(out, (product, square))| *out = kernel.radial(*product, own + square))
                }
                KernelForm::Linear => pairs.for_each(|(out, (product, _))| *out = *product),
                _ => pairs.for_each(|(out, (product, square))| *out = kernel.value(*product, own + square)),
            }
        }
    }
}

/// The sum of squares of a row, with the bits of its product with itself.
#[inline(always)]
fn square(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |sum, x| x.mul_add(*x, sum))
}

/// The products of a row with the rows of some panels.
#[inline(always)]
fn products<const P: usize>(row: &[f64], panels: &[&[f64]; P]) -> [[f64; LANES]; P] {
    let panels: [&[[f64; LANES]]; P] = std::array::from_fn(|p| &panels[p].as_chunks::<LANES>().0[..row.len()]);
    let mut sums = [[0.0; LANES]; P];
    for (j, x) in row.iter().enumerate() {
        for p in 0..P {
            let feature = &panels[p][j];
            for lane in 0..LANES {
                sums[p][lane] = x.mul_add(feature[lane], sums[p][lane]);
            }
        }
    }
    sums
}

/// A power by repeated squaring.
#[inline(always)]
fn power(mut base: f64, mut degree: u32) -> f64 {
    let mut out = 1.0;
    while degree > 0 {
        if degree & 1 == 1 {
            out *= base;
        }
        base *= base;
        degree >>= 1;
    }
    out
}

/// The exponential function of a number of at most 0, without branches: a power of two, and a Taylor polynomial of what
/// is left. Below -708 it is that of -708, about 1e-308.
#[inline(always)]
fn exp(x: f64) -> f64 {
    /// 1 / n! from 13 down.
    const FACTORIALS: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    /// ln 2 in two parts, the first one with few digits.
    const LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
    /// 1.5 x 2^52: a sum with it is rounded to an integer, which its last bits hold.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = if x < -708.0 { -708.0 } else { x };
    let rounded = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let count = rounded - ROUND;
    let rest = count.mul_add(-LN_2.1, count.mul_add(-LN_2.0, x));
    let mut sum = FACTORIALS[0];
    for factor in &FACTORIALS[1..] {
        sum = sum.mul_add(rest, *factor);
    }
    f64::from_bits(sum.to_bits().wrapping_add(rounded.to_bits() << 52))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_the_library() {
        for i in 0..70_000 {
            let x = -f64::from(i) / 99.0;
            let (found, wanted) = (exp(x), x.exp());
            assert!((found - wanted).abs() <= 1e-15 * wanted, "exp({x}) is {found}, expected {wanted}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e300) > 0.0 && exp(-1e300) < 1e-300);
    }

    #[test]
    fn values_are_those_of_the_formulas() {
        let (rows, width) = (77, 5);
        let data: Vec<f64> = (0..rows * width).map(|i| ((i * 37 % 101) as f64 - 50.0) / 40.0).collect();
        let points = KernelPoints::new(data, width);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for form in [KernelForm::Linear, KernelForm::Poly, KernelForm::Rbf, KernelForm::Sigmoid] {
            let kernel = Kernel { form, gamma: 0.3, coef0: 0.5, degree: 3 };
            let diagonal = kernel.diagonal(&points);
            for i in 0..rows {
                let mut found = vec![0.0; rows];
                kernel.values(points.row(i), &points, &mut found);
                for (j, found) in found.iter().enumerate() {
                    let (a, b) = (points.row(i), points.row(j));
                    let wanted = match form {
                        KernelForm::Linear => product(a, b),
                        KernelForm::Poly => (0.3 * product(a, b) + 0.5).powi(3),
                        KernelForm::Rbf => (-0.3 * a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp(),
                        KernelForm::Sigmoid => (0.3 * product(a, b) + 0.5).tanh(),
                    };
                    assert!((found - wanted).abs() < 1e-13, "{form:?} {i} {j}: {found}, expected {wanted}");
                }
                assert!((diagonal[i] - found[i]).abs() < 1e-13);
            }
        }
    }
}
