//! A driver of ADBC behind safe types: its library, a connection, queries and writes. For the driver process alone:
//! what the library does wrong ends that process.

mod export;
mod ffi;
mod import;

use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::ptr;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY, RTLD_LOCAL};

use crate::address::Setting;
use crate::drivers::DriverFile;
use crate::error::{Failure, Stage};
pub use export::Batches;

/// A driver whose library is loaded.
pub struct Driver {
    table: ffi::DriverTable,
    // Last: the functions above are inside of them.
    _library: Library,
    _needs: Option<Library>,
}

/// Fails if a driver's table lacks a function.
macro_rules! function {
    ($driver:expr, $name:ident, $stage:expr) => {
        $driver
            .table
            .$name
            .ok_or_else(|| Failure::new($stage, concat!("the driver has no function `", stringify!($name), "`")))?
    };
}

impl Driver {
    /// Loads a library and asks it for its functions.
    ///
    /// # Errors
    /// If the file cannot be loaded, or is not a driver.
    pub fn load(driver: &DriverFile) -> Result<Driver, Failure> {
        let DriverFile { file, entries, needs } = driver;
        let broken = |e: &dyn std::fmt::Display| Failure::new(Stage::Load, format!("{}: {e}", file.display()));
        let needs = needs.as_ref().map(|needs| {
            // SAFETY: the initialisers of the library run in this process, which is there for it.
            unsafe { Library::open(Some(needs), RTLD_LAZY | RTLD_GLOBAL) }.map_err(|e| broken(&e))
        });
        let needs = needs.transpose()?;
        // SAFETY: as above.
        let library = unsafe { Library::open(Some(file), RTLD_LAZY | RTLD_LOCAL) }.map_err(|e| broken(&e))?;
        // SAFETY: the type is that of adbc.h.
        let mut found = entries.iter().map(|name| unsafe { library.get::<ffi::Init>(name.as_bytes()) });
        let init = *found
            .find_map(Result::ok)
            .ok_or_else(|| broken(&format!("it is not a driver of ADBC: it has no function {}", entries.join(", "))))?;
        let (mut table, mut error) = (ffi::DriverTable::empty(), ffi::Error::empty());
        // SAFETY: the table and the error are those of the version.
        let status = unsafe { init(ffi::VERSION, &mut table, &mut error) };
        checked(status, error, Stage::Load)?;
        Ok(Driver { table, _library: library, _needs: needs })
    }

    /// Connects to a database.
    ///
    /// # Errors
    /// The driver's message: no such database, no access.
    pub fn connect(&self, settings: &[Setting]) -> Result<Connection<'_>, Failure> {
        let stage = Stage::Open;
        let (init, set) = (function!(self, database_init, stage), function!(self, database_set_option, stage));
        let mut database = DriverHandle::new(function!(self, database_new, stage), self.table.database_release, stage)?;
        for (name, value) in settings {
            database.set(set, name, value, stage)?;
        }
        database.call(init, stage)?;
        let new = function!(self, connection_new, stage);
        let mut connection = DriverHandle::new(new, self.table.connection_release, stage)?;
        let init = function!(self, connection_init, stage);
        let mut error = ffi::Error::empty();
        // SAFETY: both handles are new, and the connection is released before the database.
        let status = unsafe { init(&mut connection.handle, &mut database.handle, &mut error) };
        checked(status, error, stage)?;
        Ok(Connection { connection, _database: database, driver: self })
    }
}

/// A handle of a driver, released when it is dropped.
struct DriverHandle {
    handle: ffi::Handle,
    release: Option<ffi::Call>,
}

impl DriverHandle {
    fn new(new: ffi::Call, release: Option<ffi::Call>, stage: Stage) -> Result<DriverHandle, Failure> {
        let mut owned = DriverHandle { handle: ffi::Handle::empty(), release: None };
        owned.call(new, stage)?;
        owned.release = release;
        Ok(owned)
    }

    fn call(&mut self, function: ffi::Call, stage: Stage) -> Result<(), Failure> {
        let mut error = ffi::Error::empty();
        // SAFETY: the function is of the driver that fills the handle.
        let status = unsafe { function(&mut self.handle, &mut error) };
        checked(status, error, stage)
    }

    fn set(&mut self, function: ffi::SetOption, name: &str, value: &str, stage: Stage) -> Result<(), Failure> {
        let (name, value) = (c_text(name, stage)?, c_text(value, stage)?);
        let mut error = ffi::Error::empty();
        // SAFETY: the function is of the driver that fills the handle, and copies both strings.
        let status = unsafe { function(&mut self.handle, name.as_ptr(), value.as_ptr(), &mut error) };
        checked(status, error, stage)
    }
}

impl Drop for DriverHandle {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // A failure to close has nobody who would act on it.
            let _ = self.call(release, Stage::Open);
        }
    }
}

/// An open database.
pub struct Connection<'a> {
    // The connection is released before its database.
    connection: DriverHandle,
    _database: DriverHandle,
    driver: &'a Driver,
}

