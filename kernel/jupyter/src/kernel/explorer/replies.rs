//! Answers of the data explorer, in the words of Positron's contract.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onrush_wire::explore::{Explore, ExploreReply, Histogram, Summary, SummaryRequest};
use onrush_wire::plan::{Sink, SinkFormat};
use onrush_wire::schema::Field;
use onrush_wire::{DataType, Diagnostic, Value as Cell};
use serde_json::{Map, Value, json};

use super::super::json_rpc::{CommAnswer, invalid, superseded};
use super::columns;
use super::positron_protocol::{
    ArraySelection, ColumnProfiles, DataValues, ExportFile, ExportSelection, GetValue, Indices, ProfileRequest,
    RowLabels,
};
use super::{CODE, State, Table};

/// Characters of a cell, if the front end names no number.
const CELL: usize = 200;
/// Characters of a value on its own: what the session sends at most.
const WHOLE: usize = 5_000;
/// Rows that a page has at most.
const PAGE: u64 = 2_000;
/// Cells that are exported as text at most.
const CELLS: u64 = 1_000_000;

/// `left`: the columns that filters leave, which the indices count.
pub fn schema(columns: &[Field], left: &[usize], asked: &Indices) -> Value {
    let column = |index: &usize| {
        let index = *left.get(*index)?;
        Some(onrush_view::column_schema(index, &columns[index].name, &columns[index].dtype))
    };
    json!({ "columns": asked.column_indices.iter().filter_map(column).collect::<Vec<_>>() })
}

pub fn state(table: &Table, state: &State) -> Value {
    let all = table.columns.len();
    let sort: Vec<Value> =
        state.sort.iter().map(|key| json!({ "column_index": key.column_index, "ascending": key.ascending })).collect();
    let supported = |kinds: &[&str], name: &str| -> Vec<Value> {
        kinds.iter().map(|kind| json!({ name: kind, "support_status": "supported" })).collect()
    };
    json!({
        "display_name": "frame",
        "connected": true,
        "table_shape": { "num_rows": state.selected, "num_columns": state.left.len() },
        "table_unfiltered_shape": { "num_rows": table.rows, "num_columns": all },
        "has_row_labels": true,
        "column_filters": state.column_filters,
        "row_filters": state.filters,
        "sort_keys": sort,
        "supported_features": {
            "search_schema": {
                "support_status": "supported",
                "supported_types": supported(&columns::FILTERS, "column_filter_type"),
            },
            "set_column_filters": {
                "support_status": "supported",
                "supported_types": supported(&columns::FILTERS, "column_filter_type"),
            },
            "set_row_filters": {
                "support_status": "supported",
                "supports_conditions": "supported",
                "supported_types": supported(
                    &[
                        "between", "compare", "is_empty", "is_false", "is_null", "is_true", "not_between", "not_empty",
                        "not_null", "search", "set_membership",
                    ],
                    "row_filter_type",
                ),
            },
            "get_column_profiles": {
                "support_status": "supported",
                "supported_types": supported(
                    &[
                        "null_count", "summary_stats", "small_histogram", "large_histogram", "small_frequency_table",
                        "large_frequency_table",
                    ],
                    "profile_type",
                ),
            },
            "set_sort_columns": { "support_status": "supported" },
            "export_data_selection": { "support_status": "supported", "supported_formats": ["csv", "tsv", "html"] },
            "convert_to_code": { "support_status": "supported", "code_syntaxes": [{ "code_syntax_name": "rust" }] },
        },
    })
}

