//! From the columns of a frame to the numbers of an estimator.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::{CastOptions, cast_with_options, take_record_batch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int32Type, Int64Type, Schema};
use onrush_expr::diagnostics::{self, type_name};
use onrush_expr::error::internal;
use onrush_expr::type_coercion;
use onrush_frame::{Table, TaskHandle};
use onrush_learn::check::plural;
use onrush_learn::data::values;
use onrush_learn::{Column, Data, Kind, Role, params};
use onrush_logical::ops::Inputs;
use onrush_wire::learn::{Fit, Spec};
use onrush_wire::plan::Op;
use onrush_wire::{Class, Diagnostic, Expr, ExprKind, Field, FrameId};
use rayon::prelude::*;

use super::results::TrainedModel;
use super::{Task, diagnose, task_of};
use crate::engine::Engine;
use crate::memory_pool::HeldMemory;

/// Names of columns of ours next to the features.
pub const TARGET: &str = "__onrush_target";
const WEIGHT: &str = "__onrush_weight";
const GROUPS: &str = "__onrush_groups";

/// What a model is trained on, and what is needed to find the same columns in other frames.
pub struct Training {
    pub data: Data,
    /// The features: names and how they are computed.
    pub features: Vec<(Field, Expr)>,
    pub target: Option<Field>,
    /// The classes as an array of the target's type, in the order of `data.classes`.
    pub classes: Option<ArrayRef>,
    /// One row of so many, where `data` has no values because they are on a device.
    pub sample: Option<(usize, Data)>,
    /// `cpu`, `gpu` or `emulated`.
    pub place: &'static str,
    /// What the session counts for the data and a copy of them. `None` on a device.
    pub _memory: Option<HeldMemory>,
}

impl Engine {
    /// The features and the target of a training.
    pub(super) fn roles(&self, fit: &Fit) -> Result<(Vec<(String, Expr)>, Option<Expr>), Diagnostic> {
        let frame = self.frame(fit.frame)?;
        let target = match (&fit.target, task_of(&fit.spec)) {
            (Some(target), Task::Regression | Task::Classification | Task::Either) => Some(target.clone()),
            (None, Task::Regression | Task::Classification | Task::Either) => {
                let message = format!("{} needs a target: the column that it learns to predict", fit.spec.estimator);
                return Err(diagnostics::plan_error("target", message).help("`.fit(&frame, \"name\")`"));
            }
            (_, Task::None) => None,
        };
        Ok((features(&fit.spec, target.as_ref(), &frame.schema)?, target))
    }

    /// The rows of a training.
    pub(super) fn training(&self, fit: &Fit, task: &TaskHandle) -> Result<Training, Diagnostic> {
        let (features, target) = self.roles(fit)?;
        let what = task_of(&fit.spec);
        let mut data = self.rows_of(fit.frame, &fit.spec, &features, target.as_ref(), task)?;
        let (classes, target_field) = match &target {
            Some(target) => {
                let (array, dtype) = data.target.take().ok_or_else(|| internal("the target is missing"))?;
                let name = name_of(target);
                let classes = fill_target(&mut data.data, &name, &array, what)?;
                let nullable = array.null_count() > 0;
                (classes, Some(Field { name, dtype: onrush_frame::dtype_to_wire(&dtype), nullable }))
            }
            None => (None, None),
        };
        for eval in &fit.eval {
            let mut rows = self.rows_of(*eval, &fit.spec, &features, target.as_ref(), task)?;
            if let Some((array, _)) = rows.target.take() {
                rows.data.target.clone_from(&data.data.target);
                known_target(&mut rows.data, &array, classes.as_ref(), &data.data.classes)?;
            }
            let aligned = align(&fit.spec, &rows.data, &data.data)?;
            data.data.eval.push(aligned);
        }
        let fields = features.iter().zip(&data.fields);
        let features =
            fields.map(|((name, expr), field)| (Field { name: name.clone(), ..field.clone() }, expr.clone()));
        Ok(Training {
            features: features.collect(),
            data: data.data,
            target: target_field,
            classes,
            sample: None,
            place: "cpu",
            _memory: Some(data.memory),
        })
    }

