//! Searches by the tree-structured Parzen estimator, studies in files, and trainings at the same time. The expected
//! results are those of the same search in one piece and on one thread.

use std::fs;
use std::path::{Path, PathBuf};

use onrush_learn::{Attribute, Data, Error, FittedModel, Param, Run, Spec, Values};
use onrush_wire::learn::{Grid, Part, Splitter};

use crate::support::{classification, fit, regression};

/// A file that is deleted when the test ends.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str) -> Self {
        let file = std::env::temp_dir().join(format!("onrush-study-{}-{name}.jsonl", std::process::id()));
        let _ = fs::remove_file(&file);
        TemporaryFile(file)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }

    fn lines(&self) -> usize {
        self.text().lines().count()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn searching(search: &str, estimator: Spec, grid: Vec<(&str, Grid)>) -> Spec {
    let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: estimator };
    let grid = grid.into_iter().map(|(path, grid)| (path.to_string(), grid)).collect();
    let cv = Some(Splitter::KFold { n_splits: 3, shuffle: false, random_state: 0 });
    Spec { parts: vec![part], grid, cv, ..Spec::new(search) }
}

fn elastic(search: &str) -> Spec {
    let words = || Grid::List(vec![Param::from("cyclic"), Param::from("random")]);
    let grid = vec![
        ("alpha", Grid::LogUniform(1e-4, 10.0)),
        ("l1_ratio", Grid::Uniform(0.0, 1.0)),
        ("selection", words()),
        ("max_iter", Grid::Integers(20, 60)),
    ];
    searching(search, Spec::new("ElasticNet"), grid)
}

fn tpe() -> Spec {
    elastic("TpeSearchCV").with("n_iter", 25).with("random_state", 4)
}

fn with_study(spec: Spec, file: &TemporaryFile) -> Spec {
    spec.with("study", file.0.display().to_string())
}

fn columns(fitted: &FittedModel) -> Vec<(String, Values)> {
    let Some(Attribute::Frame(columns)) = fitted.attribute("results") else { panic!() };
    columns
}

/// The results without times, as strings: folds that did not run are NaN, which differs from itself.
fn results(fitted: &FittedModel) -> Vec<String> {
    let kept = columns(fitted).into_iter().filter(|(name, _)| !name.ends_with("_time"));
    kept.map(|column| format!("{column:?}")).collect()
}

fn states(fitted: &FittedModel) -> Vec<String> {
    let found = columns(fitted).into_iter().find(|(name, _)| name == "state");
    let Some((_, Values::Strs(states))) = found else { panic!() };
    states
}

fn score(fitted: &FittedModel) -> f64 {
    let Some(Attribute::Float(score)) = fitted.attribute("best_score") else { panic!() };
    score
}

fn error(spec: &Spec, data: &Data) -> Error {
    onrush_learn::fit(spec, data, &Run::silent()).err().unwrap()
}

/// Trains until a number of trials is in the file, and then stops.
fn stopped_after(spec: &Spec, data: &Data, file: &TemporaryFile, trials: usize) -> Result<FittedModel, Error> {
    let lines = || fs::read_to_string(&file.0).map_or(0, |text| text.lines().count());
    onrush_learn::fit(spec, data, &Run { is_stopped: &|| lines() > trials, ..Run::silent() })
}

/// On one thread.
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

#[test]
fn a_search_by_tpe_is_better_than_one_at_random() {
    let data = regression("diabetes");
    let of = |search: &str, seed: u32| {
        let grid = vec![("alpha", Grid::LogUniform(1e-6, 1e6)), ("l1_ratio", Grid::Uniform(0.0, 1.0))];
        let spec = searching(search, Spec::new("ElasticNet"), grid);
        score(&fit(&spec.with("n_iter", 30).with("random_state", seed), &data))
    };
    let mean = |search: &str| (0..5).map(|seed| of(search, seed)).sum::<f64>() / 5.0;
    let (proposed, random) = (mean("TpeSearchCV"), mean("RandomizedSearchCV"));
    assert!(proposed > random, "{proposed}, {random}");
}

