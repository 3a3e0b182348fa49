//! Filters of a dashboard by values, as `d.set("n", 18..143)` makes them: the rows are those of a plain loop over the
//! values, in the counts of the dashboard and in its selection.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Float32Array, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray, UInt8Array,
};
use onrush_explore::Dashboards;
use onrush_frame::TaskHandle;
use onrush_wire::dashboard::{
    Dashboard, DashboardRequest, Filter, KeptSlots, SlotQuery, ViewData, ViewKind, ViewRequest,
};
use onrush_wire::plan::Op;
use onrush_wire::plot::{LayerRequest, Theme};
use onrush_wire::visual::{VisualAsk, VisualHead};
use onrush_wire::{Diagnostic, Expr, FrameId, Value};

use super::support::*;

const ROWS: i64 = 2_000;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// 2013-01-01.
const START: i64 = 15_706;

/// The values of a row, as numbers that are compared in the loop: times in microseconds, dates in days.
struct Row {
    n: Option<i64>,
    v: Option<f64>,
    w: Option<f32>,
    u: u8,
    t: i64,
    d: Option<i64>,
}

fn rows() -> Vec<Row> {
    let row = |i: i64| Row {
        n: (i % 17 != 0).then(|| i * 7_919 % 400 - 60),
        v: match i % 50 {
            0 => None,
            1 => Some(f64::NAN),
            2 => Some(f64::INFINITY),
            _ => Some((i * 31 % 1_000) as f64 / 10.0),
        },
        w: (i % 9 > 0).then(|| (i * 13 % 90) as f32 / 10.0),
        u: (i * 3 % 250) as u8,
        t: START * DAY + i * 3_601_000_000,
        d: (i % 20 > 0).then(|| START + i % 120),
    };
    (0..ROWS).map(row).collect()
}

struct ShownDashboard {
    bench: TestEngine,
    dashboards: Dashboards,
    request: DashboardRequest,
}

impl ShownDashboard {
    fn of(bench: TestEngine) -> ShownDashboard {
        let all = rows();
        let bar: Vec<i64> = (0..ROWS).map(|i| i * i % 90).collect();
        let kind: Vec<&str> = (0..ROWS).map(|i| if i % 3 == 0 { "a" } else { "b" }).collect();
        let frame = bench.frame(vec![
            ("n", Arc::new(all.iter().map(|row| row.n).collect::<Int64Array>()) as ArrayRef),
            ("v", Arc::new(all.iter().map(|row| row.v).collect::<Float64Array>())),
            ("w", Arc::new(all.iter().map(|row| row.w).collect::<Float32Array>())),
            ("u", Arc::new(all.iter().map(|row| Some(row.u)).collect::<UInt8Array>())),
            ("t", Arc::new(all.iter().map(|row| Some(row.t)).collect::<TimestampMicrosecondArray>())),
            ("d", Arc::new(all.iter().map(|row| row.d.map(|day| day as i32)).collect::<Date32Array>())),
            ("bar", Arc::new(Int64Array::from(bar))),
            ("kind", Arc::new(StringArray::from(kind))),
        ]);
        let view = |kind, x: &str| ViewRequest {
            kind,
            layer: LayerRequest { x: Some(Expr::column(x)), ..LayerRequest::default() },
            columns: Vec::new(),
            range: None,
            title: None,
            wide: false,
            tall: false,
        };
        let mut views: Vec<ViewRequest> =
            ["n", "v", "w", "u", "t", "d"].into_iter().map(|x| view(ViewKind::Histogram, x)).collect();
        let mut bars = view(ViewKind::Bar, "bar");
        // Fewer bars than values: the others have none.
        bars.layer.bins = Some(5);
        views.extend([bars, view(ViewKind::Bar, "kind")]);
        let request = DashboardRequest { frame, views, title: None, columns: None, theme: Theme::Auto };
        ShownDashboard { bench, dashboards: Dashboards::default(), request }
    }

    fn ask(&self, ask: VisualAsk) -> Result<VisualHead, Diagnostic> {
        self.dashboards.answer(&self.bench.engine, &self.request, &ask, &TaskHandle::new()).map(|answer| answer.0)
    }

