//! All requests of a notebook's processes in one table, and the facts by which the supervisor forwards those that the
//! engine answers.
//!
//! A row of the table is a variant of [`Request`]. A row of a family of the engine also says its title, the objects
//! that it reads, its expressions and its effect: the supervisor needs no more, and the service of the family answers.
//! A row of `supervisor` has no facts. The order of the rows is the protocol (`tests/it/requests.rs`): new rows come
//! last.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Span;
use crate::explore::{Explore, View};
use crate::expr::Expr;
use crate::learn::{Fit, Grid, ModelAsk, ModelId, Splitter, TrainSizes};
use crate::plan::{Op, Sink, Source};
use crate::plot::PlotRequest;
use crate::visual::{GraphCardRequest, GraphPlotRequest, GraphWrite, VisualAsk, VisualSpec};
use crate::{FrameId, Generation, ObjectId, TaskId};

/// The last steps of a plan that the title of a task names.
const TITLE_STEPS: usize = 3;

/// The outcome of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CellEnd {
    Committed {
        /// Rust variables that hold objects of the session: all of them, by name. Those of frames are SQL's tables.
        names: Vec<(String, ObjectId)>,
        /// Handles that were dropped.
        released: Vec<ObjectId>,
        /// Objects to publish under a name for every notebook.
        published: Vec<(String, ObjectId)>,
        /// The generation in which the running cell process began. Objects of older generations ended with their
        /// processes.
        lineage: Generation,
    },
    /// The cell failed: frames it made are parked and released, older ones stay.
    RolledBack,
}

/// The service of the engine process that answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Steps of plans, their results, and files.
    Frames,
    /// Training, evaluation and files of models.
    Models,
    /// Files of graphs. Steps of graph algorithms are steps of plans.
    Graphs,
    /// Plots, pictures, tables with pages, dashboards.
    Views,
}

/// What a call leaves behind besides its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing. A call whose engine died is sent again.
    Pure,
    /// A file or a table of a database. A call whose engine died is not sent again.
    Writes,
    /// An object of the session, which is remembered with the call and made again after its engine died.
    Makes,
}

/// The id of an object inside a call, to be replaced.
#[derive(Debug)]
pub enum ObjectMut<'a> {
    Frame(&'a mut FrameId),
    Model(&'a mut ModelId),
}

impl ObjectMut<'_> {
    pub fn get(&self) -> ObjectId {
        match self {
            ObjectMut::Frame(id) => ObjectId(id.0),
            ObjectMut::Model(id) => ObjectId(id.0),
        }
    }

    pub fn set(&mut self, to: ObjectId) {
        match self {
            ObjectMut::Frame(id) => id.0 = to.0,
            ObjectMut::Model(id) => id.0 = to.0,
        }
    }
}

/// A request that the engine answers. Made by [`Request::into_call`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineCall(Box<Request>);

/// One fact of a row of the table.
macro_rules! fact {
    ($fact:ident, {} or $absent:expr) => {
        $absent
    };
    (title, { title: $title:expr, $($rest:tt)* } or $absent:expr) => {
        $title
    };
    (objects, { title: $title:expr, objects: $objects:expr, $($rest:tt)* } or $absent:expr) => {
        $objects
    };
    (exprs, { title: $title:expr, objects: $objects:expr, exprs: $exprs:expr, $($rest:tt)* } or $absent:expr) => {
        $exprs
    };
    (effect, {
        title: $title:expr, objects: $objects:expr, exprs: $exprs:expr, effect: $effect:expr $(, at: $at:expr)? $(,)?
    } or $absent:expr) => {
        $effect
    };
    (at, {
        title: $title:expr, objects: $objects:expr, exprs: $exprs:expr, effect: $effect:expr, at: $at:expr $(,)?
    } or $absent:expr) => {
        $at
    };
    (at, { $($rest:tt)* } or $absent:expr) => {
        $absent
    };
}

