//! Model directories: a tiny random one that works, and all the ways in which one does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use deja_core::embedding::Embedded;
use deja_embed::{Kernel, Model};
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{cosine, vector};

const HIDDEN: usize = 32;
const WIDE: usize = 64;
const WORDS: [&str; 8] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello", "world", "##s", "cache"];

/// Numbers in -0.5..0.5 that are the same in every run.
fn noise(count: usize, seed: &mut u64) -> Vec<f32> {
    let mut next = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn tensors(seed: u64) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let mut seed = seed;
    let mut all = BTreeMap::new();
    let mut put = |name: &str, shape: &[usize]| {
        let values = noise(shape.iter().product(), &mut seed);
        all.insert(name.to_owned(), (shape.to_vec(), values));
    };
    put("embeddings.word_embeddings.weight", &[WORDS.len(), HIDDEN]);
    put("embeddings.position_embeddings.weight", &[16, HIDDEN]);
    put("embeddings.token_type_embeddings.weight", &[2, HIDDEN]);
    let layer = |rest: &str| format!("encoder.layer.0.{rest}");
    for (name, inputs, outputs) in [
        (layer("attention.self.query"), HIDDEN, HIDDEN),
        (layer("attention.self.key"), HIDDEN, HIDDEN),
        (layer("attention.self.value"), HIDDEN, HIDDEN),
        (layer("attention.output.dense"), HIDDEN, HIDDEN),
        (layer("intermediate.dense"), HIDDEN, WIDE),
        (layer("output.dense"), WIDE, HIDDEN),
    ] {
        put(&format!("{name}.weight"), &[outputs, inputs]);
        put(&format!("{name}.bias"), &[outputs]);
    }
    for name in ["embeddings.LayerNorm", &layer("attention.output.LayerNorm"), &layer("output.LayerNorm")] {
        put(&format!("{name}.weight"), &[HIDDEN]);
        put(&format!("{name}.bias"), &[HIDDEN]);
    }
    all
}

fn write_weights(directory: &Path, tensors: &BTreeMap<String, (Vec<usize>, Vec<f32>)>, dtype: Dtype) {
    let bytes: BTreeMap<&str, (Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, (shape, values))| {
            let bytes = values.iter().flat_map(|v| match dtype {
                Dtype::F16 => half::f16::from_f32(*v).to_le_bytes().to_vec(),
                Dtype::BF16 => half::bf16::from_f32(*v).to_le_bytes().to_vec(),
                _ => v.to_le_bytes().to_vec(),
            });
            (name.as_str(), (shape.clone(), bytes.collect()))
        })
        .collect();
    let views =
        bytes.iter().map(|(name, (shape, b))| (*name, TensorView::new(dtype, shape.clone(), b).unwrap()));
    fs::write(directory.join("model.safetensors"), serialize(views, None).unwrap()).unwrap();
}

fn write_json(file: impl AsRef<Path>, value: &Value) {
    fs::write(file, value.to_string()).unwrap();
}

fn config() -> Value {
    json!({
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": WIDE, "vocab_size": WORDS.len(),
        "max_position_embeddings": 16, "hidden_act": "gelu",
    })
}

fn tiny(seed: u64) -> TempDir {
    let directory = TempDir::new().unwrap();
    let at = directory.path();
    write_weights(at, &tensors(seed), Dtype::F32);
    write_json(at.join("config.json"), &config());
    let module = |path: &str, kind: &str| json!({"path": path, "type": format!("sentence_transformers.models.{kind}")});
    write_json(at.join("modules.json"), &json!([module("", "Transformer"), module("1_Pooling", "Pooling")]));
    fs::create_dir(at.join("1_Pooling")).unwrap();
    write_json(at.join("1_Pooling/config.json"), &json!({"pooling_mode_mean_tokens": true}));
    write_json(at.join("sentence_bert_config.json"), &json!({"max_seq_length": 12}));
    let vocabulary: BTreeMap<&str, usize> = WORDS.iter().enumerate().map(|(id, word)| (*word, id)).collect();
    let mut tokenizer: Value = serde_json::from_str(include_str!("../../data/tokenizer.json")).unwrap();
    tokenizer["model"]["vocab"] = json!(vocabulary);
    tokenizer["added_tokens"] = json!([]);
    for (token, id) in [("[CLS]", 2), ("[SEP]", 3)] {
        tokenizer["post_processor"]["special_tokens"][token]["ids"] = json!([id]);
    }
    write_json(at.join("tokenizer.json"), &tokenizer);
    directory
}

