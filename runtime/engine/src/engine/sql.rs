//! Queries of SQL: statements that need the rows or the columns of other queries first, then the plan.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::LogicalPlan;
use onrush_frame::{Table, TaskHandle};
use onrush_logical::frame_table::Frame;
use onrush_logical::ops::Inputs;
use onrush_wire::Diagnostic;

use super::Engine;

type Tables = [(String, Arc<Frame>)];

/// Runs the queries that a statement needs: the values of a pivot, the columns of what is described.
struct SqlHost<'a> {
    engine: &'a Engine,
    tables: &'a Tables,
    task: &'a TaskHandle,
}

impl Engine {
    /// The plan of a query or a statement.
    pub(super) fn sql(&self, query: &str, tables: &Tables, task: &TaskHandle) -> Result<LogicalPlan, Diagnostic> {
        let query = onrush_sql::prepared(query, &SqlHost { engine: self, tables, task })?;
        self.query(&query, tables)
    }

    fn query(&self, query: &str, tables: &Tables) -> Result<LogicalPlan, Diagnostic> {
        futures::executor::block_on(onrush_sql::plan(self.states.lend(&self.context), query, tables.to_vec()))
    }
}

impl SqlHost<'_> {
    fn plan(&self, query: &str) -> Result<LogicalPlan, Diagnostic> {
        self.engine.analysed(self.engine.query(query, self.tables)?)
    }
}

impl onrush_sql::Host for SqlHost<'_> {
    fn schema(&self, query: &str) -> Result<SchemaRef, Diagnostic> {
        Ok(Arc::new(self.plan(query)?.schema().as_arrow().clone()))
    }

    fn rows(&self, query: &str) -> Result<Table, Diagnostic> {
        self.engine.rows(self.plan(query)?)
    }

    fn explain(&self, query: &str, analyze: bool) -> Result<String, Diagnostic> {
        let plan = self.plan(query)?;
        self.engine.explain_frame(&Frame::computed(0, "sql".to_string(), plan), analyze, self.task)
    }

    fn tables(&self) -> Vec<String> {
        self.tables.iter().map(|(name, _)| name.clone()).collect()
    }
}
