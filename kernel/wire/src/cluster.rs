//! Clusters: what the workers of an address say of themselves, and the table that outputs show. The messages between a
//! session and its workers are not here.

use std::fs::File;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::limits::size;
use crate::preview::{PreviewColumn, TableKind, TablePreview};
use crate::schema::DataType;
use crate::value::Value;

/// The workers of a cluster, as they were when the session asked them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// Canonical: `onrush://host:port,host:port`.
    pub address: String,
    pub workers: Vec<WorkerInfo>,
}

/// A process that runs parts of plans on its machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerInfo {
    /// `host:port`.
    pub address: String,
    pub cores: u32,
    /// Bytes of host memory that it may use.
    pub memory: u64,
    /// `cpu`, or the name of a device.
    pub device: String,
    /// The build of its program. Session and workers of different builds do not talk.
    pub build: String,
    /// Tasks that it runs now.
    pub tasks: u32,
}

/// A new token of a cluster: 256 random bits in hexadecimal.
///
/// # Errors
/// If the system gives no random bytes.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl ClusterInfo {
    /// The facts of the workers, a row for each: address, cores, memory and device.
    pub fn table(&self) -> TablePreview {
        let row = |worker: &WorkerInfo| {
            vec![
                Value::Text(worker.address.clone()),
                Value::UInt(u64::from(worker.cores)),
                Value::Text(size(worker.memory)),
                Value::Text(worker.device.clone()),
            ]
        };
        TablePreview {
            kind: TableKind::Frame,
            columns: vec![
                column("address", DataType::String),
                column("cores", DataType::UInt32),
                column("memory", DataType::String),
                column("device", DataType::String),
            ],
            total_rows: self.workers.len() as u64,
            head: self.workers.iter().map(row).collect(),
            tail: Vec::new(),
            bytes: None,
            location: "memory".to_string(),
        }
    }

    /// [`ClusterInfo::table`] and the number of tasks that each worker runs.
    pub fn table_with_tasks(&self) -> TablePreview {
        let mut table = self.table();
        table.columns.push(column("tasks", DataType::UInt32));
        for (row, worker) in table.head.iter_mut().zip(&self.workers) {
            row.push(Value::UInt(u64::from(worker.tasks)));
        }
        table
    }
}

fn column(name: &str, dtype: DataType) -> PreviewColumn {
    PreviewColumn { name: name.to_string(), dtype, nulls: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_workers_has_a_row_for_each() {
        let worker = |port: u16, tasks: u32| WorkerInfo {
            address: format!("127.0.0.1:{port}"),
            cores: 2,
            memory: 4_000_000_000,
            device: "cpu".to_string(),
            build: "0.1.0".to_string(),
            tasks,
        };
        let address = "onrush://127.0.0.1:7433,127.0.0.1:7434".to_string();
        let table = ClusterInfo { address, workers: vec![worker(7433, 0), worker(7434, 3)] }.table_with_tasks();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!((names, table.total_rows), (vec!["address", "cores", "memory", "device", "tasks"], 2));
        let text = |text: &str| Value::Text(text.to_string());
        let second = [text("127.0.0.1:7434"), Value::UInt(2), text("4.0 GB"), text("cpu"), Value::UInt(3)];
        assert_eq!(table.head[1], second);
    }
}
