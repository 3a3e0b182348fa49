//! Calendar functions of `expr/temporal.rs` that are several operations: weekdays, lengths of months, moved dates, and
//! dates as strings by a format. Their argument is the wall clock in microseconds.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use chrono::format::{Fixed, Item, Numeric, Pad, StrftimeItems};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_expr::calendar_interval::CalendarInterval;
use onrush_expr::scalar_udf::is_ours;
use onrush_kernels::Scalar;
use onrush_kernels::dates::{Part, Tick, Unit};
use onrush_ops::{Comparison, DeviceType, ExprGraph, NodeId, Op, OverflowPolicy, StringOp};

use super::{Lowering, literal_of, strings};
use crate::cpu_reason::CpuReason;

const LONG: DeviceType = DeviceType::Number(Scalar::I64);
const TICK: Tick = Tick::Microsecond;
const DAY: i128 = 86_400_000_000;

/// The wall clock of a row, and what is computed of it, in 64-bit integers.
struct Moment<'g> {
    graph: &'g mut ExprGraph,
    ticks: NodeId,
}

impl Moment<'_> {
    fn number(&mut self, value: i128) -> NodeId {
        self.graph.number(Scalar::I64, value)
    }

    fn of(&mut self, op: Op, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(op, &[a, b], LONG)
    }

    fn by(&mut self, op: Op, a: NodeId, b: i128) -> NodeId {
        let b = self.number(b);
        self.of(op, a, b)
    }

    fn is(&mut self, how: Comparison, a: NodeId, b: i128) -> NodeId {
        let b = self.number(b);
        self.graph.add(Op::Compare(how), &[a, b], DeviceType::Bool)
    }

    fn choose(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId) -> NodeId {
        self.graph.add(Op::IfElse, &[condition, then, otherwise], LONG)
    }

    fn part(&mut self, part: Part) -> NodeId {
        let found = self.graph.add(Op::DatePart(part, TICK), &[self.ticks], DeviceType::Number(Scalar::I32));
        self.graph.add(Op::Convert(OverflowPolicy::Error), &[found], LONG)
    }

    /// Monday is 1, Sunday is 7.
    fn weekday(&mut self) -> NodeId {
        let day = self.part(Part::DayOfWeek);
        let (sunday, seven) = (self.is(Comparison::Equal, day, 0), self.number(7));
        self.choose(sunday, seven, day)
    }

    fn is_leap(&mut self, year: NodeId) -> NodeId {
        let rest = |this: &mut Self, by: i128| {
            let rest = this.by(Op::Remainder, year, by);
            this.is(Comparison::Equal, rest, 0)
        };
        let (by_four, by_hundred, by_all) = (rest(self, 4), rest(self, 100), rest(self, 400));
        let not = self.graph.add(Op::Not, &[by_hundred], DeviceType::Bool);
        let plain = self.graph.add(Op::And, &[by_four, not], DeviceType::Bool);
        self.graph.add(Op::Or, &[plain, by_all], DeviceType::Bool)
    }

    fn days_in_month(&mut self, year: NodeId, month: NodeId) -> NodeId {
        let leap = self.is_leap(year);
        let (long, short) = (self.number(29), self.number(28));
        let february = self.choose(leap, long, short);
        let (mut days, thirty) = (self.number(31), self.number(30));
        for short in [4, 6, 9, 11] {
            let is_short = self.is(Comparison::Equal, month, short);
            days = self.choose(is_short, thirty, days);
        }
        let is_february = self.is(Comparison::Equal, month, 2);
        let days = self.choose(is_february, february, days);
        let (absent, none) = (self.graph.add(Op::IsNull, &[month], DeviceType::Bool), self.graph.null(LONG));
        self.choose(absent, none, days)
    }

    fn moved(&mut self, days: NodeId) -> NodeId {
        let ticks = self.by(Op::Multiply, days, DAY);
        self.of(Op::Add, self.ticks, ticks)
    }

    /// By whole months; a day that the month lacks becomes its last one.
    fn months_later(&mut self, months: i128) -> NodeId {
        let (year, month, day) = (self.part(Part::Year), self.part(Part::Month), self.part(Part::Day));
        // Months since the year -400000, which are never below zero.
        let all = self.by(Op::Multiply, year, 12);
        let all = self.of(Op::Add, all, month);
        let all = self.by(Op::Add, all, months - 1 + 400_000 * 12);
        let (year, month) = (self.by(Op::Divide, all, 12), self.by(Op::Remainder, all, 12));
        let (of_calendar, month) = (self.by(Op::Subtract, year, 400_000), self.by(Op::Add, month, 1));
        let length = self.days_in_month(of_calendar, month);
        let fits = self.graph.add(Op::Compare(Comparison::LessEqual), &[day, length], DeviceType::Bool);
        let day = self.choose(fits, day, length);
        // Hinnant, "chrono-compatible low-level date algorithms": years that begin in March.
        let early = self.is(Comparison::LessEqual, month, 2);
        let before = self.by(Op::Subtract, year, 1);
        let year = self.choose(early, before, year);
        let (later, sooner) = (self.by(Op::Add, month, 9), self.by(Op::Subtract, month, 3));
        let month = self.choose(early, later, sooner);
        let days = self.by(Op::Multiply, month, 153);
        let days = self.by(Op::Add, days, 2);
        let days = self.by(Op::Divide, days, 5);
        let days = self.of(Op::Add, days, day);
        let mut all = self.by(Op::Multiply, year, 365);
        for (op, by) in [(Op::Add, 4), (Op::Subtract, 100), (Op::Add, 400)] {
            let leaps = self.by(Op::Divide, year, by);
            all = self.of(op, all, leaps);
        }
        let days = self.of(Op::Add, all, days);
        // 400,000 years are 1,000 times 146,097 days.
        let days = self.by(Op::Subtract, days, 719_468 + 1 + 1_000 * 146_097);
        let begin = self.graph.add(Op::Truncate(Unit::Day, TICK), &[self.ticks], LONG);
        let time = self.of(Op::Subtract, self.ticks, begin);
        let ticks = self.by(Op::MultiplyChecked, days, DAY);
        self.of(Op::AddChecked, ticks, time)
    }
}