pub fn values(table: &Arc<Table>, asked: DataValues, answer: CommAnswer) {
    let table = Arc::clone(table);
    let handle = Arc::clone(&table);
    handle.pages.push(move |client| {
        let extents = asked.columns.iter().map(|column| column.spec.extent());
        let first = extents.clone().map(|(first, _)| first).min().unwrap_or(0);
        let end = extents.map(|(first, count)| first + count).max().unwrap_or(0);
        let wide = end - first > PAGE;
        if wide {
            return answer.give(Err(invalid(CODE, format!("a page has {PAGE} rows at most"))));
        }
        let columns = asked.columns.iter().map(|column| column.column_index as u32).collect();
        let what = Explore::Rows { offset: first, count: (end - first) as u32, columns };
        let most = asked.format_options.max_value_length.unwrap_or(CELL);
        answer.give(client.ask(&table.view(), what).and_then(|explored| {
            let ExploreReply::Rows { columns, positions, total } = explored else { return Err(no_rows()) };
            let column = |(asked, values): (&super::positron_protocol::ColumnSelection, Vec<Cell>)| -> Vec<Value> {
                let value = |value: &Cell| table.formats.value(asked.column_index, value, most);
                match &asked.spec {
                    ArraySelection::Range { .. } => {
                        let (from, count) = asked.spec.extent();
                        values.iter().skip((from - first) as usize).take(count as usize).map(value).collect()
                    }
                    ArraySelection::Indices { indices } => {
                        indices.iter().filter_map(|row| values.get((row - first) as usize).map(value)).collect()
                    }
                }
            };
            let columns: Vec<Vec<Value>> = asked.columns.iter().zip(columns).map(column).collect();
            // Beyond the contract: where the rows are in the frame, and how many rows the view has.
            Ok(json!({ "columns": columns, "positions": positions, "num_rows": total }))
        }));
    });
}

pub fn labels(table: &Arc<Table>, asked: RowLabels, answer: CommAnswer) {
    let table = Arc::clone(table);
    let handle = Arc::clone(&table);
    handle.pages.push(move |client| {
        let (first, count) = asked.selection.extent();
        let Some(rows) = asked.selection.positions(PAGE).filter(|_| count <= PAGE) else {
            return answer.give(Err(invalid(CODE, format!("a page has {PAGE} rows at most"))));
        };
        let what = Explore::Rows { offset: first, count: count as u32, columns: Vec::new() };
        answer.give(client.ask(&table.view(), what).and_then(|explored| {
            let ExploreReply::Rows { positions, .. } = explored else { return Err(no_rows()) };
            let label = |row: &u64| Some(positions.get((row - first) as usize)?.to_string());
            Ok(json!({ "row_labels": [rows.iter().filter_map(label).collect::<Vec<_>>()] }))
        }));
    });
}

pub fn value(table: &Arc<Table>, asked: GetValue, answer: CommAnswer) {
    let table = Arc::clone(table);
    let handle = Arc::clone(&table);
    handle.pages.push(move |client| {
        let what = Explore::Rows { offset: asked.row_index, count: 1, columns: vec![asked.column_index] };
        answer.give(client.ask(&table.view(), what).and_then(|explored| {
            let ExploreReply::Rows { columns, .. } = explored else { return Err(no_rows()) };
            let value = columns.first().and_then(|column| column.first()).ok_or_else(no_rows)?;
            let lines = match value {
                Cell::List(_) | Cell::Struct(_) => nested(value, 0),
                value => table.formats.text(asked.column_index as usize, value),
            };
            Ok(json!({ "value": table.formats.value(asked.column_index as usize, value, WHOLE), "text": lines }))
        }));
    });
}

/// A nested value with a line for each part.
fn nested(value: &Cell, depth: usize) -> String {
    let space = "  ".repeat(depth + 1);
    let end = "  ".repeat(depth);
    match value {
        Cell::List(items) if items.iter().any(|i| matches!(i, Cell::List(_) | Cell::Struct(_))) => {
            let items: Vec<String> = items.iter().map(|item| format!("{space}{}", nested(item, depth + 1))).collect();
            format!("[\n{}\n{end}]", items.join(",\n"))
        }
        Cell::List(items) => {
            format!("[{}]", items.iter().map(|item| nested(item, depth)).collect::<Vec<_>>().join(", "))
        }
        Cell::Struct(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{space}{name}: {}", nested(value, depth + 1))).collect();
            format!("{{\n{}\n{end}}}", fields.join(",\n"))
        }
        Cell::Text(text) => format!("{text:?}"),
        other => onrush_view::value(other),
    }
}

