//! Maps: projections, sets of shapes, and the values of a choropleth's regions. The shapes are in `kernel/map`.

use serde::{Deserialize, Serialize};

/// How longitude and latitude become positions on a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Projection {
    /// EPSG 3857. Latitudes beyond 85.0511 degrees are not shown.
    #[default]
    WebMercator,
    Equirectangular,
    /// For maps of the whole world.
    NaturalEarth,
    /// Equal-area, for the United States: Alaska and Hawaii are in insets, other places are not shown.
    AlbersUsa,
}

impl Projection {
    pub const ALL: [Projection; 4] =
        [Projection::WebMercator, Projection::Equirectangular, Projection::NaturalEarth, Projection::AlbersUsa];

    pub fn name(self) -> &'static str {
        match self {
            Projection::WebMercator => "web_mercator",
            Projection::Equirectangular => "equirectangular",
            Projection::NaturalEarth => "natural_earth",
            Projection::AlbersUsa => "albers_usa",
        }
    }
}

/// The regions of a choropleth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ShapeSet {
    /// Countries and areas of ISO 3166-1.
    Countries,
    /// The states and territories of the United States.
    States,
}

/// A value for each region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choropleth {
    pub shapes: ShapeSet,
    pub regions: Vec<RegionValue>,
    /// The column of the regions.
    pub label: String,
    /// What the colours show: `mean(delay)`.
    pub color_label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionValue {
    /// ISO 3166-1 alpha-2, or the code of the postal service.
    pub code: String,
    /// In English.
    pub name: String,
    pub value: f64,
}
