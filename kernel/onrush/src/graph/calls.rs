//! Calls of algorithms: builders made from the table of `kernel/wire/src/graph/table.rs`, each the frame of its result.

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use onrush_wire::display::Content;
use onrush_wire::graph::GraphCall;
use onrush_wire::plan::Op;
use onrush_wire::{Class, Diagnostic, ExprKind, Span, Value};

use super::Graph;
use crate::display::Show;
use crate::expr::{ToExpr, col};
use crate::handle::{Frame, send};
use crate::into_column::ColumnValue;
use crate::raise::{here, raise};

/// The id of a node: a value, or a tuple of values if ids have several columns.
pub trait NodeId {
    #[doc(hidden)]
    fn values(self, at: &Span) -> Vec<Value>;
}

impl<T: ToExpr> NodeId for T {
    fn values(self, at: &Span) -> Vec<Value> {
        vec![value(self.into_expr().0, at)]
    }
}

impl<A: ToExpr, B: ToExpr> NodeId for (A, B) {
    fn values(self, at: &Span) -> Vec<Value> {
        vec![value(self.0.into_expr().0, at), value(self.1.into_expr().0, at)]
    }
}

impl<A: ToExpr, B: ToExpr, C: ToExpr> NodeId for (A, B, C) {
    fn values(self, at: &Span) -> Vec<Value> {
        let (a, b, c) = self;
        vec![value(a.into_expr().0, at), value(b.into_expr().0, at), value(c.into_expr().0, at)]
    }
}

/// The value of a literal that names a node.
#[inline(never)]
fn value(expr: onrush_wire::Expr, at: &Span) -> Value {
    match &expr.kind {
        ExprKind::Literal(value) => value.clone(),
        _ => raise(
            Diagnostic::error(Class::Plan, "argument", "a node is given by its id, and this is an expression")
                .at(at.clone(), ""),
        ),
    }
}

/// A parameter that is a frame, by value or by reference: also a call of another algorithm, and a list of ids, which is
/// a frame of `node`: `["JFK", "LGA"]`, a `Vec`, or a list of tuples if ids have several columns.
pub trait IntoFrame {
    #[doc(hidden)]
    #[track_caller]
    fn to_frame(&self) -> Frame;
}

impl IntoFrame for Frame {
    fn to_frame(&self) -> Frame {
        self.clone()
    }
}

impl<F: IntoFrame + ?Sized> IntoFrame for &F {
    #[track_caller]
    fn to_frame(&self) -> Frame {
        (**self).to_frame()
    }
}

/// An id in a list of ids: a value, or a tuple of values if ids have several columns.
pub trait ListedId: Sized {
    #[doc(hidden)]
    fn id_columns(values: &[Self]) -> Vec<ArrayRef>;
}

impl<T: ColumnValue> ListedId for T {
    fn id_columns(values: &[Self]) -> Vec<ArrayRef> {
        vec![T::array(values)]
    }
}

impl<A: ColumnValue + Clone, B: ColumnValue + Clone> ListedId for (A, B) {
    fn id_columns(values: &[Self]) -> Vec<ArrayRef> {
        let (a, b): (Vec<A>, Vec<B>) = values.iter().cloned().unzip();
        vec![A::array(&a), B::array(&b)]
    }
}

impl<T: ListedId> IntoFrame for [T] {
    #[track_caller]
    fn to_frame(&self) -> Frame {
        ids(T::id_columns(self), here("node"))
    }
}

impl<T: ListedId, const N: usize> IntoFrame for [T; N] {
    #[track_caller]
    fn to_frame(&self) -> Frame {
        ids(T::id_columns(self), here("node"))
    }
}

impl<T: ListedId> IntoFrame for Vec<T> {
    #[track_caller]
    fn to_frame(&self) -> Frame {
        ids(T::id_columns(self), here("node"))
    }
}

