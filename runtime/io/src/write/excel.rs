//! Workbooks with one sheet: a bold header that stays in view, columns as wide as their values, a filter on each.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, DurationMicrosecondType, Float64Type, Int64Type, SchemaRef, TimeUnit};
use arrow::datatypes::{Time64MicrosecondType, TimestampMicrosecondType, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use onrush_frame::TaskHandle;
use onrush_wire::{Class, Diagnostic};
use rust_xlsxwriter::{Format, Workbook, Worksheet};

use super::encode::{Encode, EncodeError, Out};
use crate::formats::excel::{COLUMNS, ROWS};

/// Days between Excel's day 0 and 1970.
const EPOCH: i64 = 25_569;
/// Days since 1970 of 1900-03-01. Excel has a day before it that no calendar has, and none before 1900.
const FIRST: i64 = 61 - EPOCH;
/// Days since 1970 of 10000-01-01, where Excel's dates end.
const END: i64 = 2_958_466 - EPOCH;
const DAY: i64 = 86_400_000_000;
/// Excel shows 15 digits of a number.
const EXACT: u64 = 999_999_999_999_999;
/// Pixels of the widest column.
const WIDTH: u32 = 400;
/// Characters of a cell, at most.
const TEXT: usize = 32_767;

struct Sheet {
    out: Out,
    workbook: Workbook,
    schema: SchemaRef,
    rows: u32,
    date: Format,
    moment: Format,
    time: Format,
    span: Format,
}

/// Starts a workbook.
///
/// # Errors
/// More columns than a sheet has; a name that a sheet cannot have.
pub(super) fn start(out: Out, schema: &SchemaRef, name: &str) -> Result<Box<dyn Encode>, Diagnostic> {
    let columns = schema.fields().len();
    if columns > COLUMNS as usize {
        let message = format!("a sheet of Excel has at most {COLUMNS} columns, and the frame has {columns}");
        return Err(Diagnostic::error(Class::Plan, "too-large", message).help("write Parquet or CSV instead"));
    }
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    sheet.set_name(name).map_err(|e| {
        Diagnostic::error(Class::Plan, "bad-option", format!("a sheet cannot be named `{name}`: {e}"))
            .help("use at most 31 characters, and none of [ ] : * ? / \\")
    })?;
    let bold = Format::new().set_bold();
    for (column, field) in (0u16..).zip(schema.fields()) {
        sheet.write_string_with_format(0, column, field.name().as_str(), &bold).map_err(|e| {
            Diagnostic::error(Class::Plan, "bad-option", format!("column `{}` cannot be written: {e}", field.name()))
        })?;
    }
    let number = |format: &str| Format::new().set_num_format(format);
    Ok(Box::new(Sheet {
        out,
        workbook,
        schema: SchemaRef::clone(schema),
        rows: 0,
        date: number("yyyy-mm-dd"),
        moment: number("yyyy-mm-dd hh:mm:ss"),
        time: number("hh:mm:ss"),
        span: number("[h]:mm:ss"),
    }))
}

impl Encode for Sheet {
    fn write(&mut self, batch: &RecordBatch, _: &TaskHandle) -> Result<(), EncodeError> {
        if u64::from(self.rows) + batch.num_rows() as u64 + 1 > u64::from(ROWS) {
            return Err(format!(
                "a sheet of Excel has at most {ROWS} rows with the header, and the frame has more: write Parquet or CSV \
                 instead, or a part of it"
            )
            .into());
        }
        let Sheet { workbook, rows, date, moment, time, span, .. } = self;
        let formats = Formats { date, moment, time, span };
        let sheet = workbook.worksheet_from_index(0).map_err(|e| e.to_string())?;
        for (column, (array, field)) in (0u16..).zip(batch.columns().iter().zip(batch.schema_ref().fields())) {
            fill(sheet, *rows + 1, column, array.as_ref(), &formats)
                .map_err(|e| format!("column `{}`: {e}", field.name()))?;
        }
        *rows += batch.num_rows() as u32;
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &TaskHandle) -> Result<Out, EncodeError> {
        let last = self.schema.fields().len();
        let sheet = self.workbook.worksheet_from_index(0).map_err(|e| e.to_string())?;
        sheet.set_freeze_panes(1, 0).map_err(|e| e.to_string())?;
        if last > 0 {
            sheet.autofilter(0, 0, self.rows, last as u16 - 1).map_err(|e| e.to_string())?;
        }
        sheet.set_autofit_max_width(WIDTH);
        sheet.autofit();
        self.workbook.save_to_writer(&mut self.out).map_err(|e| e.to_string())?;
        Ok(self.out)
    }
}

struct Formats<'a> {
    date: &'a Format,
    moment: &'a Format,
    time: &'a Format,
    span: &'a Format,
}

