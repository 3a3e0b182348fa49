//! The session's end of a cluster: who its workers are, which of them live, and how queries for them are planned.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DistributedExt, GetWorkerInfoRequest, RouteTasksEvent, RouteTasksEventResponse, SessionStateBuilderExt,
    WorkerResolver, get_distributed_worker_resolver, grpc,
};
use futures::future::join_all;
use onrush_expr::error::diagnose;
use onrush_wire::Diagnostic;
use onrush_wire::cluster::{ClusterInfo, WorkerInfo};
use parking_lot::Mutex;
use tonic::transport::Channel;
use url::Url;

use crate::address::{Address, name_of};
use crate::build::build_id;
use crate::channel::{Channels, reasons};
use crate::identity::Identity;
use crate::signed_plan::SignedPlanCodec;
use crate::worker::Card;
use crate::{failed, keys, leaves};

/// How long a worker may take to say that it lives.
const PROBE: Duration = Duration::from_secs(3);
/// The pause between two tries to reach lost workers, in lengths of a try: tries take 5 % of the time at most.
const PAUSE: u32 = 20;

/// A cluster that this process is connected to.
pub struct Cluster {
    address: Address,
    identity: Identity,
    channels: Channels,
    live: Live,
    /// The workers that answered when the connection was made.
    cards: Mutex<Vec<(Url, Option<Card>)>>,
    settings: Settings,
    /// When the workers that are lost may be tried again.
    next_reconnect: Mutex<Instant>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cluster({})", self.address)
    }
}

/// How queries are spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bytes of files for which another partition is worth its while. A query over fewer runs where the session does.
    pub bytes_of_partition: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { bytes_of_partition: 1 << 20 }
    }
}

/// The workers that answered last, shared with the engine below.
#[derive(Clone, Debug, Default)]
struct Live(Arc<Mutex<Vec<Url>>>);

impl WorkerResolver for Live {
    fn get_urls(&self) -> Result<Vec<Url>> {
        let mut urls = self.0.lock().clone();
        // A plan for one worker would have no stages, and would run in the session. The fragment names it once more.
        if let [only] = &urls[..] {
            let mut again = only.clone();
            again.set_fragment(Some("again"));
            urls.push(again);
        }
        Ok(urls)
    }
}

impl Cluster {
    /// Connects to the workers of an address: to all of them, or to those that answer if `some` are enough. Must be
    /// called inside of a tokio runtime.
    ///
    /// # Errors
    /// A worker that does not answer, has another token, or is of another build; with `some`, if none is left. The
    /// error names the worker.
    pub async fn connect(
        address: Address,
        identity: &Identity,
        settings: Settings,
        some: bool,
    ) -> std::result::Result<Cluster, Diagnostic> {
        let channels = Channels::new(identity);
        let urls = address.urls();
        let asked = join_all(urls.iter().map(|url| card_of_this_build(&channels, url))).await;
        let mut cards = Vec::with_capacity(urls.len());
        let mut first = None;
        for (url, card) in urls.into_iter().zip(asked) {
            match card {
                Ok(card) => cards.push((url, Some(card))),
                Err(error) if !some => return Err(error),
                Err(error) => {
                    first.get_or_insert(error);
                    cards.push((url, None));
                }
            }
        }
        let live: Vec<Url> = cards.iter().filter(|(_, card)| card.is_some()).map(|(url, _)| url.clone()).collect();
        if let (true, Some(error)) = (live.is_empty(), first) {
            return Err(error);
        }
        let live = Live(Arc::new(Mutex::new(live)));
        Ok(Cluster {
            address,
            identity: identity.clone(),
            channels,
            live,
            cards: Mutex::new(cards),
            settings,
            next_reconnect: Mutex::new(Instant::now()),
        })
    }

    /// The address in its canonical form.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The workers, with how many tasks each runs now. One that does not answer has no cores.
    pub async fn info(&self) -> ClusterInfo {
        let cards = self.cards.lock().clone();
        let worker = |(url, card): &(Url, Option<Card>)| {
            let (url, card) = (url.clone(), card.clone());
            async move {
                let is_live = self.live.0.lock().contains(&url);
                let tasks = match is_live {
                    true => tokio::time::timeout(PROBE, self.tasks(&url)).await.ok().flatten(),
                    false => None,
                };
                let (address, gone) = (name_of(&url), "no answer".to_string());
                match (card, tasks) {
                    (Some(Card { cores, memory, device, build }), Some(tasks)) => {
                        WorkerInfo { address, cores, memory, device, build, tasks: tasks.len() as u32 }
                    }
                    _ => WorkerInfo { address, cores: 0, memory: 0, device: gone, build: String::new(), tasks: 0 },
                }
            }
        };
        ClusterInfo { address: self.address.to_string(), workers: join_all(cards.iter().map(worker)).await }
    }

