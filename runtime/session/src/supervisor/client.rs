//! Programs in other languages: a small protocol of JSON messages and descriptors on the session's socket, which stays
//! the same from build to build (`docs/client-protocol.md`).
//!
//! A connection is a separate notebook without a kernel. Its frames live as long as a request. Published frames stay.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onrush_frame::layout::FileLayout;
use onrush_frame::{ipc, sealed};
use onrush_wire::fd_passing;
use onrush_wire::plan::Op;
use onrush_wire::session::{NamedFrame, Reply, Request, Role};
use onrush_wire::{Class, Diagnostic, FrameId, Generation, NotebookId, ObjectId, Schema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::mentions;
use super::server::{Client, GREETING, GREETING_BYTES, REST, Supervisor};
use crate::memfd;

/// The first bytes of a connection.
pub(super) const GREETING_OF_CLIENTS: &[u8; 8] = b"ONRUSHC1";
/// Bytes of a message.
const LONGEST: usize = 16 << 20;

/// A request of a program.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Ask {
    /// The first message. `notebook`: whose variables the program sees, too.
    Hello {
        pid: u32,
        #[serde(default)]
        notebook: Option<String>,
    },
    Names,
    /// A frame by its name, as an Arrow IPC file in sealed memory.
    Get {
        name: String,
        #[serde(default)]
        columns: Option<Vec<String>>,
    },
    /// A column in memory of the device.
    GetDevice {
        name: String,
        column: String,
        /// The object that the name has to stand for.
        #[serde(default)]
        id: Option<u64>,
    },
    /// A frame of the rows in the descriptor.
    Publish {
        name: String,
    },
    Unpublish {
        name: String,
    },
    Sql {
        query: String,
        #[serde(default)]
        name: Option<String>,
    },
    /// Stops what the other connections of the same process wait for.
    Interrupt,
}

/// An answer and its descriptor.
type Answer = Result<(Value, Option<OwnedFd>), Diagnostic>;

/// A connection that has said who it is.
struct Conversation<'a> {
    supervisor: &'a Supervisor,
    client: Client,
    /// The notebook whose variables it sees.
    scope: Option<NotebookId>,
    stream: &'a UnixStream,
}

impl Supervisor {
    /// Serves a program that began with [`GREETING_OF_CLIENTS`].
    pub(super) fn serve_client(&self, stream: &UnixStream) {
        let Ok((first, _)) = read(stream, GREETING_BYTES, GREETING) else { return };
        let _ = stream.set_read_timeout(None);
        let (pid, notebook) = match first {
            Ok(Ask::Hello { pid, notebook }) => (pid, notebook),
            other => {
                let found = other.err().unwrap_or_else(|| "another request".to_string());
                let error = bad_request(&format!("the first message is `hello`, and this is {found}"));
                let _ = write(stream, &failure(&error), None);
                return;
            }
        };
        let client =
            Client { notebook: NotebookId(format!("program {pid}")), role: Role::Cell, generation: Generation(0) };
        if let Err(error) = self.state.lock().attach(&client.notebook, client.role, client.generation) {
            let _ = write(stream, &failure(&error), None);
            return;
        }
        let engine = self.link().ok().and_then(|link| link.engine()).unwrap_or_else(|| "cpu".to_string());
        let welcome = json!({
            "ok": true, "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id(), "engine": engine,
        });
        if write(stream, &welcome, None).is_ok() {
            let conversation =
                Conversation { supervisor: self, client: client.clone(), scope: notebook.map(NotebookId), stream };
            conversation.run();
        }
        self.state.lock().detach(&client.notebook, client.role);
    }
}

