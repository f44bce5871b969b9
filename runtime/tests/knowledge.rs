//! Knowledge: what is found, by whom, and how it is cited.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_core::json::Value;
use mindset_runtime::App;
use mindset_runtime::config::{Environment, load_text};
use support::{Folder, Server, events, input, kind, last, text};

const HANDBOOK: &str = "# Handbook\n\n## Holidays\n\nEveryone has 30 days of holiday a year.\n\n\
    ### Carry over\n\nUp to 5 days can be carried over until the end of March.\n\n\
    ## Expenses\n\nReceipts are due within 60 days. Ask the finance team about holiday pay.\n";

const GERMAN: &str = "# Handbuch\n\n## Urlaub\n\nDer Urlaubsantrag geht an die Führungskraft. Maßgeblich ist die Größe des Teams.\n\n\
    ## Krankheit\n\nAm dritten Tag wird ein Attest fällig.\n";

const JAPANESE: &str = "# ハンドブック\n\n## 返品\n\n返品の期限は購入日から三十日です。\n\n## 東京支店\n\n営業時間は九時から五時まで。\n";

const PAGE: &str = "<title>Office</title><script>var secret = 'parking nowhere'</script>\
    <h1>Office</h1><h2 id='park'>Parking</h2><p>Parking is <b>free</b> on level&nbsp;2.</p>";

const SECRETS: &str = "# Board\n\n## Takeover\n\nThe takeover of holiday parks is planned for May.\n";

