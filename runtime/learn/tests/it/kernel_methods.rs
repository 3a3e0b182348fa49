//! Kernel methods against scikit-learn 1.9.1 (`tests/learn/expect_kernel_methods.py`).

use onrush_learn::{Attribute, Column, Data, Spec, Values};

use crate::support::{
    applied, assert_close, assert_repeats, attribute, error, expected, fit, matrix, numbers, regression, row_major,
    sample,
};

/// The features of a data set without its target.
fn features(name: &str) -> Data {
    Data::new(regression(name).features)
}

#[test]
fn approximated_kernels_are_those_of_scikit_learn() {
    let expect = expected("kernel_methods.json");
    let nystroem = |n: i64, seed: i64| Spec::new("Nystroem").with("n_components", n).with("random_state", seed);
    let cases = vec![
        ("nystroem", nystroem(8, 0), "iris"),
        ("nystroem_poly", nystroem(6, 1).with("kernel", "poly").with("degree", 2.0).with("gamma", 0.1), "iris"),
        ("nystroem_laplacian", nystroem(12, 2).with("kernel", "laplacian").with("gamma", 0.001), "wine"),
        ("nystroem_cosine", nystroem(3, 0).with("kernel", "cosine"), "iris"),
        ("nystroem_chi2", nystroem(5, 0).with("kernel", "chi2"), "iris"),
        ("nystroem_sigmoid", nystroem(3, 4).with("kernel", "sigmoid").with("gamma", 0.01).with("coef0", 0.1), "iris"),
        ("rbf", Spec::new("RBFSampler").with("n_components", 10).with("random_state", 0), "iris"),
        (
            "rbf_scale",
            Spec::new("RBFSampler").with("n_components", 7).with("gamma", "scale").with("random_state", 3),
            "wine",
        ),
    ];
    for (name, spec, file) in cases {
        let (want, data) = (&expect["features"][name], features(file));
        let fitted = fit(&spec, &data);
        let columns = applied(&fitted, &data);
        assert_eq!(columns.len() as f64, numbers(&want["width"])[0], "{name}");
        assert_close(&sample(&row_major(&columns), 120), &numbers(&want["transform"]), 1e-6, name);
        if want["component_indices"].is_array() {
            let Some(Attribute::Frame(found)) = fitted.attribute("component_indices") else { panic!("{name}") };
            let wanted: Vec<i64> = numbers(&want["component_indices"]).iter().map(|v| *v as i64).collect();
            assert_eq!(found[0].1, Values::Ints(wanted), "{name}");
        } else {
            let found = sample(&matrix(&fitted, "random_weights"), 60);
            assert_close(&found, &numbers(&want["random_weights"]), 1e-12, name);
            assert_close(&attribute(&fitted, "random_offset"), &numbers(&want["random_offset"]), 1e-12, name);
        }
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&Spec::new("Nystroem").with("kernel", "chi2"), &features("diabetes")),
        "`age` has values below 0, and the kernel `chi2` takes values from 0"
    );
}

#[test]
fn ridges_with_kernels_are_those_of_scikit_learn() {
    let expect = expected("kernel_methods.json");
    let spec = |kernel: &str, alpha: f64| Spec::new("KernelRidge").with("kernel", kernel).with("alpha", alpha);
    let cases = vec![
        ("linear", Spec::new("KernelRidge"), "diabetes"),
        ("rbf", spec("rbf", 0.1).with("gamma", 3.0), "diabetes"),
        ("rbf_weighted", spec("rbf", 0.5), "diabetes"),
        ("poly", spec("poly", 1.0).with("degree", 2.0).with("coef0", 1.5).with("gamma", 2.0), "diabetes"),
        ("laplacian", spec("laplacian", 0.2).with("gamma", 0.01), "wine"),
        ("chi2", spec("chi2", 0.3).with("gamma", 0.05), "wine"),
        ("cosine", spec("cosine", 0.01), "iris"),
    ];
    for (name, spec, file) in cases {
        let (want, mut data) = (&expect["ridge"][name], regression(file));
        if name == "rbf_weighted" {
            data.weight = Some((0..data.rows).map(|row| 0.5 + (row % 3) as f64).collect());
        }
        let fitted = fit(&spec, &data);
        assert_close(&sample(&attribute(&fitted, "dual_coef"), 60), &numbers(&want["dual_coef"]), 1e-7, name);
        assert_close(&sample(&applied(&fitted, &data)[0], 100), &numbers(&want["predict"]), 1e-8, name);
        assert_repeats(&spec, &data);
    }
}

#[test]
fn densities_are_those_of_scikit_learn() {
    let expect = expected("kernel_methods.json");
    let spec = |kernel: &str| Spec::new("KernelDensity").with("kernel", kernel);
    let first = |name: &str, width: usize| Data::new(features(name).features[..width].to_vec());
    let mut cases = vec![
        ("gaussian", Spec::new("KernelDensity"), features("iris")),
        ("scott", spec("gaussian").with("bandwidth", "scott"), features("iris")),
        ("silverman", spec("exponential").with("bandwidth", "silverman"), first("wine", 3)),
        ("cosine_3", spec("cosine").with("bandwidth", 1.1), first("iris", 3)),
        ("weighted", Spec::new("KernelDensity").with("bandwidth", 0.4), features("iris")),
        ("manhattan", Spec::new("KernelDensity").with("metric", "manhattan").with("bandwidth", 0.8), features("iris")),
    ];
    for kernel in ["tophat", "epanechnikov", "exponential", "linear"] {
        cases.push((kernel, spec(kernel).with("bandwidth", 0.7), features("iris")));
    }
    for (name, spec, data) in cases {
        let want = &expect["density"][name];
        let mut half = data.take(&(0..data.rows).step_by(2).collect::<Vec<usize>>());
        if name == "weighted" {
            half.weight = Some((0..half.rows).map(|row| 1.0 + (row % 4) as f64).collect());
        }
        let fitted = fit(&spec, &half);
        assert_close(&attribute(&fitted, "bandwidth"), &numbers(&want["bandwidth"]), 1e-12, name);
        let found: Vec<f64> = applied(&fitted, &data)[0].iter().map(|v| v.max(-1e300)).collect();
        let (found, wanted) = (sample(&found, 100), numbers(&want["log_density"]));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        assert!(found.len() == wanted.len() && found.iter().zip(&wanted).all(near), "{name}: {found:?}, {wanted:?}");
        assert_repeats(&spec, &half);
    }
}

#[test]
fn densities_integrate_to_one() {
    // A row at 0 and a grid of two dimensions: the sum of the densities times the area of a cell.
    let origin = Data::new(vec![Column::number("a", vec![0.0]), Column::number("b", vec![0.0])]);
    let steps: Vec<f64> = (-400..=400).map(|i| f64::from(i) / 300.0).collect();
    let a = steps.iter().flat_map(|x| std::iter::repeat_n(*x, steps.len())).collect();
    let grid = Data::new(vec![Column::number("a", a), Column::number("b", steps.repeat(steps.len()))]);
    for kernel in ["tophat", "epanechnikov", "linear", "cosine"] {
        let fitted = fit(&Spec::new("KernelDensity").with("kernel", kernel), &origin);
        let total: f64 = applied(&fitted, &grid)[0].iter().map(|log| log.exp()).sum::<f64>() / 90_000.0;
        assert!((total - 1.0).abs() < 2e-3, "{kernel}: {total}");
    }
}
