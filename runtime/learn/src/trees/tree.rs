//! Trained trees: how they are stored, walked, written to files and checked after reading.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::explain::Scale;
use crate::explain::shape::{Shape, Shapes, SourceNode, without_covers};
use crate::tensor::Tensor;

use super::bins::MISSING;

/// Missing values go to the left child.
pub const MISSING_LEFT: u32 = 1 << 31;
/// The node splits a category; its threshold is the position of a set.
pub const CATEGORY: u32 = 1 << 30;
const FEATURE: u32 = CATEGORY - 1;

/// Rows that are walked through a tree before the next tree is taken. Few rows stay in the cache, many rows keep large
/// trees there.
const BLOCK: usize = 256;
const LARGE_BLOCK: usize = 2048;

/// Nodes of a tree, on average, from which trees are large.
const LARGE: usize = 1024;

/// Rows that are walked through a tree at once, so that one waits for memory while others go on.
const LANES: usize = 8;

/// A node. Nodes of a tree are in preorder: the left child of a node is the node after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Values up to this one go left. The value of a leaf, if leaves have one value.
    pub threshold: f64,
    /// The feature with [`MISSING_LEFT`] and [`CATEGORY`]. The number of a leaf, if leaves have several values.
    pub feature: u32,
    /// The position of the right child in its tree. 0 for a leaf.
    pub right: u32,
}

/// The bins that go left, as 256 bits.
pub type Set = [u32; 8];

pub fn contains(set: &Set, bin: u8) -> bool {
    set[usize::from(bin >> 5)] >> (bin & 31) & 1 == 1
}

/// Several trees over the same features.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredTree", try_from = "StoredTree")]
pub struct Trees {
    /// The first node of each tree, and the number of nodes at the end.
    pub starts: Vec<usize>,
    pub nodes: Vec<Node>,
    /// Values of a leaf. 1: the value is in the node.
    pub width: usize,
    /// Values of all leaves, if there are several for each.
    pub values: Vec<f64>,
    pub sets: Vec<Set>,
    /// The weight of the training rows of each leaf, in the order of the nodes. Empty for a file of an older version.
    pub covers: Vec<f64>,
}

/// The arrays of [`Trees`] in a file.
#[derive(Serialize, Deserialize)]
struct StoredTree {
    width: usize,
    starts: Tensor,
    threshold: Tensor,
    feature: Tensor,
    right: Tensor,
    values: Tensor,
    sets: Tensor,
    /// Files of older versions have none.
    #[serde(default)]
    covers: Option<Tensor>,
}

impl From<Trees> for StoredTree {
    fn from(trees: Trees) -> Self {
        let nodes = &trees.nodes;
        StoredTree {
            width: trees.width,
            starts: Tensor::vector(trees.starts.iter().map(|s| *s as f64).collect()),
            threshold: Tensor::vector(nodes.iter().map(|n| n.threshold).collect()),
            feature: Tensor::vector(nodes.iter().map(|n| f64::from(n.feature)).collect()),
            right: Tensor::vector(nodes.iter().map(|n| f64::from(n.right)).collect()),
            values: Tensor::vector(trees.values),
            sets: Tensor::vector(trees.sets.iter().flatten().map(|w| f64::from(*w)).collect()),
            covers: (!trees.covers.is_empty()).then(|| Tensor::vector(trees.covers)),
        }
    }
}

impl TryFrom<StoredTree> for Trees {
    type Error = String;

    fn try_from(stored: StoredTree) -> Result<Self, String> {
        let integer = |v: &f64| {
            let is_u32 = *v >= 0.0 && *v <= f64::from(u32::MAX) && v.fract() == 0.0;
            is_u32.then_some(*v as u32).ok_or_else(|| format!("{v} in a tree is not an index"))
        };
        let integers = |tensor: &Tensor| tensor.data.iter().map(integer).collect::<Result<Vec<u32>, String>>();
        let (feature, right, sets) = (integers(&stored.feature)?, integers(&stored.right)?, integers(&stored.sets)?);
        let threshold = stored.threshold.data;
        if feature.len() != threshold.len() || right.len() != threshold.len() || sets.len() % 8 != 0 {
            return Err("the arrays of trees have different lengths".to_string());
        }
        let nodes = threshold.into_iter().zip(feature).zip(right);
        Ok(Trees {
            starts: integers(&stored.starts)?.into_iter().map(|s| s as usize).collect(),
            nodes: nodes.map(|((threshold, feature), right)| Node { threshold, feature, right }).collect(),
            width: stored.width,
            values: stored.values.data,
            sets: sets.as_chunks::<8>().0.to_vec(),
            covers: stored.covers.map_or_else(Vec::new, |covers| covers.data),
        })
    }
}

