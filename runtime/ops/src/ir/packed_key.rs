//! Composite keys of small known ranges, packed into one integer.

use crate::ir::expr::{DeviceType, NodeId};

/// A key of a small known range: its number is its distance from `base`, or `count - 1` for null.
#[derive(Clone, Copy, Debug)]
pub struct PackedKeyPart {
    pub key: NodeId,
    pub kind: DeviceType,
    pub base: i64,
    /// How many numbers there are, that of null included.
    pub count: u64,
    pub nullable: bool,
    /// The product of the counts before.
    pub stride: u64,
}

impl PackedKeyPart {
    /// All that a kernel's text depends on: the numbers are parameters.
    pub(crate) fn codegen_key(&self) -> (NodeId, DeviceType, bool) {
        (self.key, self.kind, self.nullable)
    }
}
