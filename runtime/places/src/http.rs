//! Files of web servers, fetched whole. A connection that breaks is resumed if the server can, else begun again.

use std::path::PathBuf;
use std::time::Duration;

use onrush_frame::TaskHandle;
use onrush_wire::{Class, Diagnostic};
use reqwest::header::{
    CONTENT_RANGE, ETAG, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE, RETRY_AFTER,
};
use reqwest::{Client, Response, StatusCode};

use crate::Places;
use crate::error::{Address, of_connection, of_status};
use crate::kept::{PartialFile, Version, key};

/// Requests for a file, at most.
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(10);
const AGENT: &str = concat!("onrush/", env!("CARGO_PKG_VERSION"));

/// The end of a try.
enum Attempt {
    Complete,
    /// The file that is here is still the one there.
    Unchanged,
    /// To be tried again, after a time if the server says one.
    Again(Diagnostic, Option<Duration>),
}

/// Fetches a file unless the one that is here is still the same.
pub(crate) async fn fetch(places: &Places, address: &Address, task: &TaskHandle) -> Result<PathBuf, Diagnostic> {
    let client = Client::builder()
        .user_agent(AGENT)
        .connect_timeout(CONNECT.min(places.timeout))
        .read_timeout(places.timeout)
        .build()
        .map_err(|e| of_connection(&address.shown(), address.host(), &e))?;
    let known = places.kept.version(&address.text);
    let mut coming = places.kept.start(places.limit)?;
    let mut version = Version::default();
    let mut wait = FIRST_WAIT;
    for attempt in 1.. {
        let before = known.as_ref().map(|(version, _)| version);
        match attempt_once(&client, address, before, &mut version, &mut coming, task).await? {
            Attempt::Complete => break,
            Attempt::Unchanged => {
                if let Some((_, path)) = known {
                    return Ok(path);
                }
                return Err(of_status(&address.shown(), StatusCode::NOT_MODIFIED, None, None));
            }
            Attempt::Again(error, _) if attempt == TRIES => return Err(error),
            Attempt::Again(_, after) => {
                tokio::time::sleep(after.unwrap_or(wait).min(LONGEST_WAIT).min(places.timeout)).await;
                wait *= 3;
            }
        }
    }
    // The same content is the same file, whatever the server says of its version.
    let name = address.file_name();
    let place = key(&[&address.text, &coming.content()]);
    let path = places.kept.keep(coming, &place, &name)?;
    places.kept.remember(&address.text, &Version { file: format!("{place}/{name}"), ..version });
    Ok(path)
}

async fn attempt_once(
    client: &Client,
    address: &Address,
    known: Option<&Version>,
    version: &mut Version,
    coming: &mut PartialFile,
    task: &TaskHandle,
) -> Result<Attempt, Diagnostic> {
    let shown = address.shown();
    let mut request = client.get(address.url.clone());
    // A weak tag does not stand for the same bytes.
    let resumes = coming.bytes > 0 && version.tag.starts_with('"');
    if resumes {
        request = request.header(RANGE, format!("bytes={}-", coming.bytes)).header(IF_RANGE, &version.tag);
    } else if let Some(known) = known {
        if !known.tag.is_empty() {
            request = request.header(IF_NONE_MATCH, &known.tag);
        } else if !known.modified.is_empty() {
            request = request.header(IF_MODIFIED_SINCE, &known.modified);
        }
    }
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) => {
            let told = of_connection(&shown, address.host(), &error);
            // A name without an address and a bad certificate stay so.
            return match told.code.as_str() {
                "no-host" | "no-trust" => Err(told),
                _ => Ok(Attempt::Again(told, None)),
            };
        }
    };
    let status = response.status();
    if status == StatusCode::NOT_MODIFIED {
        return Ok(Attempt::Unchanged);
    }
    if !status.is_success() {
        let error = of_status(&shown, status, None, None);
        let again = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
        let seconds = header(response.headers(), RETRY_AFTER.as_str()).parse().ok().map(Duration::from_secs);
        return if again { Ok(Attempt::Again(error, seconds)) } else { Err(error) };
    }
    let continues = status == StatusCode::PARTIAL_CONTENT
        && resumes
        && header(response.headers(), CONTENT_RANGE.as_str()).starts_with(&format!("bytes {}-", coming.bytes));
    if !continues {
        coming.clear()?;
        version.tag = header(response.headers(), ETAG.as_str());
        version.modified = header(response.headers(), LAST_MODIFIED.as_str());
        if let Some(length) = response.content_length() {
            coming.check(length)?;
            task.add_total_bytes(length);
        }
    }
    receive(response, address, coming, task).await
}

/// Takes the pieces of an answer.
async fn receive(
    mut response: Response,
    address: &Address,
    coming: &mut PartialFile,
    task: &TaskHandle,
) -> Result<Attempt, Diagnostic> {
    let shown = address.shown();
    let end = response.content_length().map(|length| coming.bytes + length);
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => {
                coming.write(&piece)?;
                task.add_bytes(piece.len() as u64);
            }
            Ok(None) => break,
            Err(error) => {
                let told = match end {
                    Some(end) if !error.is_timeout() => cut_off(&shown, coming.bytes, end),
                    _ => of_connection(&shown, address.host(), &error),
                };
                return Ok(Attempt::Again(told, None));
            }
        }
    }
    Ok(match end {
        Some(end) if end != coming.bytes => Attempt::Again(cut_off(&shown, coming.bytes, end), None),
        _ => Attempt::Complete,
    })
}

fn cut_off(shown: &str, bytes: u64, end: u64) -> Diagnostic {
    let message = format!("`{shown}` was cut off: {bytes} of {end} bytes came");
    Diagnostic::error(Class::Resources, "cut-off", message).help("check the network, or run the cell again")
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_string()
}
