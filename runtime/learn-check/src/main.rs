//! Trains and asks models for tests in other languages: a JSON object a line in, one a line out, numbers after it.
//!
//! For tests only; no part of the product. `tests/learn/sk_onrush` talks to it.
//!
//! A request is a line of JSON with `do` and `floats`, the number of 64-bit little-endian floats that follow the line.
//! An answer is the same with `ok` or `error`. Columns are `{"name": "x0", "kind": "number"}`, whose values are the
//! next floats, or have their strings in `values`; `null` is missing.
//!
//! - `table`: the estimators with parameters and attributes.
//! - `fit`: `spec` (estimator, params, parts, cv), `rows`, `columns`; with `target`, `classes` and `weight` their
//!   values follow. Gives the number of the model, its attributes, outputs and notes. `transform`: the training rows
//!   transformed, too.
//! - `apply`: `model`, `method` (`predict`, `predict_proba`, `label`, `transform`, `decision_function`,
//!   `inverse_transform`, `rows`, `embedding` or the name of an output), `rows`, `columns`.
//! - `neighbors`: `model`, `k` or `radius`, `rows`, `columns`.
//! - `save`, `load`, `free`: a model as the bytes of its file, each byte a number.

mod answer;
mod request;

use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use onrush_learn::{Error, FittedModel, Role, Run, save};
use serde_json::{Value as Json, json};

use answer::{Answer, attributes, columns, numbers, table};
use request::{Floats, data, spec, wrong};

fn main() -> std::io::Result<()> {
    // A panic is an answer; its message goes there.
    std::panic::set_hook(Box::new(|_| {}));
    let mut models = Models::default();
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let request: Json = serde_json::from_str(&line).unwrap_or(Json::Null);
        line.clear();
        let count = request["floats"].as_u64().unwrap_or(0) as usize;
        let mut bytes = vec![0; count * 8];
        input.read_exact(&mut bytes)?;
        let (chunks, _) = bytes.as_chunks::<8>();
        let floats = Floats::new(chunks.iter().map(|b| f64::from_le_bytes(*b)).collect());
        let answer = catch_unwind(AssertUnwindSafe(|| models.answer(&request, floats)));
        let (mut head, floats) = match answer {
            Ok(Ok(answer)) => (answer.head, answer.floats),
            Ok(Err(error)) => {
                let help = error.help.clone();
                (json!({"error": {"code": error.kind.code(), "message": error.message, "help": help}}), Vec::new())
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("");
                (json!({"error": {"code": "panic", "message": text, "help": []}}), Vec::new())
            }
        };
        head["floats"] = json!(floats.len());
        writeln!(out, "{head}")?;
        floats.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))?;
        out.flush()?;
    }
    Ok(())
}

/// The trained models by their numbers.
#[derive(Default)]
struct Models {
    next: u64,
    models: HashMap<u64, FittedModel>,
}

impl Models {
    fn answer(&mut self, request: &Json, mut floats: Floats) -> Result<Answer, Error> {
        match request["do"].as_str() {
            Some("table") => Ok(Answer::new(table())),
            Some("fit") => self.fit(request, floats),
            Some("apply") => self.apply(request, floats),
            Some("neighbors") => self.neighbors(request, floats),
            Some("save") => {
                let bytes = save::to_bytes(self.model(request)?)?;
                Ok(Answer::new(json!({})).with(bytes.iter().map(|byte| f64::from(*byte)).collect()))
            }
            Some("load") => {
                let bytes: Vec<u8> = floats.rest().iter().map(|byte| *byte as u8).collect();
                let model = save::from_bytes(&bytes)?;
                Ok(Answer::new(json!({"model": self.insert(model)})))
            }
            Some("free") => {
                request["model"].as_u64().map(|model| self.models.remove(&model));
                Ok(Answer::new(json!({})))
            }
            _ => Err(wrong("it has no known `do`")),
        }
    }

    fn insert(&mut self, model: FittedModel) -> u64 {
        self.next += 1;
        self.models.insert(self.next, model);
        self.next
    }

    fn model(&self, request: &Json) -> Result<&FittedModel, Error> {
        let model = request["model"].as_u64().and_then(|model| self.models.get(&model));
        model.ok_or_else(|| wrong("there is no such model"))
    }

    fn fit(&mut self, request: &Json, mut floats: Floats) -> Result<Answer, Error> {
        let spec = spec(&request["spec"])?;
        let data = data(request, &mut floats)?;
        let (fitted, transformed) = match request["transform"].as_bool() {
            Some(true) => onrush_learn::fit_transform(&spec, &data, &Run::silent())?,
            _ => (onrush_learn::fit(&spec, &data, &Run::silent())?, Vec::new()),
        };
        let mut answer = Answer::new(json!({"notes": fitted.model().notes()}));
        answer.head["attributes"] = attributes(&fitted, &mut answer.floats);
        let outputs = fitted.outputs();
        answer.head["outputs"] = outputs.iter().map(|(name, role)| json!([name, kind(role)])).collect();
        answer.head["transformed"] = numbers(transformed, &mut answer.floats);
        answer.head["model"] = json!(self.insert(fitted));
        Ok(answer)
    }

    fn apply(&self, request: &Json, mut floats: Floats) -> Result<Answer, Error> {
        let fitted = self.model(request)?;
        let data = data(request, &mut floats)?;
        let method = request["method"].as_str().unwrap_or("");
        let found = match method {
            "decision_function" => fitted.decision_function(&data)?,
            "rows" => vec![fitted.model().rows().ok_or_else(|| wrong("the model has no rows"))?],
            "embedding" => {
                let embedding = fitted.model().embedding().ok_or_else(|| wrong("the model has no embedding"))?;
                embedding.into_iter().map(|(_, values)| values).collect()
            }
            "inverse_transform" => {
                let mut answer = Answer::new(json!({}));
                answer.head["columns"] = columns(fitted.inverse(&data)?, &mut answer.floats);
                return Ok(answer);
            }
            _ => {
                let outputs = fitted.outputs();
                let is_wanted = |(name, role): &(String, Role)| kind(role) == method || name == method;
                let wanted: Vec<usize> = (0..outputs.len()).filter(|k| is_wanted(&outputs[*k])).collect();
                if wanted.is_empty() && !outputs.is_empty() {
                    return Err(wrong(format!("the model has no `{method}`")));
                }
                fitted.apply(&data, &wanted)?
            }
        };
        let mut answer = Answer::new(json!({}));
        answer.head["columns"] = numbers(found, &mut answer.floats);
        Ok(answer)
    }

    fn neighbors(&self, request: &Json, mut floats: Floats) -> Result<Answer, Error> {
        let data = data(request, &mut floats)?;
        let k = request["k"].as_u64().map(|k| k as usize);
        let found = self.model(request)?.kneighbors(&data, k, request["radius"].as_f64(), &Run::silent())?;
        let floats = |values: Vec<usize>| values.into_iter().map(|v| v as f64).collect::<Vec<f64>>();
        let mut answer = Answer::new(json!({}));
        let found = vec![floats(found.rows), floats(found.neighbors), found.distances];
        answer.head["columns"] = numbers(found, &mut answer.floats);
        Ok(answer)
    }
}

/// The method of an output.
fn kind(role: &Role) -> &'static str {
    match role {
        Role::Prediction => "predict",
        Role::Proba(_) => "predict_proba",
        Role::Label => "label",
        Role::Feature(..) => "transform",
    }
}
