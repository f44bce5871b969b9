use super::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn addresses_are_judged_as_browsers_read_them() {
    let good = [
        ("https://e.com/a?b#c", "https://e.com/a?b#c", Some("e.com")),
        ("HTTP://E.com", "HTTP://E.com", Some("e.com")),
        ("http://e.com:80/", "http://e.com:80/", Some("e.com")),
        ("http://e.com:8080", "http://e.com:8080", Some("e.com:8080")),
        ("https:\\\\e.com\\a", "https:\\\\e.com\\a", Some("e.com")),
        ("https://good.com@evil.com/", "https://good.com@evil.com/", Some("evil.com")),
        ("https://good.com\\@evil.com/", "https://good.com\\@evil.com/", Some("good.com")),
        ("https://[::1]:8/", "https://[::1]:8/", Some("[::1]:8")),
        (" \u{1}ht\ttps:/\n/e.com\u{c} ", "https://e.com", Some("e.com")),
        ("//e.com/a", "https://e.com/a", Some("e.com")),
        ("/\\e.com/a", "https://e.com/a", Some("e.com")),
        ("mailto:a@b.c", "mailto:a@b.c", None),
        ("MAILTO:a@b.c", "MAILTO:a@b.c", None),
        ("", "", None),
        ("#part", "#part", None),
        ("?q=a:b", "?q=a:b", None),
        ("/path:with", "/path:with", None),
        ("path/a:b", "path/a:b", None),
        ("ünder/weg", "ünder/weg", None),
    ];
    for (url, kept, host) in good {
        let judged = judge(url).unwrap_or_else(|| panic!("{url:?} was refused"));
        assert_eq!((judged.url.as_str(), judged.host.as_deref()), (kept, host), "{url:?}");
    }
}

#[test]
fn every_other_address_is_refused() {
    let bad = [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        "\u{0}javascript:alert(1)",
        "\u{1f}\u{20}javascript:alert(1)",
        "java\u{0}script:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://e.com/x",
        "filesystem:https://e.com/x",
        "view-source:https://e.com",
        "tel:123",
        "ftp://e.com",
        "intent://x",
        "x:y",
        "%6aavascript:x",
        "&javascript:x",
        "javascript\u{3a}x",
        "https:",
        "https:e.com",
        "https:/e.com",
        "https://",
        "https:///",
        "https://e com",
        "https://e.com:x/",
        "https://%65.com",
        "https://a<b",
        "//",
        "//a b",
        "1:2",
    ];
    for url in bad {
        assert_eq!(judge(url), None, "{url:?}");
    }
}

#[test]
fn labels_that_name_another_host_mislead() {
    let misleading = [
        ("https://bank.com", "https://evil.com"),
        ("bank.com", "https://evil.com"),
        ("www.bank.com/login", "http://bank.com.evil.com/"),
        ("BANK.com", "https://bank.com@evil.com"),
        (" bank.com ", "//evil.com"),
        ("https://bank.com", "mailto:a@b.c"),
        ("https://bank.com", "/logout"),
    ];
    for (label, url) in misleading {
        assert!(is_misleading(label, url), "{label} on {url}");
    }
    let honest = [
        ("https://bank.com/", "https://bank.com/login"),
        ("bank.com", "https://www.bank.com"),
        ("www.bank.com", "http://bank.com"),
        ("our bank", "https://evil.com"),
        ("see bank.com", "https://evil.com"),
        ("a@bank.com", "mailto:a@bank.com"),
        ("version 1.2", "https://e.com"),
        ("1.2", "https://e.com"),
        ("", "https://e.com"),
        ("here", "/a"),
    ];
    for (label, url) in honest {
        assert!(!is_misleading(label, url), "{label} on {url}");
    }
}

#[test]
fn pictures_load_from_allowed_origins_only() {
    let origins = |origins: &[&str]| origins.iter().map(|&origin| origin.to_owned()).collect::<Vec<_>>();
    let page = "https://page.com";
    let listed = origins(&["https://Img.com", "http://old.com:8080"]);
    for url in ["https://img.com/a", "https://img.com:443/a", "//img.com/a", "http://old.com:8080/b"] {
        assert!(may_load(url, page, &listed), "{url}");
    }
    let refused = [
        "http://img.com/a",
        "https://img.com:8443/a",
        "https://img.com.evil.com/a",
        "https://img.com@evil.com/a",
        "https://sub.img.com/a",
        "http://old.com/b",
        "https://page.com/a",
        "/a",
        "a.png",
        "data:image/png;base64,a",
        "javascript:a",
        "mailto:a@b.c",
        "blob:https://img.com/a",
    ];
    for url in refused {
        assert!(!may_load(url, page, &listed), "{url}");
        assert!(!may_load(url, page, &[]), "{url}");
    }
    let own = origins(&["self"]);
    assert!(may_load("/a", page, &own) && may_load("https://page.com/a", page, &own));
    assert!(!may_load("https://img.com/a", page, &own) && !may_load("data:image/png,a", page, &own));
    assert!(!may_load("/a", "null", &own), "a page without an origin has no pictures of its own");
    assert!(may_load("/a", page, &origins(&["https://page.com"])));
}
