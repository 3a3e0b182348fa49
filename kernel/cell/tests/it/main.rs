//! Cells through the real compiler, and the pages of the reference.

mod cells;
mod deps;
mod life;
mod reference;
mod support;
