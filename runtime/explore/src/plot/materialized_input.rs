//! Materialises the columns that several panels and layers of a plot read, if memory allows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use onrush_engine::{Engine, KEPT};
use onrush_frame::TaskHandle;
use onrush_wire::plan::Op;
use onrush_wire::plot::{Mark, PlotRequest};
use onrush_wire::{Diagnostic, Expr, ExprKind, FrameId};

use super::row_source::Rows;

/// Ids of frames that only a plot knows, downwards from the largest; a notebook's ids count upwards.
static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);

/// A frame that is there as long as this is.
pub struct MaterializedInput<'a> {
    engine: &'a Engine,
    pub id: FrameId,
}

impl Drop for MaterializedInput<'_> {
    fn drop(&mut self) {
        self.engine.release(&[self.id]);
    }
}

impl<'a> MaterializedInput<'a> {
    /// The frame of a step.
    pub fn step(engine: &'a Engine, op: &Op, task: &TaskHandle) -> Result<Self, Diagnostic> {
        let id = FrameId(NEXT.fetch_sub(1, Ordering::Relaxed));
        engine.step(id, op, None, None, task)?;
        Ok(MaterializedInput { engine, id })
    }

    /// The columns that the plot uses, held. `None` if the frame is held already, or if the plot walks once. Also
    /// `None` if the columns take more than a share of the session's memory. A wrong name also gives `None`: the layer
    /// that uses the name reports it.
    pub fn columns(engine: &'a Engine, request: &PlotRequest, task: &TaskHandle) -> Result<Option<Self>, Diagnostic> {
        let is_pair = request.layers.iter().any(|layer| layer.mark == Mark::Pair);
        let walks = request.facet.is_some() || request.layers.len() > 1 || is_pair;
        if !walks || engine.is_held(request.frame)? {
            return Ok(None);
        }
        let mut used = Some(BTreeMap::new());
        request.facet.iter().for_each(|by| uses(by, &mut used));
        for layer in &request.layers {
            let own = [&layer.x, &layer.y, &layer.color, &layer.size, &layer.by];
            own.into_iter().flatten().chain(&layer.more_y).for_each(|expr| uses(expr, &mut used));
            if layer.mark == Mark::Correlation {
                used = None;
            }
        }
        let exprs: Vec<Expr> = match used {
            Some(used) if used.is_empty() => return Ok(None),
            Some(used) => used.into_values().collect(),
            None => vec![Expr::new(ExprKind::All { except: Vec::new() })],
        };
        let id = FrameId(NEXT.fetch_sub(1, Ordering::Relaxed));
        let Ok(rows) = Rows::select(engine, request.frame, &exprs, engine.memory_limit() / KEPT) else {
            return Ok(None);
        };
        let Some((frame, table)) = rows.if_few(task)? else { return Ok(None) };
        engine.hold(&frame, table, id, task)?;
        Ok(Some(MaterializedInput { engine, id }))
    }
}

/// Adds the columns of an expression, by name; `None` if it may use any of them.
fn uses(expr: &Expr, used: &mut Option<BTreeMap<String, Expr>>) {
    expr.for_each(|expr| match &expr.kind {
        ExprKind::Column(name) => {
            if let Some(used) = used {
                used.entry(name.clone()).or_insert_with(|| expr.clone());
            }
        }
        ExprKind::All { .. } => *used = None,
        _ => {}
    });
}