    /// Rows that a model is evaluated on.
    pub(super) fn evaluation(
        &self,
        model: &TrainedModel,
        frame: FrameId,
        needs_target: bool,
        task: &TaskHandle,
    ) -> Result<(Data, HeldMemory), Diagnostic> {
        let target = model.target_expr.clone().filter(|_| needs_target);
        let features: Vec<(String, Expr)> =
            model.features.iter().map(|(field, expr)| (field.name.clone(), expr.clone())).collect();
        let spec = Spec { groups: None, ..model.fitted.spec.clone() };
        let mut rows = self.rows_of(frame, &spec, &features, target.as_ref(), task)?;
        if let Some((array, _)) = rows.target.take() {
            rows.data.target.clone_from(&model.fitted.target);
            known_target(&mut rows.data, &array, model.classes.as_ref(), &model.fitted.classes)?;
        }
        Ok((rows.data, rows.memory))
    }

    /// The columns of a frame that a transformer has made, as features. None of an estimator that does not transform.
    pub(super) fn outputs_of(
        &self,
        model: &TrainedModel,
        frame: FrameId,
        task: &TaskHandle,
    ) -> Result<(Data, HeldMemory), Diagnostic> {
        let outputs = model.fitted.outputs().into_iter().filter(|(_, role)| matches!(role, Role::Feature(..)));
        let features: Vec<(String, Expr)> =
            outputs.map(|(name, _)| (name.clone(), Expr::column(name.as_str()))).collect();
        let rows = self.rows_of(frame, &Spec::default(), &features, None, task)?;
        Ok((rows.data, rows.memory))
    }

    /// Features, target, weight and groups of a frame under their names.
    pub(super) fn selected(
        &self,
        frame: FrameId,
        spec: &Spec,
        features: &[(String, Expr)],
        target: Option<&Expr>,
        task: &TaskHandle,
    ) -> Result<Arc<Table>, Diagnostic> {
        let alias = |expr: &Expr, name: &str| {
            let inner = match &expr.kind {
                ExprKind::Alias(inner, _) => inner.as_ref().clone(),
                _ => expr.clone(),
            };
            inner.alias(name)
        };
        let mut exprs: Vec<Expr> = features.iter().map(|(name, expr)| alias(expr, name)).collect();
        exprs.extend(target.map(|target| alias(target, TARGET)));
        exprs.extend(spec.weight.as_ref().map(|name| Expr::column(name.as_str()).alias(WEIGHT)));
        exprs.extend(spec.groups.as_ref().map(|name| Expr::column(name.as_str()).alias(GROUPS)));
        match self.held_columns(frame, &exprs)? {
            Some(held) => Ok(Arc::new(held)),
            None => self.run_op(&Op::Select { input: frame, exprs }, task),
        }
    }

    /// Columns, each with a new name, of rows that are there. `None` if the rows are not there, or an expression is
    /// more than a column.
    pub(in crate::engine) fn held_columns(&self, frame: FrameId, exprs: &[Expr]) -> Result<Option<Table>, Diagnostic> {
        let table = self.held(&*self.frame(frame)?);
        Ok(table.and_then(|table| projected(&table, exprs)))
    }

    /// Selects features, target, weight and groups of a frame, and reads them.
    fn rows_of(
        &self,
        frame: FrameId,
        spec: &Spec,
        features: &[(String, Expr)],
        target: Option<&Expr>,
        task: &TaskHandle,
    ) -> Result<Rows, Diagnostic> {
        let table = self.selected(frame, spec, features, target, task)?;
        let needed = (table.rows() * table.schema().fields().len() * size_of::<f64>()) as u64;
        // A training holds its columns as f64, and most estimators work on a copy in another layout.
        if needed.saturating_mul(2) > self.memory_limit() / 2 {
            let (needs, has) = (needed.saturating_mul(2) >> 20, self.memory_limit() >> 21);
            return Err(Diagnostic::error(
                Class::Resources,
                "memory",
                format!("training on {} needs {needs} MB, and a task may take {has} MB", plural(table.rows(), "row")),
            )
            .help("train on a sample: `frame.sample(100_000)`, or on fewer features")
            .help("or give the session more memory: ONRUSH_MEMORY=16G"));
        }
        let mut memory = self.account("trainings");
        memory.grow(needed.saturating_mul(2))?;
        task.stage("read columns");
        let one = |(position, (name, _)): (usize, &(String, Expr))| {
            let dtype = onrush_frame::dtype_to_wire(table.schema().field(position).data_type());
            let nullable = table.batches().iter().any(|batch| batch.column(position).null_count() > 0);
            let field = Field { name: name.clone(), dtype, nullable };
            Ok((field, feature(&table, position, name)?))
        };
        let read = || features.par_iter().enumerate().map(one).collect::<Result<Vec<_>, Diagnostic>>();
        let (fields, columns) = self.on_learners(read)?.into_iter().unzip();
        let extra = |name: &str| match table.schema().index_of(name) {
            Ok(position) => whole(&table, position).map(Some),
            Err(_) => Ok(None),
        };
        let (target, weight, groups) = (extra(TARGET)?, extra(WEIGHT)?, extra(GROUPS)?);
        let mut data = Data { rows: table.rows(), ..Data::new(columns) };
        data.weight = weight.map(|array| numbers("the sample weight", &array)).transpose()?;
        data.groups = groups.map(|array| group_codes(&array)).transpose()?;
        let target = target.map(|array| {
            let dtype = array.data_type().clone();
            (array, dtype)
        });
        Ok(Rows { data, fields, target, memory })
    }
}

