//! Why a node of a plan stays on the CPU.

use std::borrow::Cow;

use arrow::datatypes::DataType;

/// A reason for the CPU. Its text is what `explain` shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuReason {
    /// A singular noun phrase.
    #[error("{0} is not supported on the GPU")]
    Feature(Cow<'static, str>),
    #[error("the function `{0}` is not supported on the GPU")]
    Function(String),
    #[error("`{0}` is not supported on the GPU")]
    Expression(String),
    /// `how` says which form of the aggregate or window function: `of distinct values`.
    #[error("`{function}` {how} is not supported on the GPU")]
    FormOf { function: String, how: Cow<'static, str> },
    #[error("CAST of {from} to {to} is not supported on the GPU")]
    Cast { from: DataType, to: DataType },
    #[error("`{operator}` of {left} and {right} is not supported on the GPU")]
    Operands { operator: String, left: DataType, right: DataType },
    /// A column, a literal or a result of this type.
    #[error("{what} of type {dtype} is not supported on the GPU")]
    Type { what: &'static str, dtype: DataType },
    #[error("the pattern `{pattern}` {why}")]
    Pattern { pattern: String, why: String },
    #[error("too many string materialisation stages (limit {limit})")]
    Stages { limit: usize },
    #[error("{rows} rows are fewer than the {least} from which on the GPU is faster")]
    TooFewRows { rows: u64, least: u64 },
    #[error("its input is on the CPU")]
    InputOnCpu,
    #[error("nodes above a top-k stay on the CPU")]
    AboveTopK,
    #[error("`{0}` is volatile")]
    Volatile(String),
    /// An expression of another type than its place in the plan asks for.
    #[error("`{expression}` is not {expected}")]
    NotA { expression: String, expected: &'static str },
    /// A plan that should not exist.
    #[error("the plan has {0}")]
    Unexpected(Cow<'static, str>),
    /// DataFusion could not say the type or the value of an expression.
    #[error("{0}")]
    Planner(String),
    /// Not final: an earlier stage can materialise what is missing.
    #[error("a value has to be materialised in an earlier stage")]
    Requested,
}

impl CpuReason {
    pub fn feature(what: impl Into<Cow<'static, str>>) -> CpuReason {
        CpuReason::Feature(what.into())
    }

    pub fn form(function: impl Into<String>, how: impl Into<Cow<'static, str>>) -> CpuReason {
        CpuReason::FormOf { function: function.into(), how: how.into() }
    }

    pub fn of_type(what: &'static str, dtype: &DataType) -> CpuReason {
        CpuReason::Type { what, dtype: dtype.clone() }
    }
}

impl From<datafusion::error::DataFusionError> for CpuReason {
    fn from(error: datafusion::error::DataFusionError) -> Self {
        CpuReason::Planner(error.to_string())
    }
}
