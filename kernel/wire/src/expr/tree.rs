//! Expressions of any depth: how they are walked, cloned, dropped and encoded without recursion. A loop in a cell makes
//! an expression of a hundred thousand levels as easily as one of three, and no thread's stack is that large.
//!
//! An encoded expression is the list of its nodes, each after its children.

use std::borrow::Cow;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Arg, BinaryOp, Expr, ExprKind, ModelOutput, NativeFunction, SortKey, UnaryOp};
use crate::diagnostic::Span;
use crate::schema::DataType;
use crate::value::Value;

/// A node without its children.
#[derive(Serialize, Deserialize)]
struct Node<'a> {
    kind: Kind<'a>,
    span: Option<Cow<'a, Span>>,
}

/// What [`ExprKind`] says of a node itself. Numbers say how many children there are where the kind does not.
#[derive(Serialize, Deserialize)]
enum Kind<'a> {
    Column(Cow<'a, str>),
    Literal(Cow<'a, Value>),
    Alias(Cow<'a, str>),
    Unary(UnaryOp),
    Binary(BinaryOp),
    Case { branches: usize, otherwise: bool },
    In { list: usize },
    Between { high_inclusive: bool },
    Cast { to: Cow<'a, DataType>, strict: bool },
    Call { function: Cow<'a, str>, names: Vec<Option<Cow<'a, str>>> },
    Over { partition: usize, order: Vec<(bool, Option<bool>)> },
    All { except: Cow<'a, [String]> },
    Native { function: Cow<'a, NativeFunction>, args: usize },
    Model(Cow<'a, ModelOutput>),
}

/// Calls `each` for every child of a node, in the order in which [`Kind::whole`] takes them.
macro_rules! children {
    ($kind:expr, $each:expr, $iter:ident) => {{
        let mut each = $each;
        match $kind {
            ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::All { .. } | ExprKind::Model(_) => {}
            ExprKind::Alias(inner, _) | ExprKind::Unary(_, inner) | ExprKind::Cast { value: inner, .. } => each(inner),
            ExprKind::Binary(_, left, right) => {
                each(left);
                each(right);
            }
            ExprKind::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    each(condition);
                    each(value);
                }
                if let Some(otherwise) = otherwise {
                    each(otherwise);
                }
            }
            ExprKind::In { value, list } => {
                each(value);
                list.$iter().for_each(each);
            }
            ExprKind::Between { value, low, high, .. } => {
                each(value);
                each(low);
                each(high);
            }
            ExprKind::Call { args, .. } => args.$iter().for_each(|Arg { value, .. }| each(value)),
            ExprKind::Over { value, partition, order } => {
                each(value);
                partition.$iter().for_each(&mut each);
                order.$iter().for_each(|SortKey { expr, .. }| each(expr));
            }
            ExprKind::Native { args, .. } => args.$iter().for_each(each),
        }
    }};
}

impl ExprKind {
    fn is_leaf(&self) -> bool {
        matches!(self, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::All { .. } | ExprKind::Model(_))
    }
}

impl Expr {
    /// What it is, and its place.
    pub fn into_parts(mut self) -> (ExprKind, Option<Span>) {
        (self.take_kind(), self.span.take())
    }

    /// What it is, without its place.
    pub fn into_kind(mut self) -> ExprKind {
        self.take_kind()
    }

    fn take_kind(&mut self) -> ExprKind {
        std::mem::replace(&mut self.kind, ExprKind::Literal(Value::Null))
    }

    /// The expressions that this one is made of, from left to right.
    pub fn children_into<'a>(&'a self, into: &mut Vec<&'a Expr>) {
        children!(&self.kind, |child: &'a Expr| into.push(child), iter);
    }

    /// Calls `each` for every node, for a node before its children, from left to right.
    pub fn for_each<'a>(&'a self, mut each: impl FnMut(&'a Expr)) {
        let mut next = vec![self];
        while let Some(expr) = next.pop() {
            each(expr);
            let from = next.len();
            expr.children_into(&mut next);
            next[from..].reverse();
        }
    }

    /// Calls `each` for every node, for a node before its children.
    pub fn for_each_mut(&mut self, mut each: impl FnMut(&mut Expr)) {
        let mut next = vec![self];
        while let Some(expr) = next.pop() {
            each(expr);
            children!(&mut expr.kind, |child| next.push(child), iter_mut);
        }
    }

    /// How many nodes stand one in the other, at most: 1 for a column.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut next = vec![(self, 1)];
        while let Some((expr, depth)) = next.pop() {
            deepest = deepest.max(depth);
            children!(&expr.kind, |child| next.push((child, depth + 1)), iter);
        }
        deepest
    }

    /// The nodes, each after its children.
    fn nodes(&self) -> Vec<Node<'_>> {
        let mut nodes = Vec::new();
        let mut next = vec![self];
        while let Some(expr) = next.pop() {
            nodes.push(Node { kind: Kind::of(&expr.kind), span: expr.span.as_ref().map(Cow::Borrowed) });
            expr.children_into(&mut next);
        }
        nodes.reverse();
        nodes
    }
}

impl<'a> Kind<'a> {
    fn of(kind: &'a ExprKind) -> Self {
        match kind {
            ExprKind::Column(name) => Kind::Column(name.into()),
            ExprKind::Literal(value) => Kind::Literal(Cow::Borrowed(value)),
            ExprKind::Alias(_, name) => Kind::Alias(name.into()),
            ExprKind::Unary(op, _) => Kind::Unary(*op),
            ExprKind::Binary(op, ..) => Kind::Binary(*op),
            ExprKind::Case { branches, otherwise } => {
                Kind::Case { branches: branches.len(), otherwise: otherwise.is_some() }
            }
            ExprKind::In { list, .. } => Kind::In { list: list.len() },
            ExprKind::Between { high_inclusive, .. } => Kind::Between { high_inclusive: *high_inclusive },
            ExprKind::Cast { to, strict, .. } => Kind::Cast { to: Cow::Borrowed(to), strict: *strict },
            ExprKind::Call { function, args } => Kind::Call {
                function: function.into(),
                names: args.iter().map(|arg| arg.name.as_deref().map(Cow::Borrowed)).collect(),
            },
            ExprKind::Over { partition, order, .. } => Kind::Over {
                partition: partition.len(),
                order: order.iter().map(|key| (key.descending, key.nulls_last)).collect(),
            },
            ExprKind::All { except } => Kind::All { except: except.into() },
            ExprKind::Native { function, args } => Kind::Native { function: Cow::Borrowed(function), args: args.len() },
            ExprKind::Model(output) => Kind::Model(Cow::Borrowed(output)),
        }
    }

    /// How many children a node has; `None` if no memory could hold as many.
    fn children(&self) -> Option<usize> {
        match self {
            Kind::Column(_) | Kind::Literal(_) | Kind::All { .. } | Kind::Model(_) => Some(0),
            Kind::Alias(_) | Kind::Unary(_) | Kind::Cast { .. } => Some(1),
            Kind::Binary(_) => Some(2),
            Kind::Between { .. } => Some(3),
            Kind::Case { branches, otherwise } => branches.checked_mul(2)?.checked_add(usize::from(*otherwise)),
            Kind::In { list } => list.checked_add(1),
            Kind::Call { names, .. } => Some(names.len()),
            Kind::Over { partition, order } => partition.checked_add(order.len())?.checked_add(1),
            Kind::Native { args, .. } => Some(*args),
        }
    }

    /// The node with its children, of which there are as many as [`Kind::children`] says.
    fn whole(self, mut children: impl Iterator<Item = Expr>) -> Option<ExprKind> {
        let mut next = || children.next();
        Some(match self {
            Kind::Column(name) => ExprKind::Column(name.into_owned()),
            Kind::Literal(value) => ExprKind::Literal(value.into_owned()),
            Kind::Alias(name) => ExprKind::Alias(Box::new(next()?), name.into_owned()),
            Kind::Unary(op) => ExprKind::Unary(op, Box::new(next()?)),
            Kind::Binary(op) => ExprKind::Binary(op, Box::new(next()?), Box::new(next()?)),
            Kind::Case { branches, otherwise } => ExprKind::Case {
                branches: (0..branches).map(|_| Some((next()?, next()?))).collect::<Option<_>>()?,
                otherwise: if otherwise { Some(Box::new(next()?)) } else { None },
            },
            Kind::In { .. } => ExprKind::In { value: Box::new(next()?), list: children.collect() },
            Kind::Between { high_inclusive } => {
                let (value, low, high) = (Box::new(next()?), Box::new(next()?), Box::new(next()?));
                ExprKind::Between { value, low, high, high_inclusive }
            }
            Kind::Cast { to, strict } => ExprKind::Cast { value: Box::new(next()?), to: to.into_owned(), strict },
            Kind::Call { function, names } => {
                let args = names.into_iter().zip(children);
                let args = args.map(|(name, value)| Arg { name: name.map(Cow::into_owned), value });
                ExprKind::Call { function: function.into_owned(), args: args.collect() }
            }
            Kind::Over { partition, order } => ExprKind::Over {
                value: Box::new(next()?),
                partition: (0..partition).map(|_| next()).collect::<Option<_>>()?,
                order: (order.into_iter().zip(children))
                    .map(|((descending, nulls_last), expr)| SortKey { expr, descending, nulls_last })
                    .collect(),
            },
            Kind::All { except } => ExprKind::All { except: except.into_owned() },
            Kind::Model(output) => ExprKind::Model(output.into_owned()),
            Kind::Native { function, .. } => {
                ExprKind::Native { function: Box::new(function.into_owned()), args: children.collect() }
            }
        })
    }
}

/// Puts nodes together that come one after the other, each after its children.
#[derive(Default)]
struct Builder {
    /// What has no parent yet.
    open: Vec<Expr>,
}

impl Builder {
    /// `None` if the children are not there.
    fn push(&mut self, node: Node<'_>) -> Option<()> {
        let from = self.open.len().checked_sub(node.kind.children()?)?;
        let kind = node.kind.whole(self.open.drain(from..))?;
        self.open.push(Expr { kind, span: node.span.map(Cow::into_owned) });
        Some(())
    }

    /// `None` if it is not one expression.
    fn finish(mut self) -> Option<Expr> {
        let expr = self.open.pop()?;
        self.open.is_empty().then_some(expr)
    }
}

impl Clone for Expr {
    fn clone(&self) -> Self {
        let mut builder = Builder::default();
        let whole = self.nodes().into_iter().try_for_each(|node| builder.push(node));
        whole.and_then(|()| builder.finish()).expect("the nodes of an expression make an expression")
    }
}

impl Drop for Expr {
    fn drop(&mut self) {
        // Allocates nothing for most expressions: their children have no children.
        let mut inner = Vec::new();
        take_inner(self, &mut inner);
        while let Some(mut expr) = inner.pop() {
            take_inner(&mut expr, &mut inner);
        }
    }
}

/// Takes the children out that have children.
fn take_inner(expr: &mut Expr, into: &mut Vec<Expr>) {
    let take = |child: &mut Expr| {
        if !child.kind.is_leaf() {
            into.push(Expr { kind: child.take_kind(), span: None });
        }
    };
    children!(&mut expr.kind, take, iter_mut);
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nodes = self.nodes();
        let mut list = serializer.serialize_seq(Some(nodes.len()))?;
        nodes.iter().try_for_each(|node| list.serialize_element(node))?;
        list.end()
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nodes;
        impl<'de> Visitor<'de> for Nodes {
            type Value = Expr;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the nodes of an expression")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut nodes: A) -> Result<Expr, A::Error> {
                let broken = || A::Error::custom("these nodes make no expression");
                let mut builder = Builder::default();
                while let Some(node) = nodes.next_element::<Node<'static>>()? {
                    builder.push(node).ok_or_else(broken)?;
                }
                builder.finish().ok_or_else(broken)
            }
        }
        deserializer.deserialize_seq(Nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode, encode};

    fn sum(terms: usize) -> Expr {
        let add = |left, right| Expr::new(ExprKind::Binary(BinaryOp::Add, Box::new(left), Box::new(right)));
        (0..terms).fold(Expr::column("a"), |sum, term| add(sum, Expr::literal(term as i64)))
    }

    /// One of each kind.
    fn all_kinds() -> Expr {
        let span = Span { file: "cell_1.rs".to_string(), line: 3, column: 7, length: 2 };
        let a = || Box::new(Expr::column("a").at(span.clone()));
        let one = || Box::new(Expr::literal(1));
        let key = |descending| SortKey { expr: *a(), descending, nulls_last: Some(true) };
        let function = NativeFunction {
            name: "f".to_string(),
            parameters: vec![("x".to_string(), DataType::Float64)],
            result: DataType::Float64,
            file: "cell_2.cu".to_string(),
            text: "__device__".to_string(),
        };
        let kinds = [
            ExprKind::Alias(a(), "b".to_string()),
            ExprKind::Unary(UnaryOp::Not, a()),
            ExprKind::Case { branches: vec![(*a(), *one()), (*one(), *a())], otherwise: Some(one()) },
            ExprKind::Case { branches: vec![(*a(), *one())], otherwise: None },
            ExprKind::In { value: a(), list: vec![*one(), *a()] },
            ExprKind::Between { value: a(), low: one(), high: Box::new(Expr::literal(9)), high_inclusive: true },
            ExprKind::Cast { value: a(), to: DataType::Int64, strict: true },
            ExprKind::Over { value: a(), partition: vec![*one(), *a()], order: vec![key(true), key(false)] },
            ExprKind::All { except: vec!["c".to_string()] },
            ExprKind::Native { function: Box::new(function), args: vec![*a(), *one()] },
            ExprKind::Model(ModelOutput { model: crate::ModelId(4), key: 5, output: "prediction".to_string() }),
        ];
        let named = Arg { name: Some("named".to_string()), value: sum(3) };
        let args = kinds.into_iter().map(|kind| Arg { name: None, value: Expr::new(kind) }).chain([named]);
        Expr::new(ExprKind::Call { function: "many".to_string(), args: args.collect() }).at(span.clone())
    }

    #[test]
    fn every_kind_comes_back_and_is_cloned() {
        let expr = all_kinds();
        let bytes = encode(&expr).unwrap();
        assert_eq!(decode::<Expr>(&bytes[4..]).unwrap(), expr);
        assert_eq!(expr.clone(), expr);
        // With a node more or less the nodes are not an expression.
        let mut nodes = expr.nodes();
        nodes.pop();
        assert!(decode::<Expr>(&encode(&nodes).unwrap()[4..]).is_err());
        assert!(decode::<Expr>(&encode::<Vec<Node>>(&Vec::new()).unwrap()[4..]).is_err());
        let cut = vec![Node { kind: Kind::In { list: usize::MAX }, span: None }];
        assert!(decode::<Expr>(&encode(&cut).unwrap()[4..]).is_err());
    }

    #[test]
    fn nodes_come_before_their_children_from_left_to_right() {
        let mut names = Vec::new();
        let (a, b) = (Expr::column("a"), Expr::call("f", [Expr::column("b"), Expr::column("c")]));
        let expr = Expr::new(ExprKind::Binary(BinaryOp::Add, Box::new(a), Box::new(b)));
        expr.for_each(|node| {
            names.push(match &node.kind {
                ExprKind::Column(name) | ExprKind::Call { function: name, .. } => name.as_str(),
                _ => "+",
            });
        });
        assert_eq!(names, ["+", "a", "f", "b", "c"]);
        assert_eq!(expr.depth(), 3);
    }

    #[test]
    fn a_million_levels_need_no_stack() {
        // Less than any recursion over so many levels takes.
        let small = std::thread::Builder::new().stack_size(256 << 10);
        let work = || {
            let mut expr = sum(1_000_000);
            assert_eq!(expr.depth(), 1_000_001);
            let copy: Expr = decode(&encode(&expr).unwrap()[4..]).unwrap();
            expr.for_each_mut(|node| node.span = None);
            assert_eq!(copy.clone().depth(), expr.depth());
        };
        small.spawn(work).unwrap().join().unwrap();
    }
}
