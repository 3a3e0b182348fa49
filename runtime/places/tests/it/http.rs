//! Fetching from a web server in the test process: versions, broken connections, errors, a stop. And a bucket that
//! speaks as much of S3 as listing and getting need.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onrush_frame::TaskHandle;
use onrush_places::{FetchedFile, Places, is_place};
use onrush_wire::{Class, Diagnostic};
use tempfile::TempDir;

/// A request as the server sees it.
struct Request {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    /// From 0.
    number: usize,
}

/// The answers of the server: whole ones, or bytes and the end of the connection.
type Answer = Vec<u8>;

fn answer(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut text = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Content-Length") {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    [text.as_bytes(), b"\r\n", body].concat()
}

struct Server {
    address: String,
    requests: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(respond: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (requests, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let server = Server { address, requests: Arc::clone(&requests), seen: Arc::clone(&seen) };
        let respond = Arc::new(respond);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (respond, requests, seen) = (Arc::clone(&respond), Arc::clone(&requests), Arc::clone(&seen));
                std::thread::spawn(move || serve(stream, &*respond, &requests, &seen));
            }
        });
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn serve(
    mut stream: TcpStream,
    respond: &(dyn Fn(&Request) -> Option<Answer> + Send + Sync),
    requests: &AtomicUsize,
    seen: &Mutex<Vec<String>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default().to_string(), words.next().unwrap_or_default().to_string());
    let mut headers = HashMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_string());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    seen.lock().unwrap().push(format!("{method} {path} {headers:?}"));
    let number = requests.fetch_add(1, Ordering::SeqCst);
    // Without an answer the connection stays open and silent.
    match respond(&Request { method, path, headers, number }) {
        Some(bytes) => _ = stream.write_all(&bytes),
        None => std::thread::sleep(Duration::from_secs(20)),
    }
}

struct Folder {
    dir: TempDir,
    places: Places,
}

impl Folder {
    fn new(environment: &[(&str, &str)]) -> Folder {
        let dir = TempDir::new().unwrap();
        let environment = environment.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let places = Places::new(dir.path().join("places"), environment).with_timeout(Duration::from_millis(400));
        Folder { dir, places }
    }

    fn fetch(&self, url: &str) -> Result<Vec<FetchedFile>, Diagnostic> {
        self.places.fetch(url, &|_| true, &TaskHandle::new())
    }

    fn text(&self, url: &str) -> String {
        let files = self.fetch(url).unwrap();
        files.iter().map(|file| std::fs::read_to_string(&file.path).unwrap()).collect::<Vec<_>>().join("|")
    }
}

impl Folder {
    /// Names of files in the cache, but for folders.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join("places")).unwrap().flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        files.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }
}

fn assert_says(error: &Diagnostic, code: &str, parts: &[&str]) {
    assert_eq!(error.code, code, "{error:?}");
    let all = format!("{error}\n{}\n{}", error.notes.join("\n"), error.help.join("\n"));
    for part in parts {
        assert!(all.contains(part), "no `{part}` in: {all}");
    }
    assert!(!all.contains("secret"), "{all}");
}

#[test]
fn paths_of_other_places() {
    for path in ["https://x.org/a.csv", "s3://b/k", "gs://b/k", "az://c/k", "abfs://c@a/k", "HTTP://x/y"] {
        assert!(is_place(path), "{path}");
    }
    for path in ["a.csv", "/a/b", "file:///a", "c://x", "s3:/b", "data/https.csv"] {
        assert!(!is_place(path), "{path}");
    }
}

#[test]
fn a_file_is_fetched_again_only_if_it_has_changed() {
    let server = Server::new(|request| {
        let tag = if request.number < 2 { "\"one\"" } else { "\"two\"" };
        Some(match request.headers.get("if-none-match") {
            Some(known) if known == tag => answer("304 Not Modified", &[("ETag", tag)], b""),
            _ => answer("200 OK", &[("ETag", tag)], tag.as_bytes()),
        })
    });
    let folder = Folder::new(&[]);
    let url = server.url("/data/a.csv?token=secret");
    let first = folder.fetch(&url).unwrap();
    assert_eq!(std::fs::read_to_string(&first[0].path).unwrap(), "\"one\"");
    assert_eq!(
        (first[0].url.as_str(), first[0].path.file_name().unwrap()),
        (server.url("/data/a.csv").as_str(), "a.csv".as_ref())
    );
    assert_eq!(folder.fetch(&url).unwrap(), first);
    let changed = folder.fetch(&url).unwrap();
    assert_ne!(changed, first);
    assert_eq!(std::fs::read_to_string(&changed[0].path).unwrap(), "\"two\"");
    assert_eq!(server.requests(), 3);
    assert!(server.seen.lock().unwrap()[0].contains("token=secret"));
}

