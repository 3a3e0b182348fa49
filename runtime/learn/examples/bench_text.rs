//! Seconds of a pipeline of `TfidfVectorizer` and `LogisticRegression` on 20,000 documents of about 100 words, to be
//! compared with scikit-learn's (`tests/learn/bench_text.py`).
//!
//! `-- write PATH` writes the documents for it, one in a line after its class.

use std::time::Instant;

use onrush_learn::random::Philox;
use onrush_learn::{Column, Data, Run, Spec};
use onrush_wire::learn::Part;

const DOCUMENTS: usize = 20_000;

/// Words of 2 to 11 letters. The frequencies of words fall as in natural text (Zipf), and some belong to a class.
fn documents() -> (Vec<String>, Vec<f64>) {
    let random = Philox::new(3, 1);
    let uniform = |stream: usize, i: usize| random.uniform(stream as u64, i as u64);
    let word = |number: usize| -> String {
        let length = 2 + (uniform(7, number) * 6.0) as usize + number % 5;
        let letter = |k: usize| char::from(b'a' + (uniform(8 + k, number) * 26.0) as u8);
        (0..length).map(letter).collect()
    };
    let words: Vec<String> = (0..60_000).map(word).collect();
    let class = |i: usize| i % 2;
    let text = |i: usize| -> String {
        let length = 60 + (uniform(2, i) * 80.0) as usize;
        let place = |k: usize| {
            let rank = (60_000f64.powf(uniform(3, i * 200 + k)) as usize).min(59_999);
            if rank > 100 && rank.is_multiple_of(7) && uniform(4, i * 200 + k) < 0.6 {
                rank - rank % 2 + class(i)
            } else {
                rank
            }
        };
        (0..length).map(|k| words[place(k).min(59_999)].as_str()).collect::<Vec<&str>>().join(" ")
    };
    ((0..DOCUMENTS).map(text).collect(), (0..DOCUMENTS).map(|i| class(i) as f64).collect())
}

fn main() {
    let (strings, y) = documents();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path] = &arguments[..]
        && word == "write"
    {
        let lines: Vec<String> = strings.iter().zip(&y).map(|(text, class)| format!("{class} {text}")).collect();
        std::fs::write(path, lines.join("\n")).unwrap_or_else(|e| panic!("{path}: {e}"));
        return;
    }
    let column = Column::category("text", &strings.iter().map(Some).collect::<Vec<_>>());
    let classes = vec!["0".to_string(), "1".to_string()];
    let data = Data { y, classes, target: "y".to_string(), ..Data::new(vec![column]) };
    let step = |spec: Spec| Part { name: spec.estimator.to_lowercase(), columns: Vec::new(), spec };
    let pipeline = |vectorizer: Spec| {
        let parts = vec![step(vectorizer), step(Spec::new("LogisticRegression"))];
        Spec { parts, ..Spec::new("Pipeline") }
    };
    let cases = [
        ("vectorizer", Spec::new("TfidfVectorizer")),
        ("words", pipeline(Spec::new("TfidfVectorizer"))),
        ("pairs", pipeline(Spec::new("TfidfVectorizer").with("ngram_range", [1, 2]).with("min_df", 2))),
        ("hashing", pipeline(Spec::new("HashingVectorizer"))),
    ];
    for (name, spec) in cases {
        let start = Instant::now();
        let fitted = onrush_learn::fit(&spec, &data, &Run::silent()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let fit = start.elapsed().as_secs_f64();
        let start = Instant::now();
        if fitted.outputs().len() < 10 {
            fitted.apply(&data, &[0]).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        println!("{name} {fit:.3} predict {:.3}", start.elapsed().as_secs_f64());
    }
}
