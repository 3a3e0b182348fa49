//! The findings of the emulated device's checker, field by field. A caller that knows the names of allocations writes
//! the message.

/// The mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access past the end of its allocation or array, or before its start.
    OutOfBounds,
    /// Two accesses of two threads, one of them a write, with nothing that orders them.
    Race,
    /// Shared memory is read, and no thread of the block has written it.
    UninitializedShared,
    /// Two threads of a block wait at barriers in different lines.
    BarrierDivergence,
    /// A thread waits at a barrier, and another one of its block has left the kernel.
    BarrierExit,
    /// The address of a value of this type is not a multiple of [`Fault::bytes`].
    Misaligned { type_name: String },
    /// An integer is divided by zero.
    Division,
    /// A number of `size` bits is shifted by `offset`.
    Shift,
    /// A write to what kernels only read: a `__constant__` variable.
    Constant,
    /// A race over `volatile` shared memory: threads change an element each and use another's, with nothing that has
    /// them in step.
    MissingSyncwarp,
}

/// Why the emulated device stopped a kernel, if no [`Fault`] describes it. The text for people is the reason of the
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    Other,
    /// A block takes more shared memory than there is.
    BlockMemory,
    /// An access through a null pointer.
    NullPointer,
    /// An access to a local variable of another thread.
    ForeignVariable,
    /// The end of a function that returns a value, without `return`.
    NoReturn,
    /// An access to an address without memory.
    NoMemoryThere,
    /// The kernel depends on a local variable without a value.
    UnsetVariable,
    /// An access to a local variable of a function that has returned.
    EndedFunction,
    /// A read of a part of a local array that has no value.
    UnsetArray,
    /// An access past a local array or variable.
    BesideVariable,
    /// The checker has no memory for its record of the accesses.
    CheckerMemory,
    /// The stack of a thread is full.
    Stack,
    /// A format of `printf` does not fit its values.
    Printf,
    /// `free` or `delete` of memory that is not allocated.
    BadFree,
    /// An access to memory that was freed.
    Freed,
    /// An access to an address outside of all allocations.
    NoAllocation,
    /// Threads spin, and no block ends.
    NoProgress,
    /// An integer division without a result.
    Division,
    /// The kernel depends on a value that a shuffle reads from a lane that takes no part.
    AbsentLane,
    /// The width of a shuffle is not a power of two up to 32.
    WarpWidth,
    /// The mask of a warp operation does not have the calling lane.
    OwnLane,
    /// Lanes of one mask are at different warp operations.
    WarpDivergence,
}

impl StopCause {
    /// The numbers of `Cause` in runtime.cpp.
    pub(crate) fn of_number(number: u32) -> StopCause {
        const ALL: [StopCause; 22] = [
            StopCause::Other,
            StopCause::BlockMemory,
            StopCause::NullPointer,
            StopCause::ForeignVariable,
            StopCause::NoReturn,
            StopCause::NoMemoryThere,
            StopCause::UnsetVariable,
            StopCause::EndedFunction,
            StopCause::UnsetArray,
            StopCause::BesideVariable,
            StopCause::CheckerMemory,
            StopCause::Stack,
            StopCause::Printf,
            StopCause::BadFree,
            StopCause::Freed,
            StopCause::NoAllocation,
            StopCause::NoProgress,
            StopCause::Division,
            StopCause::AbsentLane,
            StopCause::WarpWidth,
            StopCause::OwnLane,
            StopCause::WarpDivergence,
        ];
        ALL.get(number as usize).copied().unwrap_or(StopCause::Other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// An atomic operation.
    Update,
    /// One of these.
    Use,
}

/// A thread, and where it was: `cell_3.rs:7`, or empty if nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSite {
    pub thread: [u32; 3],
    pub block: [u32; 3],
    pub access: Access,
    pub line: String,
}

/// A variable in shared memory, or one of the module's own: where it begins, and how long it is, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// The kernel or other function or the namespace that it stands in; empty outside of all.
    pub function: String,
    pub offset: u64,
    pub bytes: u64,
    /// `__constant__`.
    pub constant: bool,
}

/// The kind of memory of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    None,
    /// The allocation at this address.
    Device {
        address: u64,
    },
    Shared(Vec<Variable>),
    Dynamic,
    /// Variables that the module declares `__device__`.
    Variables(Vec<Variable>),
    /// An array that the code declares: `offset` is the index, and `size` the number of elements. An element may be an
    /// array, too: there are so many dimensions in all.
    Array {
        dimensions: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The second one is who else had to do with it: the other access, the other barrier.
    pub parties: [ThreadSite; 2],
    pub memory: Memory,
    /// Bytes from the start of the memory, negative before it; how many the access takes, and how many there are.
    pub offset: i64,
    pub bytes: u64,
    pub size: u64,
    /// The column of the first party's access, from 1, if the compiler says it. For an index it is the closing bracket
    /// (g++), or the start of the indexed expression (clang++).
    pub column: Option<u32>,
}
