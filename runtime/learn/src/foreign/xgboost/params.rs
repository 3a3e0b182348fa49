//! Parameters of a specification as XGBoost's library takes them: pairs of strings.

use onrush_wire::learn::{Param, Spec, info};

use crate::check::nearest;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params::{self, XgbParams};

/// Parameters that cross as they are, under the library's names, if they are set.
macro_rules! plain {
    ($params:ident: $($name:ident)*) => {
        [$((stringify!($name), $params.$name.as_ref().map(ToString::to_string))),*]
    };
}

fn plain(params: &XgbParams) -> impl Iterator<Item = (&'static str, String)> {
    let all = plain!(
        params: max_depth max_leaves max_bin grow_policy learning_rate booster tree_method gamma min_child_weight
            max_delta_step subsample colsample_bytree colsample_bylevel colsample_bynode reg_alpha reg_lambda
            scale_pos_weight base_score num_parallel_tree max_cat_to_onehot
    );
    all.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

/// The library's short names of parameters.
const SHORT: [(&str, &str); 6] = [
    ("eta", "learning_rate"),
    ("alpha", "reg_alpha"),
    ("lambda", "reg_lambda"),
    ("min_split_loss", "gamma"),
    ("seed", "random_state"),
    ("max_bins", "max_bin"),
];

/// The objectives of a classifier of two classes.
const BINARY: [&str; 3] = ["binary:logistic", "binary:hinge", "reg:logistic"];
/// The objectives of a regressor.
const REGRESSION: [&str; 13] = [
    "reg:squarederror",
    "reg:squaredlogerror",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "reg:quantileerror",
    "reg:logistic",
    "reg:gamma",
    "reg:tweedie",
    "count:poisson",
    "survival:cox",
    "binary:logistic",
    "binary:logitraw",
    "binary:hinge",
];
const RANKING: [&str; 3] = ["rank:ndcg", "rank:pairwise", "rank:map"];

/// The parameters of a training, in the order in which the library gets them. `objective` is that of the specification.
///
/// # Errors
/// Names the parameter, what it is and what it may be.
pub fn list(
    spec: &Spec,
    objective: &str,
    params: &XgbParams,
    data: &Data,
    threads: usize,
) -> Result<Vec<(String, String)>, Error> {
    let mut list = vec![("nthread".to_string(), threads.to_string())];
    let mut push = |name: &str, value: String| list.push((name.to_string(), value));
    plain(params).for_each(|(name, value)| push(name, value));
    push("random_state", params::seed(params.random_state).to_string());
    if params.booster.as_deref() == Some("gblinear") {
        // The library's default, `shotgun`, gives other bits in each training. A value in `extra` comes later and wins.
        push("updater", "coord_descent".to_string());
    }
    push("objective", fitting_objective(spec, objective, data)?);
    if data.classes.len() > 2 {
        push("num_class", data.classes.len().to_string());
    }
    for metric in metrics(&params.eval_metric)? {
        push("eval_metric", metric);
    }
    if let Some(signs) = monotone(&params.monotone_constraints, data)? {
        push("monotone_constraints", signs);
    }
    if let Some(sets) = interaction(&params.interaction_constraints, data)? {
        push("interaction_constraints", sets);
    }
    push("validate_parameters", "true".to_string());
    list.extend(extra(spec, &params.extra)?);
    Ok(list)
}

/// The names under `extra`.
///
/// # Errors
/// If an entry is not a pair of a name and a value, or names a parameter that has a method.
pub fn extra(spec: &Spec, given: &Param) -> Result<Vec<(String, String)>, Error> {
    let wrong = |value: &Param| {
        Error::new(ErrorKind::Parameter, format!("`extra` is {value}: expected pairs of a name and a value"))
            .help("such as `.extra([[\"max_cat_threshold\", \"64\"]])`")
    };
    let entries = match given {
        Param::None => return Ok(Vec::new()),
        Param::List(entries) => entries,
        other => return Err(wrong(other)),
    };
    let mut pairs = Vec::new();
    for entry in entries {
        match entry {
            Param::List(pair) => match &pair[..] {
                [Param::Str(name), value] if *value != Param::None => pairs.push((name.clone(), written(value))),
                _ => return Err(wrong(entry)),
            },
            other => return Err(wrong(other)),
        }
    }
    for (name, value) in &pairs {
        let method = SHORT.iter().find(|(short, _)| short == name).map_or(name.as_str(), |(_, method)| method);
        if info(&spec.estimator).is_some_and(|e| e.param(method).is_some()) {
            let message = format!("`extra` sets `{name}`, which is a parameter of {}", spec.estimator);
            return Err(Error::new(ErrorKind::Parameter, message).help(format!("`.{method}(..)` sets it")));
        }
        let several = matches!(name.as_str(), "quantile_alpha" | "expectile_alpha") && value.contains(',');
        let refused = matches!(name.as_str(), "num_class" | "missing" | "num_target") || several;
        if refused || (name == "multi_strategy" && value != "one_output_per_tree") {
            return Err(Error::new(
                ErrorKind::Parameter,
                format!("`extra` sets `{name}` to {value}, which cannot be chosen here"),
            )
            .help("a model predicts one target; its classes and missing values come from the data"));
        }
    }
    Ok(pairs)
}

/// A value as the library reads it.
fn written(value: &Param) -> String {
    match value {
        Param::Float(value) => value.to_string(),
        Param::List(values) => format!("[{}]", values.iter().map(written).collect::<Vec<String>>().join(",")),
        value => value.to_string(),
    }
}

/// The objective: that of the specification, made to fit the number of classes, as the Python package does.
fn fitting_objective(spec: &Spec, chosen: &str, data: &Data) -> Result<String, Error> {
    let (default, allowed): (&str, &[&str]) = match (spec.estimator.as_str(), data.classes.len()) {
        ("XGBClassifier", 0..=2) => ("binary:logistic", &BINARY),
        ("XGBClassifier", _) => ("multi:softprob", &["multi:softprob", "multi:softmax"]),
        ("XGBRanker", _) => ("rank:ndcg", &RANKING),
        _ => ("reg:squarederror", &REGRESSION),
    };
    // Several classes make the default of two classes an objective of several, and the other way round.
    let chosen = match (chosen, data.classes.len()) {
        ("binary:logistic", 3..) => default,
        ("multi:softprob" | "multi:softmax", 2) => default,
        _ => chosen,
    };
    if allowed.contains(&chosen) {
        return Ok(chosen.to_string());
    }
    let error = Error::new(ErrorKind::Parameter, format!("`objective` is {chosen:?}: one of {}", allowed.join(", ")));
    Err(match nearest(chosen, allowed) {
        Some(near) => error.help(format!("did you mean {near:?}?")),
        None => error,
    })
}

fn metrics(given: &Param) -> Result<Vec<String>, Error> {
    let strings = |values: &[Param]| values.iter().map(string).collect::<Option<Vec<String>>>();
    match given {
        Param::None => Ok(Vec::new()),
        Param::Str(metric) => Ok(vec![metric.clone()]),
        Param::List(values) if strings(values).is_some() => Ok(strings(values).unwrap_or_default()),
        other => {
            let message = format!("`eval_metric` is {other}: expected a name such as \"logloss\", or a list of names");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

fn string(value: &Param) -> Option<String> {
    match value {
        Param::Str(text) => Some(text.clone()),
        _ => None,
    }
}

/// The position of a feature by name, or the position itself.
fn position(parameter: &str, value: &Param, data: &Data) -> Result<usize, Error> {
    let width = data.width();
    match value {
        Param::Int(index) if usize::try_from(*index).is_ok_and(|index| index < width) => Ok(*index as usize),
        Param::Str(name) => match data.features.iter().position(|c| c.name == *name) {
            Some(position) => Ok(position),
            None => {
                let names: Vec<&str> = data.features.iter().map(|c| c.name.as_str()).collect();
                let error =
                    Error::new(ErrorKind::Parameter, format!("`{parameter}` names `{name}`, which is not a feature"));
                Err(match nearest(name, &names) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(format!("the features are {}", names.join(", "))),
                })
            }
        },
        other => {
            Err(Error::new(ErrorKind::Parameter, format!("`{parameter}` has {other}: expected the name of a feature")))
        }
    }
}

/// `(1,0,-1)`: for each feature whether predictions rise, may do both, or fall.
fn monotone(param: &Param, data: &Data) -> Result<Option<String>, Error> {
    let wrong = |value: &Param| {
        let message =
            format!("`monotone_constraints` is {value}: expected -1, 0 or 1 for each of {} features", data.width());
        Err(Error::new(ErrorKind::Parameter, message)
            .help("or pairs of a feature and a sign, such as `[[\"age\", \"1\"]]`"))
    };
    let sign = |value: &Param| match value {
        Param::Int(sign @ -1..=1) => Some(*sign),
        Param::Str(text) => text.trim().parse().ok().filter(|sign| (-1..=1).contains(sign)),
        _ => None,
    };
    let values = match param {
        Param::None => return Ok(None),
        Param::Str(text) => return Ok(Some(text.clone())),
        Param::List(values) => values,
        other => return wrong(other),
    };
    let mut signs = vec![0; data.width()];
    if values.iter().all(|v| matches!(v, Param::List(_))) {
        for pair in values {
            match pair {
                Param::List(pair) if pair.len() == 2 && sign(&pair[1]).is_some() => {
                    signs[position("monotone_constraints", &pair[0], data)?] = sign(&pair[1]).unwrap_or(0);
                }
                other => return wrong(other),
            }
        }
    } else {
        match values.iter().map(sign).collect::<Option<Vec<i64>>>() {
            Some(all) if all.len() == data.width() => signs = all,
            _ => return wrong(param),
        }
    }
    let signs: Vec<String> = signs.iter().map(ToString::to_string).collect();
    Ok(Some(format!("({})", signs.join(","))))
}

/// `[[0,1],[2,3]]`: features that may stand in a branch together.
fn interaction(param: &Param, data: &Data) -> Result<Option<String>, Error> {
    let wrong = |value: &Param| {
        let message = format!("`interaction_constraints` is {value}: expected lists of features");
        Err(Error::new(ErrorKind::Parameter, message).help("such as `[[\"age\", \"fare\"], [\"sex\"]]`"))
    };
    let sets = match param {
        Param::None => return Ok(None),
        Param::Str(text) => return Ok(Some(text.clone())),
        Param::List(sets) => sets,
        other => return wrong(other),
    };
    let mut written = Vec::new();
    for set in sets {
        match set {
            Param::List(features) => {
                let features = features.iter().map(|f| position("interaction_constraints", f, data));
                let features = features.map(|f| f.map(|f| f.to_string())).collect::<Result<Vec<String>, Error>>()?;
                written.push(format!("[{}]", features.join(",")));
            }
            other => return wrong(other),
        }
    }
    Ok(Some(format!("[{}]", written.join(","))))
}
