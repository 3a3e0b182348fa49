//! Dashboards: the counts of every view under random filters are those of a plain loop over the rows, the condition of
//! the filters selects as many rows as the dashboard says, and the sums of a brush are those of the views.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray,
};
use onrush_engine::{EngineConfig, Policy};
use onrush_explore::Dashboards;
use onrush_frame::TaskHandle;
use onrush_wire::dashboard::{
    Dashboard, DashboardRequest, DashboardView, Filter, KeptSlots, SlotKind, SlotQuery, ViewData, ViewKind, ViewRequest,
};
use onrush_wire::plan::Op;
use onrush_wire::plot::{Layer, LayerRequest, Pixels, Theme};
use onrush_wire::visual::{VisualAsk, VisualHead, Window};
use onrush_wire::{Diagnostic, Expr, FrameId, Value};

use super::support::*;

const ROWS: usize = 3_000;

/// Numbers by a linear congruential generator (Knuth).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 31) as f64
    }
}

fn view(kind: ViewKind, x: &str) -> ViewRequest {
    ViewRequest {
        kind,
        layer: LayerRequest { x: Some(Expr::column(x)), ..LayerRequest::default() },
        columns: Vec::new(),
        range: None,
        title: None,
        wide: false,
        tall: false,
    }
}

fn request(frame: FrameId, views: Vec<ViewRequest>) -> DashboardRequest {
    DashboardRequest { frame, views, title: None, columns: None, theme: Theme::Auto }
}

/// Numbers with nulls, NaN, infinities and long tails, integers, times, dates, strings, booleans.
fn sample(bench: &TestEngine) -> FrameId {
    let mut random = Random(7);
    let fare: Vec<Option<f64>> = (0..ROWS)
        .map(|row| match random.below(60) {
            0 => None,
            1 => Some(f64::NAN),
            2 if row % 3 == 0 => Some(f64::INFINITY),
            2 if row % 3 == 1 => Some(f64::NEG_INFINITY),
            3 => Some(1e6 * random.unit()),
            _ => Some(60.0 * random.unit()),
        })
        .collect();
    let tip: Vec<Option<f32>> =
        (0..ROWS).map(|_| (random.below(9) > 0).then(|| (random.unit() * 9.0) as f32 + 0.1)).collect();
    let hour: Vec<i64> = (0..ROWS).map(|_| random.below(24) as i64).collect();
    let pickup: Vec<i64> = (0..ROWS).map(|_| 1_357_000_000_000_000 + random.below(40_000_000_000_000) as i64).collect();
    let day: Vec<Option<i32>> =
        (0..ROWS).map(|_| (random.below(20) > 0).then(|| 15_000 + random.below(300) as i32)).collect();
    let names = ["card", "cash", "", "dispute", "no charge"];
    let payment: Vec<Option<&str>> =
        (0..ROWS).map(|_| names.get((random.unit() * random.unit() * 6.0) as usize).copied()).collect();
    let many: Vec<String> =
        (0..ROWS).map(|_| format!("zone {}", (random.unit() * random.unit() * 70.0) as u64)).collect();
    let flag: Vec<Option<bool>> =
        (0..ROWS).map(|_| Some(random.below(3) == 0).filter(|_| random.below(11) > 0)).collect();
    let (x, y): (Vec<f64>, Vec<Option<f64>>) =
        (0..ROWS).map(|_| (random.unit() * 10.0, Some(random.unit() * 5.0).filter(|_| random.below(30) > 0))).unzip();
    bench.frame(vec![
        ("fare", Arc::new(Float64Array::from(fare)) as ArrayRef),
        ("tip", Arc::new(Float32Array::from(tip))),
        ("hour", Arc::new(Int64Array::from(hour))),
        ("pickup", Arc::new(TimestampMicrosecondArray::from(pickup))),
        ("day", Arc::new(Date32Array::from(day))),
        ("payment", Arc::new(StringArray::from(payment))),
        ("zone", Arc::new(StringArray::from(many))),
        ("flag", Arc::new(BooleanArray::from(flag))),
        ("x", Arc::new(Float64Array::from(x))),
        ("y", Arc::new(Float64Array::from(y))),
    ])
}

