//! Runtime support for the expansion of `x!`: decodes the expression tree and fills its slots with Rust values.

use onrush_wire::{Class, Diagnostic, Expr as Tree, ExprKind, Span, Value};

use crate::expr::{Expr, Exprs, LIST, ToExpr};
use crate::raise::raise;

const SLOT: &str = "\0slot";
const NAMED_COLUMN: &str = "\0column";

/// A Rust value in braces, or the result of a user function.
pub fn slot<T: ToExpr + ?Sized>(value: &T) -> Expr {
    value.to_expr()
}

#[inline(never)]
pub fn one(bytes: &[u8], file: &str, slots: &[Expr]) -> Expr {
    match postcard::from_bytes::<Tree>(bytes) {
        Ok(tree) => Expr(fill(tree, file, slots)),
        Err(error) => damaged(&error),
    }
}

#[inline(never)]
pub fn many(bytes: &[u8], file: &str, slots: &[Expr]) -> Exprs {
    match postcard::from_bytes::<Vec<Tree>>(bytes) {
        Ok(trees) => Exprs(trees.into_iter().map(|tree| Expr(fill(tree, file, slots))).collect()),
        Err(error) => damaged(&error),
    }
}

fn damaged(error: &postcard::Error) -> ! {
    raise(
        Diagnostic::error(Class::Internal, "expression", "an expression of this cell could not be read")
            .note(error.to_string())
            .help("restart the kernel: the cell was compiled for another version"),
    )
}

/// Fills the slots with their values, and every span with the name of the file.
fn fill(tree: Tree, file: &str, slots: &[Expr]) -> Tree {
    let (kind, span) = tree.into_parts();
    let span = span.map(|mut span| {
        if span.file.is_empty() {
            span.file = file.to_string();
        }
        span
    });
    let each = |tree: Tree| fill(tree, file, slots);
    let boxed = |tree: Box<Tree>| Box::new(each(*tree));
    let kind = match kind {
        kind @ (ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::All { .. } | ExprKind::Model(_)) => kind,
        ExprKind::Alias(inner, name) => ExprKind::Alias(boxed(inner), filled_name(name, slots, span.as_ref())),
        ExprKind::Unary(op, inner) => ExprKind::Unary(op, boxed(inner)),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(op, boxed(a), boxed(b)),
        ExprKind::Case { branches, otherwise } => ExprKind::Case {
            branches: branches.into_iter().map(|(c, v)| (each(c), each(v))).collect(),
            otherwise: otherwise.map(boxed),
        },
        ExprKind::In { value, list } => {
            let list = list.into_iter().flat_map(|item| match each(item).into_parts() {
                (ExprKind::Literal(Value::List(values)), _) => values.into_iter().map(Tree::literal).collect(),
                (ExprKind::Call { function, args }, _) if function == LIST => {
                    args.into_iter().map(|a| a.value).collect()
                }
                (kind, span) => vec![Tree { kind, span }],
            });
            ExprKind::In { list: list.collect(), value: boxed(value) }
        }
        ExprKind::Between { value, low, high, high_inclusive } => {
            ExprKind::Between { value: boxed(value), low: boxed(low), high: boxed(high), high_inclusive }
        }
        ExprKind::Cast { value, to, strict } => ExprKind::Cast { value: boxed(value), to, strict },
        ExprKind::Over { value, partition, order } => ExprKind::Over {
            value: boxed(value),
            partition: partition.into_iter().map(|key| as_column(each(key))).collect(),
            order: order
                .into_iter()
                .map(|mut key| {
                    key.expr = each(key.expr);
                    key
                })
                .collect(),
        },
        ExprKind::Call { function, args } if function == SLOT => {
            let number = args.first().and_then(|a| match a.value.kind {
                ExprKind::Literal(Value::Int(n)) => usize::try_from(n).ok(),
                _ => None,
            });
            let Some(value) = number.and_then(|n| slots.get(n)) else {
                damaged(&postcard::Error::DeserializeBadEncoding)
            };
            // An expression from elsewhere keeps its own place.
            let mut value = value.0.clone();
            value.span = value.span.take().or(span);
            return value;
        }
        ExprKind::Call { function, args } if function == NAMED_COLUMN => {
            let value = args.into_iter().next().map(|a| each(a.value).into_kind());
            match value {
                Some(ExprKind::Literal(Value::Text(name)) | ExprKind::Column(name)) => ExprKind::Column(name),
                _ => {
                    let error = Diagnostic::error(Class::Plan, "column-name", "`col` takes a string");
                    raise(match span {
                        Some(span) => error.at(span, ""),
                        None => error,
                    })
                }
            }
        }
        ExprKind::Call { function, args } if function == LIST => {
            let items = args.into_iter().map(|a| each(a.value)).collect();
            return Tree { kind: crate::expr::list_of(items).0.into_kind(), span };
        }
        ExprKind::Native { function, args } => {
            ExprKind::Native { function, args: args.into_iter().map(each).collect() }
        }
        ExprKind::Call { function, args } => ExprKind::Call {
            function,
            args: args
                .into_iter()
                .map(|mut arg| {
                    arg.value = each(arg.value);
                    arg
                })
                .collect(),
        },
    };
    Tree { kind, span }
}

/// A string in a slot of `over` is a column name.
fn as_column(tree: Tree) -> Tree {
    let (kind, span) = tree.into_parts();
    match kind {
        ExprKind::Literal(Value::Text(name)) => Tree { kind: ExprKind::Column(name), span },
        kind => Tree { kind, span },
    }
}

/// Names the result of `{name} = ..`, whose name is in a slot.
fn filled_name(name: String, slots: &[Expr], span: Option<&Span>) -> String {
    let Some(number) = name.strip_prefix(SLOT).and_then(|n| n.parse::<usize>().ok()) else { return name };
    match slots.get(number).map(|e| &e.0.kind) {
        Some(ExprKind::Literal(Value::Text(text))) => text.clone(),
        Some(ExprKind::Column(text)) => text.clone(),
        _ => {
            let error = Diagnostic::error(Class::Plan, "column-name", "the name of a result is a string");
            raise(match span {
                Some(span) => error.at(span.clone(), ""),
                None => error,
            })
        }
    }
}
