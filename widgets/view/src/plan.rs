//! A plan as a tree: each step under the one that it feeds, with its place (CPU or GPU), rows and time.

use std::fmt::Write as _;

use crate::bundle::Bundle;
use crate::html::escape;
use crate::table::text::plain;

/// `text` is the output of `explain`.
pub fn plan(text: &str) -> Bundle {
    let mut bundle = Bundle::new();
    bundle.insert("text/html".into(), html(text).into());
    // Values and names of the user's data stand in a plan.
    let lines: Vec<String> = text.trim_end_matches('\n').split('\n').map(plain).collect();
    bundle.insert("text/plain".into(), lines.join("\n").into());
    bundle
}

fn html(text: &str) -> String {
    let mut out = String::from("<div style=\"font-size:.95em;line-height:1.7;overflow-x:auto\">\n");
    for line in text.trim_end().lines() {
        let depth = (line.len() - line.trim_start().len()) / 2;
        let mut parts = line.trim().split("  ").map(str::trim).filter(|part| !part.is_empty());
        let first = parts.next().unwrap_or("");
        let facts: Vec<&str> = parts.collect();
        let _ = write!(out, "<div style=\"white-space:nowrap;padding-left:{}em\">", depth as f64 * 1.6);
        // Lines about the whole plan begin with its place, or have none.
        let is_step = !first.starts_with('[') && !facts.is_empty();
        if depth > 0 && is_step {
            out.push_str("<span style=\"opacity:.45\">└ </span>");
        }
        let _ = match is_step {
            true => write!(out, "<b>{}</b>", escape(first)),
            false => write!(out, "<span style=\"opacity:.7\">{}</span>", escape(first)),
        };
        for fact in facts {
            let badge = fact.strip_prefix('[').and_then(|fact| fact.split_once(']'));
            let _ = match (badge, fact.split_once('=')) {
                (Some((place, why)), _) => write!(
                    out,
                    " <span style=\"border:1px solid currentColor;border-radius:.6em;padding:0 .5em;font-size:.8em;opacity:.75\">{}</span>{}",
                    escape(place),
                    escape(why)
                ),
                (None, Some((name, value))) => {
                    write!(out, " · {} <span style=\"opacity:.65\">{}</span>", escape(value), escape(name))
                }
                (None, None) => write!(out, " · {}", escape(fact)),
            };
        }
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_under_each_other_with_their_facts() {
        let text = "sort by <s>  [cpu]  rows=1  time=1 μs\n  scan  [gpu] (2 columns)\n[cpu] no driver\nplanned in 1 ms, ran in 2 ms\n";
        let bundle = plan(text);
        assert_eq!(bundle["text/plain"], text.trim_end());
        let html = bundle["text/html"].as_str().unwrap();
        for wanted in [
            "<b>sort by &lt;s&gt;</b>",
            ">cpu</span> · 1 <span style=\"opacity:.65\">rows</span> · 1 μs <span style=\"opacity:.65\">time</span></div>",
            "padding-left:1.6em\"><span style=\"opacity:.45\">└ </span><b>scan</b>",
            "<span style=\"opacity:.7\">[cpu] no driver</span>",
            "<span style=\"opacity:.7\">planned in 1 ms, ran in 2 ms</span>",
        ] {
            assert!(html.contains(wanted), "{wanted}\n{html}");
        }
    }
}
