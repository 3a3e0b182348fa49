//! Dashboards: views of one frame that filter each other. All columns of the views are read once, when a dashboard is
//! opened, and kept as slots of a byte or two a row. Every later question is a pass over the slots.

mod check;
mod condition;
mod dimension;
mod exact;
mod on_device;
mod passes;
mod wanted;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as Arrow, Float64Type};
use lru::LruCache;
use onrush_engine::{DeviceSlots, Engine, HeldMemory};
use onrush_expr::diagnostics::{place, plan_error};
use onrush_expr::error::internal;
use onrush_frame::TaskHandle;
use onrush_stats::Combine;
use onrush_wire::dashboard::{
    Dashboard, DashboardRequest, DashboardView, Filter, KeptSlots, MAX_VIEWS, Measure, SlotQuery, ViewData, ViewKind,
    ViewRequest,
};
use onrush_wire::format_integer::thousands;
use onrush_wire::plan::Op;
use onrush_wire::plot::{AxisScale, PlotStyle};
use onrush_wire::visual::{SectionKind, VisualAsk, VisualHead};
use onrush_wire::{Diagnostic, Expr, Value, codec};
use parking_lot::{Mutex, MutexGuard};

use crate::plot::{MaterializedInput, PositionedRows, Rows, aggregate, label, positioned, without_alias};
use condition::{Plane, inside};
use dimension::{Codes, SlicedColumn, UnslicedColumn};
use passes::{Keys, Passing, Tally};

/// Dashboards whose index is kept.
const KEPT_INDEXES: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// The share of the memory limit that an index may take.
const SHARE: u64 = 4;
/// Rows of a table.
const TABLE_ROWS: u32 = 12;
/// Pixels of a raster's view that its axes take.
const AXES: (u32, u32) = (110, 70);

/// The binary parts of an answer.
pub type Parts = Vec<(String, SectionKind, Vec<u8>)>;

/// An LRU cache of the indexes of dashboards.
pub struct Dashboards(Mutex<LruCache<Vec<u8>, Arc<Index>>>);

/// The slots and values of the rows of a frame for the views of a dashboard.
struct Index {
    request: DashboardRequest,
    rows: usize,
    dimensions: Vec<SlicedColumn>,
    codes: Vec<Codes>,
    values: Vec<Vec<f64>>,
    views: Vec<Kind>,
    /// The counts of all rows.
    all: Vec<Option<Tally>>,
    filtered: Mutex<FilterState>,
    /// The slots and positions on a device, which then makes all passes.
    device: Option<DeviceSlots>,
    /// The memory that the session counts for it.
    _memory: HeldMemory,
}

/// The filters that rows were compared with last.
struct FilterState {
    kept: Vec<Option<KeptSlots>>,
    /// A bit for each filter that a row fails. Empty without a filter, and if a device has it.
    failed: Vec<u16>,
}

/// The parts of a view: positions in the lists of the index.
enum Kind {
    Slots { x: usize, value: Option<(usize, Combine)>, label: String },
    Cells { x: usize, y: usize, value: Option<(usize, Combine)>, label: String },
    Raster(Box<PositionedRows>, Plane),
    Numbers,
    Table,
}

impl Default for Dashboards {
    fn default() -> Self {
        Dashboards(Mutex::new(LruCache::new(KEPT_INDEXES)))
    }
}

