//! The cells of a sheet that have a value, by calamine. The cells of xlsx and xlsb come one by one; nothing is
//! allocated for empty ones.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;
use calamine::{Data, DataRef, ExcelDateTime, Ods, Reader, SheetType, SheetVisible, Xls, Xlsb, Xlsx};
use onrush_frame::TaskHandle;
use onrush_wire::limits::size;
use onrush_wire::plan::{FileKind, Sheet};
use onrush_wire::{Class, Diagnostic};

use super::{Area, NAME, compound};
use crate::file::{FileState, io_diagnostic};
use crate::formats::binary::{check_kind, damaged};
use crate::memory::Reservation;

pub(super) const DAY: i64 = 86_400_000_000;

/// How many times its size a workbook may have unpacked, and the bytes that are unpacked whatever its size is.
const RATIO: u64 = 1_000;
const UNPACKED: u64 = 1 << 30;
/// Bytes that are unpacked whatever the ratio is.
const SMALL: u64 = 64 << 20;
/// Cells between two looks at the task.
const CHECK: usize = 1 << 14;

/// The value of a cell that is not empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CellValue {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Days since 1970 and microseconds of the day.
    Moment {
        day: i32,
        micros: i64,
    },
    /// Microseconds of a day, without a day.
    Time(i64),
    /// Microseconds.
    Span(i64),
}

/// The cells of an area of a sheet.
pub(super) struct Cells {
    pub sheet: String,
    /// The column of the area that comes first.
    pub first_column: u32,
    /// Rows and values, by column from 0 of the sheet. A cell that is there twice has the value that comes last.
    pub columns: Vec<Vec<(u32, CellValue)>>,
}

enum Workbook {
    Xlsx(Box<Xlsx<BufReader<File>>>),
    Xlsb(Box<Xlsb<BufReader<File>>>),
    Xls(Box<Xls<BufReader<File>>>),
    Ods(Box<Ods<BufReader<File>>>),
}

/// The names of the worksheets, and whether they are visible.
pub(super) fn sheets(file: &FileState, taken: &Reservation<'_>) -> Result<Vec<(String, bool)>, Diagnostic> {
    Ok(open(file, taken)?.sheets())
}

/// Reads the cells of a sheet that have a value.
pub(super) fn read(
    file: &FileState,
    sheet: &Sheet,
    area: Option<Area>,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Cells, Diagnostic> {
    let mut workbook = open(file, taken)?;
    task.check()?;
    let sheet = name(&workbook.sheets(), sheet, &file.path)?;
    let mut into = CellSink { columns: Vec::new(), area, count: 0, task, taken, path: &file.path };
    workbook.cells(&sheet, &mut into, &file.path)?;
    let first_column = match area {
        Some(area) => area.columns.0,
        None => into.columns.iter().position(|column| !column.is_empty()).unwrap_or(0) as u32,
    };
    Ok(Cells { sheet, first_column, columns: into.columns })
}

fn name(sheets: &[(String, bool)], wanted: &Sheet, path: &Path) -> Result<String, Diagnostic> {
    let list = || {
        let names: Vec<String> = sheets.iter().map(|(name, _)| format!("`{name}`")).take(30).collect();
        format!("its sheets are {}", names.join(", "))
    };
    let error = |what: String| Diagnostic::error(Class::Plan, "no-sheet", format!("`{}` {what}", path.display()));
    match wanted {
        _ if sheets.is_empty() => Err(error("has no sheet of cells".to_string())),
        Sheet::Position(position) => {
            let sheet = usize::try_from(*position).ok().and_then(|i| sheets.get(i));
            let count = sheets.len();
            sheet.map(|(name, _)| name.clone()).ok_or_else(|| {
                error(format!("has {count} sheets, and none at position {position} (from 0)")).help(list())
            })
        }
        Sheet::Name(name) => {
            let same = sheets.iter().find(|(other, _)| other == name);
            same.map(|(name, _)| name.clone()).ok_or_else(|| error(format!("has no sheet `{name}`")).help(list()))
        }
    }
}

fn open(file: &FileState, taken: &Reservation<'_>) -> Result<Workbook, Diagnostic> {
    let path = &file.path;
    let kind = check_kind(path, NAME, &[FileKind::Excel, FileKind::OldExcel, FileKind::OpenDocument, FileKind::Zip])?;
    let is_binary = match kind {
        FileKind::OldExcel => {
            taken.take(path, file.bytes.saturating_mul(4))?;
            let mut file = File::open(path).map_err(|e| io_diagnostic("read", path, &e))?;
            if compound::has_cycle(&mut file).map_err(|e| io_diagnostic("read", path, &e))? {
                return Err(damaged(path, NAME, "a chain of its sectors is a cycle"));
            }
            false
        }
        _ => unpacked(file, taken)?,
    };
    let reader = || File::open(path).map(BufReader::new).map_err(|e| io_diagnostic("read", path, &e));
    fn told<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> Diagnostic {
        move |e| {
            let why = e.to_string();
            if why.to_lowercase().contains("password") {
                let message = format!("`{}` is encrypted and cannot be read", path.display());
                return Diagnostic::error(Class::Data, "encrypted-file", message).help("save it without a password");
            }
            damaged(path, NAME, &why)
        }
    }
    Ok(match kind {
        FileKind::OldExcel => Workbook::Xls(Box::new(Xls::new(reader()?).map_err(told(path))?)),
        FileKind::OpenDocument => Workbook::Ods(Box::new(Ods::new(reader()?).map_err(told(path))?)),
        _ if is_binary => Workbook::Xlsb(Box::new(Xlsb::new(reader()?).map_err(told(path))?)),
        _ => Workbook::Xlsx(Box::new(Xlsx::new(reader()?).map_err(told(path))?)),
    })
}

/// Unpacks the members of an archive once without keeping them, and counts their bytes as taken. Returns whether the
/// workbook is an xlsb.
fn unpacked(file: &FileState, taken: &Reservation<'_>) -> Result<bool, Diagnostic> {
    let path = &file.path;
    let broken = |e: &dyn std::fmt::Display| damaged(path, NAME, &e.to_string());
    let reader = File::open(path).map(BufReader::new).map_err(|e| io_diagnostic("read", path, &e))?;
    let mut archive = zip::ZipArchive::new(reader).map_err(|e| broken(&e))?;
    let most = UNPACKED.min(file.bytes.saturating_mul(RATIO)).max(SMALL);
    let (mut total, mut is_binary) = (0u64, false);
    for i in 0..archive.len() {
        let member = archive.by_index(i).map_err(|e| broken(&e))?;
        is_binary |= member.name_raw() == b"xl/workbook.bin";
        let counted = io::copy(&mut member.take(most + 1 - total), &mut io::sink());
        total += counted.map_err(|e| broken(&e))?;
        if total > most {
            return Err(Diagnostic::error(
                Class::Data,
                "unpacks-too-large",
                format!("`{}` has {} and unpacks to more than {}", path.display(), size(file.bytes), size(most)),
            )
            .help("if the workbook is what you expect, save the sheet as CSV and read that"));
        }
    }
    taken.take(path, total)?;
    Ok(is_binary)
}

/// Takes the values of cells.
struct CellSink<'a> {
    columns: Vec<Vec<(u32, CellValue)>>,
    area: Option<Area>,
    count: usize,
    task: &'a TaskHandle,
    taken: &'a Reservation<'a>,
    path: &'a Path,
}

