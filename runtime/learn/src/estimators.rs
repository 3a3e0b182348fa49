//! Which code trains which estimator, and the models that there are.

use onrush_wire::learn::Spec;
use serde::{Deserialize, Serialize};

use crate::check;
use crate::data::Data;
use crate::error::Error;
use crate::linear;
use crate::model::{Fitted, Model};
use crate::run::Run;
use crate::trees;

/// Makes the enum of all models: a new model is a line in the call below.
macro_rules! models {
    ($($variant:ident($t:ty),)*) => {
        #[derive(Serialize, Deserialize)]
        pub(crate) enum Any { $($variant($t)),* }

        impl Any {
            pub fn get(&self) -> &dyn Model {
                match self { $(Any::$variant(model) => model),* }
            }
        }

        $(impl From<$t> for Any {
            fn from(model: $t) -> Self {
                Any::$variant(model)
            }
        })*
    };
}

models! {
    Linear(linear::Linear),
    Forest(trees::Forest),
    Boosted(trees::Boosted),
}

/// Trains what `spec` says.
///
/// # Errors
/// If a parameter or the data are not what the estimator takes, and if the user stops the training.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Fitted, Error> {
    check::spec(spec)?;
    check::data(spec, data)?;
    let model = trained(spec, data, run)?;
    Ok(Fitted::new(spec, data, model))
}

fn trained(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Any, Error> {
    match spec.estimator.as_str() {
        "LinearRegression" | "Ridge" => linear::fit(spec, data, run).map(Any::from),
        "DecisionTreeClassifier"
        | "DecisionTreeRegressor"
        | "RandomForestClassifier"
        | "RandomForestRegressor"
        | "ExtraTreesClassifier"
        | "ExtraTreesRegressor" => trees::fit_forest(spec, data, run).map(Any::from),
        "HistGradientBoostingClassifier" | "HistGradientBoostingRegressor" => {
            trees::fit_boosted(spec, data, run).map(Any::from)
        }
        other => Err(Error::new("estimator", format!("`{other}` cannot be trained yet"))),
    }
}
