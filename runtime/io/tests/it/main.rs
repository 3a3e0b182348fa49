//! Files read and written: each format, damaged files, scans, and places that are written to.

mod csv;
mod files;
mod formats;
mod hive;
mod json;
mod marks;
mod mutations;
mod scans;
mod support;
mod targets;