/// The same content is the same file: what is read of it stays valid.
#[test]
fn servers_without_versions() {
    let server = Server::new(|_| Some(answer("200 OK", &[], b"a\n1\n")));
    let folder = Folder::new(&[]);
    let first = folder.fetch(&server.url("/a.csv")).unwrap();
    let modified = std::fs::metadata(&first[0].path).unwrap().modified().unwrap();
    assert_eq!(folder.fetch(&server.url("/a.csv")).unwrap(), first);
    assert_eq!(std::fs::metadata(&first[0].path).unwrap().modified().unwrap(), modified);
    assert_eq!(server.requests(), 2);
}

#[test]
fn a_broken_connection_is_resumed() {
    let body = b"0123456789".repeat(1000);
    let whole = String::from_utf8(body.clone()).unwrap();
    for can_resume in [true, false] {
        let body = body.clone();
        let server = Server::new(move |request| {
            let headers = [("ETag", "\"v\""), ("Content-Length", "10000")];
            let range = request.headers.get("range").cloned();
            Some(match (request.number, range.filter(|_| can_resume)) {
                (0, _) => {
                    let mut cut = answer("200 OK", &headers, &body);
                    cut.truncate(cut.len() - 6000);
                    cut
                }
                (_, Some(range)) => {
                    let from: usize = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
                    assert_eq!(request.headers["if-range"], "\"v\"");
                    let at = format!("bytes {from}-9999/10000");
                    answer("206 Partial Content", &[("Content-Range", &at), ("ETag", "\"v\"")], &body[from..])
                }
                (_, None) => answer("200 OK", &headers, &body),
            })
        });
        assert_eq!(Folder::new(&[]).text(&server.url("/a.csv")), whole);
        assert_eq!(server.requests(), 2);
    }
}

