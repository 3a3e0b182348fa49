//! Controls as models of ipywidgets (`@jupyter-widgets/controls` 2.0.0): their states, and settings in both directions.

use onrush_wire::control::{ChoiceLook, Control, ControlKind, Setting, TextLines};
use serde_json::{Map, Value, json};

const BASE: &str = "@jupyter-widgets/base";
const CONTROLS: &str = "@jupyter-widgets/controls";
const OUTPUT: &str = "@jupyter-widgets/output";

/// A model as the widget manager knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub name: &'static str,
    pub module: &'static str,
    pub version: &'static str,
    /// All keys, with those that name the model.
    pub state: Map<String, Value>,
}

impl Model {
    fn new(module: &'static str, version: &'static str, name: &'static str, view: Option<&str>, state: Value) -> Model {
        let mut all = Map::new();
        let view_module = if name.ends_with("StyleModel") { BASE } else { module };
        all.extend([
            ("_model_module".to_string(), module.into()),
            ("_model_module_version".to_string(), version.into()),
            ("_model_name".to_string(), name.into()),
            ("_view_module".to_string(), view_module.into()),
            ("_view_module_version".to_string(), if view_module == BASE { "2.0.0" } else { version }.into()),
            ("_view_name".to_string(), view.into()),
            ("_view_count".to_string(), Value::Null),
        ]);
        if let Value::Object(state) = state {
            all.extend(state);
        }
        Model { name, module, version, state: all }
    }

    fn control(name: &'static str, view: &str, layout: &str, state: Value) -> Model {
        let mut model = Model::new(CONTROLS, "2.0.0", name, Some(view), state);
        for (key, value) in [
            ("_dom_classes", json!([])),
            ("layout", reference(layout)),
            ("tabbable", Value::Null),
            ("tooltip", Value::Null),
        ] {
            model.state.entry(key).or_insert(value);
        }
        model
    }

    /// The description by `update_states`.
    pub fn described(&self) -> Value {
        json!({
            "model_name": self.name, "model_module": self.module, "model_module_version": self.version, "state": self.state,
        })
    }
}

/// How a state names another model.
fn reference(id: &str) -> Value {
    format!("IPY_MODEL_{id}").into()
}

pub fn layout() -> Model {
    Model::new(BASE, "2.0.0", "LayoutModel", Some("LayoutView"), json!({}))
}

/// The layout of a control whose label is longer than ipywidgets has room for. Another layout of a control stays.
pub fn wide_layout(width: usize) -> Model {
    let room = width.min(LABEL) + 1;
    let width = format!("calc(var(--jp-widgets-inline-width) - var(--jp-widgets-inline-label-width) + {room}ch)");
    Model::new(BASE, "2.0.0", "LayoutModel", Some("LayoutView"), json!({ "width": width, "max_width": "100%" }))
}

/// Whether a control has its label next to it.
pub fn is_described(kind: &ControlKind) -> bool {
    match kind {
        ControlKind::IntSlider { .. } | ControlKind::FloatSlider { .. } | ControlKind::Number => true,
        ControlKind::Choice { .. }
        | ControlKind::Several { .. }
        | ControlKind::Text { .. }
        | ControlKind::Bar { .. } => true,
        ControlKind::Checkbox | ControlKind::Button | ControlKind::Label | ControlKind::Html => false,
        ControlKind::Row { .. } | ControlKind::Column { .. } => false,
    }
}

/// A box of several controls.
pub fn column(layout: &str, children: &[String]) -> Model {
    let children: Vec<Value> = children.iter().map(|id| reference(id)).collect();
    Model::control("VBoxModel", "VBoxView", layout, json!({ "box_style": "", "children": children }))
}

/// A line below controls that is empty as long as all is well.
pub fn status(layout: &str, style: &str) -> Model {
    let state = json!({ "value": "", "description": "", "description_allow_html": false, "placeholder": "", "style": reference(style) });
    Model::control("HTMLModel", "HTMLView", layout, state)
}

