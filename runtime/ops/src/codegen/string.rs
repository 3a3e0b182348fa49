//! String functions in generated kernels: on string values in memory, and computed strings that are written directly
//! to the output.

use onrush_kernels::headers::{self, Header};

use super::Writer;
use crate::ir::expr::{Node, NodeId, Op, StringOp};

/// The headers that a string function needs.
pub(super) fn headers_of(op: StringOp) -> Vec<&'static Header> {
    match op {
        StringOp::Parse(_)
        | StringOp::ParseTimestamp(..)
        | StringOp::FormatFloat(_)
        | StringOp::FormatDecimal(_)
        | StringOp::FormatDate
        | StringOp::FormatTimestamp(_) => {
            vec![&headers::STRING_CONVERSIONS]
        }
        _ => vec![&headers::STRINGS],
    }
}

/// The call of a function of strings in memory.
pub(super) fn call(op: StringOp, t: &str, args: &str) -> String {
    let call = |name: &str| format!("{name}({args})");
    match op {
        StringOp::Literal(table) => format!("text_literal(l{table})"),
        StringOp::Contains => call("text_contains"),
        StringOp::StartsWith => call("text_starts"),
        StringOp::EndsWith => call("text_ends"),
        StringOp::Matches(table) => format!("text_matches({args}, l{table})"),
        StringOp::Count(table) => format!("({t})text_matches_count({args}, l{table})"),
        StringOp::CharLength => format!("({t})text_chars({args})"),
        StringOp::ByteLength => format!("({t}){args}.length"),
        StringOp::Position => format!("({t})text_position({args})"),
        StringOp::Substring => call("text_substring"),
        StringOp::Slice => call("text_slice_signed"),
        StringOp::Left => call("text_left"),
        StringOp::Right => call("text_right"),
        StringOp::Trim { set, start, end } => format!("text_trim<{start}, {end}>({args}, (const u64*)l{set})"),
        StringOp::SplitPart => call("text_part"),
        // Read or made below.
        _ => "(Text)0".to_string(),
    }
}

impl Writer<'_> {
    /// Reads a value: its name, and whether it is there. `nu` and the node's number say that only the host knows.
    pub(super) fn read_text(&mut self, id: NodeId, node: &Node, text: &str, ok: &str) -> (String, String) {
        let t = node.kind.cuda();
        let read = match node.op {
            Op::Str(StringOp::ParseTimestamp(_, tick)) => {
                format!("text_moment<{}>({text}, nx{id})", tick.per_day() / 86_400)
            }
            Op::Str(StringOp::Parse(_)) => format!("text_value({text}, nx{id})"),
            _ => format!("(u32)text_number<{t}>({text}, nx{id})"),
        };
        self.line(&format!("{t} nx{id} = 0; const u32 nr{id} = {ok} ? {read} : 0u;"));
        self.line(&format!("const bool nb{id} = nr{id} == 1u, nu{id} = nr{id} > 1u;"));
        (format!("nx{id}"), format!("nb{id}"))
    }

    /// Writes the length of a string result, 0 for null.
    pub(super) fn length(&mut self, index: usize, root: NodeId) {
        let names = self.value(root);
        let length = self.length_of(root);
        self.line(&format!("o{index}[to] = {} ? (u32)({length}) : 0u;", names.ok()));
    }

    fn length_of(&mut self, id: NodeId) -> String {
        if let Some(known) = self.lengths.get(&id) {
            return known.clone();
        }
        let length = self.measure(id);
        self.lengths.insert(id, length.clone());
        length
    }

    fn measure(&mut self, id: NodeId) -> String {
        // Its own: several results may be made of it.
        let ok = self.value(id).ok().to_string();
        let node = self.body.graph.node(id).clone();
        let mut arg = |index: usize| self.value(node.args[index]).value;
        let Op::Str(op) = node.op else { return format!("{}.length", self.value(id).value) };
        // Functions with a row error of their own: the result is too long, or depends on the text around it.
        let call = match op {
            StringOp::Case(table) => format!("case_length({}, (const u32*)l{table}, de{id})", arg(0)),
            StringOp::Repeat => format!("repeat_length({}, {}, de{id})", arg(0), arg(1)),
            StringOp::Pad { .. } => format!("pad_length({}, {}, {}, de{id})", arg(0), arg(1), arg(2)),
            StringOp::FormatDate => format!("date_length((i64){}, de{id})", arg(0)),
            StringOp::FormatTimestamp(tick) => {
                format!("moment_length<{}>((i64){}, de{id})", tick.per_day() / 86_400, arg(0))
            }
            StringOp::Concat => {
                let lengths: Vec<String> = node.args.iter().map(|arg| self.length_of(*arg)).collect();
                return lengths.join(" + ");
            }
            StringOp::Replace => {
                let (text, what, with) = (arg(0), arg(1), arg(2));
                return format!("({ok} ? replace_length({text}, {what}, {with}) : 0)");
            }
            StringOp::Reverse => return format!("{}.length", arg(0)),
            StringOp::FormatInt => return format!("number_length({})", arg(0)),
            StringOp::FormatFloat(table) => return format!("float_length({}, (const u64*)l{table})", arg(0)),
            StringOp::FormatDecimal(scale) => return format!("decimal_length({}, {scale}u)", arg(0)),
            _ => return format!("{}.length", self.value(id).value),
        };
        self.line(&format!("u32 de{id} = 0;"));
        self.line(&format!("const i64 le{id} = {ok} ? {call} : 0;"));
        self.line(&format!("faults |= de{id};"));
        format!("le{id}")
    }

    /// Writes a string to `at`, which moves behind it.
    pub(super) fn put(&mut self, id: NodeId) {
        let node = self.body.graph.node(id).clone();
        let mut arg = |index: usize| self.value(node.args[index]).value;
        let call = match node.op {
            Op::Str(StringOp::Case(table)) => format!("put_case(at, {}, (const u32*)l{table})", arg(0)),
            Op::Str(StringOp::Concat) => {
                node.args.iter().for_each(|arg| self.put(*arg));
                return;
            }
            Op::Str(StringOp::Replace) => format!("put_replaced(at, {}, {}, {})", arg(0), arg(1), arg(2)),
            Op::Str(StringOp::Reverse) => format!("put_reversed(at, {})", arg(0)),
            Op::Str(StringOp::Repeat) => format!("put_repeated(at, {}, {})", arg(0), arg(1)),
            Op::Str(StringOp::Pad { left }) => format!("put_padded<{left}>(at, {}, {}, {})", arg(0), arg(1), arg(2)),
            Op::Str(StringOp::FormatInt) => format!("put_number(at, {})", arg(0)),
            Op::Str(StringOp::FormatFloat(table)) => format!("put_float(at, {}, (const u64*)l{table})", arg(0)),
            Op::Str(StringOp::FormatDecimal(scale)) => format!("put_decimal(at, {}, {scale}u)", arg(0)),
            Op::Str(StringOp::FormatDate) => format!("put_date(at, (i64){})", arg(0)),
            Op::Str(StringOp::FormatTimestamp(tick)) => {
                format!("put_moment<{}>(at, (i64){})", tick.per_day() / 86_400, arg(0))
            }
            _ => format!("put_text(at, {})", self.value(id).value),
        };
        self.line(&format!("at = {call};"));
    }
}
