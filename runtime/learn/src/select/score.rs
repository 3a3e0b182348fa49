//! Scores of a fitted model by scikit-learn's scorer names: higher is better, so errors have `neg_` in front
//! (`metrics/_scorer.py`).
//!
//! Rows count with their weights. A score that is not defined for the rows is NaN. The positive class of two is the
//! second one. The `_samples` scorers need several targets and are not there.

use crate::check::nearest;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::FittedModel;
use crate::metrics::classification::{self, Average, Confusion};
use crate::metrics::{clusters, probability, ranking, regression};
use crate::model::Role;

/// Classes up to which a confusion matrix is made: its memory grows with their square.
const MOST_CLASSES: usize = 2048;

/// The kind of values that a scorer compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// True and predicted numbers.
    Numbers,
    /// True and predicted classes.
    Classes,
    /// True classes and probabilities.
    Proba,
    /// True labels, and classes or clusters.
    Labels,
    /// Features and clusters.
    Points,
}

const SCORERS: &[(&str, Needs)] = &[
    ("accuracy", Needs::Classes),
    ("balanced_accuracy", Needs::Classes),
    ("top_k_accuracy", Needs::Proba),
    ("precision", Needs::Classes),
    ("precision_macro", Needs::Classes),
    ("precision_micro", Needs::Classes),
    ("precision_weighted", Needs::Classes),
    ("recall", Needs::Classes),
    ("recall_macro", Needs::Classes),
    ("recall_micro", Needs::Classes),
    ("recall_weighted", Needs::Classes),
    ("f1", Needs::Classes),
    ("f1_macro", Needs::Classes),
    ("f1_micro", Needs::Classes),
    ("f1_weighted", Needs::Classes),
    ("jaccard", Needs::Classes),
    ("jaccard_macro", Needs::Classes),
    ("jaccard_micro", Needs::Classes),
    ("jaccard_weighted", Needs::Classes),
    ("matthews_corrcoef", Needs::Classes),
    ("positive_likelihood_ratio", Needs::Classes),
    ("neg_negative_likelihood_ratio", Needs::Classes),
    ("roc_auc", Needs::Proba),
    ("roc_auc_ovr", Needs::Proba),
    ("roc_auc_ovo", Needs::Proba),
    ("roc_auc_ovr_weighted", Needs::Proba),
    ("roc_auc_ovo_weighted", Needs::Proba),
    ("average_precision", Needs::Proba),
    ("neg_log_loss", Needs::Proba),
    ("neg_brier_score", Needs::Proba),
    ("d2_log_loss_score", Needs::Proba),
    ("d2_brier_score", Needs::Proba),
    ("r2", Needs::Numbers),
    ("explained_variance", Needs::Numbers),
    ("neg_max_error", Needs::Numbers),
    ("neg_mean_absolute_error", Needs::Numbers),
    ("neg_mean_squared_error", Needs::Numbers),
    ("neg_root_mean_squared_error", Needs::Numbers),
    ("neg_mean_squared_log_error", Needs::Numbers),
    ("neg_root_mean_squared_log_error", Needs::Numbers),
    ("neg_median_absolute_error", Needs::Numbers),
    ("neg_mean_absolute_percentage_error", Needs::Numbers),
    ("neg_mean_poisson_deviance", Needs::Numbers),
    ("neg_mean_gamma_deviance", Needs::Numbers),
    ("d2_absolute_error_score", Needs::Numbers),
    ("adjusted_rand_score", Needs::Labels),
    ("rand_score", Needs::Labels),
    ("homogeneity_score", Needs::Labels),
    ("completeness_score", Needs::Labels),
    ("v_measure_score", Needs::Labels),
    ("mutual_info_score", Needs::Labels),
    ("adjusted_mutual_info_score", Needs::Labels),
    ("normalized_mutual_info_score", Needs::Labels),
    ("fowlkes_mallows_score", Needs::Labels),
    ("silhouette_score", Needs::Points),
    ("calinski_harabasz_score", Needs::Points),
    ("neg_davies_bouldin_score", Needs::Points),
];

