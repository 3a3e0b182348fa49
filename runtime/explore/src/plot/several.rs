//! Several columns for `y` as series of one layer. Layers of one plot get different names, and a density over a
//! histogram is scaled to counts.

use std::collections::HashMap;

use onrush_expr::diagnostics::{place, plan_error};
use onrush_wire::Diagnostic;
use onrush_wire::plot::{Axis, AxisScale, Bins, Interval, Layer, LayerRequest, Mark, Series};

use super::Source;
use super::axis_values::{different, label};

impl Source<'_> {
    /// A series for each column of `y`, named like it.
    pub fn several(&mut self, layer: &LayerRequest) -> Result<Vec<Layer>, Diagnostic> {
        if let Some(color) = &layer.color {
            let message = format!("a {} has either several columns for `y` or a colour", layer.mark.info().name);
            return Err(place(plan_error("plot", message), color.span.as_ref(), None, "")
                .help("leave `.color(..)` out, or draw one column"));
        }
        let columns: Vec<_> = layer.y.iter().chain(&layer.more_y).cloned().collect();
        let mut names: Vec<String> = columns.iter().map(label).collect();
        different(&mut names);
        let (mut merged, mut others): (Option<Layer>, Vec<Layer>) = (None, Vec::new());
        for (column, name) in columns.into_iter().zip(names) {
            let one = LayerRequest { y: Some(column), more_y: Vec::new(), ..layer.clone() };
            let mut made = Vec::new();
            match layer.mark {
                Mark::Scatter => self.scatter(&one, &mut made)?,
                _ => made.push(self.xy(&one)?),
            }
            for mut layer in made {
                rename(&mut layer, &name);
                match (&mut merged, layer) {
                    (Some(Layer::Xy { x, series, .. }), Layer::Xy { x: more_x, series: more, .. }) => {
                        join((x, series), more_x, more);
                    }
                    (None, layer @ Layer::Xy { .. }) => merged = Some(layer),
                    (_, other) => others.push(other),
                }
            }
        }
        if let Some(Layer::Xy { y, .. }) = &mut merged {
            y.label = "value".to_string();
        }
        Ok(merged.into_iter().chain(others).collect())
    }
}

/// Adds series of another x axis to those of an axis. Categories are found by their names.
fn join((x, series): (&mut Axis, &mut Vec<Series>), more_x: Axis, more: Vec<Series>) {
    let mut places: HashMap<String, usize> =
        x.categories.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect();
    let place_of: Vec<f64> = more_x
        .categories
        .into_iter()
        .map(|name| {
            *places.entry(name.clone()).or_insert_with(|| {
                x.categories.push(name);
                x.categories.len() - 1
            }) as f64
        })
        .collect();
    series.extend(more.into_iter().map(|mut one| {
        if x.scale == AxisScale::Category {
            for position in &mut one.x {
                *position = place_of.get(*position as usize).copied().unwrap_or(*position);
            }
        }
        one
    }));
}

fn rename(layer: &mut Layer, new: &str) {
    match layer {
        Layer::Xy { series, .. } => series.iter_mut().for_each(|one| one.name = new.to_string()),
        Layer::Points { name, .. } => *name = new.to_string(),
        _ => {}
    }
}

/// The name of the only series of a layer, if it has none, with the label of its values and the noun of its mark.
fn unnamed(layer: &mut Layer) -> Option<(&mut String, String, &'static str)> {
    let info = layer.mark().info();
    let (name, label) = match layer {
        Layer::Xy { x, y, series, .. } => match series.as_mut_slice() {
            [Series { name, .. }] => (name, if info.is_distribution { &x.label } else { &y.label }),
            _ => return None,
        },
        Layer::Points { name, y, .. } => (name, &y.label),
        Layer::Histogram { x, series } => match series.as_mut_slice() {
            [Bins { name, .. }] => (name, &x.label),
            _ => return None,
        },
        // Intervals without estimates have the colour of the layer before them.
        Layer::Intervals { y, series, .. } => match series.as_mut_slice() {
            [Interval { name, y: middle, .. }] if !middle.is_empty() => (name, &y.label),
            _ => return None,
        },
        _ => return None,
    };
    name.is_empty().then(|| (name, label.clone(), info.name))
}

