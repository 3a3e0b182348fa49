//! Other arguments of frame methods: conditions, pairs, lists of frames, sample sizes.

use std::collections::{BTreeMap, HashMap};

use onrush_wire::plan::SampleSize;
use onrush_wire::{BinaryOp, Class, DataType, Diagnostic, Expr, ExprKind, FrameId, Span};

use super::Frame;
use crate::expr::IntoDataType;
use crate::raise::raise;

/// All conditions joined by `&&`. `x!(a = 1)` names a result and is not a condition.
pub fn condition(conditions: Vec<Expr>, at: &Span) -> Expr {
    for condition in &conditions {
        if let ExprKind::Alias(_, name) = &condition.kind {
            let place = condition.span.clone().unwrap_or_else(|| at.clone());
            raise(
                Diagnostic::error(
                    Class::Plan,
                    "condition",
                    format!("`{name} = ...` names a result: it is not a condition"),
                )
                .at(place, "")
                .help("a comparison is `==`"),
            );
        }
    }
    let all = conditions.into_iter().reduce(|a, b| {
        let span = a.span.clone();
        Expr { kind: ExprKind::Binary(BinaryOp::And, Box::new(a), Box::new(b)), span }
    });
    all.unwrap_or_else(|| Expr::literal(true))
}

/// Pairs of a column name and a value: `[("a", "b")]`, `("a", "b")`, a `Vec` or a map.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of pairs",
    label = "expected pairs such as [(\"a\", \"b\")]"
)]
pub trait IntoPairs<V> {
    #[doc(hidden)]
    #[track_caller]
    fn into_pairs(self) -> Vec<(String, V)>;
}

/// The second element of a pair.
pub trait PairValue<V> {
    #[doc(hidden)]
    #[track_caller]
    fn pair_value(self) -> V;
}

impl PairValue<String> for &str {
    fn pair_value(self) -> String {
        self.to_string()
    }
}

impl PairValue<String> for String {
    fn pair_value(self) -> String {
        self
    }
}

impl PairValue<DataType> for DataType {
    fn pair_value(self) -> DataType {
        self
    }
}

impl PairValue<DataType> for &str {
    #[track_caller]
    fn pair_value(self) -> DataType {
        self.into_data_type()
    }
}

macro_rules! pairs {
    ($([$($generics:tt)*] $t:ty),* $(,)?) => {$(
        impl<K: Into<String>, P: PairValue<V>, V, $($generics)*> IntoPairs<V> for $t {
            #[track_caller]
            fn into_pairs(self) -> Vec<(String, V)> {
                let mut out = Vec::new();
                for (key, value) in self {
                    out.push((key.into(), value.pair_value()));
                }
                out
            }
        }
    )*};
}
pairs!([const N: usize] [(K, P); N], [] Vec<(K, P)>, [S] HashMap<K, P, S>, [] BTreeMap<K, P>);

impl<K: Into<String>, P: PairValue<V>, V> IntoPairs<V> for (K, P) {
    #[track_caller]
    fn into_pairs(self) -> Vec<(String, V)> {
        vec![(self.0.into(), self.1.pair_value())]
    }
}

impl<K: Into<String> + Clone, P: PairValue<V> + Clone, V> IntoPairs<V> for &[(K, P)] {
    #[track_caller]
    fn into_pairs(self) -> Vec<(String, V)> {
        self.to_vec().into_pairs()
    }
}

/// Several frames: an array, a slice or a `Vec` of frames or of references to them.
pub trait IntoFrames {
    #[doc(hidden)]
    fn ids(&self) -> Vec<FrameId>;
}

impl<F: std::borrow::Borrow<Frame>, const N: usize> IntoFrames for [F; N] {
    fn ids(&self) -> Vec<FrameId> {
        self.iter().map(|f| f.borrow().id()).collect()
    }
}

impl<F: std::borrow::Borrow<Frame>> IntoFrames for Vec<F> {
    fn ids(&self) -> Vec<FrameId> {
        self.iter().map(|f| f.borrow().id()).collect()
    }
}

impl<F: std::borrow::Borrow<Frame>> IntoFrames for [F] {
    fn ids(&self) -> Vec<FrameId> {
        self.iter().map(|f| f.borrow().id()).collect()
    }
}

impl<T: IntoFrames + ?Sized> IntoFrames for &T {
    fn ids(&self) -> Vec<FrameId> {
        (**self).ids()
    }
}

/// A number of rows (an integer), or a fraction of them (`0.1`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a sample size",
    label = "expected a number of rows such as 1000, or a share such as 0.1"
)]
pub trait IntoSampleSize {
    #[doc(hidden)]
    fn into_sample_size(self) -> Result<SampleSize, String>;
}

macro_rules! rows {
    ($($t:ty),*) => {$(
        impl IntoSampleSize for $t {
            fn into_sample_size(self) -> Result<SampleSize, String> {
                u64::try_from(self).map(SampleSize::Rows).map_err(|_| format!("{self} is not a number of rows"))
            }
        }
    )*};
}
rows!(i32, i64, u32, u64, usize);

impl IntoSampleSize for f64 {
    fn into_sample_size(self) -> Result<SampleSize, String> {
        match self {
            share if share.is_finite() && share >= 0.0 => Ok(SampleSize::Fraction(share)),
            share => Err(format!("{share} is not a fraction of the rows: it lies between 0 and 1")),
        }
    }
}