#[test]
fn answers_that_never_end_well() {
    let server = Server::new(|request| {
        let mut cut = answer("200 OK", &[("Content-Length", "100")], &[b'x'; 100]);
        cut.truncate(cut.len() - 1 - request.number);
        Some(cut)
    });
    let folder = Folder::new(&[]);
    let error = folder.fetch(&server.url("/a.csv")).unwrap_err();
    assert_says(&error, "cut-off", &["/a.csv` was cut off", "of 100 bytes"]);
    let left: Vec<_> = std::fs::read_dir(folder.dir.path().join("places")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let server = Server::new(|request| {
        Some(match request.number {
            0 => answer("503 Service Unavailable", &[], b""),
            1 => answer("429 Too Many Requests", &[("Retry-After", "0")], b""),
            _ => answer("200 OK", &[], b"fine"),
        })
    });
    assert_eq!(Folder::new(&[]).text(&server.url("/a")), "fine");
    assert_eq!(server.requests(), 3);
}

#[test]
fn errors_in_plain_words() {
    let folder = Folder::new(&[]);
    let status = |status: &'static str| {
        let server = Server::new(move |_| Some(answer(status, &[], b"no")));
        let error = folder.fetch(&format!("http://me:secret@{}/a.csv?key=secret", server.address)).unwrap_err();
        (error, server.requests())
    };
    let (error, requests) = status("404 Not Found");
    assert_says(&error, "no-file", &["there is no file `http://127.0.0.1:", "404 Not Found"]);
    assert_eq!((error.class, requests), (Class::Data, 1));
    assert_says(&status("403 Forbidden").0, "no-access", &["refused", "login"]);
    assert_says(&status("400 Bad Request").0, "place-error", &["400 Bad Request"]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_says(
        &folder.fetch(&format!("http://{free}/a")).unwrap_err(),
        "no-connection",
        &["no connection to `127.0.0.1`"],
    );
    let error = folder.fetch("http://no-such-host.invalid/a.csv?key=secret").unwrap_err();
    assert_says(&error, "no-host", &["`no-such-host.invalid` has no address"]);
    // A server without TLS.
    let server = Server::new(|_| Some(b"no\n".to_vec()));
    let error = folder.fetch(&format!("https://{}/a", server.address)).unwrap_err();
    assert!(["no-trust", "place-error", "no-connection"].contains(&error.code.as_str()), "{error:?}");
    assert_says(&folder.fetch("https://").unwrap_err(), "bad-address", &["https://host/"]);
    let silent = Server::new(|_| None);
    let error = Folder::new(&[]).fetch(&silent.url("/slow.csv")).unwrap_err();
    assert_says(&error, "no-answer", &["slow.csv", "in time"]);
}

#[test]
fn a_stopped_fetch_ends() {
    let server = Server::new(|_| None);
    let folder = Folder::new(&[]);
    let places = folder.places.clone().with_timeout(Duration::from_secs(30));
    let task = TaskHandle::new();
    let stop = task.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.cancel();
    });
    let start = Instant::now();
    let error = places.fetch(&server.url("/a"), &|_| true, &task).unwrap_err();
    assert_eq!(error.class, Class::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A bucket with two objects: answers as Amazon's documentation of ListObjectsV2, HeadObject, GetObject and PutObject
/// shows.
fn bucket(request: &Request) -> Option<Answer> {
    let objects = [("data/k=1/a.csv", "a\n1\n"), ("data/k=2/b.csv", "a\n2\n")];
    let headers = [("ETag", "\"e\""), ("Last-Modified", "Wed, 02 Jan 2013 03:04:05 GMT")];
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let path = path.replace("%3D", "=");
    let list = |items: String| {
        let xml = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys>\
             <IsTruncated>false</IsTruncated>{items}</ListBucketResult>"
        );
        Some(answer("200 OK", &[("Content-Type", "application/xml")], xml.as_bytes()))
    };
    if path.starts_with("/private") {
        let xml = b"<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>secret</AWSAccessKeyId></Error>";
        return Some(answer("403 Forbidden", &[], xml));
    }
    if query.contains("list-type=2") && query.contains("delimiter") {
        return list("<CommonPrefixes><Prefix>data/</Prefix></CommonPrefixes>".to_string());
    }
    if query.contains("list-type=2") {
        let item = |(key, text): &(&str, &str)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2013-01-02T03:04:05.000Z</LastModified><ETag>\"e\"</ETag>\
                 <Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                text.len()
            )
        };
        return list(objects.iter().map(item).collect());
    }
    if request.method == "PUT" {
        return Some(answer("200 OK", &[("ETag", "\"new\"")], b""));
    }
    match objects.iter().find(|(key, _)| path == format!("/b/{key}")) {
        Some((_, text)) if request.method == "HEAD" => {
            let length = text.len().to_string();
            let headers = [headers[0], headers[1], ("Content-Length", length.as_str())];
            Some(answer("200 OK", &headers, b""))
        }
        Some((_, text)) => Some(answer("200 OK", &headers, text.as_bytes())),
        None => Some(answer("404 Not Found", &[], b"")),
    }
}

