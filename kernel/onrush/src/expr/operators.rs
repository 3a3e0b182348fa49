//! Rust's operators on expressions: with expressions and Rust values on the right, and with numbers on the left.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

use onrush_wire::{BinaryOp, ExprKind, UnaryOp};

use super::{Expr, ToExpr};

// By value: a loop that adds a thousand terms copies none of them.
#[inline(never)]
fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.0.span.clone().or_else(|| right.0.span.clone());
    Expr(onrush_wire::Expr { kind: ExprKind::Binary(op, Box::new(left.0), Box::new(right.0)), span })
}

#[inline(never)]
fn unary(op: UnaryOp, value: Expr) -> Expr {
    let span = value.0.span.clone();
    Expr(onrush_wire::Expr { kind: ExprKind::Unary(op, Box::new(value.0)), span })
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),* $(,)?) => {$(
        impl<T: ToExpr> $trait<T> for Expr {
            type Output = Expr;
            fn $method(self, right: T) -> Expr {
                binary(BinaryOp::$op, self, right.into_expr())
            }
        }
        impl<T: ToExpr> $trait<T> for &Expr {
            type Output = Expr;
            fn $method(self, right: T) -> Expr {
                binary(BinaryOp::$op, self.clone(), right.into_expr())
            }
        }
    )*};
}
// `&`, `|` and `^` join conditions, as in Polars: Rust's `&&` and `||` cannot be overloaded.
operators!(Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide, Rem rem Remainder,
           BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);

macro_rules! from_left {
    ($($t:ty),*) => {$(
        from_left!($t: Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide, Rem rem Remainder);
    )*};
    ($t:ty: $($trait:ident $method:ident $op:ident),*) => {$(
        impl $trait<Expr> for $t {
            type Output = Expr;
            fn $method(self, right: Expr) -> Expr {
                binary(BinaryOp::$op, self.to_expr(), right)
            }
        }
        impl $trait<&Expr> for $t {
            type Output = Expr;
            fn $method(self, right: &Expr) -> Expr {
                binary(BinaryOp::$op, self.to_expr(), right.clone())
            }
        }
    )*};
}
from_left!(i32, i64, u32, u64, f32, f64);

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        unary(UnaryOp::Negate, self)
    }
}

impl Neg for &Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        unary(UnaryOp::Negate, self.clone())
    }
}

impl Not for Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        unary(UnaryOp::Not, self)
    }
}

impl Not for &Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        unary(UnaryOp::Not, self.clone())
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident $op:ident),* $(,)?) => {
        impl Expr {$(
            $(#[$doc])*
            #[must_use]
            pub fn $method(&self, other: impl ToExpr) -> Expr {
                binary(BinaryOp::$op, self.clone(), other.into_expr())
            }
        )*}
    };
}
comparisons! {
    /// Whether both are equal; null if one is null.
    eq Equal,
    /// Whether they differ; null if one is null.
    neq NotEqual,
    /// Whether this is less than `other`; null if one is null.
    lt Less,
    /// Whether this is at most `other`; null if one is null.
    lt_eq LessEqual,
    /// Whether this is greater than `other`; null if one is null.
    gt Greater,
    /// Whether this is at least `other`; null if one is null.
    gt_eq GreaterEqual,
    /// Logical and; false if one condition is false, even if the other is null.
    and And,
    /// Logical or; true if one condition is true, even if the other is null.
    or Or,
}