fn all_views() -> Vec<ViewRequest> {
    let with_y = |mut one: ViewRequest, y: &str| {
        one.layer.y = Some(Expr::column(y));
        one
    };
    let measured = |one: ViewRequest, y: &str, function: &str| {
        let mut one = with_y(one, y);
        one.layer.aggregate = Some(function.to_string());
        one
    };
    vec![
        view(ViewKind::Histogram, "fare"),
        view(ViewKind::Histogram, "tip"),
        view(ViewKind::Bar, "hour"),
        view(ViewKind::Histogram, "pickup"),
        view(ViewKind::Histogram, "day"),
        view(ViewKind::Bar, "payment"),
        measured(view(ViewKind::Bar, "zone"), "tip", "sum"),
        view(ViewKind::Bar, "flag"),
        with_y(view(ViewKind::HeatMap, "hour"), "tip"),
        measured(view(ViewKind::Line, "pickup"), "tip", "mean"),
        with_y(view(ViewKind::Raster, "x"), "y"),
    ]
}

struct ShownDashboard<'a> {
    bench: &'a TestEngine,
    dashboards: Dashboards,
    request: DashboardRequest,
}

impl<'a> ShownDashboard<'a> {
    fn of(bench: &'a TestEngine, request: DashboardRequest) -> Self {
        ShownDashboard { bench, dashboards: Dashboards::default(), request }
    }

    fn ask(&self, ask: &VisualAsk) -> Result<(VisualHead, Vec<(String, Vec<u8>)>), Diagnostic> {
        let (head, parts) = self.dashboards.answer(&self.bench.engine, &self.request, ask, &TaskHandle::new())?;
        Ok((head, parts.into_iter().map(|(name, _, bytes)| (name, bytes)).collect()))
    }

    fn views(&self, filters: &[Filter]) -> Dashboard {
        match self.ask(&VisualAsk::Dashboard { filters: filters.to_vec(), moving: false }).unwrap().0 {
            VisualHead::Dashboard(data) => *data,
            other => panic!("{other:?}"),
        }
    }

    /// The number of rows that the condition of the filters leaves.
    fn selected(&self, filters: &[Filter]) -> (u64, String) {
        let (condition, code) = match self.ask(&VisualAsk::Condition { filters: filters.to_vec() }).unwrap().0 {
            VisualHead::Condition { condition, code } => (condition, code),
            other => panic!("{other:?}"),
        };
        let Some(predicate) = condition else { return (ROWS as u64, code) };
        let id = self.bench.step(Op::Filter { input: self.request.frame, predicate });
        (self.bench.engine.row_count(id, &TaskHandle::new()).unwrap(), code)
    }
}

fn slots(data: &ViewData) -> (usize, &[f64], &[f64]) {
    match data {
        ViewData::Slots { x, measure } => (x.slots.len(), &measure.all, &measure.shown),
        ViewData::Cells { x, y, measure } => (x.slots.len() * y.slots.len(), &measure.all, &measure.shown),
        other => panic!("{other:?}"),
    }
}

fn random_filter(random: &mut Random, at: usize, view: &DashboardView) -> Option<Filter> {
    let mut range = |count: usize| {
        let from = random.below(count as u64) as u32;
        (from, from + 1 + random.below(u64::from(count as u32 - from)) as u32)
    };
    let kept = match &view.data {
        ViewData::Slots { x, .. } => {
            let (a, b) = (range(x.slots.len()), range(x.slots.len()));
            KeptSlots::Slots(if a.1 < b.0 { vec![a, b] } else { vec![a] })
        }
        ViewData::Cells { x, y, .. } => {
            let (a, b) = (range(x.slots.len()), range(y.slots.len()));
            KeptSlots::Cells([a.0, a.1, b.0, b.1])
        }
        ViewData::Raster(_) if random.below(2) == 0 => {
            KeptSlots::Box(Window { x0: random.unit() * 5.0, y0: random.unit(), x1: 6.0 + random.unit(), y1: 3.0 })
        }
        ViewData::Raster(_) => KeptSlots::Lasso((0..7).map(|_| (random.unit() * 10.0, random.unit() * 5.0)).collect()),
        _ => return None,
    };
    Some(Filter { view: at as u32, kept })
}

