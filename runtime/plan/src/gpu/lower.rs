//! DataFusion's physical expressions as nodes of a pipeline's graph. What has no place there is refused with a reason, and its plan node
//! stays on the CPU.
//!
//! An expression over one text column, whatever it does, is computed on the CPU once for each text of the column's dictionary.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Operator, Volatility};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NegativeExpr, NotExpr,
    TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_kernels::Scalar;
use onrush_ops::dictionary::{self, Dictionary};
use onrush_ops::{Comparison, Graph, How, Id, Kind, Lookup, Misfit, Op, Origin, kind_of};

use super::{functions, numbers};

/// Why something stays on the CPU, in a few words.
pub type Refusal = String;

/// A column that expressions can name: where it comes from, or why it cannot be used.
#[derive(Clone, Debug)]
pub enum Slot {
    /// A column of the fragment's input, not read so far.
    Source(usize),
    /// A column of a table that is joined, not read so far.
    Joined {
        join: usize,
        column: usize,
    },
    Node(Id),
}

/// A table that a stage joins.
pub struct Side {
    /// Over the table's columns: keys, and what is read of it.
    pub lowering: Lowering,
    pub table: usize,
    pub keys: Vec<Id>,
    pub probe: Id,
    pub nulls_equal: bool,
    pub how: How,
    pub residual: Option<Id>,
    pub before: Option<Id>,
}

/// The stage that is being written.
pub struct Lowering {
    pub graph: Graph,
    pub joins: Vec<Side>,
    pub lookups: Vec<Lookup>,
    pub texts: Vec<Arc<Dictionary>>,
    /// Columns of the fragment's input that are read, in the order of the stage's inputs. Only in the first stage.
    pub used: Vec<usize>,
    pub columns: Vec<Slot>,
    pub schema: Arc<Schema>,
    /// Whether this stage reads the fragment's input, whose rows have numbers.
    pub begins: bool,
}

/// Longer lists than this are looked up by the CPU.
const LONGEST_LIST: usize = 64;

impl Lowering {
    pub fn new(schema: &Arc<Schema>) -> Self {
        Lowering {
            graph: Graph::new(),
            joins: Vec::new(),
            lookups: Vec::new(),
            texts: Vec::new(),
            used: Vec::new(),
            columns: (0..schema.fields().len()).map(Slot::Source).collect(),
            schema: Arc::clone(schema),
            begins: true,
        }
    }

