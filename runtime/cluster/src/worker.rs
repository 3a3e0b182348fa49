//! A worker: a process that runs tasks of queries for those who have its token.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionConfig;
use datafusion_distributed::{DistributedExt, Worker, WorkerQueryContext, WorkerResolver};
use onrush_expr::error::diagnose;
use onrush_wire::Diagnostic;
use serde::{Deserialize, Serialize};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use url::Url;

use crate::build::build_id;
use crate::channel::{Channels, reasons};
use crate::column_cache::ColumnCache;
use crate::identity::Identity;
use crate::signed_plan::SignedPlanCodec;
use crate::{errors, failed};

/// Bytes of stack of a thread: plans are trees, and DataFusion walks them by recursion.
const STACK: usize = 16 << 20;
/// Users of memory that an error names, the largest first.
const NAMED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);
/// The divisor of the memory that cached columns of files may take. Operators have the rest.
const CACHED: usize = 4;
/// How often a session is asked whether it lives, and how long it may take to answer.
const PING: Duration = Duration::from_secs(10);
const PONG: Duration = Duration::from_secs(30);

/// The facts that a worker says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Card {
    pub build: String,
    pub cores: u32,
    /// Bytes that tasks may use.
    pub memory: u64,
    pub device: String,
}

#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// `HOST:PORT`. Port 0 is a free one.
    pub listen: String,
    pub threads: usize,
    /// Bytes that tasks may use before they spill.
    pub memory: u64,
    /// The folder for what they spill. `None`: the system's folder for temporary files.
    pub spill: Option<PathBuf>,
}

/// Runs tasks until the process ends. `settings` are what tasks need of the engine; `ready` is told where the worker
/// listens.
///
/// # Errors
/// An address that cannot be listened on.
pub fn serve(
    options: &WorkerOptions,
    identity: &Identity,
    settings: impl Fn(SessionConfig) -> SessionConfig + Send + Sync + 'static,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Diagnostic> {
    onrush_calls::set_concurrency(options.threads.max(1));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // One more than compute, so that the worker answers while all of them do.
        .worker_threads(options.threads.max(1) + 1)
        .thread_name("onrush-worker")
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .map_err(|e| failed("threads", format!("no threads can be started: {e}")))?;
    runtime.block_on(listen(options, identity, Arc::new(settings), ready))
}

async fn listen(
    options: &WorkerOptions,
    identity: &Identity,
    settings: Arc<dyn Fn(SessionConfig) -> SessionConfig + Send + Sync>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Diagnostic> {
    let busy = |e: std::io::Error| {
        failed("cluster-listen", format!("`{}` cannot be listened on: {e}", options.listen))
            .help("`--listen` takes a host or an address of this machine and a free port, as `0.0.0.0:7433`")
    };
    let listener = tokio::net::TcpListener::bind(&options.listen).await.map_err(busy)?;
    let address = listener.local_addr().map_err(busy)?;
    if let Some(folder) = &options.spill {
        std::fs::create_dir_all(folder).map_err(|e| {
            let message = format!("the folder `{}` cannot be made: {e}", folder.display());
            failed("cluster-spill", message).help("`--spill` takes a folder that the worker may write to")
        })?;
    }
    let memory = usize::try_from(options.memory).unwrap_or(usize::MAX);
    let pool = FairSpillPool::new(memory - memory / CACHED);
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, NAMED)))
        .with_disk_manager_builder(onrush_io::disk_manager(options.spill.clone()))
        .build_arc()
        .map_err(diagnose)?;
    let card = Card {
        build: build_id().to_string(),
        cores: options.threads.max(1) as u32,
        memory: options.memory,
        device: "cpu".to_string(),
    };
    let card = serde_json::to_string(&card).map_err(|e| failed("internal", e.to_string()))?;
    let (channels, of_plans) = (Channels::new(identity), identity.clone());
    let name: Arc<str> = Arc::from(address.to_string());
    let columns = Arc::new(ColumnCache::new(memory / CACHED));
    let session = move |mut query: WorkerQueryContext| {
        let (channels, identity, settings) = (channels.clone(), of_plans.clone(), Arc::clone(&settings));
        let (worker, columns) = (Arc::clone(&name), Some(Arc::clone(&columns)));
        async move {
            let config = query.builder.config().take().unwrap_or_default();
            let builder = query.builder.with_config(settings(config));
            let builder = builder
                .with_distributed_user_codec(SignedPlanCodec { identity, worker, columns })
                .with_distributed_worker_plan_rewrite_handler(errors::only_signed_plans)
                .with_distributed_channel_resolver(channels);
            Ok::<_, DataFusionError>(builder.build())
        }
    };
    let worker = Worker::from_session_builder(session).with_runtime_env(environment).with_version(card);
    let observed = worker.with_observability_service(Arc::new(Nobody));
    ready(address);
    Server::builder()
        .tls_config(identity.server())
        .map_err(|e| failed("cluster-token", format!("the certificate cannot be used: {}", reasons(&e))))?
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PONG))
        .initial_stream_window_size(8 << 20)
        .initial_connection_window_size(32 << 20)
        .add_service(worker.into_worker_server())
        .add_service(observed)
        .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)))
        .await
        .map_err(|e| failed("cluster-listen", format!("the worker stopped listening: {}", reasons(&e))))
}

/// A worker knows the others by the plans that it gets.
struct Nobody;

impl WorkerResolver for Nobody {
    fn get_urls(&self) -> datafusion::error::Result<Vec<Url>> {
        Ok(Vec::new())
    }
}