/// The widget for outputs.
pub fn area(layout: &str) -> Model {
    let state = json!({ "msg_id": "", "outputs": [], "layout": reference(layout), "_dom_classes": [], "tabbable": null, "tooltip": null });
    Model::new(OUTPUT, "1.0.0", "OutputModel", Some("OutputView"), state)
}

/// Characters of a label before the room for what is set; of longer ones ipywidgets shows the beginning, and all of it
/// under the mouse.
const LABEL: usize = 24;

/// The name of a control's style, and what it is. `width`: of the longest label, in characters.
pub fn style(kind: &ControlKind, width: usize) -> Option<(&'static str, Model)> {
    let described =
        json!({ "description_width": if width == 0 { String::new() } else { format!("{}ch", width.min(LABEL) + 1) } });
    let (name, state) = match kind {
        ControlKind::IntSlider { .. } | ControlKind::FloatSlider { .. } => ("SliderStyleModel", described),
        ControlKind::Number | ControlKind::Choice { look: ChoiceLook::Radio, .. } | ControlKind::Several { .. } => {
            ("DescriptionStyleModel", described)
        }
        ControlKind::Choice { .. } => ("DescriptionStyleModel", described),
        ControlKind::Checkbox => ("CheckboxStyleModel", json!({ "description_width": "" })),
        ControlKind::Text { .. } => ("TextStyleModel", described),
        ControlKind::Button => ("ButtonStyleModel", json!({})),
        ControlKind::Label => ("LabelStyleModel", described),
        ControlKind::Html => ("HTMLStyleModel", described),
        ControlKind::Bar { .. } => ("ProgressStyleModel", described),
        ControlKind::Row { .. } | ControlKind::Column { .. } => return None,
    };
    Some((name, Model::new(CONTROLS, "2.0.0", name, Some("StyleView"), state)))
}

pub fn of_control(control: &Control, layout: &str, style: Option<&str>) -> Model {
    let two = matches!(control.setting, Setting::Ints(..) | Setting::Floats(..));
    let float = matches!(control.setting, Setting::Float(_));
    let (name, view) = match &control.kind {
        ControlKind::IntSlider { .. } if two => ("IntRangeSliderModel", "IntRangeSliderView"),
        ControlKind::IntSlider { .. } => ("IntSliderModel", "IntSliderView"),
        ControlKind::FloatSlider { .. } if two => ("FloatRangeSliderModel", "FloatRangeSliderView"),
        ControlKind::FloatSlider { .. } => ("FloatSliderModel", "FloatSliderView"),
        ControlKind::Number if float => ("FloatTextModel", "FloatTextView"),
        ControlKind::Number => ("IntTextModel", "IntTextView"),
        ControlKind::Choice { look: ChoiceLook::Dropdown, .. } => ("DropdownModel", "DropdownView"),
        ControlKind::Choice { look: ChoiceLook::Radio, .. } => ("RadioButtonsModel", "RadioButtonsView"),
        ControlKind::Several { .. } => ("SelectMultipleModel", "SelectMultipleView"),
        ControlKind::Checkbox => ("CheckboxModel", "CheckboxView"),
        ControlKind::Text { lines: TextLines::One } => ("TextModel", "TextView"),
        ControlKind::Text { lines: TextLines::Many } => ("TextareaModel", "TextareaView"),
        ControlKind::Button => ("ButtonModel", "ButtonView"),
        ControlKind::Label => ("LabelModel", "LabelView"),
        ControlKind::Html => ("HTMLModel", "HTMLView"),
        ControlKind::Bar { .. } => ("FloatProgressModel", "ProgressView"),
        ControlKind::Row { .. } => ("HBoxModel", "HBoxView"),
        ControlKind::Column { .. } => ("VBoxModel", "VBoxView"),
    };
    let mut state = changing(control);
    state.extend(fixed(control));
    if let Some(style) = style {
        state.insert("style".to_string(), reference(style));
    }
    Model::control(name, view, layout, Value::Object(state))
}

