//! Exact SHAP values of a tree with the path-dependent expectations of TreeSHAP, in time of leaves x depth. Lundberg et
//! al. 2020, "From local explanations to global understanding with explainable AI for trees".
//!
//! Take a leaf of value v and a feature i of its path. The number o is 1 if the row goes the leaf's way at the nodes of
//! i, else 0. The number z is the share of training rows that do. The game of the leaf is v times the product of o over
//! known features and z over others. Its Shapley values are integrals of its multilinear extension (Owen 1972):
//!
//! v (o_i - z_i) ∫ ∏_{j≠i} (t o_j + (1 - t) z_j) dt, t from 0 to 1.
//!
//! The integrand is a polynomial of degree d - 1 for d features. A Gauss-Legendre rule of d / 2 points is exact. All
//! its terms have one sign, so that nothing cancels. The products at the points are carried down the tree, and the sums
//! of the leaves up. Linear TreeSHAP does the same (Yu, Xu, Bifet and Read 2022).

use super::shape::{NONE, Shape, ShapeNode};

/// Points of the largest rule. It integrates products of more than twice as many factors to rounding error.
const MOST: usize = 64;

/// The numbers of points, for each of which the walk is compiled.
const SIZES: [usize; 8] = [2, 4, 6, 8, 12, 16, 32, MOST];

/// A Gauss-Legendre rule on 0 to 1.
#[derive(Clone, Debug)]
pub struct Quadrature {
    /// Points, rising.
    points: Vec<f64>,
    weights: Vec<f64>,
    /// 1 minus the points.
    rest: Vec<f64>,
    /// The weights over 1 minus the points.
    ratio: Vec<f64>,
}

impl Quadrature {
    /// The rule of `n` points: Newton's method on the Legendre polynomial.
    fn new(n: usize) -> Quadrature {
        let (mut points, mut weights) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut before, mut now) = (1.0, x);
                for k in 2..=n {
                    let k = k as f64;
                    (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
                }
                slope = n as f64 * (x * now - before) / (x * x - 1.0);
                let step = now / slope;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            points[n - 1 - i] = f64::midpoint(1.0, x);
            weights[n - 1 - i] = 1.0 / ((1.0 - x * x) * slope * slope);
        }
        let rest: Vec<f64> = points.iter().map(|t| 1.0 - t).collect();
        let ratio = weights.iter().zip(&rest).map(|(w, rest)| w / rest).collect();
        Quadrature { points, weights, rest, ratio }
    }

    /// A rule for each size that the trees need.
    pub fn of(trees: &[Shape]) -> Vec<Quadrature> {
        let most = trees.iter().map(size).max().unwrap_or(0);
        SIZES.iter().filter(|size| **size <= most.max(SIZES[0])).map(|n| Quadrature::new(*n)).collect()
    }

    pub fn for_tree<'a>(rules: &'a [Quadrature], tree: &Shape) -> &'a Quadrature {
        let size = size(tree);
        rules.iter().find(|rule| rule.points.len() >= size).unwrap_or(&rules[rules.len() - 1])
    }
}

/// Points that a tree needs.
fn size(tree: &Shape) -> usize {
    let needed = tree.features.div_ceil(2);
    SIZES.into_iter().find(|size| *size >= needed).unwrap_or(MOST)
}

/// The memory of a walk through a tree, which the next one uses again.
#[derive(Default)]
pub struct Walk {
    /// By depth and point: the product of the factors of the path.
    products: Vec<f64>,
    /// By depth and point: 1 over the factor of the feature, if the row goes this way.
    inverse: Vec<f64>,
    /// By depth, value and point: the sum of the leaves below.
    sums: Vec<f64>,
    /// By node: whether the row goes the way of the path at all nodes that ask for the feature.
    on: Vec<bool>,
}

impl Walk {
    /// Adds the SHAP values of a tree for a row: values of a leaf x `width` features. `left` says for each inner node
    /// whether the row goes to the left child.
    pub fn add(&mut self, rule: &Quadrature, tree: &Shape, left: &[bool], out: &mut [f64], width: usize) {
        let step = Step { rule, tree, left, out, width, walk: self };
        let arch = pulp::Arch::new();
        match rule.points.len() {
            2 => arch.dispatch(Points::<2>(step)),
            4 => arch.dispatch(Points::<4>(step)),
            6 => arch.dispatch(Points::<6>(step)),
            8 => arch.dispatch(Points::<8>(step)),
            12 => arch.dispatch(Points::<12>(step)),
            16 => arch.dispatch(Points::<16>(step)),
            32 => arch.dispatch(Points::<32>(step)),
            _ => arch.dispatch(Points::<MOST>(step)),
        }
    }
}

/// A walk of a row through a tree.
struct Step<'a> {
    rule: &'a Quadrature,
    tree: &'a Shape,
    left: &'a [bool],
    out: &'a mut [f64],
    width: usize,
    walk: &'a mut Walk,
}

/// A walk with `N` points.
struct Points<'a, const N: usize>(Step<'a>);

impl<const N: usize> pulp::NullaryFnOnce for Points<'_, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run::<N>();
    }
}

/// The arrays of a rule and of the memory with `N` points.
struct Lanes<'a, const N: usize> {
    points: [f64; N],
    rest: [f64; N],
    weights: [f64; N],
    ratio: [f64; N],
    products: &'a mut [[f64; N]],
    inverse: &'a mut [[f64; N]],
    sums: &'a mut [[f64; N]],
    on: &'a mut [bool],
}

