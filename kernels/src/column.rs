//! Input of a kernel: values on a device with an optional validity bitmap. A view; it owns nothing.

use onrush_device::Buffer;

use crate::scalar::Scalar;

/// Values of one type, in the layout of Arrow. `first` rows and bits are skipped: a slice.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    pub scalar: Scalar,
    pub values: &'a Buffer,
    pub first: u64,
    pub rows: u64,
    /// Validity, one bit for each row, in words of 32 bits. `first` counts for it too.
    pub validity: Option<&'a Buffer>,
}

impl<'a> Column<'a> {
    pub fn new(scalar: Scalar, values: &'a Buffer) -> Self {
        Column { scalar, values, first: 0, rows: values.bytes() / scalar.bytes(), validity: None }
    }

    #[must_use]
    pub fn with_validity(mut self, validity: &'a Buffer) -> Self {
        self.validity = Some(validity);
        self
    }

    /// # Panics
    /// If the slice does not lie in the column.
    #[must_use]
    pub fn slice(mut self, first: u64, rows: u64) -> Self {
        assert!(first + rows <= self.rows, "rows {first} to {} of {}", first + rows, self.rows);
        self.first += first;
        self.rows = rows;
        self
    }

    /// The address of the first row's value.
    pub fn address(&self) -> u64 {
        self.values.address() + self.first * self.scalar.bytes()
    }

    /// The address of the bitmap, or 0.
    pub fn validity_address(&self) -> u64 {
        self.validity.map_or(0, Buffer::address)
    }
}

/// The type by which values are moved without being interpreted: one kernel for each size.
pub(crate) fn moved_as(scalar: Scalar) -> &'static str {
    match scalar.bytes() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        _ => "u128",
    }
}