impl CellSink<'_> {
    fn put(&mut self, (row, column): (u32, u32), value: Option<CellValue>) -> Result<(), Diagnostic> {
        let Some(value) = value else { return Ok(()) };
        let inside = |at: u32, (first, last): (u32, u32)| (first..=last).contains(&at);
        let area = self.area.unwrap_or(Area { rows: (0, super::ROWS - 1), columns: (0, super::COLUMNS - 1) });
        if !inside(row, area.rows) || !inside(column, area.columns) {
            return Ok(());
        }
        if self.count.is_multiple_of(CHECK) {
            self.task.check()?;
            // The values, and their places among all rows.
            self.taken.take(self.path, (CHECK * 2 * size_of::<(u32, CellValue)>()) as u64)?;
        }
        self.count += 1;
        let column = column as usize;
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, Vec::new);
        }
        self.columns[column].push((row, value));
        Ok(())
    }
}

impl Workbook {
    fn sheets(&self) -> Vec<(String, bool)> {
        let sheets = match self {
            Workbook::Xlsx(workbook) => workbook.sheets_metadata(),
            Workbook::Xlsb(workbook) => workbook.sheets_metadata(),
            Workbook::Xls(workbook) => workbook.sheets_metadata(),
            Workbook::Ods(workbook) => workbook.sheets_metadata(),
        };
        let tables = sheets.iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
        tables.map(|sheet| (sheet.name.clone(), sheet.visible == SheetVisible::Visible)).collect()
    }

    fn cells(&mut self, sheet: &str, into: &mut CellSink<'_>, path: &Path) -> Result<(), Diagnostic> {
        let broken = |e: &dyn std::fmt::Display| damaged(path, NAME, &e.to_string());
        let range = match self {
            Workbook::Xlsx(workbook) => {
                let mut cells = workbook.worksheet_cells_reader(sheet).map_err(|e| broken(&e))?;
                while let Some(cell) = cells.next_cell().map_err(|e| broken(&e))? {
                    into.put(cell.get_position(), of_reference(cell.get_value()))?;
                }
                return Ok(());
            }
            Workbook::Xlsb(workbook) => {
                let mut cells = workbook.worksheet_cells_reader(sheet).map_err(|e| broken(&e))?;
                while let Some(cell) = cells.next_cell().map_err(|e| broken(&e))? {
                    into.put(cell.get_position(), of_reference(cell.get_value()))?;
                }
                return Ok(());
            }
            Workbook::Xls(workbook) => workbook.worksheet_range(sheet).map_err(|e| broken(&e))?,
            Workbook::Ods(workbook) => workbook.worksheet_range(sheet).map_err(|e| broken(&e))?,
        };
        let (row, column) = range.start().unwrap_or_default();
        for (down, right, value) in range.used_cells() {
            into.put((row.saturating_add(down as u32), column.saturating_add(right as u32)), of(value))?;
        }
        Ok(())
    }
}

