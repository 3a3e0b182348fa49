//! Expressions of frames: from the wire's tree to DataFusion's, named, typed and checked on the way.
//!
//! Types follow Polars, not DataFusion's coercion. Every cast is explicit in what this module makes, so that a mistake
//! is found here, with its token. Windows and aggregates inside expressions become columns of the plan underneath
//! ([`Lower::window`], [`Lower::aggregate`]), hence they nest freely.
//!
//! Knows no steps, no frames' plans and no devices. SQL does not come through here.

pub mod aggregate;
pub mod calendar_interval;
pub mod catalogue;
pub mod categories;
pub mod chains;
mod code_address;
pub mod conditional;
pub mod correlation;
pub mod device_udf;
pub mod diagnostics;
pub mod error;
pub mod first_last;
pub mod function;
pub mod ipc_type;
pub mod json;
pub mod lists;
pub mod mapping;
pub mod math;
pub mod metrics;
pub mod min_max;
pub mod model;
pub mod nan;
pub mod operators;
pub mod quantile;
pub mod rolling;
pub mod scalar_udf;
pub mod selectors;
pub mod serialize;
pub mod series;
pub mod statistics;
pub mod string;
pub mod temporal;
pub mod temporal_aggregates;
pub mod type_coercion;
pub mod window;
pub mod zones;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::common::{Column, ExprSchema, ScalarValue, plan_datafusion_err};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    AggregateUDF, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, ScalarUDF, WindowFrame,
    WindowFunctionDefinition, binary_expr, cast, try_cast,
};
use onrush_wire::{Diagnostic, ExprKind, Span, UnaryOp, Value};

use diagnostics::HIDDEN;
use error::diagnose;

/// An expression whose type and name are known.
#[derive(Clone, Debug)]
pub struct TypedExpr {
    pub expr: Expr,
    pub dtype: DataType,
    /// The name of the resulting column: that of the leftmost column in it, as in Polars.
    pub name: String,
    pub span: Option<Span>,
    /// The value of a bare literal, which takes the type of the other operand. `None` for any other expression.
    pub literal: Option<Value>,
}

impl TypedExpr {
    pub fn is_text(&self) -> bool {
        type_coercion::is_text(&self.dtype)
    }

    /// As [`TypedExpr::to`], of a value that is not needed any more: a long expression is not copied.
    pub fn into(self, dtype: &DataType) -> TypedExpr {
        if &self.dtype == dtype {
            return self;
        }
        let expr = match self.expr {
            Expr::Literal(value, metadata) => match value.cast_to(dtype) {
                Ok(value) => Expr::Literal(value, None),
                Err(_) => cast(Expr::Literal(value, metadata), dtype.clone()),
            },
            expr => cast(expr, dtype.clone()),
        };
        TypedExpr { expr, dtype: dtype.clone(), literal: None, ..self }
    }

    /// Both sides of an operator, under the left one's name and place.
    pub fn beside(self, operator: Operator, right: TypedExpr, dtype: DataType) -> TypedExpr {
        TypedExpr { expr: binary_expr(self.expr, operator, right.expr), dtype, literal: None, ..self }
    }

    /// The same place and name with another expression.
    pub fn with(&self, expr: Expr, dtype: DataType) -> TypedExpr {
        TypedExpr { expr, dtype, name: self.name.clone(), span: self.span.clone(), literal: None }
    }

    /// Cast, or the same if it has the type; literals are cast here and now.
    pub fn to(&self, dtype: &DataType) -> TypedExpr {
        if &self.dtype == dtype {
            return self.clone();
        }
        let expr = match &self.expr {
            Expr::Literal(value, _) => match value.cast_to(dtype) {
                Ok(value) => Expr::Literal(value, None),
                Err(_) => cast(self.expr.clone(), dtype.clone()),
            },
            expr => cast(expr.clone(), dtype.clone()),
        };
        self.with(expr, dtype.clone())
    }

