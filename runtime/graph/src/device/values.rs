//! Results on a device.

use std::marker::PhantomData;

use onrush_device::{Buffer, Pod};
use onrush_kernels::Context;

use super::Result;

/// Values on a device, such as one for each node. They are complete: another stream may read them.
pub struct DeviceValues<T> {
    buffer: Buffer,
    count: usize,
    dtype: PhantomData<T>,
}

impl<T: Pod> DeviceValues<T> {
    /// The first `count` values of a buffer that the stream has written.
    ///
    /// # Panics
    /// If the buffer is shorter.
    pub fn new(buffer: Buffer, count: usize) -> DeviceValues<T> {
        assert!(buffer.bytes() >= (count * size_of::<T>()) as u64, "{count} values in {} bytes", buffer.bytes());
        DeviceValues { buffer, count, dtype: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// Copies the values to the host.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn download(&self, context: &Context) -> Result<Vec<T>> {
        Ok(self.buffer.read::<T>(0..self.count, &context.stream)?)
    }
}