#[test]
fn results_do_not_depend_on_threads() {
    let data = regression("diabetes");
    for prune in [false, true] {
        let spec = tpe().with("prune", prune);
        let one = alone(|| fit(&spec, &data));
        let wanted = results(&one);
        assert_eq!(states(&one).len(), 25);
        for jobs in [-1, 1, 2, 5] {
            assert_eq!(results(&fit(&spec.clone().with("n_jobs", jobs), &data)), wanted, "{jobs} jobs, prune {prune}");
        }
    }
    let depths = Grid::List((1..8).map(Param::Int).collect());
    let grid =
        |search: &str| searching(search, Spec::new("DecisionTreeClassifier"), vec![("max_depth", depths.clone())]);
    let flowers = classification("iris");
    for search in ["GridSearchCV", "HalvingGridSearchCV"] {
        let wanted = results(&alone(|| fit(&grid(search), &flowers)));
        for jobs in [1, 3] {
            assert_eq!(results(&fit(&grid(search).with("n_jobs", jobs), &flowers)), wanted, "{search} {jobs}");
        }
    }
}

#[test]
fn racing_ends_proposals_that_cannot_win() {
    let folds = Splitter::KFold { n_splits: 8, shuffle: true, random_state: 0 };
    let spec = Spec { cv: Some(folds), ..tpe() };
    let data = regression("diabetes");
    let (raced, plain) = (fit(&spec.clone().with("prune", true), &data), fit(&spec, &data));
    let raced_states = states(&raced);
    assert!(raced_states.iter().any(|s| s == "pruned") && raced_states[..10].iter().all(|s| s == "done"));
    assert!(states(&plain).iter().all(|s| s == "done"));
    assert!(score(&raced) > score(&plain) - 0.01);
}

#[test]
fn a_study_continues_as_if_it_was_not_stopped() {
    let data = regression("diabetes");
    for (name, spec) in [
        ("tpe", tpe()),
        ("raced", tpe().with("prune", true)),
        ("random", elastic("RandomizedSearchCV").with("n_iter", 12)),
        ("raced-random", elastic("RandomizedSearchCV").with("n_iter", 12).with("prune", true)),
    ] {
        let file = TemporaryFile::new(&format!("continues-{name}"));
        let plain = fit(&spec, &data);
        let (wanted, trials) = (results(&plain), states(&plain).len());
        let studied = with_study(spec, &file);
        let part = stopped_after(&studied, &data, &file, if name.starts_with("tpe") { 14 } else { 2 }).unwrap();
        let first = file.lines() - 1;
        assert!((1..trials).contains(&first), "{name}: {first}");
        assert!(
            part.model().notes().iter().any(|note| note.starts_with("stopped after")),
            "{:?}",
            part.model().notes()
        );
        let whole = fit(&studied, &data);
        assert_eq!(results(&whole), wanted, "{name}");
        let notes = whole.model().notes();
        let from = format!("{first} of {trials} trials came from the study");
        assert!(notes.iter().any(|note| note.starts_with(&from)), "{name}: {notes:?}");
        // Nothing is left to train, and nothing is written.
        let before = file.text();
        assert_eq!(results(&fit(&studied, &data)), wanted, "{name}");
        assert_eq!(file.text(), before, "{name}");
    }
}

#[test]
fn proposals_look_at_the_trials_of_other_searches() {
    let data = regression("diabetes");
    let file = TemporaryFile::new("others");
    let random = elastic("RandomizedSearchCV").with("n_iter", 15).with("random_state", 9);
    fit(&with_study(random, &file), &data);
    let made = fit(&with_study(tpe().with("n_iter", 20), &file), &data);
    assert_eq!((states(&made).len(), file.lines()), (20, 21));
    assert!(made.model().notes()[0].starts_with("15 of 20 trials came from the study"), "{:?}", made.model().notes());
    // A search for fewer trials keeps those of the file.
    assert_eq!(states(&fit(&with_study(tpe().with("n_iter", 5), &file), &data)).len(), 20);
    // Trials of the file that a random search does not draw are named.
    let other = elastic("RandomizedSearchCV").with("n_iter", 15).with("random_state", 9);
    let notes = fit(&with_study(other, &file), &data).model().notes();
    assert_eq!(notes[1], "5 trials of the study are not among those of this search");
}

