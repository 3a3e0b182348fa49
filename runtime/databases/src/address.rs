//! Addresses of databases as users write them: `sqlite:///a.db`, `duckdb:///a.duckdb`,
//! `postgresql://ann:secret@host/db`, or the path of a file.

use onrush_wire::plan::database_name;
use onrush_wire::{Class, Diagnostic};

/// An option of ADBC, and its value.
pub type Setting = (String, String);

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    DuckDb,
    Postgres,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sqlite => "SQLite",
            Kind::DuckDb => "DuckDB",
            Kind::Postgres => "PostgreSQL",
        }
    }
}

/// An address: its kind, and what the driver is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub kind: Kind,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The path of a file, as it was written.
    File(String),
    /// The whole address of a database of a server, with its password.
    Server(String),
}

/// Schemes, and the names of their kinds.
const SCHEMES: &[(&str, Kind)] = &[
    ("sqlite", Kind::Sqlite),
    ("sqlite3", Kind::Sqlite),
    ("duckdb", Kind::DuckDb),
    ("postgresql", Kind::Postgres),
    ("postgres", Kind::Postgres),
];

/// Extensions of files. `.db` is SQLite's by custom; the first bytes of a file decide.
const EXTENSIONS: &[(&str, Kind)] = &[
    ("db", Kind::Sqlite),
    ("db3", Kind::Sqlite),
    ("sqlite", Kind::Sqlite),
    ("sqlite3", Kind::Sqlite),
    ("duckdb", Kind::DuckDb),
    ("ddb", Kind::DuckDb),
];

const FORMS: &str = "write \"sqlite:///file.db\", \"duckdb:///file.duckdb\", \"postgresql://user:password@host/database\", \
                     or the path of a file that ends in .db, .sqlite or .duckdb";

impl Address {
    /// # Errors
    /// An address of a kind that is not known, or without a file. Messages have no password.
    pub fn parse(text: &str) -> Result<Address, Diagnostic> {
        let text = text.trim();
        let wrong = |what: String| Diagnostic::error(Class::Plan, "database-address", what).help(FORMS);
        let Some((scheme, rest)) = text.split_once("://") else {
            let extension = text.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, e)| e);
            return match EXTENSIONS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)) {
                Some((_, kind)) => Ok(Address { kind: *kind, place: Place::File(text.to_string()) }),
                None if text.contains(':') || text.is_empty() => {
                    Err(wrong("the address of the database has no scheme".to_string()))
                }
                None => Err(wrong(format!("`{text}` does not say which database it is"))),
            };
        };
        // SQLAlchemy names its own driver behind a plus sign.
        let scheme = scheme.split('+').next().unwrap_or(scheme);
        let Some((_, kind)) = SCHEMES.iter().find(|(known, _)| scheme.eq_ignore_ascii_case(known)) else {
            return Err(wrong(format!("databases of `{scheme}://` are not supported")));
        };
        let place = match kind {
            // Its parts are not where they should be: what is taken for a port may be a password.
            Kind::Postgres if !rest.is_empty() && database_name(text).ends_with("://") => {
                let error = wrong("the address of the database cannot be taken apart".to_string());
                return Err(error.help("in a user or password, `@` is written %40, `:` %3A, `/` %2F and `?` %3F"));
            }
            Kind::Postgres => Place::Server(format!("postgresql://{rest}")),
            Kind::Sqlite | Kind::DuckDb => {
                let path = rest.split('?').next().unwrap_or_default();
                let path = path.strip_prefix('/').unwrap_or(path);
                if path.is_empty() || path == ":memory:" {
                    return Err(wrong(format!("`{text}` names no file: a database in memory has no tables")));
                }
                Place::File(path.to_string())
            }
        };
        Ok(Address { kind: *kind, place })
    }

    /// The database as messages name it.
    pub fn name(&self) -> String {
        match &self.place {
            Place::File(path) => path.clone(),
            Place::Server(address) => database_name(address),
        }
    }

    /// The strings that no message may have: the password as it was written, and decoded.
    pub fn secrets(&self) -> Vec<String> {
        let Place::Server(address) = &self.place else { return Vec::new() };
        let rest = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
        let mut secrets = Vec::new();
        if let Some((user, _)) = rest.rsplit_once('@')
            && let Some((_, password)) = user.split_once(':')
        {
            secrets.push(password.to_string());
        }
        for parameter in rest.split(['?', '&']).skip(1) {
            if let Some((name, value)) = parameter.split_once('=')
                && name.to_lowercase().contains("passw")
            {
                secrets.push(value.to_string());
            }
        }
        let decoded: Vec<String> = secrets.iter().map(|secret| decoded(secret)).collect();
        secrets.extend(decoded);
        secrets.retain(|secret| !secret.is_empty());
        secrets
    }
}