/// The views that count rows, which a device can do.
fn counting_views() -> Vec<ViewRequest> {
    let is_counting = |view: &ViewRequest| view.layer.aggregate.is_none();
    all_views().into_iter().filter(is_counting).collect()
}

/// A device that has all passes, of few rows too.
fn device_for_all() -> TestEngine {
    let bench = TestEngine::of(EngineConfig { policy: Some(Policy::Always), ..on_device() });
    assert!(bench.engine.device_slots(&[], &[], 1).unwrap().is_some());
    bench
}

/// The condition of the filters is another way to the same rows: through the engine, by the values.
fn filters_select_what_is_counted(bench: &TestEngine, wanted: Vec<ViewRequest>) {
    let frame = sample(bench);
    let is_measured: Vec<bool> = wanted.iter().map(|view| view.layer.aggregate.is_some()).collect();
    let shown = ShownDashboard::of(bench, request(frame, wanted));
    let open = shown.views(&[]);
    assert_eq!((open.rows, open.selected), (ROWS as u64, ROWS as u64));
    for (at, view) in open.views.iter().enumerate().filter(|(_, view)| !matches!(view.data, ViewData::Raster(_))) {
        let (count, all, now) = slots(&view.data);
        assert_eq!((all.len(), now.len()), (count, count), "{}", view.title);
        assert_eq!(all, now);
        if !is_measured[at] {
            assert_eq!(all.iter().sum::<f64>(), ROWS as f64, "{} counts each row once", view.title);
        }
    }
    let mut random = Random(11);
    for round in 0..60 {
        let filters: Vec<Filter> = open
            .views
            .iter()
            .enumerate()
            .filter_map(|(at, view)| {
                let wanted = random.below(11) < 3 || round % 11 == at as u64;
                if wanted { random_filter(&mut random, at, view) } else { None }
            })
            .collect();
        let data = shown.views(&filters);
        let (selected, code) = shown.selected(&filters);
        assert_eq!(data.selected, selected, "{filters:?}: {code}");
        // A view counts the rows that pass the filters of the others.
        for (at, view) in data.views.iter().enumerate() {
            if is_measured[at] {
                continue;
            }
            let others: Vec<Filter> = filters.iter().filter(|filter| filter.view as usize != at).cloned().collect();
            if let ViewData::Raster(plot) = &view.data {
                let Layer::Raster(raster) = &plot.layers[0] else { panic!() };
                let Pixels::Counts(counts) = &raster.pixels else { panic!() };
                let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
                // Rows without a position are nowhere.
                assert_eq!(sum, raster.rows);
                assert!(sum <= shown.selected(&others).0);
                continue;
            }
            assert_eq!(slots(&view.data).2.iter().sum::<f64>(), shown.selected(&others).0 as f64, "{}", view.title);
        }
    }
    // Filters that are taken back leave nothing behind.
    assert_eq!(shown.views(&[]), open);
}

#[test]
fn filters_select_what_is_counted_on_cpu() {
    filters_select_what_is_counted(&TestEngine::on_cpu(), all_views());
}

/// The host and the device show the same, also while views are brushed.
#[test]
fn a_device_shows_what_the_host_shows() {
    let (host, device) = (TestEngine::on_cpu(), device_for_all());
    let on_host = ShownDashboard::of(&host, request(sample(&host), counting_views()));
    let on_device = ShownDashboard::of(&device, request(sample(&device), counting_views()));
    let open = on_host.views(&[]);
    assert_eq!(on_device.views(&[]), open);
    let mut random = Random(5);
    for round in 0..40 {
        let filters: Vec<Filter> = open
            .views
            .iter()
            .enumerate()
            .filter_map(|(at, view)| (random.below(4) == 0).then(|| random_filter(&mut random, at, view)).flatten())
            .collect();
        assert_eq!(on_device.views(&filters), on_host.views(&filters), "{filters:?}");
        let ask = VisualAsk::Cubes { view: round % 8, filters };
        if !matches!(open.views[round as usize % 8].data, ViewData::Slots { .. }) {
            continue;
        }
        assert_eq!(on_device.ask(&ask).unwrap().1, on_host.ask(&ask).unwrap().1, "{ask:?}");
    }
}

