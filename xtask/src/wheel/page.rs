//! The page of a package on the index: README.md without what leads nowhere there. The repository has no public
//! address, so the page has no relative links and no pictures.

/// A line that begins or ends a code block.
const FENCE: &str = "```";

/// README.md without pictures. The names of relative links stand as plain words.
pub fn of_readme(readme: &str) -> String {
    let mut page = String::new();
    for (place, piece) in readme.split(FENCE).enumerate() {
        if place > 0 {
            page.push_str(FENCE);
        }
        // Code blocks have the odd places.
        if place % 2 == 1 { page.push_str(piece) } else { push_prose(&mut page, piece) }
    }
    page
}

/// Appends Markdown that has no code blocks.
fn push_prose(page: &mut String, text: &str) {
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let (Some(start), Some(length)) = (rest[..middle].rfind('['), rest[middle..].find(')')) else { break };
        let (link, after) = rest.split_at(middle + length + 1);
        let before = &link[..start];
        if link[middle..].contains("://") {
            page.push_str(link);
        } else if let Some(before) = before.strip_suffix('!') {
            page.push_str(before);
            let end = page.trim_end().len();
            page.truncate(end);
            // A sentence that announces the picture.
            if page.ends_with(':') {
                page.pop();
                page.push('.');
            }
        } else {
            page.push_str(before);
            page.push_str(&link[start + 1..middle]);
        }
        rest = after;
    }
    page.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_become_words_and_pictures_go() {
        let readme = "See [plots](docs/plots.md), [Rust](https://rustup.rs)\nand [the `LICENSE`](LICENSE#mit).\n\n\
                      In colour:\n\n![A b, c](docs/a.png)\n\n```rust\nx[0](1);\n```\n\n![d](docs/d.png)\n\nEnd.\n";
        let page = "See plots, [Rust](https://rustup.rs)\nand the `LICENSE`.\n\n\
                    In colour.\n\n```rust\nx[0](1);\n```\n\nEnd.\n";
        assert_eq!(of_readme(readme), page);
    }

    #[test]
    fn the_page_has_no_link_into_the_repository() {
        let readme = include_str!("../../../README.md");
        let page = of_readme(readme);
        let targets = |text: &str| -> Vec<String> {
            let ends = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or_default().to_string());
            ends.collect()
        };
        assert!(targets(readme).iter().any(|target| target.starts_with("docs/pictures/")), "README.md has pictures");
        assert!(targets(&page).iter().all(|target| target.starts_with("https://")), "{:?}", targets(&page));
        assert_eq!(page.matches(FENCE).count(), readme.matches(FENCE).count());
        assert!(!page.contains("!["), "{page}");
    }
}