struct Rows {
    data: Data,
    /// The features as they are in the frame.
    fields: Vec<Field>,
    target: Option<(ArrayRef, DataType)>,
    memory: HeldMemory,
}

/// Columns of a table under new names, if the expressions are nothing else.
fn projected(table: &Table, exprs: &[Expr]) -> Option<Table> {
    let mut places = Vec::new();
    let mut fields = Vec::new();
    for expr in exprs {
        let ExprKind::Alias(inner, name) = &expr.kind else { return None };
        let ExprKind::Column(column) = &inner.kind else { return None };
        let place = table.schema().index_of(column).ok()?;
        places.push(place);
        fields.push(table.schema().field(place).clone().with_name(name));
    }
    let schema = Arc::new(Schema::new(fields));
    let columns = |batch: &RecordBatch| places.iter().map(|place| Arc::clone(batch.column(*place))).collect::<Vec<_>>();
    let batches = table.batches().iter().map(|batch| {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&schema), columns(batch), &options).ok()
    });
    Some(Table::new(Arc::clone(&schema), batches.collect::<Option<Vec<_>>>()?))
}

/// Every `step`th row of a training whose values are on a device. The target is the column at `target`.
pub fn sampled(table: &Table, width: usize, target: usize, step: usize, data: &Data) -> Result<Data, Diagnostic> {
    let values = |position: usize| {
        let mut out = Vec::new();
        let mut before = 0_usize;
        for batch in table.batches() {
            let first = before.next_multiple_of(step) - before;
            before += batch.num_rows();
            let array = batch.column(position);
            match array.data_type() {
                DataType::Float32 => {
                    values::strided_f32(array.as_primitive::<Float32Type>().values(), first, step, &mut out);
                }
                DataType::Float64 => {
                    values::strided_f64(array.as_primitive::<Float64Type>().values(), first, step, &mut out);
                }
                DataType::Int32 => {
                    values::strided_i32(array.as_primitive::<Int32Type>().values(), first, step, &mut out);
                }
                DataType::Int64 => {
                    values::strided_i64(array.as_primitive::<Int64Type>().values(), first, step, &mut out);
                }
                _ if first < array.len() => {
                    let rows = UInt64Array::from_iter_values((first..array.len()).step_by(step).map(|row| row as u64));
                    let taken = arrow::compute::take(array, &rows, None).map_err(|e| internal(&e.to_string()))?;
                    out.extend(numbers("a sampled column", &taken)?);
                }
                _ => {}
            }
        }
        Ok::<Vec<f64>, Diagnostic>(out)
    };
    let y = match data.y.is_empty() {
        true => values(target)?,
        false => data.y.iter().step_by(step).copied().collect(),
    };
    let of = |position: usize| Ok(Column::number(data.features[position].name.clone(), values(position)?));
    let features = (0..width).into_par_iter().map(of).collect::<Result<Vec<_>, Diagnostic>>()?;
    Ok(Data { rows: y.len(), y, target: data.target.clone(), classes: data.classes.clone(), ..Data::new(features) })
}