/// A frame of ids, under the names that they have in results.
#[inline(never)]
fn ids(columns: Vec<ArrayRef>, at: Span) -> Frame {
    let name = |part: usize| if columns.len() == 1 { "node".to_string() } else { format!("node_{}", part + 1) };
    let columns = columns.iter().enumerate().map(|(part, column)| (name(part), Arc::clone(column), true));
    match RecordBatch::try_from_iter_with_nullable(columns) {
        Ok(batch) => send(&batch, at),
        Err(e) => {
            raise(Diagnostic::error(Class::Plan, "frame", format!("the ids do not make a frame: {e}")).at(at, ""))
        }
    }
}

impl Graph {
    /// The nodes within some hops of the node whose id is `node`.
    pub(super) fn bfs_of(&self, node: Vec<Value>, hops: usize, at: Span) -> Frame {
        let mut call = self.call("bfs", at);
        call.call.params.extend(node.into_iter().map(|value| ("source".to_string(), value)));
        call.set("depth_limit", Value::Int(i64::try_from(hops).unwrap_or(i64::MAX))).frame().clone()
    }

    fn call(&self, algorithm: &str, at: Span) -> Call {
        let call = GraphCall { algorithm: algorithm.to_string(), params: Vec::new(), frames: Vec::new() };
        Call { graph: self.clone(), call, held: Vec::new(), at, frame: OnceCell::new() }
    }
}

/// A call of an algorithm, which is sent when its frame is first used.
#[derive(Clone)]
struct Call {
    graph: Graph,
    call: GraphCall,
    /// The frames that are parameters: they live as long as the call.
    held: Vec<Frame>,
    at: Span,
    frame: OnceCell<Frame>,
}

impl Call {
    #[inline(never)]
    fn frame(&self) -> &Frame {
        self.frame.get_or_init(|| {
            let op = Op::Graph { input: self.graph.edges.id(), graph: self.graph.spec(), call: self.call.clone() };
            Frame::step(op, self.at.clone())
        })
    }

    /// A node that the algorithm needs.
    fn node(mut self, name: &str, node: impl NodeId) -> Call {
        let values = node.values(&self.at);
        self.call.params.extend(values.into_iter().map(|value| (name.to_string(), value)));
        self
    }

    fn set(mut self, name: &str, value: Value) -> Call {
        self.call.params.push((name.to_string(), value));
        self.frame = OnceCell::new();
        self
    }

    #[track_caller]
    fn set_frame(mut self, name: &str, frame: impl IntoFrame) -> Call {
        let frame = frame.to_frame();
        self.call.frames.retain(|(known, _)| known != name);
        self.call.frames.push((name.to_string(), frame.id()));
        self.held.push(frame);
        self.frame = OnceCell::new();
        self
    }
}

/// The type of an argument.
macro_rules! argument {
    (node) => { impl NodeId };
    (frame) => { impl IntoFrame };
    (int) => { usize };
}

macro_rules! with_argument {
    ($call:ident $name:ident node) => {
        $call.node(stringify!($name), $name)
    };
    ($call:ident $name:ident frame) => {
        $call.set_frame(stringify!($name), $name)
    };
    ($call:ident $name:ident int) => {
        $call.set(stringify!($name), Value::Int(i64::try_from($name).unwrap_or(i64::MAX)))
    };
}

