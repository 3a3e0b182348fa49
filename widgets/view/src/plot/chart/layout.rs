//! Positions in a plot: its panels, their ticks and their labels. Nothing is drawn here.

use onrush_wire::plot::{AxisScale, Plot};

use super::super::data::{Data, Panel};
use super::super::scale::Tick;
use super::super::theme::text_width;
use super::{ANGLE, GAP, LABEL, LINE, Sides, TICK, TURNED, are_numbers, grid};

/// All lengths are in pixels.
pub struct Layout<'a> {
    panels: &'a [Panel],
    columns: usize,
    rows: usize,
    /// Whether each panel has its own x axis.
    free_x: bool,
    free_y: bool,
    pub is_faceted: bool,
    /// Whether only the outer panels have ticks and labels.
    is_grid: bool,
    is_lying: bool,
    /// The space of the data areas.
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    /// Base line of the label of the x axis.
    pub floor: f64,
    /// One axis if all panels have the same.
    x_axes: Vec<XAxis>,
    y_axes: Vec<(Vec<Tick>, Option<String>)>,
    pub x_labels: Vec<String>,
    pub y_labels: Vec<String>,
    /// Whether each panel has its own label of the x axis.
    pub has_own_x: bool,
    pub has_own_y: bool,
    pub x_label_space: f64,
    pub y_label_width: f64,
    /// Height of the tick labels of the x axis, and width of those of the y axis.
    pub tick_space: f64,
    pub y_tick_width: f64,
    /// Horizontal space between panels; `between` is the vertical space.
    pub gap: f64,
    between: f64,
}

impl<'a> Layout<'a> {
    /// `panels` must not be empty. `free` is of the axes that are drawn; `width` is that of the picture.
    pub fn new(
        plot: &Plot,
        panels: &'a [Panel],
        (free_x, free_y): (bool, bool),
        width: f64,
        (top, right, bottom): (f64, f64, f64),
    ) -> Self {
        let (columns, rows) = grid(plot);
        let is_lying = plot.style.is_horizontal;
        let y_ticks_of = |data: &Data| {
            if data.map.is_some() {
                return (Vec::new(), None);
            }
            let (mut ticks, shared) = data.y.ticks(((bottom - top) / rows as f64 / 45.0) as usize);
            ticks.retain(|t| (data.y.low..=data.y.high).contains(&t.at));
            (ticks, shared)
        };
        // Panels with the same axis have the first one's ticks.
        let own = |is_free: bool| if is_free { panels } else { &panels[..1] };
        let y_axes: Vec<(Vec<Tick>, Option<String>)> = own(free_y).iter().map(|p| y_ticks_of(&p.data)).collect();
        let y_of = |panel: usize| &y_axes[panel.min(y_axes.len() - 1)];
        let y_labels: Vec<String> =
            panels.iter().enumerate().map(|(i, p)| with_shared(&p.data.labels.1, &y_of(i).1)).collect();
        let has_own_y = !are_same(&y_labels);
        let y_label_width = if y_labels.iter().all(String::is_empty) { 0.0 } else { LABEL * LINE + 4.0 };
        let widest_name = if is_lying { 0.35 } else { 0.25 };
        let y_tick_width = y_axes
            .iter()
            .flat_map(|axis| &axis.0)
            .map(|t| text_width(&t.label, TICK).min(width * widest_name))
            .fold(0.0, f64::max);
        let left = 10.0 + y_label_width + y_tick_width + 8.0;
        let right = right.max(left + 40.0);
        // Between panels is space for the labels at the left of the right one.
        let is_grid = plot.style.is_grid;
        let beside = if has_own_y && !is_grid { y_label_width + GAP * 0.5 } else { 0.0 };
        let gap = GAP + if free_y && !is_grid { y_tick_width } else { 0.0 } + beside;
        let panel_width = |left: f64| width_of_panel(right - left, gap, columns);

        // Labels under the x axis: as many as fit, or turned.
        let x_axes: Vec<XAxis> = own(free_x).iter().map(|p| x_axis_ticks(&p.data, panel_width(left))).collect();
        let x_of = |panel: usize| &x_axes[panel.min(x_axes.len() - 1)];
        // Turned labels reach to the left of their ticks: the first one must not leave the picture.
        let left = panels.iter().zip(&x_axes).step_by(columns).filter(|(_, axis)| axis.is_turned).fold(
            left,
            |left, (Panel { data, .. }, axis)| {
                let reach = |t: &Tick| {
                    let along = (t.at - data.x.low) / (data.x.high - data.x.low) * panel_width(left);
                    text_width(&t.label, TICK).min(TURNED) * ANGLE.to_radians().cos() + 2.0 - along
                };
                axis.ticks.iter().map(reach).fold(left, f64::max).min(right - 40.0).max(left)
            },
        );
        let x_labels: Vec<String> =
            panels.iter().enumerate().map(|(i, p)| with_shared(&p.data.labels.0, &x_of(i).shared)).collect();
        let has_own_x = !are_same(&x_labels);
        let x_label_space = if x_labels.iter().all(String::is_empty) { 0.0 } else { LABEL * LINE + 3.0 };
        let tick_space = height_of_ticks(&x_axes);
        let below = if has_own_x && !is_grid { x_label_space + 5.0 } else { 0.0 };
        let between = GAP * 0.5 + if free_x && !is_grid { tick_space } else { 0.0 } + below;
        Layout {
            panels,
            columns,
            rows,
            free_x,
            free_y,
            is_faceted: !plot.facets.is_empty(),
            is_grid,
            is_lying,
            left,
            top,
            right,
            bottom: (bottom - x_label_space - tick_space - 5.0).max(top + 30.0),
            floor: bottom,
            x_axes,
            y_axes,
            x_labels,
            y_labels,
            has_own_x,
            has_own_y,
            x_label_space,
            y_label_width,
            tick_space,
            y_tick_width,
            gap,
            between,
        }
    }