macro_rules! family {
    (supervisor) => {
        None
    };
    (frames) => {
        Some(Family::Frames)
    };
    (models) => {
        Some(Family::Models)
    };
    (graphs) => {
        Some(Family::Graphs)
    };
    (views) => {
        Some(Family::Views)
    };
}

macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $family:ident $name:ident $({ $($field:ident : $type:ty),* $(,)? })? $(($inner:ident : $inner_type:ty))? => $facts:tt;
    )*) => {
        /// What a notebook's processes ask of the session.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Request {
            $( $(#[$doc])* $name $({ $($field: $type),* })? $(($inner_type))?, )*
        }

        impl Request {
            /// The name of the variant, for messages.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Request::$name { .. } => stringify!($name), )*
                }
            }

            /// The service that answers. `None`: the supervisor does.
            pub fn family(&self) -> Option<Family> {
                match self {
                    $( Request::$name { .. } => family!($family), )*
                }
            }
        }

        #[expect(unused_variables, reason = "most facts use some of the fields")]
        impl EngineCall {
            /// A few words for progress. `input` is the title of the first object.
            pub fn title(&self, input: Option<&str>) -> String {
                match &*self.0 {
                    $( Request::$name $({ $($field),* })? $(($inner))? =>
                        titled(input, fact!(title, $facts or |_: &str| String::new())), )*
                }
            }

            /// The objects that the call reads, to be replaced. The first one gives the title. Those of models in
            /// expressions are in [`EngineCall::exprs`].
            pub fn objects_mut(&mut self) -> Vec<ObjectMut<'_>> {
                match &mut *self.0 {
                    $( Request::$name $({ $($field),* })? $(($inner))? => fact!(objects, $facts or Vec::new()), )*
                }
            }

            /// The expressions of the call.
            pub fn exprs(&self) -> Vec<&Expr> {
                match &*self.0 {
                    $( Request::$name $({ $($field),* })? $(($inner))? => fact!(exprs, $facts or Vec::new()), )*
                }
            }

            pub fn effect(&self) -> Effect {
                match &*self.0 {
                    $( Request::$name $({ $($field),* })? $(($inner))? => fact!(effect, $facts or Effect::Pure), )*
                }
            }

            /// The place of the call in a cell, for mistakes that no token stands for.
            pub fn at(&self) -> Option<&Span> {
                match &*self.0 {
                    $( Request::$name $({ $($field),* })? $(($inner))? => fact!(at, $facts or None), )*
                }
            }
        }
    };
}

