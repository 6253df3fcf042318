//! Reading a sentence-transformers directory: BERT-type encoders with mean or CLS pooling.
//!
//! Whatever is not supported is refused by name. A model that is read almost right would give vectors that
//! are almost right, and nobody would notice.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::image::{Config, Image, Pooling};
use crate::quantise::{self, Dense, LayerWeights, NormWeights, TableWeights};

/// A model that cannot be used: which file, what is wrong with it, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct LoadError {
    /// The file at fault.
    pub file: PathBuf,
    /// The problem, in one line.
    pub problem: String,
}

impl LoadError {
    pub(crate) fn new(file: impl Into<PathBuf>, problem: impl Display) -> Self {
        Self { file: file.into(), problem: problem.to_string() }
    }
}

/// A directory after reading: the quantised weights and the tokenizer's file.
pub(crate) struct Model {
    pub(crate) image: Image,
    pub(crate) tokenizer: Vec<u8>,
    pub(crate) tokenizer_file: PathBuf,
}

/// The fields of `config.json` that matter. Absent ones have the defaults of BERT.
#[derive(Deserialize)]
struct BertConfig {
    #[serde(default)]
    architectures: Vec<String>,
    model_type: Option<String>,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "bert_epsilon")]
    layer_norm_eps: f32,
    #[serde(default = "gelu")]
    hidden_act: String,
    position_embedding_type: Option<String>,
}

fn bert_epsilon() -> f32 {
    1e-12
}

fn gelu() -> String {
    "gelu".to_owned()
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

/// Reads and quantises the model in `directory`. `id` overrides the name made from the content. If so many layers and the tables
/// are those of the image `beneath`, the other layers and the head alone.
pub(crate) fn load(directory: &Path, id: Option<&str>, beneath: Option<usize>) -> Result<Model, LoadError> {
    let (transformer, pooling_directory) = modules(directory)?;
    let config_file = transformer.join("config.json");
    let bert: BertConfig = json(&config_file)?;
    check_architecture(&bert).map_err(|problem| LoadError::new(&config_file, problem))?;
    let pooling = pooling(&pooling_directory.join("config.json"))?;

    let sentence_file = transformer.join("sentence_bert_config.json");
    let sentence: SentenceConfig =
        if sentence_file.exists() { json(&sentence_file)? } else { SentenceConfig::default() };
    let window =
        sentence.max_seq_length.unwrap_or(bert.max_position_embeddings).min(bert.max_position_embeddings);

    let tokenizer_file = transformer.join("tokenizer.json");
    let tokenizer = read(&tokenizer_file)?;
    let weights_file = transformer.join("model.safetensors");
    let weights = read(&weights_file)?;

    let mut config = Config {
        id: String::new(),
        hidden: bert.hidden_size,
        layers: bert.num_hidden_layers,
        heads: bert.num_attention_heads,
        feed_forward: bert.intermediate_size,
        vocabulary: bert.vocab_size,
        window,
        epsilon: bert.layer_norm_eps,
        pooling,
        beneath: 0,
    };
    config.check().map_err(|problem| LoadError::new(&config_file, problem))?;
    config.id = id.map_or_else(|| name(directory, &weights, &tokenizer, &config), str::to_owned);
    let image = Tensors::new(&weights)
        .and_then(|tensors| {
            tensors.check_layers(config.layers)?;
            if let Some(beneath) = beneath {
                let head = tensors.dense("head", config.hidden, 1)?;
                let config = Config { beneath, ..config.clone() };
                return quantise::image_on_another(&config, &head, |index| tensors.layer(&config, index));
            }
            let tables = tensors.tables(&config, bert.max_position_embeddings)?;
            quantise::image(&config, &tables, |index| tensors.layer(&config, index))
        })
        .map_err(|problem| LoadError::new(&weights_file, problem))?;
    Ok(Model { image, tokenizer, tokenizer_file })
}

/// Name of the directory and a digest of all that decides the vectors, so that another model is another embedder. The config is
/// part of it: heads and epsilon are in no weight.
fn name(directory: &Path, weights: &[u8], tokenizer: &[u8], config: &Config) -> String {
    let mut digest = Sha256::new();
    for part in [Sha256::digest(weights), Sha256::digest(tokenizer)] {
        digest.update(part);
    }
    // All fields by name: a new one does not compile until somebody has decided whether it belongs here.
    let Config {
        id: _,
        beneath: _,
        hidden,
        layers,
        heads,
        feed_forward,
        vocabulary,
        window,
        epsilon,
        pooling,
    } = config;
    digest.update(format!(
        "{hidden} {layers} {heads} {feed_forward} {vocabulary} {window} {epsilon:e} {pooling:?}"
    ));
    let digest = hex::encode(digest.finalize());
    let canonical = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let name = canonical.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy());
    format!("{name}/int8-{}", &digest[..8])
}

