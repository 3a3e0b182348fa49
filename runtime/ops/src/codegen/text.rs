//! Texts in generated kernels: what is computed of those in memory, what is read of them, and those that are made where they are written.

use onrush_kernels::headers::{self, Header};

use super::Writer;
use crate::graph::{Id, Node, Op, TextOp};

/// What a function of texts needs.
pub(super) fn headers_of(op: TextOp) -> Vec<&'static Header> {
    match op {
        TextOp::Value(_)
        | TextOp::Ticks(..)
        | TextOp::Float(_)
        | TextOp::Decimal(_)
        | TextOp::Date
        | TextOp::Moment(_) => {
            vec![&headers::TEXT_VALUES]
        }
        _ => vec![&headers::TEXT],
    }
}

/// A function of texts that are in memory.
pub(super) fn call(op: TextOp, t: &str, args: &str) -> String {
    let call = |name: &str| format!("{name}({args})");
    match op {
        TextOp::Literal(table) => format!("text_literal(l{table})"),
        TextOp::Contains => call("text_contains"),
        TextOp::Starts => call("text_starts"),
        TextOp::Ends => call("text_ends"),
        TextOp::Matches(table) => format!("text_matches({args}, l{table})"),
        TextOp::Count(table) => format!("({t})text_matches_count({args}, l{table})"),
        TextOp::Chars => format!("({t})text_chars({args})"),
        TextOp::Bytes => format!("({t}){args}.length"),
        TextOp::Position => format!("({t})text_position({args})"),
        TextOp::Substring => call("text_substring"),
        TextOp::Slice => call("text_slice_signed"),
        TextOp::Left => call("text_left"),
        TextOp::Right => call("text_right"),
        TextOp::Trim { set, start, end } => format!("text_trim<{start}, {end}>({args}, (const u64*)l{set})"),
        TextOp::Part => call("text_part"),
        // Read or made below.
        _ => "(Text)0".to_string(),
    }
}

impl Writer<'_> {
    /// Reads a value: its name, and whether it is there. `nu` and the node's number say that only the host knows.
    pub(super) fn read_text(&mut self, id: Id, node: &Node, text: &str, ok: &str) -> (String, String) {
        let t = node.kind.cuda();
        let read = match node.op {
            Op::Of(TextOp::Ticks(_, tick)) => {
                format!("text_moment<{}>({text}, nx{id})", tick.per_day() / 86_400)
            }
            Op::Of(TextOp::Value(_)) => format!("text_value({text}, nx{id})"),
            _ => format!("(u32)text_number<{t}>({text}, nx{id})"),
        };
        self.line(&format!("{t} nx{id} = 0; const u32 nr{id} = {ok} ? {read} : 0u;"));
        self.line(&format!("const bool nb{id} = nr{id} == 1u, nu{id} = nr{id} > 1u;"));
        (format!("nx{id}"), format!("nb{id}"))
    }

    /// Writes the length of a text that is a result, 0 where there is none.
    pub(super) fn length(&mut self, index: usize, root: Id) {
        let names = self.value(root);
        let length = self.length_of(root);
        self.line(&format!("o{index}[to] = {} ? (u32)({length}) : 0u;", names.ok()));
    }

    fn length_of(&mut self, id: Id) -> String {
        if let Some(known) = self.lengths.get(&id) {
            return known.clone();
        }
        let length = self.measure(id);
        self.lengths.insert(id, length.clone());
        length
    }

    fn measure(&mut self, id: Id) -> String {
        // Its own: several results may be made of it.
        let ok = self.value(id).ok().to_string();
        let node = self.body.graph.node(id).clone();
        let mut arg = |index: usize| self.value(node.args[index]).value;
        let Op::Of(op) = node.op else { return format!("{}.length", self.value(id).value) };
        // Where it may fail: what is too long, or depends on what is around it.
        let call = match op {
            TextOp::Case(table) => format!("case_length({}, (const u32*)l{table}, de{id})", arg(0)),
            TextOp::Repeat => format!("repeat_length({}, {}, de{id})", arg(0), arg(1)),
            TextOp::Pad { .. } => format!("pad_length({}, {}, {}, de{id})", arg(0), arg(1), arg(2)),
            TextOp::Date => format!("date_length((i64){}, de{id})", arg(0)),
            TextOp::Moment(tick) => format!("moment_length<{}>((i64){}, de{id})", tick.per_day() / 86_400, arg(0)),
            TextOp::Concat => {
                let lengths: Vec<String> = node.args.iter().map(|arg| self.length_of(*arg)).collect();
                return lengths.join(" + ");
            }
            TextOp::Replace => {
                let (text, what, with) = (arg(0), arg(1), arg(2));
                return format!("({ok} ? replace_length({text}, {what}, {with}) : 0)");
            }
            TextOp::Reverse => return format!("{}.length", arg(0)),
            TextOp::Digits => return format!("number_length({})", arg(0)),
            TextOp::Float(table) => return format!("float_length({}, (const u64*)l{table})", arg(0)),
            TextOp::Decimal(scale) => return format!("decimal_length({}, {scale}u)", arg(0)),
            _ => return format!("{}.length", self.value(id).value),
        };
        self.line(&format!("u32 de{id} = 0;"));
        self.line(&format!("const i64 le{id} = {ok} ? {call} : 0;"));
        self.line(&format!("faults |= de{id};"));
        format!("le{id}")
    }

    /// Writes a text to `at`, which moves behind it.
    pub(super) fn put(&mut self, id: Id) {
        let node = self.body.graph.node(id).clone();
        let mut arg = |index: usize| self.value(node.args[index]).value;
        let call = match node.op {
            Op::Of(TextOp::Case(table)) => format!("put_case(at, {}, (const u32*)l{table})", arg(0)),
            Op::Of(TextOp::Concat) => {
                node.args.iter().for_each(|arg| self.put(*arg));
                return;
            }
            Op::Of(TextOp::Replace) => format!("put_replaced(at, {}, {}, {})", arg(0), arg(1), arg(2)),
            Op::Of(TextOp::Reverse) => format!("put_reversed(at, {})", arg(0)),
            Op::Of(TextOp::Repeat) => format!("put_repeated(at, {}, {})", arg(0), arg(1)),
            Op::Of(TextOp::Pad { left }) => format!("put_padded<{left}>(at, {}, {}, {})", arg(0), arg(1), arg(2)),
            Op::Of(TextOp::Digits) => format!("put_number(at, {})", arg(0)),
            Op::Of(TextOp::Float(table)) => format!("put_float(at, {}, (const u64*)l{table})", arg(0)),
            Op::Of(TextOp::Decimal(scale)) => format!("put_decimal(at, {}, {scale}u)", arg(0)),
            Op::Of(TextOp::Date) => format!("put_date(at, (i64){})", arg(0)),
            Op::Of(TextOp::Moment(tick)) => format!("put_moment<{}>(at, (i64){})", tick.per_day() / 86_400, arg(0)),
            _ => format!("put_text(at, {})", self.value(id).value),
        };
        self.line(&format!("at = {call};"));
    }
}
