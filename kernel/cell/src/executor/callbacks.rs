//! Callbacks of changed controls: run as a cell, with a snapshot and a way back, but nothing to compile.

use std::sync::mpsc::Sender;

use onrush_wire::control::Change;
use onrush_wire::host::FinishedRun;

use super::Executor;
use crate::backtrace;
use crate::hints;
use crate::interface::{Event, Outcome};
use crate::process::RunOutcome;
use crate::source_map::SourceMap;

impl Executor {
    /// Runs the closures that wait for a change of these controls. `number` stands for the execution number of a cell.
    /// `dropped`: controls that are on no screen any more.
    pub fn run_callbacks(
        &mut self,
        number: u64,
        change: Change,
        dropped: Vec<String>,
        events: &Sender<Event>,
    ) -> Outcome {
        self.knowledge.probe.stop();
        self.stop.begin();
        if !dropped.is_empty() {
            self.process.drop_controls(dropped);
        }
        self.process.open(number);
        let ended = self.process.run_callbacks(change, events);
        self.process.close();
        let outcome = match ended {
            RunOutcome::Ok(FinishedRun { variables, objects, released, published, .. }) => {
                for variable in variables {
                    if let Some(known) = self.notebook.variables.get_mut(&variable.name) {
                        known.preview = variable.preview;
                        known.bytes = variable.bytes;
                    }
                }
                let (generation, lineage) = (self.process.generation(), self.process.lineage());
                Outcome::Ok { generation, complaint: None, objects, released, published, lineage, rolled_back: false }
            }
            RunOutcome::Failed { mut diagnostic, variables_lost } => {
                if variables_lost {
                    self.lose_variables(events);
                }
                diagnostic.trace = backtrace::calls(&self.process.take_calls(), &self.notebook, None);
                // Its places are in the cells that made the closures.
                self.map_labels(&mut diagnostic, "", &SourceMap::default());
                let source = |file: &str| self.sources.get(file).map(|(_, text)| text.as_str());
                backtrace::place(&mut diagnostic, source);
                diagnostic.narrow(source);
                diagnostic.widen(source);
                hints::advise_run(&mut diagnostic);
                self.failed(vec![diagnostic], true)
            }
        };
        self.stop.end();
        outcome
    }
}