impl Conversation<'_> {
    fn run(&self) {
        while let Ok((ask, descriptor)) = read(self.stream, LONGEST, REST) {
            let work = std::panic::AssertUnwindSafe(|| match ask {
                Ok(ask) => self.answer(ask, descriptor),
                Err(why) => Err(bad_request(&format!("the session does not understand the request: {why}"))),
            });
            let answer = std::panic::catch_unwind(work).unwrap_or_else(|_| {
                Err(Diagnostic::error(Class::Internal, "panic", "the session failed at this request"))
            });
            let (message, descriptor) = answer.unwrap_or_else(|error| (failure(&error), None));
            if write(self.stream, &message, descriptor.as_ref()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, ask: Ask, descriptor: Option<OwnedFd>) -> Answer {
        match ask {
            Ask::Hello { .. } => Err(bad_request("`hello` is the first message alone")),
            Ask::Names => Ok((self.names(), None)),
            Ask::Get { name, columns } => self.with_frame(&name, |frame| self.share(frame, columns.as_deref())),
            Ask::GetDevice { name, column, id } => self.with_frame(&name, |frame| match id {
                Some(id) if id != self.id_of(frame) => Ok((json!({"ok": true, "on_host": true}), None)),
                _ => self.get_device(frame, column),
            }),
            Ask::Publish { name } => {
                check_name(&name)?;
                let rows = descriptor.ok_or_else(|| bad_request("`publish` comes with a descriptor of the rows"))?;
                let (id, schema) = self.receive_rows(rows)?;
                self.publish(&name, id, &schema)
            }
            Ask::Unpublish { name } => {
                let released = self.supervisor.state.lock().withdraw(&name)?;
                self.supervisor.release(released);
                Ok((json!({"ok": true}), None))
            }
            Ask::Sql { query, name } => {
                name.as_deref().map(check_name).transpose()?;
                let tables = self.variables().into_iter().filter(|named| mentions(&query, &named.name));
                let tables = tables.map(|named| (named.name, named.frame)).collect();
                let (id, schema) = self.step(Op::Sql { query, tables }, None)?;
                match name {
                    Some(name) => self.publish(&name, id, &schema),
                    None => {
                        let frame = NamedFrame { name: "sql".to_string(), frame: id, schema, rows: None, held: None };
                        let answer = self.share(&frame, None);
                        self.let_go(id);
                        answer
                    }
                }
            }
            Ask::Interrupt => {
                self.supervisor.state.lock().tasks.cancel(&self.client.notebook, None);
                Ok((json!({"ok": true}), None))
            }
        }
    }

    /// The frames in variables of the notebook that the program belongs to.
    fn variables(&self) -> Vec<NamedFrame> {
        self.scope.as_ref().map(|scope| self.supervisor.state.lock().names(scope).0).unwrap_or_default()
    }

    fn names(&self) -> Value {
        let held = self.supervisor.slot.lock().link.as_ref().map(|link| link.held()).unwrap_or_default();
        let own = self.variables();
        let state = self.supervisor.state.lock();
        let published = state.names(&self.client.notebook).1;
        let published = published.into_iter().filter(|named| !own.iter().any(|own| own.name == named.name));
        let entry = |named: &NamedFrame, is_published: bool| {
            let rows = held.get(&state.catalog.target(named.frame.into())).map(|held| held.rows);
            json!({
                "name": named.name,
                "columns": columns(&named.schema),
                "rows": named.rows.or(rows),
                "published": is_published,
            })
        };
        let mut names: Vec<Value> = own.iter().map(|named| entry(named, false)).collect();
        names.extend(published.map(|named| entry(&named, true)));
        json!({"ok": true, "names": names})
    }

    /// Works with the frame of a name: a variable of the notebook, else a published frame. The program holds it as long
    /// as that takes, so that another publish of the name does not take it away.
    fn with_frame(&self, name: &str, work: impl FnOnce(&NamedFrame) -> Answer) -> Answer {
        if let Some(named) = self.variables().into_iter().find(|named| named.name == name) {
            return work(&named);
        }
        let named = {
            let mut state = self.supervisor.state.lock();
            let published = state.published(name)?;
            let object = state.catalog.get(published).and_then(|object| object.frame());
            let facts = object.cloned().ok_or_else(|| {
                Diagnostic::error(Class::Plan, "not-a-frame", format!("`{name}` is a model, not a frame"))
                    .help("publish its predictions or its coefficients as a frame")
            })?;
            let id = state.get(name, &self.client.notebook, self.client.generation)?;
            let (schema, rows) = (facts.schema, facts.rows);
            NamedFrame { name: name.to_string(), frame: FrameId(id.0), schema, rows, held: None }
        };
        let answer = work(&named);
        self.let_go(named.frame);
        answer
    }

    /// The number by which a program tells the object of a name from a later one.
    fn id_of(&self, named: &NamedFrame) -> u64 {
        self.supervisor.state.lock().catalog.target(named.frame.into()).0
    }

    /// The rows of a frame in sealed memory, and where its buffers lie. Held rows are shared as a whole: a choice of
    /// columns is then a choice of buffers.
    fn share(&self, named: &NamedFrame, columns: Option<&[String]>) -> Answer {
        let positions = columns.map(|columns| positions(named, columns)).transpose()?;
        let is_held = {
            let held = self.supervisor.slot.lock().link.as_ref().map(|link| link.held()).unwrap_or_default();
            let target = self.supervisor.state.lock().catalog.target(named.frame.into());
            held.get(&target).is_some_and(|held| held.place == "cpu")
        };
        let (asked, chosen) = match (columns, positions) {
            (Some(columns), Some(_)) if !is_held && !columns.is_empty() => (columns.to_vec(), None),
            (_, positions) => (Vec::new(), positions),
        };
        let (reply, memory) = self.call(Request::Share { frame: named.frame, columns: asked }, None)?;
        let (Reply::Batches { rows, bytes, .. }, Some(memory)) = (reply, memory) else {
            return Err(unexpected());
        };
        let mapped = sealed::map(&memory).ok().flatten().ok_or_else(unexpected)?;
        let layout = FileLayout::of(&mapped, chosen.as_deref()).map_err(|error| {
            Diagnostic::error(Class::Internal, "layout", format!("the rows have no layout: {error}"))
        })?;
        let batches: Vec<Value> = layout
            .batches
            .iter()
            .map(|batch| {
                json!({
                    "rows": batch.rows, "nodes": batch.nodes, "buffers": batch.buffers, "variadic": batch.variadic,
                })
            })
            .collect();
        let message = json!({
            "ok": true,
            "id": self.id_of(named),
            "rows": rows,
            "bytes": bytes,
            "layout": {
                "schema": STANDARD.encode(&layout.schema),
                "columns": columns,
                "batches": batches,
                "dictionaries": layout.has_dictionaries,
            },
        });
        Ok((message, Some(memory)))
    }

    fn get_device(&self, named: &NamedFrame, column: String) -> Answer {
        positions(named, std::slice::from_ref(&column))?;
        match self.call(Request::ExportColumn { frame: named.frame, column }, None)? {
            (Reply::Exported { rows, bytes, dtype, device, emulated }, memory) => {
                let message = json!({
                    "ok": true, "rows": rows, "bytes": bytes, "type": dtype.to_string(), "device": device,
                    "emulated": emulated,
                });
                Ok((message, memory))
            }
            _ => Ok((json!({"ok": true, "on_host": true}), None)),
        }
    }

    /// A frame of the rows in a descriptor: an Arrow IPC file or stream.
    fn receive_rows(&self, rows: OwnedFd) -> Result<(FrameId, Schema), Diagnostic> {
        let damaged = |error: &dyn std::fmt::Display| {
            let message = format!("the rows cannot be read as an Arrow IPC file or stream: {error}");
            Diagnostic::error(Class::Data, "arrow", message)
        };
        let kept = memfd::keep(rows).map_err(|e| damaged(&e))?;
        let mapped = sealed::map(&kept).map_err(|e| damaged(&e))?.ok_or_else(|| damaged(&"it is not sealed"))?;
        let schema = ipc::schema(&mapped).map_err(|e| damaged(&e))?;
        let schema = onrush_frame::schema_to_wire(&schema);
        self.step(Op::FromArrow { schema, bytes: None }, Some(kept))
    }

    fn step(&self, op: Op, rows: Option<OwnedFd>) -> Result<(FrameId, Schema), Diagnostic> {
        match self.call(Request::Step { op, at: None }, rows)? {
            (Reply::Frame { id, schema }, _) => Ok((id, schema)),
            _ => Err(unexpected()),
        }
    }

    fn publish(&self, name: &str, id: FrameId, schema: &Schema) -> Answer {
        let released = self.supervisor.state.lock().publish(name, id.into(), &self.client.notebook);
        self.supervisor.release(released);
        self.let_go(id);
        let rows = self.call(Request::RowCount { frame: id }, None).ok();
        let rows = rows.and_then(|(reply, _)| if let Reply::Count(rows) = reply { Some(rows) } else { None });
        Ok((json!({"ok": true, "rows": rows, "columns": columns(schema)}), None))
    }

    /// The program has no handle of an object any more.
    fn let_go(&self, id: impl Into<ObjectId>) {
        let released = self.supervisor.state.lock().let_go(id.into());
        self.supervisor.release(released);
    }

    fn call(&self, request: Request, descriptor: Option<OwnedFd>) -> Result<(Reply, Option<OwnedFd>), Diagnostic> {
        match self.supervisor.answer(&self.client, request, descriptor, self.stream) {
            (Reply::Failed(error), _) => Err(error),
            answer => Ok(answer),
        }
    }
}

/// The positions of columns in a frame.
fn positions(named: &NamedFrame, columns: &[String]) -> Result<Vec<usize>, Diagnostic> {
    let names: Vec<&str> = named.schema.names().collect();
    let position = |column: &String| {
        names.iter().position(|name| name == column).ok_or_else(|| {
            let message = format!("`{}` has no column `{column}`", named.name);
            Diagnostic::error(Class::Plan, "unknown-column", message).help(format!("its columns: {}", names.join(", ")))
        })
    };
    columns.iter().map(position).collect()
}

fn columns(schema: &Schema) -> Vec<Value> {
    schema.fields.iter().map(|field| json!({"name": field.name, "type": field.dtype.to_string()})).collect()
}

fn check_name(name: &str) -> Result<(), Diagnostic> {
    match name.is_empty() || name.chars().any(char::is_control) {
        true => Err(Diagnostic::error(Class::Plan, "name", format!("a frame cannot be published as {name:?}"))
            .help("take a name without control characters, such as \"late_flights\"")),
        false => Ok(()),
    }
}

fn bad_request(message: &str) -> Diagnostic {
    Diagnostic::error(Class::Internal, "request", message)
}

fn unexpected() -> Diagnostic {
    Diagnostic::error(Class::Internal, "reply", "the session's engine sent another answer than expected")
}

fn failure(error: &Diagnostic) -> Value {
    let labels: Vec<Value> = error
        .labels
        .iter()
        .map(|label| {
            json!({
                "line": label.span.line, "column": label.span.column, "length": label.span.length, "text": label.text,
                "primary": label.primary,
            })
        })
        .collect();
    json!({
        "ok": false,
        "error": {
            "class": format!("{:?}", error.class).to_lowercase(),
            "code": error.code,
            "message": error.message,
            "labels": labels,
            "notes": error.notes,
            "help": error.help,
        },
    })
}

/// The next request, and the descriptor that came with it. An outer error ends the connection. A request that is not
/// JSON of the protocol is an inner error, which is answered.
fn read(
    stream: &UnixStream,
    longest: usize,
    within: Duration,
) -> Result<(Result<Ask, String>, Option<OwnedFd>), onrush_wire::codec::CodecError> {
    let started = fd_passing::begin(stream)?;
    if started.length() > longest {
        return Err(onrush_wire::codec::CodecError::TooLong(started.length()));
    }
    let (body, descriptors) = started.finish_bytes(Some(within))?;
    let ask = serde_json::from_slice(&body).map_err(|error| error.to_string());
    Ok((ask, descriptors.into_iter().next()))
}

fn write(stream: &UnixStream, message: &Value, descriptor: Option<&OwnedFd>) -> std::io::Result<()> {
    let body = message.to_string();
    let length = u32::try_from(body.len()).map_err(std::io::Error::other)?;
    let bytes = [&length.to_le_bytes()[..], body.as_bytes()].concat();
    let descriptor = descriptor.map(|descriptor| descriptor.as_fd());
    fd_passing::send_encoded(stream, &bytes, descriptor.as_slice())
}

/// Puts published frames that are held into shared memory before a program asks for them.
pub(super) fn share_soon(supervisor: &Arc<Supervisor>, published: Vec<ObjectId>) {
    let limit = onrush_wire::limits::session_memory() / 8;
    let (link, held) = match supervisor.slot.lock().link.clone() {
        Some(link) => {
            let held = link.held();
            (link, held)
        }
        None => return,
    };
    let targets: Vec<ObjectId> = {
        let state = supervisor.state.lock();
        published.into_iter().map(|id| state.catalog.target(id)).collect()
    };
    let small = |id: &ObjectId| held.get(id).is_some_and(|held| held.place == "cpu" && held.bytes <= limit);
    let targets: Vec<ObjectId> = targets.into_iter().filter(small).collect();
    if targets.is_empty() {
        return;
    }
    let supervisor = Arc::clone(supervisor);
    super::server::spawn("share", move || {
        for id in targets {
            let request = Request::Share { frame: FrameId(id.0), columns: Vec::new() };
            let Ok(call) = request.into_call() else { continue };
            let ask = crate::protocol::EngineRequest::Call { call, made: None, files: None };
            let wanted = || !supervisor.state.lock().ended;
            let _ = link.call(ask, None, |_| {}, &wanted, &|| false);
        }
    });
}
