//! The forms of a notebook, against a session that takes every step: what is sent, and what comes back. The session's
//! answers are tested with the session.

#[path = "notebook/fake.rs"]
mod fake;
#[path = "notebook/graphs.rs"]
mod graphs;
#[path = "notebook/models.rs"]
mod models;

use std::collections::HashMap;

use fake::{last, last_place, session};
use onrush::CsvReader;
use onrush::display::Show as _;
use onrush::prelude::*;
use onrush_wire::display::Content;
use onrush_wire::expr::ExprKind;
use onrush_wire::plan::{AsofStrategy, ExcelOptions, Format, JoinKind, OnError, Op, ParquetOptions, Sheet, Source};
use onrush_wire::{BinaryOp, Diagnostic, Expr as Tree, FrameId};

fn frame() -> Frame {
    read_csv("x.csv")
}

#[test]
fn reading_takes_options() {
    let _session = session();
    csv().sep(';').nulls(["-"]).dtypes([("zip", "str")]).read("data/*.csv");
    let Op::Read(source) = last() else { panic!() };
    assert_eq!(source.path, "data/*.csv");
    assert_eq!(source.folder, std::env::current_dir().unwrap().display().to_string());
    let Format::Csv(options) = source.format else { panic!() };
    assert_eq!(
        (options.separator, options.nulls, options.dtypes),
        (';', vec!["-".to_string()], vec![("zip".to_string(), DataType::String)])
    );
}

#[test]
fn options_have_the_names_of_polars_too() {
    let _session = session();
    let options = |of: CsvReader| {
        of.read("x.csv");
        let Op::Read(Source { format: Format::Csv(options), .. }) = last() else { panic!() };
        options
    };
    let ours = csv().sep(';').quote('\'').header(false).comment('#').nulls(["-"]).limit(5).row_number("n");
    let polars = csv().separator(';').quote_char('\'').has_header(false).comment_prefix('#').null_values(["-"]);
    assert_eq!(options(ours), options(polars.n_rows(5).row_index_name("n")));
    let ours = csv().dtypes([("a", "i64")]).parse_dates(false).decimal(',').pad_rows(true).cut_rows(true);
    let polars = csv().schema_overrides([("a", "i64")]).try_parse_dates(false).decimal_comma(true);
    assert_eq!(options(ours), options(polars.truncate_ragged_lines(true)));
    let all = csv().escape('\\').thousands('.').dates("%d.%m.%Y").encoding("latin1").names(["a"]).trim(true);
    let all = options(all.column_nulls("a", ["?"]).empty_is_null(false).file_name("f").union_by_name(true));
    assert_eq!((all.escape, all.thousands, all.dates), (Some('\\'), Some('.'), vec!["%d.%m.%Y".to_string()]));
    assert_eq!(all.column_nulls, [("a".to_string(), vec!["?".to_string()])]);
    csv().on_error("null").rejects("x.csv");
    let Op::Read(Source { format: Format::Csv(rejects), .. }) = last() else { panic!() };
    assert!(rejects.rejects && rejects.on_error == OnError::Null);
    let error = attempt(|| csv().on_error("ignore")).map(drop).unwrap_err();
    assert_eq!((error.code.as_str(), error.help[0].as_str()), ("bad-option", "use fail, null or skip"));
    json().at("data.records").read("x.json");
    let Op::Read(source) = last() else { panic!() };
    assert_eq!(source.format, Format::JsonAt("data.records".to_string()));
}

