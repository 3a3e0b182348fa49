//! The condition of filters as an expression, and as it is written in a cell. The rows that it keeps are those that the
//! dashboard counts: both compare the same values with the same edges.

use std::fmt::Write as _;

use onrush_wire::dashboard::{KeptSlots, SlotKind};
use onrush_wire::plot::AxisScale;
use onrush_wire::visual::Window;
use onrush_wire::{BinaryOp, Expr, ExprKind, TimeUnit, UnaryOp, Value};

use super::dimension::{Coding, SlicedColumn};

pub fn op(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

pub fn join(with: BinaryOp, all: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    all.into_iter().reduce(|a, b| op(with, a, b))
}

pub fn not(expr: Expr) -> Expr {
    Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(expr)))
}

/// All conditions at once. `None` without a filter.
pub fn all(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    join(BinaryOp::And, conditions)
}

impl SlicedColumn {
    /// An edge as a literal of the type of the expression.
    fn edge(&self, at: usize) -> Value {
        match &self.coding {
            Coding::Floats(placed) => Value::Float(placed.edges[at]),
            Coding::Ints(placed) if self.shown.scale == AxisScale::Time => self.time(placed.edges[at]),
            Coding::Ints(placed) => Value::Int(placed.edges[at]),
            Coding::Values { .. } => Value::Null,
        }
    }

    pub fn is_missing(&self) -> Expr {
        let null = Expr::call("is_null", [self.expr.clone()]);
        if !self.has_nan {
            return null;
        }
        op(BinaryOp::Or, null, Expr::call("is_nan", [self.expr.clone()]))
    }

    /// The rows in some of the slots.
    pub fn within(&self, ranges: &[(u32, u32)]) -> Option<Expr> {
        let slots = &self.shown.slots;
        let chosen: Vec<usize> =
            ranges.iter().flat_map(|(from, to)| (*from as usize)..(*to as usize).min(slots.len())).collect();
        let has = |wanted: SlotKind| chosen.iter().any(|slot| slots[*slot].kind == wanted);
        let mut parts = Vec::new();
        match &self.coding {
            Coding::Values { values, .. } => {
                let list = |slots: &mut dyn Iterator<Item = usize>| {
                    slots.filter_map(|slot| values.get(slot)).map(|value| Expr::literal(value.clone())).collect()
                };
                let of = |list: Vec<Expr>| Expr::new(ExprKind::In { value: Box::new(self.expr.clone()), list });
                if has(SlotKind::Other) {
                    // All but the values that were not chosen.
                    let others: Vec<Expr> = list(&mut (0..values.len()).filter(|slot| !chosen.contains(slot)));
                    let there = not(self.is_missing());
                    parts.push(match others.is_empty() {
                        true => there,
                        false => op(BinaryOp::And, there, not(of(others))),
                    });
                } else {
                    let these: Vec<Expr> = list(&mut chosen.iter().copied());
                    match these.len() {
                        0 => {}
                        1 => {
                            let value = these.into_iter().next().unwrap_or_else(|| Expr::literal(Value::Null));
                            parts.push(op(BinaryOp::Equal, self.expr.clone(), value));
                        }
                        _ => parts.push(of(these)),
                    }
                }
            }
            _ => parts.extend(self.bins(&chosen)),
        }
        if has(SlotKind::Missing) {
            parts.push(self.is_missing());
        }
        Some(join(BinaryOp::Or, parts).unwrap_or_else(|| Expr::literal(false)))
    }

    /// A condition for each run of neighboring bins.
    fn bins(&self, chosen: &[usize]) -> Vec<Expr> {
        let slots = &self.shown.slots;
        let (first, count, is_closed) = match &self.coding {
            Coding::Floats(placed) => (placed.first as usize, placed.edges.len() - 1, placed.is_closed),
            Coding::Ints(placed) => (placed.first as usize, placed.edges.len() - 1, placed.is_closed),
            Coding::Values { .. } => return Vec::new(),
        };
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for slot in chosen.iter().copied().filter(|slot| slots[*slot].kind != SlotKind::Missing) {
            match runs.last_mut() {
                Some((_, end)) if *end == slot => *end = slot + 1,
                _ => runs.push((slot, slot + 1)),
            }
        }
        let compare = |with, at: usize| op(with, self.expr.clone(), Expr::literal(self.edge(at)));
        let is_last = |slot: usize| is_closed && slot == first + count - 1;
        let there = |is_open: bool| {
            // NaN is greater than all numbers, as in Polars.
            (is_open && self.has_nan).then(|| not(Expr::call("is_nan", [self.expr.clone()])))
        };
        let of_run = |(from, to): (usize, usize)| {
            let low = match slots[from].kind {
                SlotKind::Below(_) => None,
                SlotKind::Above(_) => Some(compare(BinaryOp::Greater, count)),
                _ => Some(compare(BinaryOp::GreaterEqual, from - first)),
            };
            let high = match slots[to - 1].kind {
                SlotKind::Above(_) => None,
                SlotKind::Below(_) => Some(compare(BinaryOp::Less, 0)),
                _ if is_last(to - 1) => Some(compare(BinaryOp::LessEqual, count)),
                _ => Some(compare(BinaryOp::Less, to - first)),
            };
            let is_open = high.is_none();
            let nothing = low.is_none() && high.is_none();
            let filled = nothing.then(|| not(self.is_missing()));
            join(BinaryOp::And, [low, high, there(is_open && !nothing), filled].into_iter().flatten())
        };
        runs.into_iter().filter_map(of_run).collect()
    }
}