macro_rules! calls {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $type:ident ($($argument:ident: $kind_of:ident),*) {
            $( $(#[doc = $param_doc:literal])* $param:ident: $kind:ident = $default:tt; )*
        } -> $result:ident $(, $with:ident)?;
    )*) => {$(
        call! { $result $($with)? [$(#[doc = $doc])*] $name $type ($($argument: $kind_of),*) { $( [$(#[doc = $param_doc])*] $param $kind )* } }
    )*};
}

macro_rules! call {
    (Frame [$($doc:tt)*] $name:ident $type:ident ($($argument:ident: $kind_of:ident),*) { $( [$($param_doc:tt)*] $param:ident $kind:ident )* }) => {
        $($doc)*
        ///
        /// A frame: parameters can be set before it is first used.
        #[derive(Clone)]
        pub struct $type(Call);

        impl $type {
            $( setter!([$($param_doc)*] $param $kind); )*

            /// The result as a frame.
            #[track_caller]
            pub fn frame(&self) -> Frame {
                self.0.frame().clone()
            }
        }

        impl Deref for $type {
            type Target = Frame;

            fn deref(&self) -> &Frame {
                self.0.frame()
            }
        }

        impl Show for $type {
            #[track_caller]
            fn content(&self) -> Option<Content> {
                self.0.frame().content()
            }
        }

        impl IntoFrame for $type {
            fn to_frame(&self) -> Frame {
                self.frame()
            }
        }

        impl From<$type> for Frame {
            fn from(call: $type) -> Frame {
                call.frame()
            }
        }

        impl Graph {
            $($doc)*
            #[track_caller]
            pub fn $name(&self $(, $argument: argument!($kind_of))*) -> $type {
                let call = self.call(stringify!($name), here(stringify!($name)));
                $( let call = with_argument!(call $argument $kind_of); )*
                $type(call)
            }
        }
    };
    ($result:ident [$($doc:tt)*] $name:ident $type:ident ($($argument:ident: $kind_of:ident),*) {}) => {
        value! { $result [$($doc)*] $name ($($argument: $kind_of),*) }
    };
    ($result:ident $with:ident [$($doc:tt)*] $name:ident $type:ident ($($argument:ident: $kind_of:ident),*) { $( [$($param_doc:tt)*] $param:ident $kind:ident )+ }) => {
        value! { $result [$($doc)*] $name ($($argument: $kind_of),*) }

        $($doc)*
        ///
        /// The call with parameters, whose result is `value`.
        #[derive(Clone)]
        #[must_use]
        pub struct $type(Call);

        impl $type {
            $( setter!([$($param_doc)*] $param $kind); )*

            /// The result.
            #[track_caller]
            pub fn value(&self) -> scalar!($result) {
                self.0.frame().value(col(stringify!($name)))
            }
        }

        impl Graph {
            $($doc)*
            ///
            /// A call whose parameters can be set, and whose result is `value`.
            #[track_caller]
            pub fn $with(&self $(, $argument: argument!($kind_of))*) -> $type {
                let call = self.call(stringify!($name), here(stringify!($with)));
                $( let call = with_argument!(call $argument $kind_of); )*
                $type(call)
            }
        }
    };
}

/// The method of a graph for an algorithm with a single result.
macro_rules! value {
    ($result:ident [$($doc:tt)*] $name:ident ($($argument:ident: $kind_of:ident),*)) => {
        impl Graph {
            $($doc)*
            #[track_caller]
            pub fn $name(&self $(, $argument: argument!($kind_of))*) -> scalar!($result) {
                let call = self.call(stringify!($name), here(stringify!($name)));
                $( let call = with_argument!(call $argument $kind_of); )*
                call.frame().value(col(stringify!($name)))
            }
        }
    };
}

macro_rules! scalar {
    (Float) => {
        f64
    };
    (Int) => {
        i64
    };
    (Bool) => {
        bool
    };
}

macro_rules! setter {
    ([$($doc:tt)*] $param:ident Frame) => {
        $($doc)*
        #[track_caller]
        pub fn $param(self, value: impl IntoFrame) -> Self {
            Self(self.0.set_frame(stringify!($param), value))
        }
    };
    ([$($doc:tt)*] $param:ident Bool) => {
        $($doc)*
        pub fn $param(self, value: bool) -> Self {
            Self(self.0.set(stringify!($param), Value::Boolean(value)))
        }
    };
    ([$($doc:tt)*] $param:ident Text) => {
        $($doc)*
        pub fn $param(self, value: &str) -> Self {
            Self(self.0.set(stringify!($param), Value::Text(value.to_string())))
        }
    };
    ([$($doc:tt)*] $param:ident Float) => {
        $($doc)*
        pub fn $param(self, value: f64) -> Self {
            Self(self.0.set(stringify!($param), Value::Float(value)))
        }
    };
    ([$($doc:tt)*] $param:ident Int) => {
        $($doc)*
        pub fn $param(self, value: usize) -> Self {
            Self(self.0.set(stringify!($param), Value::Int(i64::try_from(value).unwrap_or(i64::MAX))))
        }
    };
}

onrush_wire::graph_algorithms!(calls);
