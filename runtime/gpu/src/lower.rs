//! Lowers DataFusion's physical expressions to nodes of a pipeline's graph. An unsupported expression gives a reason,
//! and its plan node stays on the CPU.
//!
//! An expression over one string column is computed on the CPU, once for each string of the column's dictionary. If the
//! dictionary is too large for that, or if the expression reads several string columns, a kernel computes it from the
//! bytes (`lower/strings.rs`).

mod calendar;
mod case;
mod functions;
pub mod lists;
mod numbers;
pub mod strings;
mod udf;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Operator, Volatility};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NegativeExpr,
    NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_expr::{device_udf::is_in, model, nan::is_one_nan, scalar_udf};
use onrush_kernels::Scalar;
use onrush_ops::dictionary::Dictionary;
use onrush_ops::{
    Comparison, DeviceType, ExprGraph, JoinKind, Lookup, NodeId, Op, OverflowPolicy, StringSource, kind_of,
};

use self::strings::is_text;
use super::arithmetic;
use super::cpu_reason::CpuReason;

/// A column that expressions can name: where it comes from, or why it cannot be used.
#[derive(Clone, Debug)]
pub enum ColumnSource {
    /// A column of the fragment's input, not read so far.
    Source(usize),
    /// A column of a table that is joined, not read so far.
    Joined {
        join: usize,
        column: usize,
    },
    Node(NodeId),
}

/// A table that a stage joins.
pub struct BuildSide {
    /// Over the table's columns: keys, and what is read of it.
    pub lowering: Lowering,
    pub table: usize,
    pub keys: Vec<NodeId>,
    pub probe: NodeId,
    pub nulls_equal: bool,
    pub how: JoinKind,
    pub residual: Option<NodeId>,
    pub probe_filter: Option<NodeId>,
}

/// Representation of each string column of an input if both would do: bytes for high cardinality, else dictionary
/// indices.
#[derive(Clone, Default)]
pub enum StringRepresentation {
    #[default]
    Indices,
    Fixed(Vec<bool>),
    /// Found when it is asked for.
    Lazy(Arc<dyn Fn(usize) -> bool + Send + Sync>),
}

impl StringRepresentation {
    /// Whether a column is stored as bytes.
    pub fn is_bytes(&self, source: usize) -> bool {
        match self {
            StringRepresentation::Indices => false,
            StringRepresentation::Fixed(known) => known.get(source).copied().unwrap_or(false),
            StringRepresentation::Lazy(find) => find(source),
        }
    }
}

/// The stage that is being written.
pub struct Lowering {
    pub graph: ExprGraph,
    pub joins: Vec<BuildSide>,
    pub lookups: Vec<Lookup>,
    pub texts: Vec<Arc<Dictionary>>,
    /// Columns of the fragment's input that are read, in the order of the stage's inputs. Only in the first stage.
    pub used: Vec<usize>,
    /// Whether each used column is a string column read as bytes.
    pub as_bytes: Vec<bool>,
    pub preference: StringRepresentation,
    /// Whether strings are lowered to dictionary indices.
    pub as_indices: bool,
    pub columns: Vec<ColumnSource>,
    pub schema: Arc<Schema>,
    /// The columns of structs that are made, by their places among the inputs.
    pub structs: Vec<Vec<u32>>,
    /// How many rows each row becomes.
    pub repeat: Option<NodeId>,
    /// The condition under which the branch that is being lowered is chosen.
    pub guard: Option<NodeId>,
    /// Whether this stage reads the fragment's input, whose rows have numbers.
    pub begins: bool,
    /// Columns of the input whose numbers rise from row to row, and such nodes of this stage.
    pub rising_columns: Vec<usize>,
    pub rising: Vec<NodeId>,
    /// Strings that an earlier stage has materialised, and their columns.
    pub materialised: Vec<(Arc<dyn PhysicalExpr>, usize)>,
    /// The work of an earlier stage that would make refused expressions possible.
    pub requests: MaterialiseRequests,
}

