//! Bytes of other libraries' files inside of arrays of numbers, as models keep them.

use crate::tensor::Tensor;

/// Bytes as numbers of the same bits, eight in a number.
pub fn numbers(bytes: &[u8]) -> Tensor {
    let number = |bytes: &[u8]| {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        f64::from_le_bytes(eight)
    };
    Tensor::vector(bytes.chunks(8).map(number).collect())
}

/// The first `len` bytes in the numbers.
pub fn bytes(numbers: &Tensor, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.data.iter().flat_map(|v| v.to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}
