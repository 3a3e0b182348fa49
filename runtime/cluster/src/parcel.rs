//! The plan of a task in one node of ours.
//!
//! `datafusion-distributed` writes plans with a list of codecs, and takes the first one that does not fail. The first
//! codec of the list is that of the engine, and writes functions by name alone. A function with parameters would be
//! another one on the worker. Therefore the whole plan goes into one node that only [`Parcels`] can write. [`Parcels`]
//! writes all of the plan with the one codec of this crate.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use datafusion_distributed::{
    CoordinatorToWorkerMsg, DistributedLeafExec, ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse,
    MaybeEncoded, NetworkBoundaryExt, SetPlanRequest, Stage, WorkerChannel, WorkerToCoordinatorMsg,
};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::{
    DeduplicatingProtoConverter, PhysicalExtensionCodec, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::stream::BoxStream;
use http::HeaderMap;
use prost::Message;

use crate::codec::Codec;
use crate::columns::{self, Columns};
use crate::identity::Identity;
use crate::{errors, files};

/// A plan to be written as one.
#[derive(Debug)]
struct Parcel(Arc<dyn ExecutionPlan>);

impl DisplayAs for Parcel {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Parcel")
    }
}

impl ExecutionPlan for Parcel {
    fn name(&self) -> &str {
        "Parcel"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    /// None: nobody looks into it.
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a plan was run before it was unpacked")
    }
}

/// Fails if a stage of a plan cannot be written.
pub(crate) fn travels(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    plan.apply(|node| {
        if let Some(boundary) = node.as_network_boundary()
            && let Stage::Local(stage) = boundary.input_stage()
        {
            // As a task gets it: with its own files, and without the stages below.
            let task = Arc::clone(&stage.plan).transform_down(|node| {
                if let Some(leaf) = node.downcast_ref::<DistributedLeafExec>()
                    && let Some(own) = leaf.variants().first()
                {
                    return Ok(Transformed::yes(Arc::clone(own)));
                }
                if node.is_network_boundary() {
                    let below =
                        EmptyExec::new(node.schema()).with_partitions(node.output_partitioning().partition_count());
                    return Ok(Transformed::new(Arc::new(below), true, TreeNodeRecursion::Jump));
                }
                Ok(Transformed::no(node))
            })?;
            let converter = DeduplicatingProtoConverter::default();
            let bytes = physical_plan_to_bytes_with_proto_converter(task.data, &Codec, &converter)?;
            // A message may be nested a hundred times only.
            PhysicalPlanNode::decode(&bytes[..]).map_err(|e| DataFusionError::External(Box::new(e)))?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Length of the signature before a plan.
const SIGNATURE: usize = 32;

/// Writes and reads parcels: a signature, the marks of the files, the plan.
#[derive(Debug)]
pub(crate) struct Parcels {
    pub identity: Identity,
    /// The worker that this process is, for its errors.
    pub worker: Arc<str>,
    /// The columns that it keeps, if it is one.
    pub columns: Option<Arc<Columns>>,
}

impl PhysicalExtensionCodec for Parcels {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(Parcel(plan)) = node.downcast_ref() else { return internal_err!("no parcel: {}", node.name()) };
        let marks = postcard::to_stdvec(&files::of_plan(plan)?).map_err(external)?;
        let converter = DeduplicatingProtoConverter::default();
        let plan = physical_plan_to_bytes_with_proto_converter(Arc::clone(plan), &Codec, &converter)?;
        let mut content = (marks.len() as u64).to_le_bytes().to_vec();
        content.extend(marks);
        content.extend_from_slice(&plan);
        buf.extend(self.identity.sign(&content));
        buf.extend(content);
        Ok(())
    }

    /// Gives the plan itself, under a node for its errors: what was one node is the tree again.
    fn try_decode(
        &self,
        buf: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some((signature, content)) = buf.split_first_chunk::<SIGNATURE>() else {
            return internal_err!("a plan without a signature");
        };
        if !self.identity.is_signed(content, signature) {
            return internal_err!("a plan that was not signed with this cluster's token by this build");
        }
        let Some((length, content)) = content.split_first_chunk::<8>() else { return internal_err!("an empty plan") };
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((marks, plan)) = content.split_at_checked(length) else { return internal_err!("a cut plan") };
        let plan = || {
            files::check(&postcard::from_bytes::<Vec<_>>(marks).map_err(external)?)?;
            let converter = DeduplicatingProtoConverter::default();
            let plan = physical_plan_from_bytes_with_proto_converter(plan, context, &Codec, &converter)?;
            let plan = columns::opened(plan, context, self.columns.as_ref())?.transform_up(yielding)?.data;
            errors::with_errors(plan, &self.worker)
        };
        plan().map_err(|e| errors::sent(e, &self.worker))
    }
}

/// Makes operators that give many batches for one of their input yield now and then, so that a task can be stopped.
fn yielding(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    const MULTIPLY: [&str; 5] =
        ["CrossJoinExec", "NestedLoopJoinExec", "HashJoinExec", "SortMergeJoinExec", "UnnestExec"];
    Ok(match MULTIPLY.contains(&node.name()) {
        true => Transformed::yes(Arc::new(CooperativeExec::new(node))),
        false => Transformed::no(node),
    })
}

fn external(error: postcard::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// A worker to whom plans go as parcels.
pub(crate) struct Ship(pub Box<dyn WorkerChannel>);

#[async_trait]
impl WorkerChannel for Ship {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        mut request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        request.plan = match request.plan {
            MaybeEncoded::Decoded(plan) => MaybeEncoded::Decoded(Arc::new(Parcel(plan)) as Arc<dyn ExecutionPlan>),
            encoded => encoded,
        };
        self.0.coordinator_channel(headers, request, messages, metrics, context).await
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        self.0.execute_task(headers, request, metrics, context).await
    }

    async fn get_worker_info(&mut self, request: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        self.0.get_worker_info(request).await
    }
}
