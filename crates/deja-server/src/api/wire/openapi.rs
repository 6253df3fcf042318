//! The wire formats in the OpenAPI document: paths, keys, headers in both directions, and errors. What stands in bodies the
//! providers document.

use deja_wire::{Endpoint, Wire};
use utoipa::Modify;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{AnyOfBuilder, SchemaType};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::server::{Server, ServerBuilder, ServerVariableBuilder};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Components, Content, HttpMethod, Object, ObjectBuilder, OpenApi, Ref, RefOr, Required, Schema, Type,
};

use super::ENDPOINTS;
use crate::api::openapi::described;

/// What all of these operations are tagged with.
const TAG: &str = "wires";

/// Headers with a key, by the name of their security scheme; `Authorization` is deja's own scheme.
const KEYS: [(&str, &str); 3] =
    [("x_api_key", "x-api-key"), ("x_goog_api_key", "x-goog-api-key"), ("api_key_header", "api-key")];

/// What a request may ask of the cache.
const CONTROLS: [(&str, &str); 7] = [
    ("X-Deja-Cache", "`on` (the default), `exact`, `refresh`, `off` or `only`."),
    ("X-Deja-Threshold", "The least similarity of a hit, 0 to 1; not below the project's minimum."),
    ("X-Deja-Context", "Segments the cache. The provider does not see it."),
    ("X-Deja-TTL", "How long the stored answer is served, in seconds; at most as long as the project says."),
    ("X-Deja-Pace", "The speed of a streamed hit in tokens a second, 1 to 1000."),
    ("X-Deja-Debug", "`1`: the answer has times in `Server-Timing`."),
    ("Cache-Control", "`no-cache`, `no-store`, `max-age=N`, `only-if-cached`. `X-Deja-Cache` wins."),
];

/// What an answer says.
const TOLD: [(&str, &str); 12] = [
    ("X-Deja-Cache", "`hit`, `miss`, `joined`, `refresh` or `bypass`."),
    ("X-Deja-Match", "Of a hit: `exact` or `semantic`."),
    ("X-Deja-Similarity", "Of a hit: how similar, 0 to 1."),
    ("X-Deja-Entry", "Of a hit: which entry (UUID)."),
    ("Age", "Of a hit: how old, in seconds."),
    ("X-Deja-Saved", "Of a hit: US dollars saved; absent if the price is unknown."),
    ("X-Deja-Reason", "Why the request is compared byte for byte, or not cached."),
    ("X-Deja-Guard", "What the guard found different in the nearest question."),
    ("X-Deja-Provider", "The provider that answered."),
    ("X-Deja-Upstream-Id", "The provider's own id of the request."),
    ("Server-Timing", "Times, if `X-Deja-Debug` asked for them."),
    ("X-Accel-Buffering", "Of a stream: `no`, so that a proxy does not hold it back."),
];

/// The id of a request, where Anthropic's libraries look for it.
const ANTHROPICS_ID: &str = "request-id";

/// What an error says, whatever its status; the first are those of a request that had come to be answered.
const ERRORS: [&str; 14] = [
    "X-Deja-Cache", "X-Deja-Reason", "X-Deja-Guard", "X-Deja-Provider", "X-Deja-Upstream-Id",
    "Server-Timing", "X-Request-Id", ANTHROPICS_ID, "X-RateLimit-Limit", "X-RateLimit-Remaining",
    "X-RateLimit-Reset", "X-Deja-Error", "WWW-Authenticate", "Retry-After",
];

/// Adds the wire formats to the document.
pub struct Wires;

