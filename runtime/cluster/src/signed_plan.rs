//! The plan of a task as one signed message.
//!
//! `datafusion-distributed` writes plans with a list of codecs, and takes the first one that does not fail. The first
//! codec of the list is that of the engine, and writes functions by name alone. A function with parameters would be
//! another one on the worker. Therefore the whole plan goes into one node that only [`SignedPlanCodec`] can write.
//! [`SignedPlanCodec`] writes all of the plan with the one codec of this crate, and signs it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};
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
use onrush_logical::cooperative::cooperative;
use onrush_parallel::Cores;
use prost::Message;

use crate::codec::Codec;
use crate::column_cache::{self, ColumnCache};
use crate::identity::Identity;
use crate::plan_node::leaf_methods;
use crate::{errors, files};

/// A plan that is written as a whole.
#[derive(Debug)]
struct SignedPlanExec(Arc<dyn ExecutionPlan>);

impl DisplayAs for SignedPlanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SignedPlanExec")
    }
}

impl ExecutionPlan for SignedPlanExec {
    leaf_methods!("SignedPlanExec", self => self.0.properties());

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a plan was run before it was unpacked")
    }
}

/// Fails if a stage of a plan cannot be written.
pub(crate) fn check_serializable(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
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

/// Writes and reads signed plans: a signature, the marks of the files, the plan.
#[derive(Debug)]
pub(crate) struct SignedPlanCodec {
    pub identity: Identity,
    /// The worker that this process is, for its errors.
    pub worker: Arc<str>,
    /// Its cache of columns, if it is one.
    pub columns: Option<Arc<ColumnCache>>,
}

impl PhysicalExtensionCodec for SignedPlanCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(SignedPlanExec(plan)) = node.downcast_ref() else {
            return internal_err!("not a signed plan: {}", node.name());
        };
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
            let plan = column_cache::with_cache(plan, context, self.columns.as_ref())?;
            // The next stage may rely on the order of the rows. The head of the plan is put there anew.
            let is_sorted = |node: &Arc<dyn ExecutionPlan>| node.output_ordering().is_some();
            let ordered = is_sorted(&plan) || plan.children().into_iter().any(is_sorted);
            let threads = context.session_config().target_partitions();
            let plan = onrush_parallel::spilling_in_partitions(plan, ordered, Cores::new(threads))?;
            let plan = plan.transform_up(|node| Ok(cooperative(node)))?.data;
            Ok(errors::with_errors(plan, &self.worker))
        };
        plan().map_err(|e| errors::sent(e, &self.worker))
    }
}

fn external(error: postcard::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// A connection to a worker that sends signed plans.
pub(crate) struct SigningChannel(pub Box<dyn WorkerChannel>);

#[async_trait]
impl WorkerChannel for SigningChannel {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        mut request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        request.plan = match request.plan {
            MaybeEncoded::Decoded(plan) => {
                MaybeEncoded::Decoded(Arc::new(SignedPlanExec(plan)) as Arc<dyn ExecutionPlan>)
            }
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