/// Each slot by itself: its bar is the number of rows that its condition leaves.
#[test]
fn each_slot_is_its_condition() {
    let bench = TestEngine::on_cpu();
    let shown = ShownDashboard::of(&bench, request(sample(&bench), all_views()));
    let open = shown.views(&[]);
    for (at, view) in open.views.iter().enumerate() {
        let ViewData::Slots { x, measure } = &view.data else { continue };
        if measure.label != "rows" {
            continue;
        }
        for slot in 0..x.slots.len() as u32 {
            let filter = Filter { view: at as u32, kept: KeptSlots::Slots(vec![(slot, slot + 1)]) };
            let (selected, code) = shown.selected(&[filter]);
            assert_eq!(
                selected as f64, measure.all[slot as usize],
                "{} of {}: {code}",
                x.slots[slot as usize].name, x.label
            );
        }
    }
}

/// The running sums of a brush give what the views show when the brush is let go.
#[test]
fn a_brush_adds_up_to_the_views() {
    let bench = TestEngine::on_cpu();
    let shown = ShownDashboard::of(&bench, request(sample(&bench), all_views()));
    let open = shown.views(&[]);
    let others = vec![
        Filter { view: 2, kept: KeptSlots::Slots(vec![(6, 20)]) },
        Filter { view: 8, kept: KeptSlots::Cells([3, 20, 1, 12]) },
        Filter { view: 10, kept: KeptSlots::Box(Window { x0: 1.0, y0: 0.5, x1: 9.0, y1: 4.0 }) },
    ];
    let (_, parts) = shown.ask(&VisualAsk::Cubes { view: 0, filters: others.clone() }).unwrap();
    let part = |name: &str| &parts.iter().find(|part| part.0 == name).unwrap().1;
    let counts = |name: &str| -> Vec<f64> {
        part(name).as_chunks::<4>().0.iter().map(|word| f64::from(u32::from_le_bytes(*word))).collect()
    };
    let sums = |name: &str| -> Vec<f64> {
        part(name).as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word)).collect()
    };
    let steps = slots(&open.views[0].data).0 as u32;
    for (from, to) in [(0, steps), (3, 9), (5, 6), (steps - 2, steps)] {
        let mut filters = vec![Filter { view: 0, kept: KeptSlots::Slots(vec![(from, to)]) }];
        filters.extend(others.clone());
        let data = shown.views(&filters);
        for at in 1..10 {
            let (width, _, now) = slots(&data.views[at].data);
            let (a, b) = (from as usize * width, to as usize * width);
            let between = |all: &[f64], slot: usize| all[b + slot] - all[a + slot];
            assert_eq!(now.len(), width);
            for (slot, shown) in now.iter().enumerate() {
                match at {
                    6 => {
                        let sum = between(&sums("sums_6"), slot);
                        assert!((sum - shown).abs() < 1e-9 * (1.0 + sum.abs()));
                    }
                    9 => {
                        let (sum, count) = (between(&sums("sums_9"), slot), between(&counts("valued_9"), slot));
                        assert!(if count == 0.0 { shown.is_nan() } else { (sum / count - shown).abs() < 1e-9 });
                    }
                    _ => assert_eq!(between(&counts(&format!("counts_{at}")), slot), *shown, "view {at}"),
                }
            }
        }
    }
}

