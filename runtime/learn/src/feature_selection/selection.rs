//! Features chosen by what an estimator learns from them: `SelectFromModel`, `RFE`, `RFECV`,
//! `SequentialFeatureSelector`. The estimator itself is not stored.

use serde::{Deserialize, Serialize};

use super::univariate::ascending;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::tensor::Tensor;

/// The features that stay, and why.
#[derive(Serialize, Deserialize)]
pub struct Selection {
    /// The positions of the features that stay, ascending.
    pub kept: Vec<usize>,
    /// The number of features.
    pub width: usize,
    /// The importance of each feature, and the least one that stays.
    pub importances: Option<(Tensor, Tensor)>,
    /// For each feature 1 if it stays, 2 if it left in the last round, 3 in the one before, and so on.
    pub ranking: Option<Tensor>,
    pub cv: Option<CvScores>,
    pub notes: Vec<String>,
}

/// Scores of a cross-validation by the number of features.
#[derive(Serialize, Deserialize)]
pub struct CvScores {
    /// Ascending numbers of features.
    pub n_features: Vec<usize>,
    /// Numbers of features x folds.
    pub scores: Tensor,
}

impl Selection {
    /// Features that stay, without reasons yet.
    pub fn of(mask: &[bool]) -> Self {
        Selection {
            kept: (0..mask.len()).filter(|j| mask[*j]).collect(),
            width: mask.len(),
            importances: None,
            ranking: None,
            cv: None,
            notes: Vec::new(),
        }
    }
}

impl CvScores {
    fn frame(&self) -> Attribute {
        let rows = 0..self.n_features.len();
        let folds = self.scores.shape[1];
        let floats =
            |of: &dyn Fn(&[f64]) -> f64| Values::Floats(rows.clone().map(|r| of(self.scores.row(r))).collect());
        let mean = |row: &[f64]| row.iter().sum::<f64>() / folds as f64;
        let std = |row: &[f64]| {
            let mean = mean(row);
            (row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / folds as f64).sqrt()
        };
        let mut columns = vec![
            ("n_features".to_string(), Values::Ints(self.n_features.iter().map(|n| *n as i64).collect())),
            ("mean_test_score".to_string(), floats(&mean)),
            ("std_test_score".to_string(), floats(&std)),
        ];
        columns.extend((0..folds).map(|fold| (format!("split{fold}_test_score"), floats(&|row| row[fold]))));
        Attribute::Frame(columns)
    }

    fn check(&self) -> bool {
        self.scores.shape.len() == 2 && self.scores.shape[0] == self.n_features.len() && self.scores.shape[1] > 0
    }
}

impl Model for Selection {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let role = |j: &usize| Role::Feature(features[*j].name.clone(), features[*j].kind.clone());
        self.kept.iter().map(role).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(wanted.iter().map(|k| data.features[self.kept[*k]].values.clone()).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let names = || Values::Strs(features.iter().map(|f| f.name.clone()).collect());
        match name {
            "support" => {
                let mut selected = vec![false; self.width];
                self.kept.iter().for_each(|j| selected[*j] = true);
                let mut columns = vec![("feature".to_string(), names())];
                if let Some((importances, _)) = &self.importances {
                    columns.push(("importance".to_string(), Values::Floats(importances.data.clone())));
                }
                columns.push(("selected".to_string(), Values::Bools(selected)));
                Some(Attribute::Frame(columns))
            }
            "ranking" => {
                let ranks = self.ranking.as_ref()?.data.iter().map(|rank| *rank as i64).collect();
                Some(Attribute::Frame(vec![
                    ("feature".to_string(), names()),
                    ("ranking".to_string(), Values::Ints(ranks)),
                ]))
            }
            "threshold" => self.importances.as_ref().map(|(_, threshold)| Attribute::Float(threshold.data[0])),
            "n_features" | "n_features_to_select" => Some(Attribute::Int(self.kept.len() as i64)),
            "cv_results" => self.cv.as_ref().map(CvScores::frame),
            _ => None,
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let importances =
            self.importances.as_ref().is_none_or(|(all, least)| all.data.len() == features && least.data.len() == 1);
        let ranking = self.ranking.as_ref().is_none_or(|ranking| ranking.data.len() == features);
        let cv = self.cv.as_ref().is_none_or(CvScores::check);
        match self.width == features && ascending(&self.kept, features) && importances && ranking && cv {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::ModelFile, format!("the selection does not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.importances.as_ref().map_or(0, |(all, _)| all.bytes())
    }
}
