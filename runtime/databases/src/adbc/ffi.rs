//! The C interfaces as they lie in memory: ADBC 1.0 (`adbc.h`), the Arrow C data interface and its streams. Only
//! layouts; nothing is called here.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// `ADBC_VERSION_1_0_0`: newer drivers fill the table of this version when they are asked for it.
pub const VERSION: c_int = 1_000_000;
/// `ADBC_STATUS_OK`.
pub const OK: u8 = 0;

/// `AdbcError` of version 1.0.
#[repr(C)]
pub struct Error {
    pub message: *mut c_char,
    pub vendor_code: i32,
    pub sqlstate: [c_char; 5],
    pub release: Option<unsafe extern "C" fn(*mut Error)>,
    /// Fields of version 1.1, which a driver uses if `vendor_code` asks for them.
    newer: [*mut c_void; 2],
}

impl Error {
    pub const fn empty() -> Self {
        let newer = [ptr::null_mut(); 2];
        Error { message: ptr::null_mut(), vendor_code: 0, sqlstate: [0; 5], release: None, newer }
    }
}

/// `AdbcDatabase`, `AdbcConnection` and `AdbcStatement`, which have one layout.
#[repr(C)]
pub struct Handle {
    pub private_data: *mut c_void,
    pub private_driver: *mut c_void,
}

impl Handle {
    pub const fn empty() -> Self {
        Handle { private_data: ptr::null_mut(), private_driver: ptr::null_mut() }
    }
}

/// The driver's function of initialisation.
pub type Init = unsafe extern "C" fn(c_int, *mut DriverTable, *mut Error) -> u8;
/// A function of a handle alone.
pub type Call = unsafe extern "C" fn(*mut Handle, *mut Error) -> u8;
/// A function of a handle and of the handle that it belongs to.
pub type CallTwo = unsafe extern "C" fn(*mut Handle, *mut Handle, *mut Error) -> u8;
pub type SetOption = unsafe extern "C" fn(*mut Handle, *const c_char, *const c_char, *mut Error) -> u8;
pub type SetText = unsafe extern "C" fn(*mut Handle, *const c_char, *mut Error) -> u8;
pub type BindStream = unsafe extern "C" fn(*mut Handle, *mut Stream, *mut Error) -> u8;
pub type Execute = unsafe extern "C" fn(*mut Handle, *mut Stream, *mut i64, *mut Error) -> u8;
/// The place of a function that is not called.
type Unused = *const c_void;

/// `AdbcDriver` of version 1.0: the table of a driver's functions.
#[repr(C)]
pub struct DriverTable {
    pub private_data: *mut c_void,
    pub private_manager: *mut c_void,
    pub release: Option<unsafe extern "C" fn(*mut DriverTable, *mut Error) -> u8>,
    pub database_init: Option<Call>,
    pub database_new: Option<Call>,
    pub database_set_option: Option<SetOption>,
    pub database_release: Option<Call>,
    pub connection_commit: Option<Call>,
    connection_get_info: Unused,
    connection_get_objects: Unused,
    connection_get_table_schema: Unused,
    connection_get_table_types: Unused,
    pub connection_init: Option<CallTwo>,
    pub connection_new: Option<Call>,
    pub connection_set_option: Option<SetOption>,
    connection_read_partition: Unused,
    pub connection_release: Option<Call>,
    connection_rollback: Unused,
    statement_bind: Unused,
    pub statement_bind_stream: Option<BindStream>,
    pub statement_execute_query: Option<Execute>,
    statement_execute_partitions: Unused,
    statement_get_parameter_schema: Unused,
    pub statement_new: Option<CallTwo>,
    statement_prepare: Unused,
    pub statement_release: Option<Call>,
    pub statement_set_option: Option<SetOption>,
    pub statement_set_sql_query: Option<SetText>,
    statement_set_substrait_plan: Unused,
    /// Room for the functions of newer versions: some drivers fill them, whatever version they are asked for.
    newer: [Unused; NEWER],
}

/// More functions than version 1.1 adds.
const NEWER: usize = 128;

impl DriverTable {
    pub const fn empty() -> Self {
        let unused = ptr::null();
        DriverTable {
            private_data: ptr::null_mut(),
            private_manager: ptr::null_mut(),
            release: None,
            database_init: None,
            database_new: None,
            database_set_option: None,
            database_release: None,
            connection_commit: None,
            connection_get_info: unused,
            connection_get_objects: unused,
            connection_get_table_schema: unused,
            connection_get_table_types: unused,
            connection_init: None,
            connection_new: None,
            connection_set_option: None,
            connection_read_partition: unused,
            connection_release: None,
            connection_rollback: unused,
            statement_bind: unused,
            statement_bind_stream: None,
            statement_execute_query: None,
            statement_execute_partitions: unused,
            statement_get_parameter_schema: unused,
            statement_new: None,
            statement_prepare: unused,
            statement_release: None,
            statement_set_option: None,
            statement_set_sql_query: None,
            statement_set_substrait_plan: unused,
            newer: [unused; NEWER],
        }
    }
}

/// `ArrowSchema`.
#[repr(C)]
pub struct Schema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut Schema,
    pub dictionary: *mut Schema,
    pub release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub private_data: *mut c_void,
}

/// `ARROW_FLAG_NULLABLE`.
pub const NULLABLE: i64 = 2;

impl Schema {
    pub const fn empty() -> Self {
        Schema {
            format: ptr::null(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

/// `ArrowArray`.
#[repr(C)]
pub struct Array {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut Array,
    pub dictionary: *mut Array,
    pub release: Option<unsafe extern "C" fn(*mut Array)>,
    pub private_data: *mut c_void,
}

impl Array {
    pub const fn empty() -> Self {
        Array {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

/// `ArrowArrayStream`. Errors are numbers of `errno.h`.
#[repr(C)]
pub struct Stream {
    pub get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut Stream)>,
    pub private_data: *mut c_void,
}

impl Stream {
    pub const fn empty() -> Self {
        Stream { get_schema: None, get_next: None, get_last_error: None, release: None, private_data: ptr::null_mut() }
    }
}

/// Releases a schema, an array or a stream that its producer has filled, when it is dropped.
macro_rules! released {
    ($($name:ident)*) => {
        $(impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the producer set the function for this structure, and nothing has released it yet.
                    unsafe { release(self) };
                }
            }
        })*
    };
}

released! { Schema Array Stream }
