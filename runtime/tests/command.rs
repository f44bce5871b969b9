//! The program: its configuration, its faults, its end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use support::{CONFIG, Folder, program};

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What the program says about a configuration that it refuses.
fn refused(config: &str, env: &[(&str, &str)]) -> String {
    let folder = Folder::new();
    let output = program(&folder, config).arg("--check-config").envs(env.iter().copied()).output().unwrap();
    let (out, err) = said(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(1), ""), "{err}");
    assert!(!err.contains("panicked"), "{err}");
    err
}

const APP: &str = "[[apps]]\nuid='a'\n[[apps.agents]]\nuid='b'\n";

#[test]
fn the_merged_configuration_without_secrets() {
    let folder = Folder::new();
    let config = CONFIG.replace("\"second-key\"", "\"env:OTHER_KEY\"");
    let output = program(&folder, &config)
        .arg("--check-config")
        .env("OTHER_KEY", "from-the-environment")
        .env("MINDSET__SERVER__TOKEN_SECRET", "x".repeat(40))
        .env("MINDSET__APPS__STRICT__ORIGINS", "https://a.example, loopback")
        .env("MINDSET__APPS__0__AGENTS__DEMO__BOUNDS__STEPS", "7")
        .env("MINDSET__MODELS__NEW__PROVIDER", "openai")
        .env("MINDSET__MODELS__NEW__MODEL", "m")
        .env("MINDSET__MODELS__NEW__API_KEY", "sk-very-secret")
        .env("MINDSET__MODELS__URL__PROVIDER", "openai")
        .env("MINDSET__MODELS__URL__MODEL", "m")
        .env("MINDSET__MODELS__URL__BASE_URL", "https://someone:PASSW@api.example/v1?key=QUERYV&x=1")
        .env("MINDSET__SERVER__TRUSTED_PROXIES", "loopback, 10.0.0.0/8")
        .output()
        .unwrap();
    let (out, err) = said(&output);
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    for secret in ["first-key", "from-the-environment", "xxxx", "sk-very", "someone", "PASSW", "QUERYV"] {
        assert!(!out.contains(secret), "{secret} in {out}");
    }
    for line in [
        r#"api_keys = ["(9 characters)", "(20 characters)"]"#,
        r#"token_secret = "(40 characters)""#,
        r#"origins = ["https://a.example", "loopback"]"#,
        "steps = 7",
        r#"api_key = "(14 characters)""#,
        r#"base_url = "https://api.openai.com/v1""#,
        r#"base_url = "https://***@api.example/v1?key=(6 characters)&x=(1 characters)""#,
        r#"trusted_proxies = ["loopback", "10.0.0.0/8"]"#,
    ] {
        assert!(out.contains(line), "{line} not in {out}");
    }
}