/// The names of all scorers.
pub fn names() -> Vec<&'static str> {
    SCORERS.iter().map(|(name, _)| *name).collect()
}

/// The scorer that is used if none is named: accuracy for classes, else r2.
pub fn default_scorer(is_classifier: bool) -> &'static str {
    if is_classifier { "accuracy" } else { "r2" }
}

/// Whether there is a scorer of this name for a target with classes, or for one of numbers.
///
/// # Errors
/// Names the nearest scorer, or scorers that fit.
pub fn check(scorer: &str, is_classifier: bool) -> Result<(), Error> {
    match (needs(scorer)?, is_classifier) {
        (Needs::Numbers, true) => {
            Err(Error::new(ErrorKind::Score, format!("`{scorer}` scores numbers, and the target has classes"))
                .help("take `accuracy`, `f1_macro`, `neg_log_loss` or `roc_auc`"))
        }
        (Needs::Classes | Needs::Proba, false) => {
            Err(Error::new(ErrorKind::Score, format!("`{scorer}` scores classes, and the target has none"))
                .help("take `r2`, `neg_mean_absolute_error` or `neg_root_mean_squared_error`"))
        }
        _ => Ok(()),
    }
}

fn needs(scorer: &str) -> Result<Needs, Error> {
    if let Some((_, needs)) = SCORERS.iter().find(|(name, _)| *name == scorer) {
        return Ok(*needs);
    }
    let error = Error::new(ErrorKind::Score, format!("there is no scorer `{scorer}`"));
    // Users write the names of functions, too: `mean_squared_error`, `roc_auc_score`.
    let negative = format!("neg_{scorer}");
    let short = scorer.strip_suffix("_score").unwrap_or(scorer);
    let names = names();
    let exact = names.iter().find(|n| **n == negative || **n == short).copied();
    Err(match exact.or_else(|| nearest(scorer, &names)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("scorers are {}", names.join(", "))),
    })
}

/// The score of a model on rows with their target. An empty name stands for the default scorer.
///
/// # Errors
/// If there is no such scorer, or if it does not fit the model or the target.
pub fn score(scorer: &str, fitted: &FittedModel, data: &Data) -> Result<f64, Error> {
    Answers::new(fitted, data, &[scorer])?.score(scorer)
}

/// The predictions of a model for rows, and the truth.
pub(crate) struct Answers<'a> {
    data: &'a Data,
    estimator: &'a str,
    /// Numbers, or positions of classes. A class that the model does not know comes after its classes.
    pub y: Vec<f64>,
    /// The model's classes, then those that only the rows have. Empty for numbers.
    pub classes: Vec<String>,
    /// Numbers, positions of classes, or clusters.
    pub predicted: Vec<f64>,
    /// For each class of the model the probability of each row. Empty if the model has none, or if no scorer needs
    /// them.
    pub proba: Vec<Vec<f64>>,
    /// The columns of the decision function, if a scorer needs probabilities and the model has none.
    decision: Vec<Vec<f64>>,
    is_clusterer: bool,
}

impl<'a> Answers<'a> {
    /// Predicts what the scorers need.
    pub fn new(fitted: &'a FittedModel, data: &'a Data, scorers: &[&str]) -> Result<Self, Error> {
        let is_classifier = !fitted.classes.is_empty();
        let mut with_proba = false;
        for scorer in scorers.iter().filter(|s| !s.is_empty()) {
            with_proba |= needs(scorer)? == Needs::Proba;
        }
        Answers::with(fitted, data, with_proba, is_classifier)
    }

