//! Launch configuration: the number of blocks and threads, in one to three dimensions.

/// The number of blocks (`gridDim`): `4`, `(4, 2)`, `(4, 2, 1)`, of any integer type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of blocks",
    label = "expected an integer, or two or three of them: `4`, `(4, 2)`, `(4, 2, 1)`"
)]
pub trait Blocks {
    #[doc(hidden)]
    fn blocks(&self) -> [i128; 3];
}

/// The number of threads in a block (`blockDim`), as [`Blocks`]. `256.shared(1024)` adds bytes of dynamic shared memory
/// for each block.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of threads",
    label = "expected an integer, or two or three of them: `256`, `(16, 16)`, `(8, 8, 4)`"
)]
pub trait Threads {
    #[doc(hidden)]
    fn threads(&self) -> [i128; 3];
    /// Bytes of dynamic shared memory.
    #[doc(hidden)]
    fn shared_bytes(&self) -> u64 {
        0
    }
}

/// Threads of a block with dynamic shared memory.
#[derive(Clone, Copy, Debug)]
pub struct WithShared<T> {
    threads: T,
    bytes: usize,
}

/// Adds dynamic shared memory, `extern __shared__` in the kernel: `256.shared(bytes)`.
pub trait SharedMemory: Threads + Sized {
    /// Bytes for each block: `(16, 16).shared(256 * size_of::<f32>())`.
    fn shared(self, bytes: usize) -> WithShared<Self> {
        WithShared { threads: self, bytes }
    }
}

impl<T: Threads> Threads for WithShared<T> {
    fn threads(&self) -> [i128; 3] {
        self.threads.threads()
    }

    fn shared_bytes(&self) -> u64 {
        self.bytes as u64
    }
}

/// The size in one dimension.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an integer", label = "expected an integer")]
pub trait Size: Copy {
    #[doc(hidden)]
    fn size(self) -> i128;
}

macro_rules! sizes {
    ($($t:ty),*) => {$(
        impl Size for $t {
            fn size(self) -> i128 {
                self as i128
            }
        }
        impl Blocks for $t {
            fn blocks(&self) -> [i128; 3] {
                [self.size(), 1, 1]
            }
        }
        impl Threads for $t {
            fn threads(&self) -> [i128; 3] {
                [self.size(), 1, 1]
            }
        }
        impl SharedMemory for $t {}
    )*};
}
sizes!(i32, u32, i64, u64, isize, usize);

macro_rules! tuples {
    ($([$($a:ident $n:tt),*]);*) => {$(
        impl<$($a: Size),*> Blocks for ($($a,)*) {
            fn blocks(&self) -> [i128; 3] {
                let mut all = [1; 3];
                $(all[$n] = self.$n.size();)*
                all
            }
        }
        impl<$($a: Size),*> Threads for ($($a,)*) {
            fn threads(&self) -> [i128; 3] {
                self.blocks()
            }
        }
        impl<$($a: Size),*> SharedMemory for ($($a,)*) {}
    )*};
}
tuples!([A 0, B 1]; [A 0, B 1, C 2]);
