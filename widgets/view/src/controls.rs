//! Static form of controls: their values as text and as HTML, above the outputs of their callbacks.

use std::fmt::Write as _;

use onrush_wire::control::{Control, ControlKind, Panel, Setting};

use unicode_width::UnicodeWidthStr;

use crate::bundle::Bundle;
use crate::clip;
use crate::html::escape;
use crate::table::text::{cut_to, plain};

/// Columns of a terminal, and of the name of a control in it.
const WIDTH: usize = 80;
const NAME: usize = 30;

/// See [`crate::panel`].
pub fn panel(panel: &Panel, outputs: &[Bundle]) -> Bundle {
    let shown: Vec<(&Control, String, String)> = panel.controls.iter().filter_map(described).collect();
    let name = |control: &Control| cut_to(&plain(&control.label), NAME);
    let width = shown.iter().map(|(control, ..)| name(control).width()).max().unwrap_or(0);
    let mut text = String::new();
    let mut html = String::new();
    if !shown.is_empty() {
        html.push_str("<table style=\"margin:0 0 .4em 0;border:none\">\n");
    }
    for (control, value, range) in &shown {
        let name = name(control);
        let gap = " ".repeat(width - name.width() + if width > 0 { 2 } else { 0 });
        let line = format!("{name}{gap}{}{}{}", plain(value), if range.is_empty() { "" } else { "  " }, plain(range));
        let _ = writeln!(text, "{}", clip(line.trim_end(), WIDTH));
        let cell = "border:none;padding:.1em .8em .1em 0;text-align:left;vertical-align:top";
        let _ = writeln!(
            html,
            "<tr style=\"background:none\"><th style=\"{cell};font-weight:normal;max-width:20em;overflow-wrap:anywhere\">{}</th><td style=\"{cell}\"><b>{}</b></td>\
             <td style=\"{cell};opacity:.65\">{}</td></tr>",
            escape(&control.label),
            escape(value),
            escape(range)
        );
    }
    if !shown.is_empty() {
        html.push_str("</table>\n");
    }
    for output in outputs {
        html.push_str(&output_html(output));
        if let Some(plain) = output.get("text/plain").and_then(|plain| plain.as_str()) {
            let _ = writeln!(text, "{}", plain.trim_end_matches('\n'));
        }
    }
    let mut bundle = Bundle::new();
    bundle.insert("text/html".into(), html.into());
    bundle.insert("text/plain".into(), text.trim_end().into());
    bundle
}

/// A control with its value as text, and its choices. Layout containers have no value.
fn described(control: &Control) -> Option<(&Control, String, String)> {
    let options = |options: &[String]| match options.len() {
        0..=8 => format!("of {}", options.join(", ")),
        more => format!("of {more} options"),
    };
    let option = |all: &[String], position: u32| all.get(position as usize).cloned().unwrap_or_default();
    let (value, range) = match (&control.kind, &control.setting) {
        (ControlKind::Row { .. } | ControlKind::Column { .. }, _) => return None,
        (ControlKind::Button, _) => ("[button]".to_string(), String::new()),
        (ControlKind::IntSlider { min, max, .. }, setting) => (number(setting), format!("from {min} to {max}")),
        (ControlKind::FloatSlider { min, max, .. }, setting) => (number(setting), format!("from {min} to {max}")),
        (ControlKind::Number, setting) => (number(setting), String::new()),
        (ControlKind::Choice { options: all, .. }, Setting::One(Some(position))) => {
            (option(all, *position), options(all))
        }
        (ControlKind::Several { options: all }, Setting::Many(positions)) => {
            let chosen: Vec<String> = positions.iter().map(|position| option(all, *position)).collect();
            (if chosen.is_empty() { "none".to_string() } else { chosen.join(", ") }, options(all))
        }
        (ControlKind::Checkbox, setting) => {
            ((if *setting == Setting::Bool(true) { "yes" } else { "no" }).into(), String::new())
        }
        // Without a browser markup is only in the way.
        (ControlKind::Html, Setting::Text(text)) => (without_tags(text), String::new()),
        (_, Setting::Text(text)) => (text.clone(), String::new()),
        (ControlKind::Bar { max, .. }, setting) => (number(setting), format!("of {max}")),
        _ => ("none".to_string(), String::new()),
    };
    Some((control, value, range))
}