impl Dashboards {
    /// Answers a question of a dashboard.
    ///
    /// # Errors
    /// A view that lacks a column or has one of the wrong type, filters that do not fit the views, an index that takes
    /// too much memory, and everything that the frame's plan can fail with.
    pub fn answer(
        &self,
        engine: &Engine,
        request: &DashboardRequest,
        ask: &VisualAsk,
        task: &TaskHandle,
    ) -> Result<(VisualHead, Parts), Diagnostic> {
        let key = codec::content(request);
        if *ask == VisualAsk::Forget {
            self.0.lock().pop(&key);
            return Ok((VisualHead::Done, Vec::new()));
        }
        let known = self.0.lock().get(&key).map(Arc::clone);
        let index = match known {
            Some(index) => index,
            None => {
                let index = Arc::new(Index::of(engine, request, task)?);
                self.0.lock().put(key, Arc::clone(&index));
                index
            }
        };
        match ask {
            VisualAsk::Dashboard { filters, moving } => {
                let drawn = index.dashboard(engine, filters, *moving, task)?;
                Ok((VisualHead::Dashboard(Box::new(drawn)), Vec::new()))
            }
            VisualAsk::Cubes { view, filters } => Ok((VisualHead::Done, index.cubes(engine, *view, filters, task)?)),
            VisualAsk::Condition { filters } => {
                let condition = index.condition(filters)?;
                let code = condition.as_ref().map_or(String::new(), condition::code);
                Ok((VisualHead::Condition { condition, code }, Vec::new()))
            }
            VisualAsk::Slots { view, wanted } => {
                let (view, kept) = index.slots(view, wanted)?;
                Ok((VisualHead::Slots { view, kept }, Vec::new()))
            }
            VisualAsk::Export { rows, filters } => index.export(engine, *rows, filters, task),
            VisualAsk::Raster { .. } | VisualAsk::Forget => Err(plan_error("argument", "this is a dashboard")),
        }
    }
}

/// The views' names for messages.
fn kind_name(kind: ViewKind) -> &'static str {
    match kind {
        ViewKind::Histogram => "histogram",
        ViewKind::Bar => "bar view",
        ViewKind::HeatMap => "heat map",
        ViewKind::Line => "line",
        ViewKind::Raster => "raster",
        ViewKind::Numbers => "number card",
        ViewKind::Table => "table",
    }
}

fn needed<'a>(expr: Option<&'a Expr>, view: &ViewRequest, what: &str) -> Result<&'a Expr, Diagnostic> {
    let message = || format!("a {} needs `{what}`, a column or an expression", kind_name(view.kind));
    expr.ok_or_else(|| plan_error("plot", message()))
}

/// The aggregate that a view shows, and its expression.
fn measured(view: &ViewRequest) -> Result<Option<(Combine, Expr, String)>, Diagnostic> {
    let Some(function) = &view.layer.aggregate else { return Ok(None) };
    let combine = match Combine::of(function) {
        Some(Combine::Count) => return Ok(None),
        Some(combine) if combine != Combine::Median => combine,
        _ => {
            let message = format!("a {} cannot combine rows by `{function}`", kind_name(view.kind));
            return Err(plan_error("plot-aggregate", message).help("write `count`, `sum`, `mean`, `min` or `max`"));
        }
    };
    let value = if view.kind == ViewKind::HeatMap { &view.layer.color } else { &view.layer.y };
    let value = needed(value.as_ref(), view, "a column of values")?;
    let named = onrush_wire::plot::LayerRequest { y: Some(value.clone()), ..view.layer.clone() };
    Ok(Some((combine, value.clone(), label(&aggregate(function, &named)?))))
}

/// The columns that are read, each once.
#[derive(Default)]
struct Reading {
    columns: Vec<UnslicedColumn>,
    /// The view that each column's slots are made for.
    of_view: Vec<usize>,
    values: Vec<Expr>,
}

impl Reading {
    fn column(&mut self, column: UnslicedColumn, view: usize) -> usize {
        self.columns.push(column);
        self.of_view.push(view);
        self.columns.len() - 1
    }

    fn value(&mut self, expr: &Expr) -> usize {
        let expr = without_alias(expr);
        match self.values.iter().position(|known| known == expr) {
            Some(at) => at,
            None => {
                self.values.push(expr.clone());
                self.values.len() - 1
            }
        }
    }
}