    /// Predicts, with probabilities if `with_proba`.
    pub fn with(fitted: &'a FittedModel, data: &'a Data, with_proba: bool, is_classifier: bool) -> Result<Self, Error> {
        let outputs = fitted.outputs();
        let estimator = fitted.spec.estimator.as_str();
        let prediction = outputs.iter().position(|(_, role)| matches!(role, Role::Prediction | Role::Label));
        let Some(prediction) = prediction else {
            let message = format!("{estimator} predicts neither numbers nor classes nor clusters: it has no score");
            return Err(Error::new(ErrorKind::Score, message));
        };
        let is_clusterer = outputs[prediction].1 == Role::Label;
        let mut wanted = vec![prediction];
        if with_proba {
            for class in 0..fitted.classes.len() {
                wanted.extend(outputs.iter().position(|(_, role)| *role == Role::Proba(class)));
            }
        }
        let mut columns = fitted.apply(data, &wanted)?.into_iter();
        let predicted = columns.next().unwrap_or_default();
        let proba: Vec<Vec<f64>> = columns.collect();
        let decision = match with_proba && is_classifier && proba.is_empty() {
            true => fitted.decision(data)?.unwrap_or_default(),
            false => Vec::new(),
        };
        if data.y.is_empty() && data.rows > 0 && !is_clusterer {
            let message = format!("the rows have no target `{}` to compare predictions with", fitted.target);
            return Err(Error::new(ErrorKind::Score, message));
        }
        if !is_clusterer && is_classifier == data.classes.is_empty() && data.rows > 0 {
            let (is, was) = if is_classifier { ("numbers", "classes") } else { ("classes", "numbers") };
            let message = format!("the target of these rows has {is}, and {estimator} was trained on {was}");
            return Err(Error::new(ErrorKind::TypeMismatch, message));
        }
        let (mut y, mut classes) = (data.y.clone(), fitted.classes.clone());
        if is_classifier {
            let mut position = Vec::with_capacity(data.classes.len());
            for name in &data.classes {
                position.push(classes.iter().position(|c| c == name).unwrap_or(classes.len()));
                if position.last() == Some(&classes.len()) {
                    classes.push(name.clone());
                }
            }
            y.iter_mut().for_each(|v| *v = position[*v as usize] as f64);
            // A class that neither the model nor a row has is no class here.
            let used = y.iter().fold(fitted.classes.len(), |most, v| most.max(*v as usize + 1));
            classes.truncate(used);
        }
        Ok(Answers { data, estimator, y, classes, predicted, proba, decision, is_clusterer })
    }

    pub fn weight(&self) -> Option<&[f64]> {
        self.data.weight.as_deref()
    }

    /// The confusion matrix, for `what`: a scorer or a table.
    ///
    /// # Errors
    /// If there are more than [`MOST_CLASSES`] classes.
    pub fn confusion(&self, what: &str) -> Result<Confusion, Error> {
        match self.classes.len() {
            0..=MOST_CLASSES => Ok(Confusion::new(&self.y, &self.predicted, self.weight(), self.classes.len())),
            classes => {
                let message = format!("{what} needs a table of {classes} x {classes} classes: at most {MOST_CLASSES}");
                Err(Error::new(ErrorKind::Score, message).help("take `accuracy`, or group rare classes"))
            }
        }
    }

    /// The score of one scorer. An empty name stands for the default one.
    pub fn score(&self, scorer: &str) -> Result<f64, Error> {
        let scorer = match scorer {
            "" if self.is_clusterer => {
                return Err(Error::new(ErrorKind::Score, format!("{} has no default score", self.estimator))
                    .help("name a scorer: `silhouette_score`, or `adjusted_rand_score` with true labels"));
            }
            "" => default_scorer(!self.classes.is_empty()),
            name => name,
        };
        let needs = needs(scorer)?;
        if self.is_clusterer {
            return match needs {
                Needs::Points => Ok(self.of_points(scorer)),
                Needs::Labels if self.y.len() == self.predicted.len() => Ok(self.of_labels(scorer)),
                Needs::Labels => {
                    Err(Error::new(ErrorKind::Score, format!("`{scorer}` needs a column of true labels as target")))
                }
                _ => Err(Error::new(ErrorKind::Score, format!("`{scorer}` does not score clusters"))
                    .help("take `silhouette_score`, or `adjusted_rand_score` with true labels")),
            };
        }
        check(scorer, !self.classes.is_empty())?;
        match needs {
            Needs::Numbers => self.of_numbers(scorer),
            Needs::Classes => self.of_classes(scorer),
            Needs::Proba => self.of_proba(scorer),
            Needs::Labels => Ok(self.of_labels(scorer)),
            Needs::Points => Err(Error::new(
                ErrorKind::Score,
                format!("`{scorer}` scores clusters, and {} has none", self.estimator),
            )),
        }
    }

