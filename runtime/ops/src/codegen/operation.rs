//! Operations of an expression graph as CUDA C++. The value of a node comes from the values of its arguments, and so do
//! nulls and row errors.

use onrush_kernels::Scalar;

use super::{ValueExpr, Writer, both, string};
use crate::ir::expr::{Comparison, DeviceType, Fold, Node, NodeId, Op, OverflowPolicy, StringOp};

/// A node while its statements are written.
pub(super) struct NodeCode<'n> {
    pub id: NodeId,
    pub node: &'n Node,
    /// The type of the first argument.
    pub from: Option<DeviceType>,
    pub args: &'n [ValueExpr],
    /// The condition that all arguments are valid.
    pub ok: &'n str,
    /// At first those of a strict function of the arguments.
    pub valid: Option<String>,
    pub fault: Option<String>,
    /// The row error of the node itself.
    pub own_fault: Option<String>,
}

impl Writer<'_> {
    /// Writes what an operation of its arguments alone needs, and returns its value.
    pub(super) fn operation(&mut self, code: &mut NodeCode) -> String {
        match code.node.op {
            Op::Compare(_) | Op::IsNotDistinctFrom | Op::And | Op::Or | Op::Not | Op::IsNull => self.logic(code),
            Op::IfElse | Op::Coalesce => self.logic(code),
            Op::Convert(_) | Op::CheckRange(_) | Op::OrderKey | Op::FromOrderKey => self.conversion(code),
            Op::Bits | Op::FromBits => self.conversion(code),
            Op::MathFn(_) | Op::DatePart(..) | Op::Truncate(..) | Op::ToLocal(..) | Op::ToUtc(..) => {
                self.function(code)
            }
            Op::Lookup(_) | Op::ToDictIndex(_) | Op::Str(_) => self.string_operation(code),
            _ => self.arithmetic(code),
        }
    }

    /// Arithmetic, bit operations and shifts.
    fn arithmetic(&mut self, code: &mut NodeCode) -> String {
        let &mut NodeCode { id, node, args, ok, .. } = code;
        let (kind, t) = (node.kind, node.kind.cuda());
        let a = || args[0].value.as_str();
        let b = || args[1].value.as_str();
        match node.op {
            Op::Add => format!("plus<{t}>({}, {})", a(), b()),
            Op::Subtract => format!("minus<{t}>({}, {})", a(), b()),
            Op::Multiply => format!("times<{t}>({}, {})", a(), b()),
            Op::Divide | Op::Remainder => {
                if !kind.is_float() {
                    code.own_fault = Some(format!("divides_by_zero<{t}>({}, {})", a(), b()));
                }
                let name = if node.op == Op::Divide { "quotient" } else { "remainder_of" };
                // A result that is known to have 64 bits is not that of the lowest number by -1.
                match self.body.fits_i64(id) && node.args.iter().all(|arg| self.body.fits_i64(*arg)) {
                    true => format!("(i128){name}<i64>((i64){}, (i64){})", a(), b()),
                    false => format!("{name}<{t}>({}, {})", a(), b()),
                }
            }
            Op::AddChecked | Op::SubtractChecked | Op::MultiplyChecked => {
                let name = match node.op {
                    Op::AddChecked => "plus",
                    Op::SubtractChecked => "minus",
                    _ => "times",
                };
                code.own_fault = Some(format!("{name}_overflows<{t}>({}, {})", a(), b()));
                format!("{name}<{t}>({}, {})", a(), b())
            }
            Op::AddExact | Op::SubtractExact | Op::MultiplyExact
                if self.body.fits_i64(id) && node.args.iter().all(|arg| self.body.fits_i64(*arg)) =>
            {
                let operator = match node.op {
                    Op::AddExact => "+",
                    Op::SubtractExact => "-",
                    _ => "*",
                };
                format!("(i128)((i64){} {operator} (i64){})", a(), b())
            }
            Op::AddExact | Op::SubtractExact | Op::MultiplyExact | Op::DivideExact => {
                let name = match node.op {
                    Op::AddExact => "add_checked",
                    Op::SubtractExact => "subtract_checked",
                    Op::MultiplyExact => "multiply_checked",
                    _ => "divide_checked",
                };
                self.line(&format!("u32 ex{id} = 0;"));
                code.own_fault = Some(format!("ex{id} != 0"));
                format!("{ok} ? {name}({}, {}, ex{id}) : (i128)0", a(), b())
            }
            Op::DivideRounded => format!("divide_rounded({}, {})", a(), b()),
            Op::Negate => format!("minus<{t}>(({t})0, {})", a()),
            Op::Absolute if kind.is_float() => format!("({t})fabs({})", a()),
            Op::Absolute => format!("({0} < 0 ? minus<{t}>(({t})0, {0}) : {0})", a()),
            Op::BitAnd => format!("({t})({} & {})", a(), b()),
            Op::BitOr => format!("({t})({} | {})", a(), b()),
            Op::BitXor => format!("({t})({} ^ {})", a(), b()),
            Op::ShiftLeft => format!("shift_left<{t}>({}, {})", a(), b()),
            Op::ShiftRight => format!("shift_right<{t}>({}, {})", a(), b()),
            _ => unreachable!("another function writes this operation"),
        }
    }

    /// Comparisons, logic of three values, and choices.
    fn logic(&mut self, code: &mut NodeCode) -> String {
        let &mut NodeCode { id, node, from, args, ok, .. } = code;
        let a = || args[0].value.as_str();
        let b = || args[1].value.as_str();
        match node.op {
            // The string of a null row is not read.
            Op::Compare(how) if from == Some(DeviceType::String) && ok != "true" => {
                format!("{ok} && {}", compare(how, from, a(), b()))
            }
            Op::Compare(how) => compare(how, from, a(), b()),
            Op::IsNotDistinctFrom => {
                code.valid = None;
                let same = compare(Comparison::Equal, from, a(), b());
                format!("{0} == {1} && (!{0} || {same})", args[0].ok(), args[1].ok())
            }
            Op::And | Op::Or => {
                let (x, y) = (args[0].ok(), args[1].ok());
                let (not, both) = if node.op == Op::And { ("!", "&&") } else { ("", "||") };
                if code.valid.is_some() {
                    code.valid = Some(format!("(({x} && {y}) || ({x} && {not}{}) || ({y} && {not}{}))", a(), b()));
                }
                match node.op {
                    Op::And => format!("(!{x} || {}) {both} (!{y} || {})", a(), b()),
                    _ => format!("({x} && {}) {both} ({y} && {})", a(), b()),
                }
            }
            Op::Not => format!("!{}", a()),
            Op::IsNull => {
                code.valid = None;
                format!("!({})", args[0].ok())
            }
            Op::IfElse => {
                let (yes, no) = (&args[1], &args[2]);
                self.line(&format!("const bool wx{id} = {} && {};", args[0].ok(), a()));
                code.valid = (yes.valid.is_some() || no.valid.is_some())
                    .then(|| format!("(wx{id} ? {} : {})", yes.ok(), no.ok()));
                let either = yes.fault.is_some() || no.fault.is_some();
                let (f, g) = (yes.fault.as_deref().unwrap_or("false"), no.fault.as_deref().unwrap_or("false"));
                code.fault = both(&args[0].fault, &either.then(|| format!("(wx{id} ? {f} : {g})")), "||");
                format!("wx{id} ? {} : {}", yes.value, no.value)
            }
            Op::Coalesce => {
                let (first, second) = (&args[0], &args[1]);
                code.valid = second
                    .valid
                    .as_ref()
                    .and(first.valid.as_ref())
                    .map(|_| format!("({} || {})", first.ok(), second.ok()));
                let late = second.fault.as_ref().map(|f| format!("(!{} && {f})", first.ok()));
                code.fault = both(&first.fault, &late, "||");
                format!("{} ? {} : {}", first.ok(), first.value, second.value)
            }
            _ => unreachable!("another function writes this operation"),
        }
    }

    /// Conversions, limits of decimals, order keys and bits.
    fn conversion(&mut self, code: &mut NodeCode) -> String {
        let &mut NodeCode { node, from, args, .. } = code;
        let (kind, t) = (node.kind, node.kind.cuda());
        let a = || args[0].value.as_str();
        let b = || args[1].value.as_str();
        match node.op {
            Op::Convert(misfit) => {
                let from = from.unwrap_or(kind);
                if may_misfit(from, kind) {
                    let fits = format!("fits<{t}, {}>({})", from.cuda(), a());
                    match misfit {
                        OverflowPolicy::Error => code.own_fault = Some(format!("!{fits}")),
                        OverflowPolicy::Null => code.valid = both(&code.valid, &Some(fits), "&&"),
                    }
                }
                match (from, kind) {
                    (DeviceType::Bool, _) => format!("({t})({} ? 1 : 0)", a()),
                    (_, DeviceType::Bool) => format!("{} != 0", a()),
                    _ => format!("convert<{t}, {}>({})", from.cuda(), a()),
                }
            }
            Op::CheckRange(misfit) => {
                let fits = format!("magnitude({}) <= (u128){}", a(), b());
                match misfit {
                    OverflowPolicy::Error => code.own_fault = Some(format!("!({fits})")),
                    OverflowPolicy::Null => code.valid = both(&code.valid, &Some(format!("({fits})")), "&&"),
                }
                a().to_string()
            }
            Op::OrderKey => format!("({t})Order<{}>::of({})", from.map_or("i64", DeviceType::cuda), a()),
            Op::FromOrderKey => format!("Order<{t}>::value((Order<{t}>::key){})", a()),
            Op::Bits if from.is_some_and(DeviceType::is_float) => format!("(u64)bits_of({})", a()),
            Op::Bits => format!("(u64){}", a()),
            Op::FromBits => match kind {
                DeviceType::Number(Scalar::F64) => format!("__longlong_as_double((i64){})", a()),
                DeviceType::Number(Scalar::F32) => format!("__int_as_float((i32){})", a()),
                DeviceType::Bool => format!("{} != 0", a()),
                _ => format!("({t}){}", a()),
            },
            _ => unreachable!("another function writes this operation"),
        }
    }

    /// Functions of floats, and of dates and times.
    fn function(&mut self, code: &mut NodeCode) -> String {
        let &mut NodeCode { id, node, args, .. } = code;
        let t = node.kind.cuda();
        let a = || args[0].value.as_str();
        let b = || args[1].value.as_str();
        match node.op {
            Op::MathFn(name) => {
                let list: Vec<&str> = args.iter().map(|arg| arg.value.as_str()).collect();
                format!("({t}){name}({})", list.join(", "))
            }
            Op::DatePart(part, tick) => {
                format!("({t})date_part<(DatePart){}, {}>((i64){})", part as u32, tick.per_day(), a())
            }
            Op::Truncate(unit, tick) => {
                format!("({t})date_truncate<(DateUnit){}, {}>((i64){})", unit as u32, tick.per_day(), a())
            }
            Op::ToLocal(table, tick) => {
                let per_second = tick.per_day() / 86_400;
                format!("local_time<{per_second}>((i64){}, (const i64*)l{table}, n{table} + 1)", a())
            }
            Op::ToUtc(table, tick, fold) => {
                let per_second = tick.per_day() / 86_400;
                let zone = format!("(const i64*)l{table}, n{table} + 1");
                let ahead = match fold {
                    Fold::As => format!("zone_ahead<{per_second}>((i64){}, {zone})", b()),
                    Fold::No(_) => "0".to_string(),
                };
                self.line(&format!(
                    "u32 tx{id}; const i64 ux{id} = utc_time<{per_second}>((i64){}, {ahead}, {zone}, tx{id});",
                    a()
                ));
                match fold {
                    Fold::As => {}
                    Fold::No(OverflowPolicy::Error) => code.own_fault = Some(format!("tx{id} != 1")),
                    Fold::No(OverflowPolicy::Null) => {
                        code.valid = both(&code.valid, &Some(format!("(tx{id} == 1)")), "&&")
                    }
                }
                format!("ux{id}")
            }
            _ => unreachable!("another function writes this operation"),
        }
    }

    /// Lookup tables and functions of strings.
    fn string_operation(&mut self, code: &mut NodeCode) -> String {
        let &mut NodeCode { id, node, args, ok, .. } = code;
        let (kind, t) = (node.kind, node.kind.cuda());
        let a = || args[0].value.as_str();
        match node.op {
            Op::Lookup(table) => {
                let found = &self.body.beside.tables[table as usize];
                self.line(&format!("const u32 ix{id} = {} ? {} : n{table};", args[0].ok(), a()));
                code.valid = match found.keeps_nulls {
                    true => args[0].valid.clone(),
                    false => found.valid.as_ref().map(|_| format!("(lv{table}[ix{id}] != 0)")),
                };
                match kind {
                    DeviceType::Bool => format!("((const u8*)l{table})[ix{id}] != 0"),
                    _ => format!("((const {t}*)l{table})[ix{id}]"),
                }
            }
            Op::ToDictIndex(_) => format!("(u32){}", a()),
            Op::Str(StringOp::ParseInt(misfit) | StringOp::Parse(misfit) | StringOp::ParseTimestamp(misfit, _)) => {
                let (value, there) = self.read_text(id, node, a(), ok);
                match misfit {
                    OverflowPolicy::Error => code.own_fault = Some(format!("!{there}")),
                    OverflowPolicy::Null => {
                        code.own_fault = Some(format!("nu{id}"));
                        code.valid = Some(there);
                    }
                }
                value
            }
            // Its parts are written at its destination.
            Op::Str(op) if op.is_computed() => "(Text)0".to_string(),
            Op::Str(op) => {
                let list: Vec<&str> = args.iter().map(|arg| arg.value.as_str()).collect();
                let call = string::call(op, t, &list.join(", "));
                // The string of a null row is not read.
                if ok == "true" { call } else { format!("{ok} ? {call} : ({t})0") }
            }
            _ => unreachable!("another function writes this operation"),
        }
    }
}