/// A single tree as it was grown, in preorder.
#[derive(Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
    pub values: Vec<f64>,
    pub sets: Vec<Set>,
    /// The weight of the training rows of each leaf.
    pub covers: Vec<f64>,
}

impl Trees {
    pub fn new(width: usize) -> Self {
        Trees { starts: vec![0], width, ..Trees::default() }
    }

    /// Appends a tree whose leaves and sets are counted from 0.
    pub fn push(&mut self, tree: Tree) {
        let (leaf, set) = ((self.values.len() / self.width) as u32, self.sets.len() as f64);
        self.nodes.extend(tree.nodes.into_iter().map(|mut node| {
            if node.right == 0 && self.width > 1 {
                node.feature += leaf;
            } else if node.right != 0 && node.feature & CATEGORY != 0 {
                node.threshold += set;
            }
            node
        }));
        self.values.extend(tree.values);
        self.sets.extend(tree.sets);
        self.covers.extend(tree.covers);
        self.starts.push(self.nodes.len());
    }

    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn tree(&self, number: usize) -> &[Node] {
        &self.nodes[self.starts[number]..self.starts[number + 1]]
    }

    /// Whether a row goes to the left child of an inner node.
    #[inline]
    pub fn is_left(&self, node: &Node, row: &[f64]) -> bool {
        let value = row[(node.feature & FEATURE) as usize];
        if node.feature & CATEGORY == 0 {
            value <= node.threshold || (value.is_nan() && node.feature & MISSING_LEFT != 0)
        } else {
            let code = if value.is_nan() { MISSING } else { value.min(f64::from(MISSING)) as u8 };
            contains(&self.sets[node.threshold as usize], code)
        }
    }

    /// The child of a node to which a row goes.
    #[inline]
    fn step(&self, node: &Node, at: usize, row: &[f64]) -> usize {
        if self.is_left(node, row) { at + 1 } else { node.right as usize }
    }

    /// Walks rows of `width` values through a tree together: the positions of their leaves.
    #[inline]
    fn leaves(&self, tree: &[Node], rows: &[f64], width: usize) -> [usize; LANES] {
        let mut at = [0; LANES];
        loop {
            let mut moved = false;
            for (at, row) in at.iter_mut().zip(rows.chunks_exact(width)) {
                let node = &tree[*at];
                if node.right != 0 {
                    *at = self.step(node, *at, row);
                    moved = true;
                }
            }
            if !moved {
                return at;
            }
        }
    }

    /// The values of a leaf.
    pub fn value<'a>(&'a self, leaf: &'a Node) -> &'a [f64] {
        match self.width {
            1 => std::slice::from_ref(&leaf.threshold),
            width => &self.values[leaf.feature as usize * width..(leaf.feature as usize + 1) * width],
        }
    }