/// Errors such as `#DIV/0!` and empty strings are no values.
fn of(value: &Data) -> Option<CellValue> {
    Some(match value {
        Data::Int(value) => CellValue::Int(*value),
        Data::Float(value) => CellValue::Float(*value),
        Data::String(text) if text.is_empty() => return None,
        Data::String(text) => CellValue::Text(text.clone()),
        Data::Bool(value) => CellValue::Bool(*value),
        Data::DateTime(value) => moment(value),
        Data::DateTimeIso(text) => iso_moment(text),
        Data::DurationIso(text) => iso_span(text),
        Data::Error(_) | Data::Empty => return None,
    })
}

fn of_reference(value: &DataRef<'_>) -> Option<CellValue> {
    Some(match value {
        DataRef::Int(value) => CellValue::Int(*value),
        DataRef::Float(value) => CellValue::Float(*value),
        DataRef::String(text) if text.is_empty() => return None,
        DataRef::SharedString("") => return None,
        DataRef::String(text) => CellValue::Text(text.clone()),
        DataRef::SharedString(text) => CellValue::Text((*text).to_string()),
        DataRef::Bool(value) => CellValue::Bool(*value),
        DataRef::DateTime(value) => moment(value),
        DataRef::DateTimeIso(text) => iso_moment(text),
        DataRef::DurationIso(text) => iso_span(text),
        DataRef::Error(_) | DataRef::Empty => return None,
    })
}

/// A number with the format of a date, a time or a span of time.
fn moment(value: &ExcelDateTime) -> CellValue {
    let serial = value.as_f64();
    let micros = |days: f64| (days * 86_400_000.0).round() as i64 * 1_000;
    if value.is_duration() {
        return CellValue::Span(micros(serial));
    }
    if (0.0..1.0).contains(&serial) {
        return CellValue::Time(micros(serial).min(DAY - 1));
    }
    let (year, month, day, hours, minutes, seconds, millis) = value.to_ymd_hms_milli();
    let seconds = (i64::from(hours) * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
    let micros = seconds * 1_000_000 + i64::from(millis) * 1_000;
    CellValue::Moment { day: days(i64::from(year), i64::from(month), i64::from(day)), micros }
}

/// Days since 1970 of a date of the Gregorian calendar: Howard Hinnant's `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    (era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468) as i32
}

fn iso_moment(text: &str) -> CellValue {
    match string_to_timestamp_nanos(text) {
        Ok(nanos) => {
            let micros = nanos.div_euclid(1_000);
            CellValue::Moment { day: micros.div_euclid(DAY) as i32, micros: micros.rem_euclid(DAY) }
        }
        Err(_) => CellValue::Text(text.to_string()),
    }
}

/// `PT10H20M30.5S`: a time of the day if it is less than a day.
fn iso_span(text: &str) -> CellValue {
    let parse = || {
        let mut rest = text.strip_prefix("PT")?;
        let mut seconds = 0.0;
        for (unit, factor) in [('H', 3600.0), ('M', 60.0), ('S', 1.0)] {
            if let Some((number, behind)) = rest.split_once(unit) {
                seconds += number.parse::<f64>().ok().filter(|n| n.is_finite() && n.abs() < 1e12)? * factor;
                rest = behind;
            }
        }
        rest.is_empty().then_some((seconds * 1e6).round() as i64)
    };
    match parse() {
        Some(micros) if (0..DAY).contains(&micros) => CellValue::Time(micros),
        Some(micros) => CellValue::Span(micros),
        None => CellValue::Text(text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use calamine::ExcelDateTimeType;

    use super::*;

    /// Python's `datetime.date`: 1970-01-01 is day 0, 2025-10-13 is day 20374; Excel's serial number of it is 45943.
    #[test]
    fn dates_of_serial_numbers() {
        let date = |serial, is_1904| moment(&ExcelDateTime::new(serial, ExcelDateTimeType::DateTime, is_1904));
        assert_eq!(date(45943.5, false), CellValue::Moment { day: 20374, micros: DAY / 2 });
        assert_eq!(date(45943.0 - 1462.0, true), CellValue::Moment { day: 20374, micros: 0 });
        assert_eq!(date(0.25, false), CellValue::Time(DAY / 4));
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 2, 29), 11016);
        assert_eq!(iso_span("PT10H20M30.5S"), CellValue::Time(37_230_500_000));
        assert_eq!(iso_span("PT25H00M00S"), CellValue::Span(90_000_000_000));
        assert_eq!(iso_moment("2025-10-13"), CellValue::Moment { day: 20374, micros: 0 });
        assert_eq!(iso_moment("soon"), CellValue::Text("soon".to_string()));
    }
}
