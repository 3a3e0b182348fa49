//! The files of a plan: the same on each machine, and read as the session reads them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::DistributedLeafExec;
use onrush_expr::error::external;
use onrush_wire::limits::size;
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Bytes at the end of a file that are compared: there Parquet has the offsets and statistics of all its columns.
const TAIL: u64 = 64 << 10;

/// The facts of a file that must hold on a worker, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    path: String,
    bytes: u64,
    tail: [u8; 32],
}

/// The marks of the local files that a plan reads.
pub(crate) fn of_plan(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<Mark>> {
    let mut marks: Vec<Mark> = Vec::new();
    plan.apply(|node| {
        let variants = node.downcast_ref::<DistributedLeafExec>().map(DistributedLeafExec::variants);
        for leaf in variants.unwrap_or(std::slice::from_ref(node)) {
            let Some(config) = scan_of(leaf) else { continue };
            if config.object_store_url.as_str() != "file:///" {
                continue;
            }
            for file in config.file_groups.iter().flat_map(|group| group.files()) {
                let path = format!("/{}", file.object_meta.location);
                if !marks.iter().any(|mark| mark.path == path) {
                    marks.push(mark(Path::new(&path)).map_err(DataFusionError::IoError)?);
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(marks)
}

/// The files that a node scans.
pub(crate) fn scan_of(node: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    node.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref()
}

/// Size, time of change, and hash of the end of a file.
type KnownTail = (u64, Option<SystemTime>, [u8; 32]);

pub(crate) fn mark(path: &Path) -> io::Result<Mark> {
    static KNOWN: LazyLock<Mutex<HashMap<String, KnownTail>>> = LazyLock::new(Mutex::default);
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let (bytes, modified) = (metadata.len(), metadata.modified().ok());
    let path = path.to_string_lossy().into_owned();
    let known = KNOWN.lock().get(&path).filter(|known| (known.0, known.1) == (bytes, modified)).map(|known| known.2);
    if let Some(tail) = known {
        return Ok(Mark { path, bytes, tail });
    }
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL)))?;
    let mut end = Vec::new();
    file.take(TAIL).read_to_end(&mut end)?;
    let tail = *blake3::hash(&end).as_bytes();
    KNOWN.lock().insert(path.clone(), (bytes, modified, tail));
    Ok(Mark { path, bytes, tail })
}

/// Fails if a file is not here, or is another one than the session's.
pub(crate) fn check(marks: &[Mark]) -> Result<()> {
    for wanted in marks {
        let what = match mark(Path::new(&wanted.path)) {
            Ok(found) if found == *wanted => continue,
            Ok(found) if found.bytes != wanted.bytes => {
                format!("it has {} there, and {} where the session runs", size(found.bytes), size(wanted.bytes))
            }
            Ok(_) => "it has another content there than where the session runs".to_string(),
            Err(error) => error.to_string(),
        };
        let message = format!("a worker cannot read `{}`: {what}", wanted.path);
        return Err(external(
            Diagnostic::error(Class::Data, "cluster-file", message)
                .help("all workers read the same files: put them into a folder that all machines share"),
        ));
    }
    Ok(())
}
