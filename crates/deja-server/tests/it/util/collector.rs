//! A collector of traces: it takes spans as OTLP's protobuf over HTTP, and keeps them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use super::eventually;
use super::server::listen;

/// A collector.
pub struct Collector {
    url: String,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    asked: Arc<AtomicUsize>,
}

impl Collector {
    /// One that takes spans.
    pub fn start() -> Self {
        Self::answering("200 OK")
    }

    /// One that answers with `status`.
    pub fn answering(status: &'static str) -> Self {
        let (bodies, asked) = (Arc::<Mutex<Vec<Vec<u8>>>>::default(), Arc::<AtomicUsize>::default());
        let (kept, count) = (bodies.clone(), asked.clone());
        let address = listen(move |asked| {
            assert_eq!(asked.path, "/v1/traces");
            assert_eq!(asked.header("content-type"), Some("application/x-protobuf"));
            kept.lock().unwrap().push(asked.body.clone());
            count.fetch_add(1, Ordering::SeqCst);
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
        });
        Self { url: format!("http://{address}"), bodies, asked }
    }

    /// What deja is told.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// All that it was sent, byte for byte.
    pub fn bytes(&self) -> Vec<u8> {
        self.bodies.lock().unwrap().concat()
    }

    /// Waits until it was asked so many times.
    pub fn wait_for_calls(&self, count: usize) {
        let what = format!("the collector is asked {count} times");
        eventually(&what, || self.asked.load(Ordering::SeqCst) >= count);
    }

    /// All spans.
    pub fn spans(&self) -> Vec<Span> {
        let requests = self.requests().into_iter().flat_map(|request| request.resource_spans);
        let scopes = requests.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// The names of those that sent them.
    pub fn services(&self) -> Vec<String> {
        let resources = self.requests().into_iter().flat_map(|request| request.resource_spans);
        resources.map(|spans| text(&spans.resource.unwrap().attributes, "service.name").unwrap()).collect()
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        let decode = |body: &Vec<u8>| ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        self.bodies.lock().unwrap().iter().map(decode).collect()
    }
}

/// An attribute.
pub fn value(attributes: &[KeyValue], name: &str) -> Option<Value> {
    attributes.iter().find(|attribute| attribute.key == name)?.value.clone()?.value
}

/// An attribute that is a text.
pub fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    match value(attributes, name)? {
        Value::StringValue(text) => Some(text),
        other => panic!("{name} is {other:?}"),
    }
}

/// An attribute that is a whole number.
pub fn number(attributes: &[KeyValue], name: &str) -> Option<i64> {
    match value(attributes, name)? {
        Value::IntValue(number) => Some(number),
        other => panic!("{name} is {other:?}"),
    }
}

/// An attribute that is a list of texts.
pub fn texts(attributes: &[KeyValue], name: &str) -> Vec<String> {
    let Some(Value::ArrayValue(list)) = value(attributes, name) else { return Vec::new() };
    let text = |item: AnyValue| match item.value {
        Some(Value::StringValue(text)) => text,
        other => panic!("{name} has {other:?}"),
    };
    list.values.into_iter().map(text).collect()
}
