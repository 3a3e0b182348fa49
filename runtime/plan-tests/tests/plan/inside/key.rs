//! Keys of steps.

use onrush_wire::Span;

use onrush_logical::fingerprint::step;
use onrush_wire::FrameId;
use onrush_wire::expr::{Expr, ExprKind};
use onrush_wire::graph::{GraphCall, GraphSpec, NodeIds};
use onrush_wire::plan::{ConcatHow, JoinKind, Op};

#[test]
fn places_and_ids_do_not_matter_but_values_do() {
    let op = |id, line, threshold: i64| Op::Filter {
        input: FrameId(id),
        predicate: Expr::new(ExprKind::Binary(
            onrush_wire::BinaryOp::Greater,
            Box::new(Expr::column("a").at(Span { file: "cell_1.rs".into(), line, column: 1, length: 1 })),
            Box::new(Expr::literal(threshold)),
        )),
    };
    let step = |op: Op, key: u128| step(&op, |_| Ok::<_, ()>(key)).unwrap();
    assert_eq!(step(op(1, 1, 3), 7), step(op(9, 4, 3), 7));
    assert_ne!(step(op(1, 1, 3), 7), step(op(1, 1, 4), 7));
    assert_ne!(step(op(1, 1, 3), 7), step(op(1, 1, 3), 8));
}

/// Another key of any frame that a step reads is another key of the step, and so is another place of two frames.
#[test]
fn every_input_of_a_step_is_in_its_key() {
    let [a, b, c] = [1, 2, 3].map(FrameId);
    let name = |name: &str| vec![name.to_string()];
    let nodes = NodeIds { frame: b, columns: name("id") };
    let graph = GraphSpec { source: name("s"), target: name("t"), directed: false, weight: None, nodes: vec![nodes] };
    let frames = vec![("communities".to_string(), c)];
    let call = GraphCall { algorithm: "modularity".to_string(), params: Vec::new(), frames };
    let on = || vec![Expr::column("a")];
    let (suffix, how) = ("_right".to_string(), JoinKind::Inner);
    let steps = [
        Op::Graph { input: a, graph, call },
        Op::Concat { inputs: vec![a, b, c], how: ConcatHow::Vertical },
        Op::Sql { query: "from x".to_string(), tables: [("x", a), ("y", b)].map(|(n, id)| (n.to_string(), id)).into() },
        Op::Join { left: a, right: b, how, left_on: on(), right_on: on(), suffix },
        Op::Describe { input: a },
    ];
    for op in &steps {
        let inputs = op.inputs();
        let with = |changed: Option<FrameId>| {
            step(op, |id| Ok::<_, ()>(u128::from(id.0) + if changed == Some(id) { 100 } else { 0 })).unwrap()
        };
        let mut keys = vec![with(None)];
        keys.extend(inputs.iter().map(|id| with(Some(*id))));
        keys.push(step(op, |id| Ok::<_, ()>(u128::from(4 - id.0.min(3)) + 200)).unwrap());
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count, "{}", op.name());
        let last = inputs[inputs.len() - 1];
        assert_eq!(step(op, |id| if id == last { Err(id) } else { Ok(0) }), Err(last), "{}", op.name());
    }
}