    fn of_numbers(&self, scorer: &str) -> Result<f64, Error> {
        let (y, q, w) = (&self.y, &self.predicted, self.weight());
        Ok(match scorer {
            "r2" => regression::r2(y, q, w),
            "explained_variance" => regression::explained_variance(y, q, w),
            "neg_max_error" => -regression::max_error(y, q),
            "neg_mean_absolute_error" => -regression::mean_absolute_error(y, q, w),
            "neg_mean_squared_error" => -regression::mean_squared_error(y, q, w),
            "neg_root_mean_squared_error" => -regression::root_mean_squared_error(y, q, w),
            "neg_mean_squared_log_error" => -regression::mean_squared_log_error(y, q, w)?,
            "neg_root_mean_squared_log_error" => -regression::mean_squared_log_error(y, q, w)?.sqrt(),
            "neg_median_absolute_error" => -regression::median_absolute_error(y, q, w),
            "neg_mean_absolute_percentage_error" => -regression::mean_absolute_percentage_error(y, q, w),
            "neg_mean_poisson_deviance" => -regression::mean_tweedie_deviance(y, q, w, 1.0)?,
            "neg_mean_gamma_deviance" => -regression::mean_tweedie_deviance(y, q, w, 2.0)?,
            _ => regression::d2_absolute_error_score(y, q, w),
        })
    }

    /// An error unless there are two classes.
    fn two_classes(&self, scorer: &str, instead: &str) -> Result<(), Error> {
        if self.classes.len() == 2 {
            return Ok(());
        }
        let message = format!("`{scorer}` scores two classes, and there are {}", self.classes.len());
        Err(Error::new(ErrorKind::Score, message).help(format!("take {instead}")))
    }

    fn of_classes(&self, scorer: &str) -> Result<f64, Error> {
        let (name, average) = match scorer.rsplit_once('_') {
            Some((name, "macro")) => (name, Average::Macro),
            Some((name, "micro")) => (name, Average::Micro),
            Some((name, "weighted")) => (name, Average::Weighted),
            _ => (scorer, Average::Binary),
        };
        if average == Average::Binary && matches!(name, "precision" | "recall" | "f1" | "jaccard") {
            self.two_classes(scorer, &format!("`{name}_macro`, `{name}_micro` or `{name}_weighted`"))?;
        }
        if name == "accuracy" {
            return Ok(classification::accuracy(&self.y, &self.predicted, self.weight()));
        }
        let c = self.confusion(&format!("`{scorer}`"))?;
        Ok(match name {
            "balanced_accuracy" => c.balanced_accuracy(),
            "precision" => c.precision(average),
            "recall" => c.recall(average),
            "f1" => c.fbeta(1.0, average),
            "jaccard" => c.jaccard(average),
            "matthews_corrcoef" => c.matthews_corrcoef(),
            "positive_likelihood_ratio" => {
                self.two_classes(scorer, "`recall_macro`")?;
                c.likelihood_ratios().0
            }
            _ => {
                self.two_classes(scorer, "`recall_macro`")?;
                -c.likelihood_ratios().1
            }
        })
    }