    pub fn panel_width(&self) -> f64 {
        width_of_panel(self.right - self.left, self.gap, self.columns)
    }

    /// The data area of a panel: left, top, right, bottom.
    pub fn frame(&self, panel: usize) -> [f64; 4] {
        let (column, row) = (panel % self.columns, panel / self.columns);
        let head = if self.is_faceted && !self.is_grid { TICK * LINE + 4.0 } else { 0.0 };
        let panel_height = ((self.bottom - self.top) / self.rows as f64).max(20.0);
        let x0 = self.left + column as f64 * (self.panel_width() + self.gap);
        let y0 = self.top + row as f64 * panel_height + head;
        let below = if row + 1 == self.rows { 0.0 } else { self.between };
        let bottom = (self.top + (row + 1) as f64 * panel_height - below).max(y0 + 10.0);
        [x0, y0, x0 + self.panel_width(), bottom]
    }

    /// Whether a panel has tick labels under it. Panels without a panel below have labels too.
    pub fn has_x_ticks(&self, panel: usize) -> bool {
        panel + self.columns >= self.panels.len() || (self.free_x && !self.is_grid)
    }

    pub fn has_y_ticks(&self, panel: usize) -> bool {
        panel.is_multiple_of(self.columns) || (self.free_y && !self.is_grid)
    }

    /// Whether a panel has separate labels of its axes.
    pub fn has_x_label(&self, panel: usize) -> bool {
        !self.is_grid || self.has_x_ticks(panel)
    }

    pub fn has_y_label(&self, panel: usize) -> bool {
        !self.is_grid || self.has_y_ticks(panel)
    }

    fn x_axis(&self, panel: usize) -> &XAxis {
        &self.x_axes[panel.min(self.x_axes.len() - 1)]
    }