/// Positron sends the answer at once and the profiles later, as an event.
pub fn profiles(table: &Arc<Table>, asked: ColumnProfiles, answer: CommAnswer) {
    answer.give(Ok(json!({})));
    let (epoch, view) = {
        let state = table.state.lock();
        (state.epoch, state.view.clone())
    };
    let table = Arc::clone(table);
    let handle = Arc::clone(&table);
    handle.work.push(move |client| {
        let mut profiles = Vec::new();
        let mut error = None;
        for request in &asked.profiles {
            if table.state.lock().epoch != epoch {
                error = Some(superseded().message);
                break;
            }
            let asked = summary_request(request, |first| match client.ask(&view, Explore::Summary(first)) {
                Ok(ExploreReply::Summary(summary)) => Some(summary),
                _ => None,
            });
            match client.ask(&view, Explore::Summary(asked)) {
                Ok(ExploreReply::Summary(summary)) => profiles.push(profile(&table, request, &summary)),
                Ok(_) => profiles.push(json!({})),
                Err(diagnostic) => {
                    error = Some(diagnostic.message);
                    break;
                }
            }
        }
        let mut params = json!({ "callback_id": asked.callback_id, "profiles": profiles });
        if let Some(error) = error {
            params["error_message"] = json!(error);
        }
        answer.event("return_column_profiles", params);
    });
}

/// `first` gives a summary that is asked for before, where the number of bars follows from the values.
fn summary_request(asked: &ProfileRequest, first: impl FnOnce(SummaryRequest) -> Option<Summary>) -> SummaryRequest {
    let of = |kinds: [&str; 2]| -> Vec<&Value> {
        let specs = asked.profiles.iter().filter(|spec| kinds.contains(&spec.profile_type.as_str()));
        specs.map(|spec| &spec.params).collect()
    };
    let most = |specs: &[&Value], key: &str, default: u64| {
        specs.iter().map(|params| params[key].as_u64().unwrap_or(default)).max().unwrap_or(0).min(1000) as u32
    };
    let histograms = of(["small_histogram", "large_histogram"]);
    let mut quantiles: Vec<f64> = Vec::new();
    for q in histograms.iter().flat_map(|params| params["quantiles"].as_array()).flatten().filter_map(Value::as_f64) {
        if !quantiles.contains(&q) && (0.0..=1.0).contains(&q) && quantiles.len() < 100 {
            quantiles.push(q);
        }
    }
    let column = asked.column_index as u32;
    let mut bins = most(&histograms, "num_bins", 20);
    let method = histograms.iter().filter_map(|params| params["method"].as_str()).find(|method| *method != "fixed");
    if let (Some(method), true) = (method, bins > 0) {
        let quartiles = if method == "freedman_diaconis" { vec![0.25, 0.75] } else { Vec::new() };
        let known = first(SummaryRequest { column, bins: 0, top: 0, quantiles: quartiles, median: false });
        if let Some(wanted) = known.and_then(|summary| columns::bars(method, &summary)) {
            bins = bins.min(wanted);
        }
    }
    SummaryRequest {
        column,
        bins,
        top: most(&of(["small_frequency_table", "large_frequency_table"]), "limit", 8),
        quantiles,
        median: asked.profiles.iter().any(|spec| spec.profile_type == "summary_stats"),
    }
}

fn profile(table: &Table, asked: &ProfileRequest, summary: &Summary) -> Value {
    let column = asked.column_index;
    let mut profile = Map::new();
    for spec in &asked.profiles {
        let part = match spec.profile_type.as_str() {
            "null_count" => json!(summary.nulls),
            "summary_stats" => stats(table, column, summary),
            "small_histogram" | "large_histogram" => match &summary.histogram {
                Some(histogram) => bars(table, column, histogram, &quantiles(table, column, summary, &spec.params)),
                None => continue,
            },
            "small_frequency_table" | "large_frequency_table" => match &summary.top {
                Some(top) => {
                    let counted: u64 = top.iter().map(|(_, count)| count).sum();
                    let value = |(value, _): &(Cell, u64)| table.formats.value(column, value, CELL);
                    json!({
                        "values": top.iter().map(value).collect::<Vec<_>>(),
                        "counts": top.iter().map(|(_, count)| count).collect::<Vec<_>>(),
                        "other_count": (summary.rows - summary.nulls).saturating_sub(counted),
                    })
                }
                None => continue,
            },
            _ => continue,
        };
        profile.insert(spec.profile_type.clone(), part);
    }
    Value::Object(profile)
}

