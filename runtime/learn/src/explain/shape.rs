//! Trees as SHAP values see them: which feature a node asks for, how many training rows it had, and the values of its
//! leaves. Models of all kinds of trees are turned into this form.

use rayon::prelude::*;

use super::quadrature::{Quadrature, Walk};
use super::{Scale, ShapValues, row_major};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::run::Run;

/// The error of trees without the weights of the training rows of their leaves.
pub fn without_covers(help: &str) -> Error {
    let message = "the trees do not say how many training rows each leaf had: SHAP values need that";
    Error::new(ErrorKind::Evaluation, message).help(help)
}

/// Rows that go through the trees together.
const BLOCK: usize = 64;

/// No node.
pub const NONE: u32 = u32::MAX;

/// A node of a tree in preorder: the left child of a node is the node after it.
#[derive(Clone, Copy, Debug)]
pub struct ShapeNode {
    /// The node of the model.
    pub source: u32,
    /// The feature that its parent asks for. [`NONE`] for the root.
    pub feature: u32,
    pub parent: u32,
    /// Whether it is the left child of its parent.
    pub is_left: bool,
    pub is_leaf: bool,
    pub depth: u32,
    /// The deepest node above it whose parent asks for the same feature. [`NONE`]: there is none.
    pub before: u32,
    /// The share of training rows that go this way where the feature is asked for on the path, of all nodes together.
    pub share: f64,
}

/// A tree.
#[derive(Debug, Default)]
pub struct Shape {
    pub nodes: Vec<ShapeNode>,
    /// nodes x values of a leaf. Inner nodes have none.
    pub values: Vec<f64>,
    /// The number of nodes from the root to the deepest leaf.
    pub height: usize,
    /// Different features on the path to a leaf, at most.
    pub features: usize,
    /// The first output that its values are added to.
    pub output: usize,
    /// The number of its values.
    pub width: usize,
}

/// A node of a model's tree.
pub enum SourceNode<'a> {
    /// The feature that is asked for, and both children.
    Inner(u32, [u32; 2]),
    Leaf(&'a [f64]),
}

impl Shape {
    /// The tree below the node `root` of a model. `cover` gives the weight of the training rows of a node, which is not
    /// below that of the nodes below it.
    pub fn new<'a>(
        root: u32,
        width: usize,
        output: usize,
        node: impl Fn(u32) -> SourceNode<'a>,
        cover: impl Fn(u32) -> f64,
    ) -> Shape {
        let mut shape = Shape { width, output, ..Shape::default() };
        // Source, parent in the tree, whether it is the left child, and the feature of the parent.
        let mut waiting = vec![(root, NONE, false, NONE)];
        while let Some((source, parent, is_left, feature)) = waiting.pop() {
            let at = shape.nodes.len() as u32;
            let (mut depth, mut before, mut share, mut distinct) = (0, NONE, 1.0, 0);
            if parent != NONE {
                let above = &shape.nodes[parent as usize];
                depth = above.depth + 1;
                let all = cover(above.source);
                // No training row came here: both ways are as likely.
                share = if all > 0.0 { cover(source) / all } else { 0.5 };
                let mut up = parent;
                while up != NONE && shape.nodes[up as usize].feature != feature {
                    up = shape.nodes[up as usize].parent;
                }
                before = up;
                if before != NONE {
                    share *= shape.nodes[before as usize].share;
                }
            }
            let (is_leaf, children) = match node(source) {
                SourceNode::Leaf(values) => {
                    shape.values.extend_from_slice(values);
                    (true, None)
                }
                SourceNode::Inner(asked, children) => {
                    shape.values.extend(std::iter::repeat_n(0.0, width));
                    (false, Some((asked, children)))
                }
            };
            shape.nodes.push(ShapeNode { source, feature, parent, is_left, is_leaf, depth, before, share });
            shape.height = shape.height.max(depth as usize + 1);
            if is_leaf {
                let mut up = at;
                while up != NONE {
                    let above = &shape.nodes[up as usize];
                    distinct += usize::from(above.feature != NONE && above.before == NONE);
                    up = above.parent;
                }
                shape.features = shape.features.max(distinct);
            }
            if let Some((asked, [left, right])) = children {
                waiting.push((right, at, false, asked));
                waiting.push((left, at, true, asked));
            }
        }
        shape
    }

    /// The mean value of the training rows, for each value of a leaf.
    fn expected(&self) -> Vec<f64> {
        let mut reach = vec![1.0; self.nodes.len()];
        let mut sums = vec![0.0; self.width];
        for (i, node) in self.nodes.iter().enumerate() {
            if node.parent != NONE {
                let before = if node.before == NONE { 1.0 } else { self.nodes[node.before as usize].share };
                let share = if before > 0.0 { node.share / before } else { 0.0 };
                reach[i] = reach[node.parent as usize] * share;
            }
            if node.is_leaf {
                let values = &self.values[i * self.width..(i + 1) * self.width];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * reach[i]);
            }
        }
        sums
    }
}