    /// A cast that the user wrote. One that can fail on a value fails at `place`.
    pub fn strictly(&self, dtype: &DataType, place: Option<&Span>) -> TypedExpr {
        let narrower = (dtype.is_integer() || type_coercion::is_decimal(dtype))
            && type_coercion::supertype(&self.dtype, dtype).as_ref() != Some(dtype);
        let can_fail = type_coercion::is_text(&self.dtype) && !type_coercion::is_text(dtype)
            || type_coercion::is_number(&self.dtype) && narrower;
        match (place, &self.expr) {
            (Some(place), expr) if can_fail && &self.dtype != dtype && !matches!(expr, Expr::Literal(..)) => {
                self.with(scalar_udf::cast_at(dtype, place).call(vec![expr.clone()]), dtype.clone())
            }
            _ => self.to(dtype),
        }
    }

    pub fn or_null(&self, dtype: &DataType) -> TypedExpr {
        if &self.dtype == dtype {
            self.clone()
        } else {
            self.with(try_cast(self.expr.clone(), dtype.clone()), dtype.clone())
        }
    }

    /// As text in the layout that text functions use.
    pub fn text(&self) -> Expr {
        self.to(&type_coercion::TEXT).expr
    }

    pub fn f64(&self) -> Expr {
        self.to(&DataType::Float64).expr
    }

    pub fn i64(&self) -> Expr {
        self.to(&DataType::Int64).expr
    }
}

pub fn lit(value: impl datafusion::logical_expr::Literal) -> Expr {
    datafusion::logical_expr::lit(value)
}

/// NULL of a type.
pub fn null(dtype: &DataType) -> Expr {
    Expr::Literal(ScalarValue::try_new_null(dtype).unwrap_or(ScalarValue::Null), None)
}

/// A reference by exact name.
pub fn column(name: &str) -> Expr {
    Expr::Column(Column::from_name(name))
}

/// The meaning of an aggregate in an expression.
#[derive(Clone, Debug)]
pub enum Scope {
    /// One value for each row: an aggregate is computed over the rows of the same `partition` and repeated.
    Rows { partition: Vec<Expr>, order: Vec<Sort> },
    /// One value for each group (or for the whole frame): aggregates are collected.
    Groups,
}

/// Types of columns by name. A step may have thousands of hidden columns: a schema of DataFusion is made anew for each.
#[derive(Debug)]
pub(crate) struct Types(HashMap<String, FieldRef>);

impl ExprSchema for Types {
    fn field_from_column(&self, column: &Column) -> datafusion::error::Result<&FieldRef> {
        self.0.get(&column.name).ok_or_else(|| plan_datafusion_err!("there is no column `{}`", column.name))
    }
}

/// Lowers the expressions of one step over one input.
pub struct Lower<'a> {
    /// The input with the hidden columns made so far.
    pub plan: LogicalPlan,
    /// The columns that the user can name.
    pub schema: SchemaRef,
    pub at: Option<&'a Span>,
    pub scope: Scope,
    /// The keys of `group_by`, over which windows inside aggregates run.
    pub keys: Vec<Expr>,
    /// Aggregates found in [`Scope::Groups`], each under its hidden name.
    pub aggregates: Vec<Expr>,
    /// Types of visible and hidden columns, for DataFusion's own type rules.
    types: Types,
    windows: HashMap<Expr, String>,
    aggregate_keys: HashMap<Expr, String>,
    /// Rows that the aggregate being built takes: `value.filter(condition).mean()`.
    pub filter: Option<Expr>,
    row: Option<String>,
    /// A window has changed the order of rows: sort by the row number before anything else is done.
    pub disordered: bool,
}

impl<'a> Lower<'a> {
    pub fn new(plan: LogicalPlan, at: Option<&'a Span>) -> Result<Self, Diagnostic> {
        let schema: SchemaRef = Arc::new(plan.schema().as_arrow().clone());
        let types = Types(schema.fields().iter().map(|field| (field.name().clone(), Arc::clone(field))).collect());
        Ok(Lower {
            plan,
            schema,
            at,
            scope: Scope::Rows { partition: Vec::new(), order: Vec::new() },
            keys: Vec::new(),
            aggregates: Vec::new(),
            types,
            windows: HashMap::new(),
            aggregate_keys: HashMap::new(),
            filter: None,
            row: None,
            disordered: false,
        })
    }