/// The name of an expression as a feature or target.
pub fn name_of(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Alias(_, name) | ExprKind::Column(name) => name.clone(),
        _ => {
            let mut name = None;
            expr.for_each(|node| {
                if let ExprKind::Column(column) = &node.kind {
                    name.get_or_insert_with(|| column.clone());
                }
            });
            name.unwrap_or_else(|| "value".to_string())
        }
    }
}

/// The features of a training: the chosen ones, or all other columns.
fn features(spec: &Spec, target: Option<&Expr>, schema: &Schema) -> Result<Vec<(String, Expr)>, Diagnostic> {
    let target_name = target.map(name_of);
    // What stands in the target, or has another role, is not a feature unless it is named as one.
    let mut own: Vec<String> = [&spec.weight, &spec.groups].into_iter().flatten().cloned().collect();
    if let Some(target) = target {
        target.for_each(|node| {
            if let ExprKind::Column(name) = &node.kind {
                own.push(name.clone());
            }
        });
    }
    let chosen: Vec<Expr> = match &spec.features {
        Some(exprs) => expanded(exprs, schema, &own),
        None => {
            let named = columns_of(spec);
            if let Some(missing) = named.iter().flatten().find(|name| schema.index_of(name).is_err()) {
                return Err(diagnostics::unknown_column(missing, schema));
            }
            let left_out = |name: &str| {
                own.iter().any(|other| other == name)
                    || named.as_ref().is_some_and(|list| !list.iter().any(|n| n == name))
            };
            let names = schema.fields().iter().map(|f| f.name().as_str());
            names.filter(|name| !left_out(name)).map(Expr::column).collect()
        }
    };
    for expr in chosen.iter().chain(target) {
        let mut model = false;
        expr.for_each(|node| model |= matches!(node.kind, ExprKind::Model(_)));
        if model {
            let message = "a feature or a target is computed by another model, which this one would need for ever";
            return Err(diagnostics::place(diagnostics::plan_error("model", message), expr.span.as_ref(), None, "")
                .help("put it into the frame first: `frame.with_columns(x!(p = {model.prediction()}))`"));
        }
    }
    let mut features: Vec<(String, Expr)> = Vec::new();
    for expr in chosen {
        let name = name_of(&expr);
        if Some(&name) == target_name.as_ref() && matches!(expr.kind, ExprKind::Column(_)) {
            let message = format!("the target `{name}` is among the features: a model would learn to copy it");
            return Err(diagnostics::place(diagnostics::plan_error("target", message), expr.span.as_ref(), None, ""));
        }
        if features.iter().any(|(other, _)| *other == name) {
            return Err(diagnostics::place(diagnostics::duplicate_column(&name), expr.span.as_ref(), None, ""));
        }
        features.push((name, expr));
    }
    Ok(features)
}

/// `all()` and `numeric()` as columns, without those of `own`.
fn expanded(exprs: &[Expr], schema: &Schema, own: &[String]) -> Vec<Expr> {
    let mut out = Vec::new();
    for expr in exprs {
        match &expr.kind {
            ExprKind::All { except } => {
                let names = schema.fields().iter().map(|f| f.name());
                out.extend(names.filter(|n| !except.contains(n) && !own.contains(n)).map(|n| Expr::column(n.as_str())));
            }
            ExprKind::Call { function, args } if function == "numeric" => {
                let is_number = |dtype: &DataType| type_coercion::is_number(dtype) || type_coercion::is_decimal(dtype);
                let except: Vec<String> = args.iter().map(|arg| name_of(&arg.value)).collect();
                let fields = schema
                    .fields()
                    .iter()
                    .filter(|f| is_number(f.data_type()) && !except.contains(f.name()) && !own.contains(f.name()));
                out.extend(fields.map(|f| Expr::column(f.name().as_str())));
            }
            _ => out.push(expr.clone()),
        }
    }
    out
}

