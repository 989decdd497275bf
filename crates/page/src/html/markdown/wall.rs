//! The second wall: a sanitiser that knows nothing of how the HTML was made. What our own rendering lets through by
//! mistake ends here.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use ammonia::{Builder, UrlRelative};

use crate::html::Html;

const TAGS: &[&str] = &[
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

const CLASSES: &[(&str, &[&str])] = &[
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

static WALL: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let set = |list: &[&'static str]| list.iter().copied().collect::<HashSet<_>>();
    let mut wall = Builder::empty();
    wall.tags(set(TAGS))
        .allowed_classes(CLASSES.iter().map(|(tag, classes)| (*tag, set(classes))).collect())
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

/// What passes the wall.
pub(super) fn pass(html: &Html) -> Html {
    Html(WALL.clean(html.as_str()).to_string())
}
