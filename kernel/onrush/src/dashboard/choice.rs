//! The views of [`Frame::explore`](crate::Frame::explore): by the names and types of columns.

use onrush_wire::{Class, DataType, Diagnostic, Span};

use super::Dashboard;
use crate::expr::col;
use crate::frame::Frame;
use crate::raise::raise;

const VIEWS: usize = 8;
/// Rows in which strings are counted, and the share of different ones from which a column is not of categories.
const ROWS: usize = 10_000;
const DIFFERENT: f64 = 0.3;

/// Names of positions, x first.
const POSITIONS: [(&str, &str); 4] = [("lon", "lat"), ("longitude", "latitude"), ("lng", "lat"), ("x", "y")];

#[inline(never)]
pub fn views(mut made: Dashboard, frame: &Frame, at: &Span) -> Dashboard {
    let schema = frame.schema();
    let named = |wanted: &str| {
        let column = schema.fields.iter().find(|field| field.name.eq_ignore_ascii_case(wanted));
        column.filter(|field| field.dtype.is_numeric()).map(|field| field.name.clone())
    };
    let position = POSITIONS.iter().find_map(|(x, y)| Some((named(x)?, named(y)?)));
    let mut names: Vec<(u8, String, DataType)> = Vec::new();
    for field in &schema.fields {
        if position.as_ref().is_some_and(|(x, y)| field.name == *x || field.name == *y) {
            continue;
        }
        let rank = match &field.dtype {
            DataType::Timestamp(..) | DataType::Date => 0,
            DataType::String | DataType::Categorical | DataType::Boolean => 1,
            dtype if dtype.is_numeric() => 2,
            _ => continue,
        };
        names.push((rank, field.name.clone(), field.dtype.clone()));
    }
    let few = categories(frame, names.iter().filter(|name| name.2 == DataType::String).map(|name| name.1.as_str()));
    names.retain(|(_, name, dtype)| *dtype != DataType::String || few.contains(name));
    // Times first, then categories and numbers in turns, as they come in the frame.
    let mut times = names.iter().filter(|name| name.0 == 0).take(2).collect::<Vec<_>>();
    let rest = names.iter().filter(|name| name.0 > 0);
    times.extend(rest);
    let room = VIEWS - usize::from(position.is_some());
    for (rank, name, _) in times.into_iter().take(room) {
        made = match rank {
            1 => made.bar(name.as_str()),
            _ => made.histogram(name.as_str()),
        };
    }
    if let Some((x, y)) = position {
        made = made.raster(x.as_str(), y.as_str());
    }
    if made.views.is_empty() {
        raise(
            Diagnostic::error(Class::Plan, "dashboard", "no column of this frame can be a view")
                .at(at.clone(), "")
                .help("name columns or expressions: `dashboard(&f).histogram(x!(text.str.len()))`"),
        );
    }
    made
}

/// The strings among the columns that are categories: in the first rows they have few different values.
fn categories<'a>(frame: &Frame, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return Vec::new();
    }
    let head = frame.head(ROWS);
    let most = (head.len() as f64 * DIFFERENT).max(30.0);
    let is_category = |name: &&str| head.value::<u64>(col(*name).n_unique()) as f64 <= most;
    names.into_iter().filter(is_category).map(str::to_string).collect()
}