impl Index {
    fn of(engine: &Engine, request: &DashboardRequest, task: &TaskHandle) -> Result<Self, Diagnostic> {
        if request.views.is_empty() {
            return Err(plan_error("plot", "a dashboard without a view shows nothing")
                .help("add one, such as `.histogram(\"fare\")`, or let `f.explore()` choose them"));
        }
        if request.views.len() > MAX_VIEWS {
            let message = format!("{} views are more than {MAX_VIEWS}", request.views.len());
            return Err(plan_error("plot", message).help("make two dashboards of them"));
        }
        task.stage("open the dashboard");
        let frame = request.frame;
        let (mut reading, mut views) = (Reading::default(), Vec::new());
        for (at, view) in request.views.iter().enumerate() {
            let mut column = |expr: Option<&Expr>, what: &str, kind: ViewKind| {
                let column = UnslicedColumn::of(engine, frame, needed(expr, view, what)?, kind, task)?;
                Ok::<_, Diagnostic>(reading.column(column, at))
            };
            let layer = &view.layer;
            views.push(match view.kind {
                ViewKind::Histogram | ViewKind::Bar | ViewKind::Line => {
                    let x = column(layer.x.as_ref(), "x", view.kind)?;
                    let measure = measured(view)?;
                    let label = measure.as_ref().map_or("rows".to_string(), |measure| measure.2.clone());
                    let value = measure.map(|(combine, expr, _)| (reading.value(&expr), combine));
                    Kind::Slots { x, value, label }
                }
                ViewKind::HeatMap => {
                    let x = column(layer.x.as_ref(), "x", view.kind)?;
                    let y = column(layer.y.as_ref(), "y", view.kind)?;
                    let measure = measured(view)?;
                    let label = measure.as_ref().map_or("rows".to_string(), |measure| measure.2.clone());
                    let value = measure.map(|(combine, expr, _)| (reading.value(&expr), combine));
                    Kind::Cells { x, y, value, label }
                }
                ViewKind::Raster => raster(engine, request, view, task)?,
                ViewKind::Numbers => Kind::Numbers,
                ViewKind::Table => Kind::Table,
            });
        }
        let mut memory = engine.account("dashboards");
        let (dimensions, codes, values, rows) = read(engine, request, reading, &mut memory, task)?;
        let mut index = Index {
            request: request.clone(),
            rows,
            dimensions,
            codes,
            values,
            views,
            all: Vec::new(),
            filtered: Mutex::new(FilterState { kept: Vec::new(), failed: Vec::new() }),
            device: None,
            _memory: memory,
        };
        index.device = index.on_device(engine)?;
        index.all = match &index.device {
            Some(device) => index.counted(device, 0)?.1,
            None => (0..index.views.len())
                .map(|view| index.tally(view, None, task).transpose())
                .map(Option::transpose)
                .collect::<Result<_, Diagnostic>>()?,
        };
        Ok(index)
    }

