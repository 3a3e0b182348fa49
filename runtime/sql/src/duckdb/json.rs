//! JSON in a query: which expressions are documents, and which paths have wildcards.
//!
//! JSON has no separate type in a plan: it is a string. So the form of the query tells which argument is a document,
//! and which path leads to a list. Knows no values.

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, LambdaSyntax,
    Subscript, Value,
};

use super::{BinaryOperator, call, take};
use crate::library::json::is_wildcard;

/// A part of a document.
pub fn extracted(function: &str, document: Expr, path: Expr) -> Expr {
    call(function, vec![document, wildcard(path)])
}

/// A path with wildcards as such.
fn wildcard(path: Expr) -> Expr {
    match &path {
        Expr::Value(v) if matches!(&v.value, Value::SingleQuotedString(text) if is_wildcard(text)) => {
            call("json_wildcard", vec![path])
        }
        _ => path,
    }
}

/// `j[1].a` as paths into a document, if each step is a place or a key.
pub fn accessed(root: &mut Expr, chain: &mut [AccessExpr]) -> Option<Expr> {
    let key = |access: &AccessExpr| match access {
        AccessExpr::Subscript(Subscript::Index { index }) => Some(index.clone()),
        AccessExpr::Dot(Expr::Identifier(name)) => {
            Some(Expr::Value(Value::SingleQuotedString(name.value.clone()).into()))
        }
        _ => None,
    };
    let keys = chain.iter().map(key).collect::<Option<Vec<_>>>()?;
    Some(keys.into_iter().fold(take(root), |document, key| call("json_extract", vec![document, key])))
}

/// Marks the wildcards of paths, and the documents that become a part of another one: without a mark they would be
/// strings in it.
pub fn marked(name: &str, function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    let mut args: Vec<&mut Expr> = list
        .args
        .iter_mut()
        .filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
        .collect();
    match (name, args.as_mut_slice()) {
        (
            "json_extract"
            | "json_extract_string"
            | "json_extract_path"
            | "json_extract_path_text"
            | "json_value"
            | "json_exists"
            | "json_type"
            | "json_keys"
            | "json_array_length",
            [_, path],
        ) => **path = wildcard(take(path)),
        ("json_array" | "to_json" | "json_quote" | "row_to_json" | "array_to_json" | "json_group_array", values) => {
            values.iter_mut().for_each(|value| **value = inner(take(value)));
        }
        ("json_object", pairs) => {
            pairs.iter_mut().skip(1).step_by(2).for_each(|value| **value = inner(take(value)));
        }
        _ => {}
    }
}

/// Whether an expression is a document by its form. The type of a column is not known here.
pub fn is_json(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_json(inner),
        Expr::Cast { data_type, .. } => *data_type == DataType::JSON,
        Expr::TypedString(typed) => typed.data_type == DataType::JSON,
        Expr::BinaryOp { op: BinaryOperator::Arrow, right, .. } => is_one(right),
        Expr::Lambda(lambda) if lambda.syntax == LambdaSyntax::Arrow => is_one(&lambda.body),
        Expr::Function(function) => match name(function).as_str() {
            "json" | "try_json" | "json_array" | "json_object" | "json_merge_patch" | "json_structure" | "to_json"
            | "json_quote" | "row_to_json" | "array_to_json" | "json_group_array" => true,
            "json_extract" | "json_extract_path" => {
                let FunctionArguments::List(list) = &function.args else { return false };
                let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(path))] = list.args.as_slice() else { return false };
                is_one(path)
            }
            _ => false,
        },
        _ => false,
    }
}

/// In small letters and without quotes: a name that comes twice has them.
fn name(function: &Function) -> String {
    function.name.to_string().to_lowercase().replace('"', "")
}

/// Whether a path leads to one value, not to a list of values.
fn is_one(path: &Expr) -> bool {
    match path {
        Expr::Array(_) => false,
        Expr::Value(v) => !matches!(&v.value, Value::SingleQuotedString(text) if is_wildcard(text)),
        Expr::Function(function) => name(function) != "json_wildcard",
        _ => true,
    }
}

/// A value of a document: documents as such, and a row without names as an array.
fn inner(value: Expr) -> Expr {
    match value {
        Expr::Nested(value) => inner(*value),
        value if is_json(&value) => call("json_document", vec![value]),
        Expr::Tuple(items) => call("json_document", vec![call("json_array", items)]),
        Expr::Function(mut function) if name(&function) == "row" => {
            super::rename(&mut function, "json_array");
            call("json_document", vec![Expr::Function(function)])
        }
        Expr::Array(Array { elem, named }) => Expr::Array(Array { elem: elem.into_iter().map(inner).collect(), named }),
        Expr::Dictionary(mut fields) => {
            fields.iter_mut().for_each(|field| *field.value = inner(take(&mut field.value)));
            Expr::Dictionary(fields)
        }
        value => value,
    }
}
