//! Object stores: S3 and what speaks like it, Google Cloud Storage, Azure. Files are found by listing names.

mod keys;

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig, WriteMultipart,
};
use onrush_frame::TaskHandle;
use onrush_wire::{Class, Diagnostic};
use reqwest::StatusCode;
use tokio::io::AsyncReadExt;

use crate::Places;
use crate::error::{Address, code_of, name_of, of_connection, of_status};
use crate::kept::key;

/// Files that are fetched at once.
const AT_ONCE: usize = 8;
/// Bytes of a part of an upload, and parts under way.
const PART: usize = 8 << 20;
const PARTS: usize = 4;
/// Names that an error lists.
const NAMES: usize = 8;

/// A store, and how messages name it.
struct Store {
    store: Arc<dyn ObjectStore>,
    /// `s3://bucket`.
    root: String,
    host: String,
    /// The source of the key.
    who: &'static str,
}

fn open(places: &Places, address: &Address) -> Result<Store, Diagnostic> {
    let client = ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(Duration::from_secs(10).min(places.timeout))
        .with_timeout(Duration::from_secs(3600));
    let retry = RetryConfig {
        max_retries: 4,
        retry_timeout: places.timeout,
        backoff: BackoffConfig { init_backoff: Duration::from_millis(100), ..BackoffConfig::default() },
    };
    let (store, who) = keys::open(&address.url, &places.environment, client, retry).map_err(|e| {
        let message = format!("`{}` cannot be opened: {}", address.shown(), plain(&e));
        Diagnostic::error(Class::Plan, "bad-address", message).help(
            "the environment names accounts and keys, such as AZURE_STORAGE_ACCOUNT_NAME, AWS_REGION, AWS_ENDPOINT_URL",
        )
    })?;
    let root = format!("{}://{}", address.url.scheme(), address.text.split("://").nth(1).unwrap_or_default());
    let root = root.split('/').take(3).collect::<Vec<_>>().join("/");
    Ok(Store { store, root, host: address.host().to_string(), who })
}

/// The path behind the bucket, as it was written.
fn path_of(address: &Address) -> String {
    let behind = address.text.split_once("://").map_or("", |(_, rest)| rest);
    behind.split_once('/').map_or("", |(_, path)| path).to_string()
}

/// Fetches a file, or the files below a prefix that are `wanted`.
pub(crate) async fn fetch(
    places: &Places,
    address: &Address,
    wanted: &(dyn Fn(&str) -> bool + Sync),
    task: &TaskHandle,
) -> Result<Vec<(String, PathBuf)>, Diagnostic> {
    let store = open(places, address)?;
    let path = path_of(address);
    let is_set = path.contains(['*', '?', '[']) || path.is_empty() || path.ends_with('/');
    let objects = match is_set {
        true => list(&store, address, &path, wanted).await?,
        false => {
            let location = store.location(&path)?;
            match store.store.head(&location).await {
                Ok(object) => vec![object],
                Err(Error::NotFound { .. }) => return Err(missing(&store, address, &path).await),
                Err(error) => return Err(store.failed(&address.shown(), &error)),
            }
        }
    };
    task.add_total_bytes(objects.iter().map(|object| object.size).sum());
    let store = &store;
    let files = futures::stream::iter(objects).map(|object| one(places, store, object, task));
    files.buffered(AT_ONCE).try_collect().await
}

/// The objects of a prefix that are wanted, sorted by name.
async fn list(
    store: &Store,
    address: &Address,
    path: &str,
    wanted: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Vec<ObjectMeta>, Diagnostic> {
    // Whole parts in front of the first pattern.
    let fixed = path.find(['*', '?', '[']).map_or(path, |at| &path[..at]);
    let fixed = fixed.rfind('/').map_or("", |at| &fixed[..at]);
    let prefix = store.location(fixed)?;
    let objects = store.store.list(Some(&prefix)).try_collect::<Vec<_>>().await;
    let objects = objects.map_err(|e| store.failed(&address.shown(), &e))?;
    let names: Vec<String> = objects.iter().map(|object| object.location.to_string()).collect();
    let mut objects: Vec<ObjectMeta> = objects.into_iter().filter(|o| wanted(o.location.as_ref())).collect();
    objects.sort_by(|a, b| a.location.cmp(&b.location));
    if objects.is_empty() {
        let message = format!("no file matches `{}`", address.shown());
        let error = Diagnostic::error(Class::Data, "no-file", message);
        return Err(match names.as_slice() {
            [] => error.help(format!("there is nothing below `{}/{fixed}`", store.root)),
            names => error.help(format!("below `{}/{fixed}` there are {}", store.root, listed(names))),
        });
    }
    Ok(objects)
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES);
    let list: Vec<String> = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", list.join(", "))
}