impl Step<'_> {
    #[inline(always)]
    fn run<const N: usize>(self) {
        let Step { rule, tree, left, out, width, walk } = self;
        let (outputs, nodes) = (tree.width, tree.nodes.len());
        let grow = |memory: &mut Vec<f64>, len: usize| memory.resize(memory.len().max(len), 0.0);
        grow(&mut walk.products, tree.height * N);
        grow(&mut walk.inverse, tree.height * N);
        grow(&mut walk.sums, tree.height * outputs * N);
        walk.on.resize(walk.on.len().max(nodes), false);
        let part = |values: &[f64]| *values.first_chunk::<N>().unwrap_or(&[0.0; N]);
        let mut lanes = Lanes::<N> {
            points: part(&rule.points),
            rest: part(&rule.rest),
            weights: part(&rule.weights),
            ratio: part(&rule.ratio),
            products: walk.products.as_chunks_mut().0,
            inverse: walk.inverse.as_chunks_mut().0,
            sums: walk.sums.as_chunks_mut().0,
            on: &mut walk.on[..nodes],
        };
        lanes.products[0] = [1.0; N];
        for (i, node) in tree.nodes.iter().enumerate() {
            if node.parent != NONE {
                lanes.open(tree, i, left[node.parent as usize] == node.is_left);
            }
            let own = node.depth as usize * outputs;
            let sums = &mut lanes.sums[own..own + outputs];
            if !node.is_leaf {
                sums.fill([0.0; N]);
                continue;
            }
            let product = &lanes.products[node.depth as usize];
            for (sum, value) in sums.iter_mut().zip(&tree.values[i * outputs..]) {
                *sum = product.map(|p| p * value);
            }
            // Closes the leaf, and each node whose right child was closed.
            let mut at = i;
            while tree.nodes[at].parent != NONE {
                lanes.close(tree, at, out, width);
                if tree.nodes[at].is_left {
                    break;
                }
                at = tree.nodes[at].parent as usize;
            }
        }
    }
}

impl<const N: usize> Lanes<'_, N> {
    /// The node above whose feature a node shares, and whether the row goes its way.
    #[inline(always)]
    fn before<'t>(&self, tree: &'t Shape, node: &ShapeNode) -> Option<(bool, &'t ShapeNode)> {
        (node.before != NONE).then(|| (self.on[node.before as usize], &tree.nodes[node.before as usize]))
    }

    /// Takes the factor of a node into the product. The factor of a node above that it replaces is taken out.
    #[inline(always)]
    fn open(&mut self, tree: &Shape, at: usize, goes: bool) {
        let node = &tree.nodes[at];
        let (depth, share) = (node.depth as usize, node.share);
        let mut product = self.products[depth - 1];
        let before = self.before(tree, node);
        if let Some((true, before)) = before {
            product = each(&product, &self.inverse[before.depth as usize], |p, inverse| p * inverse);
        }
        let is_off = matches!(before, Some((false, _)));
        self.on[at] = goes && !is_off;
        product = match before {
            Some((false, before)) => {
                let change = if before.share > 0.0 { share / before.share } else { 0.0 };
                product.map(|p| p * change)
            }
            _ if goes => {
                let factor = each(&self.points, &self.rest, |t, rest| t + rest * share);
                self.inverse[depth] = factor.map(|f| 1.0 / f);
                each(&product, &factor, |p, f| p * f)
            }
            _ => each(&product, &self.rest, |p, rest| p * (rest * share)),
        };
        self.products[depth] = product;
    }

    /// Adds the sums of a node to those of its parent. The values of its feature get them less the part that a node
    /// above has added for the same leaves.
    #[inline(always)]
    fn close(&mut self, tree: &Shape, at: usize, out: &mut [f64], width: usize) {
        let node = &tree.nodes[at];
        let (depth, outputs) = (node.depth as usize, tree.width);
        let before = self.before(tree, node);
        let mut scale = match self.on[at] {
            true => {
                let rest = 1.0 - node.share;
                each(&self.weights, &self.inverse[depth], |w, inverse| w * rest * inverse)
            }
            false => self.ratio.map(|r| -r),
        };
        if let Some((true, before)) = before {
            let rest = 1.0 - before.share;
            let less = each(&self.weights, &self.inverse[before.depth as usize], |w, inverse| w * rest * inverse);
            scale = each(&scale, &less, |scale, less| scale - less);
        }
        let is_off = matches!(before, Some((false, _)));
        let (upper, lower) = self.sums.split_at_mut(depth * outputs);
        let upper = &mut upper[(depth - 1) * outputs..];
        for (k, (upper, lower)) in upper.iter_mut().zip(lower).take(outputs).enumerate() {
            *upper = each(upper, lower, |a, b| a + b);
            if !is_off {
                out[k * width + node.feature as usize] += each(&scale, lower, |a, b| a * b).iter().sum::<f64>();
            }
        }
    }
}

/// A function of two arrays, element by element.
#[inline(always)]
fn each<const N: usize>(a: &[f64; N], b: &[f64; N], of: impl Fn(f64, f64) -> f64) -> [f64; N] {
    std::array::from_fn(|i| of(a[i], b[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_integrate_polynomials_exactly() {
        for n in SIZES {
            let rule = Quadrature::new(n);
            for degree in [0, 1, 2 * n - 2, 2 * n - 1] {
                let sum: f64 = rule.points.iter().zip(&rule.weights).map(|(t, w)| w * t.powi(degree as i32)).sum();
                let exact = 1.0 / (degree + 1) as f64;
                assert!((sum - exact).abs() < 1e-14, "{n} points, degree {degree}: {sum} and not {exact}");
            }
        }
    }
}