/// Fills for the nodes of a tree whether a row goes to their left child.
pub type Decide<'a> = Box<dyn Fn(&Shape, &[f64], &mut Vec<bool>) + Sync + 'a>;

/// A model whose outputs are sums of trees.
pub struct Shapes<'a> {
    pub trees: Vec<Shape>,
    /// The outputs without trees.
    pub base: Vec<f64>,
    /// The unit of the outputs.
    pub scale: Scale,
    decide: Decide<'a>,
    /// The rows as the trees take them, if they are not those of the data.
    pub rows: Option<Data>,
}

impl<'a> Shapes<'a> {
    /// `is_left` says whether a row goes to the left child of an inner node of the model.
    pub fn new(
        trees: Vec<Shape>,
        (base, scale): (Vec<f64>, Scale),
        is_left: impl Fn(u32, &[f64]) -> bool + Sync + 'a,
    ) -> Self {
        let decide: Decide<'a> = Box::new(move |shape, row, left| {
            left.clear();
            left.extend(shape.nodes.iter().map(|node| !node.is_leaf && is_left(node.source, row)));
        });
        Shapes { trees, base, scale, decide, rows: None }
    }

    /// The SHAP values of rows.
    ///
    /// # Errors
    /// If the user stops the work.
    pub fn explain(&self, data: &Data, run: &Run<'_>) -> Result<ShapValues, Error> {
        let data = self.rows.as_ref().unwrap_or(data);
        let (width, outputs) = (data.width(), self.base.len());
        let mut base = self.base.clone();
        for tree in &self.trees {
            base[tree.output..].iter_mut().zip(tree.expected()).for_each(|(base, value)| *base += value);
        }
        let rules: Vec<Quadrature> = Quadrature::of(&self.trees);
        let blocks = data.rows.div_ceil(BLOCK);
        let done = std::sync::atomic::AtomicU64::new(0);
        let block = |number: usize| {
            let rows = number * BLOCK..data.rows.min((number + 1) * BLOCK);
            let values = row_major(data, rows.clone());
            let mut sums = vec![0.0; rows.len() * outputs * width];
            let (mut left, mut walk) = (Vec::new(), Walk::default());
            for (tree, shape) in self.trees.iter().enumerate() {
                if tree % 16 == 0 {
                    run.check(|| format!("{} of {blocks} blocks of rows", number))?;
                }
                let rule = Quadrature::for_tree(&rules, shape);
                for (row, sums) in values.chunks(width).zip(sums.chunks_mut(outputs * width)) {
                    (self.decide)(shape, row, &mut left);
                    walk.add(rule, shape, &left, &mut sums[shape.output * width..], width);
                }
            }
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            (run.steps)(done, blocks as u64);
            Ok(sums)
        };
        let sums: Result<Vec<Vec<f64>>, Error> = (0..blocks).into_par_iter().map(block).collect();
        Ok(ShapValues::of_rows(base, &sums?.concat(), width))
    }
}