impl Modify for Wires {
    fn modify(&self, document: &mut OpenApi) {
        let about = "The formats of OpenAI, Anthropic and Google. Bodies are the providers' own, and pass as they are. Each path is \
                     there below `/p/{slug}` too.";
        document
            .tags
            .get_or_insert_default()
            .push(TagBuilder::new().name(TAG).description(Some(about)).build());
        components(document.components.get_or_insert_default());
        let mut put = |path: &str, method, operation| {
            let mut item = PathItem::new(method, operation);
            item.servers = Some(servers());
            document.paths.paths.insert(path.to_owned(), item);
        };
        for (path, endpoint) in ENDPOINTS {
            put(path, HttpMethod::Post, asked(path, endpoint));
        }
        for (method, stream) in [("generateContent", false), ("streamGenerateContent", true)] {
            let path = format!("/v1beta/models/{{model}}:{method}");
            let mut operation = asked(&path, Endpoint::Gemini { stream });
            operation.parameters.get_or_insert_default().push(model().into());
            put(&path, HttpMethod::Post, operation);
        }
        for version in ["v1", "v1beta"] {
            let list = format!("/{version}/models");
            put(&list, HttpMethod::Get, listing(&list, "Models that may be asked for", None));
            let one = format!("{list}/{{model}}");
            put(&one, HttpMethod::Get, listing(&one, "One of these models", Some(model())));
        }
    }
}

/// Where the paths are.
fn servers() -> Vec<Server> {
    let slug = ServerVariableBuilder::new()
        .default_value("my-project")
        .description(Some("The project. A key of another one is refused with 403."));
    let of_project = ServerBuilder::new().url("/p/{slug}").parameter("slug", slug).build();
    vec![Server::new("/"), of_project]
}

/// A request that goes to a provider, or is answered from the cache.
fn asked(path: &str, endpoint: Endpoint) -> Operation {
    let (summary, answers) = match endpoint {
        Endpoint::Chat => ("OpenAI's chat completions, plain or streamed; cached", CACHED),
        Endpoint::Responses => ("OpenAI's Responses, plain or streamed; cached", CACHED),
        Endpoint::Messages => ("Anthropic's Messages, plain or streamed; cached", CACHED),
        Endpoint::Gemini { stream: false } => ("Gemini; cached", PLAIN),
        Endpoint::Gemini { stream: true } => ("Gemini as a stream; cached with `alt=sse`", CACHED),
        Endpoint::CountTokens => ("Anthropic's count of tokens; passed on", PLAIN),
        Endpoint::Embeddings => ("OpenAI's embeddings; passed on", PLAIN),
        Endpoint::Completions => ("OpenAI's completions; passed on", STREAMED),
    };
    let mut answered = ResponseBuilder::new().description(answers.0);
    for kind in answers.1 {
        let schema = if *kind == JSON { object() } else { text() };
        answered = answered.content(*kind, Content::new(Some(schema)));
    }
    for (name, _) in TOLD {
        answered = answered.header_ref(name, described(name));
    }
    if endpoint.wire() == Wire::Messages {
        answered = answered.header_ref(ANTHROPICS_ID, described(ANTHROPICS_ID));
    }
    let controls = CONTROLS.iter().map(|(name, about)| control(name, about));
    operation(path, summary, error_of(endpoint.wire()).0)
        .parameters(Some(controls))
        .request_body(Some(body(matches!(endpoint, Endpoint::Gemini { .. }))))
        .response("200", answered.build())
        .build()
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const CACHED: (&str, &[&str]) = ("From the cache or from the provider.", &[JSON, EVENTS]);
const PLAIN: (&str, &[&str]) = ("What the provider said.", &[JSON]);
const STREAMED: (&str, &[&str]) = ("What the provider said.", &[JSON, EVENTS]);

/// A list of models, or one of them.
fn listing(path: &str, summary: &str, of: Option<Parameter>) -> Operation {
    let shape = "In OpenAI's shape; in Anthropic's where `anthropic-version` is sent, in Google's where `x-goog-api-key` is, and below \
                 `/v1beta`.";
    let found = ResponseBuilder::new()
        .description(shape)
        .content(JSON, Content::new(Some(object())))
        .header_ref(ANTHROPICS_ID, described(ANTHROPICS_ID))
        .build();
    operation(path, summary, ANY_ERROR).parameters(of.map(|model| [model])).response("200", found).build()
}

/// What all operations have: a tag, a name, a key, and the errors of this name.
fn operation(path: &str, summary: &str, errors: &str) -> OperationBuilder {
    let name: Vec<&str> =
        path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut keys = vec![SecurityRequirement::new("api_key", [""; 0])];
    keys.extend(KEYS.iter().map(|(scheme, _)| SecurityRequirement::new(*scheme, [""; 0])));
    OperationBuilder::new()
        .tag(TAG)
        .operation_id(Some(name.join("_")))
        .summary(Some(summary))
        .securities(Some(keys))
        .response("default", RefOr::<Response>::Ref(Ref::from_response_name(errors)))
}

/// The errors of paths that several formats share.
const ANY_ERROR: &str = "ModelsError";

/// The name of the errors of a wire, and what they are.
const fn error_of(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::Chat | Wire::Responses => ("OpenAiError", "An error, as OpenAI's clients read it."),
        Wire::Messages => ("AnthropicError", "An error, as Anthropic's clients read it."),
        Wire::Gemini => ("GoogleError", "An error, as Google's clients read it."),
    }
}

