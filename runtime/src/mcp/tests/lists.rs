//! Lists of tools: pages, schemas of every kind, choice.

use mindset_core::json::parse;
use mindset_core::turn::ServerTool;

use super::peer::Peer;
use super::*;

async fn listed(list: &'static str, more: &str) -> Vec<ServerTool> {
    let peer = Peer::start(legacy(move |seen| seen.is("tools/list").then(|| seen.result(list)))).await;
    let servers = servers(&peer.url(), more);
    let tools = servers.tools("app", &caller("one"), "s").await.unwrap().tools;
    servers.close().await;
    tools
}

fn names(tools: &[ServerTool]) -> Vec<&str> {
    tools.iter().map(|t| t.name.as_str()).collect()
}

#[tokio::test]
async fn all_pages_also_behind_an_empty_one() {
    let peer = Peer::start(legacy(|seen| {
        let cursor = seen.body.get("params").and_then(|p| p.str("cursor"));
        let page = match cursor {
            _ if !seen.is("tools/list") => return None,
            None => r#"{"tools":[{"name":"t1","inputSchema":{"type":"object"}}],"nextCursor":"AQ==/+ é"}"#,
            Some("AQ==/+ é") => r#"{"tools":[],"nextCursor":"p3"}"#,
            Some("p3") => r#"{"tools":[{"name":"t2","inputSchema":{"type":"object"}}]}"#,
            Some(_) => return Some(seen.error(r#"{"code":-32602,"message":"bad cursor"}"#)),
        };
        Some(seen.result(page))
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let tools = servers.tools("app", &caller("one"), "s").await.unwrap().tools;
    assert_eq!(names(&tools), ["t1", "t2"]);
    assert_eq!(peer.count("tools/list"), 3);
    servers.close().await;
}

#[tokio::test]
async fn pages_without_end_come_to_one() {
    let peer = Peer::start(legacy(|seen| {
        seen.is("tools/list").then(|| {
            let cursor = seen.body.get("params").and_then(|p| p.str("cursor")).unwrap_or("0");
            let next = cursor.parse::<u32>().unwrap() + 1;
            seen.result(&format!(
                r#"{{"tools":[{{"name":"t{cursor}","inputSchema":{{}}}}],"nextCursor":"{next}"}}"#
            ))
        })
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let offered = servers.tools("app", &caller("one"), "s").await.unwrap();
    assert_eq!((offered.tools.len(), offered.left_out, offered.unread), (64, 0, true));
    servers.close().await;
}

#[tokio::test]
async fn schemas_without_properties_and_worse() {
    let tools = listed(
        r#"{"tools":[
            {"name":"list_depots","inputSchema":{"type":"object"}},
            {"name":"ping","inputSchema":{}},
            {"name":"now","inputSchema":{"type":"object","properties":null}},
            {"name":"bare"},
            {"name":"null","inputSchema":null},
            {"name":"true","inputSchema":true},
            {"name":"false","inputSchema":false},
            {"name":"text","inputSchema":"object"},
            {"name":"list","inputSchema":{"type":"array"}},
            {"name":"exact","title":7,"description":["x"],"annotations":"y","icons":3,"outputSchema":1,"inputSchema":{"type":"object","properties":{"z":{"maximum":1.50},"a":{"const":99999999999999999999}}}},
            {"name":"nested","inputSchema":{"type":"object","properties":{"opt":{"type":"object"}}}},
            {"name":""}, {"title":"no name"}, "not a tool", {"name":"nested"}, {"name":"a\u0000b"}
        ]}"#,
        "",
    )
    .await;
    let expected = [
        ("list_depots", Some(r#"{"type":"object"}"#)),
        ("ping", Some("{}")),
        ("now", Some(r#"{"type":"object","properties":null}"#)),
        ("bare", None),
        ("null", None),
        ("true", Some("true")),
        (
            "exact",
            Some(
                r#"{"type":"object","properties":{"z":{"maximum":1.50},"a":{"const":99999999999999999999}}}"#,
            ),
        ),
        ("nested", Some(r#"{"type":"object","properties":{"opt":{"type":"object"}}}"#)),
    ];
    assert_eq!(names(&tools), expected.map(|(name, _)| name));
    for (tool, (name, schema)) in tools.iter().zip(expected) {
        assert_eq!(tool.parameters.as_ref().map(|p| p.text()).as_deref(), schema, "{name}");
        assert_eq!((tool.source, tool.server.as_deref()), (ToolSource::Mcp, Some("s")));
    }
}

#[tokio::test]
async fn a_deep_schema_and_one_that_refers_to_itself() {
    let deep = format!(r#"{{"type":"object","x":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
    let own = r##"{"type":"object","$defs":{"N":{"properties":{"c":{"$ref":"#/$defs/N"}}}},"properties":{"t":{"$ref":"#/$defs/N"},"far":{"$ref":"http://127.0.0.1:9/canary.json"}}}"##;
    let list = format!(
        r#"{{"tools":[{{"name":"deep","inputSchema":{deep}}},{{"name":"own","inputSchema":{own}}}]}}"#
    );
    let tools = listed(list.leak(), "").await;
    assert_eq!(names(&tools), ["deep", "own"]);
    assert_eq!(tools[0].parameters, Some(parse(&deep).unwrap()));
    assert_eq!(tools[1].parameters, Some(parse(own).unwrap()));
}

const ANNOTATED: &str = r#"{"tools":[
    {"name":"get_a","title":"Get A","annotations":{"title":"Other","readOnlyHint":true}},
    {"name":"get_b","annotations":{"title":"Get B","readOnlyHint":false},"description":"B"},
    {"name":"set_a","annotations":{"readOnlyHint":true}},
    {"name":"drop_all"}]}"#;

#[tokio::test]
async fn what_only_reads_and_what_is_offered() {
    let read_only = |tools: &[ServerTool]| {
        tools.iter().filter(|t| t.read_only).map(|t| t.name.clone()).collect::<Vec<_>>()
    };
    let plain = listed(ANNOTATED, "").await;
    assert!(read_only(&plain).is_empty());
    let titles: Vec<Option<&str>> = plain.iter().map(|t| t.title.as_deref()).collect();
    assert_eq!(titles, [Some("Get A"), Some("Get B"), None, None]);
    assert_eq!(plain[1].description, "B");
    assert_eq!(read_only(&listed(ANNOTATED, "trust_annotations=true").await), ["get_a", "set_a"]);
    assert_eq!(read_only(&listed(ANNOTATED, "read_only=['get_*']").await), ["get_a", "get_b"]);
    assert_eq!(
        names(&listed(ANNOTATED, "tools=['*_a','drop_all']\nexclude=['drop_*']").await),
        ["get_a", "set_a"]
    );
}

#[tokio::test]
async fn what_is_not_offered_cannot_be_called() {
    let peer = Peer::start(legacy(|_| None)).await;
    let servers = servers(&peer.url(), "exclude=['echo']");
    let outcome = servers.call(&caller("one"), &request("echo", "{}"), NEW).await;
    assert_eq!(outcome, ToolOutcome::Failed("The call was not carried out: the tool is not offered.".into()));
    let elsewhere = ToolRequest { server: Some("t".into()), ..request("echo", "{}") };
    assert!(matches!(servers.call(&caller("one"), &elsewhere, NEW).await, ToolOutcome::Failed(_)));
    assert_eq!(peer.count("tools/call"), 0);
    servers.close().await;
}

#[tokio::test]
async fn a_list_of_any_size_stays_within_bounds() {
    let many: Vec<String> = (0..600).map(|i| format!(r#"{{"name":"t{i}"}}"#)).collect();
    let tools = listed(format!(r#"{{"tools":[{}]}}"#, many.join(",")).leak(), "").await;
    assert_eq!(tools.len(), 512);
    let large = format!(
        r#"{{"tools":[{{"name":"large","inputSchema":{{"type":"object","x":"{}"}}}},{{"name":"long","description":"{}"}}]}}"#,
        "x".repeat(200_000),
        "é".repeat(20_000)
    );
    let tools = listed(large.leak(), "").await;
    assert_eq!(names(&tools), ["long"]);
    assert!(tools[0].description.len() <= 16 * 1024 + 3);
}

#[tokio::test]
async fn a_server_without_tools() {
    for reply in [r#"{"code":-32601,"message":"Method not found"}"#, r#"{"code":-32601}"#] {
        let peer = Peer::start(legacy(move |seen| seen.is("tools/list").then(|| seen.error(reply)))).await;
        let servers = servers(&peer.url(), "");
        assert_eq!(servers.tools("app", &caller("one"), "s").await, Ok(Offered::default()));
        servers.close().await;
    }
    let peer = Peer::start(legacy(|seen| {
        seen.is("tools/list").then(|| seen.error(r#"{"code":-32000,"message":"secret words"}"#))
    }))
    .await;
    let servers = servers(&peer.url(), "");
    let fault = servers.tools("app", &caller("one"), "s").await.unwrap_err();
    assert_eq!(fault.reason, "the server answered with the MCP error -32000");
    servers.close().await;
}
