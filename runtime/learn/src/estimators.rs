//! The registry: the enum of all models, and the training of each estimator. The folders `compose` and `select` train
//! estimators with other ones inside. Their models are here, because the enum holds them.

mod adaboost;
mod bagging;
mod calibrated;
mod columns;
mod field_list;
mod fitted;
pub(crate) mod inside;
mod one_vs;
mod pipeline;
mod search;
#[cfg(test)]
pub(crate) mod slopes;
mod stacking;
mod target;
mod voting;

pub(crate) use adaboost::AdaBoost;
pub(crate) use bagging::{Bag, Bagging};
pub(crate) use calibrated::{CalibratedClassifier, CalibratedPart, Calibrator, one_of_two, scores as scores_of};
pub(crate) use columns::{Block, ColumnModels};
pub use fitted::FittedModel;
pub(crate) use fitted::Trainer;
pub(crate) use one_vs::{OneVsOne, OneVsRest};
pub(crate) use pipeline::Pipeline;
pub(crate) use search::{
    Candidate, HalvingRound, ScorerTable, Search, State, TrialResult, column as search_column, mean_and_std,
};
pub(crate) use stacking::{Response, Stacking, answer_columns};
pub(crate) use target::{Func, TransformedTarget};
pub(crate) use voting::Voting;

use onrush_wire::learn::{Param, Spec};
use serde::{Deserialize, Serialize};

use crate::cluster;
use crate::data::{Data, Kind};
use crate::decomposition;
use crate::device::DeviceLimits;
use crate::ensemble;
use crate::error::Error;
use crate::feature_selection;
use crate::foreign;
use crate::impute;
use crate::kernel_methods;
use crate::linear::{self, finite_model};
use crate::manifold;
use crate::mixture;
use crate::model::Model;
use crate::neighbors;
use crate::neural;
use crate::params::{self, XgbParams};
use crate::prepare;
use crate::run::Run;
use crate::svm;
use crate::text;
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
    MultinomialNb(neighbors::MultinomialNb),
    Nearest(neighbors::Nearest),
    Vote(neighbors::Vote),
    Projection(decomposition::Projection),
    KMeans(cluster::KMeans),
    Linear(linear::Linear),
    Search(Search),
    #[cfg(test)]
    Slopes(slopes::Slopes),
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
    Pipeline(Pipeline),
    ColumnModels(ColumnModels),
    TransformedTarget(TransformedTarget),
    Foreign(foreign::XgbModel),
    Logistic(linear::Logistic),
    Forest(trees::Forest),
    BoostedTrees(trees::BoostedTrees),
    Vectorizer(text::Vectorizer),
    Tfidf(text::Tfidf),
    Hashing(text::Hashing),
    Perceptrons(neural::Perceptrons),
    Stochastic(neural::Stochastic),
    Discriminant(linear::Discriminant),
    Glm(linear::Glm),
    Bayesian(linear::Bayesian),
    LinearMachine(svm::LinearMachine),
    SupportVectors(svm::Machine),
    GradientBoosted(ensemble::GradientBoosted),
    Voting(Voting),
    Stacking(Stacking),
    Bagging(Bagging),
    Calibrated(CalibratedClassifier),
    AdaBoost(AdaBoost),
    Library(foreign::LibraryModel),
    Univariate(feature_selection::Univariate),
    Selection(feature_selection::Selection),
    DiscreteNb(neighbors::DiscreteNb),
    CategoricalNb(neighbors::CategoricalNb),
    Elementwise(prepare::Elementwise),
    Labels(prepare::Labels),
    LabelSets(prepare::LabelSets),
    KnnImputer(prepare::KnnImputer),
    Spline(prepare::Spline),
    Tsne(manifold::Tsne),
    GaussianMixture(mixture::GaussianMixture),
    LinearDiscriminant(mixture::LinearDiscriminant),
    QuadraticDiscriminant(mixture::QuadraticDiscriminant),
    IsolationForest(cluster::IsolationForest),
    LocalOutlierFactor(cluster::LocalOutlierFactor),
    Agglomerative(cluster::Agglomerative),
    Hdbscan(cluster::Hdbscan),
    OneVsRest(OneVsRest),
    OneVsOne(OneVsOne),
    LinearMap(decomposition::LinearMap),
    Factorization(decomposition::Factorization),
    BayesianMixture(mixture::BayesianMixture),
    ClusteredRows(cluster::ClusteredRows),
    BisectingTree(cluster::BisectingTree),
    Birch(cluster::Birch),
    EmbeddedRows(manifold::EmbeddedRows),
    Isomap(manifold::Isomap),
    LocallyLinear(manifold::LocallyLinear),
    IterativeImputer(impute::IterativeImputer),
    RobustLinear(linear::RobustLinear),
    Nystroem(kernel_methods::Nystroem),
    FourierFeatures(kernel_methods::FourierFeatures),
    KernelRidge(kernel_methods::KernelRidge),
    KernelDensity(kernel_methods::KernelDensity),
}

