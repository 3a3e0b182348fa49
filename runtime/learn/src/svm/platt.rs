//! Probabilities by scores, as in LIBSVM. Two classes have Platt's scaling (Lin, Lin and Weng, A note on Platt's
//! probabilistic outputs, 2007). Pairs are coupled (Wu, Lin and Weng, Probability estimates for multi-class
//! classification by pairwise coupling, 2004, method 2).

use super::machine::pairs;

/// Smallest probability of a pair.
const LEAST: f64 = 1e-7;

/// The probability of the first class of a pair.
fn sigmoid(score: f64, (slope, intercept): (f64, f64)) -> f64 {
    let odds = score * slope + intercept;
    if odds >= 0.0 { (-odds).exp() / (1.0 + (-odds).exp()) } else { 1.0 / (1.0 + odds.exp()) }
}

/// Slope and intercept of the logarithmic odds for scores of rows: Newton's method with halved steps.
pub fn train(scores: &[f64], is_first: &[bool]) -> (f64, f64) {
    let first = is_first.iter().filter(|first| **first).count() as f64;
    let second = is_first.len() as f64 - first;
    let targets = ((first + 1.0) / (first + 2.0), 1.0 / (second + 2.0));
    let targets: Vec<f64> = is_first.iter().map(|first| if *first { targets.0 } else { targets.1 }).collect();
    let loss = |a: f64, b: f64| {
        let of = |(score, target): (&f64, &f64)| {
            let odds = score * a + b;
            if odds >= 0.0 { target * odds + (-odds).exp().ln_1p() } else { (target - 1.0) * odds + odds.exp().ln_1p() }
        };
        scores.iter().zip(&targets).map(of).sum::<f64>()
    };
    let (mut a, mut b) = (0.0, ((second + 1.0) / (first + 1.0)).ln());
    let mut value = loss(a, b);
    for _ in 0..100 {
        let (mut h11, mut h22, mut h21, mut g1, mut g2) = (1e-12, 1e-12, 0.0, 0.0, 0.0);
        for (score, target) in scores.iter().zip(&targets) {
            let p = sigmoid(*score, (a, b));
            let d = p * (1.0 - p);
            h11 += score * score * d;
            h22 += d;
            h21 += score * d;
            g1 += score * (target - p);
            g2 += target - p;
        }
        if f64::abs(g1) < 1e-5 && f64::abs(g2) < 1e-5 {
            break;
        }
        let determinant = h11 * h22 - h21 * h21;
        let (da, db) = (-(h22 * g1 - h21 * g2) / determinant, -(h11 * g2 - h21 * g1) / determinant);
        let slope = g1 * da + g2 * db;
        let mut step = 1.0;
        loop {
            let next = loss(a + step * da, b + step * db);
            if next < value + 1e-4 * step * slope {
                (a, b, value) = (a + step * da, b + step * db, next);
                break;
            }
            step *= 0.5;
            if step < 1e-10 {
                return (a, b);
            }
        }
    }
    (a, b)
}

/// The probability of each class for the scores of the pairs. `platt` has slope and intercept of each pair.
pub fn probabilities(scores: &[f64], platt: &[f64], classes: usize) -> Vec<f64> {
    let of = |(score, platt): (&f64, &[f64])| sigmoid(*score, (platt[0], platt[1])).clamp(LEAST, 1.0 - LEAST);
    let first: Vec<f64> = scores.iter().zip(platt.chunks_exact(2)).map(of).collect();
    if classes == 2 {
        return vec![first[0], 1.0 - first[0]];
    }
    let mut table = vec![0.0; classes * classes];
    for ((a, b), p) in pairs(classes).zip(first) {
        table[a * classes + b] = p;
        table[b * classes + a] = 1.0 - p;
    }
    coupled(&table, classes)
}

/// Probabilities of classes by those of pairs: `r[i][j]` is the probability of `i` among `i` and `j`.
fn coupled(r: &[f64], k: usize) -> Vec<f64> {
    let q = |t: usize, j: usize| match t == j {
        true => (0..k).filter(|j| *j != t).map(|j| r[j * k + t] * r[j * k + t]).sum::<f64>(),
        false => -r[j * k + t] * r[t * k + j],
    };
    let q: Vec<f64> = (0..k * k).map(|at| q(at / k, at % k)).collect();
    let mut p = vec![1.0 / k as f64; k];
    for _ in 0..k.max(100) {
        let mut products: Vec<f64> = (0..k).map(|t| (0..k).map(|j| q[t * k + j] * p[j]).sum()).collect();
        let mut whole: f64 = p.iter().zip(&products).map(|(p, q)| p * q).sum();
        if products.iter().all(|product| (product - whole).abs() < 0.005 / k as f64) {
            break;
        }
        for t in 0..k {
            let change = (whole - products[t]) / q[t * k + t];
            p[t] += change;
            whole = (whole + change * (change * q[t * k + t] + 2.0 * products[t])) / (1.0 + change) / (1.0 + change);
            for j in 0..k {
                products[j] = (products[j] + change * q[t * k + j]) / (1.0 + change);
                p[j] /= 1.0 + change;
            }
        }
    }
    p
}
