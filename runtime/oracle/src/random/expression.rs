//! Random expressions with a type, as trees that can be made smaller and written as SQL.
//!
//! An expression knows whether it can fail, how large it gets, and whether it is the same to the last bit everywhere. A
//! part that may not be evaluated (a branch, the right side of `and`) does not fail.

use std::cell::Cell;

use super::values::{Column, Random, Type, day, fixed, time};

thread_local! {
    static ONE_NAN: Cell<bool> = const { Cell::new(false) };
}

/// Calls `write`, which writes each calculated NaN as the NaN of SQL literals. The NaN of x86 processors has a minus
/// sign, by which the CPU engine sorts and groups it apart from others.
pub fn with_one_nan<T>(write: impl FnOnce() -> T) -> T {
    let before = ONE_NAN.replace(true);
    let written = write();
    ONE_NAN.set(before);
    written
}

#[derive(Clone)]
pub struct Expr {
    pub column: Column,
    pub fails: bool,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Column(usize),
    Literal(String),
    /// `{}` stands for an argument.
    Call(String, Vec<Expr>),
}

impl Expr {
    pub fn reference(index: usize, column: &Column) -> Expr {
        Expr { column: column.clone(), fails: false, kind: Kind::Column(index) }
    }

    fn null(dtype: Type) -> Option<Expr> {
        // Without a name in SQL.
        if matches!(dtype, Type::Zoned | Type::Span) {
            return None;
        }
        let column = Column { dtype, bound: Some(0.0), nan: false, exact: true };
        Some(Expr { column, fails: false, kind: Kind::Literal(format!("cast(null as {})", dtype.sql())) })
    }

    pub fn sql(&self, name: &dyn Fn(usize) -> String) -> String {
        match &self.kind {
            Kind::Column(index) => name(*index),
            Kind::Literal(text) => text.clone(),
            Kind::Call(template, args) => {
                let mut parts = template.split("{}");
                let mut out = parts.next().unwrap_or_default().to_string();
                for (arg, part) in args.iter().zip(parts) {
                    out += &arg.sql(name);
                    out += part;
                }
                let float = match self.column.dtype {
                    Type::Double => "double",
                    Type::Single => "float",
                    _ => return out,
                };
                match ONE_NAN.get() {
                    true => format!("(case when isnan({out}) then cast('nan' as {float}) else {out} end)"),
                    false => out,
                }
            }
        }
    }

    /// Whether it looks at a row at all.
    pub fn reads(&self) -> bool {
        match &self.kind {
            Kind::Column(_) => true,
            Kind::Literal(_) => false,
            Kind::Call(_, args) => args.iter().any(Expr::reads),
        }
    }

    /// With a part of it in place of the whole, or null in place of a part.
    pub fn smaller(&self) -> Vec<Expr> {
        let Kind::Call(template, args) = &self.kind else { return Vec::new() };
        let mut all: Vec<Expr> = args.iter().filter(|a| a.column.dtype == self.column.dtype).cloned().collect();
        all.extend(Expr::null(self.column.dtype));
        for (index, arg) in args.iter().enumerate() {
            for part in arg.smaller() {
                let mut args = args.clone();
                args[index] = part;
                all.push(Expr { kind: Kind::Call(template.clone(), args), ..self.clone() });
            }
        }
        all
    }
}

/// Makes expressions over columns.
pub struct Maker<'a> {
    pub random: &'a mut Random,
    pub columns: &'a [Column],
    /// Expressions that fail for some values.
    pub fails: bool,
    /// Expressions that differ in their last digits.
    pub inexact: bool,
}

