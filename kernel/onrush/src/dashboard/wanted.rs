//! Selections from code: ranges, one value, lists of values.

use std::ops::{Range, RangeFrom, RangeInclusive, RangeTo, RangeToInclusive};

use onrush_wire::Value;
use onrush_wire::dashboard::SlotQuery;

/// A range of numbers or times, one value, or a list of values. Times are written as strings:
/// `"2013-02-01".."2013-03-01"`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be selected in a dashboard",
    label = "expected a range, a value or a list of values",
    note = "write `7..=9`, `0.0..60.0`, `\"AA\"`, `[\"AA\", \"UA\"]`, or `\"2013-02-01\"..`"
)]
pub trait IntoWanted {
    #[doc(hidden)]
    fn into_wanted(self) -> SlotQuery;
}

fn range(low: Option<Value>, high: Option<Value>, is_closed: bool) -> SlotQuery {
    SlotQuery::Range { low, high, is_closed }
}

impl<T: Into<Value>> IntoWanted for Range<T> {
    fn into_wanted(self) -> SlotQuery {
        range(Some(self.start.into()), Some(self.end.into()), false)
    }
}

impl<T: Into<Value>> IntoWanted for RangeInclusive<T> {
    fn into_wanted(self) -> SlotQuery {
        let (low, high) = self.into_inner();
        range(Some(low.into()), Some(high.into()), true)
    }
}

impl<T: Into<Value>> IntoWanted for RangeFrom<T> {
    fn into_wanted(self) -> SlotQuery {
        range(Some(self.start.into()), None, true)
    }
}

impl<T: Into<Value>> IntoWanted for RangeTo<T> {
    fn into_wanted(self) -> SlotQuery {
        range(None, Some(self.end.into()), false)
    }
}

impl<T: Into<Value>> IntoWanted for RangeToInclusive<T> {
    fn into_wanted(self) -> SlotQuery {
        range(None, Some(self.end.into()), true)
    }
}

impl<T: Into<Value>, const N: usize> IntoWanted for [T; N] {
    fn into_wanted(self) -> SlotQuery {
        SlotQuery::Values(self.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> IntoWanted for Vec<T> {
    fn into_wanted(self) -> SlotQuery {
        SlotQuery::Values(self.into_iter().map(Into::into).collect())
    }
}

macro_rules! one {
    ($($t:ty),*) => {$(
        impl IntoWanted for $t {
            fn into_wanted(self) -> SlotQuery {
                SlotQuery::Values(vec![self.into()])
            }
        }
    )*};
}
one!(&str, String, i32, i64, u32, u64, f64, bool);
