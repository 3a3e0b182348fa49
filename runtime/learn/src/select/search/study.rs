//! The file of a study: each complete trial of a search is a line of JSON. A search that was interrupted continues
//! where it was.
//!
//! The first line says which search it is: the estimator with its parameters, the space, the splitter, the scorers, and
//! a hash of the rows. A line that was cut off by the end of a process is dropped. All other lines that cannot be read
//! are errors. The file is locked while a search writes to it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};

use onrush_wire::learn::{Param, Spec, Splitter};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::race::{Outcome, ScoredFold};
use super::rules::Rules;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::estimators::{Candidate, mean_and_std};

/// The format of the file.
const VERSION: u64 = 1;

/// A number that JSON may not have.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct JsonNumber(#[serde(with = "onrush_wire::learn::number")] f64);

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct StudyLine {
    /// The place of the trial in its search.
    number: usize,
    params: Vec<(String, Param)>,
    /// The mean score of the folds, for readers.
    score: JsonNumber,
    folds: Vec<StudyFold>,
}

#[derive(Serialize, Deserialize)]
struct StudyFold {
    test: Vec<JsonNumber>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    train: Vec<JsonNumber>,
    fit_time: JsonNumber,
    score_time: JsonNumber,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    best_iteration: Option<i64>,
}

/// A trial of the file.
pub(super) struct StudyTrial {
    /// Its place in the search that wrote it. No two trials have the same one.
    pub number: usize,
    pub candidate: Candidate,
    outcomes: Vec<Option<Outcome>>,
    /// The line of the file, from 1.
    pub line: usize,
}

/// A study with its open file.
pub(super) struct Study {
    path: String,
    pub trials: Vec<StudyTrial>,
    by_candidate: HashMap<String, usize>,
    file: Mutex<File>,
    /// The first line, which a new file gets with its first trial: an empty file is of no search yet.
    first: Mutex<Option<String>>,
    failure: Mutex<Option<String>>,
    /// Whether the last line was cut off.
    is_cut: bool,
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Study, message)
}

fn numbers(values: &[f64]) -> Vec<JsonNumber> {
    values.iter().copied().map(JsonNumber).collect()
}

fn floats(values: Vec<JsonNumber>) -> Vec<f64> {
    values.into_iter().map(|value| value.0).collect()
}

/// A candidate as a key.
fn key(candidate: &[(String, Param)]) -> String {
    serde_json::to_string(candidate).unwrap_or_default()
}

/// The first line of the file. `estimator` is the one inside of the search.
pub(super) fn header(spec: &Spec, estimator: &Spec, splitter: &Splitter, rules: &Rules, data: &Data) -> Value {
    let mut space = spec.grid.clone();
    space.sort_by(|a, b| a.0.cmp(&b.0));
    json!({
        "onrush_study": VERSION,
        "estimator": estimator,
        "space": space,
        "cv": splitter,
        "scoring": rules.scorers,
        "return_train_score": rules.train_score,
        "rows": data.rows,
        "data": format!("{:016x}", hash_of(data)),
    })
}

/// The first difference between the search of a file and this one. `None` if they are the same.
fn difference(there: &Value, here: &Value) -> Option<String> {
    const PARTS: [(&str, &str); 7] = [
        ("estimator", "its estimator has other parameters"),
        ("space", "it tries other values"),
        ("cv", "it has other folds"),
        ("scoring", "it has other scorers"),
        ("return_train_score", "one of the two scores the training rows"),
        ("rows", "it has another number of rows"),
        ("data", "it has other rows"),
    ];
    let name = |header: &Value| header["estimator"]["estimator"].as_str().unwrap_or("?").to_string();
    if name(there) != name(here) {
        return Some(format!("its estimator is {}, not {}", name(there), name(here)));
    }
    PARTS.iter().find(|(part, _)| there[*part] != here[*part]).map(|(_, what)| (*what).to_string())
}

