//! How far the stages of a running query are, as its workers tell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::NetworkBoundaryExt;
use onrush_frame::TaskHandle;

use crate::cluster::Cluster;

/// How often workers are asked.
const EVERY: Duration = Duration::from_millis(250);

/// The stages of a plan: the id of the query, and the number and the tasks of each stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stages {
    query: Vec<u8>,
    tasks: BTreeMap<u64, usize>,
}

impl Stages {
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Stages {
        let mut stages = Stages::default();
        let _ = plan.apply(|node| {
            if let Some(boundary) = node.as_network_boundary() {
                let stage = boundary.input_stage();
                stages.query = stage.query_id().as_bytes().to_vec();
                stages.tasks.insert(stage.num() as u64, stage.task_count());
            }
            Ok(TreeNodeRecursion::Continue)
        });
        stages
    }

    pub fn count(&self) -> usize {
        self.tasks.len()
    }
}

/// Reports to `task` until it is dropped.
pub(crate) struct Reporter(tokio::task::JoinHandle<()>);

impl Reporter {
    pub fn start(cluster: Arc<Cluster>, stages: Stages, title: String, task: TaskHandle) -> Reporter {
        Reporter(tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let mut rows: BTreeMap<u64, u64> = BTreeMap::new();
                for running in cluster.all_tasks().await {
                    if let Some(key) = running.task_key.filter(|key| key.query_id == stages.query) {
                        *rows.entry(key.stage_id).or_default() += running.output_rows;
                    }
                }
                let of_stage = |(stage, tasks): (&u64, &usize)| {
                    let rows = rows.get(stage).copied().unwrap_or_default();
                    format!("stage {stage} on {tasks} workers: {rows} rows")
                };
                let lines: Vec<String> = stages.tasks.iter().map(of_stage).collect();
                if !lines.is_empty() {
                    task.stage(format!("{title}; {}", lines.join(", ")));
                }
            }
        }))
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.0.abort();
    }
}