/// A text with `%40` as `@`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A path in a URI of SQLite.
pub fn encoded(path: &str) -> String {
    path.chars().fold(String::new(), |mut uri, c| {
        match c {
            '%' | '?' | '#' => uri.push_str(&format!("%{:02x}", c as u32)),
            _ => uri.push(c),
        }
        uri
    })
}

/// The options that open a database, for reading alone or for writing. `file` is the absolute path of a database in a
/// file.
pub fn settings(address: &Address, file: Option<&str>, writes: bool) -> Vec<Setting> {
    let pair = |name: &str, value: String| (name.to_string(), value);
    match (address.kind, &address.place, file) {
        (Kind::Sqlite, _, Some(file)) => {
            vec![pair("uri", format!("file:{}?mode={}", encoded(file), if writes { "rwc" } else { "ro" }))]
        }
        (Kind::DuckDb, _, Some(file)) => {
            let mode = if writes { "READ_WRITE" } else { "READ_ONLY" };
            let mut all = vec![pair("path", file.to_string()), pair("access_mode", mode.to_string())];
            if !writes {
                // A query reads this file alone: no other one, no network, no extension.
                let off = ["enable_external_access", "autoinstall_known_extensions", "autoload_known_extensions"];
                all.extend(off.map(|name| pair(name, "false".to_string())));
            }
            all
        }
        (_, Place::Server(address) | Place::File(address), _) => vec![pair("uri", address.clone())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_files_or_servers() {
        let file = |kind, path: &str| Address { kind, place: Place::File(path.to_string()) };
        for (text, expected) in [
            ("sqlite:///a/b.db", file(Kind::Sqlite, "a/b.db")),
            ("sqlite:////a/b.db", file(Kind::Sqlite, "/a/b.db")),
            ("sqlite://b.db?timeout=3", file(Kind::Sqlite, "b.db")),
            ("DuckDB:///x", file(Kind::DuckDb, "x")),
            ("data/b.sqlite3", file(Kind::Sqlite, "data/b.sqlite3")),
            ("~/b.duckdb", file(Kind::DuckDb, "~/b.duckdb")),
        ] {
            assert_eq!(Address::parse(text).unwrap(), expected, "{text}");
        }
        let server = Address::parse("postgres+psycopg2://ann:s%40d@h/d?sslpassword=x").unwrap();
        assert_eq!(server.place, Place::Server("postgresql://ann:s%40d@h/d?sslpassword=x".to_string()));
        assert_eq!(server.secrets(), ["s%40d", "x", "s@d", "x"]);
        assert_eq!(server.name(), "postgresql://ann@h/d");
        for text in [
            "",
            "mysql://ann:secret@h/d",
            "b.csv",
            "sqlite://",
            "sqlite:///:memory:",
            "host:5432",
            "postgresql://ann:secret",
        ] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.code, "database-address", "{text}");
            assert!(!error.message.contains("secret"), "{error}");
        }
    }

    #[test]
    fn paths_of_sqlite_are_encoded() {
        let address = Address::parse("a.db").unwrap();
        let expected = [("uri".to_string(), "file:/x/50%25%3f.db?mode=ro".to_string())];
        assert_eq!(settings(&address, Some("/x/50%?.db"), false), expected);
    }
}
