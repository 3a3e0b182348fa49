//! Shortest paths from one node: their numbers, and what they add to the nodes and edges on the way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Error;
use crate::graph::{Graph, Rows};

const UNSEEN: u32 = u32::MAX;

/// Nodes between checks for cancellation.
const NODES_BETWEEN_CHECKS: usize = 1 << 12;

/// The state of searches from one source after another.
pub(super) struct PathSearch<'a> {
    rows: &'a Rows,
    in_rows: &'a Rows,
    weights: Option<&'a [f64]>,
    /// Reached nodes, by falling nearness.
    order: Vec<u32>,
    /// Ends of the levels in `order`. Empty with weights.
    levels: Vec<usize>,
    /// Level of a node, or 0 if it is settled. `UNSEEN` otherwise.
    level: Vec<u32>,
    distance: Vec<f64>,
    /// Numbers of shortest paths.
    sigma: Vec<f64>,
    delta: Vec<f64>,
    /// (1 + delta) / sigma of the nodes that a path may go on to, 0 elsewhere: sums over a row need no test. On the way
    /// out, sigma of the frontier.
    coefficient: Vec<f64>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<'a> PathSearch<'a> {
    pub fn new(simple: &'a Graph, weights: Option<&'a [f64]>) -> Self {
        let n = simple.nodes();
        PathSearch {
            rows: simple.out_rows(),
            in_rows: simple.in_rows(),
            weights,
            order: Vec::new(),
            levels: Vec::new(),
            level: vec![UNSEEN; n],
            distance: if weights.is_some() { vec![f64::INFINITY; n] } else { Vec::new() },
            sigma: vec![0.0; n],
            delta: vec![0.0; n],
            coefficient: vec![0.0; n],
            heap: BinaryHeap::new(),
        }
    }

    /// The nodes that the last search reached.
    pub fn reached(&self) -> &[u32] {
        &self.order
    }

    pub fn delta(&self, node: u32) -> f64 {
        self.delta[node as usize]
    }

    /// Counts the shortest paths from `source`.
    pub fn run(&mut self, source: u32, check: &dyn Fn() -> Result<(), Error>) -> Result<(), Error> {
        for v in self.order.drain(..) {
            let v = v as usize;
            (self.level[v], self.sigma[v], self.delta[v], self.coefficient[v]) = (UNSEEN, 0.0, 0.0, 0.0);
            if self.weights.is_some() {
                self.distance[v] = f64::INFINITY;
            }
        }
        self.sigma[source as usize] = 1.0;
        match self.weights {
            Some(weights) => self.by_weight(source, weights, check),
            None => self.by_edges(source, check),
        }
    }

    /// Breadth-first search. A level that has more arcs than all unseen nodes is found from their side (Beamer,
    /// Asanovic and Patterson 2012).
    fn by_edges(&mut self, source: u32, check: &dyn Fn() -> Result<(), Error>) -> Result<(), Error> {
        let (rows, in_rows) = (self.rows, self.in_rows);
        let n = rows.nodes();
        self.levels.clear();
        self.level[source as usize] = 0;
        self.order.push(source);
        let mut unseen_arcs = rows.targets.len() - in_rows.len(source);
        let mut begin = 0;
        let mut level = 0;
        while begin < self.order.len() {
            let end = self.order.len();
            self.levels.push(end);
            level += 1;
            let arcs: usize = self.order[begin..end].iter().map(|v| rows.len(*v)).sum();
            if arcs > unseen_arcs && arcs > n / 16 {
                for v in &self.order[begin..end] {
                    self.coefficient[*v as usize] = self.sigma[*v as usize];
                }
                for v in 0..n {
                    if v % NODES_BETWEEN_CHECKS == 0 {
                        check()?;
                    }
                    if self.level[v] == UNSEEN {
                        let paths: f64 = in_rows.row(v as u32).iter().map(|u| self.coefficient[*u as usize]).sum();
                        if paths > 0.0 {
                            (self.level[v], self.sigma[v]) = (level, paths);
                            self.order.push(v as u32);
                        }
                    }
                }
                for v in &self.order[begin..end] {
                    self.coefficient[*v as usize] = 0.0;
                }
            } else {
                for i in begin..end {
                    if i % NODES_BETWEEN_CHECKS == 0 {
                        check()?;
                    }
                    let v = self.order[i];
                    let paths = self.sigma[v as usize];
                    for target in rows.row(v) {
                        let t = *target as usize;
                        if self.level[t] == UNSEEN {
                            self.level[t] = level;
                            self.order.push(*target);
                        }
                        if self.level[t] == level {
                            self.sigma[t] += paths;
                        }
                    }
                }
            }
            unseen_arcs -= self.order[end..].iter().map(|v| in_rows.len(*v)).sum::<usize>();
            begin = end;
        }
        Ok(())
    }

    /// Dijkstra's algorithm with a binary heap. Lengths are equal if their sums are.
    fn by_weight(&mut self, source: u32, weights: &[f64], check: &dyn Fn() -> Result<(), Error>) -> Result<(), Error> {
        self.distance[source as usize] = 0.0;
        self.heap.clear();
        self.heap.push(Reverse((0, source)));
        while let Some(Reverse((_, v))) = self.heap.pop() {
            if self.level[v as usize] != UNSEEN {
                continue;
            }
            self.level[v as usize] = 0;
            self.order.push(v);
            if self.order.len().is_multiple_of(NODES_BETWEEN_CHECKS) {
                check()?;
            }
            let (length, paths) = (self.distance[v as usize], self.sigma[v as usize]);
            for arc in self.rows.arcs(v) {
                let target = self.rows.targets[arc];
                let t = target as usize;
                let reached = length + weights[arc];
                if self.level[t] != UNSEEN || reached > self.distance[t] {
                    continue;
                }
                if reached < self.distance[t] {
                    (self.distance[t], self.sigma[t]) = (reached, 0.0);
                    // The bits of numbers from 0 ascend as the numbers do.
                    self.heap.push(Reverse((reached.to_bits(), target)));
                }
                self.sigma[t] += paths;
            }
        }
        Ok(())
    }

    /// Sums up the shares of paths over each node, and calls `edge` with those over each arc on a shortest path.
    pub fn accumulate(&mut self, mut edge: impl FnMut(usize, f64)) {
        if let Some(weights) = self.weights {
            for i in (0..self.order.len()).rev() {
                let v = self.order[i];
                let (length, paths) = (self.distance[v as usize], self.sigma[v as usize]);
                let mut sum = 0.0;
                for arc in self.rows.arcs(v) {
                    let t = self.rows.targets[arc] as usize;
                    if self.distance[t] == length + weights[arc] && self.coefficient[t] != 0.0 {
                        sum += self.coefficient[t];
                        edge(arc, paths * self.coefficient[t]);
                    }
                }
                self.delta[v as usize] = paths * sum;
                self.coefficient[v as usize] = (1.0 + paths * sum) / paths;
            }
            return;
        }
        for level in (0..self.levels.len()).rev() {
            let end = self.levels[level];
            let begin = if level == 0 { 0 } else { self.levels[level - 1] };
            // The farthest nodes have nothing after them.
            if level + 1 < self.levels.len() {
                for v in &self.order[begin..end] {
                    let paths = self.sigma[*v as usize];
                    let mut sum = 0.0;
                    for arc in self.rows.arcs(*v) {
                        let share = self.coefficient[self.rows.targets[arc] as usize];
                        sum += share;
                        if share != 0.0 {
                            edge(arc, paths * share);
                        }
                    }
                    self.delta[*v as usize] = paths * sum;
                }
                for v in &self.order[end..self.levels[level + 1]] {
                    self.coefficient[*v as usize] = 0.0;
                }
            }
            for v in &self.order[begin..end] {
                self.coefficient[*v as usize] = (1.0 + self.delta[*v as usize]) / self.sigma[*v as usize];
            }
        }
    }
}
