//! Which code trains which estimator, and the models that there are.

use onrush_wire::learn::Spec;
use serde::{Deserialize, Serialize};

use crate::check;
use crate::cluster;
use crate::compose;
use crate::data::Data;
use crate::decomposition;
use crate::error::Error;
use crate::foreign;
use crate::linear;
use crate::model::{FittedModel, Model};
use crate::neighbors;
use crate::prepare;
use crate::run::Run;
use crate::select::search;
use crate::trees;

/// Makes the enum of all models: a new model is a line in the call below.
macro_rules! models {
    ($($(#[$only:meta])* $variant:ident($t:ty),)*) => {
        #[derive(Serialize, Deserialize)]
        pub(crate) enum Any { $($(#[$only])* $variant($t)),* }

        impl Any {
            pub fn get(&self) -> &dyn Model {
                match self { $($(#[$only])* Any::$variant(model) => model),* }
            }
        }

        $($(#[$only])* impl From<$t> for Any {
            fn from(model: $t) -> Self {
                Any::$variant(model)
            }
        })*
    };
}

models! {
    Dbscan(cluster::Dbscan),
    GaussianNb(neighbors::GaussianNb),
    Nearest(neighbors::Nearest),
    Vote(neighbors::Vote),
    Projection(decomposition::Projection),
    KMeans(cluster::KMeans),
    Linear(linear::Linear),
    Search(search::Search),
    #[cfg(test)]
    Slopes(crate::select::tests::Slopes),
    Scaler(prepare::Scaler),
    Normalizer(prepare::Normalizer),
    Imputer(prepare::Imputer),
    OneHot(prepare::OneHot),
    Ordinal(prepare::Ordinal),
    TargetEncoder(prepare::TargetEncoder),
    Discretizer(prepare::Discretizer),
    Polynomial(prepare::Polynomial),
    Power(prepare::Power),
    QuantileMap(prepare::QuantileMap),
    Variance(prepare::Variance),
    Pipeline(compose::Pipeline),
    ColumnModels(compose::ColumnModels),
    TransformedTarget(compose::TransformedTarget),
    Foreign(foreign::XgbModel),
    Logistic(linear::Logistic),
    Forest(trees::Forest),
    BoostedTrees(trees::BoostedTrees),
}

/// Trains what `spec` says.
///
/// # Errors
/// If a parameter or the data are not what the estimator takes, and if the user stops the training.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<FittedModel, Error> {
    check::spec(spec)?;
    check::data(spec, data)?;
    let model = trained(spec, data, run)?;
    Ok(FittedModel::new(spec, data, model))
}

fn trained(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Any, Error> {
    if let Some(model) = prepare::fit(spec, data, run).or_else(|| compose::fit(spec, data, run)) {
        return model;
    }
    match spec.estimator.as_str() {
        "GridSearchCV" | "RandomizedSearchCV" => search::fit(spec, data, run).map(Any::from),
        "KMeans" => cluster::kmeans::fit(spec, data, run).map(Any::from),
        "PCA" => decomposition::pca::fit(spec, data, run).map(Any::from),
        "TruncatedSVD" => decomposition::pca::truncated(spec, data, run).map(Any::from),
        "DBSCAN" => cluster::dbscan::fit(spec, data, run).map(Any::from),
        "NearestNeighbors" => neighbors::vote::index(spec, data).map(Any::from),
        "KNeighborsClassifier" | "KNeighborsRegressor" => neighbors::vote::fit(spec, data).map(Any::from),
        "GaussianNB" => neighbors::bayes::fit(spec, data, run).map(Any::from),
        "XGBClassifier" | "XGBRegressor" | "XGBRanker" => foreign::fit(spec, data, run).map(Any::from),
        "LinearRegression" | "Ridge" | "RidgeCV" | "Lasso" | "ElasticNet" | "LassoCV" | "ElasticNetCV" => {
            linear::fit(spec, data, run).map(Any::from)
        }
        "LogisticRegression" => linear::fit_logistic(spec, data, run).map(Any::from),
        "LogisticRegressionCV" => linear::fit_logistic_cv(spec, data, run).map(Any::from),
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