/// Expressions that a separate, earlier stage can materialise.
#[derive(Clone, Default)]
pub struct MaterialiseRequests {
    /// Whether they may be wished for, rather than what is known of a text's dictionary.
    pub allowed: bool,
    /// Computed strings that other expressions read.
    pub texts: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns as they are, in both forms.
    pub table: bool,
}

impl MaterialiseRequests {
    pub fn are_none(&self) -> bool {
        self.texts.is_empty() && !self.table
    }

    pub fn text(&mut self, expr: &Arc<dyn PhysicalExpr>) {
        if !self.texts.contains(expr) {
            self.texts.push(Arc::clone(expr));
        }
    }
}

/// Longer lists than this are looked up by the CPU.
const MAX_LIST: usize = 64;

impl Lowering {
    pub fn new(schema: &Arc<Schema>) -> Self {
        Lowering {
            graph: ExprGraph::new(),
            joins: Vec::new(),
            lookups: Vec::new(),
            texts: Vec::new(),
            used: Vec::new(),
            as_bytes: Vec::new(),
            preference: StringRepresentation::default(),
            as_indices: false,
            columns: (0..schema.fields().len()).map(ColumnSource::Source).collect(),
            schema: Arc::clone(schema),
            structs: Vec::new(),
            repeat: None,
            guard: None,
            begins: true,
            rising_columns: Vec::new(),
            rising: Vec::new(),
            materialised: Vec::new(),
            requests: MaterialiseRequests::default(),
        }
    }

    /// The column that an expression has been made.
    pub fn materialised(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
        self.materialised.iter().find(|(known, _)| known == expr).map(|(_, column)| *column)
    }

