//! Name resolution that DataFusion's planner lacks: USING and NATURAL columns, duplicate names, table names that equal
//! column names. The planner takes the left column of a merged pair, even if that side is missing. It refuses two
//! columns of one name, and does not find a table that is called as a column of a subquery's table. The parsed query is
//! rewritten. A query stays as it is if the columns of a table are not known from the text.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, ExcludeSelectItem, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    OrderByKind, Query, ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, Statement, TableAlias, TableFactor, TableWithJoins, VisitMut, WildcardAdditionalOptions,
};
use onrush_expr::diagnostics::HIDDEN;

use super::ast::is_alike;
use super::syntax;
use super::walk::{Rewriter, Walk, each, replace_names, walk};

pub type Columns = Option<Vec<String>>;

/// Columns of tables by their names. None where they are not known.
pub type Tables = HashMap<String, Columns>;

/// Columns that are there once, and those that repeat under separate names: [`shown`] takes these off again.
pub fn resolve(statement: &mut Statement, tables: Tables) {
    let _ = walk(statement, &mut Resolve { tables });
}

/// Tables that are called as a column under other names; [`hide`] takes these out of messages. `columns` are those of
/// the tables that the query names, and whether they are structs: `s.x` may be the field of one.
pub fn tables_apart(statement: &mut Statement, columns: impl Fn(&str) -> Vec<(String, bool)>) {
    let mut named = QueryNames::default();
    let _ = walk(statement, &mut named);
    if named.selects < 2 {
        return;
    }
    let columns: Vec<(String, bool)> = named.tables.iter().flat_map(|table| columns(table)).collect();
    let is = |name: &String, what: bool| columns.iter().any(|(column, nested)| column == name && *nested == what);
    named.aliases.retain(|name| is(name, false) && !is(name, true));
    if !named.aliases.is_empty() {
        let _ = walk(statement, &mut Apart(&named.aliases));
    }
}

fn other_name(table: &str) -> String {
    format!("{HIDDEN}as_{table}")
}

/// A message with the tables' own names.
pub fn hide(message: &str) -> String {
    message.replace(&other_name(""), "")
}

/// The name of a column that repeats as it was written.
pub fn shown(name: &str) -> &str {
    let number = name.strip_prefix(HIDDEN).and_then(|rest| rest.strip_prefix("again_"));
    number.and_then(|rest| rest.split_once('_')).map_or(name, |(_, name)| name)
}

/// The tables of a query, and what they are called in it.
#[derive(Default)]
struct QueryNames {
    selects: usize,
    tables: HashSet<String>,
    aliases: HashSet<String>,
}

impl Rewriter for QueryNames {
    fn pre_visit_select(&mut self, _: &mut Select) -> Walk {
        self.selects += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Walk {
        let (table, alias) = match factor {
            TableFactor::Table { name, alias, .. } => (last(name), alias),
            TableFactor::Derived { alias, .. } | TableFactor::UNNEST { alias, .. } => (None, alias),
            _ => return ControlFlow::Continue(()),
        };
        self.tables.extend(table.map(|name| name.value.clone()));
        self.aliases.extend(alias.as_ref().map(|alias| &alias.name).or(table).map(|name| name.value.clone()));
        ControlFlow::Continue(())
    }
}

struct Apart<'a>(&'a HashSet<String>);

impl Apart<'_> {
    fn rename(&self, name: &mut Ident) {
        if self.0.contains(&name.value) {
            *name = quoted(&other_name(&name.value));
        }
    }
}

