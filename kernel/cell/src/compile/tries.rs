//! The tries of one cell: what rustc's errors decide about the code that is generated next.
//!
//! First come choices about the whole crate, then single variables. If rustc does not say which variable borrows, it is
//! asked.

use std::collections::BTreeMap;
use std::path::Path;

use onrush_wire::Diagnostic;

use super::borrowers;
use super::{
    Choices, Compiler, Places, about_a_closure, about_the_end, is_about_a_return, is_about_borrowing, is_unconverted,
    missing_name, omit_all, source_of, still_borrowed, unkept,
};
use crate::generate::{GeneratedCrate, RecompiledFunction, SHOWN, VariableFate, generate};
use crate::hints;
use crate::notebook::Notebook;
use crate::parse::{Cell, Part, PartKind};
use crate::recompile_dependents;
use crate::rustc::{self, Message};

pub struct Tries<'a> {
    cell: &'a Cell,
    crate_name: &'a str,
    file: &'a str,
    notebook: &'a Notebook,
    pub callers: Vec<RecompiledFunction>,
    pub choices: Choices,
    /// The code of the next try.
    pub generated: GeneratedCrate,
    /// The callers did not compile with the cell.
    pub alone: bool,
    /// rustc's errors before it was asked for borrowers.
    unexplained: Option<Vec<Diagnostic>>,
    /// Whether the last resort was taken.
    last_resort: bool,
}

/// The errors of one try about variables.
struct Verdict<'m> {
    /// Whether other variables are left out now.
    changed: bool,
    /// Whether a choice was made that other errors may be due to.
    unsure: bool,
    /// Errors that decide nothing.
    left: Vec<&'m Message>,
    /// Variables of earlier cells that could not be put back.
    lost: Vec<(String, &'m Message)>,
}

impl Verdict<'_> {
    fn is_stuck(&self) -> bool {
        !self.changed || !self.unsure && self.left.iter().any(|m| !is_about_borrowing(m))
    }
}

impl<'a> Tries<'a> {
    pub fn new(
        cell: &'a Cell,
        crate_name: &'a str,
        file: &'a str,
        notebook: &'a Notebook,
        callers: Vec<RecompiledFunction>,
    ) -> Self {
        let choices = Choices { missing: notebook.missing.clone(), ..Choices::default() };
        let generated = generate(&choices.request(cell, crate_name, file, notebook, &callers));
        Tries {
            cell,
            crate_name,
            file,
            notebook,
            callers,
            choices,
            generated,
            alone: false,
            unexplained: None,
            last_resort: false,
        }
    }

    /// Generates the code that follows from these choices.
    pub fn make(&self, choices: &Choices) -> GeneratedCrate {
        generate(&choices.request(self.cell, self.crate_name, self.file, self.notebook, &self.callers))
    }

    /// Decides from rustc's messages about a try what the next one is. The error is for the user: nothing is left to
    /// try.
    pub fn decide(&mut self, compiler: &Compiler, messages: &[Message], library: &Path) -> Result<(), Vec<Diagnostic>> {
        let errors = rustc::first_messages(messages);
        if !self.change_crate(&errors) {
            let verdict = self.leave_out(errors);
            if verdict.is_stuck() {
                self.find_borrowers(compiler, &verdict, messages, library)?;
            }
        }
        self.generated = self.make(&self.choices);
        Ok(())
    }

    /// Changes what is about the whole crate. `false` if nothing changes.
    fn change_crate(&mut self, errors: &[&Message]) -> bool {
        let is_of_callers =
            |m: &&Message| m.primary().is_some_and(|span| span.file_name.starts_with(recompile_dependents::FILE));
        if errors.iter().any(is_of_callers) {
            self.callers.clear();
            self.alone = true;
            return true;
        }
        let has_globs = !self.generated.files[0].1.contains("use ::onrush::prelude::*;");
        let known = self.choices.missing.len();
        self.choices.missing.extend(errors.iter().filter(|_| has_globs).filter_map(|m| missing_name(m)));
        let places = self.places();
        let is_bare = !self.choices.returns_bare && is_about_a_return(errors, &self.generated, &places);
        self.choices.returns_bare |= is_bare;
        // The boxes may be what is wrong.
        self.choices.plain_arguments |= self.generated.has_boxes;
        self.generated.has_boxes || is_bare || self.choices.missing.len() > known
    }