    /// The slots of the rows of a view.
    fn keys(&self, view: usize) -> Option<Keys<'_>> {
        let count = |dimension: usize| self.dimensions[dimension].count();
        match &self.views[view] {
            Kind::Slots { x, .. } => Some(Keys { x: &self.codes[*x], y: None, count: count(*x) }),
            Kind::Cells { x, y, .. } => {
                let y_side = (&self.codes[*y], count(*x) as u32);
                Some(Keys { x: &self.codes[*x], y: Some(y_side), count: count(*x) * count(*y) })
            }
            _ => None,
        }
    }

    /// The values that a view aggregates. `None`: it counts rows.
    fn value(&self, view: usize) -> Option<(&[f64], Combine)> {
        match &self.views[view] {
            Kind::Slots { value, .. } | Kind::Cells { value, .. } => {
                value.map(|(at, combine)| (self.values[at].as_slice(), combine))
            }
            _ => None,
        }
    }

    fn tally(&self, view: usize, passing: Option<Passing<'_>>, task: &TaskHandle) -> Result<Option<Tally>, Diagnostic> {
        let Some(keys) = self.keys(view) else { return Ok(None) };
        passes::tally(keys, passing, self.value(view), self.rows, task).map(Some)
    }

    /// Compares the rows with filters that have changed. The lock is held until the answer is there.
    fn filtered(
        &self,
        engine: &Engine,
        filters: &[Filter],
        task: &TaskHandle,
    ) -> Result<MutexGuard<'_, FilterState>, Diagnostic> {
        self.check(filters)?;
        let mut wanted: Vec<Option<&Filter>> = vec![None; self.views.len()];
        filters.iter().for_each(|filter| wanted[filter.view as usize] = Some(filter));
        let mut filtered = self.filtered.lock();
        if filtered.kept.is_empty() {
            filtered.kept = vec![None; self.views.len()];
        }
        if wanted.iter().all(Option::is_none) {
            *filtered = FilterState { kept: vec![None; self.views.len()], failed: Vec::new() };
            return Ok(filtered);
        }
        let FilterState { kept, failed } = &mut *filtered;
        if self.device.is_none() && failed.len() != self.rows {
            *failed = vec![0; self.rows];
            kept.fill(None);
        }
        for (view, wanted) in wanted.into_iter().enumerate() {
            let wanted_here = wanted.map(|filter| &filter.kept);
            if kept[view].as_ref() != wanted_here {
                // Until the pass is done the bits are those of no filter.
                kept[view] = None;
                let bit = 1_u16 << view;
                let fails = wanted.map(|filter| self.fails(engine, filter, task)).transpose()?.flatten();
                match (&self.device, fails) {
                    (Some(device), Some(fails)) => device.mark_rows(&fails, bit)?,
                    (Some(device), None) => self.mark_on_device(device, view, wanted_here)?,
                    (None, Some(fails)) => failed.iter_mut().zip(fails).for_each(|(failed, fails)| {
                        *failed = (*failed & !bit) | if fails == 0 { 0 } else { bit };
                    }),
                    (None, None) => self.mark(view, wanted_here, failed, task)?,
                }
                kept[view] = wanted_here.cloned();
            }
        }
        Ok(filtered)
    }

    /// Sets the bit of a view for the rows that fail its filter, and clears it for the others.
    fn mark(
        &self,
        view: usize,
        kept: Option<&KeptSlots>,
        failed: &mut [u16],
        task: &TaskHandle,
    ) -> Result<(), Diagnostic> {
        const CHUNK: usize = 1 << 14;
        let bit = 1_u16 << view;
        let set = |failed: &mut u16, passes: bool| {
            *failed = (*failed & !bit) | if passes { 0 } else { bit };
        };
        let table = kept.and_then(|kept| self.table(view, kept));
        let cores = thread::available_parallelism().map_or(1, |n| n.get());
        let part = self.rows.div_ceil(cores).max(1).next_multiple_of(CHUNK);
        thread::scope(|scope| {
            for (number, part_failed) in failed.chunks_mut(part).enumerate() {
                let (set, table) = (&set, &table);
                scope.spawn(move || {
                    let mut keys = vec![0_u32; CHUNK];
                    for (chunk, failed) in part_failed.chunks_mut(CHUNK).enumerate() {
                        if task.cancelled() {
                            return;
                        }
                        let start = number * part + chunk * CHUNK;
                        match (kept, &self.views[view]) {
                            (None, _) => failed.iter_mut().for_each(|failed| set(failed, true)),
                            (Some(kept), Kind::Raster(held, _)) => {
                                let positions = held.positions();
                                for (at, failed) in failed.iter_mut().enumerate() {
                                    set(failed, is_within(kept, (positions.x[start + at], positions.y[start + at])));
                                }
                            }
                            (Some(_), _) => {
                                let keys = &mut keys[..failed.len()];
                                if let (Some(of_view), Some(table)) = (self.keys(view), table) {
                                    of_view.read(start, keys);
                                    failed
                                        .iter_mut()
                                        .zip(keys)
                                        .for_each(|(failed, key)| set(failed, table[*key as usize]));
                                }
                            }
                        }
                    }
                });
            }
        });
        Ok(task.check()?)
    }

    /// For each slot, or each pair of slots, whether a filter keeps it.
    fn table(&self, view: usize, kept: &KeptSlots) -> Option<Vec<bool>> {
        let count = self.keys(view)?.count;
        Some(match (kept, &self.views[view]) {
            (KeptSlots::Slots(ranges), _) => {
                (0..count as u32).map(|slot| ranges.iter().any(|(from, to)| (*from..*to).contains(&slot))).collect()
            }
            (KeptSlots::Cells([x0, x1, y0, y1]), Kind::Cells { x, .. }) => {
                let width = self.dimensions[*x].count() as u32;
                let is_kept = |cell: u32| (*x0..*x1).contains(&(cell % width)) && (*y0..*y1).contains(&(cell / width));
                (0..count as u32).map(is_kept).collect()
            }
            _ => vec![true; count],
        })
    }

    fn condition(&self, filters: &[Filter]) -> Result<Option<Expr>, Diagnostic> {
        self.check(filters)?;
        let mut conditions = Vec::new();
        for filter in filters {
            conditions.extend(match (&filter.kept, &self.views[filter.view as usize]) {
                (KeptSlots::Slots(ranges), Kind::Slots { x, .. }) => self.dimensions[*x].within(ranges),
                (KeptSlots::Exact { wanted, .. }, Kind::Slots { x, .. }) => Some(self.dimensions[*x].exactly(wanted)),
                (KeptSlots::Cells([x0, x1, y0, y1]), Kind::Cells { x, y, .. }) => condition::all(
                    [self.dimensions[*x].within(&[(*x0, *x1)]), self.dimensions[*y].within(&[(*y0, *y1)])]
                        .into_iter()
                        .flatten(),
                ),
                (kept, Kind::Raster(_, plane)) => plane.within(kept),
                _ => None,
            });
        }
        Ok(condition::all(conditions))
    }

    fn dashboard(
        &self,
        engine: &Engine,
        filters: &[Filter],
        moving: bool,
        task: &TaskHandle,
    ) -> Result<Dashboard, Diagnostic> {
        let filtered = self.filtered(engine, filters, task)?;
        let bits = filters.iter().fold(0_u16, |bits, filter| bits | 1 << filter.view);
        // Answers about the rows that pass the filters of all views but one.
        let others = |view: usize| {
            let bits = bits & !(1_u16 << view);
            (bits != 0).then_some(Passing { failed: &filtered.failed, bits })
        };
        let (selected, counted) = match (bits, &self.device) {
            (0, _) => (self.rows as u64, None),
            (_, Some(device)) => {
                let (selected, counted) = self.counted(device, bits)?;
                (selected, Some(counted))
            }
            (_, None) => (passes::selected(Passing { failed: &filtered.failed, bits }, task)?, None),
        };
        // Cards and tables are frames of their own, with the condition of the filters.
        let is_frame = |kind: &Kind| matches!(kind, Kind::Numbers | Kind::Table);
        let kept = match self.condition(filters)? {
            Some(predicate) if !moving && self.views.iter().any(is_frame) => {
                Some(MaterializedInput::step(engine, &Op::Filter { input: self.request.frame, predicate }, task)?)
            }
            _ => None,
        };
        let frame = kept.as_ref().map_or(self.request.frame, |held| held.id);
        let mut views = Vec::new();
        for (at, (kind, request)) in self.views.iter().zip(&self.request.views).enumerate() {
            let measure = |label: &String| {
                let shown = match (&counted, others(at)) {
                    (Some(counted), _) => counted[at].clone(),
                    (None, None) => None,
                    (None, passing) => self.tally(at, passing, task)?,
                };
                let all = self.all[at].as_ref().map_or(Vec::new(), Tally::finish);
                let shown = shown.as_ref().map_or_else(|| all.clone(), Tally::finish);
                Ok::<_, Diagnostic>(Measure { label: label.clone(), all, shown })
            };
            let dimension = |at: &usize| self.dimensions[*at].shown.clone();
            let data = match kind {
                Kind::Slots { x, label, .. } => ViewData::Slots { x: dimension(x), measure: measure(label)? },
                Kind::Cells { x, y, label, .. } => {
                    ViewData::Cells { x: dimension(x), y: dimension(y), measure: measure(label)? }
                }
                Kind::Raster(held, _) => {
                    let size = size(&self.request, request);
                    let plot = match &self.device {
                        Some(device) => {
                            let window = held.window(size);
                            let counts = device.raster(self.position_of(at), &window, bits & !(1_u16 << at))?;
                            held.plot_of_counts(size, counts)
                        }
                        None => {
                            let passing = others(at);
                            let is_wanted =
                                |row: usize| passing.is_none_or(|passing| passing.failed[row] & passing.bits == 0);
                            held.plot(size, is_wanted, task)?
                        }
                    };
                    ViewData::Raster(Box::new(plot))
                }
                Kind::Numbers | Kind::Table if moving => ViewData::Unchanged,
                Kind::Numbers => {
                    let select = Op::Select { input: frame, exprs: request.columns.clone() };
                    let held = MaterializedInput::step(engine, &select, task)?;
                    ViewData::Numbers(engine.preview(held.id, 1, 0, false, task)?)
                }
                Kind::Table if request.columns.is_empty() => {
                    ViewData::Table(engine.preview(frame, TABLE_ROWS, 0, false, task)?)
                }
                Kind::Table => {
                    let select = Op::Select { input: frame, exprs: request.columns.clone() };
                    let held = MaterializedInput::step(engine, &select, task)?;
                    ViewData::Table(engine.preview(held.id, TABLE_ROWS, 0, false, task)?)
                }
            };
            views.push(DashboardView { title: title(request), data });
        }
        Ok(Dashboard { rows: self.rows as u64, selected, views, notes: Vec::new() })
    }

    fn cubes(&self, engine: &Engine, active: u32, filters: &[Filter], task: &TaskHandle) -> Result<Parts, Diagnostic> {
        let active = active as usize;
        let is_slots = |view: usize| matches!(self.views.get(view), Some(Kind::Slots { .. }));
        let Some(steps) = Some(active).filter(|view| is_slots(*view)).and_then(|view| self.keys(view)) else {
            return Err(plan_error("argument", format!("view {active} has no bins or bars")));
        };
        let filtered = self.filtered(engine, filters, task)?;
        let bits = filters.iter().fold(0_u16, |bits, filter| bits | 1 << filter.view);
        if let Some(device) = &self.device {
            return self.cubes_on_device(device, active, bits);
        }
        let mut parts: Parts = Vec::new();
        for view in (0..self.views.len()).filter(|view| *view != active) {
            let Some(keys) = self.keys(view) else { continue };
            let value = self.value(view);
            // The least and the greatest of a range cannot be subtracted.
            if matches!(value, Some((_, Combine::Min | Combine::Max))) {
                continue;
            }
            let bits = bits & !(1_u16 << active) & !(1_u16 << view);
            let passing = (bits != 0).then_some(Passing { failed: &filtered.failed, bits });
            let cube = passes::cube(steps, keys, passing, value.map(|(values, _)| values), self.rows, task)?;
            parts.push((format!("counts_{view}"), SectionKind::U32, bytes(&cube.counts)));
            if value.is_some() {
                let sums = cube.sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
                parts.push((format!("sums_{view}"), SectionKind::F64, sums));
                parts.push((format!("valued_{view}"), SectionKind::U32, bytes(&cube.valued)));
            }
        }
        Ok(parts)
    }

    /// The view of this title or column, and the slots that have what is wanted.
    fn slots(&self, name: &str, wanted: &SlotQuery) -> Result<(u32, KeptSlots), Diagnostic> {
        let names = || {
            self.views.iter().zip(&self.request.views).filter_map(|(kind, request)| match kind {
                Kind::Slots { x, .. } => Some((x, title(request), self.dimensions[*x].shown.label.clone())),
                _ => None,
            })
        };
        let at = self.views.iter().zip(&self.request.views).position(|(kind, request)| {
            matches!(kind, Kind::Slots { x, .. } if title(request) == name || self.dimensions[*x].shown.label == name)
        });
        let Some(view) = at else {
            let known: Vec<String> = names().map(|(_, title, _)| format!("\"{title}\"")).collect();
            return Err(plan_error("argument", format!("no histogram, bar view or line is called `{name}`"))
                .help(format!("those of this dashboard are {}", known.join(", "))));
        };
        let Kind::Slots { x, .. } = &self.views[view] else { return Err(internal("a view has no slots")) };
        Ok((view as u32, self.dimensions[*x].wanted(wanted)?))
    }

    /// Slots and positions of at most `most` rows at equal distances, and whether these rows pass the filters by
    /// values.
    fn export(
        &self,
        engine: &Engine,
        most: u64,
        filters: &[Filter],
        task: &TaskHandle,
    ) -> Result<(VisualHead, Parts), Diagnostic> {
        self.check(filters)?;
        let step = (self.rows as u64).div_ceil(most.max(1)).max(1) as usize;
        let rows: Vec<usize> = (0..self.rows).step_by(step).collect();
        let codes = |dimension: usize| {
            let mut out = Vec::with_capacity(rows.len() * 2);
            let mut one = [0_u32];
            for row in &rows {
                one[0] = 0;
                self.codes[dimension].add_to(*row, 1, &mut one);
                out.extend((one[0] as u16).to_le_bytes());
            }
            out
        };
        let floats = |values: &[f64]| rows.iter().flat_map(|row| (values[*row] as f32).to_le_bytes()).collect();
        let mut parts: Parts = Vec::new();
        for (view, kind) in self.views.iter().enumerate() {
            match kind {
                Kind::Slots { x, .. } => parts.push((format!("x_{view}"), SectionKind::U16, codes(*x))),
                Kind::Cells { x, y, .. } => {
                    parts.push((format!("x_{view}"), SectionKind::U16, codes(*x)));
                    parts.push((format!("y_{view}"), SectionKind::U16, codes(*y)));
                }
                Kind::Raster(held, _) => {
                    parts.push((format!("x_{view}"), SectionKind::F32, floats(&held.positions().x)));
                    parts.push((format!("y_{view}"), SectionKind::F32, floats(&held.positions().y)));
                }
                Kind::Numbers | Kind::Table => {}
            }
            if let Some((values, _)) = self.value(view) {
                parts.push((format!("value_{view}"), SectionKind::F32, floats(values)));
            }
        }
        for filter in filters {
            if let Some(fails) = self.fails(engine, filter, task)? {
                let kept = rows.iter().map(|row| u8::from(fails[*row] == 0)).collect();
                parts.push((format!("kept_{}", filter.view), SectionKind::U8, kept));
            }
        }
        Ok((VisualHead::Export { rows: rows.len() as u64, total: self.rows as u64 }, parts))
    }
}