fn write(folder: &Folder, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn files(folder: &Folder) {
    write(folder, "staff/en/handbook.md", HANDBOOK);
    write(folder, "staff/de/handbuch.md", GERMAN);
    write(folder, "staff/ja/handbook.md", JAPANESE);
    write(folder, "staff/office page.html", PAGE);
    write(folder, "staff/picture.png", [0xff, 0xd8]);
    write(folder, "board/secret.md", SECRETS);
}

fn config(folder: &Folder) -> String {
    let at = |pattern: &str| folder.path(pattern).display().to_string();
    format!(
        r#"
[models.quick]
provider = "demo"
delay = "0s"
[[apps]]
uid = "demo"
api_keys = ["first-key"]
origins = ["loopback"]
allow_no_origin = true
[[apps.contexts]]
uid = "staff"
title = "Staff handbook"
files = ['{}']
base_url = "https://intra.example/help"
[[apps.contexts]]
uid = "board"
title = "Board papers"
files = ['{}']
[[apps.agents]]
uid = "demo"
model = "quick"
contexts = ["staff", "board"]
[[apps.agents]]
uid = "blank"
model = "quick"
anonymous = true
"#,
        at("staff/**/*"),
        at("board/*.md")
    )
}

async fn server() -> Server {
    let folder = Folder::new();
    files(&folder);
    let mut server = Server::at(&folder.path("test.db"), &config(&folder), &[]).await;
    server.folder = Some(folder);
    server
}

async fn session(server: &Server, user: &str, contexts: &str) -> String {
    let body = format!(r#"{{"agentUid":"demo","externalUserId":"{user}","contextUids":{contexts}}}"#);
    server.backend("POST", "agentsessions", &body).await.string("agentSessionUid")
}

/// Asks, and gives what the model was told of the search and what it said.
async fn ask(server: &Server, token: &str, agent: &str, question: &str) -> (String, String) {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let id = format!("k{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let events = events(server.run(token, agent, (&id, &id), question).await).await;
    assert_eq!(kind(last(&events)), "RUN_FINISHED", "{events:?}");
    let results = events.iter().filter(|e| kind(e) == "TOOL_CALL_RESULT");
    let result: String = results.filter_map(|e| e.get("content").and_then(Value::as_str)).collect();
    (result, text(&events))
}

#[tokio::test]
async fn the_best_passage_comes_first() {
    let server = server().await;
    let token = server.user("ada").await;
    let agent = session(&server, "ada", r#"["staff"]"#).await;
    for (question, best) in [
        (
            "How many days of holiday do I have?",
            "[1] Handbook › Holidays\nhttps://intra.example/help/en/handbook.md#holidays\n",
        ),
        ("How many days can I carry over?", "[1] Handbook › Holidays › Carry over\n"),
        ("When are receipts due?", "[1] Handbook › Expenses\n"),
        (
            "Is PARKING free?",
            "[1] Office › Parking\nhttps://intra.example/help/office%20page.html#park\nParking is free on level 2.",
        ),
        ("An wen geht der Urlaubsantrag?", "[1] Handbuch › Urlaub\n"),
        ("Wie ist das mit dem Urlaub?", "[1] Handbuch › Urlaub\n"),
        ("Was ist massgeblich, die Groesse?", "[1] Handbuch › Urlaub\n"),
        ("Wann ist ein Attest fallig?", "[1] Handbuch › Krankheit\n"),
        (
            "返品の期限は何日ですか？",
            "[1] ハンドブック › 返品\nhttps://intra.example/help/ja/handbook.md#%E8%BF%94%E5%93%81\n",
        ),
        ("東京？", "[1] ハンドブック › 東京支店\n"),
    ] {
        let (result, said) = ask(&server, &token, &agent, question).await;
        assert!(result.trim_start().starts_with(best), "{question}: {result}");
        assert!(said.contains("[1]"), "{said}");
        assert!(!result.contains("secret"), "{result}");
    }
}

#[tokio::test]
async fn only_the_contexts_of_the_session() {
    let server = server().await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let staff = session(&server, "ada", r#"["staff"]"#).await;
    let board = session(&server, "bob", r#"["board"]"#).await;
    let none = session(&server, "bob", "[]").await;
    let question = "What about the holiday takeover?";
    let (a, b) = tokio::join!(ask(&server, &ada, &staff, question), ask(&server, &bob, &board, question));
    assert!(a.0.contains("30 days") && !a.0.contains("parks"), "{}", a.0);
    assert!(b.0.contains("parks") && !b.0.contains("30 days") && !b.0.contains("https://"), "{}", b.0);
    let (both, _) = ask(&server, &ada, "demo", question).await;
    assert!(both.contains("30 days") && both.contains("parks"), "{both}");
    // Without a context there is no search at all.
    for (token, agent) in [(&bob, none.as_str()), (&ada, "blank")] {
        let (nothing, said) = ask(&server, token, agent, question).await;
        assert!(nothing.is_empty() && !said.contains("holiday pay"), "{said}");
    }
    let (nothing, said) = ask(&server, &bob, &board, "What is the wifi password?").await;
    assert!(nothing.starts_with("Nothing was found in Board papers."), "{nothing}");
    assert!(said.contains("found nothing"), "{said}");
}

#[tokio::test]
async fn another_app_has_its_own_even_under_the_same_name() {
    let folder = Folder::new();
    files(&folder);
    write(&folder, "other/notes.md", "# Notes\n\nThe holiday party is on Friday.");
    let more = format!(
        "[[apps]]\nuid = 'other'\nallow_no_origin = true\n[[apps.contexts]]\nuid = 'staff'\nfiles = ['{}']\n\
         [[apps.agents]]\nuid = 'demo'\nmodel = 'quick'\nanonymous = true\ncontexts = ['staff']\n",
        folder.path("other/*.md").display()
    );
    let server = Server::at(&folder.path("test.db"), &format!("{}{more}", config(&folder)), &[]).await;
    let asked = server.post("/v1/anonymous", r#"{"appUid":"other","agentUid":"demo"}"#).send().await;
    let question = "What about the holiday?";
    let (theirs, _) = ask(&server, &asked.string("authToken"), "demo", question).await;
    assert!(theirs.contains("party") && !theirs.contains("30 days"), "{theirs}");
    let ada = server.user("ada").await;
    let (ours, _) = ask(&server, &ada, "demo", question).await;
    assert!(ours.contains("30 days") && !ours.contains("party"), "{ours}");
}

#[tokio::test]
async fn a_question_is_data() {
    let server = server().await;
    let token = server.user("ada").await;
    let agent = session(&server, "ada", r#"["staff"]"#).await;
    for question in [
        r#"what is "holiday" OR text : * ?"#,
        "what is title:holiday NEAR(days carry, 3) AND NOT ^Expenses",
        "what is '); DROP TABLE knowledge_files; --",
        "what is {a b}: -x + y * \" ' \\ ? \u{0} holiday",
        "what is 🎉🎉 ?",
        "what is ％？ “ ” ー",
    ] {
        let (result, _) = ask(&server, &token, &agent, question).await;
        assert!(!result.contains("does not work"), "{question}: {result}");
        assert_eq!(result.contains("30 days"), question.contains("holiday"), "{question}: {result}");
    }
}

#[tokio::test]
async fn what_an_answer_names_is_stored_with_it() {
    let server = server().await;
    let token = server.user("ada").await;
    let agent = session(&server, "ada", r#"["staff"]"#).await;
    let response = server.run(&token, &agent, ("r1", "t1"), "How many days of holiday do I have?").await;
    let events = events(response).await;
    let told = events.iter().find(|e| e.str("name") == Some("mindset.citations")).unwrap();
    let items = told.get("value").and_then(|v| v.get("items")).unwrap();
    let first = &items.as_array().unwrap()[0];
    assert_eq!(first.str("marker"), Some("[1]"));
    assert_eq!(first.str("title"), Some("Handbook › Holidays"));
    assert_eq!(first.str("url"), Some("https://intra.example/help/en/handbook.md#holidays"));
    let conversation = server.conversation(&token, "t1").await.body;
    let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
    assert_eq!(messages.len(), 2, "no tool results: {conversation}");
    assert_eq!(messages[1].get("citations"), Some(items));
    assert_eq!(messages[0].get("citations"), None);
}

#[tokio::test]
async fn the_index_follows_the_files() {
    let folder = Folder::new();
    files(&folder);
    let (path, config) = (folder.path("test.db"), config(&folder));
    let found = async |question: &str| {
        let server = Server::at(&path, &config, &[]).await;
        let token = server.user("ada").await;
        let agent = session(&server, "ada", r#"["staff"]"#).await;
        let (result, _) = ask(&server, &token, &agent, question).await;
        server.stop().await;
        result
    };
    assert!(found("When are receipts due?").await.contains("60 days"));
    write(&folder, "staff/en/handbook.md", HANDBOOK.replace("60 days", "90 days"));
    let changed = found("When are receipts due?").await;
    assert!(changed.contains("90 days") && !changed.contains("60 days"), "{changed}");
    write(&folder, "staff/new.txt", "The canteen opens at noon.");
    assert!(
        found("When does the canteen open?").await.contains("[1] new\n"),
        "a text file has its name as title"
    );
    std::fs::remove_file(folder.path("staff/en/handbook.md")).unwrap();
    assert!(!found("When are receipts due?").await.contains("90 days"));
    assert!(found("When does the canteen open?").await.contains("noon"));
}

async fn refused(folder: &Folder, config: &str) -> String {
    let env = Environment::from([(
        "MINDSET__SERVER__DATABASE".into(),
        folder.path("test.db").display().to_string(),
    )]);
    match load_text("t.toml", config, &env) {
        Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Ok(config) => App::start(config, &env).await.unwrap_err().0,
    }
}

#[tokio::test]
async fn faults_name_the_file() {
    let folder = Folder::new();
    files(&folder);
    let good = config(&folder);
    write(&folder, "staff/latin.md", b"caf\xe9");
    let said = refused(&folder, &good).await;
    assert!(said.contains("staff/latin.md") && said.contains("not UTF-8 at byte 3"), "{said}");
    std::fs::remove_file(folder.path("staff/latin.md")).unwrap();
    write(&folder, "staff/large.txt", vec![b'x'; 8 * 1024 * 1024 + 1]);
    let said = refused(&folder, &good).await;
    assert!(said.contains("staff/large.txt") && said.contains("the limit is 8388608"), "{said}");
    std::fs::remove_file(folder.path("staff/large.txt")).unwrap();
    for (from, to, place) in [
        ("board/*.md", "board/*.mdd", "apps[0].contexts[1].files: no file fits"),
        ("board/*.md", "board/***.md", "apps[0].contexts[1].files: `"),
        (
            "contexts = [\"staff\", \"board\"]",
            "contexts = [\"stuff\"]",
            "apps[0].agents[0].contexts: the app has no context `stuff`",
        ),
        ("https://intra.example/help", "intra", "apps[0].contexts[0].base_url: not an http"),
        ("//intra.example/help", "//ada:pw@intra.example/help", "base_url: holds a user name or password"),
        ("//intra.example/help", "//ada@intra.example/help", "base_url: holds a user name or password"),
        ("intra.example/help", "intra.example/help?v=2", "base_url: goes on after the path with ? or #"),
        ("intra.example/help", "intra.example/help#", "base_url: goes on after the path with ? or #"),
        ("uid = \"board\"", "uid = \"staff\"", "two entries have the uid `staff`"),
        ("title = \"Board papers\"", "titel = \"x\"", "did you mean `title`?"),
    ] {
        assert!(good.contains(from), "{from}");
        let said = refused(&folder, &good.replace(from, to)).await;
        assert!(said.contains(place), "{place} not in {said}");
        assert!(!said.contains("pw@"), "{said}");
    }
    let picture = good.replace("board/*.md", "staff/*.png");
    assert!(refused(&folder, &picture).await.contains("No Markdown, HTML or text file fits"));
}

#[tokio::test]
async fn large_files_are_answered_in_pieces() {
    let folder = Folder::new();
    files(&folder);
    let mut text = String::from("# Log\n\n");
    while text.len() < 3 * 1024 * 1024 {
        text.push_str("Every line of this long file says the same about widgets. ");
    }
    write(&folder, "staff/log.md", &text);
    let mut server = Server::at(&folder.path("test.db"), &config(&folder), &[]).await;
    server.folder = Some(folder);
    let token = server.user("ada").await;
    let agent = session(&server, "ada", r#"["staff"]"#).await;
    let begin = std::time::Instant::now();
    let question = "What about the widgets in this long file, whose lines all say the same?";
    let (result, _) = ask(&server, &token, &agent, question).await;
    assert!(begin.elapsed() < std::time::Duration::from_secs(60), "{:?}", begin.elapsed());
    assert!(result.contains("[1] Log") && result.chars().count() <= 6 * 2000 + 500, "{}", result.len());
    let plain = server.post("/v1/agents/demo/runs", &input("x", "x", "hello")).bearer(&token).open().await;
    assert_eq!(kind(last(&events(plain).await)), "RUN_FINISHED");
}
