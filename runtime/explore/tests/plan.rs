//! The engine through its public interface: steps in, rows out. One binary, since linking DataFusion is slow; it
//! stands here, above the engine, because some tests look at views.
//!
//! Values come from Polars 2.1, DuckDB 2.0 or a calculation by hand; each test says from which.

mod plan {
    pub mod asof;
    pub mod beside;
    pub mod coverage;
    pub mod dashboards;
    pub mod device_models;
    pub mod diagnostics;
    pub mod disk;
    pub mod engine;
    #[path = "../../../learn/tests/support/expectations.rs"]
    pub mod expectations;
    pub mod explore;
    pub mod expressions;
    pub mod files;
    pub mod graphs;
    pub mod groups;
    pub mod joins;
    pub mod lending;
    pub mod lists;
    pub mod long;
    pub mod maps;
    pub mod models;
    pub mod native;
    pub mod nested;
    pub mod orders;
    pub mod parts;
    pub mod plot_kinds;
    pub mod plots;
    pub mod rasters;
    pub mod reference;
    pub mod room;
    pub mod selectors;
    pub mod semantics;
    pub mod series;
    pub mod sql;
    pub mod steps;
    pub mod support;
    pub mod texts;
    pub mod times;
    pub mod windows;
    pub mod zones;
}
