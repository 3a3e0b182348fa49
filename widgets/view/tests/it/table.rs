//! Tables through the public interface. Expected boxes are typed by hand after Polars' format.

use onrush_view::bundle;
use onrush_wire::display::{Content, PreviewColumn, TableKind, TablePreview};
use onrush_wire::{DataType, TimeUnit, Value};

fn preview(columns: &[(&str, DataType, Option<u64>)], rows: Vec<Vec<Value>>) -> TablePreview {
    TablePreview {
        kind: TableKind::Frame,
        columns: columns
            .iter()
            .map(|(name, dtype, nulls)| PreviewColumn { name: name.to_string(), dtype: dtype.clone(), nulls: *nulls })
            .collect(),
        total_rows: rows.len() as u64,
        head: rows,
        tail: Vec::new(),
        bytes: None,
        location: String::new(),
    }
}

fn show(preview: TablePreview) -> (String, String) {
    let bundle = bundle(&Content::Table(preview));
    let get = |mime: &str| bundle[mime].as_str().unwrap().to_string();
    (get("text/plain"), get("text/html"))
}

fn text(value: &str) -> Value {
    Value::Text(value.to_string())
}

#[test]
fn a_small_frame() {
    let (plain, html) = show(preview(
        &[("year", DataType::Int64, Some(0)), ("name", DataType::String, Some(1)), ("x", DataType::Float64, Some(0))],
        vec![
            vec![Value::Int(2013), text("EWR"), Value::Float(1.5)],
            vec![Value::Int(7), Value::Null, Value::Float(f64::NAN)],
        ],
    ));
    assert_eq!(
        plain,
        "\
2 rows × 3 columns
┌──────┬──────┬─────┐
│ year ┆ name ┆   x │
│  i64 ┆ str  ┆ f64 │
╞══════╪══════╪═════╡
│ 2013 ┆ EWR  ┆ 1.5 │
│    7 ┆ null ┆ NaN │
└──────┴──────┴─────┘"
    );
    assert!(html.contains("<td align=\"right\" style=\"text-align:right\">2013</td>"), "{html}");
    assert!(html.contains("<i>null</i>"), "{html}");
    assert!(html.contains("<small>1 null</small>"), "{html}");
    assert!(!html.contains("<small>0 null</small>"), "{html}");
    assert!(html.contains("2 rows × 3 columns"), "{html}");
    assert!(!html.contains("<script"), "{html}");
}

#[test]
fn what_could_be_mixed_up_looks_different() {
    let (plain, html) = show(preview(
        &[("t", DataType::String, None)],
        ["", "  ", "null", "a\nb\tc", " x ", "\u{202e}evil"]
            .iter()
            .map(|t| vec![text(t)])
            .chain([vec![Value::Null]])
            .collect(),
    ));
    assert_eq!(
        plain,
        "\
7 rows × 1 column
┌──────────────┐
│ t            │
│ str          │
╞══════════════╡
│ \"\"           │
│ \"  \"         │
│ \"null\"       │
│ a↵b⇥c        │
│  x           │
│ \\u{202e}evil │
│ null         │
└──────────────┘"
    );
    for part in
        ["<i>\"\"</i>", "<i>\"␣␣\"</i>", ">null</td>", "<i>null</i>", "a<i>↵</i>b<i>⇥</i>c", "<i>␣</i>x<i>␣</i>"]
    {
        assert!(html.contains(part), "{part} is missing in {html}");
    }
}

