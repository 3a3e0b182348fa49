//! The columns that the estimators of a specification take as documents. A model stores no documents, but all
//! categories.

use onrush_wire::learn::{Param, Part, Spec, info};

use crate::check::is_passthrough_or_drop;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::params;

/// How a column is taken.
#[derive(Clone, Copy, Default)]
struct Use {
    as_documents: bool,
    otherwise: bool,
}

/// For each of these columns whether an estimator takes it as documents.
pub fn documents(spec: &Spec, columns: &[String]) -> Vec<bool> {
    uses(spec, columns).iter().map(|found| found.as_documents).collect()
}

/// Whether the estimator or one inside of it takes documents.
pub fn takes_documents(spec: &Spec) -> bool {
    info(&spec.estimator).is_some_and(|e| e.text) || spec.parts.iter().any(|part| takes_documents(&part.spec))
}

fn uses(spec: &Spec, columns: &[String]) -> Vec<Use> {
    let all = |found: Use| vec![found; columns.len()];
    let leaf = Use { as_documents: info(&spec.estimator).is_some_and(|e| e.text), otherwise: false };
    let leaf = Use { otherwise: !leaf.as_documents, ..leaf };
    match spec.estimator.as_str() {
        "drop" => all(Use::default()),
        "Pipeline" => match spec.parts.iter().find(|part| !is_passthrough_or_drop(&part.spec)) {
            Some(first) => uses(&first.spec, columns),
            None => all(leaf),
        },
        "ColumnTransformer" => {
            let mut found = all(Use::default());
            let mut taken = vec![false; columns.len()];
            for part in &spec.parts {
                let places: Vec<usize> =
                    part.columns.iter().filter_map(|name| columns.iter().position(|c| c == name)).collect();
                let names: Vec<String> = places.iter().map(|place| columns[*place].clone()).collect();
                for (place, more) in places.iter().zip(uses(&part.spec, &names)) {
                    add(&mut found[*place], more);
                    taken[*place] = true;
                }
            }
            if params::ColumnTransformer::of(spec).remainder == "passthrough" {
                let rest = found.iter_mut().zip(&taken).filter(|(_, taken)| !**taken);
                rest.for_each(|(found, _)| found.otherwise = true);
            }
            found
        }
        _ if spec.parts.is_empty() => all(leaf),
        _ => {
            let mut found = all(Use::default());
            // The final estimator of a stack sees the columns only if it is told to.
            let sees = |part: &&Part| part.name != "final_estimator" || spec.param("passthrough") == Param::Bool(true);
            for part in spec.parts.iter().filter(sees) {
                let more = uses(&part.spec, columns);
                found.iter_mut().zip(more).for_each(|(found, more)| add(found, more));
            }
            found
        }
    }
}

fn add(found: &mut Use, more: Use) {
    found.as_documents |= more.as_documents;
    found.otherwise |= more.otherwise;
}

/// Checks that no column of strings is taken both as documents and as categories.
///
/// # Errors
/// Names the column.
pub fn check_columns(spec: &Spec, data: &Data) -> Result<(), Error> {
    if spec.parts.is_empty() || !takes_documents(spec) {
        return Ok(());
    }
    let found = uses(spec, &data.names());
    let both = |(column, found): &(&crate::data::Column, Use)| {
        matches!(column.kind, Kind::Category(_)) && found.as_documents && found.otherwise
    };
    match data.features.iter().zip(found).find(both) {
        Some((column, _)) => {
            let name = &column.name;
            let message = format!("`{name}` is taken as documents by one estimator and as categories by another");
            Err(Error::new(ErrorKind::Strings, message)
                .help(format!("copy the column: `with_columns(x!({name}_2 = {name}))`")))
        }
        None => Ok(()),
    }
}