#[test]
fn a_study_of_another_search_is_refused() {
    let (data, file) = (regression("diabetes"), TemporaryFile::new("refused"));
    let spec = with_study(tpe().with("n_iter", 3), &file);
    fit(&spec, &data);
    let of = |spec: &Spec, data: &Data| {
        let error = error(spec, data);
        let prefix = format!("the study `{}` is of another search: ", file.0.display());
        error.message.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).to_string()
    };
    let with_part = |part: Spec| {
        let mut spec = spec.clone();
        spec.parts[0].spec = part;
        spec
    };
    assert_eq!(of(&with_part(Spec::new("Lasso")), &data), "its estimator is ElasticNet, not Lasso");
    let other = with_part(Spec::new("ElasticNet").with("tol", 0.1));
    assert_eq!(of(&other, &data), "its estimator has other parameters");
    let mut other = spec.clone();
    other.grid[0].1 = Grid::LogUniform(1e-4, 20.0);
    assert_eq!(of(&other, &data), "it tries other values");
    let folds = Some(Splitter::Auto { n_splits: 3 });
    assert_eq!(of(&Spec { cv: folds, ..spec.clone() }, &data), "it has other folds");
    assert_eq!(of(&spec.clone().with("scoring", "neg_max_error"), &data), "it has other scorers");
    let wanted = "one of the two scores the training rows";
    assert_eq!(of(&spec.clone().with("return_train_score", true), &data), wanted);
    let mut other = data.clone();
    other.features[3].values[7] += 1e-9;
    assert_eq!(of(&spec, &other), "it has other rows");
    assert_eq!(of(&spec, &data.take(&[5; 40])), "it has another number of rows");
    // The file is as it was.
    assert_eq!(file.lines(), 4);
    assert_eq!(states(&fit(&spec, &data)).len(), 3);
}

#[test]
fn a_damaged_study_says_which_line() {
    let (data, file) = (regression("diabetes"), TemporaryFile::new("damaged"));
    let spec = with_study(tpe().with("n_iter", 4), &file);
    let wanted = results(&fit(&spec, &data));
    let whole = file.text();
    let lines: Vec<&str> = whole.lines().collect();
    let refused = |text: &str, message: &str| {
        fs::write(&file.0, text).unwrap();
        let found = error(&spec, &data).message;
        assert!(found.contains(message), "{found}");
        assert_eq!(file.text(), text, "a refused file is not changed");
    };
    let is_no_study = "is not the file of a study";
    refused("a,b\n1,2\n", is_no_study);
    refused("a,b", is_no_study);
    refused("{}\n", is_no_study);
    refused("\n", is_no_study);
    refused(&whole.replace("\"onrush_study\":1", "\"onrush_study\":7"), "has the format 7");
    let with_line = |line: &str| format!("{}\n{}\n{line}\n{}\n", lines[0], lines[1], lines[2]);
    refused(&with_line("{\"number\""), "line 3 of the study");
    refused(&with_line(""), "line 3 of the study");
    let cut = lines[3].replacen("\"folds\":[{", "\"folds\":[],\"other\":[{", 1);
    refused(&with_line(&cut), "it has 0 folds, and the search has 3");
    refused(&with_line(&lines[3].replacen("\"test\":[", "\"test\":[1.0,", 1)), "a fold has 2 scores");
    refused(&with_line(&lines[3].replacen("\"alpha\"", "\"alhpa\"", 1)), "`alpha` has no value of the space");
    let outside = lines[3].replacen("{\"Float\":", "{\"Float\":99", 1);
    refused(&with_line(&outside), "`alpha` has no value of the space");
    // A line that was cut off is dropped, and its trial runs again.
    for cut in [whole.len() - 1, whole.len() - 20, lines[0].len() + 1, lines[0].len(), 5, 0] {
        fs::write(&file.0, &whole[..cut]).unwrap();
        assert_eq!(results(&fit(&spec, &data)), wanted, "{cut}");
        assert_eq!(file.lines(), 5, "{cut}");
    }
    fs::write(&file.0, [0xff, 0xfe]).unwrap();
    assert!(error(&spec, &data).message.contains("cannot be read"));
    let folder = spec.clone().with("study", std::env::temp_dir().display().to_string());
    assert!(error(&folder, &data).message.contains("cannot be opened"));
    assert_eq!(error(&spec.clone().with("study", ""), &data).message, "the study has no name");
    let missing = Path::new("/nowhere/at/all.jsonl").display().to_string();
    assert!(error(&spec.clone().with("study", missing), &data).message.contains("cannot be opened"));
}