pub(super) fn compare(how: Comparison, kind: Option<DeviceType>, a: &str, b: &str) -> String {
    let operator = match how {
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
    };
    match kind {
        Some(kind) if kind.is_float() => match how {
            Comparison::Equal => format!("float_equal({a}, {b})"),
            Comparison::NotEqual => format!("!float_equal({a}, {b})"),
            Comparison::Less => format!("float_less({a}, {b})"),
            Comparison::LessEqual => format!("!float_less({b}, {a})"),
            Comparison::Greater => format!("float_less({b}, {a})"),
            Comparison::GreaterEqual => format!("!float_less({a}, {b})"),
        },
        Some(DeviceType::String) => match how {
            Comparison::Equal => format!("text_equal({a}, {b})"),
            Comparison::NotEqual => format!("!text_equal({a}, {b})"),
            _ => format!("text_compare({a}, {b}) {operator} 0"),
        },
        _ => format!("{a} {operator} {b}"),
    }
}

/// Whether a value of one type may have no place in another one.
fn may_misfit(from: DeviceType, to: DeviceType) -> bool {
    let (DeviceType::Number(from), DeviceType::Number(to)) = (from, to) else { return false };
    if to.is_float() {
        return false;
    }
    if from.is_float() {
        return true;
    }
    match (from.is_unsigned(), to.is_unsigned()) {
        (true, false) => from.bytes() >= to.bytes(),
        (false, true) => true,
        _ => from.bytes() > to.bytes(),
    }
}