    /// Whether there is a function of a name, also an alias.
    pub(crate) fn has_function(&self, name: &str) -> bool {
        catalogue::find(name).is_some()
    }

    /// An error about the token at `span`, or about the call.
    pub fn fail(&self, diagnostic: Diagnostic, span: Option<&Span>, text: &str) -> Diagnostic {
        diagnostics::place(diagnostic, span, self.at, text)
    }

    pub fn expr(&mut self, expr: &onrush_wire::Expr) -> Result<TypedExpr, Diagnostic> {
        let mut typed = self.kind(expr)?;
        if typed.span.is_none() || expr.span.is_some() {
            typed.span = expr.span.clone().or(typed.span);
        }
        Ok(typed)
    }

    fn kind(&mut self, expr: &onrush_wire::Expr) -> Result<TypedExpr, Diagnostic> {
        let span = expr.span.as_ref();
        match &expr.kind {
            ExprKind::Column(name) => self.column(name, span),
            ExprKind::Literal(value) => self.literal(value, span),
            ExprKind::Alias(inner, name) => {
                let mut typed = self.expr(inner)?;
                typed.name = name.clone();
                Ok(typed)
            }
            ExprKind::Unary(op, inner) => {
                let value = self.expr(inner)?;
                match op {
                    UnaryOp::Not => operators::not(self, value),
                    UnaryOp::Negate => operators::negate(self, value),
                }
            }
            ExprKind::Binary(..) => self.chain(expr),
            ExprKind::Case { branches, otherwise } => conditional::case(self, branches, otherwise.as_deref(), span),
            ExprKind::In { value, list } => conditional::is_in(self, value, list, span),
            ExprKind::Between { value, low, high, high_inclusive } => {
                let (value, low, high) = (self.expr(value)?, self.expr(low)?, self.expr(high)?);
                operators::between(self, value, low, high, *high_inclusive, span)
            }
            ExprKind::Cast { value, to, strict } => {
                let value = self.expr(value)?;
                self.cast(&value, to, *strict, span)
            }
            ExprKind::Call { function, args } => catalogue::call(self, function, args, span),
            ExprKind::Native { function, args } => device_udf::call(self, function, args, span),
            ExprKind::Model(output) => model::output(self, output, span),
            ExprKind::Over { value, partition, order } => window::over(self, value, partition, order),
            ExprKind::All { .. } => Err(self.fail(
                diagnostics::plan_error("argument", "all columns are named where one expression is expected"),
                span,
                "not possible here",
            )),
        }
    }

    /// `a + b + c` and so on: a loop in a cell makes long ones, and each step down would take a part of the stack.
    fn chain(&mut self, expr: &onrush_wire::Expr) -> Result<TypedExpr, Diagnostic> {
        let mut above = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary(op, left, right) = &first.kind {
            above.push((*op, right, first.span.as_ref()));
            first = left;
        }
        let mut value = self.expr(first)?;
        while let Some((op, right, span)) = above.pop() {
            let right = self.expr(right)?;
            value = operators::binary(self, op, value, right, span)?;
            // As `expr` does.
            value.span = span.cloned().or(value.span);
        }
        Ok(value)
    }

    pub fn column(&mut self, name: &str, span: Option<&Span>) -> Result<TypedExpr, Diagnostic> {
        match self.schema.field_with_name(name) {
            Ok(field) if !name.starts_with(HIDDEN) => Ok(TypedExpr {
                expr: column(name),
                dtype: field.data_type().clone(),
                name: name.to_string(),
                span: span.cloned(),
                literal: None,
            }),
            _ => Err(self.fail(diagnostics::unknown_column(name, &self.schema), span, "not a column of this frame")),
        }
    }

    fn literal(&mut self, value: &Value, span: Option<&Span>) -> Result<TypedExpr, Diagnostic> {
        let scalar = type_coercion::scalar(value).map_err(|e| self.fail(e, span, ""))?;
        Ok(TypedExpr {
            dtype: scalar.data_type(),
            expr: Expr::Literal(scalar, None),
            name: "literal".to_string(),
            span: span.cloned(),
            literal: Some(value.clone()),
        })
    }

