//! List functions in generated kernels. A list is a view: an offset and a length into a column of elements.

use std::hash::Hash;

use super::operation::compare;
use super::{ColumnRef, ValueExpr, Writer};
use crate::ir::expr::{Comparison, DeviceType, ListOp, NodeId, Op};

impl ColumnRef {
    /// All that a kernel's text depends on.
    pub(super) fn codegen_key(&self) -> impl Hash + use<> {
        fn add(access: &ColumnRef, all: &mut Vec<(DeviceType, String, Option<String>, usize)>) {
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
    fn elements(&self, id: NodeId) -> &[ColumnRef] {
        self.known_elements(id).unwrap_or_default()
    }

    fn known_elements(&self, id: NodeId) -> Option<&[ColumnRef]> {
        let node = self.body.graph.node(id);
        let source = self.body.source;
        match node.op {
            Op::Input(index) => Some(&source.inputs.get(index as usize)?.elements),
            Op::Gather(index) => Some(&source.fetched.get(index as usize)?.elements),
            Op::BuildColumn(join, column) => {
                let columns = &self.body.beside.joins.get(join as usize)?.columns;
                Some(&columns.get(column as usize)?.elements)
            }
            Op::List(ListOp::Element) => Some(&self.elements(node.args[0]).first()?.elements),
            Op::List(ListOp::Field(field)) => Some(&self.elements(node.args[0]).get(field as usize)?.elements),
            Op::List(ListOp::Rows(index)) => source.fetched.get(index as usize..=index as usize),
            Op::List(ListOp::Slice) => Some(self.elements(node.args[0])),
            // One side may be null or an empty list, which has no elements.
            Op::IfElse => {
                Some(self.elements(node.args[1])).filter(|all| !all.is_empty()).or(Some(self.elements(node.args[2])))
            }
            Op::Coalesce => {
                Some(self.elements(node.args[0])).filter(|all| !all.is_empty()).or(Some(self.elements(node.args[1])))
            }
            _ => None,
        }
    }

    pub(super) fn list(&mut self, id: NodeId, op: ListOp, args: &[ValueExpr]) -> ValueExpr {
        let node = self.body.graph.node(id);
        let (kind, t) = (node.kind, node.kind.cuda());
        let valid = args.iter().fold(None, |valid, arg| super::both(&valid, &arg.valid, "&&"));
        let fault = args.iter().fold(None, |fault, arg| super::both(&fault, &arg.fault, "||"));
        let ok = valid.as_deref().unwrap_or("true").to_string();
        if let ListOp::Struct(_) = op {
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
            ListOp::Struct(_) | ListOp::Field(_) => {}
            ListOp::Element | ListOp::Contains | ListOp::ContainsString(_) | ListOp::Min | ListOp::Max => {}
        }
        let which = if let ListOp::Field(field) = op { field as usize } else { 0 };
        let Some(element) = self.elements(node.args[0]).get(which).cloned() else {
            // There is no list, or none has an element.
            let value = format!("({t})0");
            return match op {
                ListOp::Contains | ListOp::ContainsString(_) => self.define(id, kind, value, valid, fault),
                _ => ValueExpr { value, valid: Some("false".to_string()), fault },
            };
        };
        let there = element.valid.as_deref().unwrap_or("true");
        let (element_kind, e) = (element.kind, element.kind.cuda());
        self.line(&format!("{t} lx{id} = ({t})0; bool lb{id} = {ok};"));
        if let ListOp::Field(_) = op {
            let read = format!("lx{id} = {}; lb{id} = {there};", element.value);
            self.line(&format!("if (lb{id}) {{ const u64 row = list_begin({list}); {read} }}"));
            return ValueExpr { value: format!("lx{id}"), valid: Some(format!("lb{id}")), fault };
        }
        if op == ListOp::Element {
            self.line(&format!(
                "if (lb{id}) {{ const u64 row = list_place({list}, (i64){}); lb{id} = row != ~0ull;",
                args[1].value
            ));
            self.line(&format!("if (lb{id}) {{ lx{id} = {}; lb{id} = {there}; }} }}", element.value));
            return ValueExpr { value: format!("lx{id}"), valid: Some(format!("lb{id}")), fault };
        }
        let each = match op {
            ListOp::ContainsString(table) => {
                format!("if (((const u8*)l{table})[ly{id}] != 0) {{ lx{id} = true; break; }}")
            }
            ListOp::Contains => {
                let item = &args[1].value;
                // As DataFusion's comparisons of arrays do it: by bits, in which the two zeros differ.
                let same = match element_kind.is_float() {
                    true => format!("bits_of(ly{id}) == bits_of({item})"),
                    false => compare(Comparison::Equal, Some(element_kind), &format!("ly{id}"), item),
                };
                format!("if ({same}) {{ lx{id} = true; break; }}")
            }
            _ => {
                let sign = if op == ListOp::Min { "<" } else { ">" };
                let key = |name: &str| match element_kind {
                    DeviceType::Number(_) => format!("Order<{e}>::of({name}{id})"),
                    _ => format!("{name}{id}"),
                };
                let better = format!("!lf{id} || {} {sign} {}", key("ly"), key("lx"));
                format!("if ({better}) {{ lx{id} = ly{id}; lf{id} = true; }}")
            }
        };
        let finds = matches!(op, ListOp::Min | ListOp::Max);
        if finds {
            self.line(&format!("bool lf{id} = false;"));
        }
        self.line(&format!(
            "if (lb{id}) for (u64 row = list_begin({list}), le{id}x = row + list_length({list}); row < le{id}x; row++) {{ \
             if (!({there})) continue; const {e} ly{id} = {}; {each} }}",
            element.value
        ));
        let valid = if finds { Some(format!("lf{id}")) } else { valid.map(|_| format!("lb{id}")) };
        ValueExpr { value: format!("lx{id}"), valid, fault }
    }
}
