//! The graphs that Onrush writes for NetworkX to read.

#![allow(dead_code, reason = "the example `written` uses some of it")]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray, UInt8Array,
};
use arrow::record_batch::RecordBatch;
use onrush_graph_io::GraphTables;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn strings(values: Vec<Option<&str>>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

/// Attributes of each type, each null somewhere, and strings that formats have to escape.
pub fn typed(directed: bool) -> GraphTables {
    let awkward = "<Grüße> & \"co\", it's #1\\2";
    let nodes = batch(vec![
        ("node", strings(vec![Some("a b"), Some("β<"), Some("c"), Some("lonely")])),
        ("name", strings(vec![Some(awkward), None, Some("two\nlines"), Some("")])),
        ("age", Arc::new(Int32Array::from(vec![Some(36), Some(-7), None, Some(0)]))),
        ("score", Arc::new(Float64Array::from(vec![Some(0.1), None, Some(1e-300), Some(3.0)]))),
        ("alive", Arc::new(BooleanArray::from(vec![None, Some(true), Some(false), None]))),
        ("none", strings(vec![None; 4])),
    ]);
    let edges = batch(vec![
        ("source", strings(vec![Some("a b"), Some("β<"), Some("c"), Some("c")])),
        ("target", strings(vec![Some("β<"), Some("c"), Some("c"), Some("a b")])),
        ("kind", strings(vec![Some("knows"), None, Some(awkward), None])),
        ("weight", Arc::new(Float64Array::from(vec![Some(2.5), Some(1.0), None, Some(1e21)]))),
        ("since", Arc::new(UInt8Array::from(vec![None, Some(199), None, Some(0)]))),
    ]);
    GraphTables { directed, nodes, edges }
}

/// Edges with attributes, for edge lists: no attributes of nodes, no isolated node.
pub fn described(directed: bool) -> GraphTables {
    let nodes = batch(vec![("node", strings(vec![Some("a"), Some("b"), Some("ç")]))]);
    let edges = batch(vec![
        ("source", strings(vec![Some("a"), Some("b"), Some("ç")])),
        ("target", strings(vec![Some("b"), Some("ç"), Some("ç")])),
        ("weight", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(3.25)]))),
        ("kind", strings(vec![Some("it's"), Some("\\x"), None])),
        ("count", Arc::new(Int64Array::from(vec![None, Some(3), Some(-4)]))),
    ]);
    GraphTables { directed, nodes, edges }
}

/// Integers, parallel edges and a self-loop with weights.
pub fn weighted(directed: bool) -> GraphTables {
    let nodes = batch(vec![("node", Arc::new(Int64Array::from(vec![5, 6, 1 << 40])))]);
    let edges = batch(vec![
        ("source", Arc::new(Int64Array::from(vec![5, 5, 6, 1 << 40]))),
        ("target", Arc::new(Int64Array::from(vec![6, 6, 1 << 40, 1 << 40]))),
        ("weight", Arc::new(Float32Array::from(vec![0.5, 1.25, -2.0, 0.1]))),
    ]);
    GraphTables { directed, nodes, edges }
}

/// No weights.
pub fn plain(directed: bool) -> GraphTables {
    let nodes = batch(vec![("node", Arc::new(Int64Array::from(vec![1, 2, 3, 4])))]);
    let edges = batch(vec![
        ("source", Arc::new(Int64Array::from(vec![1, 3, 4]))),
        ("target", Arc::new(Int64Array::from(vec![2, 2, 1]))),
    ]);
    GraphTables { directed, nodes, edges }
}

/// The files that Onrush writes.
pub fn files() -> Vec<(&'static str, GraphTables)> {
    vec![
        ("onrush_typed_digraph.graphml", typed(true)),
        ("onrush_typed_graph.graphml", typed(false)),
        ("onrush_typed_digraph.gexf", typed(true)),
        ("onrush_typed_graph.gexf", typed(false)),
        ("onrush_typed_digraph.json", typed(true)),
        ("onrush_typed_graph.json", typed(false)),
        ("onrush_weighted_digraph.graphml", weighted(true)),
        ("onrush_weighted_graph.gexf", weighted(false)),
        ("onrush_weighted_graph.json", weighted(false)),
        ("onrush_weighted_digraph.edgelist", weighted(true)),
        ("onrush_weighted_graph.edgelist", weighted(false)),
        ("onrush_weighted_digraph.mtx", weighted(true)),
        ("onrush_weighted_graph.mtx", weighted(false)),
        ("onrush_weighted_digraph.wel", weighted(true)),
        ("onrush_weighted_graph.csv", weighted(false)),
        ("onrush_described_graph.edgelist", described(false)),
        ("onrush_described_digraph.tsv", described(true)),
        ("onrush_described_graph.csv", described(false)),
        ("onrush_plain_graph.edgelist", plain(false)),
        ("onrush_plain_digraph.mtx", plain(true)),
        ("onrush_plain_graph.mtx", plain(false)),
        ("onrush_plain_digraph.el", plain(true)),
        ("onrush_plain_graph.csv", plain(false)),
    ]
}