fn number(setting: &Setting) -> String {
    match setting {
        Setting::Int(value) => value.to_string(),
        Setting::Float(value) => value.to_string(),
        Setting::Ints(low, high) => format!("{low} to {high}"),
        Setting::Floats(low, high) => format!("{low} to {high}"),
        _ => String::new(),
    }
}

fn without_tags(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

fn output_html(output: &Bundle) -> String {
    let text = |mime: &str| output.get(mime).and_then(|data| data.as_str());
    if let Some(html) = text("text/html") {
        return format!("<div>{html}</div>\n");
    }
    if let Some(png) = text("image/png") {
        let alt = text("text/plain").unwrap_or("");
        // Pictures have more pixels than there is space.
        let width = text("image/svg+xml").and_then(svg_width).map(|w| format!(" width=\"{w}\"")).unwrap_or_default();
        return format!("<img src=\"data:image/png;base64,{}\" alt=\"{}\"{width}>\n", escape(png.trim()), escape(alt));
    }
    if let Some(svg) = text("image/svg+xml") {
        return format!("<div>{svg}</div>\n");
    }
    match text("text/plain") {
        Some(plain) if !plain.is_empty() => format!("<pre>{}</pre>\n", escape(plain)),
        _ => String::new(),
    }
}

/// The width of the root of a document, in pixels.
fn svg_width(svg: &str) -> Option<u32> {
    let root = &svg[..svg.find('>')?];
    root.split_once(" width=\"")?.1.split('"').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(label: &str, kind: ControlKind, setting: Setting) -> Control {
        let id = label.to_string();
        Control { id, kind, label: label.into(), setting, enabled: true, watched: false, live: true }
    }

    #[test]
    fn values_stand_beside_their_names_and_untrusted_text_is_text() {
        let options = vec!["UA".to_string(), "<b>".to_string()];
        let look = onrush_wire::control::ChoiceLook::Dropdown;
        let controls = vec![
            control("<i>", ControlKind::IntSlider { min: 0, max: 59, step: 1 }, Setting::Int(30)),
            control("carrier", ControlKind::Choice { options: options.clone(), look }, Setting::One(Some(1))),
            control("many", ControlKind::Several { options }, Setting::Many(vec![0, 1])),
            control("on", ControlKind::Checkbox, Setting::Bool(true)),
            control("", ControlKind::Column { children: vec![] }, Setting::None),
        ];
        let mut output = Bundle::new();
        output.insert("text/plain".into(), "<script>1".into());
        let bundle = panel(&Panel { controls, has_area: true, captured: true }, &[output]);
        assert_eq!(
            bundle["text/plain"],
            "<i>      30  from 0 to 59\ncarrier  <b>  of UA, <b>\nmany     UA, <b>  of UA, <b>\non       yes\n<script>1"
        );
        let html = bundle["text/html"].as_str().unwrap();
        // Chinese letters are two columns wide: by hand.
        let text = |label: &str| {
            control(
                label,
                ControlKind::Text { lines: onrush_wire::control::TextLines::One },
                Setting::Text("a\nb".into()),
            )
        };
        let controls = vec![text(&"l".repeat(300)), text("词"), text("x\ny")];
        let bundle = panel(&Panel { controls, has_area: true, captured: true }, &[]);
        let names = [format!("{}…", "l".repeat(29)), format!("词{}", " ".repeat(28)), format!("x↵y{}", " ".repeat(27))];
        assert_eq!(bundle["text/plain"], names.map(|name| format!("{name}  a↵b")).join("\n"));
        let picture = [("image/png", "cGln"), ("image/svg+xml", "<svg xmlns=\"x\" width=\"640\" height=\"9\"></svg>")];
        let picture = picture.iter().map(|(mime, data)| (mime.to_string(), (*data).into())).collect::<Bundle>();
        assert_eq!(output_html(&picture), "<img src=\"data:image/png;base64,cGln\" alt=\"\" width=\"640\">\n");
        assert!(html.contains("&lt;i&gt;</th><td"), "{html}");
        assert!(!html.contains("<script>") && !html.contains("<b><b>") && !html.contains("<i>"), "{html}");
    }
}
