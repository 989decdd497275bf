//! A second line of defense: a sanitizer that is independent of the renderer and stops what it lets through by mistake.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use ammonia::{Builder, UrlRelative};

use crate::html::SafeHtml;

const ALLOWED_TAGS: &[&str] = &[
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
    "code",
    "em",
    "strong",
    "del",
    "a",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "hr",
    "br",
    "span",
    "div",
    "input",
];

const ALLOWED_CLASSES: &[(&str, &[&str])] = &[
    ("pre", &["code"]),
    (
        "span",
        &[
            "hl-keyword",
            "hl-string",
            "hl-comment",
            "hl-number",
            "hl-function",
            "hl-type",
            "hl-constant",
            "hl-operator",
            "hl-variable",
            "hl-tag",
            "hl-attribute",
            "hl-inserted",
            "hl-deleted",
            "ctl",
            "cut",
            "note",
            "lang",
        ],
    ),
];

static SANITIZER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let set = |list: &[&'static str]| list.iter().copied().collect::<HashSet<_>>();
    let mut wall = Builder::empty();
    wall.tags(set(ALLOWED_TAGS))
        .allowed_classes(ALLOWED_CLASSES.iter().map(|(tag, classes)| (*tag, set(classes))).collect())
        .tag_attributes(HashMap::from([
            ("a", set(&["href"])),
            ("ol", set(&["start"])),
            ("input", set(&["checked", "disabled"])),
        ]))
        .tag_attribute_values(HashMap::from([("input", HashMap::from([("type", set(&["checkbox"]))]))]))
        .set_tag_attribute_values(HashMap::from([
            ("a", HashMap::from([("target", "_blank")])),
            ("input", HashMap::from([("type", "checkbox"), ("disabled", "")])),
        ]))
        .url_schemes(set(&["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"));
    wall
});

pub(super) fn pass(html: &SafeHtml) -> SafeHtml {
    SafeHtml(SANITIZER.clean(html.as_str()).to_string())
}
