//! Pictures and states of dashboards. Places and heights by hand.

use onrush_wire::dashboard::{Dimension, KeptSlots, Measure, Slot, SlotKind, ViewKind};
use onrush_wire::display::{DashboardRows, TableKind, TablePreview};
use onrush_wire::plot::{AxisScale, LayerRequest, Theme};
use onrush_wire::{FrameId, Value};

use super::*;

fn view(kind: ViewKind) -> ViewRequest {
    ViewRequest {
        kind,
        layer: LayerRequest::default(),
        columns: Vec::new(),
        range: None,
        title: None,
        wide: false,
        tall: false,
    }
}

fn bins(count: usize) -> Dimension {
    let bin = |i: usize| Slot {
        name: format!("{i} to {}", i + 1),
        kind: SlotKind::Bin { low: i as f64, high: i as f64 + 1.0 },
    };
    Dimension { label: "fare".to_string(), scale: AxisScale::Number, slots: (0..count).map(bin).collect() }
}

fn names(all: &[&str]) -> Dimension {
    let slots = all.iter().map(|name| Slot { name: (*name).to_string(), kind: SlotKind::Value }).collect();
    Dimension { label: "carrier".to_string(), scale: AxisScale::Category, slots }
}

fn rows(all: &[f64], shown: &[f64]) -> Measure {
    Measure { label: "rows".to_string(), all: all.to_vec(), shown: shown.to_vec() }
}

fn sample() -> (DashboardRequest, Dashboard) {
    let kinds = [ViewKind::Numbers, ViewKind::Histogram, ViewKind::Bar, ViewKind::HeatMap];
    let request = DashboardRequest {
        frame: FrameId(1),
        views: kinds.into_iter().map(view).collect(),
        title: Some("Flights <1>".to_string()),
        columns: None,
        theme: Theme::Light,
    };
    let card = TablePreview {
        kind: TableKind::Frame,
        columns: vec![onrush_wire::display::PreviewColumn {
            name: "flights".to_string(),
            dtype: onrush_wire::DataType::Int64,
            nulls: None,
        }],
        total_rows: 1,
        head: vec![vec![Value::Int(1_234)]],
        tail: Vec::new(),
        bytes: None,
        location: String::new(),
    };
    let titled = |title: &str, data| DashboardView { title: title.to_string(), data };
    let views = vec![
        titled("", ViewData::Numbers(card)),
        titled(
            "fare",
            ViewData::Slots { x: bins(4), measure: rows(&[10.0, 20.0, 40.0, 0.0], &[5.0, 10.0, 40.0, 0.0]) },
        ),
        titled("carrier", ViewData::Slots { x: names(&["AA", "<UA>"]), measure: rows(&[50.0, 20.0], &[45.0, 10.0]) }),
        titled(
            "both",
            ViewData::Cells {
                x: names(&["a", "b"]),
                y: bins(2),
                measure: rows(&[1.0, 2.0, 3.0, 0.0], &[1.0, 0.0, 2.0, 0.0]),
            },
        ),
    ];
    (request, Dashboard { rows: 70, selected: 55, views, notes: Vec::new() })
}

fn filter() -> Vec<Filter> {
    vec![
        Filter { view: 1, kept: KeptSlots::Slots(vec![(1, 3)]) },
        Filter { view: 2, kept: KeptSlots::Slots(vec![(0, 1)]) },
    ]
}

#[test]
fn the_state_has_what_is_selected() {
    let (request, data) = sample();
    let state = state(&request, &data, &filter());
    assert_eq!(state["summary"], "55 of 70 rows");
    assert_eq!(state["sentences"], json!(["fare: 1 to 3", "carrier: AA"]));
    assert_eq!(state["filters"], json!([{ "view": 1, "slots": [[1, 3]] }, { "view": 2, "slots": [[0, 1]] }]));
    assert_eq!(state["views"][0]["cells"], json!([{ "name": "flights", "text": "1\u{202f}234" }]));
    // The bar of 40 rows is as high as the frame, that of 20 half as high.
    let [_, top, _, height] = [0, 1, 2, 3].map(|i| state["views"][1]["frame"][i].as_f64().unwrap());
    let svg = state["views"][1]["svg"].as_str().unwrap();
    let heights: Vec<f64> = svg
        .split("<g class=\"all\">")
        .nth(1)
        .unwrap()
        .split("</g>")
        .next()
        .unwrap()
        .split("height=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(heights.len(), 4);
    let expected = [height / 4.0, height / 2.0, height, 0.0];
    assert!(heights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.02), "{heights:?} {height}");
    assert!(top > 20.0);
    // Slots stand side by side over the whole frame.
    let places: Vec<[f64; 2]> = serde_json::from_value(state["views"][1]["places"].clone()).unwrap();
    assert!(places.windows(2).all(|two| (two[0][1] - two[1][0]).abs() < 0.02));
    // Three views in a row, below the cards.
    let place = |at: usize| -> [f64; 4] { serde_json::from_value(state["views"][at]["place"].clone()).unwrap() };
    assert!(place(1)[1] > place(0)[1] && place(2)[1] == place(1)[1] && place(2)[0] > place(1)[0]);
    assert!(place(3)[1] == place(1)[1] && place(3)[0] > place(2)[0]);
}

#[test]
fn filters_come_back_from_json() {
    let all = vec![
        Filter { view: 0, kept: KeptSlots::Slots(vec![(1, 3), (5, 6)]) },
        Filter { view: 3, kept: KeptSlots::Cells([0, 1, 1, 2]) },
        Filter { view: 4, kept: KeptSlots::Box(onrush_wire::visual::Window { x0: 0.5, y0: -1.0, x1: 2.0, y1: 3.0 }) },
        Filter { view: 4, kept: KeptSlots::Lasso(vec![(0.0, 0.0), (1.0, 0.0), (0.0, 1.5)]) },
    ];
    assert_eq!(filters_from_json(&filters_to_json(&all)), Some(all));
    for wrong in [
        json!([{ "view": 0 }]),
        json!({}),
        json!([{ "view": -1, "slots": [] }]),
        json!([{ "view": 0, "slots": [[1]] }]),
    ] {
        assert_eq!(filters_from_json(&wrong), None, "{wrong}");
    }
}

#[test]
fn a_bundle_has_a_picture_and_a_text() {
    let (request, data) = sample();
    let bundle = bundle("dashboard-1", &request, &filter(), &data);
    assert_eq!(bundle[MIME]["view"], "dashboard-1");
    assert!(bundle["image/png"].as_str().unwrap().starts_with("iVBOR"));
    let text = bundle["text/plain"].as_str().unwrap();
    assert_eq!(text, "Flights <1>: 55 of 70 rows; views: fare, carrier, both\nfare: 1 to 3\ncarrier: AA");
    let svg = svg(&request, &data, &filter());
    assert!(svg.contains("Flights &lt;1&gt;") && svg.contains("&lt;UA&gt;") && !svg.contains("<UA>"));
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let (request, data) = sample();
    let rows = DashboardRows { rows: 35, total: 70, sections: Vec::new(), memory: vec![0; 64] };
    let page = page(&request, &data, &filter(), &rows, "start()").unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("start()</script>"));
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/").count());
    assert!(!page.contains("https://"));
    assert!(page.contains("a sample of 35 of 70 rows"));
    assert!(super::page(&request, &data, &[], &rows, "").unwrap_err().message.contains("without its front end"));
}
