//! Making nodes.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element, HtmlElement};

const SVG: &str = "http://www.w3.org/2000/svg";

/// The document.
pub(super) fn document() -> Result<Document, JsValue> {
    web_sys::window()
        .and_then(|window| window.document())
        .ok_or_else(|| JsValue::from_str("mindset-agent: there is no document to draw in"))
}

/// An element with attributes, given as `name=value` and separated by `|`; the
/// first entry is the tag, `part` and `class` are the usual ones.
pub(super) fn make(recipe: &str) -> Result<HtmlElement, JsValue> {
    let mut entries = recipe.split('|');
    let element = document()?.create_element(entries.next().unwrap_or("div"))?;
    for entry in entries {
        let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
        element.set_attribute(name, value)?;
    }
    Ok(element.unchecked_into())
}

/// Makes an element inside another.
pub(super) fn add(parent: &Element, recipe: &str) -> Result<HtmlElement, JsValue> {
    let element = make(recipe)?;
    parent.append_child(&element)?;
    Ok(element)
}

/// A picture of one path in a 24 by 24 box, which screen readers skip.
pub(super) fn icon(parent: &Element, class: &str, path: &str) -> Result<(), JsValue> {
    let document = document()?;
    let svg = document.create_element_ns(Some(SVG), "svg")?;
    svg.set_attribute("viewBox", "0 0 24 24")?;
    svg.set_attribute("class", class)?;
    svg.set_attribute("aria-hidden", "true")?;
    let shape = document.create_element_ns(Some(SVG), "path")?;
    shape.set_attribute("d", path)?;
    svg.append_child(&shape)?;
    parent.append_child(&svg)?;
    Ok(())
}

/// Sets an attribute whose name is known to be right.
pub(super) fn set(element: &Element, name: &str, value: &str) {
    let _ = element.set_attribute(name, value);
}