    pub fn cast(
        &mut self,
        value: &TypedExpr,
        to: &onrush_wire::DataType,
        strict: bool,
        span: Option<&Span>,
    ) -> Result<TypedExpr, Diagnostic> {
        let target = onrush_frame::dtype_from_wire(to).map_err(|e| self.fail(e, span, ""))?;
        if type_coercion::is_text(&value.dtype)
            && type_coercion::is_text(&target)
            && !matches!(target, DataType::Dictionary(..))
        {
            return Ok(value.clone());
        }
        if !arrow::compute::can_cast_types(&value.dtype, &target) {
            let (from, to) = (diagnostics::type_name(&value.dtype), diagnostics::type_name(&target));
            return Err(self.fail(
                diagnostics::plan_error("type-mismatch", format!("`{from}` cannot be cast to `{to}`")),
                value.span.as_ref().or(span),
                &format!("this is `{from}`"),
            ));
        }
        // Arrow rounds a float to the nearest integer only through decimals; Polars cuts it, and so does Arrow's own
        // cast.
        Ok(match strict {
            true => value.strictly(&target, span.or(self.at)),
            false => value.or_null(&target),
        })
    }

    /// The type that DataFusion finds for an expression over visible and hidden columns.
    pub fn type_of(&self, expr: &Expr) -> Result<DataType, Diagnostic> {
        expr.get_type(&self.types).map_err(diagnose)
    }

    /// A scalar function over `args`; named and placed as `like`.
    pub fn apply(&self, like: &TypedExpr, function: Arc<ScalarUDF>, args: Vec<Expr>) -> Result<TypedExpr, Diagnostic> {
        let expr = function.call(args);
        let dtype = self.type_of(&expr).map_err(|e| self.fail(e, like.span.as_ref(), ""))?;
        Ok(like.with(expr, dtype))
    }

    fn remember(&mut self, field: FieldRef) {
        self.types.0.insert(field.name().clone(), field);
    }

    /// The number of each row in the input, from 1, as a hidden column.
    pub fn row(&mut self) -> Result<Expr, Diagnostic> {
        if let Some(name) = &self.row {
            return Ok(column(name));
        }
        let name = format!("{HIDDEN}row");
        self.plan = number_rows(self.plan.clone(), &name)?;
        self.remember(Arc::new(arrow::datatypes::Field::new(&name, DataType::UInt64, false)));
        self.row = Some(name.clone());
        Ok(column(&name))
    }

    /// Makes a window expression a hidden column of the plan and returns a reference to it.
    pub fn window(&mut self, mut expr: Expr) -> Result<Expr, Diagnostic> {
        if let Expr::WindowFunction(window) = &mut expr {
            for arg in &mut window.params.args {
                *arg = self.apart(std::mem::replace(arg, lit(0i64)))?;
            }
            for key in &mut window.params.partition_by {
                *key = self.key(std::mem::replace(key, lit(0i64)))?;
            }
            for key in &mut window.params.order_by {
                key.expr = self.key(std::mem::replace(&mut key.expr, lit(0i64)))?;
            }
        }
        if let Some(name) = self.windows.get(&expr) {
            return Ok(column(name));
        }
        let sorts = match &expr {
            Expr::WindowFunction(w) => !w.params.partition_by.is_empty() || !w.params.order_by.is_empty(),
            _ => true,
        };
        if sorts {
            self.row()?;
            self.disordered = true;
        }
        let name = format!("{HIDDEN}window_{}", self.windows.len());
        let (_, field) = expr.to_field(&self.types).map_err(diagnose)?;
        self.plan = LogicalPlanBuilder::new(self.plan.clone())
            .window(vec![expr.clone().alias(&name)])
            .and_then(LogicalPlanBuilder::build)
            .map_err(diagnose)?;
        self.remember(Arc::new(field.as_ref().clone().with_name(&name)));
        self.windows.insert(expr, name.clone());
        Ok(column(&name))
    }