/// The quantiles that one of the profiles asks for.
fn quantiles(table: &Table, column: usize, summary: &Summary, params: &Value) -> Value {
    let wanted = params["quantiles"].as_array().map_or(&[][..], Vec::as_slice);
    let found = wanted.iter().filter_map(Value::as_f64).filter_map(|q| summary.quantiles.iter().find(|one| one.q == q));
    found.map(|one| json!({ "q": one.q, "value": number(table, column, &one.value), "exact": one.exact })).collect()
}

/// A mean of two values may have more digits than the column.
fn number(table: &Table, column: usize, value: &Cell) -> String {
    match (value, table.columns.get(column).map(|field| &field.dtype)) {
        (Cell::Float(_), Some(dtype)) if !dtype.is_float() => onrush_view::value(value),
        _ => table.formats.text(column, value),
    }
}

fn bars(table: &Table, column: usize, histogram: &Histogram, quantiles: &Value) -> Value {
    let floating = matches!(table.columns.get(column).map(|c| &c.dtype), Some(dtype) if dtype.is_float());
    // Edges of floats are no values of the column: as many digits as they have, so that a filter by them is that bar.
    let edge = |edge: &Cell| match edge {
        Cell::Float(x) if floating => format!("{x}"),
        edge => table.formats.text(column, edge),
    };
    json!({ "bin_edges": histogram.edges.iter().map(edge).collect::<Vec<_>>(), "bin_counts": histogram.counts, "quantiles": quantiles })
}

fn stats(table: &Table, column: usize, summary: &Summary) -> Value {
    let Some(field) = table.columns.get(column) else { return json!({}) };
    let schema = onrush_view::column_schema(column, &field.name, &field.dtype);
    let text = |value: &Option<Cell>| value.as_ref().map(|value| table.formats.text(column, value));
    let float = |value: Option<f64>| value.map(|value| onrush_view::value(&Cell::Float(value)));
    let median = summary.median.as_ref().map(|value| number(table, column, value));
    let unique = summary.distinct.map(|distinct| distinct.count);
    let ends = |timezone: Option<&Value>| {
        let mut stats = json!({
            "num_unique": unique, "min_date": text(&summary.min), "median_date": median, "max_date": text(&summary.max),
        });
        if let Some(zone) = timezone {
            stats["timezone"] = zone.clone();
        }
        stats
    };
    let (name, part) = match &field.dtype {
        dtype if dtype.is_numeric() => (
            "number_stats",
            json!({
                "min_value": text(&summary.min), "max_value": text(&summary.max),
                "mean": float(summary.mean), "median": median, "stdev": float(summary.std),
            }),
        ),
        DataType::String | DataType::Categorical => {
            ("string_stats", json!({ "num_empty": summary.empty, "num_unique": unique.unwrap_or(0) }))
        }
        DataType::Boolean => {
            let count = |wanted: bool| {
                let found = summary.top.iter().flatten().find(|(value, _)| *value == Cell::Boolean(wanted));
                found.map_or(0, |(_, count)| *count)
            };
            ("boolean_stats", json!({ "true_count": count(true), "false_count": count(false) }))
        }
        DataType::Date => ("date_stats", ends(None)),
        DataType::Timestamp(..) => ("datetime_stats", ends(schema.get("timezone"))),
        _ => ("other_stats", json!({ "num_unique": unique })),
    };
    let mut stats = json!({ "type_display": schema["type_display"], name: part });
    // Beyond the contract: for every type.
    stats["num_rows"] = json!(summary.rows);
    stats["num_nan"] = json!(summary.nans);
    stats["num_unique"] = json!(unique);
    stats["num_unique_exact"] = json!(summary.distinct.is_some_and(|distinct| distinct.exact));
    stats["min"] = json!(text(&summary.min));
    stats["max"] = json!(text(&summary.max));
    stats
}