requests! {
    /// One step of a plan: checked at once, run later. Reply: [`Reply::Frame`](crate::session::Reply::Frame). `at` is
    /// the place of the call.
    frames Step { op: Op, at: Option<Span> } => {
        title: |input| step_title(input, op),
        objects: frames(op.inputs_mut()),
        exprs: op.exprs(),
        effect: Effect::Makes,
        at: at.as_ref(),
    };
    /// Reply: [`Reply::Frame`](crate::session::Reply::Frame).
    supervisor Schema { frame: FrameId } => {};
    /// Runs the frame and returns its first and last rows. `nulls` also counts them for every column. Reply:
    /// [`Reply::Preview`](crate::session::Reply::Preview).
    frames Preview { frame: FrameId, head: u32, tail: u32, nulls: bool } => {
        title: with("show"), objects: frames([frame]), exprs: vec![], effect: Effect::Pure
    };
    /// Reply: [`Reply::Count`](crate::session::Reply::Count).
    frames RowCount { frame: FrameId } => {
        title: with("count"), objects: frames([frame]), exprs: vec![], effect: Effect::Pure
    };
    /// Reply: [`Reply::Batches`](crate::session::Reply::Batches). All columns if `columns` is empty.
    frames Collect { frame: FrameId, columns: Vec<String> } => {
        title: with("collect"), objects: frames([frame]), exprs: vec![], effect: Effect::Pure
    };
    /// A column for the kernels of a `%%cuda` cell. Reply: `Reply::Exported`, or
    /// [`Reply::Batches`](crate::session::Reply::Batches) as for [`Request::Collect`] if the engine has no device, if
    /// the column is small, has nulls or is not numeric, or if the device cannot export it.
    frames ExportColumn { frame: FrameId, column: String } => {
        title: with("export"), objects: frames([frame]), exprs: vec![], effect: Effect::Pure
    };
    /// The only value of an expression that gives one row. Reply: [`Reply::Value`](crate::session::Reply::Value).
    frames Value { frame: FrameId, expr: Expr } => {
        title: with("value"), objects: frames([frame]), exprs: vec![expr], effect: Effect::Pure
    };
    /// Runs the frame and pins the result. Reply: [`Reply::Frame`](crate::session::Reply::Frame), another id.
    frames Persist { frame: FrameId } => {
        title: with("persist"), objects: frames([frame]), exprs: vec![], effect: Effect::Makes
    };
    /// The plan as text; `analyze` runs it and adds times and rows. Reply:
    /// [`Reply::Text`](crate::session::Reply::Text).
    frames Explain { frame: FrameId, analyze: bool } => {
        title: with("explain"), objects: frames([frame]), exprs: vec![], effect: Effect::Pure
    };
    /// Reply: [`Reply::Written`](crate::session::Reply::Written).
    frames Write { frame: FrameId, sink: Sink } => {
        title: writing(sink.name()), objects: frames([frame]), exprs: vec![], effect: Effect::Writes
    };
    /// Reply: [`Reply::Plot`](crate::session::Reply::Plot).
    views Plot(plot: PlotRequest) => {
        title: with("plot"), objects: frames([&mut plot.frame]), exprs: plot.exprs().collect(), effect: Effect::Pure
    };
    /// Reply: [`Reply::Written`](crate::session::Reply::Written).
    graphs WriteGraph(write: GraphWrite) => {
        title: writing(write.path.clone()), objects: frames(write.frames_mut()), exprs: vec![], effect: Effect::Writes
    };
    /// Reply: [`Reply::GraphPlot`](crate::session::Reply::GraphPlot).
    views GraphPlot(plot: GraphPlotRequest) => {
        title: with("plot"), objects: frames(plot.frames_mut()), exprs: vec![], effect: Effect::Pure
    };
    /// Reply: [`Reply::GraphCard`](crate::session::Reply::GraphCard).
    views GraphCard(card: GraphCardRequest) => {
        title: with("show"), objects: frames(card.frames_mut()), exprs: vec![], effect: Effect::Pure
    };

    /// Trains a model. Reply: [`Reply::Model`](crate::session::Reply::Model).
    models Fit { fit: Fit, at: Option<Span> } => {
        title: |input| format!("fit {} on {input}", fit.spec.estimator),
        objects: frames(fit.frames_mut()),
        exprs: vec![],
        effect: Effect::Makes,
        at: at.as_ref(),
    };
    /// A model of a file. Reply: [`Reply::Model`](crate::session::Reply::Model).
    models LoadModel { path: String, folder: String } => {
        title: |_| format!("load {path}"), objects: vec![], exprs: vec![], effect: Effect::Makes
    };
    /// Reply: [`Reply::Batches`](crate::session::Reply::Batches), or [`Reply::Written`](crate::session::Reply::Written)
    /// for a file.
    models Model { model: ModelId, what: ModelAsk } => {
        title: |input| input.to_string(),
        objects: std::iter::once(ObjectMut::Model(model)).chain(what.frames_mut().map(ObjectMut::Frame)).collect(),
        exprs: vec![],
        effect: if matches!(what, ModelAsk::Save { .. }) { Effect::Writes } else { Effect::Pure },
    };
    /// Trains and scores on folds: a row for each. Reply: [`Reply::Batches`](crate::session::Reply::Batches).
    models CrossValidate {
        fit: Fit, cv: Splitter, scoring: Vec<String>, train_score: bool, at: Option<Span>,
    } => {
        title: |input| format!("cross_validate {} on {input}", fit.spec.estimator),
        objects: frames(fit.frames_mut()),
        exprs: vec![],
        effect: Effect::Pure,
        at: at.as_ref(),
    };
    /// Separation of clusters: `silhouette`, `calinski_harabasz` or `davies_bouldin`. Reply:
    /// [`Reply::Value`](crate::session::Reply::Value).
    models ClusterScore { frame: FrameId, label: String, score: String } => {
        title: with(score), objects: frames([frame]), exprs: vec![], effect: Effect::Pure
    };

    /// Kernel only: an output shows the frame. The frame lives until it has as many [`Request::Hide`], or the notebook
    /// ends. Reply: [`Reply::Done`](crate::session::Reply::Done).
    supervisor Show { frame: FrameId } => {};
    /// Kernel only.
    supervisor Hide { frame: FrameId } => {};
    /// For a table explorer. Reply: [`Reply::Explored`](crate::session::Reply::Explored).
    views Explore { view: View, what: Explore } => {
        title: |input| match what {
            Explore::Write { sink, .. } => writing(sink.name())(input),
            _ => with("explore")(input),
        },
        objects: frames([&mut view.frame]),
        exprs: view.exprs().collect(),
        effect: if matches!(what, Explore::Write { .. }) { Effect::Writes } else { Effect::Pure },
    };
    /// For a live picture. Reply: [`Reply::Visual`](crate::session::Reply::Visual).
    views Visual { what: VisualSpec, ask: VisualAsk } => {
        title: with("plot"), objects: frames(what.frames_mut()), exprs: what.exprs(), effect: Effect::Pure
    };

    /// Another notebook's published frame or model. Reply: [`Reply::Frame`](crate::session::Reply::Frame) or
    /// [`Reply::Model`](crate::session::Reply::Model).
    supervisor Get { name: String } => {};
    /// Reply: [`Reply::Names`](crate::session::Reply::Names): this notebook's names, then what all notebooks published.
    supervisor Names => {};

    /// Kernel only: a cell starts. What its generation makes from here on is undone by
    /// [`CellEnd::RolledBack`].
    supervisor BeginCell { cell: u64, generation: Generation } => {};
    /// Kernel only: the cell ended. Reply: [`Reply::Done`](crate::session::Reply::Done).
    supervisor EndCell { generation: Generation, end: CellEnd } => {};
    /// Kernel only: stops what this notebook has under way.
    supervisor Cancel => {};
    /// Stops one task of this notebook.
    supervisor CancelTask { task: TaskId } => {};
    /// Reply: [`Reply::Tasks`](crate::session::Reply::Tasks): of this notebook, or of all for an observer.
    supervisor Tasks => {};
    /// From here on the connection carries events of this notebook.
    supervisor Subscribe => {};
    /// Reply: [`Reply::Status`](crate::session::Reply::Status).
    supervisor Status => {};
    /// Ends the session once nobody else is attached; `force` ends it now.
    supervisor Shutdown { force: bool } => {};

    /// Trains and scores on folds for each value of a parameter: a row for each value and fold. The path of the
    /// parameter goes through the steps of a pipeline. Reply: [`Reply::Batches`](crate::session::Reply::Batches).
    models ValidationCurve {
        fit: Fit, cv: Splitter, scoring: Vec<String>, param: String, values: Grid, at: Option<Span>,
    } => {
        title: |input| format!("validation_curve {} on {input}", fit.spec.estimator),
        objects: frames(fit.frames_mut()),
        exprs: vec![],
        effect: Effect::Pure,
        at: at.as_ref(),
    };
    /// The rows in sealed memory that the session itself uses from here on, where it holds them: the next answer is the
    /// same memory. All columns if `columns` is empty. Reply: [`Reply::Batches`](crate::session::Reply::Batches).
    frames Share { frame: FrameId, columns: Vec<String> } => {
        title: with("share"), objects: frames([frame]), exprs: vec![], effect: Effect::Pure
    };
    /// Trains on folds and predicts the rows that a model was not trained on. `method` is `predict`, `predict_proba` or
    /// `decision_function`. A row for each row of the frame, in its order. Reply:
    /// [`Reply::Batches`](crate::session::Reply::Batches).
    models CrossValPredict { fit: Fit, cv: Splitter, method: String, at: Option<Span> } => {
        title: |input| format!("cross_val_predict {} on {input}", fit.spec.estimator),
        objects: frames(fit.frames_mut()),
        exprs: vec![],
        effect: Effect::Pure,
        at: at.as_ref(),
    };
    /// Trains and scores on folds for each number of training rows: a row for each number and fold. Reply:
    /// [`Reply::Batches`](crate::session::Reply::Batches).
    models LearningCurve {
        fit: Fit, cv: Splitter, scoring: Vec<String>, sizes: TrainSizes, at: Option<Span>,
    } => {
        title: |input| format!("learning_curve {} on {input}", fit.spec.estimator),
        objects: frames(fit.frames_mut()),
        exprs: vec![],
        effect: Effect::Pure,
        at: at.as_ref(),
    };
    /// Asks the workers of a cluster for their cores, memory, device and tasks. The address is as the user wrote it:
    /// `onrush://host:port,host:port`. Reply: [`Reply::Cluster`](crate::session::Reply::Cluster).
    frames Connect { address: String } => {
        title: |_| "connect".to_string(), objects: vec![], exprs: vec![], effect: Effect::Pure
    };
}

