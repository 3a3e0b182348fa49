//! Random numbers, types, and tables of awkward values.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_frame::Table;

use crate::answer;
use crate::tables;

/// A small generator (splitmix64): the same cases everywhere.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Less than `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    /// Bytes, and whether it has a sign.
    Int(u8, bool),
    Single,
    Double,
    Decimal(u8, i8),
    Date,
    Time,
    Zoned,
    Span,
    Text,
}

impl Type {
    pub const ALL: &[Type] = &[
        Type::Bool,
        Type::Int(1, true),
        Type::Int(2, true),
        Type::Int(4, true),
        Type::Int(8, true),
        Type::Int(8, true),
        Type::Int(1, false),
        Type::Int(2, false),
        Type::Int(4, false),
        Type::Int(8, false),
        Type::Single,
        Type::Double,
        Type::Double,
        Type::Decimal(9, 2),
        Type::Decimal(18, 4),
        Type::Decimal(30, 6),
        Type::Date,
        Type::Time,
        Type::Zoned,
        Type::Span,
        Type::Text,
        Type::Text,
    ];

    pub fn is_float(self) -> bool {
        matches!(self, Type::Single | Type::Double)
    }

    pub fn sql(self) -> String {
        match self {
            Type::Bool => "boolean".to_string(),
            Type::Int(bytes, signed) => {
                let name = match bytes {
                    1 => "tinyint",
                    2 => "smallint",
                    4 => "integer",
                    _ => "bigint",
                };
                if signed { name.to_string() } else { format!("u{name}") }
            }
            Type::Single => "float".to_string(),
            Type::Double => "double".to_string(),
            Type::Decimal(precision, scale) => format!("decimal({precision},{scale})"),
            Type::Date => "date".to_string(),
            Type::Time => "timestamp".to_string(),
            Type::Zoned => "timestamptz[America/New_York]".to_string(),
            Type::Span => "duration".to_string(),
            Type::Text => "varchar".to_string(),
        }
    }

    /// The range of integers and decimals, in units of the last digit.
    pub fn range(self) -> (i128, i128) {
        match self {
            Type::Int(bytes, true) => (-(1 << (bytes * 8 - 1)), (1 << (bytes * 8 - 1)) - 1),
            Type::Int(bytes, false) => (0, (1 << (bytes * 8)) - 1),
            Type::Decimal(precision, _) => (-(10i128.pow(precision.into()) - 1), 10i128.pow(precision.into()) - 1),
            _ => (-1000, 1000),
        }
    }
}