/// A selection as text, of at most [`CELLS`] cells.
pub fn export(table: &Arc<Table>, asked: ExportSelection, answer: CommAnswer) {
    let table = Arc::clone(table);
    let handle = Arc::clone(&table);
    let (rows, columns) = match selected(&table, &asked) {
        Ok(selection) => selection,
        Err(why) => return answer.give(Err(invalid(CODE, why))),
    };
    handle.work.push(move |client| {
        let view = table.view();
        let single = asked.selection.kind == "single_cell";
        let mut text = SelectionText::new(&asked.format, single);
        if !single {
            text.head(columns.iter().map(|c| table.columns[*c as usize].name.clone()));
        }
        // Stretches of rows that follow each other.
        let mut at = 0;
        while at < rows.len() {
            let mut end = at + 1;
            while end < rows.len() && rows[end] == rows[end - 1] + 1 && end - at < PAGE as usize {
                end += 1;
            }
            let what = Explore::Rows { offset: rows[at], count: (end - at) as u32, columns: columns.clone() };
            match client.ask(&view, what) {
                Ok(ExploreReply::Rows { columns: values, positions, .. }) => {
                    for row in 0..positions.len() {
                        let cells = values.iter().zip(&columns).map(|(values, column)| match &values[row] {
                            Cell::Null => String::new(),
                            value => table.formats.text(*column as usize, value),
                        });
                        text.row(cells);
                    }
                }
                Ok(_) => return answer.give(Err(no_rows())),
                Err(diagnostic) => return answer.give(Err(diagnostic)),
            }
            at = end;
        }
        answer.give(Ok(json!({ "data": text.end(), "format": asked.format })));
    });
}

/// A selection as it is written, row by row.
struct SelectionText {
    text: String,
    /// None: as HTML.
    separator: Option<char>,
    single: bool,
}

impl SelectionText {
    fn new(format: &str, single: bool) -> SelectionText {
        let separator = match format {
            "html" => None,
            "tsv" => Some('\t'),
            _ => Some(','),
        };
        let open = if separator.is_none() && !single { "<table>\n" } else { "" };
        SelectionText { text: open.to_string(), separator, single }
    }

    fn head(&mut self, names: impl Iterator<Item = String>) {
        match self.separator {
            Some(separator) => line(&mut self.text, names, separator),
            None => {
                self.markup("th", names);
            }
        }
    }

    fn row(&mut self, cells: impl Iterator<Item = String>) {
        match self.separator {
            Some(separator) => line(&mut self.text, cells, separator),
            None if self.single => self.text.extend(cells.map(|cell| onrush_view::escape(&cell))),
            None => self.markup("td", cells),
        }
    }

    fn markup(&mut self, tag: &str, cells: impl Iterator<Item = String>) {
        let cells: String = cells.map(|cell| format!("<{tag}>{}</{tag}>", onrush_view::escape(&cell))).collect();
        self.text += &format!("<tr>{cells}</tr>\n");
    }

    fn end(mut self) -> String {
        match (self.separator, self.single) {
            (Some(_), true) => {
                self.text.pop();
            }
            (None, false) => self.text += "</table>\n",
            _ => {}
        }
        self.text
    }
}