/// The two columns of a raster, and whether they are times: then positions are seconds, and edges whole microseconds.
pub struct Plane {
    pub x: (Expr, bool),
    pub y: (Expr, bool),
}

impl Plane {
    /// The rows in a rectangle or a polygon.
    pub fn within(&self, kept: &KeptSlots) -> Option<Expr> {
        let compare = |(expr, is_time): &(Expr, bool), with, at: f64| {
            let value = match is_time {
                true => Value::Timestamp { value: (at * 1e6).round() as i64, unit: TimeUnit::Microsecond, zone: None },
                false => Value::Float(at),
            };
            op(with, expr.clone(), Expr::literal(value))
        };
        match kept {
            KeptSlots::Box(Window { x0, y0, x1, y1 }) => all([
                compare(&self.x, BinaryOp::GreaterEqual, *x0),
                compare(&self.x, BinaryOp::LessEqual, *x1),
                compare(&self.y, BinaryOp::GreaterEqual, *y0),
                compare(&self.y, BinaryOp::LessEqual, *y1),
            ]),
            KeptSlots::Lasso(corners) => {
                let ((x, _), (y, _)) = (&self.x, &self.y);
                let edge = |(xi, yi): (f64, f64), (xj, yj): (f64, f64)| {
                    let above = |at: f64| op(BinaryOp::Greater, y.clone(), Expr::literal(at));
                    let crosses = op(BinaryOp::NotEqual, above(yi), above(yj));
                    // As in `inside`: the same operations in the same order.
                    let slope = Expr::literal((xj - xi) / (yj - yi));
                    let along = op(BinaryOp::Subtract, y.clone(), Expr::literal(yi));
                    let at = op(BinaryOp::Add, op(BinaryOp::Multiply, slope, along), Expr::literal(xi));
                    op(BinaryOp::And, crosses, op(BinaryOp::Less, x.clone(), at))
                };
                let edges = corners.iter().zip(corners.iter().cycle().skip(1));
                join(BinaryOp::Xor, edges.filter(|(a, b)| a.1 != b.1).map(|(a, b)| edge(*a, *b)))
            }
            _ => None,
        }
    }
}

/// Whether a position is inside of a polygon, by the even-odd rule (Shimrat 1962).
pub fn inside(corners: &[(f64, f64)], (x, y): (f64, f64)) -> bool {
    let mut is_inside = false;
    for ((xi, yi), (xj, yj)) in corners.iter().zip(corners.iter().cycle().skip(1)) {
        if yi != yj && (y > *yi) != (y > *yj) {
            let slope = (xj - xi) / (yj - yi);
            is_inside ^= x < slope * (y - yi) + xi;
        }
    }
    is_inside
}

/// An expression as it is written in `x!(...)`.
pub fn code(expr: &Expr) -> String {
    let mut out = String::new();
    write(expr, 0, &mut out);
    out
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Higher binds more tightly.
fn rank(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary(op, ..) => match op {
            BinaryOp::Or => 1,
            BinaryOp::And => 2,
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => 3,
            BinaryOp::BitOr => 4,
            BinaryOp::Xor => 5,
            BinaryOp::BitAnd => 6,
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => 7,
            BinaryOp::Add | BinaryOp::Subtract => 8,
            _ => 9,
        },
        ExprKind::In { .. } | ExprKind::Between { .. } => 3,
        ExprKind::Cast { .. } => 10,
        ExprKind::Unary(..) => 11,
        _ => 12,
    }
}

