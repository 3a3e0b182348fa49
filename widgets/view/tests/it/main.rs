//! Outputs through the public interface: tables, plots, maps, tracebacks.

mod diagnostic;
mod escapes;
mod kinds;
mod maps;
mod table;
mod vega;