#[test]
fn a_search_that_does_not_begin_leaves_its_study_free() {
    let (data, file) = (regression("diabetes"), TemporaryFile::new("free"));
    let mut wrong = with_study(tpe(), &file);
    wrong.grid[0].0 = "alhpa".to_string();
    assert!(error(&wrong, &data).message.contains("there is no parameter `alhpa`"));
    assert_eq!(states(&fit(&with_study(tpe().with("n_iter", 3), &file), &data)).len(), 3);
    assert_eq!(file.lines(), 4);
}

#[test]
fn two_searches_do_not_write_to_one_study() {
    let (data, file) = (regression("diabetes"), TemporaryFile::new("two"));
    let spec = with_study(tpe().with("n_iter", 3), &file);
    fit(&spec, &data);
    let other = fs::OpenOptions::new().append(true).open(&file.0).unwrap();
    other.lock().unwrap();
    assert!(error(&spec, &data).message.starts_with("another search writes to the study"));
    drop(other);
    assert_eq!(states(&fit(&spec, &data)).len(), 3);
}

#[test]
fn a_space_that_cannot_be_searched_says_why() {
    let data = regression("diabetes");
    let of = |grid: Vec<(&str, Grid)>| error(&searching("TpeSearchCV", Spec::new("Ridge"), grid), &data).message;
    assert_eq!(of(Vec::new()), "TpeSearchCV has no parameters to try");
    assert_eq!(of(vec![("alpha", Grid::List(Vec::new()))]), "`alpha` has no values to try");
    assert_eq!(of(vec![("alpha", Grid::Uniform(-1.0, 1.0))]), "`alpha` is -1.0: at least 0");
    assert_eq!(of(vec![("alhpa", Grid::Uniform(0.0, 1.0))]), "there is no parameter `alhpa`: did you mean `alpha`?");
    let wanted = "`alpha` is uniform from 2 to 1: the first must be less than the second";
    assert_eq!(of(vec![("alpha", Grid::Uniform(2.0, 1.0))]), wanted);
    let wanted = "`alpha` is uniform from 0 to inf: the first must be less than the second";
    assert_eq!(of(vec![("alpha", Grid::Uniform(0.0, f64::INFINITY))]), wanted);
    let wanted = "`alpha` is log-uniform from NaN to 1: the first must be above 0 and less than the second";
    assert_eq!(of(vec![("alpha", Grid::LogUniform(f64::NAN, 1.0))]), wanted);
    let twice = vec![("alpha", Grid::Uniform(0.0, 1.0)), ("alpha", Grid::Uniform(0.0, 1.0))];
    assert_eq!(of(twice), "`alpha` is in the grid twice");
    let with = |name: &str, value: i64| error(&tpe().with(name, value), &data).message;
    assert_eq!(with("n_iter", 0), "`n_iter` is 0: between 1 and 1000000");
    assert_eq!(with("n_ei_candidates", 0), "`n_ei_candidates` is 0: between 1 and 1000000");
    assert_eq!(with("n_startup_trials", 0), "`n_startup_trials` is 0: at least 1");
    assert_eq!(with("n_jobs", -2), "`n_jobs` is -2: at least 1, or -1 for one on each thread");
    assert_eq!(
        error(&tpe().with("n_jobs", "all"), &data).message,
        "`n_jobs` is all: at least 1, or -1 for one on each thread"
    );
    let none = error(&tpe(), &data.take(&[]));
    assert!(!none.message.is_empty(), "{none}");
}
