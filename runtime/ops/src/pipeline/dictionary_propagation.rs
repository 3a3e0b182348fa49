//! Propagates dictionaries and list children through an expression graph. Nothing is computed here: a dictionary goes
//! with a column wherever the column is read, and through operations that select or gather its values.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column::dictionary::Dictionary;
use crate::ir::expr::{ExprGraph, ListOp, NodeId, Op};
use crate::pipeline::Window;

/// The dictionaries of what a stage reads.
pub(crate) struct Dictionaries<'a> {
    pub inputs: &'a [Option<Arc<Dictionary>>],
    pub lookups: &'a [Option<Arc<Dictionary>>],
    pub fetched: &'a [Option<Arc<Dictionary>>],
    pub joined: &'a [Vec<Option<Arc<Dictionary>>>],
    pub lists: &'a [Arc<Dictionary>],
    pub rows_of: &'a HashMap<u32, Arc<Dictionary>>,
    pub structs: &'a [Arc<Dictionary>],
    pub window: Option<&'a Window>,
}

/// Whether a graph reads rows of the table before.
pub(crate) fn reads_previous_stage(graph: &ExprGraph) -> bool {
    graph.nodes().iter().any(|node| matches!(node.op, Op::Gather(_) | Op::List(ListOp::Rows(_))))
}

/// The dictionary of a node that is a dictionary index or a list.
pub(crate) fn node_dictionary(graph: &ExprGraph, id: NodeId, texts: &Dictionaries) -> Option<Arc<Dictionary>> {
    let node = graph.node(id);
    match node.op {
        Op::Input(index) => texts.inputs[index as usize].clone(),
        Op::Lookup(index) => texts.lookups[index as usize].clone(),
        Op::ToDictIndex(index) => texts.lists.get(index as usize).cloned(),
        Op::Gather(index) => texts.fetched[index as usize].clone(),
        Op::BuildColumn(join, column) => texts.joined[join as usize][column as usize].clone(),
        // One side may be null, which has no dictionary.
        Op::IfElse => {
            node_dictionary(graph, node.args[1], texts).or_else(|| node_dictionary(graph, node.args[2], texts))
        }
        Op::Coalesce => {
            node_dictionary(graph, node.args[0], texts).or_else(|| node_dictionary(graph, node.args[1], texts))
        }
        Op::Convert(_) | Op::List(ListOp::Slice) => node_dictionary(graph, node.args[0], texts),
        Op::List(ListOp::Rows(column)) => texts.rows_of.get(&column).cloned(),
        Op::List(ListOp::Element | ListOp::Min | ListOp::Max) => {
            node_dictionary(graph, node.args[0], texts)?.elements.first()?.dictionary.clone()
        }
        Op::List(ListOp::Field(field)) => {
            node_dictionary(graph, node.args[0], texts)?.elements.get(field as usize)?.dictionary.clone()
        }
        Op::List(ListOp::Struct(number)) => texts.structs.get(number as usize).cloned(),
        // The first or last of some strings.
        Op::Prefix(number) => node_dictionary(graph, texts.window?.prefix.get(number as usize)?.of?, texts),
        Op::Suffix(number) => node_dictionary(graph, texts.window?.suffix.get(number as usize)?.of?, texts),
        Op::Sliding(number) => node_dictionary(graph, texts.window?.sliding.get(number as usize)?.of?, texts),
        _ => None,
    }
}
