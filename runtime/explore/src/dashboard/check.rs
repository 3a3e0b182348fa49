//! Filters that do not fit their views are refused, before anything is computed or kept.

use onrush_expr::diagnostics::plan_error;
use onrush_wire::Diagnostic;
use onrush_wire::dashboard::{Filter, KeptSlots, MAX_CORNERS};
use onrush_wire::format_integer::thousands;

use super::{Index, Kind, kind_name, title};

impl Index {
    /// # Errors
    /// A filter of another kind than its view, with slots or positions that are not there, or two filters of one view.
    pub(super) fn check(&self, filters: &[Filter]) -> Result<(), Diagnostic> {
        for (at, filter) in filters.iter().enumerate() {
            let view = filter.view as usize;
            let Some(request) = self.request.views.get(view) else {
                let message = format!("there is no view {view}: the dashboard has {}, from 0 on", self.views.len());
                return Err(plan_error("argument", message));
            };
            let is_second = filters[..at].iter().any(|other| other.view == filter.view);
            let why = if is_second { Some("it has a filter already".to_string()) } else { self.misfit(filter)? };
            if let Some(why) = why {
                let name = title(request);
                let named = if name.is_empty() { String::new() } else { format!(" (`{name}`)") };
                return Err(plan_error("argument", format!("the filter does not fit view {view}{named}: {why}")));
            }
        }
        Ok(())
    }

    /// The reason why a filter does not fit its view.
    fn misfit(&self, filter: &Filter) -> Result<Option<String>, Diagnostic> {
        let view = filter.view as usize;
        let count = |dimension: &usize| self.dimensions[*dimension].count() as u32;
        let (fits, expected) = match (&filter.kept, &self.views[view]) {
            (KeptSlots::Slots(ranges), Kind::Slots { x, .. }) => {
                let mut end = 0;
                let fits = ranges.iter().all(|(from, to)| {
                    let is_after = *from >= end && from < to && *to <= count(x);
                    end = *to;
                    is_after
                });
                (fits, format!("its ranges must lie between 0 and {}, in order and without overlaps", count(x)))
            }
            (KeptSlots::Exact { wanted, marks }, Kind::Slots { x, .. }) => {
                self.dimensions[*x].wanted(wanted)?;
                let most = f64::from(count(x));
                let fits = marks.iter().all(|(from, to)| *from >= 0.0 && from < to && *to <= most);
                (fits, format!("its marks must lie between 0 and {most}"))
            }
            (KeptSlots::Cells([x0, x1, y0, y1]), Kind::Cells { x, y, .. }) => {
                let fits = x0 < x1 && *x1 <= count(x) && y0 < y1 && *y1 <= count(y);
                (fits, format!("its rectangle must lie within {} by {} cells, and not be empty", count(x), count(y)))
            }
            (KeptSlots::Box(window), Kind::Raster(..)) => {
                let fits = [window.x0, window.y0, window.x1, window.y1].iter().all(|edge| edge.is_finite())
                    && window.x0 <= window.x1
                    && window.y0 <= window.y1;
                (fits, "its rectangle needs finite edges, the lower ones first".to_string())
            }
            (KeptSlots::Lasso(corners), Kind::Raster(..)) => {
                let is_finite = corners.iter().all(|(x, y)| x.is_finite() && y.is_finite());
                let corners = corners.len();
                let fits = is_finite && (3..=MAX_CORNERS).contains(&corners);
                let found = thousands(corners as u64);
                (
                    fits,
                    format!(
                        "a polygon needs 3 to {MAX_CORNERS} corners with finite positions, and this one has {found}"
                    ),
                )
            }
            (kept, _) => {
                let found = match kept {
                    KeptSlots::Slots(_) | KeptSlots::Exact { .. } => "bins or bars",
                    KeptSlots::Cells(_) => "cells",
                    KeptSlots::Box(_) => "a rectangle of positions",
                    KeptSlots::Lasso(_) => "a polygon",
                };
                (false, format!("a {} is not filtered by {found}", kind_name(self.request.views[view].kind)))
            }
        };
        Ok((!fits).then_some(expected))
    }
}
