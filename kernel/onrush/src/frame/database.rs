//! Databases: queries that give frames, and frames that are written to tables.

use onrush_wire::Span;
use onrush_wire::plan::{Format, IfExists, SinkFormat};
use onrush_wire::{Class, Diagnostic};

use super::Frame;
use super::read::source;
use crate::raise::here;
use crate::session;

/// The rows of a query of a database: `read_database("sqlite:///shop.db", "select * from orders")`. The query runs at
/// once, in the database and in its dialect. Types are the database's; a column of a type that frames do not hold is
/// cast in the query.
///
/// The address is `sqlite:///file.db`, `duckdb:///file.duckdb` or `postgresql://user:password@host/database`, or the
/// path of a file that ends in `.db`, `.sqlite` or `.duckdb`. The drivers are those of Python packages:
/// `adbc-driver-sqlite`, `duckdb` and `adbc-driver-postgresql`. The database is opened for reading alone. Passwords are
/// in no message and in no plan.
///
/// # Panics
/// Raises an error if the driver is not installed, if the database does not exist, or if the query is wrong.
#[track_caller]
pub fn read_database(address: impl AsRef<str>, query: impl AsRef<str>) -> Frame {
    let format = Format::Database { query: query.as_ref().to_string() };
    Frame::step(source(address.as_ref().to_string(), format), here("read_database"))
}

impl Frame {
    /// Runs the plan and writes the rows to a new table of a database, in a transaction. The addresses are those of
    /// [`read_database`]; a file that is missing is made. Returns the number of rows.
    ///
    /// # Panics
    /// Raises an error of the cell if the table exists: [`Frame::database_writer`] has options for that.
    #[track_caller]
    pub fn write_database(&self, address: impl AsRef<str>, table: impl AsRef<str>) -> u64 {
        self.database_writer().run(address.as_ref(), table.as_ref(), here("write_database"))
    }

    /// Options for writing to a database: `f.database_writer().if_exists("replace").write("shop.db", "orders")`.
    pub fn database_writer(&self) -> DatabaseWriter {
        DatabaseWriter { frame: self.clone(), if_exists: IfExists::Fail }
    }
}

/// Options of a writer to databases; see [`Frame::database_writer`].
#[derive(Clone)]
#[must_use = "`.write(address, table)` writes the table"]
pub struct DatabaseWriter {
    frame: Frame,
    if_exists: IfExists,
}

impl DatabaseWriter {
    /// The treatment of a table that exists: `fail` (default), `replace` or `append`.
    ///
    /// # Panics
    /// Raises an error of the cell for another word.
    #[track_caller]
    pub fn if_exists(mut self, what: &str) -> Self {
        self.if_exists = match what {
            "fail" => IfExists::Fail,
            "replace" => IfExists::Replace,
            "append" => IfExists::Append,
            other => session::raise_at(
                Diagnostic::error(Class::Plan, "bad-option", format!("`if_exists` cannot be `{other}`"))
                    .help("use \"fail\", \"replace\" or \"append\""),
                here("if_exists"),
            ),
        };
        self
    }

    /// Runs the plan and writes the rows to a table. Returns the number of rows.
    #[track_caller]
    pub fn write(&self, address: impl AsRef<str>, table: impl AsRef<str>) -> u64 {
        self.run(address.as_ref(), table.as_ref(), here("write"))
    }

    fn run(&self, address: &str, table: &str, at: Span) -> u64 {
        let format = SinkFormat::Database { table: table.to_string(), if_exists: self.if_exists };
        self.frame.write_to(address.to_string(), format, at)
    }
}
