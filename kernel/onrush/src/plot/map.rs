//! Maps under plots: the options that say so, and the checks of what can be on a map.

use onrush_wire::map::{Projection, ShapeSet};
use onrush_wire::plot::{Layer, Mark};
use onrush_wire::{Class, Diagnostic};

use super::{Plot, Source};
use crate::raise::{here, raise};

impl Plot {
    /// Draws the plot on a map of the world, without a network: x is the longitude and y the latitude in degrees, as in
    /// `f.plot().raster("lon", "lat").map()`. For `scatter`, `raster` and `raster_lines`; a choropleth is a map
    /// already. Limits of the axes are degrees too.
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn map(mut self) -> Self {
        if !self.has_choropleth() {
            self.style.map.get_or_insert_default();
        }
        self
    }

    /// The projection of a map: `"web_mercator"` (the default of [`Plot::map`]), `"equirectangular"`, `"natural_earth"`
    /// (the default of countries) or `"albers_usa"` (the default of US states).
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn projection(mut self, name: &str) -> Self {
        let known = Projection::ALL.into_iter().find(|projection| projection.name() == name);
        self.style.map = Some(known.unwrap_or_else(|| {
            let names: Vec<String> = Projection::ALL.iter().map(|one| format!("\"{}\"", one.name())).collect();
            let (last, first) = names.split_last().map_or(("", [].as_slice()), |(last, first)| (last.as_str(), first));
            raise(
                Diagnostic::error(Class::Plan, "projection", format!("no projection `{name}`"))
                    .at(here("projection"), "")
                    .help(format!("they are {} and {last}", first.join(", "))),
            )
        }));
        self
    }

    /// The regions of a choropleth: `"countries"` or `"states"`. Default: those that the values name.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn shapes(mut self, name: &str) -> Self {
        let at = here("shapes");
        let shapes = match name {
            "countries" => ShapeSet::Countries,
            "states" => ShapeSet::States,
            other => raise(
                Diagnostic::error(Class::Plan, "shapes", format!("no shapes `{other}`"))
                    .at(at, "")
                    .help("they are \"countries\" and \"states\""),
            ),
        };
        self.last("shapes", at).shapes = Some(shapes);
        self
    }

    fn has_choropleth(&self) -> bool {
        match &self.source {
            Source::Frame { layers, .. } => layers.iter().any(|layer| layer.mark.info().is_map),
            Source::Values(_) | Source::Panels(..) => false,
        }
    }

    /// Whether everything that is drawn can be on a map.
    pub(super) fn check_map(&self) {
        let is_on_maps = |mark: Mark| mark.info().is_on_maps;
        let is_made = |layer: &Layer| is_on_maps(layer.mark());
        let (all, has_map) = match &self.source {
            Source::Frame { layers, .. } => {
                (layers.iter().all(|layer| is_on_maps(layer.mark)), self.style.map.is_some() || self.has_choropleth())
            }
            Source::Values(layers) => (layers.iter().all(is_made), self.style.map.is_some()),
            Source::Panels(facets, _) => {
                (facets.iter().flat_map(|facet| &facet.layers).all(is_made), self.style.map.is_some())
            }
        };
        if has_map && !all {
            raise(
                Diagnostic::error(Class::Plan, "plot", "this plot cannot be drawn on a map")
                    .at(self.at.clone(), "")
                    .help("a map takes `.scatter(lon, lat)`, `.raster(lon, lat)`, `.raster_lines(lon, lat)`\nand `.choropleth(region, value)`"),
            );
        }
    }
}
