//! Fetching the price map.

use std::io::Write;
use std::time::Duration;

use deja_providers::{Fetched, HttpSettings, PriceFetchError, fetch_prices};

use crate::server::{FOREVER, Server, http, settings};

#[tokio::test]
async fn a_new_map_comes_with_its_etag() {
    let server = Server::always(http(200, "etag: \"v2\"\r\n", "{}"));
    let fetched = fetch_prices(&server.url, Some("\"v1\""), &settings()).await.unwrap();
    assert_eq!(fetched, Fetched::Body { bytes: "{}".into(), etag: Some("\"v2\"".to_owned()) });
    assert_eq!(server.requests()[0].header("if-none-match"), Some("\"v1\""));
}

#[tokio::test]
async fn an_old_map_is_not_sent_again() {
    let server = Server::always(http(304, "", ""));
    assert_eq!(fetch_prices(&server.url, None, &settings()).await.unwrap(), Fetched::NotModified);
    assert_eq!(server.requests()[0].header("if-none-match"), None);
}

#[tokio::test]
async fn what_goes_wrong_is_said() {
    for url in ["", "prices.json", "file:///etc/passwd", "ftp://h/x"] {
        assert!(matches!(fetch_prices(url, None, &settings()).await, Err(PriceFetchError::Url)), "{url}");
    }
    for status in [204, 302, 404, 500] {
        let server = Server::always(http(status, "location: http://127.0.0.1:1/\r\n", ""));
        let error = fetch_prices(&server.url, None, &settings()).await.unwrap_err();
        assert!(matches!(error, PriceFetchError::Status(found) if found == status), "{error}");
    }
    let closed = Server::always("");
    let error = fetch_prices(&closed.url, None, &settings()).await.unwrap_err();
    assert!(matches!(error, PriceFetchError::Connection(_)), "{error}");
}

#[tokio::test]
async fn size_and_time_are_bounded() {
    let claimed = Server::always("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\nx");
    let error = fetch_prices(&claimed.url, None, &settings()).await.unwrap_err();
    assert!(matches!(error, PriceFetchError::TooLarge), "{error}");
    let endless = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&vec![b'x'; 65536]).is_ok() {}
    });
    let limits = HttpSettings { total_deadline: Duration::from_secs(20), ..settings() };
    let error = fetch_prices(&endless.url, None, &limits).await.unwrap_err();
    assert!(matches!(error, PriceFetchError::TooLarge), "{error}");
    let silent = Server::start(|_, _| std::thread::sleep(FOREVER));
    let limits = HttpSettings { total_deadline: Duration::from_millis(500), ..settings() };
    let error = fetch_prices(&silent.url, None, &limits).await.unwrap_err();
    assert!(matches!(error, PriceFetchError::Timeout), "{error}");
}