fn bytes(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|count| count.to_le_bytes()).collect()
}

/// Whether a position passes the filter of a raster.
fn is_within(kept: &KeptSlots, (x, y): (f64, f64)) -> bool {
    match kept {
        KeptSlots::Box(window) => (window.x0..=window.x1).contains(&x) && (window.y0..=window.y1).contains(&y),
        KeptSlots::Lasso(corners) => inside(corners, (x, y)),
        _ => true,
    }
}

/// Pixels of the data area of a raster, about.
fn size(request: &DashboardRequest, view: &ViewRequest) -> (u32, u32) {
    let (width, height) = view.size(request.columns);
    (width.saturating_sub(AXES.0).max(50), height.saturating_sub(AXES.1).max(50))
}

/// The title of a view.
fn title(view: &ViewRequest) -> String {
    let of = |expr: &Option<Expr>| expr.as_ref().map_or(String::new(), label);
    view.title.clone().unwrap_or_else(|| match view.kind {
        ViewKind::Histogram | ViewKind::Bar => of(&view.layer.x),
        ViewKind::Line => format!("{} by {}", of(&view.layer.y), of(&view.layer.x)),
        ViewKind::HeatMap | ViewKind::Raster => format!("{}, {}", of(&view.layer.x), of(&view.layer.y)),
        ViewKind::Numbers | ViewKind::Table => String::new(),
    })
}

