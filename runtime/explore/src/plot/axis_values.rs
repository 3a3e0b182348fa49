//! Maps a column to axis positions: numbers as values, times as seconds, all other types as category indexes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use chrono::{Offset as _, TimeZone as _};
use onrush_expr::diagnostics::{place, plan_error, type_name};
use onrush_expr::error::internal;
use onrush_frame::{Table, TaskHandle};
use onrush_stats::SampleStats;
use onrush_wire::plot::{Axis, AxisScale};
use onrush_wire::{Diagnostic, Expr, ExprKind};

use super::row_source::Rows;

#[derive(Clone)]
pub struct Column {
    pub label: String,
    pub scale: AxisScale,
    /// NaN where there is no value.
    pub positions: Vec<f64>,
    /// In the order in which they first appear; empty unless `scale` is [`AxisScale::Category`].
    pub categories: Vec<String>,
    dtype: DataType,
    /// Keys that tell times apart that have the same position.
    exact: Vec<i64>,
}

impl Column {
    /// The column at `index` of what was selected for `expr`.
    pub fn of(table: &Table, index: usize, expr: &Expr) -> Result<Self, Diagnostic> {
        let dtype = table.schema().field(index).data_type().clone();
        let mut column = Column {
            label: label(expr),
            scale: known_scale(&dtype, expr)?,
            positions: Vec::with_capacity(table.rows()),
            categories: Vec::new(),
            exact: Vec::new(),
            dtype,
        };
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut has_blanks = false;
        for batch in table.batches() {
            let array = batch.column(index);
            match column.scale {
                AxisScale::Number => column.positions.extend(floats(array, column.scale)?),
                AxisScale::Time => {
                    column.positions.extend(floats(array, column.scale)?);
                    column.exact.extend(keys_of(array)?.into_iter().map(Option::unwrap_or_default));
                }
                AxisScale::Category => {
                    let texts = broken(cast(array, &DataType::Utf8))?;
                    for text in texts.as_string::<i32>().iter() {
                        let position = text.map(|text| match known.get(text) {
                            Some(position) => *position,
                            None => {
                                known.insert(text.to_string(), column.categories.len());
                                let name = visible(text);
                                has_blanks |= name != text;
                                column.categories.push(name);
                                column.categories.len() - 1
                            }
                        });
                        column.positions.push(position.map_or(f64::NAN, |p| p as f64));
                    }
                }
            }
        }
        if has_blanks {
            different(&mut column.categories);
        }
        Ok(column)
    }

    /// # Errors
    /// If the column is not numeric.
    pub fn number(self, what: &str, expr: &Expr) -> Result<Self, Diagnostic> {
        must_be_number(self.scale, what, &self.label, expr).map(|()| self)
    }

    pub fn axis(&self) -> Axis {
        Axis { label: self.label.clone(), scale: self.scale, categories: self.categories.clone() }
    }

    /// Numbers and times become categories, in their order: an integer for each value.
    pub fn into_categories(mut self) -> Self {
        if self.scale == AxisScale::Category {
            return self;
        }
        let key = |row: usize| self.exact.get(row).copied().unwrap_or_else(|| rank_of(self.positions[row]));
        let keys: Vec<Option<i64>> =
            (0..self.positions.len()).map(|row| Some(key(row)).filter(|_| self.positions[row].is_finite())).collect();
        let mut distinct: Vec<i64> = keys.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        self.positions = keys.iter().map(|key| place_of(*key, &distinct)).collect();
        self.categories = key_names(&self.dtype, &distinct);
        self.scale = AxisScale::Category;
        self
    }

    /// The name of these rows.
    pub fn names(&self, rows: &[usize]) -> Vec<String> {
        let category = |row: &usize| self.categories.get(self.positions[*row] as usize).cloned().unwrap_or_default();
        match self.scale {
            AxisScale::Category => rows.iter().map(category).collect(),
            AxisScale::Time => key_names(&self.dtype, &rows.iter().map(|row| self.exact[*row]).collect::<Vec<_>>()),
            AxisScale::Number => names(self.scale, &rows.iter().map(|row| self.positions[*row]).collect::<Vec<_>>()),
        }
    }
}

