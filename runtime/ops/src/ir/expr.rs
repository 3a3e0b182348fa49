//! Expression graphs: operations on the values of one row, with common subexpressions shared. Types are device types;
//! the builder of the graph knows the logical types (a date, the scale of a decimal).

use std::collections::HashMap;
use std::sync::Arc;

use onrush_kernels::Scalar;
use onrush_kernels::dates::{Part, Tick, Unit};

use crate::ir::udf::DeviceUdf;

/// A node of a [`ExprGraph`].
pub type NodeId = u32;

/// The type of a value on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceType {
    Bool,
    Number(Scalar),
    /// A string, as its dictionary index.
    DictIndex,
    /// A string, as its bytes.
    String,
    /// A piece of a column that holds the elements of lists. The upper half of 64 bits is its begin, the lower half is
    /// its length. A struct is a piece of one row of several columns, its fields.
    ListView,
}

impl DeviceType {
    /// Its type in a kernel.
    pub fn cuda(self) -> &'static str {
        match self {
            DeviceType::Bool => "bool",
            DeviceType::Number(scalar) => scalar.cuda(),
            DeviceType::DictIndex => "u32",
            DeviceType::String => "Text",
            DeviceType::ListView => "u64",
        }
    }

    /// Whether what it stands for is in a [`crate::column::dictionary::Dictionary`].
    pub fn has_dictionary(self) -> bool {
        matches!(self, DeviceType::DictIndex | DeviceType::ListView)
    }

    /// The type in device memory: one bit of a word for booleans.
    pub fn stored(self) -> &'static str {
        match self {
            DeviceType::Bool => "u32",
            other => other.cuda(),
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, DeviceType::Number(scalar) if scalar.is_float())
    }

    /// Bytes of a row in device memory, booleans as the byte that a kernel writes.
    pub fn bytes(self) -> u64 {
        match self {
            DeviceType::Bool => 1,
            DeviceType::Number(scalar) => scalar.bytes(),
            DeviceType::DictIndex => 4,
            DeviceType::ListView => 8,
            // An address and a length.
            DeviceType::String => 16,
        }
    }
}

/// The result for a value that has no place in the type that it is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OverflowPolicy {
    /// The query fails.
    Error,
    Null,
}

/// The timestamp of a local time that occurs twice or never (a fold or a gap of the time zone).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The timestamp whose UTC offset is that of another timestamp, the second argument, else the later one. In a gap,
    /// the UTC offset from before the gap.
    As,
    /// No timestamp: a row error or null.
    No(OverflowPolicy),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Rows of a sorted table: those of the same partition, and among them those that are equal in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowBoundary {
    /// The first row of the partition.
    Begin,
    /// The row behind its last one.
    End,
    PeersBegin,
    PeersEnd,
    /// The number of a row's peers in its partition, from 1 on.
    PeersNumber,
}

/// Nulls: where nothing else is said, a result is null if an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A column of the source.
    Input(u32),
    /// A literal, passed as a parameter.
    Literal(u32),
    Null,
    /// The row's number.
    RowNumber,
    /// The number of a row among those that were made of one row, from 0 on.
    RepeatIndex,
    /// A column of the table that the stage before read, at the row of this number.
    Gather(u32),
    /// The row of a build side that has these keys, by the join's number; null without a match.
    Probe(u32),
    /// A column of a build side, at the matching row.
    BuildColumn(u32, u32),
    /// A boundary in a row's window.
    WindowBoundary(WindowBoundary),
    /// The value at a row of an accumulator that runs from the beginning of each partition, by its number. The argument
    /// is the row.
    Prefix(u32),
    /// The same for an accumulator that runs from the end of each partition backwards.
    Suffix(u32),
    /// The value of an accumulator over the rows from the first argument to before the second, which are of one
    /// partition.
    Sliding(u32),
    /// The lower bound of a key (third argument) among the rows from the first argument to before the second. These are
    /// in the order of their keys (fourth). It is the first row whose key is not below it, or the first row behind
    /// them. Null keys are those of rows without a value (fifth).
    LowerBound {
        behind: bool,
        nulls_first: bool,
    },
    /// Integers wrap.
    Add,
    Subtract,
    Multiply,
    /// For integers, division by zero and the lowest number by -1 are row errors.
    Divide,
    Remainder,
    /// Integers; overflow is a row error.
    AddChecked,
    SubtractChecked,
    MultiplyChecked,
    /// Addition in 128 bits; overflow is a row error.
    AddExact,
    SubtractExact,
    MultiplyExact,
    DivideExact,
    /// A 128-bit number divided by another one, half away from zero.
    DivideRounded,
    Negate,
    Absolute,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Compare(Comparison),
    /// Null equals null, and the result is never null.
    IsNotDistinctFrom,
    /// Three-valued logic.
    And,
    Or,
    Not,
    IsNull,
    /// The first argument chooses; null counts as false. Row errors of the other side do not count.
    IfElse,
    /// The first argument, or the second where that is null.
    Coalesce,
    Convert(OverflowPolicy),
    /// Null where the magnitude of a 128-bit number (first) is above the second.
    CheckRange(OverflowPolicy),
    /// A function of floats by its name in CUDA.
    MathFn(&'static str),
    /// One of the graph's functions that are not ours, by its number. It is called if all arguments are valid and, if
    /// it is guarded, a last argument is true. The function does not get that argument, and may run forever without the
    /// guard. The result of a row without a call is arbitrary.
    Udf {
        function: u32,
        guarded: bool,
    },
    DatePart(Part, Tick),
    Truncate(Unit, Tick),
    /// The local time of a timestamp, by the table of a time zone.
    ToLocal(u32, Tick),
    /// The timestamp of a local time, by the table of a time zone.
    ToUtc(u32, Tick, Fold),
    /// The value of a lookup table for a dictionary index. The entry after the last is that of null.
    Lookup(u32),
    /// Makes an integer a dictionary index, of the dictionary with this number among the stage's lists.
    ToDictIndex(u32),
    /// A function of strings that are stored as bytes.
    Str(StringOp),
    /// A function of lists.
    List(ListOp),
    /// A number as the key that orders it, of 64 bits, and back.
    OrderKey,
    FromOrderKey,
    /// Bits as they are, from and to 64-bit words.
    Bits,
    FromBits,
}

