//! What the values of a graph's nodes are numbers of, or pieces of. Nothing is computed here: a dictionary goes with a column wherever that is
//! read, and with what is chosen or fetched of it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dictionary::Dictionary;
use crate::graph::{Graph, Id, ListOp, Op};
use crate::window::Window;

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
pub(crate) fn fetches(graph: &Graph) -> bool {
    graph.nodes().iter().any(|node| matches!(node.op, Op::Fetch(_) | Op::List(ListOp::Rows(_))))
}

/// The dictionary of a node that is a text's number, or a list.
pub(crate) fn text_of(graph: &Graph, id: Id, texts: &Dictionaries) -> Option<Arc<Dictionary>> {
    let node = graph.node(id);
    match node.op {
        Op::Input(index) => texts.inputs[index as usize].clone(),
        Op::Lookup(index) => texts.lookups[index as usize].clone(),
        Op::Text(index) => texts.lists.get(index as usize).cloned(),
        Op::Fetch(index) => texts.fetched[index as usize].clone(),
        Op::Joined(join, column) => texts.joined[join as usize][column as usize].clone(),
        // Of a text beside null, and of a number that is one again.
        Op::Choose => text_of(graph, node.args[1], texts).or_else(|| text_of(graph, node.args[2], texts)),
        Op::Coalesce => text_of(graph, node.args[0], texts).or_else(|| text_of(graph, node.args[1], texts)),
        Op::Convert(_) | Op::List(ListOp::Slice) => text_of(graph, node.args[0], texts),
        Op::List(ListOp::Rows(column)) => texts.rows_of.get(&column).cloned(),
        Op::List(ListOp::Element | ListOp::Lowest | ListOp::Highest) => {
            text_of(graph, node.args[0], texts)?.elements.first()?.dictionary.clone()
        }
        Op::List(ListOp::Field(field)) => {
            text_of(graph, node.args[0], texts)?.elements.get(field as usize)?.dictionary.clone()
        }
        Op::List(ListOp::Made(number)) => texts.structs.get(number as usize).cloned(),
        // The first or last of some texts.
        Op::Running(number) => text_of(graph, texts.window?.running.get(number as usize)?.of?, texts),
        Op::RunningBack(number) => text_of(graph, texts.window?.back.get(number as usize)?.of?, texts),
        Op::Sliding(number) => text_of(graph, texts.window?.sliding.get(number as usize)?.of?, texts),
        _ => None,
    }
}