impl Rewriter for Apart<'_> {
    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Walk {
        let (TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } | TableFactor::UNNEST { alias, .. }) =
            factor
        else {
            return ControlFlow::Continue(());
        };
        match alias {
            Some(alias) => self.rename(&mut alias.name),
            None => {
                if let TableFactor::Table { name, alias, args: None, .. } = factor
                    && let Some(own) = last(name)
                    && self.0.contains(&own.value)
                {
                    let name = quoted(&other_name(&own.value));
                    *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Walk {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let Some(mut table) = last(name).cloned()
            {
                self.rename(&mut table);
                *name = ObjectName::from(vec![table]);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, _, ..] = parts.as_mut_slice()
        {
            self.rename(table);
        }
        ControlFlow::Continue(())
    }
}

/// The side that has a value for all rows.
#[derive(Clone, Copy)]
enum Kind {
    Left,
    Right,
    Full,
}

/// The condition and the kind of a join, shared or to be changed. None of those whose result has not the columns of
/// both sides.
macro_rules! constraint {
    ($join:expr) => {
        match $join {
            JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::CrossJoin(on) => Some((on, Kind::Left)),
            JoinOperator::Right(on) | JoinOperator::RightOuter(on) => Some((on, Kind::Right)),
            JoinOperator::FullOuter(on) => Some((on, Kind::Full)),
            _ => None,
        }
    };
}

struct Resolve {
    tables: Tables,
}

/// Whether a part of a query says to which table a column belongs.
fn is_qualified(select: &Select) -> bool {
    let mut found = select.projection.iter().any(|item| matches!(item, SelectItem::QualifiedWildcard(..)));
    let walked = each(&mut select.clone(), &mut |expr| {
        found |= matches!(expr, Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. });
        ControlFlow::Continue(())
    });
    found || walked.is_break()
}

fn merges(join: &Join) -> bool {
    constraint!(&join.join_operator)
        .is_some_and(|(on, _)| matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural))
}

/// `(a natural join b)` as a subquery.
fn as_subquery(factor: &mut TableFactor, number: usize) {
    let TableFactor::NestedJoin { table_with_joins, alias: None } = factor else { return };
    if !table_with_joins.joins.iter().all(merges) {
        return;
    }
    let Some(Expr::Subquery(subquery)) = parsed(&format!("(select * from {table_with_joins})")) else { return };
    let name = quoted(&format!("{HIDDEN}joined_{number}"));
    let alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
}