/// A column that is walked through, and never held as a whole: numbers, times as seconds, categories as indexes.
pub struct Values {
    pub label: String,
    pub scale: AxisScale,
    pub is_integer: bool,
    /// Rows whose category is not shown.
    pub hidden: usize,
    index: usize,
    dtype: DataType,
    naming: Naming,
    /// The place of each category now, and the names of those that are left.
    places: Option<(Vec<f64>, Vec<String>)>,
}

/// The meaning of the positions of a column.
enum Naming {
    /// The values themselves.
    Values,
    /// Indexes of strings, in the order in which they first appear.
    Texts(RefCell<Texts>),
    /// Indexes of values, which are in order.
    Keys(Vec<i64>, Vec<String>),
}

#[derive(Default)]
struct Texts {
    known: HashMap<String, u32>,
    all: Vec<String>,
    has_blanks: bool,
    /// The indexes of pieces that come again in the next walk.
    pieces: Vec<Vec<u32>>,
}

/// Instead of an index, where there is no text.
const NO_TEXT: u32 = u32::MAX;

impl Texts {
    fn index(&mut self, text: &str) -> u32 {
        if let Some(index) = self.known.get(text) {
            return *index;
        }
        let index = self.all.len() as u32;
        self.known.insert(text.to_string(), index);
        let name = visible(text);
        self.has_blanks |= name != text;
        self.all.push(name);
        index
    }

    fn indexes(&mut self, array: &ArrayRef) -> Result<Vec<u32>, Diagnostic> {
        if let Some(dictionary) = array.as_any_dictionary_opt().filter(|d| d.values().len() <= array.len()) {
            // Strings of the dictionary that no row has must not become categories.
            let keys = dictionary.normalized_keys();
            let texts = broken(cast(dictionary.values(), &DataType::Utf8))?;
            let (texts, nulls) = (texts.as_string::<i32>(), array.logical_nulls());
            let mut indexes = vec![None; texts.len()];
            let of = |row: usize| match nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                true => *indexes[keys[row]].get_or_insert_with(|| self.index(texts.value(keys[row]))),
                false => NO_TEXT,
            };
            return Ok((0..array.len()).map(of).collect());
        }
        let texts = broken(cast(array, &DataType::Utf8))?;
        Ok(texts.as_string::<i32>().iter().map(|text| text.map_or(NO_TEXT, |text| self.index(text))).collect())
    }
}

impl Values {
    /// The column at `index` of what was selected for `expr`.
    pub fn of(rows: &Rows, index: usize, expr: &Expr) -> Result<Self, Diagnostic> {
        let dtype = rows.schema().field(index).data_type().clone();
        let scale = known_scale(&dtype, expr)?;
        let naming = match scale {
            AxisScale::Category => Naming::Texts(RefCell::default()),
            _ => Naming::Values,
        };
        let (label, is_integer) = (label(expr), dtype.is_integer());
        Ok(Values { label, scale, is_integer, hidden: 0, index, dtype, naming, places: None })
    }

    pub fn axis(&self) -> Axis {
        Axis { label: self.label.clone(), scale: self.scale, categories: self.categories() }
    }

    /// Categories seen so far; those of a string column are complete after one pass.
    pub fn categories(&self) -> Vec<String> {
        match (&self.places, &self.naming) {
            (Some((_, names)), _) | (None, Naming::Keys(_, names)) => names.clone(),
            (None, Naming::Values) => Vec::new(),
            (None, Naming::Texts(texts)) => {
                let mut names = texts.borrow().all.clone();
                if texts.borrow().has_blanks {
                    different(&mut names);
                }
                names
            }
        }
    }

    /// # Errors
    /// If the column is not numeric.
    pub fn number(self, what: &str, expr: &Expr) -> Result<Self, Diagnostic> {
        must_be_number(self.scale, what, &self.label, expr).map(|()| self)
    }

    /// # Errors
    /// If the column has neither numbers nor times.
    pub fn on_line(self, what: &str, expr: &Expr) -> Result<Self, Diagnostic> {
        if self.scale != AxisScale::Category {
            return Ok(self);
        }
        let message = format!("{what} needs numbers or times, and `{}` is text", self.label);
        Err(place(plan_error("plot-type", message), expr.span.as_ref(), None, "not a number"))
    }

