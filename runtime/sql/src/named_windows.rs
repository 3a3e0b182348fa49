//! Named windows: `over w`, `over (w order by x)` and windows that extend others. DataFusion supports `over w` alone,
//! and only in the list of results.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, NamedWindowDefinition, NamedWindowExpr, Select, Statement, WindowSpec, WindowType,
};
use onrush_expr::diagnostics::plan_error;
use onrush_wire::Diagnostic;

use super::walk::{Rewriter, Walk, each, walk};

/// # Errors
/// If there is no window of a name.
pub fn extend(statement: &mut Statement) -> Result<(), Diagnostic> {
    match walk(statement, &mut Windows) {
        ControlFlow::Break(diagnostic) => Err(diagnostic),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Windows;

impl Rewriter for Windows {
    fn pre_visit_select(&mut self, select: &mut Select) -> Walk {
        let mut known: Vec<(String, WindowSpec)> = Vec::new();
        for NamedWindowDefinition(name, window) in &mut select.named_window {
            let mut spec = match window {
                NamedWindowExpr::NamedWindow(of) => WindowSpec { window_name: Some(of.clone()), ..blank() },
                NamedWindowExpr::WindowSpec(spec) => spec.clone(),
            };
            if let Err(diagnostic) = extended(&mut spec, &known) {
                return ControlFlow::Break(diagnostic);
            }
            known.push((name.value.clone(), spec.clone()));
            *window = NamedWindowExpr::WindowSpec(spec);
        }
        if known.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut over = |expr: &mut Expr| match expr {
            Expr::Function(Function { over: Some(over), .. }) => {
                let mut spec = match over {
                    WindowType::WindowSpec(spec) => spec.clone(),
                    WindowType::NamedWindow(of) => WindowSpec { window_name: Some(of.clone()), ..blank() },
                };
                if let Err(diagnostic) = extended(&mut spec, &known) {
                    return ControlFlow::Break(diagnostic);
                }
                *over = WindowType::WindowSpec(spec);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        };
        for item in &mut select.projection {
            each(item, &mut over)?;
        }
        each(&mut select.qualify, &mut over)
    }
}

fn blank() -> WindowSpec {
    WindowSpec { window_name: None, partition_by: Vec::new(), order_by: Vec::new(), window_frame: None }
}

/// Gives a window what the one has that it is named after.
fn extended(spec: &mut WindowSpec, known: &[(String, WindowSpec)]) -> Result<(), Diagnostic> {
    let Some(name) = spec.window_name.take() else { return Ok(()) };
    let Some((_, of)) = known.iter().find(|(known, _)| *known == name.value) else {
        return Err(plan_error("sql-syntax", format!("there is no window `{name}`")));
    };
    if spec.partition_by.is_empty() {
        spec.partition_by.clone_from(&of.partition_by);
    }
    if spec.order_by.is_empty() {
        spec.order_by.clone_from(&of.order_by);
    }
    if spec.window_frame.is_none() {
        spec.window_frame.clone_from(&of.window_frame);
    }
    Ok(())
}
