//! Parameters of estimators inside of other ones, by their path: `logisticregression__c`, as scikit-learn's
//! `set_params` writes it.
//!
//! A step is separated from its parameter by two underscores or by a dot. Paths are as deep as the specification.

use onrush_wire::learn::{Param, Spec, info};

use crate::check::nearest;
use crate::error::{Error, ErrorKind};

/// Sets the parameter at `path`.
///
/// The path of a step alone takes a string: the name of another estimator with its defaults, or `passthrough` or
/// `drop`.
///
/// # Errors
/// If there is no such parameter: names the nearest one.
pub fn set(spec: &mut Spec, path: &str, value: Param) -> Result<(), Error> {
    if assign(spec, path, &value) {
        return Ok(());
    }
    Err(unknown(spec, path))
}

/// The value of the parameter at `path`: what was set, or its default.
///
/// # Errors
/// If there is no such parameter: names the nearest one.
pub fn get(spec: &Spec, path: &str) -> Result<Param, Error> {
    look_up(spec, path).ok_or_else(|| unknown(spec, path))
}

/// The paths of all parameters, in the order of the table and of the steps.
pub fn all(spec: &Spec) -> Vec<String> {
    let own = info(&spec.estimator).into_iter().flat_map(|e| e.params.iter().map(|p| p.name.to_string()));
    let mut paths: Vec<String> = own.collect();
    for part in &spec.parts {
        paths.extend(all(&part.spec).into_iter().map(|path| format!("{}__{path}", part.name)));
    }
    paths
}

fn has(spec: &Spec, name: &str) -> bool {
    info(&spec.estimator).is_some_and(|e| e.param(name).is_some())
}

/// The rest of a path behind the name of a step.
fn rest<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(name)?;
    rest.strip_prefix("__").or_else(|| rest.strip_prefix('.')).filter(|rest| !rest.is_empty())
}

fn assign(spec: &mut Spec, path: &str, value: &Param) -> bool {
    if has(spec, path) {
        spec.set(path, value.clone());
        return true;
    }
    for part in &mut spec.parts {
        if let (true, Param::Str(name)) = (part.name == path, value)
            && (info(name).is_some() || matches!(name.as_str(), "passthrough" | "drop"))
        {
            part.spec = Spec::new(name);
            return true;
        }
        if rest(path, &part.name).is_some_and(|rest| assign(&mut part.spec, rest, value)) {
            return true;
        }
    }
    false
}

fn look_up(spec: &Spec, path: &str) -> Option<Param> {
    if has(spec, path) {
        return Some(spec.param(path));
    }
    spec.parts.iter().find_map(|part| match part.name == path {
        true => Some(Param::Str(part.spec.estimator.clone())),
        false => rest(path, &part.name).and_then(|rest| look_up(&part.spec, rest)),
    })
}

fn unknown(spec: &Spec, path: &str) -> Error {
    let paths = all(spec);
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    // Paths with dots are compared as if they were written with underscores. The suggestion uses the separator of the
    // user.
    let dots = path.contains('.') && !path.contains("__");
    let written = if dots { path.replace('.', "__") } else { path.to_string() };
    let shown = |name: &str| if dots { name.replace("__", ".") } else { name.to_string() };
    if let Some(near) = nearest(&written, &names) {
        return Error::new(
            ErrorKind::Parameter,
            format!("there is no parameter `{path}`: did you mean `{}`?", shown(near)),
        );
    }
    let error = Error::new(ErrorKind::Parameter, format!("there is no parameter `{path}` in `{}`", spec.estimator));
    match names.is_empty() {
        true => error,
        false => {
            let list: Vec<String> = names.iter().map(|n| shown(n)).collect();
            error.help(format!("the parameters are {}", list.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use onrush_wire::learn::Part;

    use super::*;

    fn pipeline() -> Spec {
        let part = |name: &str, spec: Spec| Part { name: name.to_string(), columns: Vec::new(), spec };
        let inner = Spec { parts: vec![part("ridge", Spec::new("Ridge"))], ..Spec::new("Pipeline") };
        Spec {
            parts: vec![part("linearregression", Spec::new("LinearRegression")), part("deep", inner)],
            ..Spec::new("Pipeline")
        }
    }

    #[test]
    fn paths_reach_the_parameters_of_steps() {
        let mut spec = pipeline();
        set(&mut spec, "deep__ridge__alpha", Param::Float(3.0)).unwrap();
        assert_eq!(get(&spec, "deep.ridge.alpha"), Ok(Param::Float(3.0)));
        assert_eq!(get(&spec, "linearregression__fit_intercept"), Ok(Param::Bool(true)));
        set(&mut spec, "linearregression", Param::from("Ridge")).unwrap();
        set(&mut spec, "linearregression.alpha", Param::Float(2.0)).unwrap();
        assert_eq!(spec.parts[0].spec, Spec::new("Ridge").with("alpha", 2.0));
        assert_eq!(get(&spec, "linearregression"), Ok(Param::from("Ridge")));
    }

    #[test]
    fn a_wrong_path_names_the_nearest_one() {
        let mut spec = pipeline();
        let error = set(&mut spec, "deep__rigde__alpha", Param::Float(3.0)).unwrap_err();
        assert_eq!(error.message, "there is no parameter `deep__rigde__alpha`: did you mean `deep__ridge__alpha`?");
        let error = get(&spec, "deep.ridge.alhpa").unwrap_err();
        assert_eq!(error.message, "there is no parameter `deep.ridge.alhpa`: did you mean `deep.ridge.alpha`?");
        let error = get(&spec, "gamma_of_something_else").unwrap_err();
        assert_eq!(error.message, "there is no parameter `gamma_of_something_else` in `Pipeline`");
        assert!(error.help[0].contains("deep__ridge__alpha"), "{:?}", error.help);
    }
}