/// Where the transformer and the pooling are.
fn modules(directory: &Path) -> Result<(PathBuf, PathBuf), LoadError> {
    let file = directory.join("modules.json");
    let modules: Vec<Module> = json(&file)?;
    let (mut transformer, mut pooling) = (None, None);
    for module in modules {
        match module.kind.rsplit('.').next() {
            Some("Transformer") if transformer.is_none() => transformer = Some(directory.join(module.path)),
            Some("Pooling") if pooling.is_none() => pooling = Some(directory.join(module.path)),
            Some("Normalize") => {}
            _ => {
                let problem = format!(
                    "module {:?} is not supported; supported: one Transformer, one Pooling, Normalize",
                    module.kind
                );
                return Err(LoadError::new(file, problem));
            }
        }
    }
    match (transformer, pooling) {
        (Some(transformer), Some(pooling)) => Ok((transformer, pooling)),
        _ => Err(LoadError::new(file, "no Transformer and Pooling module in the list")),
    }
}

fn check_architecture(bert: &BertConfig) -> Result<(), String> {
    let named = bert.architectures.iter().any(|a| a.starts_with("Bert"));
    let kind = bert.model_type.as_deref();
    if kind != Some("bert") && !(kind.is_none() && named) {
        return Err(format!("model_type is {:?}; supported: bert", kind.unwrap_or("absent")));
    }
    if bert.hidden_act != "gelu" {
        return Err(format!("hidden_act is {:?}; supported: gelu", bert.hidden_act));
    }
    match bert.position_embedding_type.as_deref() {
        None | Some("absolute") => Ok(()),
        Some(other) => Err(format!("position_embedding_type is {other:?}; supported: absolute")),
    }
}

