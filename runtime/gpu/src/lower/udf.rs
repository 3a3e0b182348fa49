//! Functions of `%%cuda` cells within fragments.

use std::sync::Arc;

use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_expr::device_udf::{Native, is_in};
use onrush_ops::{DeviceType, ExprGraph, NodeId, Op, kind_of};

use super::Lowering;
use crate::cpu_reason::CpuReason;
use crate::udf::CompiledUdf;

/// A call, if it is one. Within a choice it is made for the rows that chose it only: it may not come to an end with
/// others.
pub fn call(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Option<Result<NodeId, CpuReason>> {
    let native = Native::of(function.fun())?;
    let mut lower = || {
        let of_type = || CpuReason::of_type("a function result", function.return_type());
        let udf = Arc::clone(&CompiledUdf::of(native).map_err(|_| of_type())?.udf);
        let kind = kind_of(function.return_type()).ok_or_else(of_type)?;
        let mut args = function.args().iter().map(|arg| lowering.expr(arg)).collect::<Result<Vec<_>, _>>()?;
        args.extend(lowering.guard);
        let op = Op::Udf { function: lowering.graph.native(&udf), guarded: lowering.guard.is_some() };
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

/// The guard of rows for which the condition is false or null.
pub fn unless(graph: &mut ExprGraph, guard: Option<NodeId>, condition: NodeId) -> NodeId {
    let no = graph.bool(false);
    let holds = graph.add(Op::Coalesce, &[condition, no], DeviceType::Bool);
    let fails = graph.add(Op::Not, &[holds], DeviceType::Bool);
    and(graph, guard, fails)
}

/// The arguments of `coalesce`, each called where those before it are null.
pub fn in_turn(lowering: &mut Lowering, args: &[Arc<dyn PhysicalExpr>]) -> Result<Vec<NodeId>, CpuReason> {
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
