//! Jupyter messages on their way in and out: framing, signature, JSON.
//!
//! A request keeps its header, metadata and content as JSON, because front ends send more or less than the protocol
//! says. Typed content is taken out where it is used. A message of an unknown kind can still be answered. Framing and
//! signatures of incoming messages are `jupyter-zmq-client`'s.

use bytes::Bytes;
use jupyter_zmq_client::RawMessage;
use ring::hmac;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zeromq::ZmqMessage;

/// The version of the protocol that the kernel speaks.
pub const PROTOCOL_VERSION: &str = "5.5";

/// The socket that a request came in by, and that its reply leaves by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Shell,
    Control,
}

/// A message whose signature was right and whose header names a type and an id.
#[derive(Clone, Debug)]
pub struct Request {
    pub channel: Channel,
    /// The receivers of the answer.
    pub identities: Vec<Bytes>,
    /// As it came: it becomes the parent header of everything that the request causes.
    pub header: Value,
    /// The header of what it answers; JSON null where it answers nothing.
    pub parent: Value,
    pub msg_type: String,
    pub metadata: Value,
    pub content: Value,
    /// Frames after the content, as they came.
    pub buffers: Vec<Bytes>,
}

/// Why bytes are no message.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("its {0} is not JSON")]
    NotJson(&'static str),
    #[error("its {0} is not a JSON object")]
    NotObject(&'static str),
    #[error("its header has no `{0}`")]
    NoField(&'static str),
}

impl Request {
    pub fn parse(mut raw: RawMessage, channel: Channel) -> Result<Request, MessageError> {
        let object = |index: usize, what: &'static str| -> Result<Value, MessageError> {
            let value: Value = serde_json::from_slice(&raw.jparts[index]).map_err(|_| MessageError::NotJson(what))?;
            if value.is_object() { Ok(value) } else { Err(MessageError::NotObject(what)) }
        };
        let header = object(0, "header")?;
        let content = object(3, "content")?;
        let msg_type = header["msg_type"].as_str().ok_or(MessageError::NoField("msg_type"))?.to_string();
        if !header["msg_id"].is_string() {
            return Err(MessageError::NoField("msg_id"));
        }
        // Nothing that must be there is in it.
        let metadata = serde_json::from_slice(&raw.jparts[2]).unwrap_or(Value::Null);
        let parent = serde_json::from_slice(&raw.jparts[1]).unwrap_or(Value::Null);
        let buffers = raw.jparts.split_off(4);
        Ok(Request { channel, identities: raw.zmq_identities, header, parent, msg_type, metadata, content, buffers })
    }

    /// The content as a type of the protocol; the error says what is wrong with it.
    pub fn content<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_value(self.content.clone()).map_err(|e| e.to_string())
    }

    /// `execute_request` is answered by `execute_reply`.
    pub fn reply_type(&self) -> String {
        match self.msg_type.strip_suffix("_request") {
            Some(stem) => format!("{stem}_reply"),
            None => format!("{}_reply", self.msg_type),
        }
    }
}

/// For a message that is sent.
pub fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Builds and signs what the kernel sends.
pub struct Signer {
    key: Option<hmac::Key>,
    session: String,
    username: String,
}

impl Signer {
    /// An empty key: messages are not signed.
    pub fn new(key: Option<hmac::Key>, session: String) -> Self {
        let username = std::env::var("USER").ok().filter(|u| !u.is_empty()).unwrap_or_else(|| "kernel".to_string());
        Signer { key, session, username }
    }

    /// The frames of one message. `identities` is the way to the receiver, or the topic on iopub. JSON null stands for
    /// "no parent".
    pub fn frames(
        &self,
        identities: &[Bytes],
        parent: &Value,
        msg_type: &str,
        metadata: &Value,
        content: &Value,
    ) -> ZmqMessage {
        self.frames_as(&new_id(), identities, parent, msg_type, metadata, content)
    }

    /// As [`Signer::frames`], for a message whose answer names it.
    pub fn frames_as(
        &self,
        id: &str,
        identities: &[Bytes],
        parent: &Value,
        msg_type: &str,
        metadata: &Value,
        content: &Value,
    ) -> ZmqMessage {
        let header = json!({
            "msg_id": id,
            "session": self.session,
            "username": self.username,
            "date": chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
            "msg_type": msg_type,
            "version": PROTOCOL_VERSION,
        });
        let empty = json!({});
        let parent = if parent.is_object() { parent } else { &empty };
        let parts = [header.to_string(), parent.to_string(), metadata.to_string(), content.to_string()];
        let signature = match &self.key {
            None => String::new(),
            Some(key) => {
                let mut context = hmac::Context::with_key(key);
                for part in &parts {
                    context.update(part.as_bytes());
                }
                context.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
            }
        };
        let mut message = ZmqMessage::from(Bytes::from(parts[0].clone()));
        for part in &parts[1..] {
            message.push_back(Bytes::from(part.clone()));
        }
        message.push_front(Bytes::from(signature));
        message.push_front(Bytes::from_static(b"<IDS|MSG>"));
        for identity in identities.iter().rev() {
            message.push_front(identity.clone());
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature that Python's `hmac.new(b"secret", b"".join(parts), "sha256")` gives is what `jupyter-zmq-client`
    /// checks, so its own reader is the judge here.
    #[test]
    fn what_is_sent_is_read_back_by_the_protocol_crate_and_a_changed_content_is_not() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
        let signer = Signer::new(Some(key.clone()), "s".into());
        let frames =
            signer.frames(&[Bytes::from_static(b"peer")], &Value::Null, "x_request", &json!({}), &json!({"a": "ä"}));
        let raw = RawMessage::from_multipart(frames.clone(), &Some(key.clone())).unwrap();
        let request = Request::parse(raw, Channel::Shell).unwrap();
        assert_eq!(request.identities, [Bytes::from_static(b"peer")]);
        assert_eq!(request.content, json!({"a": "ä"}));
        assert_eq!(request.reply_type(), "x_reply");

        let mut changed = frames.into_vec();
        *changed.last_mut().unwrap() = Bytes::from_static(b"{\"a\": 1}");
        let changed = ZmqMessage::try_from(changed).unwrap();
        assert!(RawMessage::from_multipart(changed, &Some(key)).is_err());
    }

    #[test]
    fn headers_without_a_type_or_an_id_are_refused() {
        for header in ["{}", "[]", "x", r#"{"msg_type": 1, "msg_id": "a"}"#, r#"{"msg_type": "a"}"#] {
            let parts = [header, "{}", "{}", "{}"].map(|part| Bytes::from(part.to_string())).to_vec();
            let raw = RawMessage { zmq_identities: Vec::new(), jparts: parts };
            assert!(Request::parse(raw, Channel::Shell).is_err(), "{header}");
        }
    }
}