fn pooling(file: &Path) -> Result<Pooling, LoadError> {
    let config: BTreeMap<String, Value> = json(file)?;
    let modes: Vec<&str> = config
        .iter()
        .filter(|(_, value)| value.as_bool() == Some(true))
        .filter_map(|(key, _)| key.strip_prefix("pooling_mode_"))
        .collect();
    match modes.as_slice() {
        ["mean_tokens"] => Ok(Pooling::Mean),
        ["cls_token"] => Ok(Pooling::Cls),
        _ => {
            let problem = format!("pooling is {modes:?}; supported: mean_tokens alone or cls_token alone");
            Err(LoadError::new(file, problem))
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, LoadError> {
    std::fs::read(file).map_err(|error| {
        LoadError::new(
            file,
            format!("{error}; needed: modules.json, config.json, tokenizer.json, model.safetensors"),
        )
    })
}

fn json<T: DeserializeOwned>(file: &Path) -> Result<T, LoadError> {
    serde_json::from_slice(&read(file)?).map_err(|error| LoadError::new(file, error))
}

/// The tensors of the file by the names BERT gives them.
struct Tensors<'a> {
    file: SafeTensors<'a>,
    prefix: &'static str,
}

impl<'a> Tensors<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, String> {
        let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let prefix = if file.tensor("bert.embeddings.word_embeddings.weight").is_ok() { "bert." } else { "" };
        Ok(Self { file, prefix })
    }

    /// Refuses layers beyond those of the config: without them the model would be another one than its weights are.
    fn check_layers(&self, layers: usize) -> Result<(), String> {
        let start = format!("{}encoder.layer.", self.prefix);
        let number = |name: &str| name.strip_prefix(&start)?.split('.').next()?.parse::<usize>().ok();
        match self.file.names().into_iter().filter_map(number).max() {
            Some(last) if last >= layers => Err(format!(
                "there is an encoder layer {last}, but num_hidden_layers of config.json is {layers}"
            )),
            _ => Ok(()),
        }
    }

    fn tensor(&self, name: &str) -> Result<TensorView<'_>, String> {
        self.file.tensor(&format!("{}{name}", self.prefix)).map_err(|e| format!("{name}: {e}"))
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.tensor(name)?;
        if tensor.shape() != shape {
            return Err(format!("{name} has shape {:?} instead of {shape:?}", tensor.shape()));
        }
        let (data, _) = tensor.data().as_chunks::<2>();
        let values: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            Dtype::F16 => data.iter().map(|b| half::f16::from_le_bytes(*b).to_f32()).collect(),
            Dtype::BF16 => data.iter().map(|b| half::bf16::from_le_bytes(*b).to_f32()).collect(),
            other => return Err(format!("{name} is {other:?}; supported: F32, F16, BF16")),
        };
        if values.iter().any(|v| !v.is_finite()) {
            return Err(format!("{name} holds a number that is not finite"));
        }
        Ok(values)
    }

    fn dense(&self, name: &str, inputs: usize, outputs: usize) -> Result<Dense, String> {
        Ok(Dense {
            weight: self.get(&format!("{name}.weight"), &[outputs, inputs])?,
            bias: self.get(&format!("{name}.bias"), &[outputs])?,
        })
    }

    fn norm(&self, name: &str, width: usize) -> Result<NormWeights, String> {
        Ok(NormWeights {
            gamma: self.get(&format!("{name}.weight"), &[width])?,
            beta: self.get(&format!("{name}.bias"), &[width])?,
        })
    }

    fn tables(&self, config: &Config, positions: usize) -> Result<TableWeights, String> {
        let hidden = config.hidden;
        let segments = "embeddings.token_type_embeddings.weight";
        let kinds = self.tensor(segments)?.shape().first().copied().unwrap_or_default();
        let mut segment = self.get(segments, &[kinds, hidden])?;
        if kinds == 0 {
            return Err(format!("{segments} is empty"));
        }
        segment.truncate(hidden);
        Ok(TableWeights {
            words: self.get("embeddings.word_embeddings.weight", &[config.vocabulary, hidden])?,
            positions: self.get("embeddings.position_embeddings.weight", &[positions, hidden])?,
            segment,
            norm: self.norm("embeddings.LayerNorm", hidden)?,
        })
    }

    fn layer(&self, config: &Config, index: usize) -> Result<LayerWeights, String> {
        let (hidden, wide) = (config.hidden, config.feed_forward);
        let at = |rest: &str| format!("encoder.layer.{index}.{rest}");
        Ok(LayerWeights {
            qkv: [
                self.dense(&at("attention.self.query"), hidden, hidden)?,
                self.dense(&at("attention.self.key"), hidden, hidden)?,
                self.dense(&at("attention.self.value"), hidden, hidden)?,
            ],
            attention: self.dense(&at("attention.output.dense"), hidden, hidden)?,
            attention_norm: self.norm(&at("attention.output.LayerNorm"), hidden)?,
            up: self.dense(&at("intermediate.dense"), hidden, wide)?,
            down: self.dense(&at("output.dense"), wide, hidden)?,
            output_norm: self.norm(&at("output.LayerNorm"), hidden)?,
        })
    }
}
