//! The passes of a dashboard on a device: of views that count rows, which are most. Sums and means of values, and
//! rasters with colours, are the host's.

use std::thread;

use onrush_engine::{DeviceSlots, Engine, PixelWindow, SlotValues, SlotView};
use onrush_wire::Diagnostic;
use onrush_wire::dashboard::KeptSlots;
use onrush_wire::visual::{SectionKind, Window};

use super::dimension::Codes;
use super::passes::{Tally, running};
use super::{Index, Kind, Parts, bytes, is_within};

impl Index {
    /// The slots and positions on a device. `None` without a device with memory for them, or if a view is one for the
    /// host.
    pub(super) fn on_device(&self, engine: &Engine) -> Result<Option<DeviceSlots>, Diagnostic> {
        let is_for_host = |view: usize| match &self.views[view] {
            Kind::Raster(held, _) => !held.is_counted(),
            _ => self.value(view).is_some(),
        };
        if (0..self.views.len()).any(is_for_host) {
            return Ok(None);
        }
        let slots = self.codes.iter().map(|codes| match codes {
            Codes::Narrow(slots) => SlotValues::Narrow(slots),
            Codes::Wide(slots) => SlotValues::Wide(slots),
        });
        let positions = self.views.iter().filter_map(|kind| match kind {
            Kind::Raster(held, _) => Some((held.positions().x.as_slice(), held.positions().y.as_slice())),
            _ => None,
        });
        engine.device_slots(&slots.collect::<Vec<_>>(), &positions.collect::<Vec<_>>(), self.rows)
    }

    /// The place of a raster's positions among those of all rasters.
    pub(super) fn position_of(&self, view: usize) -> usize {
        self.views[..view].iter().filter(|kind| matches!(kind, Kind::Raster(..))).count()
    }

    fn slot_view(&self, view: usize) -> Option<SlotView> {
        let keys = self.keys(view)?;
        let axes = match &self.views[view] {
            Kind::Slots { x, .. } => vec![(*x, 1)],
            Kind::Cells { x, y, .. } => vec![(*x, 1), (*y, self.dimensions[*x].count() as u32)],
            _ => Vec::new(),
        };
        Some(SlotView { axes, count: keys.count as u32, own: 1 << view })
    }

    /// The rows that pass the filters `bits`, and the counts of each view.
    pub(super) fn counted(&self, device: &DeviceSlots, bits: u16) -> Result<(u64, Vec<Option<Tally>>), Diagnostic> {
        let slot_views: Vec<Option<SlotView>> = (0..self.views.len()).map(|view| self.slot_view(view)).collect();
        let selected = SlotView { axes: Vec::new(), count: 1, own: 0 };
        let wanted: Vec<SlotView> = std::iter::once(selected).chain(slot_views.iter().flatten().cloned()).collect();
        let mut found = device.count(&wanted, bits)?.into_iter();
        let selected = found.next().and_then(|counts| counts.first().copied()).unwrap_or_default();
        let tally = |view: &Option<SlotView>| view.as_ref().and_then(|_| found.next()).map(Tally::of_counts);
        Ok((selected, slot_views.iter().map(tally).collect()))
    }

    /// Sets the bit of a view for the rows that fail its filter, and clears it for the others.
    pub(super) fn mark_on_device(
        &self,
        device: &DeviceSlots,
        view: usize,
        kept: Option<&KeptSlots>,
    ) -> Result<(), Diagnostic> {
        let bit = 1_u16 << view;
        match (kept, &self.views[view]) {
            (None, _) => {
                let any = SlotView { axes: Vec::new(), count: 1, own: 0 };
                device.mark(&any, None, bit)
            }
            (Some(KeptSlots::Box(window)), Kind::Raster(..)) => {
                device.mark_window(self.position_of(view), &edges(window), bit)
            }
            (Some(kept), Kind::Raster(held, _)) => {
                let positions = held.positions();
                let mut fails = vec![0_u8; self.rows];
                let cores = thread::available_parallelism().map_or(1, |n| n.get());
                let part = self.rows.div_ceil(cores).max(1);
                thread::scope(|scope| {
                    for (number, fails) in fails.chunks_mut(part).enumerate() {
                        scope.spawn(move || {
                            for (at, fails) in fails.iter_mut().enumerate() {
                                let row = number * part + at;
                                *fails = u8::from(!is_within(kept, (positions.x[row], positions.y[row])));
                            }
                        });
                    }
                });
                device.mark_rows(&fails, bit)
            }
            (Some(kept), _) => match (self.slot_view(view), self.table(view, kept)) {
                (Some(slots), Some(table)) => device.mark(&slots, Some(&table), bit),
                _ => Ok(()),
            },
        }
    }

    /// The counts of the other views for each slot of the active one, as running sums.
    pub(super) fn cubes_on_device(&self, device: &DeviceSlots, active: usize, bits: u16) -> Result<Parts, Diagnostic> {
        let Some(steps) = self.slot_view(active) else { return Ok(Vec::new()) };
        let others: Vec<(usize, SlotView)> = (0..self.views.len())
            .filter(|view| *view != active)
            .filter_map(|view| Some((view, self.slot_view(view)?)))
            .collect();
        let pairs: Vec<SlotView> = others
            .iter()
            .map(|(_, other)| {
                let along = steps.axes.iter().map(|(slots, factor)| (*slots, factor * other.count));
                let axes = other.axes.iter().copied().chain(along).collect();
                SlotView { axes, count: other.count * steps.count, own: other.own | steps.own }
            })
            .collect();
        let found = device.count(&pairs, bits)?;
        let parts = others.iter().zip(found).map(|((view, other), counts)| {
            let width = other.count as usize;
            let mut sums = vec![0_u32; width];
            sums.extend(counts.iter().map(|count| u32::try_from(*count).unwrap_or(u32::MAX)));
            running(&mut sums, width, |sum, before| *sum = sum.saturating_add(before));
            (format!("counts_{view}"), SectionKind::U32, bytes(&sums))
        });
        Ok(parts.collect())
    }
}

/// A window without pixels, for comparisons alone.
fn edges(window: &Window) -> PixelWindow {
    let Window { x0, y0, x1, y1 } = *window;
    PixelWindow { x: (x0, x1), y: (y0, y1), x_scale: (0.0, 0.0), y_scale: (0.0, 0.0), width: 1, height: 1 }
}
