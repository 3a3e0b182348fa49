//! Calls of user-defined device functions.

use super::{ValueExpr, Writer, both};
use crate::ir::expr::NodeId;

impl Writer<'_> {
    /// The function is not called for rows that lack an argument or that a guard leaves out.
    pub(super) fn native(&mut self, id: NodeId, function: u32, guarded: bool, args: &[ValueExpr]) -> ValueExpr {
        let graph = self.body.graph;
        let (kind, native) = (graph.kind(id), &graph.natives()[function as usize]);
        let t = kind.cuda();
        let (given, guard) = args.split_at(args.len() - usize::from(guarded));
        // Faults of the guard are those of whatever it chooses for.
        let valid = given.iter().fold(None, |valid, arg| both(&valid, &arg.valid, "&&"));
        let fault = given.iter().fold(None, |fault, arg| both(&fault, &arg.fault, "||"));
        let sound = fault.as_ref().map(|fault| format!("!{fault}"));
        let chosen = guard.first().map(|guard| format!("({} && {})", guard.ok(), guard.value));
        let list: Vec<&str> = given.iter().map(|arg| arg.value.as_str()).collect();
        let call = format!("({t}){}({})", native.symbol, list.join(", "));
        let value = match both(&both(&valid, &sound, "&&"), &chosen, "&&") {
            Some(called) => format!("{called} ? {call} : ({t})0"),
            None => call,
        };
        self.define(id, kind, value, valid, fault)
    }
}