    /// The tasks that a worker runs now.
    async fn tasks(&self, url: &Url) -> Option<Vec<grpc::TaskProgress>> {
        let channel = self.channels.get(url).await.ok()?;
        let mut client: grpc::ObservabilityServiceClient<Channel> = grpc::ObservabilityServiceClient::new(channel);
        Some(client.get_task_progress(grpc::GetTaskProgressRequest {}).await.ok()?.into_inner().tasks)
    }

    /// The tasks of all live workers.
    pub(crate) async fn all_tasks(&self) -> Vec<grpc::TaskProgress> {
        let urls = self.live.0.lock().clone();
        join_all(urls.iter().map(|url| self.tasks(url))).await.into_iter().flatten().flatten().collect()
    }

    /// How many workers answered last, and how many there are.
    pub fn workers(&self) -> (usize, usize) {
        (self.live.0.lock().len(), self.cards.lock().len())
    }

    /// Asks all workers again how they are.
    pub async fn refresh(&self) {
        self.lost().await;
        self.reconnect_now().await;
    }

    /// Adds the workers that were lost and answer now. A worker that hangs would delay each query by [`PROBE`], so
    /// there are pauses of [`PAUSE`] between tries, unless all workers are lost.
    pub(crate) async fn reconnect(&self) {
        let is_due = *self.next_reconnect.lock() <= Instant::now();
        if is_due || self.live.0.lock().is_empty() {
            self.reconnect_now().await;
        }
    }

    async fn reconnect_now(&self) {
        let start = Instant::now();
        let live = self.live.0.lock().clone();
        let known = self.cards.lock().iter().map(|(url, _)| url.clone()).collect::<Vec<_>>();
        let lost: Vec<&Url> = known.iter().filter(|url| !live.contains(url)).collect();
        let asked = join_all(lost.iter().map(|url| card_of_this_build(&self.channels, url))).await;
        for (url, card) in lost.iter().zip(asked) {
            if let Ok(card) = card {
                self.cards
                    .lock()
                    .iter_mut()
                    .filter(|(known, _)| known == *url)
                    .for_each(|(_, old)| *old = Some(card.clone()));
                let mut live = self.live.0.lock();
                // Another query may have found it, too.
                if !live.contains(url) {
                    live.push((*url).clone());
                }
            }
        }
        *self.next_reconnect.lock() = Instant::now() + PAUSE * start.elapsed();
    }

    /// Asks all workers whether they live, and leaves out those that do not. Gives their names.
    pub(crate) async fn lost(&self) -> Vec<String> {
        let urls = self.live.0.lock().clone();
        let asked = join_all(urls.iter().map(|url| {
            // The old connection may not know yet that the worker is gone.
            self.channels.forget(url);
            card(&self.channels, url)
        }))
        .await;
        let lost: Vec<Url> =
            urls.into_iter().zip(asked).filter(|(_, card)| card.is_err()).map(|(url, _)| url).collect();
        self.live.0.lock().retain(|url| !lost.contains(url));
        lost.iter().map(name_of).collect()
    }

    /// A session that plans for the workers, made of the engine's. `planner` makes its physical plans.
    ///
    /// # Errors
    /// If the engine below refuses its settings.
    pub fn session(
        &self,
        base: &SessionState,
        planner: Arc<dyn QueryPlanner + Send + Sync>,
    ) -> std::result::Result<SessionState, Diagnostic> {
        // A plan with one partition has no exchange at which it could be cut.
        let cores =
            self.cards.lock().iter().filter_map(|(_, card)| Some(card.as_ref()?.cores as usize)).min().unwrap_or(1);
        let config = base.config().clone().with_target_partitions(cores.max(2));
        // A step above a sort keeps its order only if the rows stay in their one partition.
        let config =
            config.with_round_robin_repartition(false).with_repartition_file_min_size(self.settings.bytes_of_partition);
        let state = SessionStateBuilder::new_from_existing(base.clone())
            .with_config(config)
            .with_query_planner(Arc::new(Planner(planner)))
            .with_distributed_worker_resolver(self.live.clone())
            .with_distributed_channel_resolver(self.channels.clone())
            .with_distributed_user_codec(SignedPlanCodec {
                identity: self.identity.clone(),
                worker: Arc::from("session"),
                columns: None,
            })
            .with_distributed_route_tasks_handler(same_workers)
            .with_distributed_desired_task_count_handler(leaves::tasks)
            .with_distributed_scale_up_leaf_node_handler(leaves::pieces)
            .with_distributed_file_scan_config_bytes_per_partition(self.settings.bytes_of_partition)
            .map_err(diagnose)?
            // Nothing shows them.
            .with_distributed_metrics_collection(false)
            .map_err(diagnose)?
            .with_distributed_planner();
        Ok(state.build())
    }
}

