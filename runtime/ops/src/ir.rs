//! The intermediate representation: expression graphs, accumulators, device functions and value ranges. These are
//! types and rules only; nothing here touches a device.

pub mod aggregate;
pub mod expr;
pub mod packed_key;
pub mod udf;
pub mod value_range;
