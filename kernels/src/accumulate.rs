//! Accumulators of a group, and their results: `cuda/accumulate.cuh`. Used by `dense_group` and `hash_group`.

use onrush_device::{Arguments, Buffer};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::library::Context;
use crate::scalar::Scalar;

/// Accumulators of a group, in this order.
pub const SUM: u32 = 1;
pub const COUNT: u32 = 2;
pub const LOW: u32 = 4;
pub const HIGH: u32 = 8;
/// Rows of a group, including nulls: an extra accumulator if it is needed, not part of the result.
const ROWS: u32 = 16;

/// Types of keys, values and accumulators for which grouping kernels are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub key: Scalar,
    pub value: Scalar,
    /// Accumulators that are part of the result.
    pub want: u32,
    /// Whether keys or values may be null.
    pub nulls: bool,
}

impl Shape {
    pub fn new(keys: &Column, values: &Column, want: u32) -> Result<Shape> {
        let (key, value) = (keys.scalar, values.scalar);
        if key.is_float() || key.bytes() > 8 {
            return Err(Error::Unsupported { algorithm: "grouping", scalar: key.cuda() });
        }
        if value.bytes() > 8 || value == Scalar::U64 && want & (LOW | HIGH) != 0 {
            return Err(Error::Unsupported { algorithm: "grouping of values", scalar: value.cuda() });
        }
        Ok(Shape { key, value, want, nulls: keys.validity.is_some() || values.validity.is_some() })
    }

    /// Including the accumulator that says whether a group exists.
    pub(crate) fn kept(&self) -> u32 {
        if self.nulls || self.want & COUNT == 0 { self.want | ROWS } else { self.want }
    }

    /// 64-bit words of the accumulators in device memory.
    pub(crate) fn words(&self) -> u64 {
        u64::from(self.kept().count_ones())
    }

    /// Bytes of the accumulators in shared memory.
    pub(crate) fn shared_bytes(&self) -> u32 {
        let narrow = (self.kept() & (COUNT | ROWS)).count_ones();
        4 * narrow + 8 * (self.kept().count_ones() - narrow)
    }

    /// The parameters of a kernel that reads rows, as source text.
    pub(crate) fn row_parameters(&self) -> String {
        let (k, v) = (self.key.cuda(), self.value.cuda());
        format!(
            "const {k}* keys, const u32* key_validity, u64 key_bit, const {v}* values, const u32* value_validity, u64 value_bit, u64 rows"
        )
    }
}

/// The arguments for these parameters.
pub(crate) fn rows(keys: &Column, values: &Column) -> Arguments {
    assert_eq!(keys.rows, values.rows, "keys and values have different numbers of rows");
    Arguments::new()
        .value(keys.address())
        .value(keys.validity_address())
        .value(keys.first)
        .value(values.address())
        .value(values.validity_address())
        .value(values.first)
        .value(keys.rows)
}

/// Output buffers of the groups.
pub(crate) struct Output {
    /// The number of groups, then one more than the null key's group, or 0.
    pub counts: Buffer,
    pub keys: Buffer,
    pub accumulators: Buffer,
    pub capacity: u64,
}

impl Output {
    pub fn new(context: &Context, shape: &Shape, capacity: u64) -> Result<Output> {
        Ok(Output {
            counts: context.allocate(16)?,
            keys: context.allocate(capacity * 8)?,
            accumulators: context.allocate(capacity * 8 * u64::from(shape.want.count_ones()))?,
            capacity,
        })
    }

    /// Synchronises the stream.
    pub fn groups(self, context: &Context, retries: u32) -> Result<Groups> {
        let found = self.counts.read::<u64>(0..2, &context.stream)?;
        Ok(Groups {
            count: found[0],
            keys: self.keys,
            accumulators: self.accumulators,
            capacity: self.capacity,
            null_group: found[1].checked_sub(1),
            retries,
        })
    }
}

/// Groups in no order. Accumulators are 64-bit words in the requested order, one column after another.
pub struct Groups {
    pub count: u64,
    /// Keys, sign-extended or zero-extended to 64 bits as their type is.
    pub keys: Buffer,
    pub accumulators: Buffer,
    /// Entries of a column of `accumulators`.
    pub capacity: u64,
    /// The index of the group of the null key.
    pub null_group: Option<u64>,
    /// How often the table was too small.
    pub retries: u32,
}