#[test]
fn all_shipped_configurations_are_good() {
    for file in ["mindset.example.toml", "../www/mindset.toml", "../examples/board/mindset.toml"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let folder = Folder::new();
        let output = program(&folder, &std::fs::read_to_string(path).unwrap())
            .arg("--check-config")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .envs([("OPENAI_API_KEY", "k"), ("ACME_API_KEY", "k"), ("ORDERS_MCP_AUTHORIZATION", "Bearer k")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{file}: {}", said(&output).1);
    }
}

#[test]
fn mcp_servers_are_printed_without_their_keys() {
    let folder = Folder::new();
    let output = program(
        &folder,
        "[[apps]]\nuid = 'a'\n[[apps.mcp_servers]]\nuid = 'orders'\nurl = 'https://x.example/mcp?key=QUERYV'\n\
         authorization = 'Bearer HIDDEN'\n[[apps.agents]]\nuid = 'x'\nmcp_servers = ['orders']\n",
    )
    .arg("--check-config")
    .env("MINDSET__APPS__A__MCP_SERVERS__ORDERS__TIMEOUT", "5s")
    .output()
    .unwrap();
    let (out, err) = said(&output);
    assert!(output.status.success(), "{err}");
    assert!(!out.contains("HIDDEN") && !out.contains("QUERYV"), "{out}");
    for line in [
        r#"url = "https://x.example/mcp?key=(6 characters)""#,
        r#"authorization = "(13 characters)""#,
        r#"timeout = "5s""#,
        r#"idle = "10m""#,
        r#"mcp_servers = ["orders"]"#,
    ] {
        assert!(out.contains(line), "{line} not in {out}");
    }
}

#[test]
fn what_an_application_may_do_is_checked() {
    for (keys, fault) in [
        (
            "agent_access = ['session.run', 'session.write']",
            "apps[0].agent_access: no permission is called `session.write`; write [\"session.run\"]",
        ),
        ("agent_access = 'session.run'", "apps[0].agent_access: expected a list of texts"),
        (
            "agent_concurrency = 0",
            "apps[0].agent_concurrency: not a number of turns that can run at once; take 1 to 32",
        ),
        ("agent_concurrency = 33", "apps[0].agent_concurrency: not a number of turns"),
        ("default_agent = 'c'", "apps[0].default_agent: the app has no agent `c`; name one of its"),
        ("models = ['quick']", "apps[0].models: no model is called `quick`; add a [models.quick] table"),
        ("agent_concurency = 3", "apps[0].agent_concurency: unknown key; did you mean `agent_concurrency`?"),
    ] {
        let faults = refused(&APP.replace("uid='a'", &format!("uid='a'\n{keys}")), &[]);
        assert!(faults.contains(fault), "{fault} not in {faults}");
    }
    let folder = Folder::new();
    let mut command = program(&folder, APP);
    let command =
        command.arg("--check-config").env("MINDSET__APPS__A__AGENT_ACCESS", "session.read,session.run");
    let output = command.env("MINDSET__APPS__A__AGENT_CONCURRENCY", "32").output().unwrap();
    let (out, err) = said(&output);
    assert!(output.status.success(), "{err}");
    for line in [r#"agent_access = ["session.run", "session.read"]"#, "agent_concurrency = 32"] {
        assert!(out.contains(line), "{line} not in {out}");
    }
}

#[test]
fn faults_of_mcp_servers() {
    let faults = refused(
        "[[apps]]\nuid = 'a'\n\
         [[apps.mcp_servers]]\nuid = 'one'\nurl = 'ftp://x.example'\ntimeout = '0s'\n\
         [[apps.mcp_servers]]\nuid = 'one'\nurl = 'http://10.0.0.7/mcp'\nauthorization = \"a\\nb\"\n\
         [[apps.mcp_servers]]\nuid = 'two'\nurl = 'https://u:p@x.example/mcp'\nrequire = true\n\
         [[apps.mcp_servers]]\nuid = 'three'\n\
         [[apps.mcp_servers]]\nuid = 'four'\nurl = 'http://localhost.:1/'\n\
         [[apps.mcp_servers]]\nuid = 'five'\nurl = 'http://[::ffff:127.0.0.1]/'\n\
         [[apps.agents]]\nuid = 'x'\nmcp_servers = ['one', 'six', 'one']\n",
        &[],
    );
    for part in [
        "apps[0].mcp_servers[0].url: not an http or https address",
        "apps[0].mcp_servers[0].timeout: no time at all",
        "apps[0].mcp_servers: two entries have the uid `one`",
        "apps[0].mcp_servers[1].url: an address of this computer or a private network; set allow_private",
        "apps[0].mcp_servers[1].authorization: cannot be sent in a header",
        "apps[0].mcp_servers[2].url: holds a user name or password",
        "apps[0].mcp_servers[2].require: unknown key; did you mean `required`?",
        "apps[0].mcp_servers[3].url: missing",
        "apps[0].mcp_servers[4].url: an address of this computer",
        "apps[0].mcp_servers[5].url: an address of this computer",
        "apps[0].agents[0].mcp_servers: the app has no MCP server `six`",
        "apps[0].agents[0].mcp_servers: two entries have the uid `one`",
    ] {
        assert!(faults.contains(part), "{part} not in {faults}");
    }
}

#[test]
fn faults_of_telemetry() {
    let faults = refused(
        "[telemetry]\notlp_endpoint = 'http://u:p@x.example'\nauthorization = \"a\\nb\"\n\
         [[apps]]\nuid = 'a'\n[[apps.agents]]\nuid = 'x'\n",
        &[],
    );
    for part in [
        "telemetry.otlp_endpoint: holds a user name or password; put the credentials into `authorization`",
        "telemetry.authorization: cannot be sent in a header",
    ] {
        assert!(faults.contains(part), "{part} not in {faults}");
    }
}

#[test]
fn every_fault_at_once_with_place_and_remedy() {
    let faults = refused(
        "[server]\nlisen = 'x'\nheartbeat = 15\nmax_body = -1\nlisten = 'nowhere'\n\
         [models.m]\nprovider = 'opnai'\n[models.auto]\nprovider = 'demo'\n\
         [[apps]]\nuid = 'a b'\norigins = ['*', 'https://x/']\napi_keys = ['env:NOT_SET_ANYWHERE']\nallow_no_origin = 'yes'\n\
         [[apps.agents]]\nuid = 'x'\nmodel = 'm2'\n[[apps.agents]]\nuid = 'x'\nbounds = { steps = 0 }\n\
         [[apps.agents]]\nuid = 'y'\nbounds = { spend = { tokens = 5, amount = 1 } }\n\
         [[apps.agents]]\nuid = 'z'\nbounds = { spend = { amount = -1, currency = 'euro', input_per_milion = 1 } }\n\
         [[apps.agents]]\nuid = 'w'\nbounds = { spend = {} }\n[[apps.agents]]\nuid = 'v'\nbounds = { spend = { tokens = 0 } }\n",
        &[("MINDSET__SERVER__LOG_KEEP", "soon"), ("MINDSET__SERVER__HEARTBEET", "1s")],
    );
    for part in [
        "server.lisen: unknown key; did you mean `listen`?",
        "server.heartbeat: expected a duration, found integer; write it as heartbeat = \"15s\"",
        "server.max_body",
        "server.listen",
        "environment: MINDSET__SERVER__LOG_KEEP",
        "unknown key; did you mean `heartbeat`?",
        "models.m.provider: no provider is called `opnai`",
        "models.auto: this name is taken",
        "apps[0].uid",
        "apps[0].origins: `*`",
        "apps[0].origins: `https://x/`",
        "apps[0].api_keys: the environment has no NOT_SET_ANYWHERE",
        "apps[0].allow_no_origin: expected true or false, found string",
        "apps[0].agents[0].model: no model is called `m2`; add a [models.m2] table",
        "apps[0].agents: two entries have the uid `x`",
        "apps[0].agents[1].bounds.steps",
        "apps[0].agents[2].bounds.spend: a limit in tokens and one in money",
        "apps[0].agents[3].bounds.spend.amount: no amount of money; write it as amount = 2.5",
        "apps[0].agents[3].bounds.spend.currency: no currency; write its code of three capital letters",
        "apps[0].agents[3].bounds.spend.input_per_milion: unknown key; did you mean `input_per_million`?",
        "apps[0].agents[3].bounds.spend.output_per_million: missing",
        "apps[0].agents[4].bounds.spend: no limit; write { tokens = 200000 }",
        "apps[0].agents[5].bounds.spend.tokens: a limit of nothing lets no turn run",
    ] {
        assert!(faults.contains(part), "{part}\nis not in\n{faults}");
    }
}

#[test]
fn faults_of_the_environment_are_not_blamed_on_the_file() {
    let said = refused(APP, &[("MINDSET__APPS__ZZ__ORIGINS", "https://x.example")]);
    assert!(said.contains("environment: MINDSET__APPS__ZZ__ORIGINS: adds `apps[1]`"), "{said}");
    assert!(said.contains("the app has no agent") && !said.contains("mindset.toml"), "{said}");
    let two = format!("{}{}", APP.replace("'a'", "'a-b'"), APP.replace("'a'", "'a_b'"));
    let said = refused(&two, &[("MINDSET__APPS__A_B__ORIGINS", "loopback")]);
    assert!(said.contains("MINDSET__APPS__A_B__ORIGINS: fits both `a-b` and `a_b`"), "{said}");
    let said = refused(APP, &[("MINDSET__SERVER__TRUSTED_PROXIES", "my-proxy")]);
    assert!(said.contains("`my-proxy` is no address") && said.contains("10.0.0.0/8"), "{said}");
}

#[test]
fn faults_of_the_file_itself() {
    let syntax = refused("[server]\nlisten = 127.0.0.1\n", &[]);
    assert!(syntax.contains("mindset.toml: line 2 column"), "{syntax}");
    assert!(refused("", &[]).contains("apps: no app is defined"));
    assert!(refused("[[apps]]\nuid='a'\n", &[]).contains("apps[0].agents: the app has no agent"));
    assert!(refused(&format!("server = 1\n{APP}"), &[]).contains("server: expected a table"));
    let missing =
        Command::new(env!("CARGO_BIN_EXE_mindset-runtime")).args(["--config", "/nowhere/x.toml"]).output();
    let (_, err) = said(&missing.unwrap());
    assert!(err.contains("/nowhere/x.toml") && err.contains("--config FILE"), "{err}");
}

#[test]
fn faults_of_the_machine() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = Folder::new();
    let busy = program(&folder, APP).env("MINDSET__SERVER__LISTEN", &address).output().unwrap();
    assert_eq!(busy.status.code(), Some(1));
    let err = said(&busy).1;
    let lines = err.lines().filter(|line| !line.contains("slow statement"));
    assert!(lines.count() == 1 && err.contains(&address) && err.contains("MINDSET__SERVER__LISTEN"), "{err}");

    std::fs::write(
        folder.path("broken.db"),
        "this is no database, but it is long enough to look at".repeat(100),
    )
    .unwrap();
    for database in ["broken.db", "no/such/folder/x.db"] {
        let output = program(&folder, APP)
            .env("MINDSET__SERVER__LISTEN", "127.0.0.1:0")
            .env("MINDSET__SERVER__DATABASE", folder.path(database))
            .output()
            .unwrap();
        let err = said(&output).1;
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(
            err.contains(database) && err.contains("server.database") && !err.contains("panicked"),
            "{err}"
        );
    }
}

#[test]
fn other_arguments() {
    let run =
        |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_mindset-runtime")).args(args).output().unwrap();
    assert!(said(&run(&["--version"])).0.starts_with("mindset-runtime "));
    assert!(said(&run(&["--help"])).0.contains("--check-config"));
    let unknown = run(&["--port"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(said(&unknown).1.contains("--help"));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_well() {
    let folder = Folder::new();
    let mut child = program(&folder, CONFIG)
        .env("MINDSET__SERVER__LISTEN", "127.0.0.1:0")
        .env("MINDSET__SERVER__OPERATIONS", "off")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    // On a machine that stalls the database is called slow before.
    let mut begin = String::new();
    while !begin.contains("listening on http://127.0.0.1:") {
        assert!(err.read_line(&mut begin).unwrap() > 0, "{begin}");
    }
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("stopping") && !rest.contains("panicked"), "{rest}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(folder.path("test.db")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o077, 0, "the database is for its owner only");
}
