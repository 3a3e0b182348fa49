//! A kd-tree (Bentley 1975): each node splits its rows at the median of the feature with the widest range. Nodes have
//! bounding boxes, and leaves have their rows packed feature by feature.

use super::search::{Hits, Metric};

/// Rows of a leaf.
const LEAF: usize = 32;

/// A tree over the rows of a matrix.
pub struct KdTree {
    width: usize,
    nodes: Vec<Node>,
    /// Two rows for each node: the lowest and the highest value of each feature.
    boxes: Vec<f64>,
    /// The rows in the order of the leaves.
    order: Vec<u32>,
    /// Leaf after leaf, feature after feature: the values of its rows.
    values: Vec<f64>,
}

struct Node {
    /// The rows below it, as a range of `order`.
    first: usize,
    end: usize,
    /// The second child; the first one follows its parent. 0 for a leaf.
    second: usize,
}

impl KdTree {
    /// A tree over a row-major matrix of `width` columns.
    pub fn new(points: &[f64], width: usize) -> Self {
        let rows = points.len() / width;
        let mut tree = KdTree {
            width,
            nodes: Vec::new(),
            boxes: Vec::new(),
            order: (0..rows as u32).collect(),
            values: vec![0.0; points.len()],
        };
        if rows > 0 {
            tree.build(points, 0, rows);
        }
        tree
    }

    /// Recursion as deep as the logarithm of the rows, because the halves are equal.
    fn build(&mut self, points: &[f64], first: usize, end: usize) {
        let (width, node) = (self.width, self.nodes.len());
        self.nodes.push(Node { first, end, second: 0 });
        let at = self.boxes.len();
        self.boxes.resize(at + width, f64::INFINITY);
        self.boxes.resize(at + 2 * width, f64::NEG_INFINITY);
        for row in &self.order[first..end] {
            let row = &points[*row as usize * width..][..width];
            for (j, value) in row.iter().enumerate() {
                self.boxes[at + j] = self.boxes[at + j].min(*value);
                self.boxes[at + width + j] = self.boxes[at + width + j].max(*value);
            }
        }
        let range = |j: usize| self.boxes[at + width + j] - self.boxes[at + j];
        let widest = (0..width).fold(0, |a, b| if range(b) > range(a) { b } else { a });
        if end - first <= LEAF || range(widest) <= 0.0 {
            let count = end - first;
            let leaf = &mut self.values[first * width..end * width];
            for (i, row) in self.order[first..end].iter().enumerate() {
                for j in 0..width {
                    leaf[j * count + i] = points[*row as usize * width + j];
                }
            }
            return;
        }
        let middle = first + (end - first) / 2;
        let value = |row: u32| points[row as usize * width + widest];
        self.order[first..end]
            .select_nth_unstable_by(middle - first, |a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
        self.build(points, first, middle);
        self.nodes[node].second = self.nodes.len();
        self.build(points, middle, end);
    }

    /// Offers rows to `hits`, and skips boxes that are beyond its limit.
    #[inline(always)]
    pub fn search(&self, metric: Metric, query: &[f64], hits: &mut Hits) {
        if self.nodes.is_empty() {
            return;
        }
        let mut stack = vec![(0usize, self.to_box(metric, query, 0))];
        let mut distances = Vec::new();
        while let Some((number, near)) = stack.pop() {
            if near > hits.limit {
                continue;
            }
            let node = &self.nodes[number];
            if node.second == 0 {
                self.leaf(metric, query, node, &mut distances);
                for (row, distance) in self.order[node.first..node.end].iter().zip(&distances) {
                    if *distance <= hits.limit {
                        hits.push(*distance, *row);
                    }
                }
                continue;
            }
            let (a, b) = (number + 1, node.second);
            let (to_a, to_b) = (self.to_box(metric, query, a), self.to_box(metric, query, b));
            // The nearer child is looked at first.
            if to_a <= to_b {
                stack.extend([(b, to_b), (a, to_a)]);
            } else {
                stack.extend([(a, to_a), (b, to_b)]);
            }
        }
    }

    /// The distances to the rows of a leaf, feature by feature.
    #[inline(always)]
    fn leaf(&self, metric: Metric, query: &[f64], node: &Node, distances: &mut Vec<f64>) {
        let count = node.end - node.first;
        distances.clear();
        distances.resize(count, 0.0);
        let values = &self.values[node.first * self.width..node.end * self.width];
        for (q, column) in query.iter().zip(values.chunks_exact(count)) {
            let pairs = distances.iter_mut().zip(column);
            // One loop for each metric: a choice inside of the loop would keep it from being vectorised.
            match metric {
                Metric::Euclidean | Metric::Cosine => pairs.for_each(|(d, v)| *d += (q - v) * (q - v)),
                Metric::Manhattan => pairs.for_each(|(d, v)| *d += (q - v).abs()),
                other => pairs.for_each(|(d, v)| *d = other.add(*d, (q - v).abs())),
            }
        }
    }

    /// The distance to a box. Rounding is monotone, so that it is never above that of a row inside.
    #[inline(always)]
    fn to_box(&self, metric: Metric, query: &[f64], node: usize) -> f64 {
        let (low, high) = self.boxes[node * 2 * self.width..][..2 * self.width].split_at(self.width);
        let gaps = query.iter().zip(low.iter().zip(high)).map(|(q, (low, high))| (low - q).max(q - high).max(0.0));
        gaps.fold(0.0, |sum, gap| metric.add(sum, gap))
    }
}