    fn set(&self, view: &str, wanted: SlotQuery) -> Result<Filter, Diagnostic> {
        match self.ask(VisualAsk::Slots { view: view.to_string(), wanted })? {
            VisualHead::Slots { view, kept } => Ok(Filter { view, kept }),
            other => panic!("{other:?}"),
        }
    }

    fn drawn(&self, filters: &[Filter]) -> Dashboard {
        match self.ask(VisualAsk::Dashboard { filters: filters.to_vec(), moving: false }).unwrap() {
            VisualHead::Dashboard(data) => *data,
            other => panic!("{other:?}"),
        }
    }

    /// The rows of the selection.
    fn selection(&self, filters: &[Filter]) -> u64 {
        let VisualHead::Condition { condition: Some(predicate), .. } =
            self.ask(VisualAsk::Condition { filters: filters.to_vec() }).unwrap()
        else {
            panic!("no condition")
        };
        let id: FrameId = self.bench.step(Op::Filter { input: self.request.frame, predicate });
        self.bench.engine.row_count(id, &TaskHandle::new()).unwrap()
    }

    /// That a filter has the rows that the loop finds, and the view of `kind` those of each value.
    fn check(&self, view: &str, wanted: &SlotQuery, passes: &dyn Fn(&Row) -> bool) -> Filter {
        let filter = self.set(view, wanted.clone()).unwrap();
        let kept: Vec<i64> = (0..).zip(rows()).filter(|(_, row)| passes(row)).map(|(number, _)| number).collect();
        let drawn = self.drawn(std::slice::from_ref(&filter));
        assert_eq!(drawn.selected, kept.len() as u64, "{view} {wanted:?}");
        assert_eq!(self.selection(std::slice::from_ref(&filter)), kept.len() as u64, "{view} {wanted:?}");
        let ViewData::Slots { x, measure } = &drawn.views[7].data else { panic!("no bars") };
        let a = kept.iter().filter(|number| *number % 3 == 0).count() as f64;
        let place = x.slots.iter().position(|slot| slot.name == "a").unwrap();
        assert_eq!(measure.shown[place], a, "{view} {wanted:?}");
        filter
    }
}

fn range(low: Option<Value>, high: Option<Value>, is_closed: bool) -> SlotQuery {
    SlotQuery::Range { low, high, is_closed }
}

fn int(value: i64) -> Option<Value> {
    Some(Value::Int(value))
}

fn text(value: &str) -> Option<Value> {
    Some(Value::from(value))
}

fn check_all(bench: TestEngine) {
    let shown = ShownDashboard::of(bench);
    for (low, high) in [(18, 143), (100, 163), (-17, 100), (-59, -58), (20, 60), (0, 1), (-300, 7)] {
        shown.check("n", &range(int(low), int(high), false), &|row| row.n.is_some_and(|n| (low..high).contains(&n)));
        shown.check("n", &range(int(low), int(high), true), &|row| row.n.is_some_and(|n| (low..=high).contains(&n)));
        let part = low as f64 + 0.5;
        let from_part = range(Some(Value::Float(part)), int(high), true);
        shown.check("n", &from_part, &|row| row.n.is_some_and(|n| n as f64 >= part && n <= high));
        let within = |v: f64| v >= low as f64 && v < high as f64;
        if high > 0 {
            shown.check("v", &range(int(low), int(high), false), &|row| row.v.is_some_and(within));
        }
    }
    shown.check("n", &range(int(123), None, true), &|row| row.n.is_some_and(|n| n >= 123));
    shown.check("n", &range(None, int(-41), true), &|row| row.n.is_some_and(|n| n <= -41));
    // An infinite value is in a range without an end, NaN is in none.
    shown.check("v", &range(Some(Value::Float(33.3)), None, true), &|row| row.v.is_some_and(|v| v >= 33.3));
    shown.check("w", &range(Some(Value::Float(2.25)), Some(Value::Float(7.75)), false), &|row| {
        row.w.is_some_and(|w| (2.25..7.75).contains(&f64::from(w)))
    });
    shown.check("u", &range(int(-5), int(13), true), &|row| row.u <= 13);
    shown.check("n", &SlotQuery::Values(vec![Value::Int(3), Value::Int(77)]), &|row| matches!(row.n, Some(3 | 77)));
    // Values without a bar of their own are selected, too.
    let bar = |i: i64| i * i % 90;
    let filter = shown.set("bar", range(int(10), int(40), true)).unwrap();
    let expected = (0..ROWS).filter(|i| (10..=40).contains(&bar(*i))).count() as u64;
    assert_eq!((shown.drawn(std::slice::from_ref(&filter)).selected, shown.selection(&[filter])), (expected, expected));
}

