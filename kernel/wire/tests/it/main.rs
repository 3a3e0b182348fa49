//! Pages of the documentation that are written from tables.

mod graphs_page;
mod models_page;
mod requests;