impl Maker<'_> {
    /// An expression of a type that some column has, or that every expression can have.
    pub fn any(&mut self, depth: u32) -> Expr {
        let common = [Type::Bool, Type::Int(8, true), Type::Double, Type::Text, Type::Date, Type::Time];
        let dtype = match self.random.below(3) {
            0 => *self.random.pick(&common),
            _ => self.random.pick(self.columns).dtype,
        };
        self.of(dtype, depth)
    }

    pub fn of(&mut self, dtype: Type, depth: u32) -> Expr {
        if depth == 0 || self.random.one_in(4) {
            return self.leaf(dtype);
        }
        let depth = depth - 1;
        if self.random.one_in(4) {
            return self.conditional(dtype, depth);
        }
        match dtype {
            Type::Bool => self.boolean(depth),
            Type::Int(..) => self.whole(dtype, depth),
            Type::Single | Type::Double => self.float(dtype, depth),
            Type::Decimal(precision, scale) => self.decimal(precision, scale, depth),
            Type::Date => match self.random.below(2) {
                0 => self.call("cast({} as date)", dtype, vec![Type::Time], depth),
                _ => self.call("({} + interval '3 days')", dtype, vec![Type::Date], depth),
            },
            Type::Time => match self.random.below(3) {
                0 => self.call("cast({} as timestamp)", dtype, vec![Type::Date], depth),
                1 => self.call("({} - interval '90 minutes')", dtype, vec![Type::Time], depth),
                _ => {
                    let part =
                        *self.random.pick(&["year", "quarter", "month", "week", "day", "hour", "minute", "second"]);
                    self.call(&format!("date_trunc('{part}', {{}})"), dtype, vec![Type::Time], depth)
                }
            },
            Type::Zoned | Type::Span => self.leaf(dtype),
            Type::Text => match self.random.below(11) {
                0 => self.call("({} || {})", dtype, vec![Type::Text, Type::Text], depth),
                1 => self.call("upper({})", dtype, vec![Type::Text], depth),
                2 => self.call("lower({})", dtype, vec![Type::Text], depth),
                3 => {
                    let function = *self.random.pick(&["left", "right", "substring"]);
                    let count = self.random.below(4);
                    self.call(&format!("{function}({{}}, {count})"), dtype, vec![Type::Text], depth)
                }
                4 => {
                    let function = *self.random.pick(&["trim", "ltrim", "rtrim"]);
                    let set = *self.random.pick(&["", ", 'a'", ", '0123'"]);
                    self.call(&format!("{function}({{}}{set})"), dtype, vec![Type::Text], depth)
                }
                5 => self.call("replace({}, 'a', {})", dtype, vec![Type::Text, Type::Text], depth),
                6 => self.call("split_part({}, '1', 1)", dtype, vec![Type::Text], depth),
                7 => self.call("reverse({})", dtype, vec![Type::Text], depth),
                8 => {
                    let function = *self.random.pick(&["lpad", "rpad"]);
                    let count = self.random.below(6);
                    self.call(&format!("{function}({{}}, {count}, 'é_')"), dtype, vec![Type::Text], depth)
                }
                9 => self.call("repeat({}, 2)", dtype, vec![Type::Text], depth),
                _ => self.call("cast({} as varchar)", dtype, vec![Type::Int(8, true)], depth),
            },
        }
    }

    fn leaf(&mut self, dtype: Type) -> Expr {
        let usable = |c: &&(usize, &Column)| c.1.dtype == dtype && (self.inexact || c.1.exact);
        let all: Vec<(usize, &Column)> = self.columns.iter().enumerate().collect();
        let all: Vec<(usize, &Column)> = all.iter().filter(usable).copied().collect();
        if !all.is_empty() && !self.random.one_in(6) {
            let (index, column) = *self.random.pick(&all);
            return Expr::reference(index, column);
        }
        if let (Type::Zoned | Type::Span, Some((index, column))) = (dtype, all.first()) {
            return Expr::reference(*index, column);
        }
        self.literal(dtype)
    }

    pub fn literal(&mut self, dtype: Type) -> Expr {
        let small = self.random.below(21) as i64 - 10;
        let (text, bound) = match dtype {
            Type::Bool => (self.random.one_in(2).to_string(), None),
            Type::Int(8, true) => (format!("{small}"), Some(10.0)),
            Type::Int(_, signed) => {
                let value = if signed { small } else { small.abs() };
                (format!("cast({value} as {})", dtype.sql()), Some(10.0))
            }
            Type::Single => (format!("cast({:?} as float)", small as f64 / 4.0), Some(10.0)),
            Type::Double => (format!("cast({:?} as double)", small as f64 / 4.0), Some(10.0)),
            Type::Decimal(_, scale) => {
                let units = i128::from(small) * 10i128.pow(scale.unsigned_abs().into()) / 4;
                (format!("cast('{}' as {})", fixed(units, scale), dtype.sql()), None)
            }
            Type::Date => (format!("date '{}'", day(18_000 + small * 40)), None),
            Type::Time => (
                format!("timestamp '{}'", time((1_580_000_000 + small * 1_000_000) * 1_000_000).replace('T', " ")),
                None,
            ),
            Type::Text => (format!("'{}'", self.random.pick(&["", "a", "b", "ab", "héllo", "zz"])), None),
            // There is always a column where these are asked for.
            Type::Zoned | Type::Span => ("null".to_string(), None),
        };
        Expr { column: Column { dtype, bound, nan: false, exact: true }, fails: false, kind: Kind::Literal(text) }
    }

    fn call(&mut self, template: &str, dtype: Type, types: Vec<Type>, depth: u32) -> Expr {
        let args = types.into_iter().map(|t| self.of(t, depth)).collect();
        joined(template, dtype, args)
    }

    /// Makes a part that may not be evaluated, and so must not fail.
    fn safely<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.fails, false);
        let made = make(self);
        self.fails = before;
        made
    }

    fn conditional(&mut self, dtype: Type, depth: u32) -> Expr {
        self.safely(|m| {
            let template = *m.random.pick(&[
                "case when {} then {} else {} end",
                "case when {} then {} end",
                "coalesce({}, {})",
                "nullif({}, {})",
                "case when {} then {} when {} then {} else {} end",
            ]);
            let mut args = Vec::new();
            if template.starts_with("case") {
                let branches = template.matches("when").count();
                for _ in 0..branches {
                    args.push(m.of(Type::Bool, depth.min(1)));
                    args.push(m.of(dtype, depth));
                }
            }
            while args.len() < template.matches("{}").count() {
                args.push(m.of(dtype, depth));
            }
            joined(template, dtype, args)
        })
    }

    pub fn boolean(&mut self, depth: u32) -> Expr {
        match self.random.below(12) {
            0 => self.call("(not {})", Type::Bool, vec![Type::Bool], depth),
            1 | 2 => {
                let template = if self.random.one_in(2) { "({} and {})" } else { "({} or {})" };
                self.safely(|m| m.call(template, Type::Bool, vec![Type::Bool, Type::Bool], depth))
            }
            3 => {
                let value = self.any(depth);
                let template = if self.random.one_in(2) { "({} is null)" } else { "({} is not null)" };
                joined(template, Type::Bool, vec![value])
            }
            4 | 5 => {
                let value = self.any(depth);
                let dtype = value.column.dtype;
                if matches!(dtype, Type::Bool | Type::Zoned | Type::Span) {
                    return joined("({} is null)", Type::Bool, vec![value]);
                }
                let mut args = vec![value];
                args.extend((0..1 + self.random.below(4)).map(|_| self.literal(dtype)));
                let list = vec!["{}"; args.len() - 1].join(", ");
                let null = if self.random.one_in(5) { ", null" } else { "" };
                let not = if self.random.one_in(3) { "not " } else { "" };
                joined(&format!("({{}} {not}in ({list}{null}))"), Type::Bool, args)
            }
            6 => {
                let value = self.any(depth);
                let dtype = value.column.dtype;
                let args = vec![value, self.of(dtype, 0), self.of(dtype, 0)];
                joined("({} between {} and {})", Type::Bool, args)
            }
            7 => match self.random.below(3) {
                0 => {
                    let pattern = *self.random.pick(&["%a%", "a%", "%1", "_b%", "%a%1%", "", "%", "a_", "日%"]);
                    self.call(&format!("({{}} like '{pattern}')"), Type::Bool, vec![Type::Text], depth)
                }
                1 => {
                    let function = *self.random.pick(&["starts_with", "ends_with", "contains"]);
                    self.call(&format!("{function}({{}}, {{}})"), Type::Bool, vec![Type::Text, Type::Text], depth)
                }
                _ => {
                    let pattern = *self.random.pick(&["a|b", "^[a-z]+$", "[0-9]{2}", "é", "^.$", "b.*1"]);
                    self.call(&format!("regexp_matches({{}}, '{pattern}')"), Type::Bool, vec![Type::Text], depth)
                }
            },
            8 => self.call("({} is true)", Type::Bool, vec![Type::Bool], depth),
            _ => {
                let left = self.any(depth);
                let dtype = left.column.dtype;
                let right = self.of(dtype, depth.min(1));
                let operator = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                joined(&format!("({{}} {operator} {{}})"), Type::Bool, vec![left, right])
            }
        }
    }

    fn whole(&mut self, dtype: Type, depth: u32) -> Expr {
        let Type::Int(_, signed) = dtype else { return self.leaf(dtype) };
        let most = dtype.range().1 as f64;
        match self.random.below(8) {
            0..=2 => {
                let (left, right) = (self.of(dtype, depth), self.of(dtype, depth));
                let operator = *self.random.pick(if signed { &["+", "-", "*"] } else { &["+", "+", "*"] });
                let made = joined(&format!("({{}} {operator} {{}})"), dtype, vec![left.clone(), right]);
                let fits = made.column.bound.is_some_and(|b| b < most);
                match fits || self.fails {
                    true => Expr { fails: made.fails || !fits, ..made },
                    false => left,
                }
            }
            3 => {
                let value = self.of(dtype, depth);
                let divisor = 2 + self.random.below(8);
                let operator = if self.random.one_in(2) { "%" } else { "//" };
                let made = joined(&format!("({{}} {operator} cast({divisor} as {}))", dtype.sql()), dtype, vec![value]);
                let bound = if operator == "%" { Some(10.0) } else { made.column.bound };
                Expr { column: Column { bound, ..made.column.clone() }, ..made }
            }
            4 => {
                let from = *self.random.pick(&[
                    Type::Int(1, true),
                    Type::Int(2, true),
                    Type::Int(4, true),
                    Type::Int(8, true),
                    Type::Bool,
                ]);
                let value = self.of(from, depth);
                let fits = from == Type::Bool || (signed && value.column.bound.is_some_and(|b| b < most));
                let cast = if fits { "cast" } else { "try_cast" };
                let made = joined(&format!("{cast}({{}} as {})", dtype.sql()), dtype, vec![value]);
                let bound = if from == Type::Bool {
                    Some(1.0)
                } else {
                    made.column.bound.filter(|b| *b <= most).or(Some(most))
                };
                Expr { column: Column { bound, ..made.column.clone() }, ..made }
            }
            5 if dtype == Type::Int(8, true) => {
                let part = *self.random.pick(&[
                    "year",
                    "month",
                    "day",
                    "quarter",
                    "dayofweek",
                    "dayofyear",
                    "week",
                    "hour",
                    "minute",
                    "second",
                ]);
                let from = if ["hour", "minute", "second"].contains(&part) || self.random.one_in(2) {
                    Type::Time
                } else {
                    Type::Date
                };
                let made = self.call(&format!("{part}({{}})"), dtype, vec![from], depth);
                Expr { column: Column { bound: Some(1e4), ..made.column.clone() }, ..made }
            }
            6 if dtype == Type::Int(8, true) => {
                let made = self.call("length({})", dtype, vec![Type::Text], depth);
                Expr { column: Column { bound: Some(1e3), ..made.column.clone() }, ..made }
            }
            7 if signed => {
                let value = self.of(dtype, depth);
                match value.column.bound.is_some_and(|b| b < most) {
                    true => joined("abs({})", dtype, vec![value]),
                    false => value,
                }
            }
            _ => self.leaf(dtype),
        }
    }

    fn float(&mut self, dtype: Type, depth: u32) -> Expr {
        match self.random.below(8) {
            0..=2 => {
                let operator = *self.random.pick(&["+", "-", "*"]);
                self.call(&format!("({{}} {operator} {{}})"), dtype, vec![dtype, dtype], depth)
            }
            3 => {
                let of = if dtype == Type::Double && self.random.one_in(2) { Type::Int(8, true) } else { dtype };
                let made = self.call("({} / {})", dtype, vec![of, of], depth);
                Expr { column: Column { bound: None, nan: true, ..made.column.clone() }, ..made }
            }
            4 => {
                let function = *self.random.pick(&["floor", "ceil", "trunc", "abs", "-"]);
                self.call(&format!("{function}({{}})"), dtype, vec![dtype], depth)
            }
            5 if dtype == Type::Double => {
                let from =
                    *self.random.pick(&[Type::Int(4, true), Type::Int(8, true), Type::Single, Type::Int(2, false)]);
                let mut decimals = self.columns.iter().map(|c| c.dtype).filter(|t| matches!(t, Type::Decimal(..)));
                let from = decimals.next_back().filter(|_| self.random.one_in(2)).unwrap_or(from);
                self.call("cast({} as double)", dtype, vec![from], depth)
            }
            6 if dtype == Type::Double => self.call("sqrt(abs({}))", dtype, vec![dtype], depth),
            7 if self.inexact && dtype == Type::Double => {
                let function = *self.random.pick(&["sin", "cos", "atan", "tanh"]);
                let made = self.call(&format!("{function}({{}})"), dtype, vec![dtype], depth.min(1));
                // Trigonometric functions of large numbers depend on the reduction of the argument.
                if made.column.bound.is_none_or(|b| b > 1e4) {
                    return self.leaf(dtype);
                }
                Expr { column: Column { bound: Some(2.0), exact: false, ..made.column.clone() }, ..made }
            }
            _ => self.leaf(dtype),
        }
    }

    fn decimal(&mut self, precision: u8, scale: i8, depth: u32) -> Expr {
        let dtype = Type::Decimal(precision, scale);
        match self.random.below(3) {
            0 => self.call("abs({})", dtype, vec![dtype], depth),
            1 => self.call("(-{})", dtype, vec![dtype], depth),
            _ => self.leaf(dtype),
        }
    }

    /// A sum or a product of decimals, which is wider than its parts.
    pub fn wide_decimal(&mut self) -> Option<Expr> {
        let all: Vec<(usize, &Column)> =
            self.columns.iter().enumerate().filter(|(_, c)| matches!(c.dtype, Type::Decimal(..))).collect();
        if all.is_empty() {
            return None;
        }
        let (i, a) = *self.random.pick(&all);
        let (j, b) = *self.random.pick(&all);
        let (Type::Decimal(p, s), Type::Decimal(q, t)) = (a.dtype, b.dtype) else { return None };
        let args = vec![Expr::reference(i, a), Expr::reference(j, b)];
        match self.random.below(3) {
            0 if p + q < 38 => Some(joined("({} * {})", Type::Decimal(p + q + 1, s + t), args)),
            operator => {
                let whole = (p as i8 - s).max(q as i8 - t);
                let scale = s.max(t);
                let sum = Type::Decimal((whole + scale + 1) as u8, scale);
                (whole + scale < 38).then(|| joined(if operator == 1 { "({} + {})" } else { "({} - {})" }, sum, args))
            }
        }
    }
}