/// Sends the tasks of a stage to the workers in their order, so that a worker finds columns in its cache.
fn same_workers(event: RouteTasksEvent<'_>) -> Option<Result<RouteTasksEventResponse>> {
    // The engine below sends a single task to where its input is.
    if event.task_count == 1 {
        return None;
    }
    let urls = get_distributed_worker_resolver(event.task_ctx.session_config()).and_then(|workers| workers.get_urls());
    Some(match urls {
        Ok(urls) if !urls.is_empty() => {
            let tasks = urls.iter().cycle().take(event.task_count).cloned();
            Ok(RouteTasksEventResponse::new(tasks.collect()))
        }
        Ok(_) => internal_err!("a query was sent to no worker"),
        Err(error) => Err(error),
    })
}

/// Makes the physical plan of another planner ready to be cut into stages.
#[derive(Debug)]
struct Planner(Arc<dyn QueryPlanner + Send + Sync>);

#[async_trait::async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn datafusion::catalog::Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.0.create_physical_plan(plan, session).await?;
        leaves::written(keys::as_columns(plan)?)
    }
}

/// As [`card`], and fails for a worker of another build.
async fn card_of_this_build(channels: &Channels, url: &Url) -> std::result::Result<Card, Diagnostic> {
    let card = card(channels, url).await?;
    if card.build == build_id() {
        return Ok(card);
    }
    let (name, theirs, ours) = (name_of(url), short(&card.build), short(build_id()));
    let message = format!("the worker {name} is of another build ({theirs}) than this session ({ours})");
    Err(failed("cluster-build", message).help("install the same version on all machines, and start the workers again"))
}

/// Asks a worker for its card.
async fn card(channels: &Channels, url: &Url) -> std::result::Result<Card, Diagnostic> {
    let name = name_of(url);
    let asked = async {
        let mut client = channels.client(url).await.map_err(|e| reasons(&e))?;
        let answer = client.get_worker_info(GetWorkerInfoRequest {}).await.map_err(|e| reasons(&e))?;
        Ok::<_, String>(answer.version)
    };
    let answer = match tokio::time::timeout(PROBE, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(reason)) => {
            channels.forget(url);
            return Err(unreachable(&name, &reason));
        }
        Err(_) => {
            channels.forget(url);
            let message = format!("the worker {name} does not answer within {} s", PROBE.as_secs());
            return Err(failed("cluster-worker", message)
                .help("it may be stopped or overloaded: look at it on its machine, or leave it out of the address"));
        }
    };
    serde_json::from_str(&answer).map_err(|_| {
        failed("cluster-build", format!("the worker {name} is of another version of Onrush: it says `{answer}`"))
            .help("install the same version on all machines, and start the workers again")
    })
}

fn unreachable(name: &str, reason: &str) -> Diagnostic {
    let lower = reason.to_ascii_lowercase();
    // Words of TLS errors between ends with different keys.
    if ["certificate", "handshake", "decrypt", "unknownissuer", "badsignature", "alert"]
        .iter()
        .any(|word| lower.contains(word))
    {
        return failed("cluster-token", format!("the worker {name} has another token than this session"))
            .note(reason.to_string())
            .help("ONRUSH_TOKEN, or the file `~/.config/onrush/token`, must be the same on all machines");
    }
    failed("cluster-worker", format!("the worker {name} cannot be reached: {reason}"))
        .help("start it on its machine with `onrush-session worker-node --listen HOST:PORT`")
}

fn short(build: &str) -> &str {
    build.get(..12).unwrap_or(build)
}