    /// Calls `each` with every value; NaN for null.
    pub fn each(&self, rows: &Rows, task: &TaskHandle, mut each: impl FnMut(f64)) -> Result<(), Diagnostic> {
        each_of(rows, [Some(self)], task, |[value]| each(value))
    }

    /// Numbers and times become categories: those of `known`, or all that there are, in their order.
    pub fn into_categories(
        mut self,
        rows: &Rows,
        known: Option<&[i64]>,
        task: &TaskHandle,
    ) -> Result<Self, Diagnostic> {
        if self.scale != AxisScale::Category {
            let keys = match known {
                Some(known) => known.to_vec(),
                None => self.distinct(rows, usize::MAX, task)?,
            };
            let names = key_names(&self.dtype, &keys);
            (self.naming, self.scale) = (Naming::Keys(keys, names), AxisScale::Category);
        }
        Ok(self)
    }

    /// The values that are categories, if they were numbers or times.
    pub fn keys(&self) -> Option<&[i64]> {
        match &self.naming {
            Naming::Keys(keys, _) => Some(keys),
            _ => None,
        }
    }

    /// The different numbers or times, in order; one more than `most` if there are more.
    pub fn distinct(&self, rows: &Rows, most: usize, task: &TaskHandle) -> Result<Vec<i64>, Diagnostic> {
        let mut distinct = HashSet::new();
        rows.each(task, &mut |_, batch| {
            if distinct.len() <= most {
                let mut last = None;
                for key in keys_of(batch.column(self.index))? {
                    // Neighbours are often the same.
                    if key != last && distinct.len() <= most {
                        distinct.extend(key);
                        last = key;
                    }
                }
            }
            Ok(())
        })?;
        let mut distinct: Vec<i64> = distinct.into_iter().collect();
        distinct.sort_unstable();
        Ok(distinct)
    }

    /// Leaves the `most` categories with most rows, in their order; rows of others have no position any more. Returns
    /// how many categories there were. In a walk, if there can be more.
    pub fn keep_most(&mut self, rows: &Rows, most: usize, task: &TaskHandle) -> Result<usize, Diagnostic> {
        if let Naming::Keys(keys, _) = &self.naming
            && keys.len() <= most
        {
            return Ok(keys.len());
        }
        let mut sizes: Vec<usize> = Vec::new();
        self.each(rows, task, |at| {
            if at >= 0.0 {
                *grown(&mut sizes, at as usize) += 1;
            }
        })?;
        let names = self.categories();
        let all = names.len();
        if all <= most {
            return Ok(all);
        }
        sizes.resize(all, 0);
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|i| std::cmp::Reverse(sizes[*i]));
        let mut kept = order[..most].to_vec();
        kept.sort_unstable();
        let mut places = vec![f64::NAN; all];
        kept.iter().enumerate().for_each(|(at, old)| places[*old] = at as f64);
        self.hidden = order[most..].iter().map(|i| sizes[*i]).sum();
        self.places = Some((places, kept.into_iter().map(|i| names[i].clone()).collect()));
        Ok(all)
    }

    /// Computes the range, the sums for mean and deviation, and a sample of at most `2 * sample` values, all of `of`
    /// each value.
    pub fn sample_stats(
        &self,
        rows: &Rows,
        task: &TaskHandle,
        sample: usize,
        of: impl Fn(f64) -> f64,
    ) -> Result<SampleStats, Diagnostic> {
        let (mut stats, mut taken) = (SampleStats::default(), Vec::new());
        let (mut every, mut row) = (1, 0usize);
        self.each(rows, task, |value| {
            let value = of(value);
            stats.add(value);
            if row.is_multiple_of(every) && value.is_finite() {
                taken.push(value);
                if taken.len() > 2 * sample {
                    // Every second value stays, so the distance between sampled rows doubles.
                    let mut nth = 0;
                    taken.retain(|_| {
                        nth += 1;
                        nth % 2 == 1
                    });
                    every *= 2;
                }
            }
            row += 1;
        })?;
        stats.sample = taken;
        Ok(stats)
    }

    /// The positions of a piece of rows.
    pub fn read(&self, rows: &Rows, piece: usize, batch: &RecordBatch) -> Result<Vec<f64>, Diagnostic> {
        let array = batch.column(self.index);
        let position = |index: u32| if index == NO_TEXT { f64::NAN } else { f64::from(index) };
        let mut positions: Vec<f64> = match &self.naming {
            Naming::Values => return floats(array, self.scale),
            Naming::Keys(keys, _) => keys_of(array)?.into_iter().map(|key| place_of(key, keys)).collect(),
            Naming::Texts(texts) => {
                let mut texts = texts.borrow_mut();
                match texts.pieces.get(piece).filter(|piece| piece.len() == array.len()) {
                    Some(indexes) => indexes.iter().copied().map(position).collect(),
                    None => {
                        let indexes = texts.indexes(array)?;
                        let positions = indexes.iter().copied().map(position).collect();
                        if rows.is_held() && texts.pieces.len() == piece {
                            texts.pieces.push(indexes);
                        }
                        positions
                    }
                }
            }
        };
        if let Some((places, _)) = &self.places {
            for position in positions.iter_mut().filter(|p| **p >= 0.0) {
                *position = places.get(*position as usize).copied().unwrap_or(f64::NAN);
            }
        }
        Ok(positions)
    }
}