#[test]
fn readers_of_other_formats() {
    let _session = session();
    let format = || match last() {
        Op::Read(source) => (source.path, source.format),
        other => panic!("{other:?}"),
    };
    excel().sheet("2024").range("B3:F200").header(false).columns(["a"]).limit(5).read("x.xlsx");
    let options = ExcelOptions {
        sheet: Sheet::Name("2024".to_string()),
        range: Some("B3:F200".to_string()),
        has_header: false,
        columns: vec!["a".to_string()],
        limit: Some(5),
    };
    assert_eq!(format(), ("x.xlsx".to_string(), Format::Excel(options)));
    excel().sheet(2).read("x.xlsx");
    let options = ExcelOptions { sheet: Sheet::Position(2), ..ExcelOptions::default() };
    assert_eq!(format().1, Format::Excel(options));
    parquet().hive(false).union_by_name().columns(["a", "b"]).read("data/");
    let options =
        ParquetOptions { hive: Some(false), union_by_name: true, columns: vec!["a".to_string(), "b".to_string()] };
    assert_eq!(format(), ("data/".to_string(), Format::Parquet(options)));
    read("s3://bucket/a.avro");
    assert_eq!(format(), ("s3://bucket/a.avro".to_string(), Format::Any));
    let readers = [
        (read_ipc as fn(&'static str) -> Frame, Format::Ipc),
        (read_feather, Format::Ipc),
        (read_arrow, Format::Ipc),
        (read_avro, Format::Avro),
        (read_orc, Format::Orc),
        (sheets, Format::Sheets),
        (read_excel, Format::Excel(ExcelOptions::default())),
        (read_parquet, Format::Parquet(ParquetOptions::default())),
    ];
    for (reader, expected) in readers {
        reader("x");
        assert_eq!(format(), ("x".to_string(), expected));
    }
}

#[test]
fn databases_have_addresses_and_queries() {
    let _session = session();
    read_database("sqlite:///shop.db", "select * from orders");
    let Op::Read(source) = last() else { panic!() };
    assert_eq!((source.path.as_str(), source.name().as_str()), ("sqlite:///shop.db", "shop.db"));
    assert_eq!(source.format, Format::Database { query: "select * from orders".to_string() });
    read_database(String::from("postgresql://ann:secret@host/db"), "select 1");
    let Op::Read(source) = last() else { panic!() };
    assert_eq!(source.name(), "postgresql://ann@host/db");
    let error = attempt(|| frame().database_writer().if_exists("drop").write("shop.db", "orders")).unwrap_err();
    assert!(error.to_string().contains("`if_exists` cannot be `drop`"), "{error}");
}

#[test]
fn files_of_a_cluster_have_its_address() {
    let _session = session();
    let line = line!() + 1;
    let error = attempt(|| connect("127.0.0.1:7433")).unwrap_err();
    let place = &error.labels[0].span;
    assert_eq!((place.line, place.column, place.length), (line, 28, 7));
    let c = connect("onrush://127.0.0.1:7433,127.0.0.1:7434");
    c.read_parquet("trips/");
    let Op::Read(source) = last() else { panic!() };
    assert_eq!((source.path.as_str(), source.cluster.as_deref()), ("trips/", Some(c.address())));
    assert_eq!(source.format, Format::Parquet(ParquetOptions::default()));
    read_parquet("trips/");
    let Op::Read(source) = last() else { panic!() };
    assert_eq!(source.cluster, None);
    c.workers();
    let Op::FromArrow { schema, .. } = last() else { panic!() };
    assert_eq!(schema.names().collect::<Vec<_>>(), ["address", "cores", "memory", "device", "tasks"]);
    let workers = "127.0.0.1:7433 (2 cores, 4.0 GB), 127.0.0.1:7434 (2 cores, 4.0 GB)";
    assert_eq!(format!("{c:?}"), format!("cluster of 2 workers, 4 cores: {workers}"));
    let Some(Content::Table(table)) = c.content() else { panic!() };
    assert_eq!((table.columns.len(), table.total_rows), (4, 2));
}

#[test]
fn a_place_is_the_methods_name() {
    let _session = session();
    let f = frame();
    let line = line!() + 1;
    f.filter(x!(a > 1));
    let place = last_place();
    assert!(place.file.ends_with("notebook.rs"));
    assert_eq!((place.line, place.column, place.length), (line, 7, 6));
    let Op::Filter { predicate, .. } = last() else { panic!() };
    let ExprKind::Binary(BinaryOp::Greater, column, _) = &predicate.kind else { panic!() };
    let place = column.span.clone().unwrap();
    assert!(place.file.ends_with("notebook.rs"));
    assert_eq!((place.line, place.column, place.length), (line, 17, 1));
}

#[test]
fn rust_values_go_into_expressions_by_reference() {
    let _session = session();
    let f = frame();
    let (limit, names, k) = (15, vec!["JFK".to_string()], 2.5);
    f.filter(x!(a > {limit} && name in {names} && b < scaled(a, 2) * {k}));
    let Op::Filter { predicate, .. } = last() else { panic!() };
    let text = format!("{:?}", x!(a > {limit} && name in {names} && b < scaled(a, 2) * {k}));
    assert_eq!(text, "((a > 15) && (name in [\"JFK\"])) && (b < ((a * 2) * 2.5))");
    assert!(matches!(predicate.kind, ExprKind::Binary(BinaryOp::And, ..)));
    assert_eq!(names.len(), 1);
    let column = "Sale Price";
    assert_eq!(
        format!("{:?}", x!({ column } = col({ column }).fill_null(0))),
        "\"Sale Price\" = col(\"Sale Price\").fill_null(0)"
    );
}

fn scaled(value: Expr, by: Expr) -> Expr {
    value * by
}

#[test]
fn lists_come_in_many_forms() {
    let _session = session();
    let f = frame();
    let names = |f: Frame| {
        drop(f);
        let Op::Select { exprs, .. } = last() else { panic!() };
        exprs
            .into_iter()
            .map(|e| match e.into_kind() {
                ExprKind::Column(name) => name,
                other => format!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    let owned = vec!["a".to_string(), "b".to_string()];
    for found in [
        names(f.select(["a", "b"])),
        names(f.select(("a", x!(b)))),
        names(f.select(x!(a, b))),
        names(f.select(&owned)),
        names(f.select(owned.iter().map(String::as_str).collect::<Vec<_>>())),
        names(f.select([col("a"), col("b")])),
    ] {
        assert_eq!(found, ["a", "b"]);
    }
    assert_eq!(names(f.select("a")), ["a"]);
    f.sort([desc("a"), asc("b")]);
    let Op::Sort { keys: first, .. } = last() else { panic!() };
    f.sort(("b", x!(desc(a))));
    let Op::Sort { keys: second, .. } = last() else { panic!() };
    assert_eq!(first.iter().map(|k| k.descending).collect::<Vec<_>>(), [true, false]);
    assert_eq!(second.iter().map(|k| k.descending).collect::<Vec<_>>(), [false, true]);
    f.sort((desc("a").nulls_last(), x!(desc(b).nulls_first())));
    let Op::Sort { keys, .. } = last() else { panic!() };
    assert_eq!(
        keys.iter().map(|k| (k.descending, k.nulls_last)).collect::<Vec<_>>(),
        [(true, Some(true)), (true, Some(false))]
    );
}

#[test]
fn joins_take_names_and_pairs() {
    let _session = session();
    let (f, g) = (frame(), frame());
    f.left_join(&g, on("dest", "faa").suffix("_dest"));
    let Op::Join { how, left_on, right_on, suffix, .. } = last() else { panic!() };
    assert_eq!((how, suffix.as_str()), (JoinKind::Left, "_dest"));
    assert_eq!((left_on, right_on), (vec![Tree::column("dest")], vec![Tree::column("faa")]));
    f.anti_join(&g, ["a", "b"]);
    let Op::Join { how, left_on, right_on, .. } = last() else { panic!() };
    assert_eq!((how, left_on.len()), (JoinKind::Anti, 2));
    assert_eq!(left_on, right_on);
    let error = attempt(|| f.inner_join(&g, on(["a", "b"], "c"))).unwrap_err();
    assert_eq!(error.code, "join-keys");
}

#[test]
fn as_of_joins_take_a_key_and_say_the_rest() {
    let _session = session();
    let (f, g) = (frame(), frame());
    f.join_asof(&g, "time");
    let Op::JoinAsof { with, .. } = last() else { panic!() };
    assert_eq!((with.left_on, with.right_on), (Tree::column("time"), Tree::column("time")));
    assert_eq!(
        (with.strategy, with.exact, with.tolerance, with.left_by.len()),
        (AsofStrategy::Backward, true, None, 0)
    );
    let how = asof(on("time", "at").suffix("_q")).by(on(["a", "b"], ["c", "d"])).nearest().tolerance("2s");
    f.join_asof(&g, how.allow_exact_matches(false));
    let Op::JoinAsof { with, .. } = last() else { panic!() };
    assert_eq!((with.right_on, with.suffix.as_str()), (Tree::column("at"), "_q"));
    assert_eq!(with.right_by, [Tree::column("c"), Tree::column("d")]);
    assert_eq!((with.strategy, with.exact), (AsofStrategy::Nearest, false));
    assert_eq!(with.tolerance, Some(Value::from("2s")));
    let error = attempt(|| f.join_asof(&g, ["a", "b"])).unwrap_err();
    assert_eq!(error.code, "join-keys");
    assert!(error.help[0].contains(".by("), "{error:?}");
}

#[test]
fn a_refused_step_raises_at_its_place() {
    let _session = session();
    let f = frame();
    let error = attempt(|| f.drop("missing")).unwrap_err();
    assert_eq!(error.code, "unknown-column");
    assert_eq!(error.labels[0].span.length, 4);
    let error = attempt(|| f.filter(x!(name = "late"))).unwrap_err();
    assert_eq!(error.help, ["a comparison is `==`"]);
    // A panic is not a raised diagnostic.
    assert!(std::panic::catch_unwind(|| attempt(|| panic!("other"))).is_err());
}

#[test]
fn values_come_back_typed() {
    let _session = session();
    let f = frame();
    assert_eq!(f.shape(), (3, 4));
    let a = f.column::<i64>("a");
    assert_eq!(a, [1, 2, 3]);
    assert_eq!(a.iter().sum::<i64>(), 6);
    assert_eq!(f.column::<f64>("a")[2], 3.0);
    assert_eq!(f.column::<Option<f64>>("b"), [Some(0.5), None, Some(2.5)]);
    assert_eq!(f.column::<String>("name").to_vec(), ["x", "y", "z"]);
    // 2013-01-01 is day 15 706 after 1970-01-01.
    assert_eq!(f.column::<NaiveDate>("day")[2], NaiveDate::from_ymd_opt(2013, 1, 1).unwrap());
    let error = attempt(|| f.column::<f64>("b")).unwrap_err();
    assert!(error.message.contains("1 null among 3 values") && error.help[0].contains("Option<f64>"), "{error}");
    let error = attempt(|| f.column::<i64>("name")).unwrap_err();
    assert!(error.message.contains("is of type str, and is read as i64"), "{error}");
    let mean: f64 = f.value(x!(a.mean()));
    assert_eq!(mean, 1.5);
    let matrix = f.to_matrix::<f32>(["a"]);
    assert_eq!((matrix.shape(), matrix.as_slice()), ((3, 1), &[1.0, 2.0, 3.0][..]));
    assert_eq!(attempt(|| f.to_matrix::<f32>(["a", "b"])).unwrap_err().code, "nulls");
    assert_eq!(f.collect().num_rows(), 3);
}

#[test]
fn columns_become_buffers() {
    let _session = session();
    let f = frame();
    assert_eq!(f.buffer::<i64>("a"), [1, 2, 3]);
    assert_eq!(f.buffer::<f64>("a"), [1.0, 2.0, 3.0]);
    // The same errors as those of a column, at a separate place.
    let of = |column: Diagnostic, buffer: Diagnostic| {
        assert_eq!((&buffer.code, &buffer.message, &buffer.help), (&column.code, &column.message, &column.help));
        assert_eq!((column.labels[0].span.length, buffer.labels[0].span.length), (6, 6));
        buffer
    };
    let line = line!() + 1;
    let nulls = of(attempt(|| f.column::<f64>("b")).unwrap_err(), attempt(|| f.buffer::<f64>("b")).unwrap_err());
    assert_eq!((nulls.code.as_str(), nulls.labels[0].span.line), ("nulls", line));
    let text = of(attempt(|| f.column::<i64>("name")).unwrap_err(), attempt(|| f.buffer::<i64>("name")).unwrap_err());
    assert_eq!(text.code, "column-type");
}

#[derive(onrush::serde::Deserialize, Debug, PartialEq)]
#[serde(crate = "onrush::serde")]
struct Trip {
    a: u8,
    b: Option<f64>,
    name: String,
}

#[test]
fn rows_become_structs_and_tuples() {
    let _session = session();
    let f = frame();
    let trips: Vec<Trip> = f.rows();
    assert_eq!(trips[1], Trip { a: 2, b: None, name: "y".to_string() });
    let tuples: Vec<(i64, Option<f64>, String, NaiveDate)> = f.rows();
    assert_eq!(tuples[0].3.to_string(), "1970-01-01");
    let error = attempt(|| f.rows::<(i64, f64)>()).unwrap_err();
    assert!(error.message.contains("a tuple of 2 cannot take 4 columns"), "{error}");
    let error = attempt(|| f.rows::<(i64, f64, String, NaiveDate)>()).unwrap_err();
    assert!(error.message.starts_with("row 1, column `b` (f64): found a null"), "{error}");
    let maps: Vec<HashMap<String, onrush::serde::de::IgnoredAny>> = f.rows();
    assert_eq!(maps[0].len(), 4);
}

#[test]
fn frames_from_rust_values() {
    let _session = session();
    let values = vec![1.5, 2.5, 3.5];
    frame! { a: [1, None, 3], "b c": values, d: ["x", "y", "z"] };
    let Op::FromArrow { schema, bytes } = last() else { panic!() };
    assert_eq!(
        schema.fields.iter().map(|f| (f.name.as_str(), f.dtype.to_string())).collect::<Vec<_>>(),
        [("a", "i32".to_string()), ("b c", "f64".to_string()), ("d", "str".to_string())]
    );
    let bytes = bytes.unwrap();
    let mut reader = onrush::arrow::ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert_eq!(batch.column(0).null_count(), 1);
    assert_eq!(values.len(), 3);
    frame! { a: [None::<i64>, None], b: [2, Option::<u8>::None], c: [Some::<f32>(1.0), Option::None] };
    let Op::FromArrow { schema, .. } = last() else { panic!() };
    let dtypes: Vec<String> = schema.fields.iter().map(|f| f.dtype.to_string()).collect();
    assert_eq!(dtypes, ["i64", "u8", "f32"]);
    let error = attempt(|| frame! { a: [1, 2], b: [1] }).unwrap_err();
    assert!(error.message.contains("`b` has 1 values, and `a` has 2"), "{error}");
}

#[test]
fn sql_sees_variables() {
    let _session = session();
    let flights = frame();
    onrush::__bind!("flights", &flights);
    onrush::__bind!("number", &3);
    {
        let gone = frame();
        onrush::__bind!("gone", &gone);
    }
    sql("select 1");
    let Op::Sql { tables, .. } = last() else { panic!() };
    assert_eq!(tables.len(), 2);
    assert_eq!(tables[0].0, "flights");
    assert_eq!(tables[1], ("old".to_string(), FrameId(900)));
    onrush::bindings::clear();
}

#[test]
fn everything_can_be_shown() {
    use onrush::display::Show;
    let _session = session();
    assert_eq!(().content(), None);
    assert_eq!(vec![1, 2].content(), Some(Content::Text("[1, 2]".to_string())));
    let Some(Content::Table(table)) = (0..30).collect::<Vec<i32>>().content() else { panic!() };
    assert_eq!((table.total_rows, table.head.len(), table.tail.len()), (30, 10, 5));
    let Some(Content::Table(table)) = fake::table().content() else { panic!() };
    assert_eq!((table.columns[1].nulls, table.head.len(), table.tail.len()), (Some(1), 3, 0));
    assert!(matches!(bar(["a", "b"], [1, 2]).content(), Some(Content::Plot(_))));
    // Types without a separate form: by Debug, by Display, by neither; and evcxr's convention.
    struct Plain;
    struct Displayed;
    impl std::fmt::Display for Displayed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("displayed")
        }
    }
    struct Evcxr(std::cell::Cell<u32>);
    impl Evcxr {
        fn evcxr_display(&self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let evcxr = Evcxr(std::cell::Cell::new(0));
    onrush::__show!(evcxr, true);
    assert_eq!(evcxr.0.get(), 1);
    onrush::__show!(Plain, true);
    onrush::__show!(Displayed, true);
    onrush::__show!(1 + 1, true);
    onrush::__show!("text", true);
    onrush::__show!(Some(vec![1]), true);
    show(&frame().schema().names().count());
}

#[test]
fn an_option_of_a_plot_says_where_it_works() {
    let _session = session();
    let f = frame();
    let error = attempt(|| f.plot().hist("a").every("1d")).unwrap_err();
    assert_eq!(error.message, "`hist` does not take `every`");
    assert_eq!(error.help, ["leave it out, or say it after\n`bar`, `line`, `step` or `area`"]);
    let error = attempt(|| f.plot().scatter("a", "b").every("1d")).unwrap_err();
    assert_eq!(error.message, "`scatter` does not take `every`");
    let error = attempt(|| f.plot().box_plot("name", "b").color("name")).unwrap_err();
    assert_eq!(error.message, "`box_plot` does not take `color`");
    let error = attempt(|| f.plot().line("a", "b").bandwidth(2.0)).unwrap_err();
    assert_eq!(error.help, ["leave it out, or say it after\n`density` or `violin`"]);
    let error = attempt(|| show(&f.plot())).unwrap_err();
    // Next to `  = help: ` in a terminal of 80 columns, as every line here.
    assert!(error.help[0].lines().all(|line| line.len() <= 70), "{error}");
    attempt(|| f.plot().bar("a", len()).color("name").every("1d").title("t").size(300, 200).hline(1.0, "one")).unwrap();
}

#[test]
fn panels_keep_what_is_their_own() {
    let own = plot([1.0, 2.0], [3.0, 4.0]).x_label("s").title("gone").hline(3.5, "half");
    let Some(Content::Plot(made)) = panels([("a", own.clone()), ("b", hist([1.0, 2.0]))]).title("both").content()
    else {
        panic!("no plot")
    };
    assert_eq!((made.style.title.as_deref(), made.style.x_label, made.style.rules.len()), (Some("both"), None, 0));
    assert_eq!((made.facets[0].x_label.as_deref(), made.facets[0].rules[0].label.as_str()), (Some("s"), "half"));
    assert_eq!((made.facets[1].x_label.as_deref(), made.facets[1].rules.len()), (None, 0));
    let error = attempt(|| panels([("a", own.clone()), ("b", own.clone().log_y())])).unwrap_err();
    assert_eq!(error.message, "`log_y` is not the same in the panels `a` and `b`");
    let Some(Content::Plot(made)) = panels([("a", own.clone().log_y()), ("b", own.log_y())]).content() else {
        panic!("no plot")
    };
    assert!(made.style.log_y);
}

#[test]
fn maps_and_pairs_are_lists_of_values() {
    let _session = session();
    let f = frame();
    let old_and_new = |expr: onrush::Expr| {
        f.select(expr);
        let Op::Select { mut exprs, .. } = last() else { panic!() };
        let ExprKind::Call { mut args, .. } = exprs.remove(0).into_kind() else { panic!() };
        let ExprKind::Literal(value) = args.remove(1).value.into_kind() else { panic!() };
        value
    };
    let list = |values: Vec<Value>| Value::List(values);
    let entries = |old: Value, new: Value| Value::Struct(vec![("old".to_string(), old), ("new".to_string(), new)]);
    let map = HashMap::from([("b", 2), ("a", 1)]);
    let expected = entries(list(vec!["a".into(), "b".into()]), list(vec![1.into(), 2.into()]));
    assert_eq!(old_and_new(x!(code.replace({ map }))), expected);
    let pairs = vec![("a", Some(1.5)), ("b", None)];
    let expected = entries(list(vec!["a".into(), "b".into()]), list(vec![1.5.into(), Value::Null]));
    assert_eq!(old_and_new(x!(code.replace({ pairs }))), expected);
    let error = attempt(|| lit(HashMap::from([("a", x!(b))]))).unwrap_err();
    assert_eq!(error.message, "a map holds fixed values, and this is an expression over columns");
}

#[test]
fn selectors_leave_columns_out() {
    let _session = session();
    let f = frame();
    let sent = |expr: onrush::Expr| {
        f.select(expr);
        let Op::Select { mut exprs, .. } = last() else { panic!() };
        exprs.remove(0).into_kind()
    };
    let arguments = |kind| match kind {
        ExprKind::Call { args, .. } => args.into_iter().map(|arg| arg.value.into_kind()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(arguments(sent(strings().exclude("a"))), [ExprKind::Column("a".to_string())]);
    assert_eq!(arguments(sent(x!(matching("^x").exclude(a))))[1], ExprKind::Column("a".to_string()));
    assert_eq!(sent(all().exclude(["a"])), ExprKind::All { except: vec!["a".to_string()] });
}

#[test]
fn steps_made_of_others_are_sent_in_order() {
    let _session = session();
    let f = frame();
    f.top_k(2, "a");
    let Op::Slice { offset: 0, length: Some(2), .. } = last() else { panic!() };
    assert_eq!(last_place().length, 5);
    // Polars' `top_k` and `bottom_k` are the ends of a sort; `desc` says the same of the largest.
    let keys = |descending: &[bool]| {
        let steps = fake::STEPS.lock().unwrap();
        let (Op::Sort { keys, .. }, _) = &steps[steps.len() - 2] else { panic!() };
        assert!(keys.iter().all(|key| key.nulls_last == Some(true)));
        assert_eq!(keys.iter().map(|key| key.descending).collect::<Vec<_>>(), descending);
    };
    keys(&[true]);
    f.top_k(2, desc("a"));
    keys(&[true]);
    f.bottom_k(2, desc("a"));
    keys(&[false]);
    f.bottom_k(2, ["a", "b"]);
    keys(&[false, false]);
    f.top_k(2, (desc("a"), asc("b")));
    keys(&[true, false]);
    f.bottom_k(2, (desc("a"), asc("b")));
    keys(&[false, true]);
    // Selectors stand for columns: the session is asked for their names.
    f.drop(x!(numeric()));
    let Op::Drop { columns, .. } = last() else { panic!() };
    assert_eq!(columns, f.columns());
    let error = attempt(|| f.drop(x!(a + 1))).unwrap_err();
    assert_eq!((error.code.as_str(), error.labels.len()), ("column-name", 1));
    f.pivot(["a", "b"], "c", "d", "sum");
    let Op::Pivot { on: columns, .. } = last() else { panic!() };
    assert_eq!(columns, ["a", "b"]);
    f.group_by_dynamic("time", "1h").and_by("shop").agg(x!(n = len()));
    let Op::GroupBy { keys, .. } = last() else { panic!() };
    assert_eq!(keys[0], Tree::column("shop"));
    let ExprKind::Alias(_, name) = &keys[1].kind else { panic!() };
    assert_eq!(name, "time");
    f.rename_with(|name| name.to_uppercase());
    let Op::Rename { names, .. } = last() else { panic!() };
    assert!(names.iter().all(|(old, new)| *new == old.to_uppercase()));
    assert_eq!(
        attempt(|| on("a", "b").validate("1:2")).err().unwrap().message,
        "`1:2` is none of `1:1`, `1:m`, `m:1`, `m:m`"
    );
    assert_eq!(attempt(|| f.sample(1_000_000)).unwrap_err().code, "sample-size");
}