    pub fn dtype(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<DataType, CpuReason> {
        Ok(expr.data_type(&self.schema)?)
    }

    /// Whether rows are those of the table that the stage goes over.
    pub fn is_as_read(&self) -> bool {
        self.begins && self.joins.is_empty() && self.repeat.is_none()
    }

    /// Whether all columns are those of the input.
    pub fn is_untouched(&self) -> bool {
        let plain = |slot: &ColumnSource| match slot {
            ColumnSource::Source(_) => true,
            ColumnSource::Joined { .. } => false,
            ColumnSource::Node(id) => matches!(self.graph.node(*id).op, Op::Input(_)),
        };
        self.columns.iter().all(plain)
    }

    /// Whether a text column is read as bytes where both forms would do.
    pub fn prefers_bytes(&self, index: usize) -> bool {
        match self.columns.get(index) {
            Some(ColumnSource::Source(source)) => self.preference.is_bytes(*source),
            Some(ColumnSource::Joined { join, column }) => self.joins[*join].lowering.prefers_bytes(*column),
            Some(ColumnSource::Node(id)) => self.graph.kind(*id) == DeviceType::String,
            None => false,
        }
    }

    /// Whether the numbers of a node rise from row to row.
    pub fn rises(&self, id: NodeId) -> bool {
        let of_input =
            |place: u32| self.used.get(place as usize).is_some_and(|used| self.rising_columns.contains(used));
        let found = self.rising.contains(&id) || matches!(self.graph.node(id).op, Op::Input(place) if of_input(place));
        found && self.is_as_read()
    }

    /// The columns whose numbers rise, if rows stay in their order.
    pub fn rising_results(&self) -> Vec<usize> {
        if !self.is_as_read() {
            return Vec::new();
        }
        let rises = |slot: &ColumnSource| match slot {
            ColumnSource::Source(source) => self.rising_columns.contains(source),
            ColumnSource::Joined { .. } => false,
            ColumnSource::Node(id) => self.rises(*id),
        };
        (0..self.columns.len()).filter(|index| rises(&self.columns[*index])).collect()
    }

    /// The preference of a stage that reads this one's rows as a table.
    pub fn preferences(&self) -> StringRepresentation {
        let is_text = |index: usize| is_text(self.schema.field(index).data_type());
        StringRepresentation::Fixed(
            (0..self.columns.len()).map(|index| is_text(index) && self.prefers_bytes(index)).collect(),
        )
    }

    /// The node of a column.
    pub fn column(&mut self, index: usize) -> Result<NodeId, CpuReason> {
        if let Some(ColumnSource::Node(id)) = self.columns.get(index) {
            return Ok(*id);
        }
        let text = self.schema.fields().get(index).is_some_and(|field| is_text(field.data_type()));
        let as_bytes = text && !self.as_indices && self.prefers_bytes(index);
        self.column_as(index, as_bytes)
    }

    /// The same, a text as bytes or as a number.
    pub fn column_as(&mut self, index: usize, as_bytes: bool) -> Result<NodeId, CpuReason> {
        match self.columns.get(index) {
            Some(ColumnSource::Node(id)) => {
                let found = match (self.graph.kind(*id), as_bytes) {
                    (DeviceType::DictIndex, true) => {
                        Err(CpuReason::feature("mixing grouped and plain representations of a string column"))
                    }
                    (DeviceType::String, false) => Err(CpuReason::feature("dictionary-encoding a computed string")),
                    _ => Ok(*id),
                };
                self.requests.table |= found.is_err();
                found
            }
            Some(ColumnSource::Source(source)) => {
                let source = *source;
                let dtype = self.schema.field(index).data_type();
                let kind = kind_of(dtype).ok_or_else(|| CpuReason::of_type("a column", dtype))?;
                let kind = if as_bytes && kind == DeviceType::DictIndex { DeviceType::String } else { kind };
                let as_bytes = kind == DeviceType::String;
                let mut known = self.used.iter().zip(&self.as_bytes);
                let place = known.position(|used| used == (&source, &as_bytes)).unwrap_or_else(|| {
                    self.used.push(source);
                    self.as_bytes.push(as_bytes);
                    self.used.len() - 1
                });
                let id = self.graph.input(place, kind);
                // A text may be asked for in its other form, too.
                if !is_text(dtype) {
                    self.columns[index] = ColumnSource::Node(id);
                }
                Ok(id)
            }
            Some(ColumnSource::Joined { join, column }) => {
                let (join, column) = (*join, *column);
                let side = &mut self.joins[join];
                let there = side.lowering.column_as(column, as_bytes)?;
                let Op::Input(place) = side.lowering.graph.node(there).op else {
                    return Err(CpuReason::Unexpected("a column that does not exist".into()));
                };
                let (kind, probe) = (side.lowering.graph.kind(there), side.probe);
                let id = self.graph.add(Op::BuildColumn(join as u32, place), &[probe], kind);
                if !matches!(kind, DeviceType::DictIndex | DeviceType::String) {
                    self.columns[index] = ColumnSource::Node(id);
                }
                Ok(id)
            }
            None => Err(CpuReason::Unexpected("a column that does not exist".into())),
        }
    }

    /// The state so far, to take back an attempt.
    pub fn save(&self) -> Checkpoint {
        Checkpoint {
            graph: self.graph.clone(),
            lookups: self.lookups.len(),
            texts: self.texts.len(),
            structs: self.structs.len(),
            repeat: self.repeat,
            used: self.used.len(),
            rising: self.rising.len(),
            columns: self.columns.clone(),
            sides: self.joins.iter().map(|side| side.lowering.save()).collect(),
        }
    }

    pub fn restore(&mut self, saved: Checkpoint) {
        self.graph = saved.graph;
        self.lookups.truncate(saved.lookups);
        self.texts.truncate(saved.texts);
        self.structs.truncate(saved.structs);
        self.repeat = saved.repeat;
        self.rising.truncate(saved.rising);
        self.used.truncate(saved.used);
        self.as_bytes.truncate(saved.used);
        self.columns = saved.columns;
        for (side, saved) in self.joins.iter_mut().zip(saved.sides) {
            side.lowering.restore(saved);
        }
    }

    fn attempt(
        &mut self,
        attempt: impl FnOnce(&mut Lowering) -> Result<NodeId, CpuReason>,
    ) -> Result<NodeId, CpuReason> {
        let saved = self.save();
        let found = attempt(self);
        if found.is_err() {
            self.restore(saved);
        }
        found
    }

    /// Lowers a key that rows are grouped, sorted or joined by: a string as its dictionary index.
    pub fn key(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
        if lists::is_nested(&self.dtype(expr)?) {
            return Err(CpuReason::feature("a comparison of lists or structs"));
        }
        if let Some(column) = self.materialised(expr) {
            return self.column_as(column, false);
        }
        let plain = self.attempt(|lowering| {
            let id = lowering.expr(expr)?;
            if lowering.graph.kind(id) != DeviceType::String {
                return Ok(id);
            }
            lowering.requests.text(expr);
            Err(CpuReason::Requested)
        });
        if plain.is_ok() || !is_text(&self.dtype(expr)?) {
            return plain;
        }
        let (before, wished) = (std::mem::replace(&mut self.as_indices, true), self.requests.clone());
        let id = self.attempt(|lowering| match lowering.expr(expr)? {
            id if lowering.graph.kind(id) == DeviceType::String => {
                Err(CpuReason::feature(format!("dictionary-encoding the computed string `{expr}`")))
            }
            id => Ok(id),
        });
        self.as_indices = before;
        if id.is_ok() {
            // Its dictionary knows: nothing is to be made.
            self.requests = wished;
            self.requests.texts.retain(|text| text != expr);
        }
        id
    }

    pub fn expr(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
        let any: &dyn Any = expr.as_ref();
        if let Some(column) = self.materialised(expr).or_else(|| any.downcast_ref::<Column>().map(Column::index)) {
            return self.column(column);
        }
        if let Some(literal) = any.downcast_ref::<Literal>() {
            if let (Some(Some(text)), false) = (text_literal(expr), self.as_indices) {
                return Ok(strings::literal(self, &text));
            }
            return arithmetic::literal(&mut self.graph, literal.value());
        }
        let one_text = self.only_text(expr);
        let first = !self.as_indices && one_text.is_some_and(|column| self.prefers_bytes(column));
        let wished = self.requests.texts.len();
        if first {
            match self.attempt(|lowering| lowering.direct(expr)) {
                Ok(id) => return Ok(id),
                Err(reason) if self.requests.allowed && self.requests.texts.len() > wished => return Err(reason),
                Err(_) => {}
            }
        }
        match one_text.map_or(Ok(None), |column| self.by_dictionary(expr, column)) {
            Ok(Some(id)) => Ok(id),
            Ok(None) => self.direct(expr),
            // Once for each level of an expression, or deep ones would take for ever.
            Err(reason) if first => Err(reason),
            // A function of a text that is computed.
            Err(reason) => self.attempt(|lowering| lowering.direct(expr)).map_err(|_| reason),
        }
    }

    /// An expression as what it is made of.
    fn direct(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
        let any: &dyn Any = expr.as_ref();
        if let Some(inner) = strings::same_text(self, expr) {
            return self.expr(&inner);
        }
        if let Some(like) = any.downcast_ref::<LikeExpr>() {
            return strings::like(self, like);
        }
        if let Some(binary) = any.downcast_ref::<BinaryExpr>() {
            return self.binary(binary, expr);
        }
        if let Some(not) = any.downcast_ref::<NotExpr>() {
            let arg = self.boolean(not.arg())?;
            return Ok(self.graph.add(Op::Not, &[arg], DeviceType::Bool));
        }
        if let Some(is) = any.downcast_ref::<IsNullExpr>() {
            let arg = self.expr(is.arg())?;
            return Ok(self.graph.add(Op::IsNull, &[arg], DeviceType::Bool));
        }
        if let Some(is) = any.downcast_ref::<IsNotNullExpr>() {
            let arg = self.expr(is.arg())?;
            let null = self.graph.add(Op::IsNull, &[arg], DeviceType::Bool);
            return Ok(self.graph.add(Op::Not, &[null], DeviceType::Bool));
        }
        if let Some(negative) = any.downcast_ref::<NegativeExpr>() {
            let arg = self.expr(negative.arg())?;
            let kind = self.graph.kind(arg);
            return Ok(self.graph.add(Op::Negate, &[arg], kind));
        }
        if let Some(cast) = any.downcast_ref::<CastExpr>() {
            if is_text(cast.cast_type()) {
                return strings::text(self, expr);
            }
            if is_text(&self.dtype(cast.expr())?) {
                let misfit = if cast.cast_options().safe { OverflowPolicy::Null } else { OverflowPolicy::Error };
                return strings::parsed(self, cast.expr(), cast.cast_type(), misfit);
            }
            let misfit = if cast.cast_options().safe { OverflowPolicy::Null } else { OverflowPolicy::Error };
            return self.cast(cast.expr(), cast.cast_type(), misfit);
        }
        if let Some(cast) = any.downcast_ref::<TryCastExpr>() {
            if is_text(cast.cast_type()) {
                return strings::text(self, expr);
            }
            if is_text(&self.dtype(cast.expr())?) {
                return strings::parsed(self, cast.expr(), cast.cast_type(), OverflowPolicy::Null);
            }
            return self.cast(cast.expr(), cast.cast_type(), OverflowPolicy::Null);
        }
        if let Some(case) = any.downcast_ref::<CaseExpr>() {
            return self.case(case, expr, false);
        }
        if let Some(list) = any.downcast_ref::<InListExpr>() {
            return self.list(list);
        }
        if let Some(function) = any.downcast_ref::<ScalarFunctionExpr>() {
            if let Some(found) = udf::call(self, function) {
                return found;
            }
            if let ([arg], true) = (function.args(), is_one_nan(function.fun())) {
                let value = self.expr(arg)?;
                return Ok(arithmetic::with_one_nan(&mut self.graph, value));
            }
            if let Some(formula) = model::formula(function) {
                return self.expr(&formula);
            }
            if let (Some(to), [arg]) = (scalar_udf::cast_target(function.fun()), function.args())
                && !is_text(&self.dtype(arg)?)
                && !is_text(to)
            {
                return self.cast(arg, to, OverflowPolicy::Error);
            }
            let is_any = |of: fn(&DataType) -> bool| {
                function.args().iter().any(|arg| self.dtype(arg).is_ok_and(|dtype| of(&dtype)))
            };
            if is_any(lists::is_nested) || lists::is_nested(function.return_type()) {
                return lists::call(self, function);
            }
            let texts = is_any(is_text);
            // The string argument of these functions is an option, not a value.
            let dates = functions::takes_dates(function.name());
            return match (texts || is_text(function.return_type())) && !dates {
                true => strings::call(self, function),
                false => functions::call(self, function),
            };
        }
        Err(CpuReason::Expression(expr.to_string()))
    }

    pub fn boolean(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
        let id = self.expr(expr)?;
        match self.graph.kind(id) {
            DeviceType::Bool => Ok(id),
            _ => Err(CpuReason::NotA { expression: expr.to_string(), expected: "a condition" }),
        }
    }

    fn binary(&mut self, binary: &BinaryExpr, whole: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
        let op = *binary.op();
        if matches!(op, Operator::And | Operator::Or) {
            return self.both(op == Operator::And, binary);
        }
        let (left, right) = (self.dtype(binary.left())?, self.dtype(binary.right())?);
        if op == Operator::StringConcat {
            return strings::text(self, whole);
        }
        if let Some(found) = strings::regex(self, binary)? {
            return Ok(found);
        }
        let texts = is_text(&left) && is_text(&right);
        let (a, b) = match texts {
            true => (strings::piece(self, binary.left())?, strings::piece(self, binary.right())?),
            false => (self.expr(binary.left())?, self.expr(binary.right())?),
        };
        let comparison = match op {
            Operator::Eq => Some(Comparison::Equal),
            Operator::NotEq => Some(Comparison::NotEqual),
            Operator::Lt => Some(Comparison::Less),
            Operator::LtEq => Some(Comparison::LessEqual),
            Operator::Gt => Some(Comparison::Greater),
            Operator::GtEq => Some(Comparison::GreaterEqual),
            _ => None,
        };
        let same = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        if comparison.is_some() || same {
            if !texts && !arithmetic::comparable(&left, &right) {
                return Err(CpuReason::feature(format!("a comparison of {left} with {right}")));
            }
            return Ok(match comparison {
                Some(how) => self.graph.add(Op::Compare(how), &[a, b], DeviceType::Bool),
                None => {
                    let same = self.graph.add(Op::IsNotDistinctFrom, &[a, b], DeviceType::Bool);
                    match op {
                        Operator::IsDistinctFrom => self.graph.add(Op::Not, &[same], DeviceType::Bool),
                        _ => same,
                    }
                }
            });
        }
        let result = self.dtype(whole)?;
        arithmetic::arithmetic(&mut self.graph, op, (a, &left), (b, &right), &result)
    }

    /// `and`, or `or`. A function of the notebook's is called where the other side does not decide: it may not come to
    /// an end elsewhere.
    fn both(&mut self, is_and: bool, binary: &BinaryExpr) -> Result<NodeId, CpuReason> {
        let (mut first, mut second) = (binary.left(), binary.right());
        if is_in(first) && !is_in(second) {
            (first, second) = (second, first);
        }
        let a = self.boolean(first)?;
        let outer = self.guard;
        if is_in(second) {
            let decided = if is_and { self.graph.add(Op::Not, &[a], DeviceType::Bool) } else { a };
            self.guard = Some(udf::unless(&mut self.graph, outer, decided));
        }
        let b = self.boolean(second);
        self.guard = outer;
        Ok(self.graph.add(if is_and { Op::And } else { Op::Or }, &[a, b?], DeviceType::Bool))
    }

    fn cast(&mut self, of: &Arc<dyn PhysicalExpr>, to: &DataType, misfit: OverflowPolicy) -> Result<NodeId, CpuReason> {
        use DataType::Timestamp;
        let (arg, from) = (self.expr(of)?, self.dtype(of)?);
        if let (Timestamp(_, None), Timestamp(unit, Some(_))) = (&from, to) {
            let local = arithmetic::cast(&mut self.graph, arg, &from, &Timestamp(*unit, None), misfit)?;
            let refused = || CpuReason::Cast { from: from.clone(), to: to.clone() };
            return functions::in_zone(self, local, to, misfit).ok_or_else(refused);
        }
        arithmetic::cast(&mut self.graph, arg, &from, to, misfit)
    }

    fn list(&mut self, list: &InListExpr) -> Result<NodeId, CpuReason> {
        if list.list().len() > MAX_LIST {
            return Err(CpuReason::feature(format!("IN with {} values", list.list().len())));
        }
        let of = self.dtype(list.expr())?;
        let texts = is_text(&of);
        let value = if texts { strings::piece(self, list.expr())? } else { self.expr(list.expr())? };
        let mut any = self.graph.bool(false);
        for item in list.list() {
            let dtype = self.dtype(item)?;
            if !(arithmetic::comparable(&of, &dtype) || texts && is_text(&dtype)) {
                return Err(CpuReason::of_type("IN with values", &of));
            }
            let item = if texts { strings::piece(self, item)? } else { self.expr(item)? };
            let same = match self.graph.kind(value).is_float() {
                // As DataFusion's lists do it: by bits, in which the two zeros differ.
                true => {
                    let bits = [value, item].map(|id| self.graph.add(Op::Bits, &[id], DeviceType::Number(Scalar::U64)));
                    self.graph.add(Op::Compare(Comparison::Equal), &bits, DeviceType::Bool)
                }
                false => self.graph.add(Op::Compare(Comparison::Equal), &[value, item], DeviceType::Bool),
            };
            any = self.graph.add(Op::Or, &[any, same], DeviceType::Bool);
        }
        Ok(if list.negated() { self.graph.add(Op::Not, &[any], DeviceType::Bool) } else { any })
    }

    /// The text column that an expression reads, if it reads nothing else.
    fn only_text(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
        let mut columns = BTreeSet::new();
        let walked = expr.apply(|node| {
            let any: &dyn Any = node.as_ref();
            columns.extend(any.downcast_ref::<Column>().map(Column::index));
            Ok(TreeNodeRecursion::Continue)
        });
        walked.ok()?;
        // A function of the notebook's belongs into the kernel, whatever its arguments are made of.
        if is_in(expr) {
            return None;
        }
        let [column] = columns.into_iter().collect::<Vec<_>>()[..] else { return None };
        is_text(self.schema.field(column).data_type()).then_some(column)
    }

    /// Lowers an expression over one string column to a lookup table with a result for each string of the dictionary.
    fn by_dictionary(&mut self, expr: &Arc<dyn PhysicalExpr>, column: usize) -> Result<Option<NodeId>, CpuReason> {
        let mut stable = true;
        let walked = expr.apply(|node| {
            let any: &dyn Any = node.as_ref();
            if let Some(function) = any.downcast_ref::<ScalarFunctionExpr>() {
                stable &= function.fun().signature().volatility != Volatility::Volatile;
            }
            Ok(TreeNodeRecursion::Continue)
        });
        walked?;
        let text = self.schema.field(column).data_type().clone();
        if !stable {
            return Err(CpuReason::Volatile(expr.to_string()));
        }
        let result = self.dtype(expr)?;
        let kind = kind_of(&result).ok_or_else(|| CpuReason::of_type("a value", &result))?;
        let id = self.column_as(column, false)?;
        let of = match self.graph.node(id).op {
            Op::Input(column) => StringSource::Input(column),
            Op::BuildColumn(join, column) => StringSource::BuildColumn(join, column),
            _ => {
                self.requests.table = true;
                return Err(CpuReason::feature("a function of a computed string"));
            }
        };
        let name = self.schema.field(column).name().clone();
        let rest: Vec<Field> = self.schema.fields().iter().map(|f| f.as_ref().clone()).collect();
        let evaluated = Arc::clone(expr);
        let evaluate = move |texts: &ArrayRef| -> onrush_ops::Result<ArrayRef> {
            // A batch in which only that column means something.
            let rows = texts.len();
            let mut fields = Vec::new();
            let mut arrays: Vec<ArrayRef> = Vec::new();
            for (index, field) in rest.iter().enumerate() {
                if index == column {
                    fields.push(Field::new(&name, text.clone(), true));
                    arrays.push(cast(texts, &text)?);
                } else {
                    fields.push(field.clone().with_nullable(true));
                    arrays.push(arrow::array::new_null_array(field.data_type(), rows));
                }
            }
            let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
            let value = evaluated.evaluate(&batch).and_then(|value| value.into_array(rows));
            // A fault of one text: maybe of one that no row has. The CPU decides.
            let value = value.map_err(|_| onrush_ops::Error::Fault)?;
            Ok(if value.data_type() == &result { value } else { cast(&value, &result)? })
        };
        self.lookups.push(Lookup::Strings { of, evaluate: Arc::new(evaluate) });
        Ok(Some(self.graph.add(Op::Lookup(self.lookups.len() as u32 - 1), &[id], kind)))
    }
}

/// The state of a stage at some point.
#[derive(Clone)]
pub struct Checkpoint {
    graph: ExprGraph,
    lookups: usize,
    texts: usize,
    structs: usize,
    repeat: Option<NodeId>,
    used: usize,
    rising: usize,
    columns: Vec<ColumnSource>,
    sides: Vec<Checkpoint>,
}

/// A literal's text, or that it is null.
fn text_literal(expr: &Arc<dyn PhysicalExpr>) -> Option<Option<String>> {
    let value = literal_of(expr)?;
    if value.is_null() {
        return Some(None);
    }
    value.try_as_str().flatten().map(|text| Some(text.to_string()))
}

/// The value of a literal expression.
pub fn literal_of(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    let any: &dyn Any = expr.as_ref();
    any.downcast_ref::<Literal>().map(Literal::value)
}