fn raster(
    engine: &Engine,
    request: &DashboardRequest,
    view: &ViewRequest,
    task: &TaskHandle,
) -> Result<Kind, Diagnostic> {
    let (x, y) = (needed(view.layer.x.as_ref(), view, "x")?, needed(view.layer.y.as_ref(), view, "y")?);
    let (width, height) = view.size(request.columns);
    let style = PlotStyle { theme: request.theme, width: Some(width), height: Some(height), ..PlotStyle::default() };
    let held = positioned(engine, request.frame, &view.layer, &style, task)?;
    let side = |expr: &Expr, scale: AxisScale| {
        let plain = without_alias(expr).clone();
        if scale == AxisScale::Time {
            let dtype = engine.type_of(request.frame, expr, task)?;
            let none = Expr::literal(Value::Null);
            return Ok::<_, Diagnostic>(match dtype {
                Arrow::Timestamp(_, Some(_)) => (Expr::call("dt.replace_time_zone", [plain, none]), true),
                _ => (plain, true),
            });
        }
        let kind =
            onrush_wire::ExprKind::Cast { value: Box::new(plain), to: onrush_wire::DataType::Float64, strict: true };
        Ok((Expr::new(kind), false))
    };
    let (x_axis, y_axis) = held.axes();
    let plane = Plane { x: side(x, x_axis.scale)?, y: side(y, y_axis.scale)? };
    Ok(Kind::Raster(Box::new(held), plane))
}