    pub fn dtype(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<DataType, Refusal> {
        expr.data_type(&self.schema).map_err(|e| e.to_string())
    }

    /// Whether all columns are those of the input.
    pub fn is_untouched(&self) -> bool {
        let plain = |slot: &Slot| match slot {
            Slot::Source(_) => true,
            Slot::Joined { .. } => false,
            Slot::Node(id) => matches!(self.graph.node(*id).op, Op::Input(_)),
        };
        self.columns.iter().all(plain)
    }

    /// The node of a column.
    pub fn column(&mut self, index: usize) -> Result<Id, Refusal> {
        match self.columns.get(index) {
            Some(Slot::Node(id)) => Ok(*id),
            Some(Slot::Source(source)) => {
                let source = *source;
                let dtype = self.schema.field(index).data_type();
                let kind = kind_of(dtype).ok_or_else(|| format!("columns of type {dtype} are not on the GPU yet"))?;
                let place = self.used.iter().position(|used| *used == source).unwrap_or_else(|| {
                    self.used.push(source);
                    self.used.len() - 1
                });
                let id = self.graph.input(place, kind);
                self.columns[index] = Slot::Node(id);
                Ok(id)
            }
            Some(Slot::Joined { join, column }) => {
                let (join, column) = (*join, *column);
                let side = &mut self.joins[join];
                let there = side.lowering.column(column)?;
                let Op::Input(place) = side.lowering.graph.node(there).op else {
                    return Err("a column that is not there".to_string());
                };
                let (kind, probe) = (side.lowering.graph.kind(there), side.probe);
                let id = self.graph.add(Op::Joined(join as u32, place), &[probe], kind);
                self.columns[index] = Slot::Node(id);
                Ok(id)
            }
            None => Err("a column that is not there".to_string()),
        }
    }

    pub fn expr(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Id, Refusal> {
        let any: &dyn Any = expr.as_ref();
        if let Some(column) = any.downcast_ref::<Column>() {
            return self.column(column.index());
        }
        if let Some(literal) = any.downcast_ref::<Literal>() {
            return numbers::literal(&mut self.graph, literal.value());
        }
        if let Some(id) = self.by_dictionary(expr)? {
            return Ok(id);
        }
        if let Some(binary) = any.downcast_ref::<BinaryExpr>() {
            return self.binary(binary, expr);
        }
        if let Some(not) = any.downcast_ref::<NotExpr>() {
            let arg = self.boolean(not.arg())?;
            return Ok(self.graph.add(Op::Not, &[arg], Kind::Bool));
        }
        if let Some(is) = any.downcast_ref::<IsNullExpr>() {
            let arg = self.expr(is.arg())?;
            return Ok(self.graph.add(Op::IsNull, &[arg], Kind::Bool));
        }
        if let Some(is) = any.downcast_ref::<IsNotNullExpr>() {
            let arg = self.expr(is.arg())?;
            let null = self.graph.add(Op::IsNull, &[arg], Kind::Bool);
            return Ok(self.graph.add(Op::Not, &[null], Kind::Bool));
        }
        if let Some(negative) = any.downcast_ref::<NegativeExpr>() {
            let arg = self.expr(negative.arg())?;
            let kind = self.graph.kind(arg);
            return Ok(self.graph.add(Op::Negate, &[arg], kind));
        }
        if let Some(cast) = any.downcast_ref::<CastExpr>() {
            let (arg, from) = (self.expr(cast.expr())?, self.dtype(cast.expr())?);
            let misfit = if cast.cast_options().safe { Misfit::Null } else { Misfit::Fault };
            return numbers::cast(&mut self.graph, arg, &from, cast.cast_type(), misfit);
        }
        if let Some(cast) = any.downcast_ref::<TryCastExpr>() {
            let (arg, from) = (self.expr(cast.expr())?, self.dtype(cast.expr())?);
            return numbers::cast(&mut self.graph, arg, &from, cast.cast_type(), Misfit::Null);
        }
        if let Some(case) = any.downcast_ref::<CaseExpr>() {
            return self.case(case, expr);
        }
        if let Some(list) = any.downcast_ref::<InListExpr>() {
            return self.list(list);
        }
        if let Some(function) = any.downcast_ref::<ScalarFunctionExpr>() {
            return functions::call(self, function);
        }
        Err(format!("`{expr}` is not on the GPU yet"))
    }

    pub fn boolean(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Id, Refusal> {
        let id = self.expr(expr)?;
        match self.graph.kind(id) {
            Kind::Bool => Ok(id),
            _ => Err(format!("`{expr}` is no condition")),
        }
    }

    fn binary(&mut self, binary: &BinaryExpr, whole: &Arc<dyn PhysicalExpr>) -> Result<Id, Refusal> {
        let op = *binary.op();
        if matches!(op, Operator::And | Operator::Or) {
            let (a, b) = (self.boolean(binary.left())?, self.boolean(binary.right())?);
            let op = if op == Operator::And { Op::And } else { Op::Or };
            return Ok(self.graph.add(op, &[a, b], Kind::Bool));
        }
        let (left, right) = (self.dtype(binary.left())?, self.dtype(binary.right())?);
        let (a, b) = (self.expr(binary.left())?, self.expr(binary.right())?);
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
            let text = self.graph.kind(a) == Kind::Code || self.graph.kind(b) == Kind::Code;
            if text {
                return Err("two text columns are not compared on the GPU yet".to_string());
            }
            if !numbers::comparable(&left, &right) {
                return Err(format!("a comparison of {left} with {right} is not on the GPU yet"));
            }
            return Ok(match comparison {
                Some(how) => self.graph.add(Op::Compare(how), &[a, b], Kind::Bool),
                None => {
                    let same = self.graph.add(Op::SameAs, &[a, b], Kind::Bool);
                    match op {
                        Operator::IsDistinctFrom => self.graph.add(Op::Not, &[same], Kind::Bool),
                        _ => same,
                    }
                }
            });
        }
        let result = self.dtype(whole)?;
        numbers::arithmetic(&mut self.graph, op, (a, &left), (b, &right), &result)
    }

    fn case(&mut self, case: &CaseExpr, whole: &Arc<dyn PhysicalExpr>) -> Result<Id, Refusal> {
        let result = self.dtype(whole)?;
        let kind = kind_of(&result).ok_or_else(|| format!("CASE with results of type {result}"))?;
        let texts = if kind == Kind::Code { Some(texts_of(case)?) } else { None };
        let base = match case.expr() {
            Some(base) => {
                let id = self.expr(base)?;
                if self.graph.kind(id) == Kind::Code {
                    return Err("CASE over a text with other columns is not on the GPU yet".to_string());
                }
                Some(id)
            }
            None => None,
        };
        // A text is its number among the results until one is chosen.
        let kind = if texts.is_some() { Kind::Number(Scalar::U32) } else { kind };
        let then = |lowering: &mut Lowering, then: &Arc<dyn PhysicalExpr>| match &texts {
            None => lowering.expr(then),
            Some((numbers, _)) => Ok(match text_literal(then) {
                Some(Some(text)) => lowering.graph.number(Scalar::U32, numbers[&text].into()),
                _ => lowering.graph.null(kind),
            }),
        };
        let mut chosen = match case.else_expr() {
            Some(otherwise) => then(self, otherwise)?,
            None => self.graph.null(kind),
        };
        for (when, result) in case.when_then_expr().iter().rev() {
            let condition = match base {
                Some(base) => {
                    let when = self.expr(when)?;
                    self.graph.add(Op::Compare(Comparison::Equal), &[base, when], Kind::Bool)
                }
                None => self.boolean(when)?,
            };
            let result = then(self, result)?;
            if self.graph.kind(result) != kind || self.graph.kind(chosen) != kind {
                return Err("CASE with results of several types".to_string());
            }
            chosen = self.graph.add(Op::Choose, &[condition, result, chosen], kind);
        }
        Ok(match texts {
            None => chosen,
            Some((_, dictionary)) => {
                self.texts.push(Arc::new(dictionary));
                self.graph.add(Op::Text(self.texts.len() as u32 - 1), &[chosen], Kind::Code)
            }
        })
    }

    fn list(&mut self, list: &InListExpr) -> Result<Id, Refusal> {
        if list.list().len() > LONGEST_LIST {
            return Err(format!("a list of {} values is not on the GPU yet", list.list().len()));
        }
        let of = self.dtype(list.expr())?;
        let value = self.expr(list.expr())?;
        if self.graph.kind(value) == Kind::Code {
            return Err("a list of texts with other columns is not on the GPU yet".to_string());
        }
        let mut any = self.graph.bool(false);
        for item in list.list() {
            if !numbers::comparable(&of, &self.dtype(item)?) {
                return Err(format!("a list of values beside {of} is not on the GPU yet"));
            }
            let item = self.expr(item)?;
            let same = match self.graph.kind(value).is_float() {
                // As DataFusion's lists do it: by bits, in which the two zeros differ.
                true => {
                    let bits = [value, item].map(|id| self.graph.add(Op::Bits, &[id], Kind::Number(Scalar::U64)));
                    self.graph.add(Op::Compare(Comparison::Equal), &bits, Kind::Bool)
                }
                false => self.graph.add(Op::Compare(Comparison::Equal), &[value, item], Kind::Bool),
            };
            any = self.graph.add(Op::Or, &[any, same], Kind::Bool);
        }
        Ok(if list.negated() { self.graph.add(Op::Not, &[any], Kind::Bool) } else { any })
    }

    /// A lookup, if the expression reads one text column and nothing else.
    fn by_dictionary(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Id>, Refusal> {
        let mut columns = BTreeSet::new();
        let mut stable = true;
        let walked = expr.apply(|node| {
            let any: &dyn Any = node.as_ref();
            if let Some(column) = any.downcast_ref::<Column>() {
                columns.insert(column.index());
            }
            if let Some(function) = any.downcast_ref::<ScalarFunctionExpr>() {
                stable &= function.fun().signature().volatility != Volatility::Volatile;
            }
            Ok(TreeNodeRecursion::Continue)
        });
        walked.map_err(|e| e.to_string())?;
        let [column] = columns.into_iter().collect::<Vec<_>>()[..] else { return Ok(None) };
        let text = self.schema.field(column).data_type().clone();
        if kind_of(&text) != Some(Kind::Code) {
            return Ok(None);
        }
        if !stable {
            return Err(format!("`{expr}` changes from row to row"));
        }
        let result = self.dtype(expr)?;
        let kind = kind_of(&result).ok_or_else(|| format!("values of type {result} are not on the GPU yet"))?;
        let id = self.column(column)?;
        let of = match self.graph.node(id).op {
            Op::Input(column) => Origin::Input(column),
            Op::Joined(join, column) => Origin::Joined(join, column),
            _ => return Err("a function of a computed text is not on the GPU yet".to_string()),
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
        self.lookups.push(Lookup::Texts { of, evaluate: Arc::new(evaluate) });
        Ok(Some(self.graph.add(Op::Lookup(self.lookups.len() as u32 - 1), &[id], kind)))
    }
}

/// A literal's text, or that it is null.
fn text_literal(expr: &Arc<dyn PhysicalExpr>) -> Option<Option<String>> {
    let value = literal_of(expr)?;
    if value.is_null() {
        return Some(None);
    }
    value.try_as_str().flatten().map(|text| Some(text.to_string()))
}

/// The results of a CASE, if all are literal texts: their numbers in the order of texts.
fn texts_of(case: &CaseExpr) -> Result<(BTreeMap<String, u32>, Dictionary), Refusal> {
    let results = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
    let texts: Option<BTreeSet<Option<String>>> = results.map(text_literal).collect();
    let texts = texts.ok_or("CASE with texts of several columns is not on the GPU yet")?;
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    let array: ArrayRef = Arc::new(arrow::array::StringArray::from_iter_values(&texts));
    let (_, dictionary) = dictionary::encode(&[array]).map_err(|e| e.to_string())?;
    Ok((texts.into_iter().zip(0..).collect(), dictionary))
}

/// The value of a literal expression.
pub fn literal_of(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    let any: &dyn Any = expr.as_ref();
    any.downcast_ref::<Literal>().map(Literal::value)
}