/// The part of the state that stays for the life of a control.
fn fixed(control: &Control) -> Map<String, Value> {
    let state = match &control.kind {
        ControlKind::IntSlider { min, max, step } => json!({
            "min": min, "max": max, "step": step, "orientation": "horizontal", "readout": true, "readout_format": "d",
            "behavior": "drag-tap", "description_allow_html": false,
        }),
        ControlKind::FloatSlider { min, max, step } => json!({
            "min": min, "max": max, "step": step, "orientation": "horizontal", "readout": true,
            "readout_format": decimals(*step), "behavior": "drag-tap", "description_allow_html": false,
        }),
        ControlKind::Number => {
            let step = if matches!(control.setting, Setting::Float(_)) { Value::Null } else { json!(1) };
            json!({ "step": step, "description_allow_html": false })
        }
        ControlKind::Choice { options, look: ChoiceLook::Dropdown } => {
            json!({ "_options_labels": options, "description_allow_html": false })
        }
        ControlKind::Choice { options, look: ChoiceLook::Radio } => {
            json!({ "_options_labels": options, "orientation": "vertical", "description_allow_html": false })
        }
        ControlKind::Several { options } => {
            json!({ "_options_labels": options, "rows": options.len().clamp(2, 8), "description_allow_html": false })
        }
        ControlKind::Checkbox => json!({ "indent": true, "description_allow_html": false }),
        ControlKind::Text { lines } => {
            let rows = if *lines == TextLines::Many { json!(4) } else { Value::Null };
            json!({ "placeholder": "\u{200b}", "rows": rows, "description_allow_html": false })
        }
        ControlKind::Button => json!({ "icon": "", "button_style": "" }),
        ControlKind::Label | ControlKind::Html => json!({ "placeholder": "\u{200b}", "description_allow_html": false }),
        ControlKind::Bar { min, max } => json!({
            "min": min, "max": max, "bar_style": "", "orientation": "horizontal", "description_allow_html": false,
        }),
        ControlKind::Row { children } | ControlKind::Column { children } => {
            let children: Vec<Value> = children.iter().map(|id| reference(id)).collect();
            json!({ "box_style": "", "children": children })
        }
    };
    if let Value::Object(mut state) = state {
        state.retain(|key, value| key != "rows" || !value.is_null());
        return state;
    }
    Map::new()
}

/// As many digits as a step has.
fn decimals(step: f64) -> String {
    let digits =
        if step > 0.0 && step < 1.0 { (-step.log10()).ceil() as usize } else { usize::from(step.fract() != 0.0) };
    format!(".{}f", digits.min(12))
}

/// The part of the state that a cell may change.
pub fn changing(control: &Control) -> Map<String, Value> {
    let mut state = of_setting(&control.setting);
    if !matches!(control.kind, ControlKind::Row { .. } | ControlKind::Column { .. }) {
        state.insert("description".to_string(), control.label.as_str().into());
        state.insert("disabled".to_string(), (!control.enabled).into());
    }
    if matches!(
        control.kind,
        ControlKind::IntSlider { .. }
            | ControlKind::FloatSlider { .. }
            | ControlKind::Text { .. }
            | ControlKind::Number
    ) {
        state.insert("continuous_update".to_string(), control.live.into());
    }
    if matches!(control.kind, ControlKind::Label | ControlKind::Html | ControlKind::Bar { .. }) {
        state.remove("disabled");
    }
    state
}

pub fn of_setting(setting: &Setting) -> Map<String, Value> {
    let (key, value) = match setting {
        // Graphs and dashboards are not models of ipywidgets.
        Setting::None | Setting::Nodes(_) | Setting::Filters(_) => return Map::new(),
        Setting::Int(value) => ("value", json!(value)),
        Setting::Float(value) => ("value", json!(value)),
        Setting::Ints(low, high) => ("value", json!([low, high])),
        Setting::Floats(low, high) => ("value", json!([low, high])),
        Setting::One(position) => ("index", json!(position)),
        Setting::Many(positions) => ("index", json!(positions)),
        Setting::Bool(on) => ("value", json!(on)),
        Setting::Text(text) => ("value", json!(text)),
    };
    Map::from_iter([(key.to_string(), value)])
}

