//! The service of views: plots, pictures of graphs, tables with pages, dashboards.

use std::sync::Arc;

use onrush_engine::{Answer, Engine, Job, misrouted};
use onrush_frame::TaskHandle;
use onrush_wire::Diagnostic;
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::{SectionKind, VisualAsk, VisualSpec};

use crate::dashboard::Dashboards;
use crate::explorer::Explorer;
use crate::graph::{Pictures, graph_card};
use crate::plot::{Rasters, plot};

/// The caches of all views of one engine.
pub struct Views {
    engine: Arc<Engine>,
    explorer: Explorer,
    pictures: Pictures,
    rasters: Rasters,
    dashboards: Dashboards,
}

impl Views {
    pub fn new(engine: Arc<Engine>) -> Self {
        Views {
            explorer: Explorer::new(Arc::clone(&engine)),
            pictures: Pictures::default(),
            rasters: Rasters::default(),
            dashboards: Dashboards::default(),
            engine,
        }
    }

    /// Answers a call of the family of views.
    ///
    /// # Errors
    /// Those of the call.
    pub fn answer(&self, job: Job, task: &TaskHandle) -> Result<Answer, Diagnostic> {
        let engine = &*self.engine;
        Ok(Answer::reply(match job.request {
            Request::Plot(request) => Reply::Plot(plot(engine, &request, task)?),
            Request::GraphPlot(request) => Reply::GraphPlot(self.pictures.plot(engine, &request, task)?),
            Request::GraphCard(request) => Reply::GraphCard(graph_card(engine, &request, task)?),
            Request::Explore { view, what } => Reply::Explored(self.explorer.explore(&view, &what, task)?),
            Request::Visual { what, ask } => return self.visual(&what, &ask, task),
            other => return Err(misrouted(&other)),
        }))
    }

    fn visual(&self, what: &VisualSpec, ask: &VisualAsk, task: &TaskHandle) -> Result<Answer, Diagnostic> {
        let engine = &*self.engine;
        let (head, sections) = match what {
            VisualSpec::Graph(request) => {
                let (head, sections) = self.pictures.answer(engine, request, ask, task)?;
                let named = sections.into_iter().map(|(name, bytes)| (name.to_string(), SectionKind::U32, bytes));
                (head, named.collect())
            }
            VisualSpec::Raster(request) => (self.rasters.answer(engine, request, ask, task)?, Vec::new()),
            VisualSpec::Dashboard(request) => self.dashboards.answer(engine, request, ask, task)?,
        };
        Ok(Answer::Visual { head, sections })
    }
}