impl Connection<'_> {
    /// Runs a query.
    ///
    /// # Errors
    /// The driver's message; columns of types that are not read.
    pub fn query(&mut self, query: &str) -> Result<Rows<'_>, Failure> {
        let stage = Stage::Query;
        let (mut statement, execute) = self.prepared(query, stage)?;
        let (mut stream, mut affected, mut error) = (ffi::Stream::empty(), -1, ffi::Error::empty());
        // SAFETY: the stream holds nothing, and is released before the statement.
        let status = unsafe { execute(&mut statement.handle, &mut stream, &mut affected, &mut error) };
        checked(status, error, stage)?;
        let get_schema = stream.get_schema.ok_or_else(|| Failure::new(stage, "the driver gave no rows"))?;
        let mut schema = ffi::Schema::empty();
        // SAFETY: the stream is the driver's, and the schema holds nothing.
        let status = unsafe { get_schema(&mut stream, &mut schema) };
        if status != 0 {
            return Err(stream_failure(&mut stream, status, stage));
        }
        let schema = import::schema(&schema)?;
        Ok(Rows { stream, schema, _statement: statement, _connection: PhantomData })
    }

    /// Runs a statement without rows.
    ///
    /// # Errors
    /// The driver's message.
    pub fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        let (mut statement, execute) = self.prepared(sql, Stage::Open)?;
        let (mut affected, mut error) = (-1, ffi::Error::empty());
        // SAFETY: a statement whose rows nobody wants takes no stream for them.
        let status = unsafe { execute(&mut statement.handle, ptr::null_mut(), &mut affected, &mut error) };
        checked(status, error, Stage::Open)
    }

    /// A statement with its SQL.
    fn prepared(&mut self, sql: &str, stage: Stage) -> Result<(DriverHandle, ffi::Execute), Failure> {
        let (mut statement, execute) = self.statement(&[], stage)?;
        let set_query = function!(self.driver, statement_set_sql_query, stage);
        let (sql, mut error) = (c_text(sql, stage)?, ffi::Error::empty());
        // SAFETY: the function is of the driver that fills the handle, and copies the string.
        let status = unsafe { set_query(&mut statement.handle, sql.as_ptr(), &mut error) };
        checked(status, error, stage)?;
        Ok((statement, execute))
    }

    /// Writes rows into a table, in a transaction.
    ///
    /// # Errors
    /// The driver's message; columns of types that are not written. Then nothing is written.
    pub fn insert(&mut self, settings: &[Setting], schema: SchemaRef, batches: Batches) -> Result<(), Failure> {
        let stage = Stage::Write;
        let set = function!(self.driver, connection_set_option, stage);
        self.connection.set(set, "adbc.connection.autocommit", "false", stage)?;
        let (mut statement, execute) = self.statement(settings, stage)?;
        let bind = function!(self.driver, statement_bind_stream, stage);
        let mut stream = export::stream(schema, batches)?;
        let mut error = ffi::Error::empty();
        // SAFETY: the stream is whole. The driver takes what it points to, and leaves it without `release`.
        let status = unsafe { bind(&mut statement.handle, &mut stream, &mut error) };
        if status == ffi::OK && stream.release.is_some() {
            // A driver that copies the structure and leaves it as it was has taken it all the same.
            stream.release = None;
        }
        checked(status, error, stage)?;
        let (mut affected, mut error) = (-1, ffi::Error::empty());
        // SAFETY: a statement that writes rows gives none, and takes no stream for them.
        let status = unsafe { execute(&mut statement.handle, ptr::null_mut(), &mut affected, &mut error) };
        checked(status, error, stage)?;
        drop(statement);
        let commit = function!(self.driver, connection_commit, stage);
        self.connection.call(commit, stage)
    }

    fn statement(&mut self, settings: &[Setting], stage: Stage) -> Result<(DriverHandle, ffi::Execute), Failure> {
        let new = function!(self.driver, statement_new, stage);
        let (mut handle, mut error) = (ffi::Handle::empty(), ffi::Error::empty());
        // SAFETY: the connection is open, and the statement is released before it.
        let status = unsafe { new(&mut self.connection.handle, &mut handle, &mut error) };
        checked(status, error, stage)?;
        let mut statement = DriverHandle { handle, release: self.driver.table.statement_release };
        let set = function!(self.driver, statement_set_option, stage);
        for (name, value) in settings {
            statement.set(set, name, value, stage)?;
        }
        Ok((statement, function!(self.driver, statement_execute_query, stage)))
    }
}

/// The rows of a query, as the driver fetches them.
pub struct Rows<'a> {
    // Released before the statement, and this before the connection.
    stream: ffi::Stream,
    pub schema: SchemaRef,
    _statement: DriverHandle,
    _connection: PhantomData<&'a ()>,
}

impl Iterator for Rows<'_> {
    type Item = Result<RecordBatch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let get_next = self.stream.get_next?;
        let mut array = ffi::Array::empty();
        // SAFETY: the stream is the driver's, and the array holds nothing.
        let status = unsafe { get_next(&mut self.stream, &mut array) };
        if status != 0 {
            return Some(Err(stream_failure(&mut self.stream, status, Stage::Rows)));
        }
        // An array without `release` is the end.
        array.release?;
        Some(import::batch(&array, &self.schema))
    }
}

fn c_text(text: &str, stage: Stage) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::new(stage, "a string for the driver has a zero byte"))
}

/// The error of a call, as the driver says it.
fn checked(status: u8, mut error: ffi::Error, stage: Stage) -> Result<(), Failure> {
    let message = match error.message.is_null() {
        true => format!("the driver gave the status {status} and no message"),
        // SAFETY: a message ends with a zero, and lives until the error is released.
        false => unsafe { CStr::from_ptr(error.message) }.to_string_lossy().into_owned(),
    };
    if let Some(release) = error.release {
        // SAFETY: the driver has set the function for this error.
        unsafe { release(&mut error) };
    }
    if status == ffi::OK { Ok(()) } else { Err(Failure::Driver { stage, status, message }) }
}

fn stream_failure(stream: &mut ffi::Stream, status: i32, stage: Stage) -> Failure {
    let mut message = std::io::Error::from_raw_os_error(status).to_string();
    if let Some(last_error) = stream.get_last_error {
        // SAFETY: the stream is the driver's, and has failed.
        let text = unsafe { last_error(stream) };
        if !text.is_null() {
            // SAFETY: the text ends with a zero, and lives until the next call.
            message = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        }
    }
    Failure::Driver { stage, status: 0, message }
}
