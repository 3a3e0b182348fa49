//! Calls as a leaf of a plan.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{AsArray, BinaryBuilder, RecordBatch, StringBuilder, UInt64Array, UInt64Builder};
use arrow::compute::{cast, concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{exec_err, project_schema};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use onrush_wire::cell_function::CallResult;
use tokio::time::Instant;

use crate::function::Function;
use crate::processes::{concurrency, pool};

/// Results wait for others at most so long, and for so many rows or bytes.
const WAIT: Duration = Duration::from_millis(50);
const MOST_ROWS: usize = 4096;
const MOST_BYTES: usize = 16 << 20;

/// The number of the call, and its value or its error.
fn result_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::UInt64, false),
        Field::new("value", DataType::Binary, true),
        Field::new("error", DataType::Utf8, true),
    ]))
}

/// Calls of a function as a table. A scan makes them.
#[derive(Debug)]
pub struct CallTable {
    function: Arc<Function>,
    /// Columns `n`, a number, and `argument`, bytes.
    arguments: RecordBatch,
    schema: SchemaRef,
}

impl CallTable {
    /// Calls with these arguments: columns `n` and `argument`.
    ///
    /// # Errors
    /// If the columns are other ones.
    pub fn new(function: Function, schema: &SchemaRef, arguments: &[RecordBatch]) -> Result<CallTable> {
        let rows = concat_batches(schema, arguments)?;
        let (Some(numbers), Some(bytes)) = (rows.column_by_name("n"), rows.column_by_name("argument")) else {
            return exec_err!("calls have the columns `n` and `argument`");
        };
        let columns = [("n", cast(numbers, &DataType::UInt64)?), ("argument", cast(bytes, &DataType::Binary)?)];
        let arguments = RecordBatch::try_from_iter(columns)?;
        Ok(CallTable { function: Arc::new(function), arguments, schema: result_schema() })
    }
}

#[async_trait]
impl TableProvider for CallTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        Ok(Arc::new(CallExec::new(Arc::clone(&self.function), self.arguments.clone(), columns)?))
    }
}

/// Makes calls. Results come in the order in which the calls end.
pub struct CallExec {
    function: Arc<Function>,
    arguments: RecordBatch,
    /// The columns of the result that are wanted.
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl CallExec {
    /// Two, so that a plan has an exchange at which it can be cut.
    const PARTITIONS: usize = 2;

    /// # Errors
    /// If a column is not there.
    pub fn new(function: Arc<Function>, arguments: RecordBatch, columns: Vec<usize>) -> Result<CallExec> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(project_schema(&result_schema(), Some(&columns))?),
            Partitioning::UnknownPartitioning(Self::PARTITIONS),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(CallExec { function, arguments, columns, properties: Arc::new(properties) })
    }

    /// The function, the arguments and the wanted columns, for another process.
    pub fn parts(&self) -> (&Arc<Function>, &RecordBatch, &[usize]) {
        (&self.function, &self.arguments, &self.columns)
    }

    /// How many calls there are.
    pub fn calls(&self) -> usize {
        self.arguments.num_rows()
    }

    /// One of `count` shares of the calls: each `count`-th one, because neighbours often take a similar time.
    ///
    /// # Errors
    /// If the rows are too many for an index.
    pub fn share(&self, number: usize, count: usize) -> Result<CallExec> {
        let arguments = strided(&self.arguments, number, count)?;
        CallExec::new(Arc::clone(&self.function), arguments, self.columns.clone())
    }
}

fn strided(rows: &RecordBatch, number: usize, count: usize) -> Result<RecordBatch> {
    let indices = UInt64Array::from_iter_values((number..rows.num_rows()).step_by(count.max(1)).map(|row| row as u64));
    Ok(take_record_batch(rows, &indices)?)
}

impl fmt::Debug for CallExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallExec({}, {} calls)", self.function.name, self.calls())
    }
}

impl DisplayAs for CallExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "CallExec: function={}, calls={}", self.function.name, self.calls())
    }
}

impl ExecutionPlan for CallExec {
    fn name(&self) -> &str {
        "CallExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

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

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let arguments = strided(&self.arguments, partition, Self::PARTITIONS)?;
        let function = Arc::clone(&self.function);
        let results = async move {
            let made = tokio::task::spawn_blocking(move || pool(&function)).await;
            let pool = made.map_err(|e| DataFusionError::External(Box::new(e)))??;
            let rows = arguments.num_rows();
            let call = move |row: usize| {
                let (pool, arguments) = (Arc::clone(&pool), arguments.clone());
                async move {
                    let number = arguments.column(0).as_primitive::<UInt64Type>().value(row);
                    let result = pool.call(arguments.column(1).as_binary::<i32>().value(row)).await?;
                    Ok((number, result))
                }
            };
            Ok::<_, DataFusionError>(stream::iter((0..rows).map(call)).buffer_unordered(concurrency()))
        };
        let results = stream::once(results).try_flatten().boxed();
        let (schema, columns) = (self.schema(), self.columns.clone());
        let batches = batches(results).map(move |batch| Ok(batch?.project(&columns)?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

type Numbered = (u64, CallResult);

/// Results together that come within [`WAIT`].
fn batches(results: BoxStream<'static, Result<Numbered>>) -> impl futures::Stream<Item = Result<RecordBatch>> + Send {
    stream::try_unfold(results, |mut results| async move {
        let Some(first) = results.try_next().await? else { return Ok(None) };
        let (mut bytes, until) = (bytes_of(&first), Instant::now() + WAIT);
        let mut together = vec![first];
        while together.len() < MOST_ROWS && bytes < MOST_BYTES {
            let Ok(next) = tokio::time::timeout_at(until, results.try_next()).await else { break };
            let Some(result) = next? else { break };
            bytes += bytes_of(&result);
            together.push(result);
        }
        Ok(Some((batch(together)?, results)))
    })
}

fn bytes_of((_, result): &Numbered) -> usize {
    result.as_ref().map_or_else(String::len, Vec::len)
}

fn batch(results: Vec<Numbered>) -> Result<RecordBatch> {
    let (mut numbers, mut values, mut errors) = (UInt64Builder::new(), BinaryBuilder::new(), StringBuilder::new());
    for (number, result) in results {
        numbers.append_value(number);
        values.append_option(result.as_ref().ok());
        errors.append_option(result.err());
    }
    let columns = vec![Arc::new(numbers.finish()) as _, Arc::new(values.finish()) as _, Arc::new(errors.finish()) as _];
    Ok(RecordBatch::try_new(result_schema(), columns)?)
}