type Read = (Vec<SlicedColumn>, Vec<Codes>, Vec<Vec<f64>>, usize);

/// Reads all columns: once for their range, once for their slots.
fn read(
    engine: &Engine,
    request: &DashboardRequest,
    mut reading: Reading,
    memory: &mut HeldMemory,
    task: &TaskHandle,
) -> Result<Read, Diagnostic> {
    let dimensions = reading.columns.len();
    let of_columns = reading.columns.iter().map(UnslicedColumn::expr).cloned();
    let mut exprs: Vec<Expr> = of_columns.chain(reading.values.iter().cloned()).collect();
    if exprs.is_empty() {
        // A dashboard of cards, tables and rasters still counts its rows.
        exprs.push(Expr::call("len", []));
        let counted = engine.run_aggregate(request.frame, &[], &[exprs[0].clone().alias("n")], task)?;
        let rows = counted.batches().first().and_then(|batch| match onrush_frame::value_at(batch.column(0), 0) {
            Value::Int(rows) => usize::try_from(rows).ok(),
            Value::UInt(rows) => usize::try_from(rows).ok(),
            _ => None,
        });
        return Ok((Vec::new(), Vec::new(), Vec::new(), rows.unwrap_or(0)));
    }
    let exprs: Vec<Expr> = exprs.into_iter().enumerate().map(|(at, expr)| expr.alias(format!("c{at}"))).collect();
    let rows = Rows::select(engine, request.frame, &exprs, engine.memory_limit() / SHARE)?;
    if reading.columns.iter().any(|column| !column.is_categories()) {
        rows.each(task, &mut |_, batch| {
            reading.columns.iter_mut().zip(batch.columns()).try_for_each(|(column, array)| column.look(array))
        })?;
    }
    let (mut sliced, mut codes) = (Vec::new(), Vec::new());
    for (column, view) in reading.columns.into_iter().zip(&reading.of_view) {
        let one = column.sliced(engine, request.frame, &request.views[*view], task)?;
        codes.push(Codes::new(one.count()));
        sliced.push(one);
    }
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); reading.values.len()];
    let per_row = 2 + codes.iter().map(Codes::bytes).sum::<usize>() + 8 * values.len();
    let most = (engine.memory_limit() / SHARE) as usize / per_row;
    let mut count = 0;
    rows.each(task, &mut |_, batch| {
        count += batch.num_rows();
        if count > most {
            let (needed, limit) = (thousands(per_row as u64), thousands(engine.memory_limit() / SHARE / 1_000_000));
            let message = format!("the index of the dashboard takes {needed} bytes a row, and it may use {limit} MB");
            return Err(plan_error("plot-size", message)
                .help("show fewer views, or a sample of the rows: `dashboard(&f.sample(0.1))`"));
        }
        // A vector that grows has room for twice its values.
        memory.grow((2 * per_row * batch.num_rows()) as u64)?;
        encode(&sliced, &mut codes, batch.columns())?;
        for ((values, array), expr) in values.iter_mut().zip(&batch.columns()[dimensions..]).zip(&reading.values) {
            let floats = numbers(array, expr)?;
            let floats = floats.as_primitive::<Float64Type>();
            values.extend(floats.iter().map(|value| value.unwrap_or(f64::NAN)));
        }
        Ok(())
    })?;
    Ok((sliced, codes, values, count))
}

