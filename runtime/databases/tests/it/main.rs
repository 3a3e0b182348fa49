//! Databases through real drivers, in driver processes.

mod drivers;
mod hanging;