#[test]
fn bounds_in_code_are_exact() {
    check_all(TestEngine::on_cpu());
}

#[test]
fn bounds_in_code_are_exact_on_a_device() {
    check_all(TestEngine::default());
}

/// 2013-01-15 is day 15,720 after 1970-01-01, and 2013-02-10 day 15,746.
#[test]
fn times_and_dates_are_exact() {
    let shown = ShownDashboard::of(TestEngine::on_cpu());
    let (low, high) = (15_720, 15_746);
    let days = range(text("2013-01-15"), text("2013-02-10"), false);
    shown.check("t", &days, &|row| (low * DAY..high * DAY).contains(&row.t));
    shown.check("d", &days, &|row| row.d.is_some_and(|d| (low..high).contains(&d)));
    let closed = range(text("2013-01-15"), text("2013-02-10"), true);
    shown.check("d", &closed, &|row| row.d.is_some_and(|d| (low..=high).contains(&d)));
    let noon = range(text("2013-01-15 12:30:00"), None, true);
    shown.check("t", &noon, &|row| row.t >= low * DAY + 45_000 * 1_000_000);
    // A day in a list is all of its times.
    let one = SlotQuery::Values(vec![Value::from("2013-01-15")]);
    shown.check("t", &one, &|row| row.t.div_euclid(DAY) == low);
    shown.check("d", &one, &|row| row.d == Some(low));
}

/// Whole bins are slots, which a user can move; a part of a bin is not. By hand.
#[test]
fn only_parts_of_bins_are_values() {
    let shown = ShownDashboard::of(TestEngine::on_cpu());
    let open = shown.drawn(&[]);
    let ViewData::Slots { x, .. } = &open.views[0].data else { panic!("no bins") };
    let place = |name: &str| x.slots.iter().position(|slot| slot.name == name).unwrap() as u32;
    // From -60 to 339 in forty bins of ten.
    let (from, to) = (place("20 to 29"), place("50 to 59") + 1);
    let whole = shown.set("n", range(int(20), int(60), false)).unwrap();
    assert_eq!(whole.kept, KeptSlots::Slots(vec![(from, to)]));
    assert_eq!(shown.set("n", range(int(20), int(59), true)).unwrap().kept, whole.kept);
    let part = range(int(25), int(60), false);
    let KeptSlots::Exact { wanted, marks } = shown.set("n", part.clone()).unwrap().kept else { panic!("not exact") };
    assert_eq!((wanted, marks), (part, vec![(f64::from(from) + 0.5, f64::from(to))]));
    let nothing = shown.set("n", range(int(60), int(20), false)).unwrap_err();
    assert_eq!(nothing.message, "nothing of `n` lies there");
}

#[test]
fn filters_that_do_not_fit_are_refused_in_words() {
    let shown = ShownDashboard::of(TestEngine::on_cpu());
    let refused = |filters: Vec<Filter>| {
        let told = shown.ask(VisualAsk::Dashboard { filters: filters.clone(), moving: false }).unwrap_err().message;
        assert_eq!(shown.ask(VisualAsk::Condition { filters }).unwrap_err().message, told);
        told
    };
    let of = |view, kept| Filter { view, kept };
    let told = refused(vec![of(0, KeptSlots::Slots(vec![(5, 2)]))]);
    assert!(told.starts_with("the filter does not fit view 0 (`n`): its ranges must lie between 0 and "), "{told}");
    let told = refused(vec![of(1, KeptSlots::Lasso(vec![(3.5, 1.0)]))]);
    assert_eq!(told, "the filter does not fit view 1 (`v`): a histogram is not filtered by a polygon");
    assert!(
        refused(vec![of(9, KeptSlots::Slots(vec![(0, 1)]))]).starts_with("there is no view 9: the dashboard has 8")
    );
    let twice = vec![of(0, KeptSlots::Slots(vec![(0, 1)])), of(0, KeptSlots::Slots(vec![(1, 2)]))];
    assert_eq!(refused(twice), "the filter does not fit view 0 (`n`): it has a filter already");
}