    /// An expression over windows as a hidden column of a projection. DataFusion looks for common parts in stacked
    /// windows, and computes them below the lowest window. The columns of windows are not there yet.
    fn apart(&mut self, expr: Expr) -> Result<Expr, Diagnostic> {
        let of_windows = format!("{HIDDEN}window_");
        let is_over_windows = expr.column_refs().iter().any(|column| column.name.starts_with(&of_windows));
        if matches!(expr, Expr::Column(_)) || !is_over_windows { Ok(expr) } else { self.as_column(expr) }
    }

    /// A key of a window. One that takes several steps becomes a hidden column: DataFusion does not see that rows
    /// sorted by it are in its order, and refuses the plan.
    fn key(&mut self, expr: Expr) -> Result<Expr, Diagnostic> {
        let is_leaf = |expr: &Expr| matches!(expr, Expr::Column(_) | Expr::Literal(..));
        let is_plain = match &expr {
            Expr::BinaryExpr(binary) => is_leaf(&binary.left) && is_leaf(&binary.right),
            expr => is_leaf(expr),
        };
        if is_plain { Ok(expr) } else { self.as_column(expr) }
    }

    /// An expression as a hidden column of a projection.
    fn as_column(&mut self, expr: Expr) -> Result<Expr, Diagnostic> {
        if let Some(name) = self.windows.get(&expr) {
            return Ok(column(name));
        }
        let name = format!("{HIDDEN}apart_{}", self.windows.len());
        let (_, field) = expr.to_field(&self.types).map_err(diagnose)?;
        let mut all: Vec<Expr> = self.plan.schema().fields().iter().map(|field| column(field.name())).collect();
        all.push(expr.clone().alias(&name));
        self.plan = LogicalPlanBuilder::new(self.plan.clone())
            .project(all)
            .and_then(LogicalPlanBuilder::build)
            .map_err(diagnose)?;
        self.remember(Arc::new(field.as_ref().clone().with_name(&name)));
        self.windows.insert(expr, name.clone());
        Ok(column(&name))
    }

    /// The order of rows inside the present scope: that of `.over(..).order_by(..)`, then the frame's.
    pub fn order(&mut self) -> Result<Vec<Sort>, Diagnostic> {
        let mut order = match &self.scope {
            Scope::Rows { order, .. } => order.clone(),
            Scope::Groups => Vec::new(),
        };
        order.push(self.row()?.sort(true, true));
        Ok(order)
    }

    /// Whether an aggregate stands in each row, as a window.
    pub fn is_over_rows(&self) -> bool {
        matches!(self.scope, Scope::Rows { .. })
    }

    pub fn partition(&self) -> Vec<Expr> {
        match &self.scope {
            Scope::Rows { partition, .. } => partition.clone(),
            Scope::Groups => self.keys.clone(),
        }
    }

    /// An aggregate function in the present scope. `ordered`: the result depends on the order of rows.
    pub fn aggregate(
        &mut self,
        function: Arc<AggregateUDF>,
        args: Vec<Expr>,
        how: Aggregation,
    ) -> Result<Expr, Diagnostic> {
        let order = if how.ordered { self.order()? } else { Vec::new() };
        self.aggregate_in(function, args, how, order)
    }

    /// An aggregate over rows in the given order.
    pub fn aggregate_by(
        &mut self,
        function: Arc<AggregateUDF>,
        args: Vec<Expr>,
        order: Vec<Sort>,
    ) -> Result<Expr, Diagnostic> {
        self.aggregate_in(function, args, Aggregation::default(), order)
    }