/// The training of an estimator by its parameters. An estimator of the table without one does not compile.
trait Train {
    fn train(&self, spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Any, Error>;
}

/// Says for each estimator of the table which code trains it. `$params` are its parameters.
macro_rules! trainings {
    (|$params:ident, $spec:ident, $data:ident, $run:ident| $($estimator:ident => $trained:expr,)*) => {$(
        impl Train for params::$estimator {
            #[allow(unused_variables, reason = "some trainings need no parameters, and cannot be stopped")]
            fn train(&self, $spec: &Spec, $data: &Data, $run: &Run<'_>) -> Result<Any, Error> {
                let $params = self;
                $trained.map(Any::from)
            }
        }
    )*};
}

trainings! {
    |p, spec, data, run|
    LinearRegression => linear::least_squares::fit(p, data, run).and_then(finite_model),
    Ridge => linear::ridge::fit(p, data, run).and_then(finite_model),
    RidgeCV => linear::ridge_cv::fit(p, data, run).and_then(finite_model),
    Lasso => linear::lasso::lasso(p, data, run).and_then(finite_model),
    ElasticNet => linear::lasso::elastic_net(p, data, run).and_then(finite_model),
    LassoCV => linear::lasso::lasso_cv(p, data, run).and_then(finite_model),
    ElasticNetCV => linear::lasso::elastic_net_cv(p, data, run).and_then(finite_model),
    LogisticRegression => linear::logistic::fit(p, data, run),
    LogisticRegressionCV => linear::logistic_cv::fit(p, data, run),
    RidgeClassifier => linear::discriminant::fit(p, data, run),
    PoissonRegressor => linear::glm::poisson(p, data, run),
    GammaRegressor => linear::glm::gamma(p, data, run),
    TweedieRegressor => linear::glm::tweedie(p, data, run),
    HuberRegressor => linear::huber::fit(p, data, run).and_then(finite_model),
    BayesianRidge => linear::bayesian::fit(p, data, run),
    ARDRegression => linear::ard::fit(p, data, run),
    QuantileRegressor => linear::pinball::fit(p, data, run),
    RANSACRegressor => linear::robust::ransac(p, data, run),
    TheilSenRegressor => linear::theil_sen::fit(p, data, run),
    KMeans => cluster::kmeans::fit(p, data, run),
    MiniBatchKMeans => cluster::mini_batch::fit(p, data, run),
    MeanShift => cluster::mean_shift::fit(p, data, run),
    SpectralClustering => manifold::spectral::clustering(p, data, run),
    BisectingKMeans => cluster::bisecting::fit(p, data, run),
    Birch => cluster::birch::fit(p, data, run),
    AffinityPropagation => cluster::affinity::fit(p, data, run),
    DBSCAN => cluster::dbscan::fit(p, data, run),
    OPTICS => cluster::optics::fit(p, data, run),
    HDBSCAN => cluster::hdbscan::fit(p, data, run),
    AgglomerativeClustering => cluster::agglomerative::fit(p, data, run),
    IsolationForest => cluster::isolation::fit(p, data, run),
    LocalOutlierFactor => cluster::local_outliers::fit(p, data, run),
    PCA => decomposition::pca::fit(p, data, run),
    TruncatedSVD => decomposition::pca::truncated(p, data, run),
    Nystroem => kernel_methods::features::nystroem(p, data, run),
    RBFSampler => kernel_methods::features::rbf_sampler(p, data),
    KernelRidge => kernel_methods::ridge::fit(p, data, run),
    KernelDensity => kernel_methods::density::fit(p, data),
    NMF => decomposition::nmf::fit_transform(p, data, run).map(|(model, _)| model),
    FastICA => decomposition::ica::fit(p, data, run),
    FactorAnalysis => decomposition::factor_analysis::fit(p, data, run),
    IncrementalPCA => decomposition::incremental::fit(p, data, run),
    GaussianRandomProjection => decomposition::projections::gaussian(p, data),
    SparseRandomProjection => decomposition::projections::sparse(p, data),
    NearestNeighbors => neighbors::vote::index(p, data),
    KNeighborsClassifier => neighbors::vote::fit(&p.into(), &spec.estimator, data),
    KNeighborsRegressor => neighbors::vote::fit(&p.into(), &spec.estimator, data),
    GaussianNB => neighbors::bayes::fit(p, data, run),
    MultinomialNB => neighbors::multinomial::fit(p, data, run),
    BernoulliNB => neighbors::discrete::bernoulli(p, data, run),
    ComplementNB => neighbors::discrete::complement(p, data, run),
    CategoricalNB => neighbors::categorical::fit(p, data, run),
    DecisionTreeClassifier => trees::forest::fit(&p.into(), data, run),
    DecisionTreeRegressor => trees::forest::fit(&p.into(), data, run),
    RandomForestClassifier => trees::forest::fit(&p.into(), data, run),
    RandomForestRegressor => trees::forest::fit(&p.into(), data, run),
    ExtraTreesClassifier => trees::forest::fit(&p.into(), data, run),
    ExtraTreesRegressor => trees::forest::fit(&p.into(), data, run),
    HistGradientBoostingClassifier => trees::boost::classifier(p, spec, data, run),
    HistGradientBoostingRegressor => trees::boost::regressor(p, spec, data, run),
    GradientBoostingClassifier => ensemble::gradient_boosting::classifier(p, data, run),
    GradientBoostingRegressor => ensemble::gradient_boosting::regressor(p, data, run),
    XGBClassifier => foreign::fit(spec, &p.objective, &XgbParams::of(spec), data, run),
    XGBRegressor => foreign::fit(spec, &p.objective, &XgbParams::of(spec), data, run),
    XGBRanker => foreign::fit(spec, &p.objective, &XgbParams::of(spec), data, run),
    LGBMClassifier => foreign::lightgbm::fit(spec, data, run),
    LGBMRegressor => foreign::lightgbm::fit(spec, data, run),
    LGBMRanker => foreign::lightgbm::fit(spec, data, run),
    CatBoostClassifier => foreign::catboost::fit(spec, data, run),
    CatBoostRegressor => foreign::catboost::fit(spec, data, run),
    StandardScaler => prepare::scale::standard(p, data, run),
    MinMaxScaler => prepare::scale::min_max(p, data, run),
    MaxAbsScaler => prepare::scale::max_abs(p, data, run),
    RobustScaler => prepare::scale::robust(p, data, run),
    Normalizer => Ok(prepare::rows::fit(p)),
    SimpleImputer => prepare::impute::fit(p, data, run),
    OneHotEncoder => prepare::one_hot::fit(p, data, run),
    OrdinalEncoder => prepare::ordinal::fit(p, data, run),
    LabelEncoder => prepare::ordinal::label(data, run),
    TargetEncoder => prepare::target::fit(p, data, run),
    KBinsDiscretizer => prepare::bins::fit(p, data, run),
    PolynomialFeatures => prepare::polynomial::fit(p, data),
    PowerTransformer => prepare::power::fit(p, data, run),
    QuantileTransformer => prepare::ranks::fit(p, data, run),
    VarianceThreshold => prepare::variance::fit(p, data, run),
    CountVectorizer => text::vectorizer::count(p, data, run).map(|(model, _)| model),
    TfidfVectorizer => text::vectorizer::tfidf(p, data, run).map(|(model, _)| model),
    TfidfTransformer => text::weights::fit(p, data, run),
    HashingVectorizer => text::hashing::fit(p),
    MLPClassifier => neural::mlp::classifier(p, data, run),
    MLPRegressor => neural::mlp::regressor(p, data, run),
    SGDClassifier => neural::stochastic::classifier(p, data, run),
    SGDRegressor => neural::stochastic::regressor(p, data, run),
    Perceptron => neural::stochastic::perceptron(p, data, run),
    PassiveAggressiveClassifier => neural::stochastic::passive_classifier(p, data, run),
    PassiveAggressiveRegressor => neural::stochastic::passive_regressor(p, data, run),
    LinearSVC => svm::linear::classifier(p, data, run),
    LinearSVR => svm::linear::regressor(p, data, run),
    SVC => svm::classes::svc(p, data, run),
    NuSVC => svm::classes::nu_svc(p, data, run),
    SVR => svm::numbers::svr(p, data, run),
    NuSVR => svm::numbers::nu_svr(p, data, run),
    OneClassSVM => svm::numbers::one_class(p, data, run),
    IterativeImputer => impute::fit(p, data, run),
    KNNImputer => Ok(prepare::neighbors::fit(p, data)),
    SplineTransformer => prepare::spline::fit(p, data, run),
    Binarizer => Ok(prepare::elementwise::binarizer(p)),
    FunctionTransformer => Ok(prepare::elementwise::function(p)),
    LabelBinarizer => prepare::labels::labels(p, data, run),
    MultiLabelBinarizer => prepare::labels::label_sets(p, data),
    SelectKBest => feature_selection::univariate::k_best(p, data, run),
    SelectPercentile => feature_selection::univariate::percentile(p, data, run),
    SelectFpr => feature_selection::univariate::fpr(p, data, run),
    SelectFdr => feature_selection::univariate::fdr(p, data, run),
    SelectFwe => feature_selection::univariate::fwe(p, data, run),
    GenericUnivariateSelect => feature_selection::univariate::generic(p, data, run),
    TSNE => manifold::tsne::fit(p, data, run),
    Isomap => manifold::isomap::fit(p, data, run),
    LocallyLinearEmbedding => manifold::locally_linear::fit(p, data, run),
    MDS => manifold::mds::fit(p, data, run),
    ClassicalMDS => manifold::mds::classical(p, data, run),
    SpectralEmbedding => manifold::spectral::embedding(p, data, run),
    GaussianMixture => mixture::gaussian::fit(p, data, run),
    BayesianGaussianMixture => mixture::bayesian::fit(p, data, run),
    LinearDiscriminantAnalysis => mixture::linear::fit(p, data, run),
    QuadraticDiscriminantAnalysis => mixture::quadratic::fit(p, data, run),
}

/// Makes a function that trains the estimators of a family. `None`: it belongs to another one.
macro_rules! train_family {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $kind:ident [$($flag:ident)*] { $($params:tt)* } -> { $($attributes:tt)* }
    )*) => {
        |spec: &Spec, data: &Data, run: &Run<'_>| match spec.estimator.as_str() {
            $( stringify!($name) => Some(params::$name::of(spec).train(spec, data, run)), )*
            _ => None,
        }
    };
}