/// Rows and columns of a selection.
fn selected(table: &Table, asked: &ExportSelection) -> Result<(Vec<u64>, Vec<u32>), String> {
    if !["csv", "tsv", "html"].contains(&asked.format.as_str()) {
        return Err(format!("the format `{}` is not known: csv, tsv and html are", asked.format));
    }
    let part = &asked.selection.selection;
    let number = |key: &str| part[key].as_u64().ok_or_else(|| format!("the selection has no `{key}`"));
    let list = |key: &str| -> Result<Vec<u64>, String> {
        let list = part[key].as_array().ok_or_else(|| format!("the selection has no `{key}`"))?;
        Ok(list.iter().filter_map(Value::as_u64).collect())
    };
    let all_rows = || 0..table.state.lock().selected;
    let left = table.state.lock().left.clone();
    let all_columns = || (0..left.len() as u64).collect::<Vec<u64>>();
    let (rows, columns): (Rows, Vec<u64>) = match asked.selection.kind.as_str() {
        "single_cell" => (Rows::List(vec![number("row_index")?]), vec![number("column_index")?]),
        "cell_range" => (
            Rows::Range(number("first_row_index")?..number("last_row_index")? + 1),
            (number("first_column_index")?..=number("last_column_index")?).collect(),
        ),
        "row_range" => (Rows::Range(number("first_index")?..number("last_index")? + 1), all_columns()),
        "column_range" => (Rows::Range(all_rows()), (number("first_index")?..=number("last_index")?).collect()),
        "row_indices" => (Rows::List(list("indices")?), all_columns()),
        "column_indices" => (Rows::Range(all_rows()), list("indices")?),
        "cell_indices" => (Rows::List(list("row_indices")?), list("column_indices")?),
        other => return Err(format!("the selection `{other}` is not known")),
    };
    if columns.iter().any(|column| *column >= left.len() as u64) {
        return Err(format!("the table has {} columns", left.len()));
    }
    let count = match &rows {
        Rows::List(rows) => rows.len() as u64,
        Rows::Range(range) => range.end.saturating_sub(range.start),
    };
    if count.saturating_mul(columns.len() as u64) > CELLS {
        return Err(format!("a selection of {count} rows is too large for the clipboard: export the view to a file"));
    }
    let rows = match rows {
        Rows::List(rows) => rows,
        Rows::Range(range) => range.collect(),
    };
    Ok((rows, columns.into_iter().map(|column| left[column as usize] as u32).collect()))
}

enum Rows {
    List(Vec<u64>),
    Range(std::ops::Range<u64>),
}

fn line(out: &mut String, cells: impl Iterator<Item = String>, separator: char) {
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            out.push(separator);
        }
        let special = |c: char| c == separator || c == '"' || c == '\n' || c == '\r';
        match cell.contains(special) {
            true => *out += &format!("\"{}\"", cell.replace('"', "\"\"")),
            false => *out += &cell,
        }
    }
    out.push('\n');
}

/// The view as a file in the notebook's folder, under a name that is free.
pub fn export_file(table: &Arc<Table>, asked: ExportFile, folder: PathBuf, answer: CommAnswer) {
    let (extension, format) = match asked.format.as_str() {
        "csv" => ("csv", SinkFormat::Csv { separator: ',', header: true, null: String::new() }),
        "parquet" => ("parquet", SinkFormat::Parquet { compression: "zstd".to_string(), row_group_rows: None }),
        other => {
            return answer.give(Err(invalid(CODE, format!("the format `{other}` is not known: csv and parquet are"))));
        }
    };
    let stem: String = asked.name.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).take(80).collect();
    let stem = if stem.trim().is_empty() { "table".to_string() } else { stem.trim().to_string() };
    let table = Arc::clone(table);
    let handle = Arc::clone(&table);
    handle.work.push(move |client| {
        let sink = Sink { path: free(&folder, &stem, extension), folder: folder.display().to_string(), format };
        let name = sink.path.clone();
        let what = Explore::Write { columns: asked.column_indices, sink };
        answer.give(client.ask(&table.view(), what).and_then(|explored| match explored {
            ExploreReply::Written { rows, bytes, .. } => Ok(json!({ "name": name, "rows": rows, "bytes": bytes })),
            _ => Err(no_rows()),
        }));
    });
}

fn free(folder: &Path, stem: &str, extension: &str) -> String {
    let names = std::iter::once(format!("{stem}.{extension}")).chain((2..).map(|n| format!("{stem}-{n}.{extension}")));
    let mut free = names.filter(|name| !folder.join(name).exists());
    free.next().unwrap_or_else(|| format!("{stem}.{extension}"))
}

fn no_rows() -> Diagnostic {
    invalid(CODE, "the session gave no rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_quote_what_would_be_read_otherwise() {
        let mut text = String::new();
        line(&mut text, ["a", "b,c", "say \"x\"", "two\nlines", ""].map(str::to_string).into_iter(), ',');
        assert_eq!(text, "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",\n");
    }

    #[test]
    fn nested_values_have_a_line_for_each_part() {
        let value = Cell::Struct(vec![
            ("a".into(), Cell::Int(1)),
            ("b".into(), Cell::List(vec![Cell::Text("x".into()), Cell::Null])),
        ]);
        assert_eq!(nested(&value, 0), "{\n  a: 1,\n  b: [\"x\", null]\n}");
    }
}