impl Rewriter for Resolve {
    /// Joins in parentheses that merge columns, and are merged with others, as subqueries, unless a name reaches into
    /// them.
    fn pre_visit_select(&mut self, select: &mut Select) -> Walk {
        let is_nested = |factor: &TableFactor| matches!(factor, TableFactor::NestedJoin { .. });
        let concerned = |from: &TableWithJoins| {
            from.joins.iter().any(merges)
                && (is_nested(&from.relation) || from.joins.iter().any(|join| is_nested(&join.relation)))
        };
        if !select.from.iter().any(concerned) || is_qualified(select) {
            return ControlFlow::Continue(());
        }
        for from in select.from.iter_mut().filter(|from| concerned(from)) {
            let joined = from.joins.iter_mut().map(|join| &mut join.relation);
            for (number, factor) in std::iter::once(&mut from.relation).chain(joined).enumerate() {
                as_subquery(factor, number);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> Walk {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = aliased(&cte.alias, self.of_query(&cte.query));
            self.tables.insert(cte.alias.name.value.clone(), columns);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Walk {
        if let SetExpr::Select(select) = query.body.as_mut() {
            let merged = self.select(select);
            if let Some(order) = &mut query.order_by
                && let OrderByKind::Expressions(keys) = &mut order.kind
            {
                let given = names_given(select);
                let merged: Vec<_> =
                    merged.iter().filter(|one: &&MergedColumn| !given.contains(&one.name)).cloned().collect();
                keys.iter_mut().for_each(|key| replace(&mut key.expr, &merged));
            }
        } else {
            self.body(&mut query.body);
        }
        ControlFlow::Continue(())
    }
}

/// The columns of the tables of selects, for other rewriters.
pub struct Scope {
    resolve: Resolve,
}

impl Scope {
    pub fn new(tables: Tables) -> Scope {
        Scope { resolve: Resolve { tables } }
    }

    /// Notes the common table expressions of a query.
    pub fn enter(&mut self, query: &mut Query) {
        let _ = self.resolve.pre_visit_query(query);
    }

    /// The columns of all tables of a select, in their order. `None` if those of a table are not known.
    pub fn columns(&self, select: &Select) -> Columns {
        let wildcard = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let mut names = self.resolve.of_item(&wildcard, select);
        if names.is_none() {
            // Joins that merge columns: each name once.
            let mut all: Vec<String> = Vec::new();
            for tables in &select.from {
                let joined = tables.joins.iter().map(|join| &join.relation);
                for factor in std::iter::once(&tables.relation).chain(joined) {
                    let columns = self.resolve.columns_of(factor)?;
                    all.extend(columns.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
                }
            }
            names = Some(all);
        }
        names
    }
}

/// A column that several tables share, and what it is.
#[derive(Clone)]
struct MergedColumn {
    name: String,
    value: Expr,
    /// The table in whose place it stands, by its number.
    home: usize,
}

/// A table of a `from`: what it is called, its columns, and those that are merged into one of a table before.
struct Relation {
    name: Ident,
    columns: Columns,
    gone: Vec<String>,
}

impl Resolve {
    fn body(&self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => drop(self.select(select)),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            // Others are visited as queries.
            _ => {}
        }
    }

    fn select(&self, select: &mut Select) -> Vec<MergedColumn> {
        let merged = self.merge(select).unwrap_or_default();
        self.tell_repeated(select);
        merged
    }

    /// `using` and `natural` as `on`, and what they merge by what it is. None where there are none, or not all columns
    /// are known.
    fn merge(&self, select: &mut Select) -> Option<Vec<MergedColumn>> {
        let is_merging = |join: &JoinConstraint| matches!(join, JoinConstraint::Using(_) | JoinConstraint::Natural);
        let joins = || select.from.iter().flat_map(|from| &from.joins);
        if !joins().any(|join| constraint!(&join.join_operator).is_some_and(|(on, _)| is_merging(on))) {
            return None;
        }
        let mut from = select.from.clone();
        let (mut relations, mut merged) = (Vec::new(), Vec::new());
        for tables in &mut from {
            self.tables(tables, &mut relations, &mut merged)?;
        }
        let mut projection = Vec::new();
        for item in select.projection.clone() {
            match item {
                SelectItem::Wildcard(options) if options == WildcardAdditionalOptions::default() => {
                    projection.extend(relations.iter().enumerate().map(|(at, relation)| relation.all(at, &merged)));
                }
                // With `exclude` and the like.
                SelectItem::Wildcard(_) => return None,
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                    let found = merged.iter().find(|one: &&MergedColumn| one.name == name.value);
                    projection.push(match found {
                        Some(one) => SelectItem::ExprWithAlias { expr: one.value.clone(), alias: name },
                        None => SelectItem::UnnamedExpr(Expr::Identifier(name)),
                    });
                }
                mut other => {
                    replace(&mut other, &merged);
                    projection.push(other);
                }
            }
        }
        select.from = from;
        select.projection = projection;
        select.selection.iter_mut().for_each(|filter| replace(filter, &merged));
        let others: Vec<MergedColumn> = merged.iter().filter(|one| !aliases_other(select, one)).cloned().collect();
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            keys.iter_mut().for_each(|key| replace(key, &others));
        }
        select.having.iter_mut().chain(&mut select.qualify).for_each(|filter| replace(filter, &others));
        select.named_window.iter_mut().for_each(|window| replace(window, &merged));
        Some(merged)
    }

    fn tables(
        &self,
        from: &mut TableWithJoins,
        relations: &mut Vec<Relation>,
        all: &mut Vec<MergedColumn>,
    ) -> Option<()> {
        let first = relations.len();
        relations.push(self.relation(&from.relation)?);
        // The columns of this table with its joins: others are merged for themselves.
        let mut merged: Vec<MergedColumn> = Vec::new();
        for join in &mut from.joins {
            let right = self.relation(&join.relation)?;
            let (on, kind) = constraint!(&mut join.join_operator)?;
            let columns: Vec<String> = match on {
                JoinConstraint::Using(names) => {
                    names.iter().map(|name| Some(last(name)?.value.clone())).collect::<Option<_>>()?
                }
                JoinConstraint::Natural => {
                    let there = right.columns.as_ref()?;
                    let mut names: Vec<String> = Vec::new();
                    for relation in &relations[first..] {
                        let is_there = |name: &&String| there.iter().any(|other| is_alike(other, name));
                        let own = relation.columns.as_ref()?.iter().filter(is_there);
                        names.extend(own.filter(|name| !relation.gone.contains(name)).cloned());
                    }
                    names
                }
                other => {
                    replace(other, &merged);
                    relations.push(right);
                    continue;
                }
            };
            // Names have no case: each table may have another spelling.
            let spelt = |columns: &Columns, name: &String| {
                let columns = columns.iter().flatten();
                let exact = columns.clone().find(|column| *column == name);
                exact.or_else(|| columns.clone().find(|column| is_alike(column, name))).cloned()
            };
            let ours = |name: &String| relations[first..].iter().find_map(|relation| spelt(&relation.columns, name));
            let columns: Vec<String> = columns.iter().map(|name| ours(name).unwrap_or_else(|| name.clone())).collect();
            let theirs: Vec<String> =
                columns.iter().map(|name| spelt(&right.columns, name).unwrap_or_else(|| name.clone())).collect();
            let mut conditions: Vec<Expr> = Vec::new();
            for (name, their) in columns.iter().zip(&theirs) {
                let known = merged.iter().position(|one| one.name == *name);
                let (left, home) = match known {
                    Some(known) => (merged[known].value.clone(), merged[known].home),
                    None => {
                        let home = first + owner(&relations[first..], name)?;
                        (column(&relations[home].name, name), home)
                    }
                };
                let other = column(&right.name, their);
                conditions.push(Expr::BinaryOp {
                    left: Box::new(left.clone()),
                    op: BinaryOperator::Eq,
                    right: Box::new(other.clone()),
                });
                let value = match kind {
                    Kind::Left => left,
                    Kind::Right => other,
                    Kind::Full => parsed(&format!("coalesce({left}, {other})"))?,
                };
                match known {
                    Some(known) => merged[known].value = value,
                    None => merged.push(MergedColumn { name: name.clone(), value, home }),
                }
            }
            let all = conditions.into_iter().reduce(|left, right| Expr::BinaryOp {
                left: Box::new(left),
                op: BinaryOperator::And,
                right: Box::new(right),
            });
            *on = JoinConstraint::On(all?);
            relations.push(Relation { gone: theirs, ..right });
        }
        all.extend(merged);
        Some(())
    }

    /// Gives separate names to columns that occur again, or that a `*` has, too.
    fn tell_repeated(&self, select: &mut Select) {
        let of_items: Vec<Columns> = select.projection.iter().map(|item| self.of_item(item, select)).collect();
        let is_wild = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        let wild = select.projection.iter().zip(&of_items).filter(|(item, _)| is_wild(item));
        let mut taken: HashSet<String> = wild.flat_map(|(_, names)| names.iter().flatten().cloned()).collect();
        for (number, (item, names)) in select.projection.iter_mut().zip(&of_items).enumerate() {
            let [name] = names.as_deref().unwrap_or_default() else { continue };
            if is_wild(item) || taken.insert(name.clone()) {
                continue;
            }
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
            let alias = quoted(&format!("{HIDDEN}again_{number}_{name}"));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }

    fn relation(&self, factor: &TableFactor) -> Option<Relation> {
        let (name, columns) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let own = last(name)?;
                let columns = self.tables.get(&own.value).cloned().flatten();
                match alias {
                    Some(alias) => (alias.name.clone(), aliased(alias, columns)),
                    None => (own.clone(), columns),
                }
            }
            TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                (alias.name.clone(), aliased(alias, self.of_query(subquery)))
            }
            TableFactor::Table { alias: Some(alias), .. } => (alias.name.clone(), None),
            _ => return None,
        };
        Some(Relation { name, columns, gone: Vec::new() })
    }