    fn aggregate_in(
        &mut self,
        function: Arc<AggregateUDF>,
        args: Vec<Expr>,
        how: Aggregation,
        order: Vec<Sort>,
    ) -> Result<Expr, Diagnostic> {
        use datafusion::logical_expr::expr::AggregateFunction;
        match &self.scope {
            Scope::Rows { partition, .. }
                if order.is_empty() && !how.distinct && how.null_treatment.is_none() && !partition.is_empty() =>
            {
                let types = args.iter().map(|a| self.type_of(a)).collect::<Result<Vec<_>, _>>()?;
                match first_last::spread(&function, &types, self.filter.is_some()) {
                    Some(spread) => {
                        let mut all = args;
                        all.extend(self.filter.clone());
                        all.extend(partition.iter().cloned());
                        window::over_all(self, spread, all)
                    }
                    None => self.aggregate_over(function, args, how, order),
                }
            }
            Scope::Rows { .. } => self.aggregate_over(function, args, how, order),
            Scope::Groups => {
                let expr = Expr::AggregateFunction(AggregateFunction::new_udf(
                    function,
                    args,
                    how.distinct,
                    self.filter.clone().map(Box::new),
                    order,
                    how.null_treatment,
                ));
                if let Some(name) = self.aggregate_keys.get(&expr) {
                    return Ok(column(name));
                }
                let name = format!("{HIDDEN}aggregate_{}", self.aggregates.len());
                let (_, field) = expr.to_field(&self.types).map_err(diagnose)?;
                self.remember(Arc::new(field.as_ref().clone().with_name(&name)));
                self.aggregates.push(expr.clone().alias(&name));
                self.aggregate_keys.insert(expr, name.clone());
                Ok(column(&name))
            }
        }
    }

    /// As a window over the rows of the partition, in an order or none.
    fn aggregate_over(
        &mut self,
        function: Arc<AggregateUDF>,
        args: Vec<Expr>,
        how: Aggregation,
        order: Vec<Sort>,
    ) -> Result<Expr, Diagnostic> {
        use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
        use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition};
        let unbounded = |preceding| match preceding {
            true => WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
            false => WindowFrameBound::Following(ScalarValue::UInt64(None)),
        };
        let params = WindowFunctionParams {
            args,
            partition_by: self.partition(),
            order_by: order,
            window_frame: WindowFrame::new_bounds(WindowFrameUnits::Rows, unbounded(true), unbounded(false)),
            filter: self.filter.clone().map(Box::new),
            null_treatment: how.null_treatment,
            distinct: how.distinct,
        };
        let fun = WindowFunctionDefinition::AggregateUDF(function);
        self.window(Expr::WindowFunction(Box::new(WindowFunction { fun, params })))
    }

    /// `row_number()` over the present scope's partition and order, as `i64`.
    pub fn aggregate_rank(&mut self) -> Result<Expr, Diagnostic> {
        let order = self.order()?;
        window::row_number(self, order).map(|number| cast(number, DataType::Int64))
    }

    /// Lowers what is inside an aggregate: row by row, windows within the group.
    pub fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        match &self.scope {
            Scope::Rows { .. } => work(self),
            Scope::Groups => {
                let scope = Scope::Rows { partition: self.keys.clone(), order: Vec::new() };
                let outer = std::mem::replace(&mut self.scope, scope);
                let result = work(self);
                self.scope = outer;
                result
            }
        }
    }

    /// The plan in its original order again, if a window changed it.
    pub fn ordered_plan(&self) -> Result<LogicalPlan, Diagnostic> {
        match (&self.row, self.disordered) {
            (Some(row), true) => LogicalPlanBuilder::new(self.plan.clone())
                .sort(vec![column(row).sort(true, true)])
                .and_then(LogicalPlanBuilder::build)
                .map_err(diagnose),
            _ => Ok(self.plan.clone()),
        }
    }
}

/// How an aggregate is computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    pub distinct: bool,
    pub ordered: bool,
    pub null_treatment: Option<datafusion::logical_expr::expr::NullTreatment>,
}

/// Adds the number of each row, from 1 (`u64`), in the present order.
pub fn number_rows(plan: LogicalPlan, name: &str) -> Result<LogicalPlan, Diagnostic> {
    let params = WindowFunctionParams {
        args: Vec::new(),
        partition_by: Vec::new(),
        order_by: Vec::new(),
        window_frame: WindowFrame::new(None),
        filter: None,
        null_treatment: None,
        distinct: false,
    };
    let fun = WindowFunctionDefinition::WindowUDF(row_number_udwf());
    let number = Expr::WindowFunction(Box::new(WindowFunction { fun, params })).alias(name);
    LogicalPlanBuilder::new(plan).window(vec![number]).and_then(LogicalPlanBuilder::build).map_err(diagnose)
}
