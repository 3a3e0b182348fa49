//! Parts of the crates of plans, which plans do not show alone.

mod cache;
mod exchange;
mod folds;
mod format;
mod gather;
mod json;
mod key;
mod like;
mod nested;
mod pool;
mod powers_of_ten;
mod rules;
mod sample;
mod sort;
mod spilling_join;
mod time_zone;
mod unsupported;
mod words;