fn text_of(expr: &Arc<dyn PhysicalExpr>) -> Option<&str> {
    literal_of(expr)?.try_as_str().flatten()
}

fn is_wall(types: &[DataType]) -> bool {
    matches!(types.first(), Some(DataType::Timestamp(TimeUnit::Microsecond, None)))
}

/// The node of a call whose result is not a string. `None` for functions that are not here.
pub fn call(
    lowering: &mut Lowering,
    function: &ScalarFunctionExpr,
    types: &[DataType],
) -> Option<Result<NodeId, CpuReason>> {
    const NAMES: [&str; 8] = [
        "dt.weekday",
        "dt.days_in_month",
        "dt.iso_year",
        "is_weekend",
        "is_leap_year",
        "month_start",
        "month_end",
        "offset_by",
    ];
    let (name, args) = (function.name(), function.args());
    if !is_ours(function.fun()) || !is_wall(types) || !NAMES.contains(&name) {
        return None;
    }
    let span = match (name, args) {
        ("offset_by", [_, by]) => {
            let text = text_of(by)?;
            let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
            Some((sign, CalendarInterval::parse(text)?))
        }
        _ => None,
    };
    let ticks = match lowering.expr(&args[0]) {
        Ok(ticks) => ticks,
        Err(reason) => return Some(Err(reason)),
    };
    let mut moment = Moment { graph: &mut lowering.graph, ticks };
    Some(Ok(match name {
        "dt.weekday" => moment.weekday(),
        "is_weekend" => {
            let day = moment.weekday();
            moment.is(Comparison::Greater, day, 5)
        }
        "is_leap_year" => {
            let year = moment.part(Part::Year);
            moment.is_leap(year)
        }
        "dt.days_in_month" => {
            let (year, month) = (moment.part(Part::Year), moment.part(Part::Month));
            moment.days_in_month(year, month)
        }
        // That of the week's Thursday.
        "dt.iso_year" => {
            let day = moment.weekday();
            let four = moment.number(4);
            let days = moment.of(Op::Subtract, four, day);
            let ticks = moment.moved(days);
            Moment { graph: moment.graph, ticks }.part(Part::Year)
        }
        "month_start" => {
            let day = moment.part(Part::Day);
            let one = moment.number(1);
            let days = moment.of(Op::Subtract, one, day);
            moment.moved(days)
        }
        "month_end" => {
            let (year, month, day) = (moment.part(Part::Year), moment.part(Part::Month), moment.part(Part::Day));
            let last = moment.days_in_month(year, month);
            let days = moment.of(Op::Subtract, last, day);
            moment.moved(days)
        }
        _ => match span? {
            (sign, CalendarInterval::Months(n)) => moment.months_later(sign * i128::from(n)),
            (sign, CalendarInterval::Weeks(n)) => moment.by(Op::AddChecked, ticks, sign * i128::from(n) * 7 * DAY),
            (sign, CalendarInterval::Micros(n)) => moment.by(Op::AddChecked, ticks, sign * i128::from(n)),
        },
    }))
}