fn write(expr: &Expr, least: u8, out: &mut String) {
    let own = rank(expr);
    if own < least {
        out.push('(');
        write(expr, 0, out);
        out.push(')');
        return;
    }
    match &expr.kind {
        ExprKind::Column(name) if is_name(name) => out.push_str(name),
        ExprKind::Column(name) => drop(write!(out, "col({name:?})")),
        ExprKind::Alias(inner, _) => write(inner, least, out),
        ExprKind::Literal(value) => literal(value, out),
        ExprKind::Unary(with, inner) => {
            out.push_str(if *with == UnaryOp::Not { "!" } else { "-" });
            write(inner, 12, out);
        }
        ExprKind::Binary(with, a, b) => {
            // Comparisons do not chain.
            write(a, if own == 3 { 4 } else { own }, out);
            let _ = write!(out, " {} ", with.symbol());
            write(b, own + 1, out);
        }
        ExprKind::In { value, list } => {
            write(value, 4, out);
            out.push_str(" in [");
            for (at, item) in list.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write(item, 0, out);
            }
            out.push(']');
        }
        ExprKind::Between { value, low, high, high_inclusive } => {
            write(value, 4, out);
            out.push_str(" in ");
            write(low, 12, out);
            out.push_str(if *high_inclusive { "..=" } else { ".." });
            write(high, 12, out);
        }
        ExprKind::Cast { value, to, .. } => {
            write(value, 10, out);
            let _ = write!(out, " as {to}");
        }
        ExprKind::Call { function, args } => {
            let mut args = args.iter();
            if let Some(this) = args.next() {
                write(&this.value, 12, out);
                out.push('.');
            }
            out.push_str(function);
            out.push('(');
            for (at, arg) in args.enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                if let Some(name) = &arg.name {
                    let _ = write!(out, "{name} = ");
                }
                write(&arg.value, 0, out);
            }
            out.push(')');
        }
        // Not written by filters; a column of a view can hold them.
        ExprKind::Case { .. } | ExprKind::Over { .. } | ExprKind::All { .. } => out.push_str("/* expression */"),
        ExprKind::Native { function, args } => {
            let _ = write!(out, "{}(", function.name);
            for (at, arg) in args.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write(arg, 0, out);
            }
            out.push(')');
        }
        ExprKind::Model(output) => out.push_str(&output.output),
    }
}

fn literal(value: &Value, out: &mut String) {
    let _ = match value {
        Value::Null => write!(out, "None"),
        Value::Boolean(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::UInt(value) => write!(out, "{value}"),
        Value::Float32(value) => write!(out, "{value:?}"),
        Value::Float(value) => write!(out, "{value:?}"),
        Value::Text(text) => write!(out, "{text:?}"),
        Value::Date(days) => {
            let day = chrono::DateTime::from_timestamp(i64::from(*days) * 86_400, 0);
            write!(out, "\"{}\".str.to_date()", day.map_or(String::new(), |day| day.format("%Y-%m-%d").to_string()))
        }
        Value::Timestamp { value, unit, .. } => {
            let micros = match unit {
                TimeUnit::Second => value.saturating_mul(1_000_000),
                TimeUnit::Millisecond => value.saturating_mul(1_000),
                TimeUnit::Microsecond => *value,
                TimeUnit::Nanosecond => value.div_euclid(1_000),
            };
            let time = chrono::DateTime::from_timestamp_micros(micros);
            let text = time.map_or(String::new(), |time| time.format("%Y-%m-%d %H:%M:%S%.f").to_string());
            write!(out, "\"{text}\".str.to_datetime()")
        }
        other => write!(out, "{other:?}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_like_a_cell() {
        let column = |name: &str| Expr::column(name);
        let above = op(BinaryOp::GreaterEqual, column("fare"), Expr::literal(10.0));
        let below = op(BinaryOp::Less, column("fare"), Expr::literal(20.5));
        let missing = Expr::call("is_null", [column("the tip")]);
        let either = op(BinaryOp::Or, op(BinaryOp::And, above.clone(), below), missing);
        assert_eq!(code(&either), "fare >= 10.0 && fare < 20.5 || col(\"the tip\").is_null()");
        let hours = ExprKind::In {
            value: Box::new(Expr::call("dt.hour", [column("pickup")])),
            list: vec![Expr::literal(7), Expr::literal(8)],
        };
        assert_eq!(
            code(&op(BinaryOp::And, either, not(Expr::new(hours)))),
            "(fare >= 10.0 && fare < 20.5 || col(\"the tip\").is_null()) && !(pickup.dt.hour() in [7, 8])"
        );
    }

    /// A square with a notch; the corners by hand.
    #[test]
    fn a_polygon_has_an_inside() {
        let corners = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (2.0, 2.0), (0.0, 4.0)];
        let of = |x, y| inside(&corners, (x, y));
        assert!(of(1.0, 1.0) && of(3.5, 3.0) && of(0.5, 3.0));
        assert!(!of(2.0, 3.0) && !of(-1.0, 1.0) && !of(5.0, 1.0) && !of(2.0, f64::NAN));
    }
}