/// Properties of a column.
#[derive(Clone, Debug)]
pub struct Column {
    pub dtype: Type,
    /// Values are at most that far from zero; `None` if they can be anything, infinities too.
    pub bound: Option<f64>,
    pub nan: bool,
    /// The same to the last bit on every engine: may decide what comes further up.
    pub exact: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Domain {
    /// Some few values, maybe odd ones.
    Few,
    /// Up to a thousand.
    Small,
    /// Extremes among others.
    Extreme,
}

/// A table as rows of words, so that it can be made smaller and shown.
#[derive(Clone)]
pub struct Source {
    pub name: String,
    pub columns: Vec<Column>,
    types: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
    chunk: usize,
}

impl Source {
    pub fn random(random: &mut Random, number: usize) -> Source {
        let rows = *random.pick(&[0, 1, 2, 3, 10, 31, 32, 33, 65, 100, 257, 500, 1000]);
        let width = 3 + random.below(5) as usize;
        let (mut columns, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for place in 0..width {
            // Something to count, and something to group by.
            let dtype = match place {
                0 => Type::Int(8, true),
                1 => *random.pick(&[Type::Int(4, true), Type::Text, Type::Bool, Type::Date]),
                _ => *random.pick(Type::ALL),
            };
            let domain = match (place, random.below(4)) {
                (1, _) | (_, 0) => Domain::Few,
                (_, 1) => Domain::Extreme,
                _ => Domain::Small,
            };
            let nulls = *random.pick(&[0, 0, 10, 10, 50, 100]);
            let nulls = if nulls == 100 && !random.one_in(3) { 10 } else { nulls };
            let pool: Vec<String> = (0..1 + random.below(6)).map(|_| word(random, dtype, Domain::Extreme)).collect();
            // Strings that all differ.
            let each = dtype == Type::Text && place > 1 && random.one_in(2);
            let mut number = 0;
            let column: Vec<Option<String>> = (0..rows)
                .map(|_| match domain {
                    _ if random.below(100) < nulls => None,
                    Domain::Few => Some(random.pick(&pool).clone()),
                    domain if each => {
                        number += 1;
                        Some(format!("{}{number}", word(random, dtype, domain)))
                    }
                    domain => Some(word(random, dtype, domain)),
                })
                .collect();
            let small = domain == Domain::Small;
            let nan = dtype.is_float() && (!small || random.one_in(8));
            let column = match nan && small {
                true => column
                    .into_iter()
                    .map(|w| w.map(|w| if random.one_in(20) { "nan".to_string() } else { w }))
                    .collect(),
                false => column,
            };
            let bound = match dtype {
                _ if small => Some(1000.0),
                Type::Int(..) => Some(dtype.range().0.unsigned_abs().max(dtype.range().1.unsigned_abs()) as f64),
                _ => None,
            };
            columns.push(Column { dtype, bound, nan, exact: true });
            types.push(if dtype == Type::Text && random.one_in(2) { "category".to_string() } else { dtype.sql() });
            values.push(column);
        }
        let rows = (0..rows).map(|row| values.iter().map(|column| column[row].clone()).collect()).collect();
        let chunk = *random.pick(&[1000, 1000, 100, 32, 7]);
        Source { name: format!("t{number}"), columns, types, rows, chunk }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn table(&self) -> Table {
        let fields = self.types.iter().enumerate().map(|(i, t)| Field::new(format!("c{i}"), dtype(t), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        if self.is_empty() {
            return Table::empty(schema);
        }
        let arrays = (0..self.types.len()).map(|i| {
            let words: Vec<Option<String>> = self.rows.iter().map(|row| row[i].clone()).collect();
            array(&self.types[i], words)
        });
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect());
        // The generator writes words of these types only.
        Table::new(Arc::clone(&schema), vec![batch.unwrap_or_else(|_| RecordBatch::new_empty(schema))])
    }

    pub fn chunked(&self) -> Table {
        tables::chunked(&self.table(), self.chunk)
    }

    /// Without some of the rows.
    pub fn smaller(&self) -> Vec<Source> {
        let rows = self.rows.len();
        let mut all = Vec::new();
        let mut step = rows / 2;
        while step > 0 && all.len() < 12 {
            for start in (0..rows).step_by(step.max(1)).take(8) {
                let mut left = self.rows.clone();
                left.drain(start..(start + step).min(rows));
                all.push(Source { rows: left, ..self.clone() });
            }
            step /= 2;
        }
        all
    }

    /// As `tests/sql/tables.txt` has it.
    pub fn show(&self) -> String {
        let header: Vec<String> = self.types.iter().enumerate().map(|(i, t)| format!("c{i}:{t}")).collect();
        let mut out = format!(
            "table {} ({} rows, in batches of {})\n{}",
            self.name,
            self.rows.len(),
            self.chunk,
            header.join(" ")
        );
        for row in self.rows.iter().take(30) {
            let words = row.iter().map(|word| word.as_deref().map_or("NULL".to_string(), answer::escaped));
            out += &format!("\n{}", words.collect::<Vec<_>>().join(" "));
        }
        if self.rows.len() > 30 {
            out += "\n...";
        }
        out
    }
}

fn dtype(sql: &str) -> DataType {
    tables::dtype(sql).unwrap_or(DataType::Null)
}

/// A column of words. Words of a type are what the cast from text takes.
fn array(sql: &str, words: Vec<Option<String>>) -> ArrayRef {
    let rows = words.len();
    tables::array(sql, words).unwrap_or_else(|_| {
        let none: ArrayRef = Arc::new(StringArray::new_null(rows));
        arrow::compute::cast(&none, &dtype(sql)).unwrap_or(none)
    })
}

const WORDS: &[&str] = &["", "a", "b", "ab", "B", "héllo", "日本", "a b", "%", "zz", "null", "0"];

fn word(random: &mut Random, dtype: Type, domain: Domain) -> String {
    let odd = domain == Domain::Extreme && random.one_in(3);
    match dtype {
        Type::Bool => random.one_in(2).to_string(),
        Type::Int(..) => {
            let (low, high) = dtype.range();
            if odd {
                return random.pick(&[low, high, 0, 1, low + 1, high - 1]).to_string();
            }
            let small = i128::from(random.below(2001)) - 1000;
            small.clamp(low, high).to_string()
        }
        Type::Decimal(_, scale) => {
            let (low, high) = dtype.range();
            let units = match odd {
                true => *random.pick(&[low, high, 0, 1, -1]),
                false => {
                    (i128::from(random.below(2_000_001)) - 1_000_000) * 10i128.pow(scale.unsigned_abs().into()) / 1000
                }
            };
            fixed(units, scale)
        }
        Type::Single if odd => (*random.pick(&["nan", "inf", "-inf", "0.0", "-0.0", "3e38", "1e-40"])).to_string(),
        Type::Double if odd => (*random.pick(&["nan", "inf", "-inf", "0.0", "-0.0", "1e308", "5e-324"])).to_string(),
        // Eighths: no rounding in what is added and multiplied once.
        Type::Single | Type::Double => format!("{:?}", (random.below(16_001) as f64 - 8000.0) / 8.0),
        Type::Date => day(if odd {
            *random.pick(&[0, -1, 11_016, 18_321, -60_000, 80_000])
        } else {
            random.below(1000) as i64 + 18_000
        }),
        Type::Time | Type::Zoned => {
            let seconds = if odd {
                *random.pick(&[0, -1, 951_782_399, -1_600_000_000])
            } else {
                random.below(50_000_000) as i64 + 1_560_000_000
            };
            let micros = if random.one_in(3) { random.below(1_000_000) as i64 } else { 0 };
            time(seconds * 1_000_000 + micros)
        }
        Type::Span => {
            (if odd { *random.pick(&[0, 1, -1, 86_400_000_000]) } else { random.below(2_000_000) as i64 - 1_000_000 })
                .to_string()
        }
        Type::Text => match odd {
            true => format!("{}{}", random.pick(WORDS), random.below(100)),
            false => (*random.pick(WORDS)).to_string(),
        },
    }
}

pub fn fixed(units: i128, scale: i8) -> String {
    let scale = usize::from(scale.unsigned_abs());
    let digits = format!("{:0width$}", units.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    format!("{}{whole}.{part}", if units < 0 { "-" } else { "" })
}

pub fn day(days: i64) -> String {
    time(days * 86_400_000_000).split('T').next().unwrap_or_default().to_string()
}

pub fn time(micros: i64) -> String {
    let time = chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default();
    time.naive_utc().format("%FT%T%.6f").to_string()
}