/// By hand: four rows.
#[test]
fn slots_by_hand() {
    let bench = TestEngine::on_cpu();
    let frame = bench.frame(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(2), None])) as ArrayRef),
        ("s", Arc::new(StringArray::from(vec![Some("a"), Some("b"), Some("b"), Some("b")]))),
        ("v", Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0, 9.0]))),
    ]);
    let mut sum = view(ViewKind::Bar, "s");
    (sum.layer.y, sum.layer.aggregate) = (Some(Expr::column("v")), Some("sum".to_string()));
    let mut numbers = view(ViewKind::Numbers, "n");
    (numbers.layer.x, numbers.columns) = (None, vec![Expr::call("max", [Expr::column("v")]).alias("most")]);
    let table = ViewRequest { kind: ViewKind::Table, columns: vec![Expr::column("v")], ..numbers.clone() };
    let shown = ShownDashboard::of(&bench, request(frame, vec![view(ViewKind::Histogram, "n"), sum, numbers, table]));
    let open = shown.views(&[]);
    let ViewData::Slots { x, measure } = &open.views[0].data else { panic!() };
    assert_eq!(x.slots[0].kind, SlotKind::Missing);
    assert_eq!(x.slots.iter().map(|slot| slot.name.as_str()).collect::<Vec<_>>(), ["missing", "1", "2"]);
    assert_eq!(measure.all, [1.0, 1.0, 2.0]);
    let ViewData::Slots { x, measure } = &open.views[1].data else { panic!() };
    assert_eq!(x.slots.iter().map(|slot| slot.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!((measure.label.as_str(), measure.all.as_slice()), ("sum(v)", [15.0, 1.0].as_slice()));
    let two = Filter { view: 0, kept: KeptSlots::Slots(vec![(2, 3)]) };
    let data = shown.views(std::slice::from_ref(&two));
    assert_eq!(data.selected, 2);
    assert_eq!(slots(&data.views[1].data).2, [6.0, 0.0]);
    let ViewData::Numbers(card) = &data.views[2].data else { panic!() };
    assert_eq!(card.head, [[Value::Float(4.0)]]);
    let ViewData::Table(rows) = &data.views[3].data else { panic!() };
    assert_eq!((rows.total_rows, rows.head.len()), (2, 2));
    assert_eq!(shown.selected(&[two]).1, "n >= 2 && n < 3");
    // What a cell asks for.
    let wanted = |name: &str, wanted| match shown.ask(&VisualAsk::Slots { view: name.to_string(), wanted }) {
        Ok((VisualHead::Slots { view, kept: KeptSlots::Slots(ranges) }, _)) => Ok((view, ranges)),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.message),
    };
    let values = |value: &str| SlotQuery::Values(vec![Value::from(value)]);
    let from_two = SlotQuery::Range { low: Some(Value::Int(2)), high: None, is_closed: true };
    assert_eq!(wanted("n", from_two), Ok((0, vec![(2, 3)])));
    assert_eq!(wanted("s", values("a")), Ok((1, vec![(1, 2)])));
    assert_eq!(wanted("s", values("c")), Err("`s` has no bar for \"c\"".to_string()));
    assert!(wanted("t", values("c")).unwrap_err().contains("no histogram, bar view or line is called `t`"));
}

#[test]
fn what_cannot_be_a_view_is_said() {
    let bench = TestEngine::on_cpu();
    let frame = sample(&bench);
    let refused = |views: Vec<ViewRequest>| {
        let shown = ShownDashboard::of(&bench, request(frame, views));
        shown.ask(&VisualAsk::Dashboard { filters: Vec::new(), moving: false }).unwrap_err().message
    };
    assert!(refused(vec![view(ViewKind::Histogram, "payment")]).contains("a histogram needs numbers or times"));
    assert!(refused(vec![]).contains("without a view"));
    let mut every = view(ViewKind::Histogram, "fare");
    every.layer.every = Some("1d".to_string());
    assert!(refused(vec![every]).contains("`every` needs dates or times"));
    let mut median = view(ViewKind::Bar, "payment");
    (median.layer.y, median.layer.aggregate) = (Some(Expr::column("tip")), Some("median".to_string()));
    assert!(refused(vec![median]).contains("cannot combine rows by `median`"));
    let shown = ShownDashboard::of(&bench, request(frame, vec![view(ViewKind::Bar, "payment")]));
    let filters = vec![Filter { view: 0, kept: KeptSlots::Slots(vec![(2, 99)]) }];
    assert!(shown.ask(&VisualAsk::Condition { filters }).unwrap_err().message.contains("does not fit view 0"));
}

#[test]
fn an_empty_frame_is_a_dashboard() {
    let bench = TestEngine::on_cpu();
    let frame = sample(&bench);
    let none = bench.step(Op::Slice { input: frame, offset: 0, length: Some(0) });
    let shown = ShownDashboard::of(&bench, request(none, all_views()));
    let open = shown.views(&[]);
    assert_eq!((open.rows, open.selected), (0, 0));
}