fn components(components: &mut Components) {
    for (scheme, header) in KEYS {
        let value =
            ApiKeyValue::with_description(header, "The same key, where the client's library puts it.");
        components.add_security_scheme(scheme, SecurityScheme::ApiKey(ApiKey::Header(value)));
    }
    for (name, about) in TOLD {
        components.headers.insert(name.into(), told(about).into());
    }
    let id = told("The same as `X-Request-Id`, where the answer has Anthropic's shape.");
    components.headers.insert(ANTHROPICS_ID.into(), id.into());
    let mut any = AnyOfBuilder::new();
    for wire in [Wire::Chat, Wire::Messages, Wire::Gemini] {
        let (name, about) = error_of(wire);
        components.schemas.insert(name.into(), error(wire).into());
        let schema = Ref::from_schema_name(name);
        any = any.item(schema.clone());
        components.responses.insert(name.into(), failed(about, schema).into());
    }
    let about = "An error, in the same shape as the answer would have.";
    components.responses.insert(ANY_ERROR.into(), failed(about, Schema::from(any)).into());
}

fn failed(about: &str, schema: impl Into<RefOr<Schema>>) -> Response {
    let mut response = ResponseBuilder::new()
        .description(about)
        .content(JSON, Content::new(Some(schema)))
        .header("retry-after-ms", told("The provider's, in milliseconds."))
        .header("x-should-retry", told("`true` or `false`: whether it makes sense to ask again."));
    for name in ERRORS {
        response = response.header_ref(name, described(name));
    }
    response.build()
}

/// The shape of an error.
fn error(wire: Wire) -> Object {
    let inner = match wire {
        Wire::Chat | Wire::Responses => {
            object_of(&["message", "type"]).property("param", text_or_null()).property("code", text_or_null())
        }
        Wire::Messages => object_of(&["type", "message"]),
        Wire::Gemini => object_of(&["message", "status"])
            .property("code", ObjectBuilder::new().schema_type(Type::Integer))
            .required("code"),
    };
    let outer = ObjectBuilder::new().schema_type(Type::Object).property("error", inner).required("error");
    match wire {
        Wire::Messages => outer.property("type", text()).required("type").build(),
        _ => outer.build(),
    }
}

/// An object with these texts.
fn object_of(texts: &[&str]) -> ObjectBuilder {
    let object = ObjectBuilder::new().schema_type(Type::Object);
    texts.iter().fold(object, |object, name| object.property(*name, text()).required(*name))
}

fn object() -> Schema {
    ObjectBuilder::new().schema_type(Type::Object).into()
}

fn text() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).into()
}

fn text_or_null() -> Schema {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null])).into()
}

fn told(about: &str) -> Header {
    HeaderBuilder::new().schema(Some(text())).description(Some(about)).build()
}

fn control(name: &str, about: &str) -> Parameter {
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
    parameter.required(Required::False).description(Some(about)).schema(Some(text())).build()
}

fn model() -> Parameter {
    let parameter = ParameterBuilder::new().name("model").parameter_in(ParameterIn::Path);
    parameter.required(Required::True).description(Some("The model's name.")).schema(Some(text())).build()
}

/// The body of a request, with the model where that is not in the path.
fn body(names_model: bool) -> RequestBody {
    let object =
        if names_model { ObjectBuilder::new().schema_type(Type::Object) } else { object_of(&["model"]) };
    let about = "As the provider documents it. It goes there byte for byte.";
    RequestBodyBuilder::new()
        .description(Some(about))
        .required(Some(Required::True))
        .content(JSON, Content::new(Some(Schema::from(object))))
        .build()
}
