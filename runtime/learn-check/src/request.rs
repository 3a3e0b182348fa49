//! Requests as specifications and data.

use onrush_learn::{Column, Data, Error, ErrorKind, Kind, Param, Spec};
use onrush_wire::learn::{Part, Splitter};
use serde_json::Value as Json;

/// A request that cannot be read.
pub fn wrong(message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Evaluation, format!("the request is wrong: {message}"))
}

/// The numbers of a request, taken from the front.
pub struct Floats {
    values: Vec<f64>,
    at: usize,
}

impl Floats {
    pub fn new(values: Vec<f64>) -> Self {
        Floats { values, at: 0 }
    }

    /// The next `count` numbers.
    pub fn take(&mut self, count: usize) -> Result<Vec<f64>, Error> {
        let values = self.values.get(self.at..self.at + count).ok_or_else(|| wrong("numbers are missing"))?;
        self.at += count;
        Ok(values.to_vec())
    }

    /// All others.
    pub fn rest(&mut self) -> &[f64] {
        let at = std::mem::replace(&mut self.at, self.values.len());
        &self.values[at..]
    }
}

pub fn spec(value: &Json) -> Result<Spec, Error> {
    let estimator = value["estimator"].as_str().ok_or_else(|| wrong("no `estimator`"))?;
    let mut spec = Spec::new(estimator);
    for (name, value) in value["params"].as_object().into_iter().flatten() {
        spec.set(name, param(value)?);
    }
    for part in value["parts"].as_array().into_iter().flatten() {
        let name = part["name"].as_str().unwrap_or("").to_string();
        let columns = part["columns"].as_array().into_iter().flatten();
        let columns = columns.filter_map(Json::as_str).map(str::to_string).collect();
        spec.parts.push(Part { name, columns, spec: self::spec(&part["spec"])? });
    }
    let folds = value["cv"].as_u64();
    spec.cv = folds.map(|n_splits| Splitter::Auto { n_splits: n_splits as usize });
    Ok(spec)
}

/// Floats that JSON lacks are `{"float": "inf"}`.
fn param(value: &Json) -> Result<Param, Error> {
    Ok(match value {
        Json::Null => Param::None,
        Json::Bool(value) => Param::Bool(*value),
        Json::String(value) => Param::Str(value.clone()),
        Json::Array(values) => Param::List(values.iter().map(param).collect::<Result<_, Error>>()?),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Param::Int(value),
            None => Param::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::Object(_) => {
            let float = value["float"].as_str().and_then(|text| text.parse().ok());
            Param::Float(float.ok_or_else(|| wrong(format!("{value} is not a parameter")))?)
        }
    })
}

/// The columns of a request, with the target and the weights if there are any.
pub fn data(request: &Json, floats: &mut Floats) -> Result<Data, Error> {
    let rows = request["rows"].as_u64().unwrap_or(0) as usize;
    let mut features = Vec::new();
    for column in request["columns"].as_array().into_iter().flatten() {
        let name = column["name"].as_str().unwrap_or("");
        features.push(match column["values"].as_array() {
            Some(values) => Column::category(name, &values.iter().map(Json::as_str).collect::<Vec<Option<&str>>>()),
            None => Column { name: name.to_string(), kind: Kind::Number, values: floats.take(rows)? },
        });
    }
    let mut data = Data { rows, ..Data::new(features) };
    data.rows = rows;
    if let Some(target) = request["target"].as_str() {
        data.target = target.to_string();
        data.y = floats.take(rows)?;
        let classes = request["classes"].as_array().into_iter().flatten();
        data.classes = classes.filter_map(Json::as_str).map(str::to_string).collect();
    }
    if request["weight"] == true {
        data.weight = Some(floats.take(rows)?);
    }
    Ok(data)
}
