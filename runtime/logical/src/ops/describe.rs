//! Turns one row of aggregates into a row for each statistic, in a separate plan node. DataFusion treats every
//! aggregate over all rows as a constant, and searches all columns of a projection above for each constant. A
//! projection that picks the statistics would take minutes to plan for 500 columns.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow::compute::{cast, concat, concat_batches};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use futures::TryStreamExt;
use onrush_expr::error::diagnose;
use onrush_wire::Diagnostic;

use crate::drop_functional_dependencies::Keyless;

/// The place of a value: its column, from 1, and its row.
pub type Place = (usize, usize);

/// The first column is that of the statistics' names. Without names the values are one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Describe {
    pub input: LogicalPlan,
    pub values: Vec<Expr>,
    /// Column and row of each value. A cell without a value is null.
    pub places: Arc<Vec<Place>>,
    pub names: &'static [&'static str],
    pub schema: DFSchemaRef,
}

impl PartialOrd for Describe {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Describe {
    fn name(&self) -> &str {
        "Describe"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.values.clone()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Describe")
    }

    fn with_exprs_and_inputs(&self, values: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let [input] = <[LogicalPlan; 1]>::try_from(inputs).map_err(|_| wrong_inputs())?;
        Ok(Describe { input, values, ..self.clone() })
    }

    /// All of them: without this DataFusion reads all columns of what lies below.
    fn necessary_children_exprs(&self, _: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![(0..self.input.schema().fields().len()).collect()])
    }
}

impl Describe {
    /// One row of values, each a column of `schema`.
    ///
    /// # Errors
    /// If two columns have one name.
    pub fn row(input: LogicalPlan, values: Vec<Expr>, schema: Schema) -> std::result::Result<LogicalPlan, Diagnostic> {
        let schema = Arc::new(DFSchema::try_from(schema).map_err(diagnose)?);
        let node = Describe { input, values, places: Arc::default(), names: &[], schema };
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }
}

fn wrong_inputs() -> DataFusionError {
    DataFusionError::Internal("a description got another number of inputs".to_string())
}

/// Plans `Describe` nodes in addition to the nodes of DataFusion.
#[derive(Debug)]
pub struct Planner;

#[async_trait::async_trait]
impl datafusion::execution::context::QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn datafusion::catalog::Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(Planner)]);
        planner.create_physical_plan(plan, session).await
    }
}

#[async_trait::async_trait]
impl ExtensionPlanner for Planner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn datafusion::catalog::Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let [input] = inputs else { return Err(wrong_inputs()) };
        if node.as_any().is::<Keyless>() {
            return Ok(Some(Arc::clone(input)));
        }
        let Some(node) = node.as_any().downcast_ref::<Describe>() else { return Ok(None) };
        let physical = |expr| planner.create_physical_expr(expr, node.input.schema(), session, context);
        let values = node.values.iter().map(physical).collect::<Result<_>>()?;
        let schema = Arc::new(node.schema.as_arrow().clone());
        let (inputs, places) = (vec![Arc::clone(input)], Arc::clone(&node.places));
        let names = node.names.iter().map(|name| (*name).to_string()).collect();
        Ok(Some(Arc::new(DescribeExec::new(inputs, values, places, names, schema))))
    }
}

/// Each input yields one row. The columns of all inputs form one row, in the order of the inputs.
#[derive(Debug)]
pub struct DescribeExec {
    pub inputs: Vec<Arc<dyn ExecutionPlan>>,
    values: Vec<Arc<dyn PhysicalExpr>>,
    places: Arc<Vec<Place>>,
    names: Arc<[String]>,
    properties: Arc<PlanProperties>,
}

impl DescribeExec {
    /// Shows `values` of the one row of the inputs at their places. `names` and `places` are as of [`Describe`].
    pub fn new(
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        values: Vec<Arc<dyn PhysicalExpr>>,
        places: Arc<Vec<Place>>,
        names: Arc<[String]>,
        schema: SchemaRef,
    ) -> Self {
        let known = EquivalenceProperties::new(schema);
        let one = Partitioning::UnknownPartitioning(1);
        let properties = Arc::new(PlanProperties::new(known, one, EmissionType::Final, Boundedness::Bounded));
        DescribeExec { inputs, values, places, names, properties }
    }

    /// The values that are shown of the one row of the input.
    pub fn values(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.values
    }

    /// The arguments of [`DescribeExec::new`] after the inputs, for another process: values, places, names and the
    /// schema of the result.
    pub fn parts(&self) -> (&[Arc<dyn PhysicalExpr>], &[Place], &[String], SchemaRef) {
        (&self.values, &self.places, &self.names, self.schema())
    }

    /// The same statistics of other aggregates. The columns of `values` are those of all inputs, one input after the
    /// other.
    pub fn over(&self, inputs: Vec<Arc<dyn ExecutionPlan>>, values: Vec<Arc<dyn PhysicalExpr>>) -> DescribeExec {
        let (places, names) = (Arc::clone(&self.places), Arc::clone(&self.names));
        DescribeExec::new(inputs, values, places, names, self.schema())
    }
}

impl DisplayAs for DescribeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DescribeExec")
    }
}

impl ExecutionPlan for DescribeExec {
    fn name(&self) -> &str {
        "DescribeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition; self.inputs.len()]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if inputs.len() != self.inputs.len() {
            return Err(wrong_inputs());
        }
        Ok(Arc::new(self.over(inputs, self.values.clone())))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let (of, places, names) = (Arc::clone(&schema), Arc::clone(&self.places), Arc::clone(&self.names));
        let (inputs, values) = (self.inputs.clone(), self.values.clone());
        let rows = async move {
            let (mut fields, mut columns) = (Vec::new(), Vec::new());
            for input in inputs {
                let below = input.schema();
                let batches: Vec<RecordBatch> = execute_stream(input, Arc::clone(&context))?.try_collect().await?;
                let row = concat_batches(&below, &batches)?;
                fields.extend(below.fields().iter().map(Arc::clone));
                columns.extend_from_slice(row.columns());
            }
            let row = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
            let value = |value: &Arc<dyn PhysicalExpr>| value.evaluate(&row)?.into_array(row.num_rows());
            let values = values.iter().map(value).collect::<Result<Vec<ArrayRef>>>()?;
            picked(&values, &places, &names, &of)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(rows))))
    }
}

fn picked(values: &[ArrayRef], places: &[Place], names: &[String], schema: &SchemaRef) -> Result<RecordBatch> {
    if names.is_empty() {
        let columns = values.iter().zip(schema.fields()).map(|(value, field)| cast(value, field.data_type()));
        return Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect::<std::result::Result<_, _>>()?)?);
    }
    let mut columns: Vec<Vec<Option<&ArrayRef>>> = vec![vec![None; names.len()]; schema.fields().len()];
    for (value, (column, row)) in values.iter().zip(places) {
        columns[*column][*row] = Some(value);
    }
    let titles: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let mut arrays = vec![cast(&titles, schema.field(0).data_type())?];
    for (column, field) in columns.iter().zip(schema.fields()).skip(1) {
        let none = new_null_array(field.data_type(), 1);
        let rows: Vec<&dyn Array> = column.iter().map(|value| value.map_or(&*none, |value| &**value)).collect();
        arrays.push(concat(&rows)?);
    }
    Ok(RecordBatch::try_new(Arc::clone(schema), arrays)?)
}
