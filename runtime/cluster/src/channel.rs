//! Connections to workers: encrypted, kept open, and known to be alive.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion_distributed::{ChannelResolver, WorkerChannel, grpc};
use parking_lot::Mutex;
use tonic::transport::{Channel, Endpoint};
use url::Url;

use crate::address::name_of;
use crate::identity::Identity;
use crate::signed_plan::SigningChannel;

/// How long a worker may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// How often a worker is asked whether it lives while it computes. A process that was stopped keeps its sockets.
const PING: Duration = Duration::from_secs(2);
/// How long the answer may take.
const PONG: Duration = Duration::from_secs(8);

/// The open connections of a process, by worker.
#[derive(Clone)]
pub(crate) struct Channels(Arc<Inner>);

struct Inner {
    identity: Identity,
    open: Mutex<HashMap<Url, Channel>>,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.open.lock().keys().map(Url::as_str)).finish()
    }
}

impl Channels {
    pub fn new(identity: &Identity) -> Channels {
        Channels(Arc::new(Inner { identity: identity.clone(), open: Mutex::default() }))
    }

    /// The connection to a worker, opened at first use.
    pub async fn get(&self, url: &Url) -> Result<Channel, tonic::transport::Error> {
        let open = self.0.open.lock().get(url).cloned();
        if let Some(channel) = open {
            return Ok(channel);
        }
        let channel = Endpoint::from_shared(url.to_string())?
            .tls_config(self.0.identity.client())?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PING)
            .keep_alive_timeout(PONG)
            .keep_alive_while_idle(false)
            // A shuffle fills the windows: 64 KB of them would wait for the network after each message.
            .initial_stream_window_size(8 << 20)
            .initial_connection_window_size(32 << 20)
            .connect()
            .await?;
        self.0.open.lock().insert(url.clone(), channel.clone());
        Ok(channel)
    }

    /// Forgets a connection, so that the next call opens another one.
    pub fn forget(&self, url: &Url) {
        self.0.open.lock().remove(url);
    }

    /// The client of a worker, which signs plans.
    pub async fn client(&self, url: &Url) -> Result<Box<dyn WorkerChannel>, tonic::transport::Error> {
        let channel = self.get(url).await?;
        let client = grpc::create_worker_client(grpc::BoxCloneSyncChannel::new(channel));
        Ok(Box::new(SigningChannel(client)))
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        self.client(url).await.map_err(|e| {
            self.forget(url);
            DataFusionError::Execution(format!("the worker {} cannot be reached: {}", name_of(url), reasons(&e)))
        })
    }
}

/// The text of an error and of its sources, down to the root.
pub(crate) fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    text
}