    /// Leaves out the variables that cannot be put back.
    fn leave_out<'m>(&mut self, errors: Vec<&'m Message>) -> Verdict<'m> {
        let places = Places { file: self.file, map: &self.generated.map, notebook: self.notebook };
        let (cell, generated) = (self.cell, &self.generated);
        let Choices { omitted, any_error, .. } = &mut self.choices;
        let (mut changed, mut unsure) = (false, false);
        let mut left = Vec::new();
        let mut lost = Vec::new();
        for error in errors {
            if matches!(error.code(), "E0282" | "E0283" | "E0284")
                && cell.parts.iter().any(|part| matches!(part.kind, PartKind::Show))
                && omitted.insert(SHOWN.to_string(), VariableFate::Plain).is_none()
            {
                changed = true;
                unsure = true;
            } else if let Some((name, ends)) = about_a_closure(error, generated, &places, omitted) {
                changed |= omitted.insert(name, ends) != Some(ends);
            } else if let Some((name, ends)) = about_the_end(error, generated, &places) {
                if ends == VariableFate::Borrows && generated.takes.contains(&name) {
                    lost.push((name, error));
                } else if matches!(ends, VariableFate::Moved | VariableFate::MovedInPart | VariableFate::Unset)
                    && omitted.get(&name) != Some(&ends)
                    || omitted.get(&name).is_none_or(|ends| !ends.is_end())
                {
                    changed |= omitted.insert(name, ends) != Some(ends);
                }
            } else if let Some(name) = source_of(error, generated, &places) {
                lost.push((name, error));
            } else if !*any_error && is_unconverted(error) {
                *any_error = true;
                changed = true;
            } else {
                left.push(error);
            }
        }
        if !changed && !lost.is_empty() {
            // A borrower may be a guard that holds on until it is dropped.
            for ends in omitted.values_mut().filter(|ends| **ends == VariableFate::Borrows) {
                *ends = VariableFate::Holds;
                changed = true;
            }
            // A name that begins with `_` is not kept, but what it holds lasts to the end of the function.
            if !changed {
                for name in unkept(cell) {
                    changed |= omitted.insert(name, VariableFate::Holds).is_none();
                }
            }
        }
        Verdict { changed, unsure, left, lost }
    }

    /// Asks rustc which variables borrow, and leaves them out; all that the cell makes if rustc does not say.
    fn find_borrowers(
        &mut self,
        compiler: &Compiler,
        verdict: &Verdict<'_>,
        messages: &[Message],
        library: &Path,
    ) -> Result<(), Vec<Diagnostic>> {
        let is_borrow = verdict.left.iter().all(|m| is_about_borrowing(m)) && !self.generated.puts.is_empty();
        let diagnostics = self.diagnostics(verdict, messages);
        // A variable that would replace another one and not be kept itself leaves neither.
        let takes = &self.generated.takes;
        let replaces = |part: &Part| {
            matches!(&part.kind, PartKind::Let { names, .. }
            if names.iter().any(|binding| takes.contains(&binding.name)))
        };
        let replaces_a_variable = self.cell.parts.iter().any(replaces);
        let is_lost = self.last_resort || self.unexplained.is_some() && replaces_a_variable;
        if !is_borrow || is_lost {
            return Err(self.unexplained.take().unwrap_or(diagnostics));
        }
        if self.unexplained.is_some() {
            self.last_resort = true;
            omit_all(self.cell, &self.generated, &mut self.choices.omitted);
            return Ok(());
        }
        // In one function this may be no error. A value that is put back must not borrow, and a closure that gives
        // references away hides from rustc's messages which variable does.
        self.choices.omitted.retain(|_, ends| !matches!(ends, VariableFate::Borrows | VariableFate::Holds));
        let asked = self.choices.request(self.cell, self.crate_name, self.file, self.notebook, &self.callers);
        let found = borrowers::find(compiler, asked, library);
        if found.is_rustcs_own && found.names.is_empty() {
            return Err(diagnostics);
        }
        self.last_resort = found.is_rustcs_own;
        let names = found.names.into_iter().filter(|name| !takes.contains(name));
        let borrowers: BTreeMap<String, VariableFate> = names.map(|name| (name, VariableFate::Borrows)).collect();
        if borrowers.is_empty() {
            if replaces_a_variable {
                return Err(diagnostics);
            }
            self.last_resort = true;
            omit_all(self.cell, &self.generated, &mut self.choices.omitted);
        }
        self.choices.omitted.extend(borrowers);
        self.unexplained = Some(diagnostics).filter(|_| !found.is_rustcs_own);
        Ok(())
    }

    /// Says what the errors of a try are for the user.
    fn diagnostics(&self, verdict: &Verdict<'_>, messages: &[Message]) -> Vec<Diagnostic> {
        let (places, code) = (self.places(), &self.cell.code);
        match verdict.lost.first() {
            Some((name, error)) if !verdict.changed => vec![still_borrowed(self.cell, name, error, &places)],
            _ => {
                let mut diagnostics = places.diagnostics(&verdict.left, code);
                hints::advise(&mut diagnostics, code, self.notebook);
                if diagnostics.is_empty() {
                    diagnostics = places.diagnostics(&rustc::first_messages(messages), code);
                }
                diagnostics
            }
        }
    }

    fn places(&self) -> Places<'_> {
        Places { file: self.file, map: &self.generated.map, notebook: self.notebook }
    }
}