/// Series of several layers get the names of their columns, and of their marks where the columns are the same. The
/// legend shows them.
pub fn named(layers: &mut [Layer]) {
    let mut labels: Vec<String> = Vec::new();
    for layer in layers.iter_mut() {
        labels.extend(unnamed(layer).map(|(_, label, _)| label));
    }
    if layers.len() < 2 || labels.is_empty() {
        return;
    }
    let mut names: Vec<String> = Vec::new();
    for layer in layers.iter_mut() {
        if let Some((_, label, mark)) = unnamed(layer) {
            let is_unique = labels.iter().filter(|other| **other == label).count() == 1;
            names.push(if is_unique { label } else { format!("{label} ({mark})") });
        }
    }
    let mut names = names.into_iter();
    for layer in layers {
        if let (Some((name, ..)), Some(new)) = (unnamed(layer), names.next()) {
            *name = new;
        }
    }
}

/// Scales a density over a histogram so that its area is that of the bars.
pub fn counted(layers: &mut [Layer]) {
    let mut areas: Vec<(String, f64)> = Vec::new();
    for layer in &*layers {
        let Layer::Histogram { series, .. } = layer else { continue };
        for bins in series {
            let widths = || bins.edges.windows(2).map(|edge| edge[1] - edge[0]);
            let (low, high) = (widths().fold(f64::INFINITY, f64::min), widths().fold(0.0, f64::max));
            // Bins of different widths have no common unit.
            if high - low > high * 1e-6 {
                return;
            }
            areas.push((bins.name.clone(), high * bins.counts.iter().sum::<u64>() as f64));
        }
    }
    let all: f64 = areas.iter().map(|area| area.1).sum();
    if areas.is_empty() {
        return;
    }
    for layer in layers {
        let Layer::Xy { mark: Mark::Density, y, series, .. } = layer else { continue };
        y.label = "count".to_string();
        for one in series {
            let area = areas.iter().find(|area| area.0 == one.name).map_or(all, |area| area.1);
            one.y.iter_mut().for_each(|value| *value *= area);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(label: &str, categories: &[&str]) -> Axis {
        let scale = if categories.is_empty() { AxisScale::Number } else { AxisScale::Category };
        Axis { label: label.to_string(), scale, categories: categories.iter().map(|c| c.to_string()).collect() }
    }

    fn layer(mark: Mark, y: &str, categories: &[&str], x: &[f64]) -> Layer {
        let series = vec![Series { name: String::new(), x: x.to_vec(), y: vec![1.0; x.len()] }];
        Layer::Xy { mark, x: axis("x", categories), y: axis(y, &[]), series }
    }

    #[test]
    fn categories_of_joined_layers_are_found_by_name() {
        let bars = |categories: &[&str]| match layer(Mark::Bar, "a", categories, &[0.0, 1.0]) {
            Layer::Xy { x, series, .. } => (x, series),
            other => panic!("no bars: {other:?}"),
        };
        let ((mut x, mut series), (more_x, more)) = (bars(&["p", "q"]), bars(&["q", "r"]));
        join((&mut x, &mut series), more_x, more);
        assert_eq!(x.categories, ["p", "q", "r"]);
        assert_eq!(series[1].x, [1.0, 2.0]);
    }

    #[test]
    fn layers_are_told_apart() {
        let names = |layers: &mut Vec<Layer>| -> Vec<String> {
            named(layers);
            layers
                .iter()
                .map(|layer| match layer {
                    Layer::Xy { series, .. } => series[0].name.clone(),
                    _ => String::new(),
                })
                .collect()
        };
        let mut two = vec![layer(Mark::Line, "a", &[], &[1.0]), layer(Mark::Scatter, "b", &[], &[1.0])];
        assert_eq!(names(&mut two), ["a", "b"]);
        let mut same = vec![layer(Mark::Line, "a", &[], &[1.0]), layer(Mark::Scatter, "a", &[], &[1.0])];
        assert_eq!(names(&mut same), ["a (line chart)", "a (scatter plot)"]);
        assert_eq!(names(&mut vec![layer(Mark::Line, "a", &[], &[1.0])]), [""]);
    }

    #[test]
    fn a_density_over_bars_has_their_area() {
        let bins = Bins { name: String::new(), edges: vec![0.0, 2.0, 4.0], counts: vec![3, 1] };
        let mut layers = vec![
            Layer::Histogram { x: axis("x", &[]), series: vec![bins] },
            layer(Mark::Density, "density", &[], &[0.0, 4.0]),
        ];
        counted(&mut layers);
        let Layer::Xy { y, series, .. } = &layers[1] else { panic!("no curve") };
        // Four values in bins of width 2.
        assert_eq!((y.label.as_str(), series[0].y[0]), ("count", 8.0));
    }
}