/// Every row with its values in several columns; NaN for a column that is not there.
pub fn each_of<const N: usize>(
    rows: &Rows,
    columns: [Option<&Values>; N],
    task: &TaskHandle,
    mut each: impl FnMut([f64; N]),
) -> Result<(), Diagnostic> {
    rows.each(task, &mut |piece, batch| {
        let mut lists = [const { Vec::new() }; N];
        for (list, column) in lists.iter_mut().zip(columns) {
            *list = match column {
                Some(column) => column.read(rows, piece, batch)?,
                None => vec![f64::NAN; batch.num_rows()],
            };
        }
        (0..batch.num_rows()).for_each(|i| each(std::array::from_fn(|n| lists[n][i])));
        Ok(())
    })
}

/// The element of a list that has as many as are asked for.
pub fn grown<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if index >= list.len() {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

fn broken<T>(result: Result<T, arrow::error::ArrowError>) -> Result<T, Diagnostic> {
    result.map_err(|e| internal(&format!("a plot's column could not be read: {e}")))
}

fn must_be_number(scale: AxisScale, what: &str, label: &str, expr: &Expr) -> Result<(), Diagnostic> {
    if scale == AxisScale::Number {
        return Ok(());
    }
    let found = if scale == AxisScale::Time { "a time" } else { "text" };
    let diagnostic = plan_error("plot-type", format!("{what} needs a number, and `{label}` is {found}"));
    Err(place(diagnostic, expr.span.as_ref(), None, "not a number"))
}

fn known_scale(dtype: &DataType, expr: &Expr) -> Result<AxisScale, Diagnostic> {
    scale(dtype).ok_or_else(|| {
        let message = format!("a column of type `{}` has no place on an axis", type_name(dtype));
        place(plan_error("plot-type", message), expr.span.as_ref(), None, "")
            .help("plots take numbers, times, strings and booleans")
    })
}

/// An array of numbers, or of times as seconds.
fn floats(array: &ArrayRef, scale: AxisScale) -> Result<Vec<f64>, Diagnostic> {
    if scale == AxisScale::Number {
        return Ok(match array.data_type() {
            DataType::Duration(unit) => seconds(&broken(cast(array, &DataType::Int64))?, *unit),
            _ => numbers(&broken(cast(array, &DataType::Float64))?),
        });
    }
    Ok(seconds(&instants(array)?, unit_of(array.data_type())))
}

/// Dates, too, become timestamps. Times with a zone become the times that a clock there shows, so that days begin at
/// midnight there.
fn instants(array: &ArrayRef) -> Result<ArrayRef, Diagnostic> {
    broken(match array.data_type() {
        DataType::Timestamp(unit, Some(zone)) => {
            cast(array, &DataType::Int64).and_then(|a| clock_times(&a, *unit, zone))
        }
        DataType::Timestamp(..) => cast(array, &DataType::Int64),
        _ => cast(array, &DataType::Timestamp(TimeUnit::Millisecond, None)).and_then(|a| cast(&a, &DataType::Int64)),
    })
}

/// Instants as clock times of a zone.
fn clock_times(instants: &ArrayRef, unit: TimeUnit, zone: &str) -> Result<ArrayRef, arrow::error::ArrowError> {
    let zone: Tz = zone.parse()?;
    let per_second = per_second(unit) as i64;
    // Neighbors mostly have the same offset, which changes at whole quarters of an hour.
    let mut known = (i64::MIN, 0);
    let mut clock = |instant: i64| {
        let quarter = instant.div_euclid(per_second).div_euclid(900);
        if quarter != known.0 {
            let time = chrono::DateTime::from_timestamp(quarter * 900, 0);
            let offset =
                time.map_or(0, |time| zone.offset_from_utc_datetime(&time.naive_utc()).fix().local_minus_utc());
            known = (quarter, i64::from(offset));
        }
        instant.saturating_add(known.1 * per_second)
    };
    Ok(Arc::new(
        instants.as_primitive::<Int64Type>().iter().map(|instant| instant.map(&mut clock)).collect::<Int64Array>(),
    ))
}

/// In what the instants of a type of times are counted.
fn unit_of(dtype: &DataType) -> TimeUnit {
    match dtype {
        DataType::Timestamp(unit, _) => *unit,
        DataType::Dictionary(_, value) => unit_of(value),
        _ => TimeUnit::Millisecond,
    }
}

/// The keys that tell values apart and have their order: instants of times, ranks of numbers. None of what has no
/// place.
fn keys_of(array: &ArrayRef) -> Result<Vec<Option<i64>>, Diagnostic> {
    if scale(array.data_type()) == Some(AxisScale::Time) {
        return Ok(instants(array)?.as_primitive::<Int64Type>().iter().collect());
    }
    let numbers = floats(array, AxisScale::Number)?.into_iter();
    Ok(numbers.map(|value| Some(value).filter(|v| v.is_finite()).map(rank_of)).collect())
}

/// The index of a key among those that are different and in order.
fn place_of(key: Option<i64>, among: &[i64]) -> f64 {
    key.and_then(|key| among.binary_search(&key).ok()).map_or(f64::NAN, |at| at as f64)
}

/// Maps a number to an integer with the same order; 0 and -0 are equal.
pub fn rank_of(value: f64) -> i64 {
    flipped((value + 0.0).to_bits() as i64)
}

/// The number of a [`rank_of`].
pub fn ranked(rank: i64) -> f64 {
    f64::from_bits(flipped(rank) as u64)
}

/// Numbers below 0 have their bits in the wrong order, as in [`f64::total_cmp`].
fn flipped(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Gives each of several names that are the same a number.
pub fn different(names: &mut [String]) {
    let mut known: HashSet<String> = HashSet::new();
    for name in names {
        let mut numbered = name.clone();
        let mut number = 2;
        while !known.insert(numbered.clone()) {
            numbered = format!("{name} ({number})");
            number += 1;
        }
        *name = numbered;
    }
}

/// Formats empty and blank strings as tables do, because a legend would show nothing for them.
pub fn visible(text: &str) -> String {
    if !text.trim().is_empty() {
        return text.to_string();
    }
    let blanks: String = text
        .chars()
        .map(|c| {
            if c == '\n' {
                '⏎'
            } else if c == '\t' {
                '⇥'
            } else {
                '␣'
            }
        })
        .collect();
    format!("\"{blanks}\"")
}

/// The names of positions of an axis without categories, in as few digits as tell neighbours apart.
pub fn names(scale: AxisScale, positions: &[f64]) -> Vec<String> {
    closest(|detail| positions.iter().map(|at| text(scale, *at, detail)).collect())
}

/// The names of the values of [`keys_of`] a column of this type.
fn key_names(dtype: &DataType, keys: &[i64]) -> Vec<String> {
    if scale(dtype) != Some(AxisScale::Time) {
        return names(AxisScale::Number, &keys.iter().copied().map(ranked).collect::<Vec<_>>());
    }
    let per_second = per_second(unit_of(dtype)) as i64;
    let time = |key: &i64| {
        let nanoseconds = key.rem_euclid(per_second) * (1_000_000_000 / per_second);
        chrono::DateTime::from_timestamp(key.div_euclid(per_second), nanoseconds as u32)
    };
    let named = |key: &i64, detail| time(key).map_or_else(|| key.to_string(), |time| time_text(time, detail));
    closest(|detail| keys.iter().map(|key| named(key, detail)).collect())
}

/// The names with the fewest digits that tell neighbours apart.
fn closest(named: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    let mut all = named(0);
    for detail in 1..=DETAILS {
        if all.windows(2).all(|two| two[0] != two[1]) {
            break;
        }
        all = named(detail);
    }
    all
}

const DETAILS: usize = 4;

/// With six digits, and without seconds; each `detail` has more.
fn text(scale: AxisScale, position: f64, detail: usize) -> String {
    match (scale, chrono::DateTime::from_timestamp_micros((position * 1e6).round() as i64)) {
        (AxisScale::Time, Some(time)) => time_text(time, detail),
        _ => {
            let digits = [5, 8, 11, 16, 16][detail];
            let rounded: f64 = format!("{position:.digits$e}").parse().unwrap_or(position);
            let is_plain = rounded == 0.0 || (1e-4..1e15).contains(&rounded.abs()) || !rounded.is_finite();
            if is_plain { rounded.to_string() } else { format!("{rounded:e}") }
        }
    }
}

fn time_text(time: chrono::DateTime<chrono::Utc>, detail: usize) -> String {
    let date = "%Y-%m-%d";
    if time.time() == chrono::NaiveTime::MIN {
        return time.format(date).to_string();
    }
    let clock = ["%H:%M", "%H:%M:%S", "%H:%M:%S%.3f", "%H:%M:%S%.6f", "%H:%M:%S%.9f"][detail];
    time.format(&format!("{date} {clock}")).to_string()
}

/// The kind of axis that a type has; `None` if it has no place on one.
pub fn scale(dtype: &DataType) -> Option<AxisScale> {
    match dtype {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Some(AxisScale::Time),
        DataType::Duration(_) => Some(AxisScale::Number),
        t if t.is_numeric() => Some(AxisScale::Number),
        // A column without any value has a place everywhere.
        DataType::Null => Some(AxisScale::Number),
        DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(AxisScale::Category),
        DataType::Dictionary(_, value) => scale(value),
        _ => None,
    }
}

fn numbers(array: &dyn Array) -> Vec<f64> {
    array.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)).collect()
}

