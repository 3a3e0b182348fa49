//! Controls that a cell shows: sliders, choices, buttons, and what lays them out. What they are on the screen is the
//! kernel process's business, and so are their values: a user moves them while the cell process is busy or replaced by
//! its snapshot.

use serde::{Deserialize, Serialize};

use crate::dashboard::Filter;

/// A control as the cell process made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Unique over all kernels: front ends know it by this.
    pub id: String,
    pub kind: ControlKind,
    /// The text next to the control. May be empty.
    pub label: String,
    pub setting: Setting,
    pub enabled: bool,
    /// The cell process wants to hear of every change.
    pub watched: bool,
    /// Changes are told while the user still drags or types.
    pub live: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ControlKind {
    /// Both ends can be chosen. [`Setting::Int`], or [`Setting::Ints`] with two handles.
    IntSlider {
        min: i64,
        max: i64,
        step: i64,
    },
    /// [`Setting::Float`], or [`Setting::Floats`] with two handles.
    FloatSlider {
        min: f64,
        max: f64,
        step: f64,
    },
    /// A separate field for a number: [`Setting::Int`] or [`Setting::Float`].
    Number,
    /// One of the options: [`Setting::One`].
    Choice {
        options: Vec<String>,
        look: ChoiceLook,
    },
    /// Any of the options: [`Setting::Many`].
    Several {
        options: Vec<String>,
    },
    /// [`Setting::Bool`].
    Checkbox,
    /// [`Setting::Text`].
    Text {
        lines: TextLines,
    },
    /// [`Setting::None`].
    Button,
    /// Text that the cell sets: [`Setting::Text`].
    Label,
    /// The same with markup.
    Html,
    /// [`Setting::Float`] from `min` to `max`.
    Bar {
        min: f64,
        max: f64,
    },
    /// Controls next to each other or below each other, by id: [`Setting::None`].
    Row {
        children: Vec<String>,
    },
    Column {
        children: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChoiceLook {
    Dropdown,
    Radio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextLines {
    One,
    Many,
}

/// The value of a control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Setting {
    None,
    Int(i64),
    Float(f64),
    Ints(i64, i64),
    Floats(f64, f64),
    /// Position among the options; `None` if nothing is chosen.
    One(Option<u32>),
    Many(Vec<u32>),
    Bool(bool),
    Text(String),
    /// The ids of the selected nodes of a graph, as in [`crate::visual::NodeLink::ids`].
    Nodes(Vec<String>),
    /// The filters of a dashboard.
    Filters(Vec<Filter>),
}

/// Controls as one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// The outermost one is the last; others come before those that hold them.
    pub controls: Vec<Control>,
    /// What runs because of the controls shows its outputs below them.
    pub has_area: bool,
    /// So does what was shown between [`crate::host::FromHost::Capture`] and the panel.
    pub captured: bool,
}

/// Something that a user did to controls of one panel, for the cell process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Controls with new settings, and buttons that were pressed.
    pub controls: Vec<String>,
}
