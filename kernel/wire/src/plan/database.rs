//! Databases: what happens to a table that is there, and how messages name a database.

use serde::{Deserialize, Serialize};

use super::{Format, Sink, SinkFormat, Source};

impl Source {
    /// The path as titles and messages have it: of a database without its password.
    pub fn name(&self) -> String {
        match self.format {
            Format::Database { .. } => database_name(&self.path),
            _ => self.path.clone(),
        }
    }
}

impl Sink {
    /// The path as titles and messages have it: of a database without its password.
    pub fn name(&self) -> String {
        match self.format {
            SinkFormat::Database { .. } => database_name(&self.path),
            _ => self.path.clone(),
        }
    }
}

/// What happens if a frame is written to a table that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IfExists {
    /// An error; the table stays as it is.
    #[default]
    Fail,
    /// The table is dropped, and made again.
    Replace,
    /// The rows are added to it. A table that is missing is made.
    Append,
}

/// A database as titles and messages name it: `chinook.db`, `postgresql://ann@host/sales`. Without passwords and
/// parameters; an address that may hide a password somewhere else loses all but its scheme.
pub fn database_name(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_string() };
    let bare = rest.split(['?', '#']).next().unwrap_or_default();
    if ["sqlite", "duckdb", "file"].iter().any(|file| scheme.eq_ignore_ascii_case(file)) {
        return bare.strip_prefix('/').unwrap_or(bare).to_string();
    }
    let (user, server) = match bare.rsplit_once('@') {
        Some((user, server)) => (user.split(':').next(), server),
        None => (None, bare),
    };
    let host = server.split('/').next().unwrap_or_default();
    // Behind the last colon outside of the brackets of an IPv6 address is the port, and nothing else.
    let port = host.rsplit(']').next().unwrap_or_default().split_once(':').map_or("", |(_, port)| port);
    let is_strange = !port.chars().all(|c| c.is_ascii_digit()) || !bare.contains('@') && rest.contains('@');
    match user {
        _ if is_strange => format!("{scheme}://"),
        Some(user) if !user.is_empty() => format!("{scheme}://{user}@{server}"),
        _ => format!("{scheme}://{server}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_databases_have_no_passwords() {
        for (address, name) in [
            ("chinook.db", "chinook.db"),
            ("sqlite:///data/chinook.db?mode=ro", "data/chinook.db"),
            ("duckdb:////tmp/a.duckdb", "/tmp/a.duckdb"),
            ("postgresql://ann:secret@host:5432/sales?sslmode=require", "postgresql://ann@host:5432/sales"),
            ("postgresql://ann:sec@ret@host/sales", "postgresql://ann@host/sales"),
            ("postgresql://ann:sec/ret@host/sales", "postgresql://ann@host/sales"),
            ("postgresql://ann:sec?ret@host/sales", "postgresql://"),
            ("postgresql://host/sales?user=ann&password=secret", "postgresql://host/sales"),
            ("postgresql://host/sales?password=se@cret", "postgresql://"),
            ("postgresql://ann:secret", "postgresql://"),
            ("postgresql://[::1]:5432/sales", "postgresql://[::1]:5432/sales"),
            ("postgresql:///sales", "postgresql:///sales"),
        ] {
            assert_eq!(database_name(address), name, "{address}");
            assert!(!database_name(address).contains("sec"), "{address}");
        }
    }
}
