//! Functions of `%%cuda` cells within fragments.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_ops::{DeviceType, ExprGraph, NodeId, Op, Stage, kind_of};

use super::lower::Lowering;
use super::unsupported::Unsupported;
use crate::expr::native::Native;

/// The function that an expression calls, if it is one of a `%%cuda` cell.
fn called(expr: &Arc<dyn PhysicalExpr>) -> Option<&Native> {
    let any: &dyn Any = expr.as_ref();
    Native::of(any.downcast_ref::<ScalarFunctionExpr>()?.fun())
}

/// Whether an expression calls one anywhere.
pub fn is_in(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = false;
    let walked = expr.apply(|node| {
        found |= called(node).is_some();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.is_err() || found
}

/// A call, if it is one. Within a choice it is made for the rows that chose it only: it may not come to an end with others.
pub fn call(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Option<Result<NodeId, Unsupported>> {
    let native = Arc::clone(&Native::of(function.fun())?.compiled().native);
    let mut lower = || {
        let kind =
            kind_of(function.return_type()).ok_or(Unsupported::of_type("a function result", function.return_type()))?;
        let mut args = function.args().iter().map(|arg| lowering.expr(arg)).collect::<Result<Vec<_>, _>>()?;
        args.extend(lowering.guard);
        let op = Op::Udf { function: lowering.graph.native(&native), guarded: lowering.guard.is_some() };
        Ok(lowering.graph.add(op, &args, kind))
    };
    Some(lower())
}

/// A guard that holds where another one does, and a condition.
pub fn and(graph: &mut ExprGraph, guard: Option<NodeId>, condition: NodeId) -> NodeId {
    match guard {
        Some(guard) => graph.add(Op::And, &[guard, condition], DeviceType::Bool),
        None => condition,
    }
}

/// The same of a condition that is false or null.
pub fn unless(graph: &mut ExprGraph, guard: Option<NodeId>, condition: NodeId) -> NodeId {
    let no = graph.bool(false);
    let holds = graph.add(Op::Coalesce, &[condition, no], DeviceType::Bool);
    let fails = graph.add(Op::Not, &[holds], DeviceType::Bool);
    and(graph, guard, fails)
}

/// The arguments of `coalesce`, each called where those before it are null.
pub fn in_turn(lowering: &mut Lowering, args: &[Arc<dyn PhysicalExpr>]) -> Result<Vec<NodeId>, Unsupported> {
    let outer = lowering.guard;
    let guarded = args.iter().any(is_in);
    let mut next = |arg| {
        let id = lowering.expr(arg)?;
        if guarded {
            let null = lowering.graph.add(Op::IsNull, &[id], DeviceType::Bool);
            lowering.guard = Some(and(&mut lowering.graph, lowering.guard, null));
        }
        Ok(id)
    };
    let ids = args.iter().map(&mut next).collect();
    lowering.guard = outer;
    ids
}

/// Those that some stages call.
pub fn of(stages: &[Stage]) -> Vec<&Arc<onrush_ops::DeviceUdf>> {
    let graphs =
        stages.iter().flat_map(|stage| std::iter::once(&stage.graph).chain(stage.joins.iter().map(|join| &join.graph)));
    graphs.flat_map(|graph| graph.natives()).collect()
}