/// A call of parts, with what follows from them.
pub fn joined(template: &str, dtype: Type, args: Vec<Expr>) -> Expr {
    let bounds: Option<Vec<f64>> = args.iter().map(|a| a.column.bound).collect();
    let values = |b: &[f64]| b.iter().copied().fold(0.0, f64::max);
    let bound = bounds.and_then(|b| match template {
        "({} + {})" | "({} - {})" => Some(b.iter().sum()),
        "({} * {})" => Some(b.iter().product()),
        _ if matches!(dtype, Type::Int(..) | Type::Single | Type::Double) => Some(values(&b)),
        _ => None,
    });
    // A condition has no bound, and the branches have.
    let bound = match template.starts_with("case") && dtype != Type::Bool {
        true => {
            let branches: Option<Vec<f64>> =
                args.iter().filter(|a| a.column.dtype == dtype).map(|a| a.column.bound).collect();
            branches.map(|b| values(&b))
        }
        false => bound,
    };
    let nan = dtype.is_float() && (args.iter().any(|a| a.column.nan) || bound.is_none());
    let exact = args.iter().all(|a| a.column.exact);
    let fails = args.iter().any(|a| a.fails);
    Expr { column: Column { dtype, bound, nan, exact }, fails, kind: Kind::Call(template.to_string(), args) }
}
