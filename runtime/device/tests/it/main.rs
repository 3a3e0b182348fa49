//! The emulated device.

mod emulated;