/// Functions of lists and structs. Elements and fields that are strings are dictionary indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListOp {
    Length,
    /// The element at a position: from 1 on, or from the end if negative. Null if there is no such element.
    Element,
    /// The elements from one position to another, both as above; below zero the end itself is left out. A position of
    /// more than 32 bits is a row error.
    Slice,
    /// Whether the second argument is an element. A null is not an element.
    Contains,
    /// Whether a lookup table is true for the string of an element.
    ContainsString(u32),
    Min,
    Max,
    /// Rows of a column that can be fetched: from the first argument on, as many as the second says.
    Rows(u32),
    /// A field of a struct, by its place.
    Field(u32),
    /// A struct of columns of the table that a stage goes over, by its number among the stage's; no arguments.
    Struct(u32),
}

/// Functions of strings that are stored as bytes. Tables are those of the stage's lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StringOp {
    /// The string of a table.
    Literal(u32),
    Contains,
    StartsWith,
    EndsWith,
    /// The automaton of a table ends in a match.
    Matches(u32),
    /// How often the automaton of a table ends in a match, from the end of the one before on.
    Count(u32),
    CharLength,
    ByteLength,
    /// The position of the second string in the first, in characters from 1 on; 0 if it does not occur.
    Position,
    /// Characters from the second argument on, at most as many as the third says, if there is one. They are counted
    /// from 1, or from 0 and from the end below it.
    Substring,
    Slice,
    Left,
    Right,
    /// Without the characters of a table's set at its start and at its end.
    Trim {
        set: u32,
        start: bool,
        end: bool,
    },
    /// A piece between separators (second), by number (third) from 1 on, or from the end below it.
    SplitPart,
    /// Parses an integer. Any other string is a row error or null.
    ParseInt(OverflowPolicy),
    /// Parses a float or a date. A string that is certainly not one is a row error or null. Uncommon forms are a row
    /// error.
    Parse(OverflowPolicy),
    /// Parses a timestamp without a time zone.
    ParseTimestamp(OverflowPolicy, Tick),
    // The functions from here on yield computed strings. They have no place in memory until they are written, and are
    // results only.
    /// In the upper or lower case of a table.
    Case(u32),
    /// The arguments, concatenated.
    Concat,
    /// The first string with each occurrence of the second, which is not empty, replaced by the third.
    Replace,
    /// An integer's digits.
    FormatInt,
    /// A float's, with a table of powers of ten.
    FormatFloat(u32),
    /// Its characters from the last one on.
    Reverse,
    /// The string, repeated so many times.
    Repeat,
    /// The string, padded to so many characters with those of the third argument, on the left or on the right.
    Pad {
        left: bool,
    },
    /// A decimal of a scale, a date, a timestamp without a time zone.
    FormatDecimal(u32),
    FormatDate,
    FormatTimestamp(Tick),
}

