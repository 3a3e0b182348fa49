//! XML as GraphML and GEXF need it: elements one after another, with depth and lines. Reads no external entity, and
//! expands none but those of XML itself.

use std::borrow::Cow;
use std::fmt::Write;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::error::{ErrorKind, Fault, shown};
use crate::text::line_of;

/// Elements inside of each other. Graphs need some ten.
const MOST_NESTED_ELEMENTS: usize = 100;

pub(crate) struct Xml<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    depth: usize,
}

/// The start of an element.
pub(crate) struct Element<'a> {
    start: BytesStart<'a>,
    text: &'a str,
    /// The byte after the begin.
    at: usize,
}

impl<'a> Xml<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Xml { text, reader, depth: 0 }
    }

    /// The line after the last event.
    pub fn line(&self) -> usize {
        line_of(self.text.as_bytes(), self.reader.buffer_position() as usize)
    }

    fn event(&mut self) -> Result<Event<'a>, Fault> {
        let event = self.reader.read_event().map_err(|error| {
            let line = line_of(self.text.as_bytes(), self.reader.error_position() as usize);
            Fault::file(line, format!("found XML that is not well formed: {error}"))
                .help("the file may be cut off, or was not written by a writer of XML")
        })?;
        match &event {
            Event::Start(_) => {
                self.depth += 1;
                if self.depth > MOST_NESTED_ELEMENTS {
                    let message =
                        format!("found more than {MOST_NESTED_ELEMENTS} elements inside of each other, the limit");
                    return Err(Fault::limit(message).at_line(self.line()));
                }
            }
            Event::End(_) => self.depth -= 1,
            Event::Decl(decl) => {
                if let Some(Ok(encoding)) = decl.encoding()
                    && !["utf-8", "utf8", "us-ascii"].contains(&encoding.to_ascii_lowercase().as_str())
                {
                    let message = format!("found the encoding `{encoding}`, expected UTF-8");
                    return Err(Fault::file(1, message).help("convert the file, for example with `iconv -t utf-8`"));
                }
            }
            Event::Eof if self.depth > 0 => {
                let message = format!("found the end of the file with {} elements open", self.depth);
                return Err(Fault::file(self.line(), message).help("the file may be cut off: fetch it again"));
            }
            _ => {}
        }
        Ok(event)
    }

    /// The next child of the open element; `None` at its end, which is then closed.
    pub fn child(&mut self) -> Result<Option<Element<'a>>, Fault> {
        loop {
            match self.event()? {
                Event::Start(start) => {
                    let at = self.reader.buffer_position() as usize;
                    return Ok(Some(Element { start, text: self.text, at }));
                }
                Event::End(_) | Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }

    /// The root, which has to be of this name.
    pub fn root(&mut self, name: &str) -> Result<Element<'a>, Fault> {
        match self.child()? {
            Some(root) if root.name() == name => Ok(root),
            Some(root) => {
                let message = format!("found the element {}, expected `{name}`", shown(root.name()));
                Err(root.fault(message).help("name the format if the extension is wrong"))
            }
            None => Err(Fault::new(ErrorKind::File, format!("found no element, expected `{name}`"))),
        }
    }

    /// Closes the open element with all in it.
    pub fn skip(&mut self) -> Result<(), Fault> {
        let depth = self.depth;
        while self.depth >= depth {
            self.event()?;
        }
        Ok(())
    }

    /// The text of the open element, which is then closed. Elements in it are left out.
    pub fn content(&mut self) -> Result<String, Fault> {
        let depth = self.depth;
        let mut content = String::new();
        loop {
            let event = self.event()?;
            let is_inside = self.depth == depth;
            match event {
                _ if self.depth < depth => return Ok(content),
                Event::Text(text) if is_inside => content.push_str(&text.xml10_content()),
                Event::CData(text) if is_inside => content.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) if is_inside => {
                    let c = match &*reference {
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "amp" => Some('&'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => reference.resolve_char_ref().ok().flatten(),
                    };
                    content.push(c.ok_or_else(|| self.unknown_entity(&reference))?);
                }
                _ => {}
            }
        }
    }

    fn unknown_entity(&self, name: &str) -> Fault {
        Fault::file(self.line(), format!("found the entity {}, which is not one of XML itself", shown(name)))
            .help("entities of a DOCTYPE are not read: replace them by their characters")
    }
}

impl Element<'_> {
    /// The name without a prefix.
    pub fn name(&self) -> &str {
        self.start.local_name().into_inner()
    }

    pub fn attribute(&self, name: &str) -> Result<Option<Cow<'_, str>>, Fault> {
        let failed = |error: &dyn std::fmt::Display| {
            self.fault(format!("the attributes of `{}` cannot be read: {error}", self.name()))
                .help("attributes have quotes, and no entities but those of XML itself")
        };
        match self.start.try_get_attribute(name).map_err(|error| failed(&error))? {
            None => Ok(None),
            Some(attribute) => match attribute.normalized_value(XmlVersion::default()) {
                Ok(Cow::Owned(value)) => Ok(Some(Cow::Owned(value))),
                Ok(Cow::Borrowed(value)) => Ok(Some(Cow::Owned(value.to_string()))),
                Err(error) => Err(failed(&error)),
            },
        }
    }

    /// An attribute that has to be there.
    pub fn required(&self, name: &str) -> Result<Cow<'_, str>, Fault> {
        self.attribute(name)?.ok_or_else(|| {
            self.fault(format!("found the element `{}` without `{name}`, expected one with it", self.name()))
        })
    }

    pub fn line(&self) -> usize {
        line_of(self.text.as_bytes(), self.at)
    }

    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::file(self.line(), message)
    }
}

/// Appends text in which the characters of markup are escaped, and line ends too: a reader would make spaces of them.
pub(crate) fn escape(out: &mut String, text: &str) -> Result<(), Fault> {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {
                let message =
                    format!("{} has the character U+{:04X}, which XML cannot hold", shown(text), u32::from(c));
                return Err(Fault::new(ErrorKind::Format, message).help("remove it, or write node-link JSON"));
            }
            c => out.push(c),
        }
    }
    Ok(())
}