    fn of_proba(&self, scorer: &str) -> Result<f64, Error> {
        if self.proba.is_empty() && !self.decision.is_empty() && matches!(scorer, "roc_auc" | "average_precision") {
            return self.of_decision(scorer);
        }
        if self.proba.len() < 2 {
            let message = format!("`{scorer}` needs probabilities, and {} predicts none", self.estimator);
            return Err(Error::new(ErrorKind::Score, message)
                .help("take a scorer of classes, such as `accuracy` or `f1_macro`"));
        }
        if self.classes.len() > self.proba.len() {
            let message = format!(
                "`{}` has class `{}`, which the model was not trained on",
                self.data.target,
                self.classes[self.proba.len()]
            );
            return Err(Error::new(ErrorKind::Score, message)
                .help("train on rows of all classes, such as with stratified folds"));
        }
        let (y, w) = (&self.y, self.weight());
        let proba: Vec<&[f64]> = self.proba.iter().map(Vec::as_slice).collect();
        let positive = || y.iter().map(|v| *v as usize == 1).collect::<Vec<bool>>();
        Ok(match scorer {
            "top_k_accuracy" => ranking::top_k_accuracy(y, &proba, w, 2),
            "roc_auc" => {
                self.two_classes(scorer, "`roc_auc_ovr` or `roc_auc_ovo`")?;
                ranking::roc_auc(&positive(), proba[1], w)
            }
            "roc_auc_ovr" | "roc_auc_ovr_weighted" if proba.len() > 2 => {
                ranking::one_versus_rest(y, &proba, w, scorer.ends_with("weighted"), ranking::roc_auc)
            }
            "roc_auc_ovo" | "roc_auc_ovo_weighted" if proba.len() > 2 => {
                ranking::roc_auc_one_versus_one(y, &proba, w, scorer.ends_with("weighted"))
            }
            "roc_auc_ovr" | "roc_auc_ovr_weighted" | "roc_auc_ovo" | "roc_auc_ovo_weighted" => {
                ranking::roc_auc(&positive(), proba[1], w)
            }
            "average_precision" if proba.len() == 2 => ranking::average_precision(&positive(), proba[1], w),
            "average_precision" => ranking::average_precision_macro(y, &proba, w),
            "neg_log_loss" => -probability::log_loss(y, &proba, w),
            "neg_brier_score" => -probability::brier_score(y, &proba, w),
            "d2_log_loss_score" => probability::d2_log_loss(y, &proba, w),
            _ => probability::d2_brier_score(y, &proba, w),
        })
    }

    /// Scores of rankings by the decision function, as in scikit-learn for classifiers without probabilities.
    fn of_decision(&self, scorer: &str) -> Result<f64, Error> {
        let (y, w) = (&self.y, self.weight());
        if scorer == "roc_auc" || self.classes.len() == 2 {
            self.two_classes(scorer, "`accuracy` or `f1_macro`")?;
            let positive: Vec<bool> = y.iter().map(|v| *v as usize == 1).collect();
            return Ok(match scorer {
                "roc_auc" => ranking::roc_auc(&positive, &self.decision[0], w),
                _ => ranking::average_precision(&positive, &self.decision[0], w),
            });
        }
        if self.decision.len() != self.classes.len() {
            let (scores, classes) = (self.decision.len(), self.classes.len());
            let message = format!("`{scorer}` needs a score for each of {classes} classes, and there are {scores}");
            return Err(Error::new(ErrorKind::Score, message).help("set `decision_function_shape` to \"ovr\""));
        }
        let decision: Vec<&[f64]> = self.decision.iter().map(Vec::as_slice).collect();
        Ok(ranking::average_precision_macro(y, &decision, w))
    }

    fn of_labels(&self, scorer: &str) -> f64 {
        let (y, q) = (&self.y, &self.predicted);
        match scorer {
            "adjusted_rand_score" => clusters::adjusted_rand_score(y, q),
            "rand_score" => clusters::rand_score(y, q),
            "homogeneity_score" => clusters::homogeneity_completeness_v_measure(y, q).0,
            "completeness_score" => clusters::homogeneity_completeness_v_measure(y, q).1,
            "v_measure_score" => clusters::homogeneity_completeness_v_measure(y, q).2,
            "mutual_info_score" => clusters::mutual_info_score(y, q),
            "adjusted_mutual_info_score" => clusters::adjusted_mutual_info_score(y, q),
            "normalized_mutual_info_score" => clusters::normalized_mutual_info_score(y, q),
            _ => clusters::fowlkes_mallows_score(y, q),
        }
    }

    fn of_points(&self, scorer: &str) -> f64 {
        let (points, width) = (self.data.row_major(), self.data.width());
        match scorer {
            "silhouette_score" => clusters::silhouette_score(&points, width, &self.predicted),
            "calinski_harabasz_score" => clusters::calinski_harabasz_score(&points, width, &self.predicted),
            _ => -clusters::davies_bouldin_score(&points, width, &self.predicted),
        }
    }
}