    /// The columns of a table, also of one without a name.
    fn columns_of(&self, factor: &TableFactor) -> Columns {
        match factor {
            TableFactor::Derived { subquery, alias: None, .. } => self.of_query(subquery),
            TableFactor::Table { name, alias, args: Some(_), with_ordinality: false, .. } => {
                let own = last(name)?.value.to_lowercase();
                if !matches!(own.as_str(), "range" | "generate_series" | "unnest") {
                    return None;
                }
                match alias {
                    Some(alias) if alias.columns.is_empty() => Some(vec![alias.name.value.clone()]),
                    Some(alias) => Some(alias.columns.iter().map(|column| column.name.value.clone()).collect()),
                    None => Some(vec![own]),
                }
            }
            factor => self.relation(factor)?.columns,
        }
    }

    fn of_query(&self, query: &Query) -> Columns {
        let mut body = query.body.as_ref();
        loop {
            match body {
                SetExpr::Select(select) => {
                    let items = select.projection.iter().map(|item| self.of_item(item, select));
                    return items.collect::<Option<Vec<_>>>().map(|names| names.concat());
                }
                SetExpr::SetOperation { left, .. } => body = left,
                SetExpr::Query(inner) => body = inner.body.as_ref(),
                SetExpr::Values(values) => {
                    return Some((0..values.rows.first()?.len()).map(|index| format!("column{}", index + 1)).collect());
                }
                _ => return None,
            }
        }
    }