fn numbers(array: &ArrayRef, expr: &Expr) -> Result<ArrayRef, Diagnostic> {
    if !array.data_type().is_numeric() && *array.data_type() != Arrow::Boolean {
        let message = format!("`{}` is not a number, so that it cannot be aggregated", label(expr));
        return Err(place(plan_error("plot-type", message), expr.span.as_ref(), None, "not a number"));
    }
    cast(array, &Arrow::Float64).map_err(|error| internal(&error.to_string()))
}

/// Appends the slots of a piece of rows, a thread for each group of columns.
fn encode(sliced: &[SlicedColumn], codes: &mut [Codes], arrays: &[ArrayRef]) -> Result<(), Diagnostic> {
    let cores = thread::available_parallelism().map_or(1, |n| n.get());
    let group = sliced.len().div_ceil(cores).max(1);
    let one = |((sliced, codes), array): ((&SlicedColumn, &mut Codes), &ArrayRef)| sliced.encode(array, codes);
    thread::scope(|scope| {
        let groups = sliced.chunks(group).zip(codes.chunks_mut(group)).zip(arrays.chunks(group));
        let threads: Vec<_> = groups
            .map(|((sliced, codes), arrays)| {
                scope.spawn(move || sliced.iter().zip(codes).zip(arrays).try_for_each(one))
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(internal("a thread of the dashboard failed"))))
    })
}
