//! Fingerprints of frames: steps with equal keys yield the same rows.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow::array::{Array, ArrayData};
use onrush_frame::Table;
use onrush_wire::plan::Op;
use onrush_wire::{Expr, ExprKind, FrameId, ModelId, codec};

/// The increment of SplitMix64.
pub const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
/// The shifts and factors of [`mix`], and its last shift.
pub const MIX: [(u64, u64); 2] = [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)];
pub const LAST_SHIFT: u64 = 31;

/// Another number for each: the finaliser of SplitMix64, with Stafford's constants (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014).
#[inline(always)]
pub fn mix(x: u64) -> u64 {
    let x = MIX.into_iter().fold(x, |x, (shift, factor)| (x ^ (x >> shift)).wrapping_mul(factor));
    x ^ (x >> LAST_SHIFT)
}

/// The same expression, wherever it is written.
pub fn without_places(expr: &mut Expr) {
    expr.for_each_mut(|node| {
        node.span = None;
        if let ExprKind::Native { function, .. } = &mut node.kind {
            // Run again, the same cell is another file.
            function.file.clear();
        }
        if let ExprKind::Model(output) = &mut node.kind {
            // Its key says which model it is.
            output.model = ModelId(0);
        }
    });
}

/// 128 bits from two differently seeded hashes.
pub fn hash(write: impl Fn(&mut DefaultHasher)) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        write(&mut hasher);
        hasher.finish()
    };
    (u128::from(half(0x6f6e)) << 64) | u128::from(half(0x7275))
}

/// A step over inputs with the keys that `key_of` gives. It is asked for each frame that [`Op::inputs`] lists: those
/// are all that a step reads.
///
/// # Errors
/// Those of `key_of`.
pub fn step<E>(op: &Op, key_of: impl FnMut(FrameId) -> Result<u128, E>) -> Result<u128, E> {
    let input_keys = op.inputs().into_iter().map(key_of).collect::<Result<Vec<u128>, E>>()?;
    let mut op = op.clone();
    for (index, id) in op.inputs_mut().into_iter().enumerate() {
        *id = FrameId(index as u64);
    }
    op.exprs_mut().into_iter().for_each(without_places);
    let bytes = codec::content(&op);
    Ok(hash(|h| {
        bytes.hash(h);
        input_keys.hash(h);
    }))
}

/// Rows that came from a cell: 128 bits of BLAKE3 over their buffers, which is faster than the
/// standard library's hash.
pub fn table(table: &Table) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{:?}", table.schema().fields()).as_bytes());
    for batch in table.batches() {
        number(batch.num_rows(), &mut hasher);
        for column in batch.columns() {
            data(&column.to_data(), &mut hasher);
        }
    }
    let mut half = [0; 16];
    hasher.finalize_xof().fill(&mut half);
    u128::from_le_bytes(half)
}

fn number(number: usize, hasher: &mut blake3::Hasher) {
    hasher.update(&number.to_le_bytes());
}

fn data(array: &ArrayData, hasher: &mut blake3::Hasher) {
    number(array.len(), hasher);
    number(array.offset(), hasher);
    // A buffer that is there and empty is another one than a buffer that is not.
    number(usize::from(array.nulls().is_some()), hasher);
    if let Some(nulls) = array.nulls() {
        number(nulls.offset(), hasher);
        number(nulls.validity().len(), hasher);
        hasher.update(nulls.validity());
    }
    for buffer in array.buffers() {
        number(buffer.len(), hasher);
        hasher.update(buffer.as_slice());
    }
    for child in array.child_data() {
        data(child, hasher);
    }
}