impl Study {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// If the file cannot be read or written, is in use, belongs to another search, or has a line that is not a trial.
    pub fn open(path: &str, header: &Value, folds: usize, rules: &Rules) -> Result<Self, Error> {
        if path.is_empty() {
            return Err(wrong("the study has no name".to_string()).help("name a file, such as `study.jsonl`"));
        }
        let failed = |what: &str, error: std::io::Error| wrong(format!("the study `{path}` cannot be {what}: {error}"));
        let options = OpenOptions::new().read(true).append(true).create(true).clone();
        let mut file = options.open(path).map_err(|e| failed("opened", e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(wrong(format!("another search writes to the study `{path}`"))
                    .help("wait for it, or name another file"));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| failed("read", e))?;
        let first = format!("{header}\n");
        let mut study = Study {
            path: path.to_string(),
            trials: Vec::new(),
            by_candidate: HashMap::new(),
            file: Mutex::new(file),
            first: Mutex::new(None),
            failure: Mutex::new(None),
            is_cut: false,
        };
        // The process that made the file may have ended in the middle of the first line.
        if !text.contains('\n') && first.starts_with(&text) {
            study.file.lock().set_len(0).map_err(|e| failed("written", e))?;
            study.first = Mutex::new(Some(first));
            return Ok(study);
        }
        study.read(&text, header, folds, rules)?;
        if study.is_cut {
            let kept = text.rfind('\n').map_or(0, |at| at + 1);
            study.file.lock().set_len(kept as u64).map_err(|e| failed("written", e))?;
        }
        Ok(study)
    }

    /// Reads the lines of an existing file.
    fn read(&mut self, text: &str, header: &Value, folds: usize, rules: &Rules) -> Result<(), Error> {
        let path = self.path.clone();
        let mut lines = text.lines();
        let found: Value = lines.next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        let Some(version) = found["onrush_study"].as_u64() else {
            return Err(wrong(format!("`{path}` is not the file of a study")).help("name another file"));
        };
        if version != VERSION {
            let message = format!("the study `{path}` has the format {version}, and this version reads {VERSION}");
            return Err(wrong(message).help("name another file"));
        }
        if let Some(difference) = difference(&found, header) {
            return Err(wrong(format!("the study `{path}` is of another search: {difference}"))
                .help("name another file, or delete this one to begin again"));
        }
        let count = text.lines().count();
        let is_whole = text.ends_with('\n');
        for (at, line) in lines.enumerate() {
            let number = at + 2;
            if number == count && !is_whole {
                self.is_cut = true;
                break;
            }
            let trial = trial(line, number, folds, rules).map_err(|what| {
                wrong(format!("line {number} of the study `{path}` is not a trial: {what}"))
                    .help("delete the line, or name another file")
            })?;
            self.by_candidate.entry(key(&trial.candidate)).or_insert(self.trials.len());
            self.trials.push(trial);
        }
        // Two searches that wrote one after another may have used the same numbers.
        let mut taken = std::collections::HashSet::new();
        let mut next = 0;
        for trial in &mut self.trials {
            if !taken.insert(trial.number) {
                next = (next..).find(|number| !taken.contains(number)).unwrap_or(next);
                trial.number = next;
                taken.insert(next);
            }
        }
        Ok(())
    }

    /// The outcomes of a trial with these parameters. `None` if the file has none.
    pub fn outcomes(&self, candidate: &Candidate) -> Option<Vec<Option<Outcome>>> {
        self.by_candidate.get(&key(candidate)).map(|at| self.trials[*at].outcomes.clone())
    }

    /// An error in a line of the file.
    pub fn wrong_line(&self, line: usize, what: &str) -> Error {
        wrong(format!("line {line} of the study `{}` is not a trial: {what}", self.path))
            .help("delete the line, or name another file")
    }

    /// Writes a complete trial. Trials with a failed fold are not written. If the file cannot be written, the search
    /// goes on, and a note says so.
    pub fn append(&self, number: usize, candidate: &Candidate, outcomes: &[Option<Outcome>], decides: usize) {
        let scored: Option<Vec<&ScoredFold>> = outcomes.iter().map(|o| o.as_ref()?.as_ref().ok()).collect();
        let Some(scored) = scored.filter(|folds| folds.iter().all(|fold| fold.error.is_empty())) else { return };
        if self.by_candidate.contains_key(&key(candidate)) {
            return;
        }
        let scores: Vec<f64> = scored.iter().map(|fold| fold.test.get(decides).copied().unwrap_or(f64::NAN)).collect();
        let fold = |fold: &&ScoredFold| StudyFold {
            test: numbers(&fold.test),
            train: numbers(&fold.train),
            fit_time: JsonNumber(fold.fit_time),
            score_time: JsonNumber(fold.score_time),
            best_iteration: fold.best_iteration,
        };
        let line = StudyLine {
            number,
            params: candidate.clone(),
            score: JsonNumber(mean_and_std(&scores).0),
            folds: scored.iter().map(fold).collect(),
        };
        let written = serde_json::to_string(&line).map_err(std::io::Error::from).and_then(|line| {
            let mut file = self.file.lock();
            let first = self.first.lock().take().unwrap_or_default();
            file.write_all(format!("{first}{line}\n").as_bytes())
        });
        if let Err(error) = written {
            self.failure.lock().get_or_insert_with(|| error.to_string());
        }
    }

    /// Sentences about the file, of a search with these candidates.
    pub fn notes<'a>(&self, tried: impl Iterator<Item = &'a Candidate>) -> Vec<String> {
        let mut notes = Vec::new();
        let (mut all, mut used) = (0, std::collections::HashSet::new());
        for candidate in tried {
            all += 1;
            if let Some(at) = self.by_candidate.get(&key(candidate)) {
                used.insert(*at);
            }
        }
        let (count, path) = (used.len(), &self.path);
        if !self.trials.is_empty() {
            notes.push(format!("{count} of {all} trials came from the study `{path}`"));
        }
        let others = self.by_candidate.len() - count;
        if others > 0 {
            notes.push(format!("{others} trials of the study are not among those of this search"));
        }
        if self.is_cut {
            notes.push("the last line of the study was cut off, and was dropped".to_string());
        }
        if let Some(failure) = &*self.failure.lock() {
            notes.push(format!("the study `{path}` could not be written: {failure}"));
        }
        notes
    }
}