    /// The ticks of a panel, and those of them that have labels.
    pub fn sides(&self, panel: usize) -> Sides<'_> {
        let (x_axis, y_ticks) = (self.x_axis(panel), &self.y_axes[panel.min(self.y_axes.len() - 1)].0);
        // The last label of a panel must not overlap the first one of the panel to its right.
        let reach = |panel: usize, tick: &Tick, to_right: bool| {
            let x = &self.panels[panel].data.x;
            let along = (tick.at - x.low) / (x.high - x.low) * self.panel_width();
            text_width(&tick.label, TICK) / 2.0 + if to_right { along - self.panel_width() } else { -along }
        };
        let has_right = panel % self.columns + 1 < self.columns && panel + 1 < self.panels.len();
        let beside = has_right.then(|| self.x_axis(panel + 1).ticks.first()).flatten();
        let meets = |(last, first)| reach(panel, last, true) + reach(panel + 1, first, false) + 4.0 > self.gap;
        let shown =
            x_axis.ticks.len() - usize::from(!x_axis.is_turned && x_axis.ticks.last().zip(beside).is_some_and(meets));
        Sides {
            x: if self.has_x_ticks(panel) { &x_axis.ticks[..shown] } else { &[] },
            y: if self.has_y_ticks(panel) { y_ticks } else { &[] },
            grid: (&x_axis.ticks, y_ticks),
            turned: x_axis.is_turned,
            y_tick_width: self.y_tick_width,
            is_lying: self.is_lying,
        }
    }
}

fn width_of_panel(width: f64, gap: f64, columns: usize) -> f64 {
    ((width - gap * (columns - 1) as f64) / columns as f64).max(20.0)
}

/// The height of the labels under x axes.
fn height_of_ticks(x_axes: &[XAxis]) -> f64 {
    if !x_axes.iter().any(|axis| axis.is_turned) {
        return TICK * LINE;
    }
    let all = x_axes.iter().filter(|axis| axis.is_turned).flat_map(|axis| &axis.ticks);
    let longest = all.map(|t| text_width(&t.label, TICK)).fold(0.0, f64::max).min(TURNED);
    longest * ANGLE.to_radians().sin() + TICK
}

fn with_shared(label: &str, shared: &Option<String>) -> String {
    match shared {
        Some(shared) if label.is_empty() => shared.clone(),
        Some(shared) => format!("{label} ({shared})"),
        None => label.to_string(),
    }
}

fn are_same(labels: &[String]) -> bool {
    labels.windows(2).all(|two| two[0] == two[1])
}

/// Ticks of an x axis that do not touch each other.
struct XAxis {
    ticks: Vec<Tick>,
    /// The common part of all their labels, such as a year.
    shared: Option<String>,
    is_turned: bool,
}

fn x_axis_ticks(data: &Data, width: f64) -> XAxis {
    let scale = &data.x;
    if data.map.is_some() {
        return XAxis { ticks: Vec::new(), shared: None, is_turned: false };
    }
    if scale.kind == AxisScale::Category {
        let (ticks, shared) = scale.ticks(0);
        let slot = width / ticks.len().max(1) as f64;
        let widest = ticks.iter().map(|t| text_width(&t.label, TICK)).fold(0.0, f64::max);
        if widest + 6.0 <= slot {
            return XAxis { ticks, shared, is_turned: false };
        }
        // Numeric labels may be skipped; names are rotated first.
        let numbers = are_numbers(&ticks.iter().map(|t| t.label.clone()).collect::<Vec<_>>());
        let needed = if numbers { widest + 8.0 } else { TICK * 1.3 };
        let every = (needed / slot).ceil().max(1.0) as usize;
        let ticks = ticks.into_iter().step_by(every).collect();
        return XAxis { ticks, shared, is_turned: !numbers };
    }
    let mut count = (width / 55.0).clamp(2.0, 14.0) as usize;
    loop {
        let (mut ticks, shared) = scale.ticks(count);
        ticks.retain(|t| (scale.low - 1e-9..=scale.high + (scale.high - scale.low) * 1e-9).contains(&t.at));
        let widest = ticks.iter().map(|t| text_width(&t.label, TICK)).fold(0.0, f64::max);
        let span = (scale.high - scale.low).max(f64::MIN_POSITIVE);
        let closest = ticks.windows(2).map(|p| (p[1].at - p[0].at) / span * width).fold(f64::INFINITY, f64::min);
        if widest + 10.0 <= closest || count <= 2 {
            return XAxis { ticks, shared, is_turned: false };
        }
        count -= 1;
    }
}