    /// Calls `each(tree, row, values of its leaf, sums)` for all trees of each row, in the order of the trees. `sums`
    /// holds `outputs` numbers for a row, which start at 0. Gives the sums row after row.
    pub fn sums(
        &self,
        data: &Data,
        outputs: usize,
        each: impl Fn(usize, usize, &[f64], &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let width = data.width();
        let block = if self.nodes.len() >= LARGE * self.len() { LARGE_BLOCK } else { BLOCK };
        let blocks: Vec<Vec<f64>> = (0..data.rows.div_ceil(block))
            .into_par_iter()
            .map(|number| {
                let rows = number * block..data.rows.min((number + 1) * block);
                let mut values = vec![0.0; rows.len() * width];
                for (j, column) in data.features.iter().enumerate() {
                    for (i, value) in column.values[rows.clone()].iter().enumerate() {
                        values[i * width + j] = *value;
                    }
                }
                let mut sums = vec![0.0; rows.len() * outputs];
                for number in 0..self.len() {
                    let tree = self.tree(number);
                    let lanes = values.chunks(LANES * width).zip(sums.chunks_mut(LANES * outputs)).enumerate();
                    for (k, (values, sums)) in lanes {
                        let leaves = self.leaves(tree, values, width);
                        for (i, (sums, leaf)) in sums.chunks_mut(outputs).zip(leaves).enumerate() {
                            each(number, rows.start + k * LANES + i, self.value(&tree[leaf]), sums);
                        }
                    }
                }
                sums
            })
            .collect();
        blocks.concat()
    }

    /// The trees for SHAP values. Tree `t` adds its leaves times `scale` to the outputs from `output(t)` on, whose
    /// values without trees are in `base`.
    ///
    /// # Errors
    /// If the weights of the training rows are not there: the file of an older version has none.
    pub fn shapes(
        &self,
        base: (Vec<f64>, Scale),
        scale: f64,
        output: impl Fn(usize) -> usize,
    ) -> Result<Shapes<'_>, Error> {
        if self.covers.is_empty() {
            return Err(without_covers("the model was saved by an older version: fit it again"));
        }
        // Children come after their parents.
        let mut covers = vec![0.0; self.nodes.len()];
        let mut leaf = self.covers.len();
        let starts: Vec<usize> = (0..self.len()).flat_map(|t| vec![self.starts[t]; self.tree(t).len()]).collect();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            covers[at] = match node.right {
                0 => {
                    leaf -= 1;
                    self.covers[leaf]
                }
                right => covers[at + 1] + covers[starts[at] + right as usize],
            };
        }
        let node = |at: u32| {
            let node = &self.nodes[at as usize];
            match node.right {
                0 => SourceNode::Leaf(self.value(node)),
                right => {
                    let right = starts[at as usize] as u32 + right;
                    SourceNode::Inner(Self::feature(node) as u32, [at + 1, right])
                }
            }
        };
        let shape = |t: usize| {
            let mut shape = Shape::new(self.starts[t] as u32, self.width, output(t), node, |at| covers[at as usize]);
            shape.values.iter_mut().for_each(|value| *value *= scale);
            shape
        };
        let trees = (0..self.len()).map(shape).collect();
        Ok(Shapes::new(trees, base, |at, row| self.is_left(&self.nodes[at as usize], row)))
    }

    /// The depth of each node of a tree.
    pub fn depths(&self, number: usize) -> Vec<usize> {
        let tree = self.tree(number);
        let mut depths = vec![0; tree.len()];
        for (i, node) in tree.iter().enumerate().filter(|(_, n)| n.right != 0) {
            depths[i + 1] = depths[i] + 1;
            depths[node.right as usize] = depths[i] + 1;
        }
        depths
    }

    pub fn feature(node: &Node) -> usize {
        (node.feature & FEATURE) as usize
    }

    /// Whether a walk ends in a leaf for all rows of so many features.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(&self, features: usize, width: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        if self.width != width || width == 0 {
            return wrong(format!("leaves have {} values, expected {width}", self.width));
        }
        // Rows without features have no length, and are not walked.
        if features == 0 {
            return wrong("the trees have no features".to_string());
        }
        let rising = self.starts.windows(2).all(|pair| pair[0] < pair[1]);
        if self.starts.first() != Some(&0) || self.starts.last() != Some(&self.nodes.len()) || !rising {
            return wrong("the trees do not cover their nodes".to_string());
        }
        let ends = self.nodes.iter().filter(|node| node.right == 0).count();
        if !self.covers.is_empty() && self.covers.len() != ends {
            return wrong(format!("{ends} leaves have {} weights of rows", self.covers.len()));
        }
        let leaves = self.values.len() / width;
        for number in 0..self.len() {
            let tree = self.tree(number);
            for (i, node) in tree.iter().enumerate() {
                let right = node.right as usize;
                let category = node.feature & CATEGORY != 0;
                // Children come after their parent, so that a walk ends.
                let fits = match right {
                    0 => width == 1 || (node.feature as usize) < leaves,
                    _ => {
                        right > i + 1
                            && right < tree.len()
                            && Self::feature(node) < features
                            && (!category || (node.threshold >= 0.0 && node.threshold < self.sets.len() as f64))
                    }
                };
                if !fits {
                    return wrong(format!("node {i} of tree {number} points outside of the tree"));
                }
            }
        }
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        (self.nodes.len() * size_of::<Node>()
            + (self.values.len() + self.covers.len()) * 8
            + self.sets.len() * size_of::<Set>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_without_features_are_refused() {
        let leaf = Node { threshold: 1.0, feature: 0, right: 0 };
        let trees = Trees { starts: vec![0, 1], nodes: vec![leaf], width: 1, ..Trees::default() };
        assert_eq!(trees.check(1, 1), Ok(()));
        assert!(trees.check(0, 1).is_err());
    }
}
