//! Errors of kernels: mostly those of the device.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Device(#[from] onrush_device::Error),
    #[error("{algorithm} does not take {scalar}")]
    Unsupported { algorithm: &'static str, scalar: &'static str },
    #[error("a hash table of {slots} slots was too small, and no larger one is allowed")]
    TooManyGroups { slots: u64 },
}
