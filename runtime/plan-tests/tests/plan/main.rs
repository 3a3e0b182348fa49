//! The engine through its public interface: steps in, rows out. Some tests look at views.
//!
//! Values come from Polars 2.1, DuckDB 2.0 or a calculation by hand; each test says from which.

mod asof;
mod calls;
mod column_export;
mod concurrency;
mod coverage;
mod dashboard_values;
mod dashboards;
mod device_models;
mod diagnostics;
mod disk;
mod engine;
mod eviction;
#[path = "../../../learn/tests/it/support.rs"]
mod expectations;
mod explore;
mod expressions;
mod files;
mod graphs;
mod groups;
mod inside;
mod joins;
mod keys;
mod lists;
mod long;
mod maps;
mod models;
mod native;
mod nested;
mod one_nan;
mod orders;
mod out_of_core;
mod plot_kinds;
mod plots;
mod rasters;
mod reference;
mod row_orders;
mod selectors;
mod semantics;
mod series;
mod sql;
mod sql_forms;
mod steps;
mod streams;
mod strings;
mod support;
mod time_parts;
mod times;
mod windows;
mod zones;
