//! Methods of `Expr` with the names of Polars, for completion and inspection. `x!` does not need them: it sends any
//! method name to the session, which knows more functions and all their options.

use super::{Expr, ToExpr};
use crate::raise::here;

/// Functions of strings; see [`Expr::str`].
#[derive(Clone)]
pub struct ExprStr(pub(super) Expr);

/// Functions of dates and times; see [`Expr::dt`].
#[derive(Clone)]
pub struct ExprDt(pub(super) Expr);

/// Functions of lists; see [`Expr::list`].
#[derive(Clone)]
pub struct ExprList(pub(super) Expr);

macro_rules! methods {
    ($type:ty, |$this:ident| $receiver:expr, $prefix:literal: $($(#[$doc:meta])* $name:ident($($arg:ident),*);)*) => {
        impl $type {$(
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $name(&self $(, $arg: impl ToExpr)*) -> Expr {
                let $this = self;
                $receiver.method(concat!($prefix, stringify!($name)), vec![$($arg.into_expr().0),*], here(stringify!($name)))
            }
        )*}
    };
}

methods! { Expr, |this| this, "":
    /// Number of values that are not null.
    count();
    /// Number of nulls.
    null_count();
    /// Sum; nulls are ignored, and the sum of no values is 0.
    sum();
    /// Arithmetic mean of the values that are not null; null if there are none.
    mean();
    /// Median; nulls are ignored.
    median();
    /// Minimum; nulls are ignored.
    min();
    /// Maximum; nulls are ignored.
    max();
    /// Sample standard deviation (divisor n − 1).
    std();
    /// Sample variance (divisor n − 1).
    var();
    /// The quantile `q` (0 to 1). Option in `x!`: `interpolation = "linear"`.
    quantile(q);
    /// Number of distinct values; null counts as one.
    n_unique();
    /// First value, null or not.
    first();
    /// Last value, null or not.
    last();
    /// Product of the values.
    product();
    /// Whether a condition is true for at least one row.
    any();
    /// Correlation (Pearson) with another column.
    corr(other);
    /// Sample covariance with another column.
    cov(other);
    /// The group's values as a list.
    implode();
    /// Skewness (Fisher-Pearson, biased as in Polars and SciPy). Option in `x!`: `bias = false`.
    skew();
    /// Kurtosis (Fisher: 0 for a normal distribution; biased). Options in `x!`: `fisher = false`, `bias = false`.
    kurtosis();
    /// Number of the row with the greatest value, from 0 in each group.
    arg_max();
    /// Number of the row with the smallest value, from 0 in each group.
    arg_min();

    /// Whether the value is null.
    is_null();
    /// Whether the value is not null.
    is_not_null();
    /// Whether a number is NaN. Null stays null.
    is_nan();
    /// Whether a number is neither infinite nor NaN.
    is_finite();
    /// `value` instead of null.
    fill_null(value);
    /// `value` instead of NaN.
    fill_nan(value);
    /// The values that are not null, for an aggregate: `col("x").drop_nulls().n_unique()`.
    drop_nulls();
    /// Null if the values are equal.
    null_if(value);
    /// Forward fill: null becomes the last value before it.
    forward_fill();
    /// Backward fill: null becomes the next value after it.
    backward_fill();
    /// Bins numbers into intervals between `breaks` (an array of numbers); gives the name of the interval.
    cut(breaks);
    /// Bins numbers into intervals between quantiles: so many intervals, or a list of shares such as `[0.25, 0.75]`.
    /// Raises if two quantiles are equal. Options in `x!`: `labels = [..]`, `left_closed = true`, `allow_duplicates =
    /// true`.
    qcut(quantiles);
    /// Other values for some values, by a `HashMap`, or by pairs `[("a", "b")]`; the rest stays. The type stays, too.
    replace(map);
    /// Other values for all values, which may have another type. Raises for a value that is not in the map. Option in
    /// `x!`: `default = value`.
    replace_strict(map);
    /// A field of a struct; in `x!` also `user.name`.
    field(name);

    /// Absolute value.
    abs();
    /// Square root; NaN below 0.
    sqrt();
    /// e to the power of this.
    exp();
    /// Logarithm to `base`.
    log(base);
    /// Natural logarithm.
    ln();
    /// Logarithm to base 10.
    log10();
    /// Sine of radians.
    sin();
    /// Cosine of radians.
    cos();
    /// Tangent of radians.
    tan();
    /// Floor: the next integer at or below.
    floor();
    /// Ceiling: the next integer at or above.
    ceil();
    /// Rounded to `decimals` places; halves go to the even neighbour.
    round(decimals);
    /// −1, 0 or 1.
    sign();
    /// This to the power of `exponent`.
    pow(exponent);
    /// Clamped to the range from `low` to `high`.
    clip(low, high);
    /// Division, rounded down.
    floor_div(other);

    /// The value `n` rows before (after, if `n` is negative); null at the edge.
    shift(n);
    /// Difference from the value `n` rows before.
    diff(n);
    /// Relative change from the value `n` rows before.
    pct_change(n);
    /// Rank from 1; equal values share the mean of their ranks. Options in `x!`: `method = "dense"`, `descending =
    /// true`.
    rank();
    /// Cumulative sum.
    cum_sum();
    /// Cumulative minimum.
    cum_min();
    /// Cumulative maximum.
    cum_max();
    /// Cumulative product.
    cum_prod();
    /// Cumulative count of values.
    cum_count();
    /// Mean of the last `window_size` rows; null before there are as many.
    rolling_mean(window_size);
    /// Sum of the last `window_size` rows.
    rolling_sum(window_size);
    /// Minimum of the last `window_size` rows.
    rolling_min(window_size);
    /// Maximum of the last `window_size` rows.
    rolling_max(window_size);
    /// Standard deviation of the last `window_size` rows.
    rolling_std(window_size);
    /// Median of the last `window_size` rows.
    rolling_median(window_size);
    /// Quantile `q` (0 to 1) of the last `window_size` rows. Option in `x!`: `interpolation = "linear"`.
    rolling_quantile(q, window_size);
    /// Correlation with another column over the last `window_size` rows.
    rolling_corr(other, window_size);
    /// Covariance with another column over the last `window_size` rows.
    rolling_cov(other, window_size);
    /// Mean of the rows whose `by` (a time) is at most `window_size` (such as `"2h"`) before this row's.
    rolling_mean_by(by, window_size);
    /// Sum of the rows whose `by` (a time) is at most `window_size` before this row's.
    rolling_sum_by(by, window_size);
    /// Minimum of the rows whose `by` (a time) is at most `window_size` before this row's.
    rolling_min_by(by, window_size);
    /// Maximum of the rows whose `by` (a time) is at most `window_size` before this row's.
    rolling_max_by(by, window_size);
    /// Standard deviation of the rows whose `by` (a time) is at most `window_size` before this row's.
    rolling_std_by(by, window_size);
    /// Median of the rows whose `by` (a time) is at most `window_size` before this row's.
    rolling_median_by(by, window_size);
    /// Linear interpolation of nulls between two values.
    interpolate();
    /// Exponentially weighted mean with the weight `alpha` of the newest value. In `x!` also `span = 10`, `com = 2`,
    /// `half_life = 5`; options: `adjust = false`, `min_samples = 3`, `ignore_nulls = true`.
    ewm_mean(alpha);
    /// Whether no other row has this value.
    is_unique();
    /// Whether another row has this value too.
    is_duplicated();
}

methods! { ExprStr, |this| this.0, "str.":
    /// Whether the pattern (a regular expression) occurs. Option in `x!`: `literal = true`.
    contains(pattern);
    /// Whether the string begins with `prefix`.
    starts_with(prefix);
    /// Whether the string ends with `suffix`.
    ends_with(suffix);
    /// Number of characters.
    len_chars();
    /// Number of bytes in UTF-8.
    len_bytes();
    /// In upper case.
    to_uppercase();
    /// In lower case.
    to_lowercase();
    /// Each word with a capital.
    to_titlecase();
    /// Characters in reverse order; an accent stays with its letter.
    reverse();
    /// Without white space at both ends.
    strip_chars();
    /// Without `prefix`, if it begins with it.
    strip_prefix(prefix);
    /// Without `suffix`, if it ends with it.
    strip_suffix(suffix);
    /// The first match of the pattern (a regular expression) replaced.
    replace(pattern, value);
    /// All matches of the pattern (a regular expression) replaced.
    replace_all(pattern, value);
    /// `length` characters from `offset`; a negative offset counts from the end.
    slice(offset, length);
    /// The first `n` characters.
    head(n);
    /// The last `n` characters.
    tail(n);
    /// Substrings between separators, as a list.
    split(by);
    /// The match of the pattern's group `group_index` (0: the whole match); null without a match.
    extract(pattern, group_index);
    /// All matches, as a list.
    extract_all(pattern);
    /// Number of matches.
    count_matches(pattern);
    /// Byte offset of the first match; null without one.
    find(pattern);
    /// Filled with zeros on the left to `length`.
    zfill(length);
    /// Filled on the left to `length` characters.
    pad_start(length, fill_char);
    /// Filled on the right to `length` characters.
    pad_end(length, fill_char);
    /// A date, by a format such as `"%d.%m.%Y"`.
    to_date(format);
    /// A timestamp, by a format such as `"%Y-%m-%d %H:%M"`.
    to_datetime(format);
    /// The value at a path such as `"$.user.tags[0]"` in a string of JSON, as a string; null without one.
    json_path(path);
    /// An integer parsed from the string.
    to_integer();
    /// The strings of a group joined by `delimiter` into one.
    join(delimiter);
}

methods! { ExprDt, |this| this.0, "dt.":
    /// Calendar year.
    year();
    /// Quarter, 1 to 4.
    quarter();
    /// Month, 1 to 12.
    month();
    /// Week by ISO 8601, 1 to 53.
    week();
    /// Day of the week, Monday 1 to Sunday 7.
    weekday();
    /// Day of the month, 1 to 31.
    day();
    /// Day of the year, 1 to 366.
    ordinal_day();
    /// Hour, 0 to 23.
    hour();
    /// Minute, 0 to 59.
    minute();
    /// Second, 0 to 59.
    second();
    /// Milliseconds of the second.
    millisecond();
    /// Microseconds of the second.
    microsecond();
    /// The day without its time.
    date();
    /// The time without its day.
    time();
    /// Truncated to an interval such as `"1h"`, `"1d"`, `"1mo"`.
    truncate(every);
    /// A string, by a format such as `"%Y-%m"`.
    strftime(format);
    /// The time since 1970 as an integer: `unit` is `"s"`, `"ms"`, `"us"` or `"ns"`.
    epoch(unit);
    /// The same moment in another time zone.
    convert_time_zone(time_zone);
    /// The same wall clock in a time zone. Raises for a time that occurs twice or never. Options in `x!`: `ambiguous =
    /// "earliest"`, `"latest"` or `"null"`, and `non_existent = "null"`.
    replace_time_zone(time_zone);
    /// A duration in whole days.
    total_days();
    /// A duration in whole hours.
    total_hours();
    /// A duration in whole minutes.
    total_minutes();
    /// A duration in whole seconds.
    total_seconds();
    /// Shifted by an interval such as `"1d"`, `"-2h"` or `"1mo2d12h"`.
    offset_by(by);
}

methods! { ExprList, |this| this.0, "list.":
    /// Number of elements.
    len();
    /// The element at `index`, from 0; a negative index counts from the end. Null beyond the ends.
    get(index);
    /// The first element.
    first();
    /// The last element.
    last();
    /// Sum of the elements; nulls are left out.
    sum();
    /// Mean of the elements; nulls are left out.
    mean();
    /// Median of the elements; nulls are left out.
    median();
    /// Sample standard deviation of the elements.
    std();
    /// Smallest element.
    min();
    /// Largest element.
    max();
    /// Elements in ascending order, nulls first. Options in `x!`: `descending = true`, `nulls_last = true`.
    sort();
    /// Each element once, in the order of the first ones.
    unique();
    /// Number of different elements.
    n_unique();
    /// Elements in reverse order.
    reverse();
    /// The first `n` elements.
    head(n);
    /// The last `n` elements.
    tail(n);
    /// `length` elements from `offset`; a negative offset counts from the end.
    slice(offset, length);
    /// Strings joined by `separator`.
    join(separator);
    /// Whether `item` is an element.
    contains(item);
}
