//! A column as positions on an axis: numbers as they are, times as seconds, everything else as indexes of categories.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plot::statistics::Survey;
use onrush_wire::plot::{Axis, AxisScale};
use onrush_wire::{Diagnostic, Expr, ExprKind};

use crate::check::{place, plan_error, type_name};
use crate::error::internal;

#[derive(Clone)]
pub struct Column {
    pub label: String,
    pub scale: AxisScale,
    /// NaN where there is no value.
    pub positions: Vec<f64>,
    /// In the order in which they first appear; empty unless `scale` is [`AxisScale::Category`].
    pub categories: Vec<String>,
    /// Rows whose category is not shown.
    pub hidden: usize,
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
            hidden: 0,
        };
        let broken = |e: arrow::error::ArrowError| internal(&format!("a plot's column could not be read: {e}"));
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut has_blanks = false;
        for batch in table.batches() {
            let array = batch.column(index);
            match column.scale {
                AxisScale::Number | AxisScale::Time => column.positions.extend(floats(array, column.scale)?),
                AxisScale::Category => {
                    let texts = cast(array, &DataType::Utf8).map_err(broken)?;
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
    /// If it is no number.
    pub fn number(self, what: &str, expr: &Expr) -> Result<Self, Diagnostic> {
        must_be_number(self.scale, what, &self.label, expr).map(|()| self)
    }

    pub fn axis(&self) -> Axis {
        Axis { label: self.label.clone(), scale: self.scale, categories: self.categories.clone() }
    }

    /// Numbers and times become categories, in their order: an integer for each value.
    pub fn into_categories(self) -> Self {
        let values = self.distinct();
        self.among(&values)
    }

    /// The different values of numbers or times, in order.
    pub fn distinct(&self) -> Vec<f64> {
        let finite = self.positions.iter().filter(|p| p.is_finite() && self.scale != AxisScale::Category);
        let mut values: Vec<f64> = finite.map(|p| p + 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// Numbers and times become categories: those of `values`, which are all different and in order. Texts stay.
    pub fn among(mut self, values: &[f64]) -> Self {
        if self.scale == AxisScale::Category {
            return self;
        }
        for position in &mut self.positions {
            *position = values.binary_search_by(|v| v.total_cmp(&(*position + 0.0))).map_or(f64::NAN, |i| i as f64);
        }
        self.categories = names(self.scale, values);
        self.scale = AxisScale::Category;
        self
    }

    /// What these positions are called.
    pub fn names(&self, positions: &[f64]) -> Vec<String> {
        let category = |at: &f64| self.categories.get(*at as usize).cloned().unwrap_or_default();
        match self.scale {
            AxisScale::Category => positions.iter().map(category).collect(),
            scale => names(scale, positions),
        }
    }
}

/// A column of numbers or times that is walked through, and never held as a whole.
pub struct Values {
    pub label: String,
    pub scale: AxisScale,
    pub is_integer: bool,
    arrays: Vec<ArrayRef>,
}

impl Values {
    /// The column at `index` of what was selected for `expr`.
    pub fn of(table: &Table, index: usize, expr: &Expr) -> Result<Self, Diagnostic> {
        let dtype = table.schema().field(index).data_type().clone();
        let arrays = table.batches().iter().map(|batch| Arc::clone(batch.column(index))).collect();
        Ok(Values { label: label(expr), scale: known_scale(&dtype, expr)?, is_integer: dtype.is_integer(), arrays })
    }

    pub fn axis(&self) -> Axis {
        Axis { label: self.label.clone(), scale: self.scale, categories: Vec::new() }
    }

    /// # Errors
    /// If it is no number.
    pub fn number(self, what: &str, expr: &Expr) -> Result<Self, Diagnostic> {
        must_be_number(self.scale, what, &self.label, expr).map(|()| self)
    }

    /// Every row with its value; NaN where there is none.
    pub fn each(&self, task: &TaskHandle, mut each: impl FnMut(usize, f64)) -> Result<(), Diagnostic> {
        each_of([Some(self)], self.rows(), task, |row, [value]| each(row, value))
    }

    fn rows(&self) -> usize {
        self.arrays.iter().map(|array| array.len()).sum()
    }

    /// Range, moments and about `sample` of the values.
    pub fn survey(&self, task: &TaskHandle, sample: usize) -> Result<Survey, Diagnostic> {
        let every = self.rows().div_ceil(sample).max(1);
        let (mut survey, mut taken) = (Survey::default(), Vec::new());
        self.each(task, |row, value| {
            survey.add(value);
            if row.is_multiple_of(every) && value.is_finite() {
                taken.push(value);
            }
        })?;
        survey.sample = taken;
        Ok(survey)
    }
}

/// Rows that are looked at together.
const ROWS: usize = 1 << 16;

/// Every one of a table's `rows` with the values of several of its columns; NaN for a column that is not there.
pub fn each_of<const N: usize>(
    columns: [Option<&Values>; N],
    rows: usize,
    task: &TaskHandle,
    mut each: impl FnMut(usize, [f64; N]),
) -> Result<(), Diagnostic> {
    let Some(lengths) = columns.iter().flatten().next().map(|c| c.arrays.iter().map(|a| a.len())) else {
        for start in (0..rows).step_by(ROWS) {
            task.check()?;
            (start..rows.min(start + ROWS)).for_each(|row| each(row, [f64::NAN; N]));
        }
        return Ok(());
    };
    let mut row = 0;
    for (batch, length) in lengths.enumerate() {
        for start in (0..length).step_by(ROWS) {
            task.check()?;
            let count = ROWS.min(length - start);
            let mut lists = [const { Vec::new() }; N];
            for (list, column) in lists.iter_mut().zip(&columns) {
                match column {
                    Some(column) => *list = floats(&column.arrays[batch].slice(start, count), column.scale)?,
                    None => *list = vec![f64::NAN; count],
                }
            }
            for i in 0..count {
                each(row, std::array::from_fn(|n| lists[n][i]));
                row += 1;
            }
        }
    }
    Ok(())
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
            .help("plots take numbers, times, texts and booleans")
    })
}

/// An array of numbers, or of times as seconds.
fn floats(array: &ArrayRef, scale: AxisScale) -> Result<Vec<f64>, Diagnostic> {
    let broken = |e: arrow::error::ArrowError| internal(&format!("a plot's column could not be read: {e}"));
    if scale == AxisScale::Number {
        return Ok(match array.data_type() {
            DataType::Duration(unit) => seconds(&cast(array, &DataType::Int64).map_err(broken)?, *unit),
            _ => numbers(&cast(array, &DataType::Float64).map_err(broken)?),
        });
    }
    // Dates, too, become timestamps; a zone is left aside, because positions are instants.
    let unit = match array.data_type() {
        DataType::Timestamp(unit, _) => *unit,
        _ => TimeUnit::Millisecond,
    };
    let instants = match array.data_type() {
        DataType::Timestamp(..) => cast(array, &DataType::Int64),
        _ => cast(array, &DataType::Timestamp(unit, None)).and_then(|a| cast(&a, &DataType::Int64)),
    };
    Ok(seconds(&instants.map_err(broken)?, unit))
}

/// A whole number for each number, in the same order; 0 and -0 are one.
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

/// Texts of no or only blank characters as they are shown in tables: a legend would have nothing to say of them.
fn visible(text: &str) -> String {
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

/// What positions of an axis without categories are called, in as few digits as tell neighbours apart.
pub fn names(scale: AxisScale, positions: &[f64]) -> Vec<String> {
    let named = |detail| -> Vec<String> { positions.iter().map(|at| text(scale, *at, detail)).collect() };
    let mut all = named(0);
    for detail in 1..=DETAILS {
        if all.windows(2).all(|two| two[0] != two[1]) {
            break;
        }
        all = named(detail);
    }
    all
}

const DETAILS: usize = 3;

/// With six digits, and without seconds; each `detail` has more.
fn text(scale: AxisScale, position: f64, detail: usize) -> String {
    let date = "%Y-%m-%d";
    match (scale, chrono::DateTime::from_timestamp_micros((position * 1e6).round() as i64)) {
        (AxisScale::Time, Some(time)) if position.rem_euclid(86_400.0) == 0.0 => time.format(date).to_string(),
        (AxisScale::Time, Some(time)) => {
            let clock = ["%H:%M", "%H:%M:%S", "%H:%M:%S%.3f", "%H:%M:%S%.6f"][detail];
            time.format(&format!("{date} {clock}")).to_string()
        }
        _ => {
            let digits = [5, 8, 11, 16][detail];
            let rounded: f64 = format!("{position:.digits$e}").parse().unwrap_or(position);
            let is_plain = rounded == 0.0 || (1e-4..1e15).contains(&rounded.abs()) || !rounded.is_finite();
            if is_plain { rounded.to_string() } else { format!("{rounded:e}") }
        }
    }
}

/// What kind of axis a type has; `None` if it has no place on one.
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
    let per_second = match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => 1e3,
        TimeUnit::Microsecond => 1e6,
        TimeUnit::Nanosecond => 1e9,
    };
    array.as_primitive::<Int64Type>().iter().map(|v| v.map_or(f64::NAN, |v| v as f64 / per_second)).collect()
}

/// What an axis is called: the column's name, or the expression in short.
pub fn label(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Column(name) | ExprKind::Alias(_, name) => name.clone(),
        ExprKind::Call { function, args } => {
            let args: Vec<String> = args.iter().map(|a| label(&a.value)).collect();
            format!("{function}({})", args.join(", "))
        }
        ExprKind::Binary(op, a, b) => format!("{} {} {}", label(a), op.symbol(), label(b)),
        ExprKind::Unary(_, a) | ExprKind::Cast { value: a, .. } | ExprKind::Over { value: a, .. } => label(a),
        ExprKind::Literal(_) => "constant".to_string(),
        ExprKind::Case { .. } | ExprKind::In { .. } | ExprKind::Between { .. } | ExprKind::All { .. } => {
            "value".to_string()
        }
    }
}
