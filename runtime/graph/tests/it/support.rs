//! Shared by the tests of algorithms: graphs, expectations, comparisons.

pub mod device;

use std::path::PathBuf;

use onrush_graph::{Graph, generate};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/graph")
}

/// A file of `tests/graph`.
pub fn expected(file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join(file)).unwrap()).unwrap()
}

/// Edges as they stand in `graphs.json`.
#[derive(Clone)]
pub struct Edges {
    pub name: String,
    pub directed: bool,
    pub n: u32,
    pub sources: Vec<u32>,
    pub targets: Vec<u32>,
    pub weights: Option<Vec<f64>>,
}

impl Edges {
    pub fn graph(&self) -> Graph {
        Graph::new(self.directed, self.n, &self.sources, &self.targets, self.weights.clone()).unwrap()
    }

    /// The same edges in another order.
    pub fn permuted(&self) -> Edges {
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        order.sort_by_key(|e| generate::hash(5, *e as u64));
        Edges {
            sources: order.iter().map(|e| self.sources[*e]).collect(),
            targets: order.iter().map(|e| self.targets[*e]).collect(),
            weights: self.weights.as_ref().map(|w| order.iter().map(|e| w[*e]).collect()),
            ..self.clone()
        }
    }
}

/// All graphs of `graphs.json`, by name.
pub fn graphs() -> Vec<Edges> {
    let Value::Object(all) = expected("graphs.json") else { panic!("graphs.json is not an object") };
    let ends = |g: &Value, end: usize| {
        g["edges"].as_array().unwrap().iter().map(|e| e[end].as_u64().unwrap() as u32).collect::<Vec<u32>>()
    };
    all.iter()
        .map(|(name, g)| Edges {
            name: name.clone(),
            directed: g["directed"].as_bool().unwrap(),
            n: g["n"].as_u64().unwrap() as u32,
            sources: ends(g, 0),
            targets: ends(g, 1),
            weights: g.get("weights").map(numbers),
        })
        .collect()
}

/// A graph of `graphs.json`.
pub fn edges(name: &str) -> Edges {
    graphs().into_iter().find(|g| g.name == name).unwrap_or_else(|| panic!("no graph {name}"))
}

/// The numbers of a JSON array, also of a nested one, row after row. `null` is NaN.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        Value::Null => vec![f64::NAN],
        value => vec![value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))],
    }
}

/// The numbers of a JSON array of integers.
pub fn integers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
}

/// Asserts that numbers are equal up to `relative` times the largest of the expected ones.
pub fn assert_close(found: &[f64], expected: &[f64], relative: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: number of values");
    let scale = expected.iter().filter(|v| v.is_finite()).fold(f64::MIN_POSITIVE, |a, b| a.max(b.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * scale;
        assert!(same, "{what}: value {i} is {a}, expected {b}");
    }
}

/// The results of `work` with 1, 2 and 7 threads, asserted to be equal.
pub fn on_threads<T: PartialEq + Send>(what: &str, work: impl Fn() -> T + Sync) -> T {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&work)
    };
    let (one, two, seven) = (run(1), run(2), run(7));
    assert!(one == two && one == seven, "{what}: results differ between numbers of threads");
    one
}

/// The bits of numbers, to compare them exactly.
pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}