/// Fetches an object unless its version is here.
async fn one(
    places: &Places,
    store: &Store,
    object: ObjectMeta,
    task: &TaskHandle,
) -> Result<(String, PathBuf), Diagnostic> {
    let url = format!("{}/{}", store.root, object.location);
    let name = name_of(object.location.as_ref());
    let version = object.e_tag.clone().unwrap_or_else(|| object.last_modified.to_rfc3339());
    let place = key(&[&url, &version, &object.size.to_string()]);
    if let Some(path) = places.kept.find(&place, &name, Some(object.size)) {
        task.add_bytes(object.size);
        return Ok((url, path));
    }
    let failed = |e: &Error| store.failed(&url, e);
    let mut coming = places.kept.start(places.limit)?;
    coming.check(object.size)?;
    let got = store.store.get(&object.location).await.map_err(|e| failed(&e))?;
    let mut pieces = got.into_stream();
    loop {
        let piece = tokio::time::timeout(places.timeout, pieces.try_next()).await.map_err(|_| {
            let message = format!("`{url}` cannot be fetched: `{}` does not answer in time", store.host);
            Diagnostic::error(Class::Resources, "no-answer", message)
                .help("check the network, or run the cell again later")
        })?;
        let Some(piece) = piece.map_err(|e| failed(&e))? else { break };
        coming.write(&piece)?;
        task.add_bytes(piece.len() as u64);
    }
    if coming.bytes != object.size {
        let message = format!("`{url}` was cut off or has changed: {} of {} bytes came", coming.bytes, object.size);
        return Err(Diagnostic::error(Class::Resources, "cut-off", message).help("run the cell again"));
    }
    let path = places.kept.keep(coming, &place, &name)?;
    Ok((url, path))
}

/// Writes a file by a multipart upload; it is there when the last part is.
pub(crate) async fn put(
    places: &Places,
    address: &Address,
    file: &FilePath,
    task: &TaskHandle,
) -> Result<(), Diagnostic> {
    let store = open(places, address)?;
    let shown = address.shown();
    let location = store.location(&path_of(address))?;
    let read = |e: std::io::Error| {
        Diagnostic::error(Class::Data, "file-error", format!("`{}` could not be read: {e}", file.display()))
    };
    let mut from = tokio::fs::File::open(file).await.map_err(read)?;
    let size = from.metadata().await.map_err(read)?.len();
    task.add_total_bytes(size);
    if size <= PART as u64 {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).await.map_err(read)?;
        let put = store.store.put(&location, bytes.into()).await;
        put.map_err(|e| store.failed(&shown, &e))?;
        task.add_bytes(size);
        return Ok(());
    }
    let upload = store.store.put_multipart(&location).await.map_err(|e| store.failed(&shown, &e))?;
    let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
    let mut buffer = vec![0; PART];
    loop {
        let count = from.read(&mut buffer).await.map_err(read)?;
        if count == 0 {
            break;
        }
        writer.wait_for_capacity(PARTS).await.map_err(|e| store.failed(&shown, &e))?;
        writer.write(&buffer[..count]);
        task.add_bytes(count as u64);
    }
    writer.finish().await.map_err(|e| store.failed(&shown, &e))?;
    Ok(())
}

/// The error of an object that is not there, with the names next to it.
async fn missing(store: &Store, address: &Address, path: &str) -> Diagnostic {
    let error = of_status(&address.shown(), StatusCode::NOT_FOUND, None, None);
    let folder = path.rfind('/').map_or("", |at| &path[..at]);
    let Ok(prefix) = store.location(folder) else { return error };
    match store.store.list_with_delimiter(Some(&prefix)).await {
        Ok(list) => {
            let folders = list.common_prefixes.iter().map(|folder| format!("{folder}/"));
            let names: Vec<String> = folders.chain(list.objects.iter().map(|o| o.location.to_string())).collect();
            match names.as_slice() {
                [] => error,
                names => error.help(format!("below `{}/{folder}` there are {}", store.root, listed(names))),
            }
        }
        Err(_) => error,
    }
}

impl Store {
    fn location(&self, path: &str) -> Result<Path, Diagnostic> {
        Path::parse(path.trim_matches('/')).map_err(|e| {
            let message = format!("`{}/{path}` is not a name of an object: {e}", self.root);
            Diagnostic::error(Class::Plan, "bad-address", message)
        })
    }

    fn failed(&self, shown: &str, error: &Error) -> Diagnostic {
        let text = causes(error);
        let code = code_of(&text);
        let status = match error {
            Error::NotFound { .. } => Some(StatusCode::NOT_FOUND),
            Error::PermissionDenied { .. } => Some(StatusCode::FORBIDDEN),
            Error::Unauthenticated { .. } => Some(StatusCode::UNAUTHORIZED),
            _ if text.contains("redirect without LOCATION") => Some(StatusCode::MOVED_PERMANENTLY),
            _ => text
                .split("status code: ")
                .nth(1)
                .and_then(|rest| rest.get(..3)?.parse::<u16>().ok())
                .and_then(|status| StatusCode::from_u16(status).ok()),
        };
        match status {
            Some(status) => of_status(shown, status, code.as_deref(), Some(self.who)),
            None => of_connection(shown, &self.host, error),
        }
    }
}

/// The sentences of an error and its causes.
fn causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        text.push('\n');
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

/// The sentence of an error of settings, which names no value.
fn plain(error: &Error) -> String {
    match error {
        Error::Generic { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
