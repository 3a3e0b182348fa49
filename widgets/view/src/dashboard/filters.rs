//! Filters as JSON: `{"view": 0, "slots": [[2, 5]]}`, `{"view": 1, "cells": [x0, x1, y0, y1]}`, `{"view": 2, "box":
//! [x0, y0, x1, y1]}`, `{"view": 2, "lasso": [[x, y], ...]}`. A filter by values has parts of slots, and its values
//! in `exact`, which a front end only passes on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onrush_wire::codec;
use onrush_wire::dashboard::{Filter, KeptSlots};
use onrush_wire::visual::Window;
use serde::Deserialize;
use serde_json::{Value as Json, json};

pub fn filters_to_json(filters: &[Filter]) -> Json {
    let one = |filter: &Filter| {
        let view = filter.view;
        match &filter.kept {
            KeptSlots::Slots(ranges) => json!({ "view": view, "slots": ranges }),
            KeptSlots::Cells(cells) => json!({ "view": view, "cells": cells }),
            KeptSlots::Box(Window { x0, y0, x1, y1 }) => json!({ "view": view, "box": [x0, y0, x1, y1] }),
            KeptSlots::Lasso(corners) => json!({ "view": view, "lasso": corners }),
            // Not as JSON: JavaScript rounds large integers.
            KeptSlots::Exact { wanted, marks } => {
                json!({ "view": view, "slots": marks, "exact": STANDARD.encode(codec::content(wanted)) })
            }
        }
    };
    filters.iter().map(one).collect()
}

#[derive(Deserialize)]
struct One {
    view: u32,
    slots: Option<Vec<(f64, f64)>>,
    exact: Option<String>,
    cells: Option<[u32; 4]>,
    #[serde(rename = "box")]
    window: Option<[f64; 4]>,
    lasso: Option<Vec<(f64, f64)>>,
}

/// `None` if this is not a list of filters.
pub fn filters_from_json(json: &Json) -> Option<Vec<Filter>> {
    let all: Vec<One> = serde_json::from_value(json.clone()).ok()?;
    all.into_iter()
        .map(|one| {
            let kept = match (one.slots, one.cells, one.window, one.lasso, one.exact) {
                (Some(slots), None, None, None, None) => KeptSlots::Slots(
                    slots.iter().map(|(from, to)| Some((whole(*from)?, whole(*to)?))).collect::<Option<_>>()?,
                ),
                (Some(marks), None, None, None, Some(exact)) => {
                    KeptSlots::Exact { wanted: codec::decode(&STANDARD.decode(exact).ok()?).ok()?, marks }
                }
                (None, Some(cells), None, None, None) => KeptSlots::Cells(cells),
                (None, None, Some([x0, y0, x1, y1]), None, None) => KeptSlots::Box(Window { x0, y0, x1, y1 }),
                (None, None, None, Some(corners), None) => KeptSlots::Lasso(corners),
                _ => return None,
            };
            Some(Filter { view: one.view, kept })
        })
        .collect()
}

fn whole(number: f64) -> Option<u32> {
    (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(number as u32)
}