impl Request {
    /// The request as a call of the engine.
    ///
    /// # Errors
    /// The request itself if the supervisor answers it.
    pub fn into_call(self) -> Result<EngineCall, Box<Request>> {
        match self.family() {
            Some(_) => Ok(EngineCall(Box::new(self))),
            None => Err(Box::new(self)),
        }
    }
}

impl EngineCall {
    pub fn request(&self) -> &Request {
        &self.0
    }

    pub fn request_mut(&mut self) -> &mut Request {
        &mut self.0
    }

    /// True for a search of parameters, or a pipeline that ends with one: if it is stopped, the best trial so far is
    /// its result.
    pub fn is_search(&self) -> bool {
        matches!(&*self.0, Request::Fit { fit, .. } if fit.spec.ends_with_search())
    }

    /// True for a call that makes a model of a file. The file may hold another model by now.
    pub fn loads_a_model(&self) -> bool {
        matches!(*self.0, Request::LoadModel { .. })
    }

    /// The title of the object that the call makes. `input` is the title of the first object.
    pub fn title_of_made(&self, input: Option<&str>) -> String {
        match (&*self.0, input) {
            (Request::Persist { .. }, Some(input)) => input.to_string(),
            _ => self.title(input),
        }
    }
}

impl From<EngineCall> for Request {
    fn from(call: EngineCall) -> Self {
        *call.0
    }
}

