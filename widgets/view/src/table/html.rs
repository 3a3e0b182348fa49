//! A table as HTML without script. It must read well without `<style>` and `style=` (GitHub, untrusted notebooks):
//! attributes and elements also express alignment and emphasis, and colours come from the page.

use std::fmt::Write as _;

use onrush_wire::display::TablePreview;
use onrush_wire::format_integer::thousands;

use super::text::plain;
use super::{Table, middle};
use crate::html::{bytes, escape, has_right_to_left, visible};
use crate::value::{Cell, Kind};

/// Maximum number of columns.
const COLUMNS: usize = 30;
/// Maximum number of characters of a cell.
const CELL: usize = 50;
/// Maximum number of characters in the title attribute of a truncated cell.
const TITLE: usize = 1000;

const STYLE: &str = "<style>\
.onrush-table{border-collapse:collapse;margin:0 0 .3em;font-variant-numeric:tabular-nums}\
.onrush-table th,.onrush-table td{padding:.25em .7em;white-space:pre;line-height:1.3;border:none}\
.onrush-table th{vertical-align:top;border-bottom:1px solid rgba(128,128,128,.5)}\
.onrush-table small{font-weight:normal;opacity:.65}\
.onrush-table i{opacity:.5}\
.onrush-size{font-size:.85em;opacity:.7}\
</style>";

const LEFT: &str = " align=\"left\" style=\"text-align:left\"";
const RIGHT: &str = " align=\"right\" style=\"text-align:right\"";
const CENTER: &str = " align=\"center\" style=\"text-align:center\"";

fn align(right: bool) -> &'static str {
    if right { RIGHT } else { LEFT }
}

/// The table with its size under it.
pub fn html(preview: &TablePreview) -> String {
    let table = Table::new(preview);
    let left_out = middle(table.columns.len(), COLUMNS);
    // Writing to a String cannot fail.
    let mut out = format!("<div>{STYLE}\n<table class=\"onrush-table\">\n<thead>\n<tr>");
    if table.has_index() {
        out.push_str("<th></th>");
    }
    for (i, column) in table.columns.iter().enumerate() {
        if left_out.contains(&i) {
            if i == left_out.start {
                let _ = write!(out, "<th{CENTER}>…</th>");
            }
            continue;
        }
        let (name, title) = text(column.name);
        let name = if column.name.is_empty() { "<i>\"\"</i>".to_string() } else { name };
        let _ = write!(
            out,
            "<th{}{title}>{name}<br><small>{}</small>",
            align(column.right),
            escape(&plain(&column.dtype.to_string()))
        );
        if let Some(nulls) = column.nulls {
            let _ = write!(out, "<br><small>{} null</small>", thousands(nulls));
        }
        out.push_str("</th>");
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    for (r, row) in table.rows.iter().enumerate() {
        if table.cut == Some(r) {
            ellipsis_row(&mut out, &table, &left_out);
        }
        out.push_str("<tr>");
        if table.has_index() {
            let _ = write!(out, "<td{RIGHT}><small>{}</small></td>", thousands(row.index));
        }
        for (i, cell) in row.cells.iter().enumerate() {
            if left_out.contains(&i) {
                if i == left_out.start {
                    let _ = write!(out, "<td{CENTER}>…</td>");
                }
                continue;
            }
            let (content, title) = content(cell);
            let _ = write!(out, "<td{}{title}>{content}</td>", align(table.columns[i].right));
        }
        out.push_str("</tr>\n");
    }
    if table.cut == Some(table.rows.len()) {
        ellipsis_row(&mut out, &table, &left_out);
    }
    out.push_str("</tbody>\n</table>\n");
    let mut facts = vec![table.size('\u{202f}')];
    if !left_out.is_empty() {
        let first = plain(table.columns[left_out.start].name);
        let last = plain(table.columns[left_out.end - 1].name);
        facts.push(format!("{} columns not shown ({first} to {last})", left_out.len()));
    }
    if let Some(size) = preview.bytes {
        facts.push(format!(
            "{} in {}",
            bytes(size),
            if preview.location.is_empty() { "memory" } else { &preview.location }
        ));
    }
    let _ = write!(out, "<small class=\"onrush-size\">{}</small>\n</div>", escape(&facts.join(" · ")));
    out
}

fn ellipsis_row(out: &mut String, table: &Table, left_out: &std::ops::Range<usize>) {
    out.push_str("<tr>");
    if table.has_index() {
        let _ = write!(out, "<td{RIGHT}>⋮</td>");
    }
    for (i, column) in table.columns.iter().enumerate() {
        if left_out.contains(&i) && i != left_out.start {
            continue;
        }
        let align = if left_out.contains(&i) { CENTER } else { align(column.right) };
        let _ = write!(out, "<td{align}>⋮</td>");
    }
    out.push_str("</tr>\n");
}

/// The markup of a cell and its title attribute.
fn content(cell: &Cell) -> (String, String) {
    match cell.kind {
        Kind::Null => ("<i>null</i>".to_string(), String::new()),
        Kind::NotFinite => (format!("<small>{}</small>", escape(&cell.text)), String::new()),
        Kind::Blank => {
            let inner: String =
                cell.text.chars().take(CELL).map(|c| visible(c).unwrap_or_else(|| "␣".to_string())).collect();
            (format!("<i>\"{inner}\"</i>"), String::new())
        }
        Kind::Plain => (cut_plain(&cell.text), if too_long(&cell.text) { title(&cell.text) } else { String::new() }),
        Kind::Text => text(&cell.text),
    }
}

fn too_long(text: &str) -> bool {
    text.chars().nth(CELL).is_some()
}

fn cut_plain(text: &str) -> String {
    if !too_long(text) {
        return escape(&plain(text));
    }
    let shown: String = text.chars().take(CELL - 1).collect();
    escape(&plain(&shown)) + "…"
}

/// Text of the user: truncated, with invisible characters made visible, with its own direction.
fn text(text: &str) -> (String, String) {
    let long = too_long(text);
    let mut out = String::new();
    for c in text.chars().take(if long { CELL - 1 } else { CELL }) {
        match visible(c) {
            Some(name) => {
                let _ = write!(out, "<i>{name}</i>");
            }
            None => out.push_str(&escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    // Spaces at the ends are invisible otherwise.
    if let Some(rest) = out.strip_prefix(' ') {
        out = format!("<i>␣</i>{rest}");
    }
    if !long && let Some(rest) = out.strip_suffix(' ') {
        out = format!("{rest}<i>␣</i>");
    }
    if long {
        out.push('…');
    }
    if has_right_to_left(text) {
        out = format!("<bdi dir=\"auto\">{out}</bdi>");
    }
    (out, if long { title(text) } else { String::new() })
}

fn title(text: &str) -> String {
    let mut whole: String = text.chars().take(TITLE).collect();
    if text.chars().nth(TITLE).is_some() {
        whole.push('…');
    }
    format!(" title=\"{}\"", escape(&whole))
}