    /// The columns of an item of a list; of a `*` all.
    fn of_item(&self, item: &SelectItem, select: &Select) -> Columns {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(vec![name.value.clone()]),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => Some(vec![parts.last()?.value.clone()]),
            SelectItem::UnnamedExpr(other) => Some(vec![other.to_string().replace('"', "")]),
            SelectItem::ExprWithAlias { alias, .. } => Some(vec![alias.value.clone()]),
            SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                let mut names = Vec::new();
                for tables in &select.from {
                    let joins = tables.joins.iter().map(|join| (&join.relation, Some(&join.join_operator)));
                    for (factor, join) in std::iter::once((&tables.relation, None)).chain(joins) {
                        // One that merges columns, or has those of one side.
                        if let Some(join) = join
                            && !matches!(constraint!(join), Some((JoinConstraint::On(_) | JoinConstraint::None, _)))
                        {
                            return None;
                        }
                        names.extend(self.columns_of(factor)?);
                    }
                }
                Some(names)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(of), options) => {
                let of = last(of)?;
                let joined = |tables: &TableWithJoins| {
                    let factors =
                        std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation));
                    factors.filter_map(|factor| self.relation(factor)).find(|relation| relation.name.value == of.value)
                };
                let names = select.from.iter().find_map(joined)?.columns?;
                let gone: Vec<&Ident> = match &options.opt_exclude {
                    Some(ExcludeSelectItem::Multiple(names)) => names.iter().filter_map(last).collect(),
                    Some(ExcludeSelectItem::Single(name)) => last(name).into_iter().collect(),
                    None => Vec::new(),
                };
                Some(names.into_iter().filter(|name| !gone.iter().any(|gone| gone.value == *name)).collect())
            }
            _ => None,
        }
    }
}

impl Relation {
    /// All its columns, of those that are merged what they are, where it is their place.
    fn all(&self, at: usize, merged: &[MergedColumn]) -> SelectItem {
        let idents = |names: &[String]| names.iter().map(|name| ObjectName::from(vec![quoted(name)])).collect();
        let here = merged.iter().filter(|one| one.home == at && one.value != column(&self.name, &one.name));
        let items: Vec<Box<ReplaceSelectElement>> = here
            .map(|one| {
                let (expr, column_name) = (one.value.clone(), quoted(&one.name));
                Box::new(ReplaceSelectElement { expr, column_name, as_keyword: true })
            })
            .collect();
        let options = WildcardAdditionalOptions {
            opt_exclude: (!self.gone.is_empty()).then(|| ExcludeSelectItem::Multiple(idents(&self.gone))),
            opt_replace: (!items.is_empty()).then_some(ReplaceSelectItem { items }),
            ..WildcardAdditionalOptions::default()
        };
        let name = ObjectName::from(vec![self.name.clone()]);
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
    }
}

/// The only table that has a column: the one that there is, or the one that is known to.
fn owner(relations: &[Relation], name: &str) -> Option<usize> {
    if relations.len() == 1 {
        return Some(0);
    }
    let has =
        |relation: &Relation| relation.columns.as_ref().map(|columns| columns.iter().any(|column| column == name));
    let known = relations.iter().map(has).collect::<Option<Vec<bool>>>()?;
    let mut owners = known.iter().enumerate().filter(|(_, has)| **has).map(|(at, _)| at);
    owners.next().filter(|_| owners.next().is_none())
}

fn aliased(alias: &TableAlias, columns: Columns) -> Columns {
    let mut columns = columns?;
    for (column, given) in columns.iter_mut().zip(&alias.columns) {
        column.clone_from(&given.name.value);
    }
    Some(columns)
}

/// Names that the items of a list have.
fn names_given(select: &Select) -> HashSet<String> {
    let given = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    });
    given.collect()
}

/// Whether an item of the list takes the name for something else.
fn aliases_other(select: &Select, one: &MergedColumn) -> bool {
    let other = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { expr, alias } if alias.value == one.name && *expr != one.value);
    select.projection.iter().any(other)
}

/// Names without a table of what is merged by what it is; those of subqueries are their own.
fn replace(part: &mut impl VisitMut, merged: &[MergedColumn]) {
    replace_names(part, &|name| merged.iter().find(|one| one.name == name).map(|one| one.value.clone()));
}

pub fn last(name: &ObjectName) -> Option<&Ident> {
    name.0.last()?.as_ident()
}

pub fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn column(table: &Ident, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![table.clone(), quoted(name)])
}

pub fn parsed(text: &str) -> Option<Expr> {
    syntax::expression(text).ok()
}