/// Writes a column. Nulls and NaN are empty cells. Text stands for what Excel has no value of: integers of more than 15
/// digits, dates before 1900, times with a zone, lists.
fn fill(
    sheet: &mut Worksheet,
    first: u32,
    column: u16,
    array: &dyn Array,
    formats: &Formats<'_>,
) -> Result<(), String> {
    let as_type = |dtype: DataType| cast(array, &dtype).map_err(|e| e.to_string());
    let rows = (0..array.len()).filter(|row| array.is_valid(*row)).map(|row| (row, first + row as u32));
    let options = FormatOptions::default();
    let text = ArrayFormatter::try_new(array, &options).map_err(|e| e.to_string())?;
    let text = |row: usize| text.value(row).try_to_string().map_err(|e| e.to_string());
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean();
            for (row, at) in rows {
                sheet.write_boolean(at, column, values.value(row)).map_err(|e| e.to_string())?;
            }
        }
        dtype if dtype.is_signed_integer() => {
            let values = as_type(DataType::Int64)?;
            let values = values.as_primitive::<Int64Type>();
            for (row, at) in rows {
                let value = values.value(row);
                match value.unsigned_abs() <= EXACT {
                    true => sheet.write_number(at, column, value as f64),
                    false => sheet.write_string(at, column, value.to_string()),
                }
                .map_err(|e| e.to_string())?;
            }
        }
        dtype if dtype.is_unsigned_integer() => {
            let values = as_type(DataType::UInt64)?;
            let values = values.as_primitive::<UInt64Type>();
            for (row, at) in rows {
                let value = values.value(row);
                match value <= EXACT {
                    true => sheet.write_number(at, column, value as f64),
                    false => sheet.write_string(at, column, value.to_string()),
                }
                .map_err(|e| e.to_string())?;
            }
        }
        dtype if dtype.is_floating() || is_decimal(dtype) => {
            let values = as_type(DataType::Float64)?;
            let values = values.as_primitive::<Float64Type>();
            for (row, at) in rows.filter(|(row, _)| !values.value(*row).is_nan()) {
                let value = values.value(row);
                match value.is_finite() {
                    true => sheet.write_number(at, column, value),
                    false => sheet.write_string(at, column, value.to_string()),
                }
                .map_err(|e| e.to_string())?;
            }
        }
        DataType::Date32 | DataType::Date64 => {
            let values = as_type(DataType::Date32)?;
            let values = values.as_primitive::<Date32Type>();
            for (row, at) in rows {
                let day = i64::from(values.value(row));
                match (FIRST..END).contains(&day) {
                    true => sheet.write_number_with_format(at, column, (day + EPOCH) as f64, formats.date),
                    false => sheet.write_string(at, column, text(row)?),
                }
                .map_err(|e| e.to_string())?;
            }
        }
        DataType::Timestamp(_, None) => {
            let values = as_type(DataType::Timestamp(TimeUnit::Microsecond, None))?;
            let values = values.as_primitive::<TimestampMicrosecondType>();
            for (row, at) in rows {
                let value = values.value(row);
                match (FIRST * DAY..END * DAY).contains(&value) {
                    true => {
                        let days = (value.div_euclid(DAY) + EPOCH) as f64 + value.rem_euclid(DAY) as f64 / DAY as f64;
                        sheet.write_number_with_format(at, column, days, formats.moment)
                    }
                    false => sheet.write_string(at, column, text(row)?),
                }
                .map_err(|e| e.to_string())?;
            }
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let values = as_type(DataType::Time64(TimeUnit::Microsecond))?;
            let values = values.as_primitive::<Time64MicrosecondType>();
            for (row, at) in rows {
                let days = values.value(row) as f64 / DAY as f64;
                sheet.write_number_with_format(at, column, days, formats.time).map_err(|e| e.to_string())?;
            }
        }
        DataType::Duration(_) => {
            let values = as_type(DataType::Duration(TimeUnit::Microsecond))?;
            let values = values.as_primitive::<DurationMicrosecondType>();
            for (row, at) in rows {
                let days = values.value(row) as f64 / DAY as f64;
                sheet.write_number_with_format(at, column, days, formats.span).map_err(|e| e.to_string())?;
            }
        }
        _ => {
            for (row, at) in rows {
                let text = text(row)?;
                let length = text.chars().count();
                if length > TEXT {
                    return Err(format!("a cell of Excel has at most {TEXT} characters, and a value has {length}"));
                }
                sheet.write_string(at, column, text).map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(())
}

fn is_decimal(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..)
    )
}
