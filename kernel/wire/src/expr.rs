//! Expressions as the user wrote them, with the place of every token that can be wrong. The session checks and types
//! them against a frame's schema (`runtime/expr`).

mod tree;

use serde::{Deserialize, Serialize};

use crate::ModelId;
use crate::diagnostic::Span;
use crate::schema::DataType;
use crate::value::Value;

/// Cloned, dropped and encoded at any depth (`expr/tree.rs`).
#[derive(Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    /// The token to underline if this node is wrong: a column's name, a function's name, an operator's whole
    /// expression.
    pub span: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Column(String),
    Literal(Value),
    Alias(Box<Expr>, String),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `if`/`else if`/`else` and `match` with guards: the first branch whose condition is true. Without `otherwise`:
    /// null.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// `value in [a, b]`. A null in `value` gives null.
    In {
        value: Box<Expr>,
        list: Vec<Expr>,
    },
    /// `start..end` or `start..=end` after `in`, and range patterns.
    Between {
        value: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        high_inclusive: bool,
    },
    Cast {
        value: Box<Expr>,
        to: DataType,
        strict: bool,
    },
    /// Every function and method by its name: `mean`, `round`, `str.contains`, `dt.month`, `fill_null`, `shift`, `len`.
    /// A method's receiver is the first argument. The catalogue is `runtime/expr`'s.
    Call {
        function: String,
        args: Vec<Arg>,
    },
    /// `value.over(partition).order_by(order)`; `value` holds an aggregate or window function.
    Over {
        value: Box<Expr>,
        partition: Vec<Expr>,
        order: Vec<SortKey>,
    },
    /// All columns, without the named ones.
    All {
        except: Vec<String>,
    },
    /// A `__device__` function of a `%%cuda` cell, with as many arguments as it has parameters.
    Native {
        function: Box<NativeFunction>,
        args: Vec<Expr>,
    },
    /// A column that a fitted model makes of the row. The model finds its features by name.
    Model(ModelOutput),
}

/// One of the columns that a fitted model makes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelOutput {
    pub model: ModelId,
    /// The key of the model, by which the engine knows it.
    pub key: u128,
    /// The name of the column: `prediction`, `proba_yes`, `pca0`.
    pub output: String,
}

/// A function of one row in CUDA C++. Its text goes with each expression, so that a plan means the same in another
/// engine process, and after the cell was run again with another text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NativeFunction {
    pub name: String,
    /// Names and types: numbers and booleans.
    pub parameters: Vec<(String, DataType)>,
    pub result: DataType,
    /// The cell's file, as in [`Span::file`].
    pub file: String,
    /// The cell without its kernels; lines are the cell's.
    pub text: String,
}

/// An argument of a call; named ones are options such as `window_size = 3`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    pub name: Option<String>,
    pub value: Expr,
}

/// One key of a sort. `nulls_last: None` means the default of the place: first in frames (Polars), last in SQL
/// (DuckDB).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
    pub nulls_last: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOp {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Xor,
    BitAnd,
    BitOr,
    ShiftLeft,
    ShiftRight,
}

impl BinaryOp {
    /// The operator as it is written in a cell.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Xor => "^",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
        }
    }
}

impl Expr {
    pub fn new(kind: ExprKind) -> Self {
        Expr { kind, span: None }
    }

    pub fn column(name: impl Into<String>) -> Self {
        Expr::new(ExprKind::Column(name.into()))
    }

    pub fn literal(value: impl Into<Value>) -> Self {
        Expr::new(ExprKind::Literal(value.into()))
    }

    /// A call with positional arguments; a method's receiver comes first.
    pub fn call(function: impl Into<String>, args: impl IntoIterator<Item = Expr>) -> Self {
        let args = args.into_iter().map(|value| Arg { name: None, value }).collect();
        Expr::new(ExprKind::Call { function: function.into(), args })
    }

    #[must_use]
    pub fn alias(self, name: impl Into<String>) -> Self {
        let span = self.span.clone();
        Expr { kind: ExprKind::Alias(Box::new(self), name.into()), span }
    }

    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }
}