#[test]
fn names_stay_on_one_line() {
    let nested = DataType::Other("a\nb".into());
    let (plain, html) = show(preview(
        &[("net\nsales", DataType::Int64, Some(1)), ("", nested, None), ("a\u{2028}\tb", DataType::Int64, None)],
        vec![vec![Value::Null, Value::Struct(vec![("a\nb".into(), Value::Text("x\ny".into()))]), Value::Int(1)]],
    ));
    assert_eq!(
        plain,
        "\
1 row × 3 columns
┌───────────┬──────────────┬─────────────┐
│ net↵sales ┆ \"\"           ┆ a\\u{2028}⇥b │
│       i64 ┆ a↵b          ┆         i64 │
╞═══════════╪══════════════╪═════════════╡
│      null ┆ {a↵b: \"x↵y\"} ┆           1 │
└───────────┴──────────────┴─────────────┘"
    );
    assert!(html.contains("net<i>↵</i>sales<br>"), "{html}");
    assert!(html.contains("{a↵b: &quot;x↵y&quot;}"), "{html}");
    // No line of the page but those of its own.
    assert!(!html.contains("a\nb") && !html.contains("x\ny") && !html.contains("net\nsales"), "{html}");
}

#[test]
fn markup_in_names_and_values_stays_text() {
    let attack = "<img src=x onerror=alert(1)>\"'&";
    let mut p = preview(
        &[(attack, DataType::Other("<b>".into()), Some(1)), ("l", DataType::List(Box::new(DataType::String)), None)],
        vec![vec![text(attack), Value::List(vec![text("</td><script>")])], vec![text(&attack.repeat(9)), Value::Null]],
    );
    p.location = "<i>".into();
    p.bytes = Some(10);
    let (_, html) = show(p);
    for bad in ["<img", "<script", "<b>", "10 B in <i>", "\"'&\""] {
        assert!(!html.contains(bad), "{bad} is in {html}");
    }
    assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"), "{html}");
}

#[test]
fn long_text_is_cut_with_its_whole_as_title() {
    let long = "abcdefghij".repeat(10);
    let (plain, html) = show(preview(&[("t", DataType::String, None)], vec![vec![text(&long)]]));
    assert!(plain.contains(&format!("│ {}… │", &long[..31])), "{plain}");
    assert!(html.contains(&format!("title=\"{long}\">{}…</td>", &long[..49])), "{html}");
}

#[test]
fn first_and_last_rows_have_an_ellipsis_between() {
    let mut p = preview(&[("n", DataType::Int64, None)], vec![vec![Value::Int(0)], vec![Value::Int(1)]]);
    p.tail = vec![vec![Value::Int(336_775)]];
    p.total_rows = 336_776;
    p.kind = TableKind::Column;
    let (plain, html) = show(p);
    assert_eq!(
        plain,
        "\
column of 336_776 rows
┌────────┬────────┐
│        ┆      n │
│        ┆    i64 │
╞════════╪════════╡
│      0 ┆      0 │
│      1 ┆      1 │
│      … ┆      … │
│ 336775 ┆ 336775 │
└────────┴────────┘"
    );
    assert!(html.contains("column of 336\u{202f}776 rows"), "{html}");
    assert_eq!(html.matches('⋮').count(), 2, "{html}");
}

#[test]
fn wide_characters_are_aligned() {
    let (plain, _) = show(preview(
        &[("city", DataType::String, None), ("n", DataType::Int32, None)],
        vec![
            vec![text("東京"), Value::Int(1)],
            vec![text("e\u{301}a"), Value::Int(22)],
            vec![text("שלום"), Value::Int(3)],
        ],
    ));
    assert_eq!(
        plain,
        "\
3 rows × 2 columns
┌──────┬─────┐
│ city ┆   n │
│ str  ┆ i32 │
╞══════╪═════╡
│ 東京 ┆   1 │
│ e\u{301}a   ┆  22 │
│ שלום ┆   3 │
└──────┴─────┘"
    );
}

#[test]
fn a_wide_frame_loses_its_middle_and_says_so() {
    let names: Vec<String> = (0..40).map(|i| format!("column_{i}")).collect();
    let columns: Vec<(&str, DataType, Option<u64>)> =
        names.iter().map(|n| (n.as_str(), DataType::Int64, None)).collect();
    let (plain, html) = show(preview(&columns, vec![(0..40).map(Value::Int).collect()]));
    // Six columns of 8 or 9 characters and the ellipsis fit into 80: 3 × 11 + 3 × 12 + 4 + 1 = 74.
    assert!(plain.starts_with("1 row × 40 columns, 34 not shown\n"), "{plain}");
    assert!(plain.contains("│ column_0 ┆ column_1 ┆ column_2 ┆ … ┆ column_37 ┆ column_38 ┆ column_39 │"), "{plain}");
    assert!(html.contains("10 columns not shown (column_15 to column_24)"), "{html}");
    assert!(html.contains("column_14") && html.contains("column_25<br>") && !html.contains("column_16<br>"), "{html}");
}

#[test]
fn empty_frames() {
    let (plain, html) = show(preview(&[("a", DataType::Date, Some(0))], vec![]));
    assert_eq!(plain, "0 rows × 1 column\n┌──────┐\n│ a    │\n│ date │\n╞══════╡\n└──────┘");
    assert!(html.contains("0 rows × 1 column"), "{html}");
    let (plain, html) = show(preview(&[], vec![]));
    assert_eq!(plain, "0 rows × 0 columns");
    assert!(html.contains("0 rows × 0 columns"), "{html}");
}

#[test]
fn a_short_row_is_filled_with_nulls() {
    let (plain, _) =
        show(preview(&[("a", DataType::Int8, None), ("b", DataType::Int8, None)], vec![vec![Value::Int(1)]]));
    assert!(plain.contains("│  1 ┆ null │"), "{plain}");
}

#[test]
fn html_is_well_formed() {
    let zone = DataType::Timestamp(TimeUnit::Millisecond, Some("America/New_York".into()));
    let (_, html) = show(preview(
        &[("when", zone, Some(12_345)), ("ش", DataType::String, None)],
        vec![vec![
            Value::Timestamp {
                value: 1_357_034_400_000,
                unit: TimeUnit::Millisecond,
                zone: Some("America/New_York".into()),
            },
            text("سلام <b>"),
        ]],
    ));
    // All elements but <br> are closed, so that it parses as XML once those are.
    let xml = html.replace("<br>", "<br/>");
    let document = resvg::usvg::roxmltree::Document::parse(&xml).unwrap_or_else(|e| panic!("{e}: {html}"));
    let cells: Vec<String> = document
        .descendants()
        .filter(|n| n.has_tag_name("td"))
        .map(|n| n.descendants().filter_map(|d| d.text().filter(|_| d.is_text())).collect())
        .collect();
    assert_eq!(cells, ["2013-01-01 05:00:00 EST", "سلام <b>"]);
    assert!(html.contains("<bdi dir=\"auto\">"), "{html}");
    assert!(html.contains("datetime[ms, America/New_York]"), "{html}");
    assert!(html.contains("12\u{202f}345 null"), "{html}");
}

#[test]
fn bundles_pass_through() {
    let parts = vec![
        ("application/vnd.vegalite.v5+json".to_string(), "{\"a\": 1}".to_string()),
        ("application/json".to_string(), "{broken".to_string()),
        ("image/png".to_string(), "aGk=".to_string()),
    ];
    let bundle = bundle(&Content::Mime(parts));
    assert_eq!(bundle["application/vnd.vegalite.v5+json"]["a"], 1);
    assert_eq!(bundle["application/json"], "{broken");
    assert_eq!(bundle["image/png"], "aGk=");
    assert_eq!(onrush_view::bundle(&Content::Text("hi".into()))["text/plain"], "hi");
}
