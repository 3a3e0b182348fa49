//! Lists in generated kernels: a list is a piece of a column, whose rows are its elements.

use std::hash::Hash;

use super::{Access, Names, Writer, compare};
use crate::graph::{Comparison, Id, Kind, ListOp, Op};

impl Access {
    /// What a kernel's text depends on.
    pub(super) fn form(&self) -> impl Hash + use<> {
        fn add(access: &Access, all: &mut Vec<(Kind, String, Option<String>, usize)>) {
            all.push((access.kind, access.value.clone(), access.valid.clone(), access.elements.len()));
            access.elements.iter().for_each(|element| add(element, all));
        }
        let mut all = Vec::new();
        add(self, &mut all);
        all
    }
}

impl Writer<'_> {
    /// How the elements of a list are read, or the fields of a struct; none where there is no such thing at all.
    fn elements(&self, id: Id) -> &[Access] {
        self.known_elements(id).unwrap_or_default()
    }

    fn known_elements(&self, id: Id) -> Option<&[Access]> {
        let node = self.body.graph.node(id);
        let source = self.body.source;
        match node.op {
            Op::Input(index) => Some(&source.inputs.get(index as usize)?.elements),
            Op::Fetch(index) => Some(&source.fetched.get(index as usize)?.elements),
            Op::Joined(join, column) => {
                let columns = &self.body.beside.joins.get(join as usize)?.columns;
                Some(&columns.get(column as usize)?.elements)
            }
            Op::List(ListOp::Element) => Some(&self.elements(node.args[0]).first()?.elements),
            Op::List(ListOp::Field(field)) => Some(&self.elements(node.args[0]).get(field as usize)?.elements),
            Op::List(ListOp::Rows(index)) => source.fetched.get(index as usize..=index as usize),
            Op::List(ListOp::Slice) => Some(self.elements(node.args[0])),
            // Of a list beside null, and beside an empty one.
            Op::Choose => {
                Some(self.elements(node.args[1])).filter(|all| !all.is_empty()).or(Some(self.elements(node.args[2])))
            }
            Op::Coalesce => {
                Some(self.elements(node.args[0])).filter(|all| !all.is_empty()).or(Some(self.elements(node.args[1])))
            }
            _ => None,
        }
    }

    pub(super) fn list(&mut self, id: Id, op: ListOp, args: &[Names]) -> Names {
        let node = self.body.graph.node(id);
        let (kind, t) = (node.kind, node.kind.cuda());
        let valid = args.iter().fold(None, |valid, arg| super::both(&valid, &arg.valid, "&&"));
        let fault = args.iter().fold(None, |fault, arg| super::both(&fault, &arg.fault, "||"));
        let ok = valid.as_deref().unwrap_or("true").to_string();
        if let ListOp::Made(_) = op {
            return self.define(id, kind, "list_of(row, 1)".to_string(), None, None);
        }
        let list = args[0].value.clone();
        match op {
            ListOp::Length => return self.define(id, kind, format!("({t})list_length({list})"), valid, fault),
            ListOp::Rows(_) => {
                let value = format!("list_of((u64){list}, (u64){})", args[1].value);
                return self.define(id, kind, value, valid, fault);
            }
            ListOp::Slice => {
                let (from, to) = (&args[1].value, &args[2].value);
                let wide = format!("((i64)(i32){from} != {from} || (i64)(i32){to} != {to})");
                let found = format!("({ok} && list_length({list}) != 0 && {wide})");
                let fault = super::both(&fault, &Some(found), "||");
                return self.define(id, kind, format!("list_slice({list}, {from}, {to})"), valid, fault);
            }
            ListOp::Made(_) | ListOp::Field(_) => {}
            ListOp::Element | ListOp::Has | ListOp::HasText(_) | ListOp::Lowest | ListOp::Highest => {}
        }
        let which = if let ListOp::Field(field) = op { field as usize } else { 0 };
        let Some(element) = self.elements(node.args[0]).get(which).cloned() else {
            // There is no list, or none has an element.
            let value = format!("({t})0");
            return match op {
                ListOp::Has | ListOp::HasText(_) => self.define(id, kind, value, valid, fault),
                _ => Names { value, valid: Some("false".to_string()), fault },
            };
        };
        let there = element.valid.as_deref().unwrap_or("true");
        let (element_kind, e) = (element.kind, element.kind.cuda());
        self.line(&format!("{t} lx{id} = ({t})0; bool lb{id} = {ok};"));
        if let ListOp::Field(_) = op {
            let read = format!("lx{id} = {}; lb{id} = {there};", element.value);
            self.line(&format!("if (lb{id}) {{ const u64 row = list_begin({list}); {read} }}"));
            return Names { value: format!("lx{id}"), valid: Some(format!("lb{id}")), fault };
        }
        if op == ListOp::Element {
            self.line(&format!(
                "if (lb{id}) {{ const u64 row = list_place({list}, (i64){}); lb{id} = row != ~0ull;",
                args[1].value
            ));
            self.line(&format!("if (lb{id}) {{ lx{id} = {}; lb{id} = {there}; }} }}", element.value));
            return Names { value: format!("lx{id}"), valid: Some(format!("lb{id}")), fault };
        }
        let each = match op {
            ListOp::HasText(table) => {
                format!("if (((const u8*)l{table})[ly{id}] != 0) {{ lx{id} = true; break; }}")
            }
            ListOp::Has => {
                let item = &args[1].value;
                // As DataFusion's comparisons of arrays do it: by bits, in which the two zeros differ.
                let same = match element_kind.is_float() {
                    true => format!("bits_of(ly{id}) == bits_of({item})"),
                    false => compare(Comparison::Equal, Some(element_kind), &format!("ly{id}"), item),
                };
                format!("if ({same}) {{ lx{id} = true; break; }}")
            }
            _ => {
                let sign = if op == ListOp::Lowest { "<" } else { ">" };
                let key = |name: &str| match element_kind {
                    Kind::Number(_) => format!("Order<{e}>::of({name}{id})"),
                    _ => format!("{name}{id}"),
                };
                let better = format!("!lf{id} || {} {sign} {}", key("ly"), key("lx"));
                format!("if ({better}) {{ lx{id} = ly{id}; lf{id} = true; }}")
            }
        };
        let finds = matches!(op, ListOp::Lowest | ListOp::Highest);
        if finds {
            self.line(&format!("bool lf{id} = false;"));
        }
        self.line(&format!(
            "if (lb{id}) for (u64 row = list_begin({list}), le{id}x = row + list_length({list}); row < le{id}x; row++) {{ \
             if (!({there})) continue; const {e} ly{id} = {}; {each} }}",
            element.value
        ));
        let valid = if finds { Some(format!("lf{id}")) } else { valid.map(|_| format!("lb{id}")) };
        Names { value: format!("lx{id}"), valid, fault }
    }
}