#[test]
fn a_tiny_model_works_in_every_number_format() {
    let directory = tiny(1);
    let model = Model::from_directory(&directory).unwrap();
    assert_eq!((model.dimension(), model.window()), (HIDDEN, 12));
    let whole = vector(&mut model.session(), "hello worlds cache");
    for dtype in [Dtype::F16, Dtype::BF16] {
        write_weights(directory.path(), &tensors(1), dtype);
        let other = Model::from_directory(&directory).unwrap();
        assert_ne!(other.id(), model.id());
        let cosine = cosine(vector(&mut other.session(), "hello worlds cache").as_slice(), whole.as_slice());
        assert!(cosine > 0.999, "{dtype:?}: {cosine}");
    }
}

/// Its layers have two and four panels, so no strip of the products is full.
#[test]
fn every_kernel_gives_the_same_bits_for_another_shape() {
    let model = Model::from_directory(tiny(1)).unwrap();
    let ids: Vec<Vec<u32>> = [1, 2, 5, 7, 12].map(|n| (0..n).map(|i| i * 3 % 8).collect()).into();
    let texts: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let bits = |kernel| -> Vec<u32> {
        model.session_on(kernel).encode(&texts).unwrap().iter().map(|v| v.to_bits()).collect()
    };
    let want = bits(Kernel::Portable);
    for kernel in Kernel::available() {
        assert_eq!(bits(kernel), want, "{kernel:?}");
    }
}

/// A tokenizer as multilingual models of BERT type have it: Unigram over pieces with a mark for the space.
fn unigram() -> Value {
    let pieces =
        ["<s>", "<pad>", "</s>", "<unk>", "\u{2581}hello", "\u{2581}wor", "ld", "\u{2581}\u{4f60}\u{597d}"];
    let special = |id: usize| {
        json!({"id": id, "content": pieces[id], "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    let around = |id: &str| json!({"SpecialToken": {"id": id, "type_id": 0}});
    let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "decoder": null,
        "added_tokens": [special(0), special(1), special(2), special(3)],
        "normalizer": {"type": "NFKC"},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [around("<s>"), text("A"), around("</s>")],
            "pair": [around("<s>"), text("A"), around("</s>"), text("B"), around("</s>")],
            "special_tokens": {
                "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
            },
        },
        "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": false,
                  "vocab": pieces.iter().enumerate().map(|(id, piece)| json!([piece, -(id as f64)])).collect::<Vec<_>>()},
    })
}

#[test]
fn a_model_with_a_unigram_tokenizer_works() {
    let directory = tiny(1);
    write_json(directory.path().join("tokenizer.json"), &unigram());
    let model = Model::from_directory(&directory).unwrap();
    let mut session = model.session();
    let mut read = |text: &str| match session.embed(text).unwrap() {
        Embedded::Vector { embedding, tokens } => (embedding, tokens),
        Embedded::TooLong { .. } => panic!("too long"),
    };
    let (english, tokens) = read("hello world");
    assert_eq!(tokens, 5, "<s>, hello, wor, ld, </s>");
    let (chinese, tokens) = read("\u{4f60}\u{597d}");
    assert_eq!(tokens, 3);
    assert!(english.similarity(&chinese).get() < 0.999);
    let long = ["hello world"; 6].join(" ");
    assert!(matches!(session.embed(&long).unwrap(), Embedded::TooLong { tokens: 20, window: 12 }));
}

#[test]
fn the_identity_follows_the_content() {
    let directory = tiny(1);
    let id = || Model::from_directory(&directory).unwrap().id().clone();
    let first = id();
    assert_eq!(first, id());
    write_weights(directory.path(), &tensors(2), Dtype::F32);
    let second = id();
    assert_ne!(first, second);
    write_json(directory.path().join("1_Pooling/config.json"), &json!({"pooling_mode_cls_token": true}));
    assert_ne!(second, id());
}

