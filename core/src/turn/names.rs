//! What the model calls a tool. Providers take letters, digits, `_` and `-`, at most
//! 64 of them; tools of MCP servers may be called anything, on several servers alike.

use std::collections::{BTreeMap, BTreeSet};

use super::ServerTool;

use crate::limits::TOOL_NAME;

/// Characters of the hash and the `_` before it.
const HASHED: usize = 13;

/// `name` with every character a provider refuses replaced. Models make up names,
/// and one illegal name in the history would fail every later request.
pub(super) fn legal_name(name: &str) -> String {
    if name.is_empty() {
        return "unnamed".to_owned();
    }
    name.chars().take(TOOL_NAME).map(|c| if is_legal(c) { c } else { '_' }).collect()
}

pub(super) fn is_legal_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= TOOL_NAME && name.chars().all(is_legal)
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// A name for each tool: `server__tool` where that is legal and nobody else's, else
/// cut and with a hash of both names behind it. The names do not depend on the order
/// of the tools; `taken` are the page's.
pub(super) fn model_names(tools: &[ServerTool], taken: &BTreeSet<&str>) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(plain_name).collect();
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    for name in &plain {
        *count.entry(name).or_default() += 1;
    }
    let good = |name: &&String| {
        is_legal_name(name) && !taken.contains(name.as_str()) && count.get(name.as_str()) == Some(&1)
    };
    let mut used: BTreeSet<String> = taken.iter().map(|&name| name.to_owned()).collect();
    used.extend(plain.iter().filter(good).cloned());
    let mut hashed: Vec<_> = tools.iter().zip(&plain).filter(|(_, name)| !good(name)).collect();
    // Where two hashes fall together, the order must not decide who is first.
    hashed.sort_by_key(|(tool, _)| (&tool.server, &tool.name));
    let mut names = BTreeMap::new();
    for (tool, plain) in hashed {
        let mut salt = 0;
        let mut name = hashed_name(plain, tool, salt);
        while !used.insert(name.clone()) {
            salt += 1;
            name = hashed_name(plain, tool, salt);
        }
        names.insert((&tool.server, &tool.name), name);
    }
    let name_of = |(tool, plain): (&ServerTool, &String)| {
        names.get(&(&tool.server, &tool.name)).unwrap_or(plain).clone()
    };
    tools.iter().zip(&plain).map(name_of).collect()
}

fn plain_name(tool: &ServerTool) -> String {
    match &tool.server {
        Some(server) => format!("{server}__{}", tool.name),
        None => tool.name.clone(),
    }
}

fn hashed_name(plain: &str, tool: &ServerTool, salt: u64) -> String {
    let mut name: String = legal_name(plain).chars().take(TOOL_NAME - HASHED).collect();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ salt;
    let server = tool.server.as_deref().unwrap_or("");
    // FNV-1a; no name has a NUL between, so two pairs never read alike.
    for byte in server.bytes().chain([0]).chain(tool.name.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    name.push_str(&format!("_{:012x}", hash >> 16));
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolSource;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn tool(server: &str, name: &str) -> ServerTool {
        ServerTool {
            source: ToolSource::Mcp,
            server: (!server.is_empty()).then(|| server.to_owned()),
            name: name.to_owned(),
            description: String::new(),
            title: None,
            parameters: None,
            read_only: false,
        }
    }

    #[test]
    fn made_up_names_become_legal() {
        assert_eq!(legal_name("diary.show"), "diary_show");
        assert_eq!(legal_name("查询"), "__");
        assert_eq!(legal_name(""), "unnamed");
        assert_eq!(legal_name(&"é".repeat(100)).len(), 64);
    }

    #[test]
    fn names_are_legal_and_apart_whatever_the_order() {
        let long = "get_the_very_long_report_about_every_single_thing_in_the_account_v";
        let mut tools: Vec<_> = ["diary.show", "diary_show", "profile/rename", "Make New Share", "查询订单"]
            .iter()
            .map(|name| tool("workspace-tools-for-the-whole-company", name))
            .collect();
        tools.extend([tool("w", &format!("{long}1")), tool("w", &format!("{long}2"))]);
        tools.extend([tool("a__b", "c"), tool("a", "b__c"), tool("a", "b.c"), tool("a", "")]);
        tools.extend([tool("orders", "run"), tool("audit", "run"), tool("", "run"), tool("", "search")]);
        let taken = BTreeSet::from(["run", "a__b_c_000000000000"]);
        let names = model_names(&tools, &taken);
        let distinct: BTreeSet<_> = names.iter().map(String::as_str).chain(taken.clone()).collect();
        assert_eq!(distinct.len(), tools.len() + taken.len(), "{names:?}");
        assert!(names.iter().all(|name| is_legal_name(name)), "{names:?}");
        assert!(["orders__run", "audit__run", "search"].iter().all(|n| names.iter().any(|m| m == n)));
        assert!(names[1].ends_with("__diary_show"), "a legal name stays: {names:?}");
        tools.reverse();
        let mut turned = model_names(&tools, &taken);
        turned.reverse();
        assert_eq!(names, turned);
    }

    #[test]
    fn hash_that_is_taken_too_leads_to_the_next() {
        let tools = [tool("s", "a.b")];
        let first = model_names(&tools, &BTreeSet::new());
        let taken: BTreeSet<_> = first.iter().map(String::as_str).collect();
        let second = model_names(&tools, &taken);
        assert_ne!(first, second);
        assert!(is_legal_name(&second[0]));
    }
}
