//! The card of a graph: static HTML without script, that reads well in light and dark and without styles.

use std::fmt::Write as _;

use onrush_wire::format_integer::thousands;
use onrush_wire::visual::GraphCard;

use crate::bundle::Bundle;
use crate::html::{bytes, escape};

/// Pixels of the highest bar of the degrees.
const HIGH: f64 = 36.0;

/// The figures as HTML and as text.
pub fn card(card: &GraphCard) -> Bundle {
    let mut bundle = Bundle::new();
    bundle.insert("text/html".into(), html(card).into());
    bundle.insert("text/plain".into(), text(card).into());
    bundle
}

/// `graph of origin and dest: 305 nodes, 5,366 edges`.
fn title(card: &GraphCard) -> String {
    let kind = if card.directed { "digraph" } else { "graph" };
    format!("{kind} of {} and {}", card.source.join(", "), card.target.join(", "))
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count), if count == 1 { one } else { many })
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if size < 1e15 && size.fract() == 0.0 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", thousands(size as u64))
        }
        size if (0.001..1e6).contains(&size) => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

/// Names and values, in the order in which they are shown.
fn figures(card: &GraphCard) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("nodes", thousands(card.nodes)),
        ("edges", thousands(card.edges)),
        ("pairs of nodes with an edge", thousands(card.pairs)),
        ("self-loops", thousands(card.self_loops)),
        ("density", number(card.density)),
    ];
    if let Some(weight) = &card.weight {
        all.push(("weight", format!("{}, {} to {}", weight.column, number(weight.min), number(weight.max))));
    }
    let (mean, median, most) = (number(card.degree_mean), number(card.degree_median), thousands(card.degree_max));
    all.push(("degree", format!("mean {mean}, median {median}, largest {most}")));
    let share = match card.nodes {
        0 => String::new(),
        nodes => {
            let percent = 100.0 * card.largest_component as f64 / nodes as f64;
            format!(", the largest with {percent:.1} % of the nodes")
        }
    };
    let components = if card.directed { "weakly connected components" } else { "connected components" };
    all.push((components, format!("{}{share}", thousands(card.components))));
    if card.left_out > 0 {
        all.push(("left out", plural(card.left_out, "row with a null at an end", "rows with a null at an end")));
    }
    all.push(("index", format!("{} in {}", bytes(card.bytes), card.location)));
    all
}

fn text(card: &GraphCard) -> String {
    let mut out = title(card);
    let all = figures(card);
    let wide = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in all {
        let _ = write!(out, "\n  {name:wide$}  {value}");
    }
    out
}

fn html(card: &GraphCard) -> String {
    let mut out = String::from(
        "<div style=\"border:1px solid rgba(128,128,128,.4);border-radius:4px;padding:.6em .9em;max-width:44em;line-height:1.5\">\n",
    );
    let head = [plural(card.nodes, "node", "nodes"), plural(card.edges, "edge", "edges")].join(" · ");
    let _ = writeln!(
        out,
        "<div><b style=\"font-size:1.1em\">{}</b> <span style=\"opacity:.7\">· {head}</span></div>",
        escape(&title(card))
    );
    out.push_str("<table style=\"border-collapse:collapse;margin:.3em 0\"><tbody>\n");
    for (name, value) in figures(card).into_iter().skip(2) {
        let _ = writeln!(
            out,
            "<tr><td style=\"text-align:left;padding:0 1.2em 0 0;opacity:.7\">{name}</td><td style=\"text-align:left;padding:0\">{}</td></tr>",
            escape(&value)
        );
    }
    out.push_str("</tbody></table>\n");
    degrees(&mut out, card);
    out.push_str("</div>\n");
    out
}

/// Nodes by degree, both in powers of two.
fn degrees(out: &mut String, card: &GraphCard) {
    let most = card.degrees.iter().copied().max().unwrap_or(0);
    if card.degrees.len() < 3 || most == 0 {
        return;
    }
    let high =
        |count: u64| if count == 0 { 0.0 } else { HIGH * (1.0 + (count as f64).log2()) / (1.0 + (most as f64).log2()) };
    let range = |bucket: usize| match bucket {
        0 => "0".to_string(),
        1 => "1".to_string(),
        bucket => format!("{} to {}", thousands(1 << (bucket - 1)), thousands((1 << bucket) - 1)),
    };
    let width = card.degrees.len() * 16;
    let _ = write!(
        out,
        "<svg role=\"img\" aria-label=\"Nodes by degree\" width=\"{width}\" height=\"{0:.0}\" viewBox=\"0 0 {width} {0:.0}\">",
        HIGH + 2.0
    );
    for (bucket, count) in card.degrees.iter().enumerate() {
        let height = high(*count);
        let _ = write!(
            out,
            "<rect x=\"{}\" y=\"{:.1}\" width=\"14\" height=\"{height:.1}\" fill=\"#4c78a8\"><title>degree {}: {}</title></rect>",
            bucket * 16,
            HIGH + 1.0 - height,
            range(bucket),
            plural(*count, "node", "nodes")
        );
    }
    out.push_str("</svg>\n<div style=\"opacity:.7\"><small>nodes by degree, both in powers of two</small></div>\n");
}

#[cfg(test)]
mod tests {
    use onrush_wire::visual::WeightRange;

    use super::*;

    fn example() -> GraphCard {
        GraphCard {
            source: vec!["<a>".to_string()],
            target: vec!["b".to_string()],
            nodes: 4,
            edges: 1200,
            pairs: 3,
            density: 0.5,
            weight: Some(WeightRange { column: "w".to_string(), min: -1.5, max: 2000.0 }),
            degree_mean: 1.5,
            degree_median: 1.5,
            degree_max: 2,
            degrees: vec![0, 2, 2],
            components: 1,
            largest_component: 4,
            left_out: 1,
            bytes: 1_234_567,
            location: "memory".to_string(),
            ..GraphCard::default()
        }
    }

    #[test]
    fn the_text_has_the_figures() {
        let text = text(&example());
        for part in [
            "graph of <a> and b",
            "1\u{202f}200",
            "w, -1.500 to 2\u{202f}000",
            "100.0 % of the nodes",
            "1 row with a null",
            "1.23 MB",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn names_are_escaped_and_an_empty_graph_has_a_card() {
        let html = html(&example());
        assert!(html.contains("&lt;a&gt;") && !html.contains("<a>"));
        assert_eq!(html.matches("<rect").count(), 3);
        assert!(text(&GraphCard::default()).contains("nodes"));
    }
}