impl StringOp {
    /// Whether its result is a computed string, without a place in memory until it is written.
    pub fn is_computed(self) -> bool {
        use StringOp::{
            Case, Concat, FormatDate, FormatDecimal, FormatFloat, FormatInt, FormatTimestamp, Pad, Repeat, Replace,
            Reverse,
        };
        let of_text = matches!(self, Case(_) | Concat | Replace | Reverse | Repeat | Pad { .. });
        of_text || matches!(self, FormatInt | FormatFloat(_) | FormatDecimal(_) | FormatDate | FormatTimestamp(_))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub op: Op,
    pub args: Vec<NodeId>,
    pub kind: DeviceType,
}

/// A literal's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LiteralValue {
    Bool(bool),
    I64(i64),
    U64(u64),
    I128(i128),
    /// By their bits, so that values can be compared.
    F64(u64),
    F32(u32),
}

/// Nodes in an order in which arguments come first, but for the inputs that [`ExprGraph::set_args`] brought.
#[derive(Clone, Debug, Default)]
pub struct ExprGraph {
    nodes: Vec<Node>,
    late: Vec<NodeId>,
    known: HashMap<Node, NodeId>,
    literals: Vec<(DeviceType, LiteralValue)>,
    natives: Vec<Arc<DeviceUdf>>,
}

impl ExprGraph {
    pub fn new() -> Self {
        ExprGraph::default()
    }

    pub fn add(&mut self, op: Op, args: &[NodeId], kind: DeviceType) -> NodeId {
        let node = Node { op, args: args.to_vec(), kind };
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let id = self.nodes.len() as NodeId;
        self.nodes.push(node.clone());
        self.known.insert(node, id);
        id
    }

    pub fn input(&mut self, index: usize, kind: DeviceType) -> NodeId {
        self.add(Op::Input(index as u32), &[], kind)
    }

    pub fn null(&mut self, kind: DeviceType) -> NodeId {
        self.add(Op::Null, &[], kind)
    }

    pub fn literal(&mut self, kind: DeviceType, value: LiteralValue) -> NodeId {
        let known = self.literals.iter().position(|l| *l == (kind, value));
        let index = known.unwrap_or_else(|| {
            self.literals.push((kind, value));
            self.literals.len() - 1
        });
        self.add(Op::Literal(index as u32), &[], kind)
    }

    /// The number of a function that is not ours.
    pub fn native(&mut self, function: &Arc<DeviceUdf>) -> u32 {
        let known = self.natives.iter().position(|native| native == function);
        let index = known.unwrap_or_else(|| {
            self.natives.push(Arc::clone(function));
            self.natives.len() - 1
        });
        index as u32
    }

    pub fn bool(&mut self, value: bool) -> NodeId {
        self.literal(DeviceType::Bool, LiteralValue::Bool(value))
    }

    /// A literal of an integer or float type.
    pub fn number(&mut self, scalar: Scalar, value: i128) -> NodeId {
        let literal = match scalar {
            Scalar::F64 => LiteralValue::F64((value as f64).to_bits()),
            Scalar::F32 => LiteralValue::F32((value as f32).to_bits()),
            Scalar::I128 => LiteralValue::I128(value),
            Scalar::U64 => LiteralValue::U64(value as u64),
            _ => LiteralValue::I64(value as i64),
        };
        self.literal(DeviceType::Number(scalar), literal)
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Gives a node other arguments. These may be inputs that come after it.
    pub fn set_args(&mut self, id: NodeId, args: Vec<NodeId>) {
        for arg in args.iter().filter(|arg| **arg > id) {
            debug_assert!(matches!(self.nodes[*arg as usize].op, Op::Input(_)));
            if !self.late.contains(arg) {
                self.late.push(*arg);
            }
        }
        let node = &mut self.nodes[id as usize];
        self.known.remove(node);
        node.args = args;
        self.known.insert(node.clone(), id);
    }

    /// A node that is there already.
    pub fn find(&self, node: &Node) -> Option<NodeId> {
        self.known.get(node).copied()
    }

    pub fn kind(&self, id: NodeId) -> DeviceType {
        self.node(id).kind
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn natives(&self) -> &[Arc<DeviceUdf>] {
        &self.natives
    }

    pub fn literals(&self) -> &[(DeviceType, LiteralValue)] {
        &self.literals
    }

    /// The nodes that some roots need, arguments first.
    pub fn needed(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut wanted = vec![false; self.nodes.len()];
        for root in roots {
            wanted[*root as usize] = true;
        }
        for id in (0..self.nodes.len()).rev() {
            if wanted[id] {
                self.nodes[id].args.iter().for_each(|arg| wanted[*arg as usize] = true);
            }
        }
        let others = (0..self.nodes.len() as NodeId).filter(|id| !self.late.contains(id));
        self.late.iter().copied().chain(others).filter(|id| wanted[*id as usize]).collect()
    }
}