/// The setting of a front end, if it is of the kind that the control has.
pub fn setting(state: &Map<String, Value>, before: &Setting) -> Option<Setting> {
    let pair = |value: &Value| Some((value.get(0)?.as_f64()?, value.get(1)?.as_f64()?));
    let whole = |value: f64| value.round() as i64;
    match before {
        Setting::None | Setting::Nodes(_) | Setting::Filters(_) => None,
        Setting::Int(_) => {
            let value = state.get("value")?;
            value.as_i64().or_else(|| value.as_f64().map(whole)).map(Setting::Int)
        }
        Setting::Float(_) => state.get("value")?.as_f64().map(Setting::Float),
        Setting::Ints(..) => pair(state.get("value")?).map(|(low, high)| Setting::Ints(whole(low), whole(high))),
        Setting::Floats(..) => pair(state.get("value")?).map(|(low, high)| Setting::Floats(low, high)),
        Setting::One(_) => match state.get("index")? {
            Value::Null => Some(Setting::One(None)),
            index => Some(Setting::One(Some(u32::try_from(index.as_u64()?).ok()?))),
        },
        Setting::Many(_) => {
            let positions = state.get("index")?.as_array()?.iter();
            let positions = positions.map(|index| u32::try_from(index.as_u64()?).ok());
            positions.collect::<Option<Vec<u32>>>().map(Setting::Many)
        }
        Setting::Bool(_) => state.get("value")?.as_bool().map(Setting::Bool),
        Setting::Text(_) => state.get("value")?.as_str().map(|text| Setting::Text(text.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that ipywidgets 8.1.9 has for `IntSlider(7, 0, 59, description="n")`, by its `get_state()`.
    #[test]
    fn a_slider_has_the_state_of_ipywidgets() {
        let control = Control {
            id: "s".into(),
            kind: ControlKind::IntSlider { min: 0, max: 59, step: 1 },
            label: "n".into(),
            setting: Setting::Int(7),
            enabled: true,
            watched: false,
            live: true,
        };
        let expected = json!({
            "_dom_classes": [], "_model_module": "@jupyter-widgets/controls", "_model_module_version": "2.0.0",
            "_model_name": "IntSliderModel", "_view_count": null, "_view_module": "@jupyter-widgets/controls",
            "_view_module_version": "2.0.0", "_view_name": "IntSliderView", "behavior": "drag-tap", "continuous_update": true,
            "description": "n", "description_allow_html": false, "disabled": false, "layout": "IPY_MODEL_l", "max": 59, "min": 0,
            "orientation": "horizontal", "readout": true, "readout_format": "d", "step": 1, "style": "IPY_MODEL_t",
            "tabbable": null, "tooltip": null, "value": 7,
        });
        assert_eq!(Value::Object(of_control(&control, "l", Some("t")).state), expected);
    }

    #[test]
    fn settings_come_back_as_they_were_sent_and_nonsense_does_not() {
        for setting_ in [
            Setting::Int(-3),
            Setting::Float(0.5),
            Setting::Ints(1, 2),
            Setting::Floats(0.0, 2.5),
            Setting::One(Some(3)),
            Setting::One(None),
            Setting::Many(vec![0, 2]),
            Setting::Bool(true),
            Setting::Text("ä".into()),
        ] {
            assert_eq!(setting(&of_setting(&setting_), &setting_), Some(setting_.clone()), "{setting_:?}");
            let nonsense = json!({ "value": { "x": 1 }, "index": "a" });
            assert_eq!(setting(nonsense.as_object().unwrap(), &setting_), None, "{setting_:?}");
        }
        // JavaScript has no integers.
        assert_eq!(setting(json!({ "value": 3.0 }).as_object().unwrap(), &Setting::Int(0)), Some(Setting::Int(3)));
        assert_eq!(
            setting(json!({ "value": 3 }).as_object().unwrap(), &Setting::Float(0.0)),
            Some(Setting::Float(3.0))
        );
    }

    #[test]
    fn readouts_have_the_digits_of_their_step() {
        assert_eq!([1.0, 0.5, 0.1, 0.01, 0.025, 100.0].map(decimals), [".0f", ".1f", ".1f", ".2f", ".2f", ".0f"]);
    }
}
