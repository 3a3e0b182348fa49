//! Violin plots: a density estimate and the quartiles of each category.

use onrush_stats::{Density, SampleStats};
use onrush_wire::Diagnostic;
use onrush_wire::plot::{Layer, LayerRequest, Violin};

use super::Source;
use super::axis_values::{each_of, grown};

/// Points of one side of a violin.
const OUTLINE: usize = 100;
/// Bandwidths by which a violin reaches beyond its values: `cut` of `seaborn.violinplot`.
const CUT: f64 = 2.0;

impl Source<'_> {
    /// Gaussian kernels with Scott's bandwidth, as `seaborn.violinplot` and `scipy.stats.gaussian_kde`. A category of
    /// equal values has no density.
    pub(super) fn violins(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let (rows, values, x, (axis, boxes)) = self.box_data(layer)?;
        let mut group_stats = vec![SampleStats::default(); axis.categories.len()];
        let group_of = |at: f64| if x.is_some() { at } else { 0.0 };
        each_of(&rows, [Some(&values), x.as_ref()], self.task, |[value, at]| {
            let group = group_of(at);
            if group >= 0.0 {
                grown(&mut group_stats, group as usize).add(value);
            }
        })?;
        let width = |stats: &SampleStats| {
            let scott = stats.deviation() * (stats.count.max(1) as f64).powf(-0.2);
            layer.bandwidth.filter(|width| *width > 0.0 && width.is_finite()).unwrap_or(scott)
        };
        let mut densities: Vec<Option<Density>> = group_stats
            .iter()
            .map(|stats| (stats.deviation() > 0.0).then(|| Density::new(stats, Some(width(stats)))))
            .collect();
        each_of(&rows, [Some(&values), x.as_ref()], self.task, |[value, at]| {
            let group = group_of(at);
            if group >= 0.0
                && let Some(Some(density)) = densities.get_mut(group as usize)
            {
                density.add(value);
            }
        })?;
        let violins = boxes.into_iter().map(|stats| {
            let group = axis.categories.iter().position(|name| *name == stats.category).unwrap_or(0);
            let curve = densities.get(group).and_then(Option::as_ref).map(|density| density.curve(OUTLINE));
            let reach = CUT * width(&group_stats[group]);
            let span = group_stats[group].low - reach..=group_stats[group].high + reach;
            let points = curve.map(|(at, density)| at.into_iter().zip(density)).into_iter().flatten();
            let (at, density) = points.filter(|(at, _)| span.contains(at)).unzip();
            Violin { stats, at, density }
        });
        let violins = violins.collect();
        Ok(Layer::Violins { x: axis, y: values.axis(), violins })
    }
}
