//! Measures of how good a split is, over sums of weights and targets (`sklearn/tree/_criterion.pyx`; Breiman et al.
//! 1984).

/// The measure that a split lowers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    Gini,
    Entropy,
    SquaredError,
    Poisson,
}

/// The sum of a target up to which it is 0: the sum of one side is a difference of sums, which is rounded.
const NO_TARGET: f64 = 10.0 * f64::EPSILON;

/// The target of a row as it is added to a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// The weight, above 0.
    pub weight: f64,
    /// The number of the class, or the value minus the mean of all rows.
    pub target: f64,
}

/// The sums of a histogram's bin: the weight of each class, or the weight and the weighted target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub criterion: Criterion,
    /// Classes, or 2 for numbers.
    pub slots: usize,
}

impl Target {
    pub fn is_class(&self) -> bool {
        matches!(self.criterion, Criterion::Gini | Criterion::Entropy)
    }

    pub fn weight(&self, sums: &[f64]) -> f64 {
        if self.is_class() { sums.iter().sum() } else { sums[0] }
    }

    /// The weight times the negative impurity, up to a term that a split does not change: the higher, the purer.
    /// Infinite if the side cannot be.
    pub fn purity(&self, sums: &[f64]) -> f64 {
        match self.criterion {
            Criterion::Gini => match sums {
                [a, b] => (a * a + b * b) / (a + b),
                _ => sums.iter().map(|s| s * s).sum::<f64>() / sums.iter().sum::<f64>(),
            },
            Criterion::Entropy => {
                let weight: f64 = sums.iter().sum();
                sums.iter().filter(|s| **s > 0.0).map(|s| s * (s / weight).log2()).sum()
            }
            Criterion::SquaredError => sums[1] * sums[1] / sums[0],
            Criterion::Poisson if sums[1] > NO_TARGET => sums[1] * (sums[1] / sums[0]).ln(),
            Criterion::Poisson => f64::NEG_INFINITY,
        }
    }

    /// The number that a monotonic constraint is about, and that sorts categories: the share of a class, or the mean.
    pub fn ratio(&self, sums: &[f64], class: usize) -> f64 {
        if self.is_class() { sums[class] / sums.iter().sum::<f64>() } else { sums[1] / sums[0] }
    }

    /// The impurity of rows, of which `sums` are the sums.
    pub fn impurity(&self, items: &[Item], sums: &[f64]) -> f64 {
        let weight = self.weight(sums);
        match self.criterion {
            Criterion::Gini => 1.0 - sums.iter().map(|s| (s / weight) * (s / weight)).sum::<f64>(),
            Criterion::Entropy => -self.purity(sums) / weight,
            Criterion::SquaredError => {
                let mean = sums[1] / sums[0];
                items.iter().map(|i| i.weight * (i.target - mean) * (i.target - mean)).sum::<f64>() / weight
            }
            Criterion::Poisson => {
                let mean = sums[1] / sums[0];
                let loss = |i: &Item| if i.target > 0.0 { i.weight * i.target * (i.target / mean).ln() } else { 0.0 };
                items.iter().map(loss).sum::<f64>() / weight
            }
        }
    }
}
