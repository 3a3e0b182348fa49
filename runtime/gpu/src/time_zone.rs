//! Zones' clocks as tables for the device.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::timezone::Tz;
use chrono::{DateTime, Offset, TimeZone};
use onrush_ops::TimeZoneTable;
use parking_lot::Mutex;

/// The years in which changes are looked for: no zone has an earlier one, and the tables of zones end before the later
/// one.
const YEARS: (i64, i64) = (1800, 2120);
const DAY: i64 = 86_400;

/// Seconds ahead of UTC at a second since 1970.
fn offset(zone: &Tz, second: i64) -> Option<i64> {
    let moment = DateTime::from_timestamp(second, 0)?.naive_utc();
    Some(i64::from(zone.offset_from_utc_datetime(&moment).fix().local_minus_utc()))
}

/// A zone by its name, or a fixed distance such as `+05:30`. Its changes are looked for once.
pub fn find(name: &str) -> Option<Arc<TimeZoneTable>> {
    static TABLES: Mutex<Option<HashMap<String, Arc<TimeZoneTable>>>> = Mutex::new(None);
    let mut known = TABLES.lock();
    let known = known.get_or_insert_default();
    if let Some(zone) = known.get(name) {
        return Some(Arc::clone(zone));
    }
    let zone = Arc::new(table(&name.parse().ok()?)?);
    known.insert(name.to_string(), Arc::clone(&zone));
    Some(zone)
}

fn table(zone: &Tz) -> Option<TimeZoneTable> {
    let second_of = |year: i64| (year - 1970) * 365 * DAY;
    let (from, to) = (second_of(YEARS.0), second_of(YEARS.1));
    let mut now = offset(zone, from)?;
    let mut found = TimeZoneTable { starts: vec![i64::MIN], offsets: vec![now] };
    for day in (from..to).step_by(DAY as usize) {
        let next = offset(zone, day + DAY)?;
        if next == now {
            continue;
        }
        let (mut before, mut after) = (day, day + DAY);
        while after - before > 1 {
            let middle = before + (after - before) / 2;
            if offset(zone, middle)? == now { before = middle } else { after = middle }
        }
        // The conversion from local time looks only at the changes next to it.
        if found.starts.last().is_some_and(|last| after.saturating_sub(*last) < 2 * DAY) {
            return None;
        }
        found.starts.push(after);
        found.offsets.push(next);
        now = next;
    }
    Some(found)
}
