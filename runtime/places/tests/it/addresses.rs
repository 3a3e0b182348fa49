//! Addresses and answers, as messages show them.

use onrush_places::{Address, code_of, name_of};

#[test]
fn messages_have_no_secrets() {
    let address = Address::parse("https://me:secret@host.org:8080/a/b.csv?token=secret#x").unwrap();
    assert_eq!(address.shown(), "https://host.org:8080/a/b.csv");
    let bad = Address::parse("https://me:secret@/a?token=secret").unwrap_err();
    assert!(!format!("{bad:?}").contains("secret"), "{bad:?}");
    let body = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
    assert_eq!(code_of(body).as_deref(), Some("SignatureDoesNotMatch"));
    assert_eq!(code_of("<Code>a key = b</Code>"), None);
}

#[test]
fn names_are_names_of_files() {
    assert_eq!(name_of("/a/b c.csv"), "b c.csv");
    assert_eq!(name_of("/a/..%2f/"), "_2f");
    assert_eq!(name_of("/"), "file");
    assert_eq!(name_of(&"x".repeat(500)).len(), 151);
}