/// The same weights and tokenizer, read in another way.
#[test]
fn the_identity_follows_the_config() {
    let directory = tiny(1);
    let at = directory.path();
    let mut weights = tensors(1);
    let layer =
        |name: &String| name.starts_with("encoder.layer.0.").then(|| name.replace("layer.0.", "layer.1."));
    let again: Vec<_> =
        weights.iter().filter_map(|(name, tensor)| Some((layer(name)?, tensor.clone()))).collect();
    weights.extend(again);
    write_weights(at, &weights, Dtype::F32);
    let id = |changes: Value| {
        let mut config = config();
        config["num_hidden_layers"] = json!(2);
        config.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        write_json(at.join("config.json"), &config);
        Model::from_directory(&directory).unwrap().id().clone()
    };
    let first = id(json!({}));
    assert_eq!(
        first,
        id(json!({"layer_norm_eps": 1e-12, "transformers_version": "4.0"})),
        "the same vectors"
    );
    assert_ne!(first, id(json!({"num_attention_heads": 1})));
    assert_ne!(first, id(json!({"layer_norm_eps": 1e-5})));
    write_json(at.join("sentence_bert_config.json"), &json!({"max_seq_length": 11}));
    assert_ne!(first, id(json!({})));
}

#[test]
fn what_is_wrong_is_named() {
    let config_with = |key: &str, value: Value| {
        let mut config = config();
        config[key] = value;
        config
    };
    let cases: Vec<(&str, Option<Value>, &str)> = vec![
        ("modules.json", None, "No such file"),
        (
            "modules.json",
            Some(json!([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])),
            "Dense",
        ),
        ("modules.json", Some(json!([])), "no Transformer"),
        ("config.json", None, "No such file"),
        ("config.json", Some(json!({"model_type": "bert"})), "hidden_size"),
        ("config.json", Some(config_with("model_type", json!("mpnet"))), "supported: bert"),
        ("config.json", Some(config_with("hidden_act", json!("relu"))), "supported: gelu"),
        ("config.json", Some(config_with("position_embedding_type", json!("relative_key"))), "absolute"),
        ("config.json", Some(config_with("hidden_size", json!(20))), "multiple of 16"),
        ("config.json", Some(config_with("num_attention_heads", json!(4))), "one head"),
        ("config.json", Some(config_with("num_attention_heads", json!(0))), "heads"),
        ("config.json", Some(config_with("max_position_embeddings", json!(0))), "window"),
        ("1_Pooling/config.json", Some(json!({"pooling_mode_max_tokens": true})), "supported: mean_tokens"),
        ("sentence_bert_config.json", Some(json!([1, 2])), ""),
        ("tokenizer.json", Some(json!({})), ""),
        ("tokenizer.json", None, "No such file"),
        ("model.safetensors", None, "model.safetensors"),
        ("model.safetensors", Some(json!("rubbish")), ""),
    ];
    for (file, content, expected) in cases {
        let directory = tiny(3);
        let path = directory.path().join(file);
        match &content {
            Some(content) => write_json(&path, content),
            None => fs::remove_file(&path).unwrap(),
        }
        let error = Model::from_directory(&directory).map(drop).unwrap_err();
        assert!(error.to_string().contains(file), "{error}");
        assert!(error.to_string().contains(expected), "{error} lacks {expected:?}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn weights_that_do_not_fit_are_named() {
    let directory = tiny(4);
    let name = "encoder.layer.0.output.dense.weight";
    let mut missing = tensors(4);
    missing.remove(name);
    let mut shape = tensors(4);
    shape.insert(name.to_owned(), (vec![WIDE, HIDDEN], vec![0.0; HIDDEN * WIDE]));
    let mut infinite = tensors(4);
    infinite.insert(name.to_owned(), (vec![HIDDEN, WIDE], vec![f32::INFINITY; HIDDEN * WIDE]));
    for bad in [missing, shape, infinite] {
        write_weights(directory.path(), &bad, Dtype::F32);
        let error = Model::from_directory(&directory).map(drop).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn more_layers_than_the_config_says_are_refused() {
    let directory = tiny(5);
    for prefix in ["", "bert."] {
        let mut weights = tensors(5);
        weights.insert("encoder.layer.1.output.dense.bias".to_owned(), (vec![HIDDEN], vec![0.0; HIDDEN]));
        let weights = weights.into_iter().map(|(name, tensor)| (format!("{prefix}{name}"), tensor)).collect();
        write_weights(directory.path(), &weights, Dtype::F32);
        let error = Model::from_directory(&directory).map(drop).unwrap_err().to_string();
        assert!(error.contains("model.safetensors") && error.contains("num_hidden_layers"), "{error}");
    }
}
