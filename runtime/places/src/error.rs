//! Addresses as messages show them, and errors of places in plain words. A message has no password, no query and no
//! key.

use std::error::Error;

use onrush_wire::{Class, Diagnostic};
use reqwest::{StatusCode, Url};

/// An address.
#[derive(Clone, Debug)]
pub struct Address {
    pub url: Url,
    /// As it was written: a bucket's names may have characters that are none of an address.
    pub text: String,
}

impl Address {
    pub fn parse(text: &str) -> Result<Address, Diagnostic> {
        let bad = |why: &str| {
            // The text in front of an `@` may be a password.
            let shown = text.rsplit('@').next().unwrap_or(text).split('?').next().unwrap_or_default();
            Diagnostic::error(Class::Plan, "bad-address", format!("`{shown}` is not an address: {why}"))
                .help("write it as https://host/folder/file.csv or s3://bucket/folder/file.parquet")
        };
        let url = Url::parse(text.trim()).map_err(|e| bad(&e.to_string()))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(bad("it has no host or bucket"));
        }
        Ok(Address { url, text: text.trim().to_string() })
    }

    pub fn is_http(&self) -> bool {
        matches!(self.url.scheme(), "http" | "https")
    }

    /// The address without user, password, query and fragment.
    pub fn shown(&self) -> String {
        match self.is_http() {
            true => {
                let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
                format!("{}://{}{port}{}", self.url.scheme(), self.host(), self.url.path())
            }
            false => self.text.split('?').next().unwrap_or_default().to_string(),
        }
    }

    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The last part of the path, as a name of a file here.
    pub fn file_name(&self) -> String {
        name_of(self.url.path())
    }
}

/// The last part of a path in a form that every file system has.
pub fn name_of(path: &str) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let name: String =
        name.chars().map(|c| if c.is_alphanumeric() || "-_.=+ ".contains(c) { c } else { '_' }).collect();
    let name = name.trim_start_matches('.');
    let cut = name.char_indices().rev().nth(150).map_or(0, |(at, _)| at);
    if name.is_empty() { "file".to_string() } else { name[cut..].to_string() }
}

/// The error of a status other than success. `code` is what the place says of it, `who` the source of the key.
pub(crate) fn of_status(shown: &str, status: StatusCode, code: Option<&str>, who: Option<&str>) -> Diagnostic {
    let code = code.map(|code| format!(" {code}")).unwrap_or_default();
    let reason = status.canonical_reason().unwrap_or_default();
    let said = format!("{} {reason}{code}", status.as_u16());
    let error = |class, name: &str, message: String| Diagnostic::error(class, name, message);
    match status.as_u16() {
        404 | 410 => error(Class::Data, "no-file", format!("there is no file `{shown}` (the server says {said})"))
            .help("check the address; names are different in capital and small letters"),
        401 | 403 | 407 => {
            let refused = error(Class::Data, "no-access", format!("access to `{shown}` is refused ({said})"));
            match who {
                Some(who) => refused.note(format!("the request was made with {who}")).help(
                    "check that the key is the right one, is still valid, and may read this file; a file that is not there \
                     can look the same",
                ),
                None => refused.help("the file may need a login: use an address that works without one, or fetch it first"),
            }
        }
        429 => error(Class::Resources, "place-busy", format!("`{shown}` was not sent: too many requests ({said})"))
            .help("wait a while and run the cell again"),
        500.. => error(Class::Resources, "place-busy", format!("`{shown}` was not sent: the server failed ({said})"))
            .help("the request was tried several times: run the cell again later"),
        300..=399 => error(Class::Data, "wrong-region", format!("`{shown}` is at another place ({said})"))
            .help("for a bucket of S3, set AWS_REGION to the region of the bucket"),
        _ => error(Class::Data, "place-error", format!("`{shown}` was not sent: the server says {said}"))
            .help("check the address"),
    }
}

/// The error of a request without an answer, by the sentences of its causes.
pub(crate) fn of_connection(shown: &str, host: &str, error: &(dyn Error + 'static)) -> Diagnostic {
    let text = chain(error);
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let failed = |name: &str, message: String| Diagnostic::error(Class::Resources, name, message);
    if has(&["dns error", "failed to lookup", "name or service not known"]) {
        failed("no-host", format!("`{shown}` cannot be fetched: the name `{host}` has no address"))
            .help("check the name of the host, and whether this machine has a network")
    } else if has(&["certificate", "invalid peer", "unknownissuer", "tls", "ssl"]) {
        failed("no-trust", format!("`{shown}` cannot be fetched: the certificate of `{host}` is not accepted: {text}"))
            .help("if the host is one of yours, set SSL_CERT_FILE to the file of its authority")
    } else if has(&["timed out", "timeout", "deadline"]) {
        failed("no-answer", format!("`{shown}` cannot be fetched: `{host}` does not answer in time"))
            .help("check the network, or run the cell again later")
    } else if has(&["connection refused", "tcp connect error", "unreachable"]) {
        failed("no-connection", format!("`{shown}` cannot be fetched: there is no connection to `{host}`"))
            .help("check the address and its port, and whether a proxy is needed (HTTPS_PROXY)")
    } else {
        failed("place-error", format!("`{shown}` cannot be fetched: {text}")).help("run the cell again")
    }
}

/// The sentences of an error and its causes, each once. The text behind an address or a key is left out.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // An outer sentence of reqwest and object_store ends in the address.
        let text = text.split(" for url (").next().unwrap_or_default().trim().to_string();
        if !text.is_empty() && !text.contains("://") && !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = error.source();
    }
    if parts.is_empty() { "the connection failed".to_string() } else { parts.join(": ") }
}

/// `Code` of the XML that S3, Google and Azure answer with. The rest of it can hold keys.
pub fn code_of(body: &str) -> Option<String> {
    let (_, rest) = body.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = code.len() <= 60 && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    is_word.then(|| code.to_string())
}
