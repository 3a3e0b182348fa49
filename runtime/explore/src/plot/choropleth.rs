//! Choropleths: one value for each region of a map, from the rows that name it.

use std::collections::HashMap;

use onrush_expr::catalogue::has_aggregate;
use onrush_expr::diagnostics::{place, plan_error};
use onrush_map::{Match, find, regions, set_of};
use onrush_wire::map::{Choropleth, Projection, RegionValue, ShapeSet};
use onrush_wire::plot::{AxisScale, Layer, LayerRequest};
use onrush_wire::{Diagnostic, Expr};

use super::axis_values::{Column, label};
use super::{Source, aggregate, grouped, map, needed};

/// Names in a note.
const NAMED: usize = 5;
/// The first code of FIPS that is not a state but a territory, which maps of the states do not show.
const TERRITORIES: u32 = 60;

impl Source<'_> {
    /// Rows are grouped by the region that `x` names. `y` is an aggregate, or a column whose mean is taken.
    pub(super) fn choropleth(
        &mut self,
        layer: &LayerRequest,
        projection: Option<Projection>,
    ) -> Result<Layer, Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let value = match (&layer.y, layer.aggregate.as_deref()) {
            (Some(y), None) if has_aggregate(y) => y.clone(),
            (y, function) => aggregate(function.unwrap_or(if y.is_some() { "mean" } else { "count" }), layer)?,
        };
        let aggregates = [value.clone().alias("y"), Expr::call("len", []).alias("rows")];
        let table = self.engine.run_aggregate(self.frame, &[x.clone().alias("x")], &aggregates, self.task)?;
        let y = layer.y.as_ref().unwrap_or(x);
        let values = Column::of(&table, 1, y)?.number("the value of a region", y)?;
        let rows = Column::of(&table, 2, x)?.positions;
        // The mean of one row is its value.
        let is_single = rows.iter().all(|count| *count <= 1.0) && layer.aggregate.is_none();
        let color_label = if is_single { label(y) } else { label(&value) };
        let column = Column::of(&table, 0, x)?;
        let names = names_of(&column, x)?;
        let shapes = self.shape_set(layer, &names, x)?;

        let shown_states = projection.unwrap_or(map::default_projection(shapes)) == Projection::AlbersUsa;
        let all = regions(shapes);
        let mut made: Vec<(usize, f64)> = Vec::new();
        let mut first: HashMap<usize, String> = HashMap::new();
        let (mut unknown, mut unseen, mut twice) = (Vec::new(), Vec::new(), Vec::new());
        let (mut nameless, mut without_value) = (0.0, 0);
        for ((name, value), rows) in names.into_iter().zip(values.positions).zip(rows) {
            let Some(name) = name else {
                nameless += rows;
                continue;
            };
            let Some(index) = find(shapes, &name) else {
                unknown.push(name);
                continue;
            };
            if let Some(other) = first.get(&index) {
                twice.push(format!("'{name}' and '{other}'"));
                continue;
            }
            let is_unseen = !all[index].has_shape() || (shown_states && all[index].number >= TERRITORIES);
            if is_unseen {
                unseen.push(name.clone());
            } else if value.is_finite() {
                made.push((index, value));
            } else {
                without_value += 1;
            }
            first.insert(index, name);
        }
        self.left_out(nameless as usize, "row", "no region");
        self.left_out(without_value, "region", "no value");
        self.named_in_note(unknown, ("value is not known", "values are not known"));
        self.named_in_note(unseen, ("region is not on the map", "regions are not on the map"));
        if let Some(two) = twice.first() {
            self.notes.push(format!("{two} are one region, which has the value of the second"));
        }
        made.sort_by_key(|one| one.0);
        let regions = made.into_iter().map(|(index, value)| RegionValue {
            code: all[index].short.clone(),
            name: all[index].name().to_string(),
            value,
        });
        Ok(Layer::Choropleth(Choropleth { shapes, regions: regions.collect(), label: column.label, color_label }))
    }

    /// Decides which regions all panels show.
    pub(super) fn share_shapes(&mut self, layer: &LayerRequest) -> Result<(), Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let rows = [Expr::call("len", []).alias("rows")];
        let table = self.engine.run_aggregate(self.frame, &[x.clone().alias("x")], &rows, self.task)?;
        let names = names_of(&Column::of(&table, 0, x)?, x)?;
        self.shape_set(layer, &names, x).map(|_| ())
    }

    /// The set of regions that the values name.
    fn shape_set(&mut self, layer: &LayerRequest, names: &[Option<String>], x: &Expr) -> Result<ShapeSet, Diagnostic> {
        if let Some(set) = layer.shapes.or_else(|| self.shared.shapes.get(&self.index).copied()) {
            return Ok(set);
        }
        let Match { set, known, is_ambiguous } = set_of(names.iter().flatten().map(String::as_str));
        let label = label(x);
        if known == 0 && names.iter().flatten().next().is_some() {
            let found: Vec<String> = names.iter().flatten().take(3).map(|name| format!("'{name}'")).collect();
            let message = format!("`{label}` names no country and no state: {}", found.join(", "));
            return Err(place(plan_error("plot-regions", message), x.span.as_ref(), None, "no regions").help(
                "regions are ISO 3166 codes or English names of countries,\nor FIPS codes, postal codes or names of US states",
            ));
        }
        if is_ambiguous {
            let note = format!("{label} read as US states; `.shapes(\"countries\")` reads it as countries");
            self.notes.push(note);
        }
        self.shared.shapes.insert(self.index, set);
        Ok(set)
    }

    fn named_in_note(&mut self, mut names: Vec<String>, (one, several): (&str, &str)) {
        if names.is_empty() {
            return;
        }
        names.sort_unstable();
        let what = if names.len() == 1 { one } else { several };
        let listed: Vec<String> = names.iter().take(NAMED).map(|name| format!("'{name}'")).collect();
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
        self.notes.push(format!("{} {what}: {}{more}", grouped(names.len()), listed.join(", ")));
    }
}

/// The name of each row's region; numbers are codes.
fn names_of(column: &Column, x: &Expr) -> Result<Vec<Option<String>>, Diagnostic> {
    let name = |position: &f64| match column.scale {
        _ if position.is_nan() => None,
        AxisScale::Category => column.categories.get(*position as usize).cloned(),
        _ => Some(position.to_string()),
    };
    if column.scale == AxisScale::Time {
        let message = format!("a choropleth needs names or codes of regions, and `{}` is a time", column.label);
        return Err(place(plan_error("plot-type", message), x.span.as_ref(), None, "a time"));
    }
    Ok(column.positions.iter().map(name).collect())
}