fn seconds(array: &dyn Array, unit: TimeUnit) -> Vec<f64> {
    let per_second = per_second(unit);
    array.as_primitive::<Int64Type>().iter().map(|v| v.map_or(f64::NAN, |v| v as f64 / per_second)).collect()
}

fn per_second(unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => 1e3,
        TimeUnit::Microsecond => 1e6,
        TimeUnit::Nanosecond => 1e9,
    }
}

/// Levels of an expression that is an axis' label.
const READABLE: usize = 20;

/// The expression that an alias names.
pub fn without_alias(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Alias(inner, _) => without_alias(inner),
        _ => expr,
    }
}

/// The name of an axis: the column's name, or the expression in short.
pub fn label(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Column(name) | ExprKind::Alias(_, name) => name.clone(),
        _ if expr.depth() > READABLE => "value".to_string(),
        _ => short_label(expr),
    }
}

fn short_label(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Column(name) | ExprKind::Alias(_, name) => name.clone(),
        ExprKind::Call { function, args } => {
            let args: Vec<String> = args.iter().map(|a| short_label(&a.value)).collect();
            format!("{function}({})", args.join(", "))
        }
        ExprKind::Native { function, args } => {
            format!("{}({})", function.name, args.iter().map(short_label).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Model(output) => output.output.clone(),
        ExprKind::Binary(op, a, b) => format!("{} {} {}", short_label(a), op.symbol(), short_label(b)),
        ExprKind::Unary(_, a) | ExprKind::Cast { value: a, .. } | ExprKind::Over { value: a, .. } => short_label(a),
        ExprKind::Literal(_) => "constant".to_string(),
        ExprKind::Case { .. } | ExprKind::In { .. } | ExprKind::Between { .. } | ExprKind::All { .. } => {
            "value".to_string()
        }
    }
}
