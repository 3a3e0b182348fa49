//! Pictures of graphs: the request, and the selection.

use onrush::display::Show as _;
use onrush::prelude::*;
use onrush_wire::display::Content;
use onrush_wire::plan::Op;
use onrush_wire::visual::{GraphPlotRequest, Positions};

use super::fake::{GRAPHS, last, last_place, session};

fn request() -> GraphPlotRequest {
    GRAPHS.lock().unwrap().last().unwrap().clone()
}

#[test]
fn a_picture_of_a_graph_asks_for_what_it_was_told() {
    let _session = session();
    let g = read_csv("x.csv").digraph("a", "name").with_nodes(read_csv("y.csv"), "name");
    let plot = g.plot().layout("spring").color("b").size("a").label("day").title("t").width(300).height(200).png();
    let Some(Content::Graph(made)) = plot.content() else { panic!() };
    assert_eq!(made.nodes, 3);
    let asked = request();
    assert_eq!((asked.graph.source.as_slice(), asked.graph.directed), (&["a".to_string()][..], true));
    assert_eq!(
        (asked.color.as_deref(), asked.size.as_deref(), asked.label.as_deref()),
        (Some("b"), Some("a"), Some("day"))
    );
    assert_eq!((asked.style.width, asked.style.height, asked.style.png), (Some(300), Some(200), true));
    let Positions::Layout(call) = &asked.positions else { panic!() };
    assert_eq!(call.algorithm, "spring_layout");
    // The frame of the edges, and that of the nodes.
    assert_eq!(asked.frames().count(), 2);
    let _ = g.plot().positions("a", "b").content();
    assert_eq!(request().positions, Positions::Columns { x: "a".into(), y: "b".into() });
}

#[test]
fn wrong_names_are_told_with_the_right_ones() {
    let _session = session();
    let g = read_csv("x.csv").graph("a", "name");
    let error = attempt(|| g.plot().layout("dot")).unwrap_err();
    assert_eq!(error.message, "no layout `dot`");
    assert_eq!(error.help, ["the layouts are \"forceatlas2\", \"spring\", \"spectral\" and \"circular\""]);
    let error = attempt(|| g.view().color("club")).unwrap_err();
    assert_eq!(error.message, "no column `club`");
    let error = attempt(|| g.plot().theme("blue")).unwrap_err();
    assert_eq!(error.message, "no theme `blue`");
    // Outside of a kernel there is nothing that draws.
    assert!(attempt(|| g.plot().save("x.svg")).is_err());
}

#[test]
fn a_view_has_an_id_and_an_empty_selection_at_first() {
    let _session = session();
    let g = read_csv("x.csv").graph("a", "name");
    let (v, w) = (g.view().color("b"), g.plot().view());
    let id = |view: &GraphView| match view.content() {
        Some(Content::GraphView { id, request, .. }) => (id, request.color),
        _ => panic!(),
    };
    assert_eq!((id(&v), id(&v).1), (id(&v.clone()), Some("b".to_string())));
    assert!(id(&v).0 != id(&w).0);
    let line = line!() + 1;
    let selected = v.selection();
    assert_eq!(selected.columns()[0], "a");
    assert!(matches!(last(), Op::Slice { length: Some(0), .. }), "{:?}", last());
    assert_eq!(last_place().line, line);
}
