//! The bytes and titles of requests, and pages of the documentation that are written from tables.

mod files_page;
mod graphs_page;
mod models_page;
mod requests;
mod titles;