type TrainFamily = fn(&Spec, &Data, &Run<'_>) -> Option<Result<Any, Error>>;

/// Trains an estimator without other ones inside. `None` if it has some, or is not in the table.
pub(crate) fn trained(spec: &Spec, data: &Data, run: &Run<'_>) -> Option<Result<Any, Error>> {
    const FAMILIES: [TrainFamily; 15] = [
        onrush_wire::linear_estimators!(train_family),
        onrush_wire::cluster_estimators!(train_family),
        onrush_wire::decomposition_estimators!(train_family),
        onrush_wire::neighbors_estimators!(train_family),
        onrush_wire::tree_estimators!(train_family),
        onrush_wire::foreign_estimators!(train_family),
        onrush_wire::prepare_estimators!(train_family),
        onrush_wire::mixture_estimators!(train_family),
        onrush_wire::manifold_estimators!(train_family),
        onrush_wire::kernel_method_estimators!(train_family),
        onrush_wire::svm_estimators!(train_family),
        onrush_wire::neural_estimators!(train_family),
        onrush_wire::ensemble_estimators!(train_family),
        onrush_wire::text_estimators!(train_family),
        onrush_wire::feature_selection_estimators!(train_family),
    ];
    FAMILIES.iter().find_map(|train| train(spec, data, run))
}

/// Whether the passes of a training can run on a device. `data` needs no values.
pub fn runs_on_device(spec: &Spec, data: &Data, limits: DeviceLimits) -> bool {
    let plain = spec.parts.is_empty() && data.weight.is_none() && data.groups.is_none() && data.eval.is_empty();
    let fits = (1..=limits.features).contains(&data.width()) && data.rows > 2 * data.width();
    let numbers = data.features.iter().all(|column| column.kind == Kind::Number);
    let own = match spec.estimator.as_str() {
        "LinearRegression" => !params::LinearRegression::of(spec).positive,
        "Ridge" => !params::Ridge::of(spec).positive,
        "Lasso" | "ElasticNet" | "PCA" => true,
        "LogisticRegression" => {
            data.classes.len() == 2 && params::LogisticRegression::of(spec).class_weight == Param::None
        }
        "KMeans" => params::KMeans::of(spec).n_clusters.saturating_mul(data.width()) <= limits.centers,
        _ => false,
    };
    plain && fits && numbers && own
}