/// The trial of a line, or what is wrong with it.
fn trial(line: &str, number: usize, folds: usize, rules: &Rules) -> Result<StudyTrial, String> {
    let read: StudyLine = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if read.folds.len() != folds {
        return Err(format!("it has {} folds, and the search has {folds}", read.folds.len()));
    }
    let wanted = rules.scorers.len();
    let train = if rules.train_score { wanted } else { 0 };
    if let Some(bad) = read.folds.iter().find(|fold| fold.test.len() != wanted || fold.train.len() != train) {
        return Err(format!("a fold has {} scores, and the search has {wanted} scorers", bad.test.len()));
    }
    let outcome = |fold: StudyFold| {
        Some(Ok(ScoredFold {
            test: floats(fold.test),
            train: floats(fold.train),
            fit_time: fold.fit_time.0,
            score_time: fold.score_time.0,
            best_iteration: fold.best_iteration,
            error: String::new(),
        }))
    };
    let outcomes = read.folds.into_iter().map(outcome).collect();
    Ok(StudyTrial { number: read.number, candidate: read.params, outcomes, line: number })
}

/// A hash of rows that is the same in each process: names, kinds and bits of the values.
struct RowHash(u64);

impl RowHash {
    /// The finalizer of SplitMix64 (Steele et al. 2014) over the chained words.
    fn word(&mut self, word: u64) {
        let mut z = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = z ^ (z >> 31);
    }

    fn values(&mut self, values: &[f64]) {
        self.word(values.len() as u64);
        // All NaN are one.
        values.iter().for_each(|v| self.word(if v.is_nan() { u64::MAX } else { v.to_bits() }));
    }

    fn string(&mut self, text: &str) {
        self.word(text.len() as u64);
        text.bytes().for_each(|byte| self.word(u64::from(byte)));
    }

    fn data(&mut self, data: &Data) {
        self.word(data.rows as u64);
        for column in &data.features {
            self.string(&column.name);
            match &column.kind {
                Kind::Number => self.word(0),
                Kind::Text => self.word(1),
                Kind::Category(names) => {
                    self.word(2);
                    names.iter().for_each(|name| self.string(name));
                }
            }
            self.values(&column.values);
        }
        if let Some(sparse) = &data.sparse {
            sparse.names.iter().for_each(|name| self.string(name));
            sparse.starts.iter().for_each(|start| self.word(*start as u64));
            sparse.columns.iter().for_each(|column| self.word(u64::from(*column)));
            self.values(&sparse.values);
        }
        self.string(&data.target);
        self.values(&data.y);
        data.classes.iter().for_each(|class| self.string(class));
        for values in [&data.weight, &data.groups] {
            self.word(u64::from(values.is_some()));
            values.iter().for_each(|values| self.values(values));
        }
        data.eval.iter().for_each(|eval| self.data(eval));
    }
}

/// The hash of all that a training sees.
fn hash_of(data: &Data) -> u64 {
    let mut hash = RowHash(0);
    hash.data(data);
    hash.0
}
