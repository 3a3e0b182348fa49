//! Addresses of clusters: `onrush://host:port,host:port`.

use std::fmt;

use onrush_wire::{Class, Diagnostic};
use url::Url;

/// The workers of a cluster, by host and port. At least one; each once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address(Vec<(String, u16)>);

/// The start of an address.
const SCHEME: &str = "onrush://";

impl Address {
    /// Reads `onrush://host:port,host:port`. An IPv6 address stands in brackets.
    ///
    /// # Errors
    /// Another scheme, a part without a port, or the same worker twice.
    pub fn parse(text: &str) -> Result<Address, Diagnostic> {
        let wrong = |message: String| {
            Diagnostic::error(Class::Plan, "argument", message)
                .help("an address names each worker with its port, as `onrush://gpu1:7433,gpu2:7433`")
        };
        let Some(list) = text.trim().strip_prefix(SCHEME) else {
            return Err(wrong(format!("`{text}` is not the address of a cluster: it does not start with `{SCHEME}`")));
        };
        let mut workers = Vec::new();
        for part in list.trim_end_matches('/').split(',').map(str::trim) {
            let port = part.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
            let Some((host, port)) = port.filter(|(host, port)| !host.is_empty() && *port > 0) else {
                return Err(wrong(format!("`{part}` in `{text}` is not a host with a port")));
            };
            let worker = (host.to_ascii_lowercase(), port);
            if url_of(&worker).is_none() {
                return Err(wrong(format!("`{host}` in `{text}` is not a name of a host")));
            }
            if workers.contains(&worker) {
                return Err(wrong(format!("`{text}` names the worker `{part}` twice")));
            }
            workers.push(worker);
        }
        Ok(Address(workers))
    }

    /// Gives the URL of each worker.
    pub fn urls(&self) -> Vec<Url> {
        self.0.iter().filter_map(url_of).collect()
    }
}

fn url_of((host, port): &(String, u16)) -> Option<Url> {
    let url = Url::parse(&format!("https://{host}:{port}")).ok()?;
    // A path, a user or a query is not a part of a host.
    let plain = url.path() == "/" && url.username().is_empty() && url.query().is_none() && url.fragment().is_none();
    plain.then_some(url)
}

/// The worker at a URL as users write it: `host:port`.
pub(crate) fn name_of(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self.0.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        write!(f, "{SCHEME}{}", list.join(","))
    }
}
