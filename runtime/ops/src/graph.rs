//! What a pipeline computes: a graph of operations on the values of one row, each node once. Types are those of the device; what they
//! stand for (a date, a decimal's scale) is known to whoever built the graph.

use std::collections::HashMap;
use std::sync::Arc;

use onrush_kernels::Scalar;
use onrush_kernels::dates::{Part, Tick, Unit};

use crate::native::Native;

/// A node of a [`Graph`].
pub type Id = u32;

/// What a value is on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Bool,
    Number(Scalar),
    /// A text, as its number in a dictionary.
    Code,
    /// A text, as its bytes.
    Text,
    /// A piece of a column that holds the elements of lists: where it begins in the upper half of 64 bits, how long it is in the lower one. A
    /// struct is a piece of one row of several columns, its fields.
    List,
}

impl Kind {
    /// Its type in a kernel.
    pub fn cuda(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Number(scalar) => scalar.cuda(),
            Kind::Code => "u32",
            Kind::Text => "Text",
            Kind::List => "u64",
        }
    }

    /// Whether what it stands for is in a [`crate::dictionary::Dictionary`].
    pub fn has_dictionary(self) -> bool {
        matches!(self, Kind::Code | Kind::List)
    }

    /// What holds it in device memory: one bit of a word for booleans.
    pub fn stored(self) -> &'static str {
        match self {
            Kind::Bool => "u32",
            other => other.cuda(),
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Kind::Number(scalar) if scalar.is_float())
    }

    /// Bytes of a row in device memory, booleans as the byte that a kernel writes.
    pub fn bytes(self) -> u64 {
        match self {
            Kind::Bool => 1,
            Kind::Number(scalar) => scalar.bytes(),
            Kind::Code => 4,
            Kind::List => 8,
            // Where it is and how long.
            Kind::Text => 16,
        }
    }
}

/// What becomes of a value that has no place in the type that it is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misfit {
    /// The query fails.
    Fault,
    Null,
}

/// Which moment it is where a zone's clocks show a time twice, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// That at which they are as far ahead of UTC as at another moment, the second argument, else the later one; and as counted on from
    /// before the gap.
    As,
    /// None.
    No(Misfit),
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
pub enum Edge {
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
    Row,
    /// Of a row that is one of several that were made of one: its number among them, from 0 on.
    Place,
    /// A column of the table that the stage before read, at the row of this number.
    Fetch(u32),
    /// The row of a joined table that has these keys, by the join's number; null where there is none.
    Probe(u32),
    /// A column of a joined table, at the row that was found.
    Joined(u32, u32),
    /// Of a row's window.
    Edge(Edge),
    /// What an accumulator that runs from the beginning of each partition has at a row, by its number; the argument is the row.
    Running(u32),
    /// What one has that runs from the end of each partition backwards.
    RunningBack(u32),
    /// What an accumulator has of the rows from the first argument to before the second, which are of one partition.
    Sliding(u32),
    /// Where in rows (from the first argument to before the second) that are in the order of their keys (fourth) a key (third) belongs: the
    /// first row whose key is not below it, or the first one behind it. Null keys are those of rows without a value (fifth).
    Seek {
        behind: bool,
        nulls_first: bool,
    },
    /// Integers wrap.
    Add,
    Subtract,
    Multiply,
    /// By zero is a fault for integers, and the lowest number by -1.
    Divide,
    Remainder,
    /// Integers; what does not fit is a fault.
    AddChecked,
    SubtractChecked,
    MultiplyChecked,
    /// Of 128 bits; what does not fit is a fault.
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
    SameAs,
    /// Three-valued logic.
    And,
    Or,
    Not,
    IsNull,
    /// The first argument chooses: null is no. Faults of the other side do not count.
    Choose,
    /// The first argument, or the second where that is null.
    Coalesce,
    Convert(Misfit),
    /// Null where the magnitude of a 128-bit number (first) is above the second.
    Within(Misfit),
    /// A function of floats by its name in CUDA.
    Call(&'static str),
    /// One of the graph's functions that are not ours, by its number. It is called where all arguments are there and, if it is guarded, where a last
    /// one, which it is not given, is true: it may not come to an end with others. Where it was not called for that, the result means nothing.
    Native {
        function: u32,
        guarded: bool,
    },
    Part(Part, Tick),
    Truncate(Unit, Tick),
    /// A moment as the clocks of a zone show it, by the zone's table.
    Local(u32, Tick),
    /// The moment at which the clocks of a zone show a time, by the zone's table.
    Utc(u32, Tick, Fold),
    /// What a table holds for a code; the entry behind the last is that of null.
    Lookup(u32),
    /// A number as the text of that number in the stage's list of texts.
    Text(u32),
    /// Of texts as bytes.
    Of(TextOp),
    /// Of lists.
    List(ListOp),
    /// A number as the key that orders it, of 64 bits, and back.
    OrderKey,
    FromOrderKey,
    /// Bits as they are, from and to 64-bit words.
    Bits,
    FromBits,
}

/// Functions of lists and structs. Elements and fields that are texts are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListOp {
    Length,
    /// The element of a number from 1 on, or from the end below it; null where there is none.
    Element,
    /// From one number to another one, both as above; below zero the end itself is left out. A number of more than 32 bits is a fault.
    Slice,
    /// Whether the second argument is an element. What is not there is none.
    Has,
    /// Whether a table says yes of the text of an element.
    HasText(u32),
    Lowest,
    Highest,
    /// Rows of a column that can be fetched: from the first argument on, as many as the second says.
    Rows(u32),
    /// A field of a struct, by its place.
    Field(u32),
    /// A struct of columns of the table that a stage goes over, by its number among the stage's; no arguments.
    Made(u32),
}

