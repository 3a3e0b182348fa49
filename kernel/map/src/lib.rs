//! Maps without a network: projections forward and inverse, and the shapes of land, countries and US states with their
//! names and codes. Draws nothing and counts nothing.

mod clip;
mod lens;
mod projection;
mod regions;
mod shapes;

pub use lens::{Lens, degrees_window};
pub use projection::{Point, Projector, is_degrees};
pub use regions::{Match, find, set_of};
pub use shapes::{Region, regions};