#[test]
fn buckets() {
    let server = Server::new(bucket);
    let endpoint = format!("http://{}", server.address);
    let folder = Folder::new(&[
        ("AWS_ENDPOINT_URL", &endpoint),
        ("AWS_ACCESS_KEY_ID", "someone"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "eu-central-1"),
    ]);
    let files = folder.fetch("s3://b/data/*/*.csv").unwrap();
    let urls: Vec<&str> = files.iter().map(|file| file.url.as_str()).collect();
    assert_eq!(urls, ["s3://b/data/k=1/a.csv", "s3://b/data/k=2/b.csv"]);
    assert_eq!(folder.text("s3://b/data/*/*.csv"), "a\n1\n|a\n2\n");
    let before = server.requests();
    assert_eq!(folder.text("s3://b/data/k=1/a.csv"), "a\n1\n");
    assert_eq!(server.requests(), before + 1, "the version is here already");
    let some = folder.places.fetch("s3://b/data/", &|name| name.ends_with("b.csv"), &TaskHandle::new()).unwrap();
    assert_eq!(some.len(), 1);
    let error = folder.places.fetch("s3://b/data/*.json", &|_| false, &TaskHandle::new()).unwrap_err();
    assert_says(&error, "no-file", &["no file matches `s3://b/data/*.json`", "`data/k=1/a.csv`"]);
    assert_says(&folder.fetch("s3://b/dta").unwrap_err(), "no-file", &["`s3://b/dta`", "`data/`"]);
    let error = folder.fetch("s3://private/a.csv").unwrap_err();
    assert_says(&error, "no-access", &["s3://private/a.csv", "AWS_ACCESS_KEY_ID"]);

    let file = folder.dir.path().join("out.csv");
    std::fs::write(&file, "a\n3\n").unwrap();
    folder.places.put("s3://b/out.csv", &file, &TaskHandle::new()).unwrap();
    assert!(server.seen.lock().unwrap().last().unwrap().starts_with("PUT /b/out.csv"));
    let error = folder.places.put(&server.url("/out.csv"), &file, &TaskHandle::new()).unwrap_err();
    assert_says(&error, "read-only", &["cannot be written"]);
}

/// A length that is announced, and one that is not. The error names the setting of the environment.
#[test]
fn a_file_has_a_limit() {
    let server = Server::new(|_| Some(answer("200 OK", &[], &[b'x'; 5000])));
    let limited = Folder::new(&[("ONRUSH_DOWNLOAD_LIMIT", "4K")]);
    let error = limited.fetch(&server.url("/a.csv")).unwrap_err();
    assert_says(&error, "too-large", &["5 kB or more", "4 kB are the most", "ONRUSH_DOWNLOAD_LIMIT", "`none`"]);
    assert!(limited.files().is_empty(), "{:?}", limited.files());
    assert_eq!(Folder::new(&[("ONRUSH_DOWNLOAD_LIMIT", "5K")]).text(&server.url("/a.csv")).len(), 5000);
    assert_eq!(Folder::new(&[("ONRUSH_DOWNLOAD_LIMIT", "none")]).text(&server.url("/a.csv")).len(), 5000);
    // An answer without a length ends with the connection.
    let endless =
        Server::new(|_| Some([b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".as_slice(), &[b'x'; 9000]].concat()));
    let error = Folder::new(&[("ONRUSH_DOWNLOAD_LIMIT", "4K")]).fetch(&endless.url("/a.csv")).unwrap_err();
    assert_says(&error, "too-large", &["4 kB are the most"]);
}

/// A part that a killed process left has no lock; one that is being fetched has.
#[test]
fn parts_of_ended_processes_are_swept() {
    let server = Server::new(|_| Some(answer("200 OK", &[], b"a\n1\n")));
    let folder = Folder::new(&[]);
    folder.fetch(&server.url("/a.csv")).unwrap();
    let places = folder.dir.path().join("places");
    std::fs::write(places.join("4606.4.part"), "left").unwrap();
    let held = std::fs::File::create(places.join("4607.1.part")).unwrap();
    held.try_lock().unwrap();
    folder.fetch(&server.url("/a.csv")).unwrap();
    let parts: Vec<String> = folder.files().into_iter().filter(|name| name.ends_with(".part")).collect();
    assert_eq!(parts, ["4607.1.part"]);
}

#[test]
fn fetched_files_are_the_users_alone() {
    let server = Server::new(|_| Some(answer("200 OK", &[("ETag", "\"v\"")], b"a\n1\n")));
    let folder = Folder::new(&[]);
    folder.fetch(&server.url("/a.csv")).unwrap();
    let mut folders = vec![folder.dir.path().join("places")];
    let mut seen = 0;
    while let Some(next) = folders.pop() {
        assert_eq!(std::fs::metadata(&next).unwrap().mode() & 0o777, 0o700, "{next:?}");
        for entry in std::fs::read_dir(next).unwrap() {
            let (path, metadata) = (entry.as_ref().unwrap().path(), entry.unwrap().metadata().unwrap());
            match metadata.is_dir() {
                true => folders.push(path),
                false => {
                    assert_eq!(metadata.mode() & 0o777, 0o600, "{path:?}");
                    seen += 1;
                }
            }
        }
    }
    assert_eq!(seen, 3, "the file, the note that it was used and its version");
}