/// A date as a string by a literal format of numbers and names.
pub fn written(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, CpuReason> {
    let refused = || CpuReason::Function(function.name().to_string());
    let [of, format] = function.args() else { return Err(refused()) };
    if !is_ours(function.fun()) || !is_wall(&[lowering.dtype(of)?]) {
        return Err(refused());
    }
    let format = text_of(format).ok_or_else(refused)?.to_string();
    let ticks = lowering.expr(of)?;
    let mut pieces = Vec::new();
    let mut text = String::new();
    for item in StrftimeItems::new(&format) {
        match item {
            Item::Literal(part) | Item::Space(part) => text.push_str(part),
            item => {
                if !text.is_empty() {
                    pieces.push(strings::literal(lowering, &std::mem::take(&mut text)));
                }
                write_item(lowering, ticks, &item, &mut pieces)
                    .ok_or_else(|| CpuReason::feature(format!("the time format `{format}`")))?;
            }
        }
    }
    if !text.is_empty() {
        pieces.push(strings::literal(lowering, &text));
    }
    // A null date has a null piece, which makes the whole string null.
    let (absent, none) = (lowering.graph.add(Op::IsNull, &[ticks], DeviceType::Bool), lowering.graph.null(TEXT));
    let empty = strings::literal(lowering, "");
    pieces.push(lowering.graph.add(Op::IfElse, &[absent, none, empty], TEXT));
    Ok(lowering.graph.add(Op::Str(StringOp::Concat), &pieces, TEXT))
}

const TEXT: DeviceType = DeviceType::String;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Adds the pieces of one item of a format. `None` if it is not known here.
fn write_item(lowering: &mut Lowering, ticks: NodeId, item: &Item, pieces: &mut Vec<NodeId>) -> Option<()> {
    let part = |lowering: &mut Lowering, part: Part| Moment { graph: &mut lowering.graph, ticks }.part(part);
    match item {
        Item::Numeric(number, Pad::Zero) => {
            let value = match number {
                // Years of four digits. Others fault, and the CPU writes them.
                Numeric::Year => {
                    let year = four_digits(lowering, ticks);
                    let century = digits(lowering, year, 100, 2);
                    pieces.push(century);
                    year
                }
                Numeric::YearMod100 => four_digits(lowering, ticks),
                Numeric::Month => part(lowering, Part::Month),
                Numeric::Day => part(lowering, Part::Day),
                Numeric::Hour => part(lowering, Part::Hour),
                Numeric::Minute => part(lowering, Part::Minute),
                Numeric::Second => part(lowering, Part::Second),
                Numeric::Hour12 => {
                    let hour = part(lowering, Part::Hour);
                    let mut moment = Moment { graph: &mut lowering.graph, ticks };
                    let hour = moment.by(Op::Add, hour, 11);
                    let hour = moment.by(Op::Remainder, hour, 12);
                    moment.by(Op::Add, hour, 1)
                }
                Numeric::Ordinal => {
                    let day = part(lowering, Part::DayOfYear);
                    pieces.push(digits(lowering, day, 1, 3));
                    return Some(());
                }
                _ => return None,
            };
            pieces.push(digits(lowering, value, 1, 2));
        }
        Item::Fixed(name @ (Fixed::LongMonthName | Fixed::ShortMonthName)) => {
            let month = part(lowering, Part::Month);
            pieces.push(named(lowering, month, &MONTHS, matches!(name, Fixed::ShortMonthName)));
        }
        Item::Fixed(name @ (Fixed::LongWeekdayName | Fixed::ShortWeekdayName)) => {
            let day = Moment { graph: &mut lowering.graph, ticks }.weekday();
            pieces.push(named(lowering, day, &DAYS, matches!(name, Fixed::ShortWeekdayName)));
        }
        Item::Fixed(Fixed::UpperAmPm) => {
            let hour = part(lowering, Part::Hour);
            let late = Moment { graph: &mut lowering.graph, ticks }.is(Comparison::GreaterEqual, hour, 12);
            let (am, pm) = (strings::literal(lowering, "AM"), strings::literal(lowering, "PM"));
            pieces.push(lowering.graph.add(Op::IfElse, &[late, pm, am], TEXT));
        }
        // As many of three digits as are needed.
        Item::Fixed(Fixed::Nanosecond) => {
            let mut moment = Moment { graph: &mut lowering.graph, ticks };
            let second = moment.graph.add(Op::Truncate(Unit::Second, TICK), &[ticks], LONG);
            let micros = moment.of(Op::Subtract, ticks, second);
            let rest = moment.by(Op::Remainder, micros, 1_000);
            let (none, whole) = (moment.is(Comparison::Equal, micros, 0), moment.is(Comparison::Equal, rest, 0));
            let (dot, empty) = (strings::literal(lowering, "."), strings::literal(lowering, ""));
            let (first, second) = (digits(lowering, micros, 1_000, 3), digits(lowering, micros, 1, 3));
            for (piece, absent) in [(dot, none), (first, none), (second, whole)] {
                pieces.push(lowering.graph.add(Op::IfElse, &[absent, empty, piece], TEXT));
            }
        }
        _ => return None,
    }
    Some(())
}

/// The year, and a row error for a year outside of 0 to 9999. Only these times the factor fit 32 bits without a sign.
fn four_digits(lowering: &mut Lowering, ticks: NodeId) -> NodeId {
    const FACTOR: i128 = 429_497;
    let mut moment = Moment { graph: &mut lowering.graph, ticks };
    let year = moment.part(Part::Year);
    let many = moment.by(Op::Multiply, year, FACTOR);
    let many = moment.graph.add(Op::Convert(OverflowPolicy::Error), &[many], DeviceType::Number(Scalar::U32));
    let many = moment.graph.add(Op::Convert(OverflowPolicy::Error), &[many], LONG);
    moment.by(Op::Divide, many, FACTOR)
}

/// The last digits of `value / by`, as a piece of a literal that has all such numbers.
fn digits(lowering: &mut Lowering, value: NodeId, by: i128, count: usize) -> NodeId {
    let all = 10_usize.pow(count as u32);
    let table: String = (0..all).map(|number| format!("{number:0count$}")).collect();
    let table = strings::literal(lowering, &table);
    let graph = &mut lowering.graph;
    let mut moment = Moment { graph, ticks: value };
    let mut value = moment.by(Op::Divide, value, by);
    value = moment.by(Op::Remainder, value, all as i128);
    let place = moment.by(Op::Multiply, value, count as i128);
    let place = moment.by(Op::Add, place, 1);
    let length = moment.number(count as i128);
    lowering.graph.add(Op::Str(StringOp::Substring), &[table, place, length], TEXT)
}

/// A name by its number, from 1.
fn named(lowering: &mut Lowering, number: NodeId, names: &[&str], short: bool) -> NodeId {
    let mut chosen = strings::literal(lowering, "");
    for (place, name) in names.iter().enumerate() {
        let name = strings::literal(lowering, if short { &name[..3] } else { name });
        let is_this =
            Moment { graph: &mut lowering.graph, ticks: number }.is(Comparison::Equal, number, place as i128 + 1);
        chosen = lowering.graph.add(Op::IfElse, &[is_this, name, chosen], TEXT);
    }
    chosen
}