fn titled(input: Option<&str>, title: impl FnOnce(&str) -> String) -> String {
    title(input.unwrap_or_default())
}

/// A title of a verb and the title of the input: `show: read a.csv → filter`.
fn with(verb: &str) -> impl FnOnce(&str) -> String {
    move |input| format!("{verb}: {input}")
}

/// The title of writing a file.
fn writing(path: String) -> impl FnOnce(&str) -> String {
    move |input| format!("write {}: {input}", file_name(&path))
}

fn frames<'a>(ids: impl IntoIterator<Item = &'a mut FrameId>) -> Vec<ObjectMut<'a>> {
    ids.into_iter().map(ObjectMut::Frame).collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The last steps of a plan: `read a.csv → filter → sort`. `input` is empty for a step without an input.
pub fn step_title(input: &str, op: &Op) -> String {
    let step = match op {
        Op::Read(source) => format!("read {}", file_name(&Source::name(source))),
        Op::FromArrow { .. } => "values".to_string(),
        Op::Sql { .. } => return "sql".to_string(),
        other => other.name().to_string(),
    };
    if input.is_empty() {
        return step;
    }
    let mut steps: Vec<&str> = input.split(" → ").collect();
    steps.push(&step);
    let from = steps.len().saturating_sub(TITLE_STEPS);
    steps[from..].join(" → ")
}
