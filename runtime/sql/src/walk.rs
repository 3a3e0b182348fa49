//! Walks over parsed queries, all by one visitor: the parser's walkers are compiled anew for each type of visitor, and
//! each is thousands of functions.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, Select, TableFactor, VisitMut, VisitorMut};
use onrush_wire::Diagnostic;

/// Goes on, or ends the walk with an error.
pub type Walk = ControlFlow<Diagnostic>;

/// Callbacks before and after the parts of a query.
pub trait Rewriter {
    fn pre_visit_query(&mut self, _: &mut Query) -> Walk {
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> Walk {
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, _: &mut Select) -> Walk {
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> Walk {
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, _: &mut TableFactor) -> Walk {
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, _: &mut Expr) -> Walk {
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> Walk {
        ControlFlow::Continue(())
    }
}

struct Visitor<'a>(&'a mut dyn Rewriter);

impl VisitorMut for Visitor<'_> {
    type Break = Diagnostic;

    fn pre_visit_query(&mut self, query: &mut Query) -> Walk {
        self.0.pre_visit_query(query)
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Walk {
        self.0.post_visit_query(query)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Walk {
        self.0.pre_visit_select(select)
    }

    fn post_visit_select(&mut self, select: &mut Select) -> Walk {
        self.0.post_visit_select(select)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Walk {
        self.0.pre_visit_table_factor(factor)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        self.0.pre_visit_expr(expr)
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        self.0.post_visit_expr(expr)
    }
}

struct Each<'a>(&'a mut dyn FnMut(&mut Expr) -> Walk);

impl Rewriter for Each<'_> {
    fn post_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        (self.0)(expr)
    }
}

/// Names without a table, outside of subqueries.
struct Names<'a> {
    replacement: &'a dyn Fn(&str) -> Option<Expr>,
    depth: usize,
}

impl Rewriter for Names<'_> {
    fn pre_visit_query(&mut self, _: &mut Query) -> Walk {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> Walk {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        if self.depth == 0
            && let Expr::Identifier(name) = expr
            && let Some(new) = (self.replacement)(&name.value)
        {
            *expr = new;
        }
        ControlFlow::Continue(())
    }
}

/// Puts expressions in the place of names without a table; names in subqueries stay.
pub fn replace_names(part: &mut impl VisitMut, replacement: &dyn Fn(&str) -> Option<Expr>) {
    let _ = walk(part, &mut Names { replacement, depth: 0 });
}

pub fn walk(part: &mut impl VisitMut, rewriter: &mut dyn Rewriter) -> Walk {
    part.visit(&mut Visitor(rewriter))
}

/// All expressions, the inner ones first.
pub fn each(part: &mut impl VisitMut, f: &mut dyn FnMut(&mut Expr) -> Walk) -> Walk {
    walk(part, &mut Each(f))
}
