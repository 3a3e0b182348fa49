//! Clusters: workers that read files and run the steps of frames over them. A cluster here is its address and what its
//! workers said of themselves. The session speaks to the workers.

mod map;

use std::fmt;
use std::path::Path;

use onrush_wire::Span;
use onrush_wire::cluster::{ClusterInfo, WorkerInfo};
use onrush_wire::display::Content;
use onrush_wire::limits::size;
use onrush_wire::plan::{Format, Op, ParquetOptions, Source};
use onrush_wire::session::{Reply, Request};

use crate::display::{Show, offer};
use crate::frame::{Frame, folder, path_text};
use crate::into_column::{self, column};
use crate::raise::here;
use crate::session;

/// The workers of a cluster; see [`connect`]. Shown, it is a table of the workers as they were at that call.
#[derive(Clone)]
pub struct Cluster {
    info: ClusterInfo,
}

/// Connects to the workers of a cluster: `connect("onrush://10.0.0.2:7433,10.0.0.3:7433")`. The address is `onrush://`
/// and each worker as `host:port`, with commas between the workers. The port must be given.
///
/// Session and workers must have the same token. The session takes it from `ONRUSH_TOKEN` in its environment, else from
/// the file `~/.config/onrush/token`.
///
/// # Panics
/// Raises an error of the cell if the address is wrong or no token is set. Also if a worker does not answer, has
/// another token or is of another build.
#[track_caller]
pub fn connect(address: impl AsRef<str>) -> Cluster {
    Cluster { info: ask(address.as_ref(), here("connect")) }
}

impl Cluster {
    /// Reads a Parquet file, or several with `*` in the path, or all below a folder, on the workers. The path is as for
    /// the function `read_parquet`, and names the same files on the session's machine and on every worker.
    ///
    /// The frame stays a plan of the cluster: every step over it runs on the workers. Rows come to the session when
    /// they are shown, collected, plotted, persisted or written. They come in no order unless the frame is sorted or
    /// grouped. Two runs may give them in different orders, and sums of floats may differ in their last bits.
    ///
    /// # Panics
    /// Raises an error of the cell if the files cannot be read.
    #[track_caller]
    pub fn read_parquet(&self, path: impl AsRef<Path>) -> Frame {
        self.read(path_text(path), Format::Parquet(ParquetOptions::default()), here("read_parquet"))
    }

    #[inline(never)]
    fn read(&self, path: String, format: Format, at: Span) -> Frame {
        let cluster = Some(self.info.address.clone());
        Frame::step(Op::Read(Source { path, folder: folder(), format, cluster }), at)
    }

    /// The workers as they are now: `address`, `cores`, `memory` in bytes, `device` (`cpu`, or the name of a GPU), and
    /// the number of running `tasks`.
    ///
    /// # Panics
    /// Raises an error of the cell as [`connect`] does.
    #[track_caller]
    pub fn workers(&self) -> Frame {
        let at = here("workers");
        frame_of(&ask(&self.info.address, at.clone()).workers, &at)
    }

    /// The address as the session writes it: `onrush://host:port,host:port`.
    pub fn address(&self) -> &str {
        &self.info.address
    }
}

#[inline(never)]
fn ask(address: &str, at: Span) -> ClusterInfo {
    match session::expect(&Request::Connect { address: address.to_string() }, at.clone()) {
        Reply::Cluster(info) => info,
        other => session::unexpected(&other, at),
    }
}

fn frame_of(workers: &[WorkerInfo], at: &Span) -> Frame {
    let place = (at.line, at.column, at.length);
    let addresses: Vec<&str> = workers.iter().map(|worker| worker.address.as_str()).collect();
    let cores: Vec<u32> = workers.iter().map(|worker| worker.cores).collect();
    let memory: Vec<u64> = workers.iter().map(|worker| worker.memory).collect();
    let devices: Vec<&str> = workers.iter().map(|worker| worker.device.as_str()).collect();
    let tasks: Vec<u32> = workers.iter().map(|worker| worker.tasks).collect();
    into_column::frame(
        &at.file,
        vec![
            column("address", place, &addresses),
            column("cores", place, &cores),
            column("memory", place, &memory),
            column("device", place, &devices),
            column("tasks", place, &tasks),
        ],
    )
}

impl Show for Cluster {
    fn content(&self) -> Option<Content> {
        Some(Content::Table(self.info.table()))
    }
}

/// `cluster of 2 workers, 4 cores: 127.0.0.1:7433 (2 cores, 4.0 GB), 127.0.0.1:7434 (2 cores, 4.0 GB)`.
impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = &self.info.workers;
        let cores: u64 = workers.iter().map(|worker| u64::from(worker.cores)).sum();
        write!(f, "cluster of {}, {}", counted(workers.len() as u64, "worker"), counted(cores, "core"))?;
        for (number, worker) in workers.iter().enumerate() {
            let before = if number == 0 { ": " } else { ", " };
            let cores = counted(u64::from(worker.cores), "core");
            write!(f, "{before}{} ({cores}, {}", worker.address, size(worker.memory))?;
            if worker.device != "cpu" {
                write!(f, ", {}", worker.device)?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// As `Display`, on one line.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if offer(self, || Content::Table(self.info.table())) {
            return Ok(());
        }
        fmt::Display::fmt(self, f)
    }
}

/// `1 core`, `4 cores`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