/// Functions of texts as bytes; tables are those of the stage's lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextOp {
    /// The text of a table.
    Literal(u32),
    Contains,
    Starts,
    Ends,
    /// The automaton of a table ends in a match.
    Matches(u32),
    /// How often the automaton of a table ends in a match, from the end of the one before on.
    Count(u32),
    Chars,
    Bytes,
    /// The place of the second text in the first one, in characters from 1 on; 0 where it is not there.
    Position,
    /// Characters from the second argument on, at most as many as the third says, if there is one: counted from 1, or from 0 and from the
    /// end below it.
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
    /// What separators (second) leave, by number (third) from 1 on, or from the end below it.
    Part,
    /// An integer; what is none is a fault or null.
    Number(Misfit),
    /// The same of a float or of days; of what is none for sure. Other forms than the common ones are a fault.
    Value(Misfit),
    /// Of a moment without a zone.
    Ticks(Misfit, Tick),
    // These are made: they have no place in memory until they are written, and are results only.
    /// In the upper or lower case of a table.
    Case(u32),
    /// The arguments, one behind the other.
    Concat,
    /// Each occurrence of the second text, which is not empty, by the third.
    Replace,
    /// An integer's digits.
    Digits,
    /// A float's, with a table of powers of ten.
    Float(u32),
    /// Its characters from the last one on.
    Reverse,
    /// So many times, one behind the other.
    Repeat,
    /// Of so many characters, with those of the third argument beside it, on the left or on the right.
    Pad {
        left: bool,
    },
    /// A decimal of a scale, a date, a moment without a zone.
    Decimal(u32),
    Date,
    Moment(Tick),
}

impl TextOp {
    /// Whether its text has no place in memory until it is written.
    pub fn is_made(self) -> bool {
        use TextOp::{Case, Concat, Date, Decimal, Digits, Float, Moment, Pad, Repeat, Replace, Reverse};
        let of_text = matches!(self, Case(_) | Concat | Replace | Reverse | Repeat | Pad { .. });
        of_text || matches!(self, Digits | Float(_) | Decimal(_) | Date | Moment(_))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub op: Op,
    pub args: Vec<Id>,
    pub kind: Kind,
}

/// A literal's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Bool(bool),
    I64(i64),
    U64(u64),
    I128(i128),
    /// By their bits, so that values can be compared.
    F64(u64),
    F32(u32),
}

/// Nodes in an order in which arguments come first, but for the inputs that [`Graph::set_args`] brought.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    late: Vec<Id>,
    known: HashMap<Node, Id>,
    literals: Vec<(Kind, Value)>,
    natives: Vec<Arc<Native>>,
}

impl Graph {
    pub fn new() -> Self {
        Graph::default()
    }

    pub fn add(&mut self, op: Op, args: &[Id], kind: Kind) -> Id {
        let node = Node { op, args: args.to_vec(), kind };
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let id = self.nodes.len() as Id;
        self.nodes.push(node.clone());
        self.known.insert(node, id);
        id
    }

    pub fn input(&mut self, index: usize, kind: Kind) -> Id {
        self.add(Op::Input(index as u32), &[], kind)
    }

    pub fn null(&mut self, kind: Kind) -> Id {
        self.add(Op::Null, &[], kind)
    }

    pub fn literal(&mut self, kind: Kind, value: Value) -> Id {
        let known = self.literals.iter().position(|l| *l == (kind, value));
        let index = known.unwrap_or_else(|| {
            self.literals.push((kind, value));
            self.literals.len() - 1
        });
        self.add(Op::Literal(index as u32), &[], kind)
    }

    /// The number of a function that is not ours.
    pub fn native(&mut self, function: &Arc<Native>) -> u32 {
        let known = self.natives.iter().position(|native| native == function);
        let index = known.unwrap_or_else(|| {
            self.natives.push(Arc::clone(function));
            self.natives.len() - 1
        });
        index as u32
    }

    pub fn bool(&mut self, value: bool) -> Id {
        self.literal(Kind::Bool, Value::Bool(value))
    }

    /// A literal of an integer or float type.
    pub fn number(&mut self, scalar: Scalar, value: i128) -> Id {
        let literal = match scalar {
            Scalar::F64 => Value::F64((value as f64).to_bits()),
            Scalar::F32 => Value::F32((value as f32).to_bits()),
            Scalar::I128 => Value::I128(value),
            Scalar::U64 => Value::U64(value as u64),
            _ => Value::I64(value as i64),
        };
        self.literal(Kind::Number(scalar), literal)
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    /// Gives a node other arguments. These may be inputs that come after it.
    pub fn set_args(&mut self, id: Id, args: Vec<Id>) {
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
    pub fn find(&self, node: &Node) -> Option<Id> {
        self.known.get(node).copied()
    }

    pub fn kind(&self, id: Id) -> Kind {
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

    pub fn natives(&self) -> &[Arc<Native>] {
        &self.natives
    }

    pub fn literals(&self) -> &[(Kind, Value)] {
        &self.literals
    }

    /// The nodes that some roots need, arguments first.
    pub fn needed(&self, roots: &[Id]) -> Vec<Id> {
        let mut wanted = vec![false; self.nodes.len()];
        for root in roots {
            wanted[*root as usize] = true;
        }
        for id in (0..self.nodes.len()).rev() {
            if wanted[id] {
                self.nodes[id].args.iter().for_each(|arg| wanted[*arg as usize] = true);
            }
        }
        let others = (0..self.nodes.len() as Id).filter(|id| !self.late.contains(id));
        self.late.iter().copied().chain(others).filter(|id| wanted[*id as usize]).collect()
    }
}