/// The columns that a specification names, if it takes no others: those of a `ColumnTransformer` that drops the rest.
fn columns_of(spec: &Spec) -> Option<Vec<String>> {
    match spec.estimator.as_str() {
        _ if spec.is_search() => columns_of(&spec.parts.first()?.spec),
        "ColumnTransformer" => {
            let drops = params::ColumnTransformer::of(spec).remainder == "drop";
            let all: Vec<String> = spec.parts.iter().flat_map(|part| part.columns.iter().cloned()).collect();
            drops.then_some(all)
        }
        "Pipeline"
        | "TransformedTargetRegressor"
        | "BaggingClassifier"
        | "BaggingRegressor"
        | "CalibratedClassifierCV"
        | "OneVsRestClassifier"
        | "OneVsOneClassifier"
        | "AdaBoostClassifier"
        | "AdaBoostRegressor" => columns_of(&spec.parts.first()?.spec),
        "VotingClassifier" | "VotingRegressor" | "StackingClassifier" | "StackingRegressor" => {
            let parts = spec.parts.iter().filter(|part| part.name != "final_estimator");
            let each: Vec<Vec<String>> = parts.map(|part| columns_of(&part.spec)).collect::<Option<_>>()?;
            let mut all: Vec<String> = Vec::new();
            for name in each.into_iter().flatten() {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
            Some(all)
        }
        _ => None,
    }
}

/// A column as one array.
pub fn whole(table: &Table, position: usize) -> Result<ArrayRef, Diagnostic> {
    table.column(position).map_err(|e| internal(&e.to_string()))
}

/// A feature of a table.
fn feature(table: &Table, position: usize, name: &str) -> Result<Column, Diagnostic> {
    let batches = || table.batches().iter().map(|batch| batch.column(position));
    // The usual case is copied once.
    if table.schema().field(position).data_type() == &DataType::Float64 && batches().all(|c| c.null_count() == 0) {
        let mut values = Vec::with_capacity(table.rows());
        batches().for_each(|c| values.extend_from_slice(c.as_primitive::<Float64Type>().values()));
        return Ok(Column::number(name, values));
    }
    column(name, &whole(table, position)?)
}

/// A feature.
pub fn column(name: &str, array: &ArrayRef) -> Result<Column, Diagnostic> {
    match array.data_type() {
        dtype if type_coercion::is_string(dtype) => {
            let (codes, names) = distinct(array)?;
            Ok(Column { name: name.to_string(), kind: Kind::Category(names), values: codes })
        }
        _ => Ok(Column::number(name, numbers(&format!("`{name}`"), array)?)),
    }
}

/// Numbers as f64; a null is NaN.
fn numbers(what: &str, array: &ArrayRef) -> Result<Vec<f64>, Diagnostic> {
    let dtype = array.data_type();
    if !type_coercion::is_feature(dtype) && dtype != &DataType::Null {
        let message = format!("{what} is `{}`, and estimators take numbers, booleans and strings", type_name(dtype));
        return Err(diagnostics::plan_error("type-mismatch", message)
            .help("leave it out with `.features(..)`, or compute a number from it: `x!(hour = time.dt.hour())`"));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = cast_with_options(array, &DataType::Float64, &options).map_err(|e| internal(&e.to_string()))?;
    let values = cast.as_primitive::<Float64Type>();
    Ok(match values.null_count() {
        0 => values.values().to_vec(),
        _ => values.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
    })
}

/// Strings as positions in their sorted distinct values. A null is NaN.
fn distinct(array: &ArrayRef) -> Result<(Vec<f64>, Vec<String>), Diagnostic> {
    // Documents can have more bytes together than the offsets of `Utf8` count.
    let text = arrow::compute::cast(array, &DataType::LargeUtf8).map_err(|e| internal(&e.to_string()))?;
    let text = text.as_string::<i64>();
    let mut known: std::collections::HashMap<&str, u32> = std::collections::HashMap::new();
    let mut first = Vec::new();
    let codes: Vec<u32> = text
        .iter()
        .map(|value| match value {
            None => u32::MAX,
            Some(value) => *known.entry(value).or_insert_with(|| {
                first.push(value);
                first.len() as u32 - 1
            }),
        })
        .collect();
    let mut order: Vec<u32> = (0..first.len() as u32).collect();
    order.sort_by_key(|code| first[*code as usize]);
    let mut rank = vec![0.0; first.len()];
    order.iter().enumerate().for_each(|(position, code)| rank[*code as usize] = position as f64);
    let values = codes.iter().map(|code| rank.get(*code as usize).copied().unwrap_or(f64::NAN)).collect();
    Ok((values, order.iter().map(|code| first[*code as usize].to_string()).collect()))
}

/// The group of each row as a position in the sorted groups. A null is NaN. Numbers are sorted as numbers: splitters go
/// through the groups in scikit-learn's order.
fn group_codes(array: &ArrayRef) -> Result<Vec<f64>, Diagnostic> {
    let (codes, names) = distinct(array)?;
    let dtype = array.data_type();
    if !type_coercion::is_number(dtype) && !type_coercion::is_decimal(dtype) {
        return Ok(codes);
    }
    // Integers beyond 2^53 stay apart.
    let keys: Vec<(Option<i128>, f64)> =
        names.iter().map(|name| (name.parse().ok(), name.parse().unwrap_or(f64::NAN))).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|a, b| match (keys[*a], keys[*b]) {
        ((Some(a), _), (Some(b), _)) => a.cmp(&b),
        ((_, a), (_, b)) => a.total_cmp(&b),
    });
    let mut rank = vec![0.0; names.len()];
    order.iter().enumerate().for_each(|(position, code)| rank[*code] = position as f64);
    Ok(codes
        .iter()
        .map(|code| rank.get(*code as usize).copied().filter(|_| !code.is_nan()).unwrap_or(f64::NAN))
        .collect())
}

/// The distinct values of a target, sorted, as an array of its type; a name for each; and for each row its class.
fn classes(array: &ArrayRef) -> Result<(ArrayRef, Vec<String>, Vec<f64>), Diagnostic> {
    let broken = |e: arrow::error::ArrowError| internal(&e.to_string());
    let positions: Vec<f64>;
    let names: Vec<String>;
    let mut representatives: Vec<u64>;
    if type_coercion::is_string(array.data_type()) {
        (positions, names) = distinct(array)?;
        representatives = vec![0; names.len()];
        for (row, position) in positions.iter().enumerate().rev() {
            if !position.is_nan() {
                representatives[*position as usize] = row as u64;
            }
        }
    } else {
        let (sorted, found, first) = values::classes(&numbers("the target", array)?);
        let shown = |v: &f64| match array.data_type() {
            DataType::Boolean => (*v != 0.0).to_string(),
            _ => (v + 0.0).to_string(),
        };
        names = sorted.iter().map(shown).collect();
        (positions, representatives) = (found, first.into_iter().map(|row| row as u64).collect());
    }
    let typed = arrow::compute::take(array, &UInt64Array::from(representatives), None).map_err(broken)?;
    Ok((typed, names, positions))
}

/// Puts the target of a training into its data. Gives the classes.
pub fn fill_target(data: &mut Data, name: &str, array: &ArrayRef, what: Task) -> Result<Option<ArrayRef>, Diagnostic> {
    data.target = name.to_string();
    let dtype = array.data_type();
    let is_class = match what {
        Task::Classification => true,
        Task::Either => type_coercion::is_string(dtype) || dtype == &DataType::Boolean || dtype.is_integer(),
        _ => false,
    };
    if !is_class {
        if type_coercion::is_string(dtype) {
            let message = format!("the target `{name}` holds strings, and a regressor predicts numbers");
            return Err(
                diagnostics::plan_error("target", message).help("take a classifier, such as `LogisticRegression`")
            );
        }
        data.y = numbers("the target", array)?;
        return Ok(None);
    }
    if dtype.is_floating() {
        let values = numbers("the target", array)?;
        if values.iter().any(|v| v.is_finite() && v.fract() != 0.0) {
            let message = format!("the target `{name}` holds numbers with decimals, and a classifier predicts classes");
            return Err(diagnostics::plan_error("target", message).help("take a regressor, such as `Ridge`"));
        }
    }
    if dtype.is_floating() && numbers("the target", array)?.iter().any(|v| v.is_infinite()) {
        let infinite = numbers("the target", array)?.iter().filter(|v| v.is_infinite()).count();
        let (found, rows) = (plural(infinite, "infinite value"), plural(array.len(), "row"));
        return Err(diagnostics::plan_error("infinite", format!("the target `{name}` has {found} in {rows}"))
            .help("`filter` leaves these rows out"));
    }
    let (typed, names, positions) = classes(array)?;
    if positions.iter().any(|p| p.is_nan()) {
        let missing = positions.iter().filter(|p| p.is_nan()).count();
        let (missing, rows) = (plural(missing, "null"), plural(positions.len(), "row"));
        let message = format!("the target `{name}` has {missing} in {rows}");
        return Err(diagnostics::plan_error("nulls", message).help("`drop_nulls([..])` leaves these rows out"));
    }
    (data.y, data.classes) = (positions, names);
    Ok(Some(typed))
}

/// Puts the target of other rows into their data, with the classes of the training.
fn known_target(
    data: &mut Data,
    array: &ArrayRef,
    classes_of_training: Option<&ArrayRef>,
    names: &[String],
) -> Result<(), Diagnostic> {
    if classes_of_training.is_none() {
        data.y = numbers("the target", array)?;
        return Ok(());
    }
    let (_, own, positions) = classes(array)?;
    let mut map = Vec::new();
    for name in &own {
        match names.iter().position(|n| n == name) {
            Some(position) => map.push(position as f64),
            None => {
                let message = format!("`{}` has the class `{name}`, which the training did not have", data.target);
                let list = names.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
                return Err(diagnostics::plan_error("class", message).note(format!("the classes of the model: {list}")));
            }
        }
    }
    data.y =
        positions.iter().map(|p| map.get(*p as usize).copied().filter(|_| !p.is_nan()).unwrap_or(f64::NAN)).collect();
    data.classes = names.to_vec();
    if let Some(row) = data.y.iter().position(|y| y.is_nan()) {
        return Err(diagnostics::plan_error("nulls", format!("`{}` is null in row {row}", data.target)));
    }
    Ok(())
}

/// The rows of an evaluation set with the categories of the training. An unseen category is missing, and documents stay
/// as they are.
fn align(spec: &Spec, rows: &Data, training: &Data) -> Result<Data, Diagnostic> {
    let mut aligned = rows.clone();
    let documents = onrush_learn::documents(spec, &training.names());
    for ((column, known), is_document) in aligned.features.iter_mut().zip(&training.features).zip(documents) {
        if column.categories().is_some() != known.categories().is_some() {
            let (was, is) = if known.categories().is_some() { ("strings", "numbers") } else { ("numbers", "strings") };
            let message = format!("`{}` holds {is} in the evaluation set, and {was} in the training", column.name);
            return Err(diagnostics::plan_error("type-mismatch", message));
        }
        if is_document {
            continue;
        }
        if let (Some(names), Some(known_names)) = (column.categories(), known.categories()) {
            let code = |name: &String| known_names.binary_search(name).map_or(f64::NAN, |c| c as f64);
            let codes: Vec<f64> = names.iter().map(code).collect();
            column.values.iter_mut().filter(|v| !v.is_nan()).for_each(|v| *v = codes[*v as usize]);
            column.kind = known.kind.clone();
        }
    }
    onrush_learn::check::target(&aligned).map_err(diagnose)?;
    Ok(aligned)
}

/// A column for a split: its classes, and whether a classifier would predict it.
pub fn codes(table: &Table, name: &str, schema: &Schema) -> Result<(Vec<f64>, bool), Diagnostic> {
    let position = schema.index_of(name).map_err(|_| diagnostics::unknown_column(name, schema))?;
    let array = whole(table, position)?;
    let is_class = !array.data_type().is_floating();
    let (_, _, mut positions) = classes(&array)?;
    // Nulls are a class of their own.
    let last = positions.iter().copied().filter(|p| !p.is_nan()).fold(-1.0, f64::max) + 1.0;
    positions.iter_mut().filter(|p| p.is_nan()).for_each(|p| *p = last);
    Ok((positions, is_class))
}

/// The rows at these positions, in this order.
pub fn take(table: &Table, rows: &[usize]) -> Result<Table, Diagnostic> {
    let broken = |e: arrow::error::ArrowError| internal(&e.to_string());
    let batch = table.to_batch().map_err(broken)?;
    let positions = UInt64Array::from_iter_values(rows.iter().map(|r| *r as u64));
    let taken = take_record_batch(&batch, &positions).map_err(broken)?;
    Ok(Table::new(Arc::clone(table.schema()), vec![taken]))
}

/// All columns of numbers but one.
pub fn numeric_columns(table: &Table, but: &str) -> Result<Vec<Column>, Diagnostic> {
    let mut columns = Vec::new();
    for (position, field) in table.schema().fields().iter().enumerate() {
        let dtype = field.data_type();
        if field.name() != but && (type_coercion::is_number(dtype) || type_coercion::is_decimal(dtype)) {
            columns.push(column(field.name(), &whole(table, position)?)?);
        }
    }
    Ok(columns)
}
