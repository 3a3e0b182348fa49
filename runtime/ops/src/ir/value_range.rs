//! Value range analysis of expression graphs. Ranges decide the key lookup of groups and joins, the width of decimal
//! arithmetic, and the bits of a sort key. A value outside of its range would give wrong results there.

use onrush_kernels::Scalar;
use onrush_kernels::dates::Part;

use crate::ir::expr::{DeviceType, ExprGraph, ListOp, LiteralValue, NodeId, Op, StringOp};

/// Lowest and highest value.
pub type Range = (i128, i128);

const WIDE: DeviceType = DeviceType::Number(Scalar::I128);

/// The ranges of what a graph reads. Nodes that nobody needs may name what is not there.
pub trait KnownRanges {
    fn input(&self, column: u32) -> Option<Range>;
    fn lookup(&self, table: u32) -> Option<Range>;
    /// The row numbers of the build side of a join.
    fn build_rows(&self, join: u32) -> Option<Range>;
    fn build_column(&self, join: u32, column: u32) -> Option<Range>;
    fn prefix(&self, accumulator: u32) -> Option<Range>;
    fn suffix(&self, accumulator: u32) -> Option<Range>;
}

/// The ranges of all nodes.
pub fn all(graph: &ExprGraph, of: &dyn KnownRanges) -> Vec<Option<Range>> {
    let mut known = Vec::with_capacity(graph.len());
    for id in 0..graph.len() as NodeId {
        known.push(range_of(graph, of, &known, id));
    }
    known
}

/// Lowest and highest value that a node can have, for integers, codes and booleans; wider than the truth where little
/// is known.
fn range_of(graph: &ExprGraph, read: &dyn KnownRanges, known: &[Option<Range>], id: NodeId) -> Option<Range> {
    let node = graph.node(id);
    let of = |index: usize| known[node.args[index] as usize];
    let of_type = match node.kind {
        DeviceType::Bool => Some((0, 1)),
        DeviceType::DictIndex | DeviceType::String | DeviceType::ListView => None,
        DeviceType::Number(scalar) => match scalar {
            Scalar::I8 => Some((i8::MIN.into(), i8::MAX.into())),
            Scalar::U8 => Some((0, u8::MAX.into())),
            Scalar::I16 => Some((i16::MIN.into(), i16::MAX.into())),
            Scalar::U16 => Some((0, u16::MAX.into())),
            Scalar::I32 => Some((i32::MIN.into(), i32::MAX.into())),
            Scalar::U32 => Some((0, u32::MAX.into())),
            _ => None,
        },
    };
    let inside = |found: Option<Range>| match (found, of_type) {
        // A sum that wraps goes anywhere.
        (Some((low, high)), Some((least, most))) if low < least || high > most => Some((least, most)),
        (Some((low, high)), None) if node.kind != WIDE && (low < i64::MIN.into() || high > i64::MAX.into()) => None,
        // Nor does a difference without a sign.
        (Some((low, _)), None) if node.kind == DeviceType::Number(Scalar::U64) && low < 0 => None,
        (Some(found), _) => Some(found),
        (None, of_type) => of_type,
    };
    let found = match node.op {
        Op::Input(index) => read.input(index),
        Op::Lookup(table) => read.lookup(table),
        Op::Probe(join) => read.build_rows(join),
        Op::BuildColumn(join, column) => read.build_column(join, column),
        Op::Literal(index) => match graph.literals()[index as usize].1 {
            LiteralValue::I64(v) => Some((v.into(), v.into())),
            LiteralValue::U64(v) => Some((v.into(), v.into())),
            LiteralValue::I128(v) => Some((v, v)),
            _ => None,
        },
        Op::Prefix(number) => read.prefix(number),
        Op::Suffix(number) => read.suffix(number),
        Op::Null => Some((0, 0)),
        Op::Add | Op::AddExact => {
            of(0).zip(of(1)).and_then(|((a, b), (c, d))| Some((a.checked_add(c)?, b.checked_add(d)?)))
        }
        Op::MultiplyExact => of(0).zip(of(1)).and_then(|((a, b), (c, d))| {
            let corners = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
            Some((*corners.iter().min()?, *corners.iter().max()?))
        }),
        Op::Subtract | Op::SubtractExact => {
            of(0).zip(of(1)).and_then(|((a, b), (c, d))| Some((a.checked_sub(d)?, b.checked_sub(c)?)))
        }
        Op::IfElse | Op::Coalesce => {
            let last = node.args.len() - 1;
            of(last - 1).zip(of(last)).map(|((a, b), (c, d))| (a.min(c), b.max(d)))
        }
        Op::Convert(_) if !graph.kind(node.args[0]).is_float() && !node.kind.is_float() => of(0),
        Op::Remainder => of(1).zip(of(0)).map(|((low, high), (least, _))| {
            let most = high.abs().max(low.abs()).saturating_sub(1).max(0);
            (if least < 0 { -most } else { 0 }, most)
        }),
        Op::Divide => of(0).zip(of(1)).and_then(|((a, b), (c, d))| (c == d && c > 0).then(|| (a / c, b / c))),
        Op::List(ListOp::Length) => Some((0, u32::MAX.into())),
        // Bytes and characters of one string, positions and counts in it.
        Op::Str(StringOp::CharLength | StringOp::ByteLength | StringOp::Position | StringOp::Count(_)) => {
            Some((0, i32::MAX.into()))
        }
        Op::DatePart(part, tick) => match part {
            Part::Quarter => Some((1, 4)),
            Part::Month => Some((1, 12)),
            Part::Week => Some((1, 53)),
            Part::Day => Some((1, 31)),
            Part::DayOfYear => Some((1, 366)),
            Part::DayOfWeek => Some((0, 6)),
            Part::Hour => Some((0, 23)),
            Part::Minute | Part::Second => Some((0, 59)),
            // A year has 365 days at least; from 1970 on.
            Part::Year => of(0).map(|(low, high)| {
                let year = |ticks: i128| ticks.div_euclid(i128::from(tick.per_day())).div_euclid(365);
                (1970 + year(low).min(year(low) * 365 / 366) - 2, 1970 + year(high).max(year(high) * 365 / 366) + 2)
            }),
        },
        _ => None,
    };
    inside(found)
}
