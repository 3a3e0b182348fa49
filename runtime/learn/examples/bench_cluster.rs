//! Times trainings at 100,000 rows x 50 features: prints `name seconds` lines, the smallest processor time of two
//! runs. The rows
//! come from a file of `tests/learn/bench_cluster.py`, so that scikit-learn is measured on the same ones.

use onrush_learn::{Column, Data, Run, Spec};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(width)) = (arguments.next(), arguments.next().and_then(|w| w.parse::<usize>().ok())) else {
        eprintln!("usage: bench_cluster FILE WIDTH: a file of f64 values, row after row; the last column is the class");
        return;
    };
    let bytes = std::fs::read(path).expect("the file is read");
    let (values, _) = bytes.as_chunks::<8>();
    let values: Vec<f64> = values.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let column = |j: usize| values.iter().skip(j).step_by(width).copied().collect::<Vec<f64>>();
    let features = (0..width - 1).map(|j| Column::number(format!("x{j}"), column(j))).collect();
    let y = column(width - 1);
    let classes = (0..10).map(|c| c.to_string()).collect();
    let data = Data { y, classes, target: "y".to_string(), ..Data::new(features) };
    let unsupervised = Data::new(data.features.clone());
    let spec = Spec::new;
    fit("kmeans8", &spec("KMeans"), &unsupervised);
    fit("kmeans20", &spec("KMeans").with("n_clusters", 20), &unsupervised);
    fit("kmeans100", &spec("KMeans").with("n_clusters", 100).with("max_iter", 10), &unsupervised);
    fit("pca", &spec("PCA"), &unsupervised);
    fit("pca10", &spec("PCA").with("n_components", 10), &unsupervised);
    fit("truncatedsvd", &spec("TruncatedSVD"), &unsupervised);
    fit("gaussiannb", &spec("GaussianNB"), &data);
    let some = data.take(&(0..2000).collect::<Vec<usize>>());
    let low = Data { features: data.features[..8].to_vec(), ..data.clone() };
    for (name, spec, data) in
        [("knn50", spec("KNeighborsClassifier"), &data), ("knn8", spec("KNeighborsClassifier"), &low)]
    {
        let fitted = onrush_learn::fit(&spec, data, &Run::silent()).expect("the training works");
        time(name, || fitted.apply(&some, &[0]).expect("the rows are found"));
    }
    let few = unsupervised.take(&(0..20_000).collect::<Vec<usize>>());
    fit("dbscan50", &spec("DBSCAN").with("eps", 45.0), &few);
    let few = Data::new(low.features);
    fit("dbscan8", &spec("DBSCAN").with("eps", 3.0), &few);
}

/// Trains several times and prints the smallest time.
fn fit(name: &str, spec: &Spec, data: &Data) {
    time(name, || onrush_learn::fit(spec, data, &Run::silent()).expect("the training works"));
}

fn time<T>(name: &str, work: impl Fn() -> T) {
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        let start = cpu_seconds();
        let done = work();
        best = best.min(cpu_seconds() - start);
        drop(done);
    }
    println!("{name} {best:.4}");
}

/// The processor time of all threads of this process: wall time says little on a machine with other work.
fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux lists the threads");
    let nanoseconds = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.flatten().filter_map(nanoseconds).sum::<u64>() as f64 / 1e9
}
