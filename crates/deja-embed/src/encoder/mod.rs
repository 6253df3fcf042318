//! The encoder: token ids to one vector, on the fastest kernel this processor has.
//!
//! Linear layers multiply bytes (weights int8 per output channel, activations u8 per row, 32-bit sums);
//! everything else is f32. All kernels give the same bits, so vectors made on different machines compare.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod attention;
#[cfg(any(target_arch = "aarch64", test))]
mod dot;
mod forward;
mod math;
mod portable;
mod product;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use forward::Scratch;

use std::sync::Arc;

use crate::image::{Config, Image};

/// An instruction set that there is a kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernel {
    /// AVX-512 with VNNI: Intel since Ice Lake, AMD since Zen 4.
    Avx512Vnni,
    /// 256-bit VNNI: Intel since Alder Lake, AMD since Zen 5.
    AvxVnni,
    /// AVX2: nearly every x86-64 server.
    Avx2,
    /// NEON with dot products: Apple M1, AWS Graviton 2, Arm Neoverse N1 and later.
    NeonDot,
    /// No intrinsics.
    Portable,
}

impl Kernel {
    /// The kernels this processor can run, fastest first.
    pub fn available() -> Vec<Self> {
        [Self::Avx512Vnni, Self::AvxVnni, Self::Avx2, Self::NeonDot, Self::Portable]
            .into_iter()
            .filter(|k| k.runs_here())
            .collect()
    }

    /// The fastest kernel this processor can run.
    pub fn best() -> Self {
        Self::available().first().copied().unwrap_or(Self::Portable)
    }

    #[cfg(target_arch = "x86_64")]
    fn runs_here(self) -> bool {
        match self {
            Self::Avx512Vnni => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
            Self::AvxVnni => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni"),
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            Self::NeonDot => false,
            Self::Portable => true,
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn runs_here(self) -> bool {
        match self {
            Self::NeonDot => std::arch::is_aarch64_feature_detected!("dotprod"),
            _ => self == Self::Portable,
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn runs_here(self) -> bool {
        self == Self::Portable
    }
}

/// A model and the kernel it runs on.
pub(crate) struct Encoder {
    image: Arc<Image>,
    kernel: Kernel,
}

impl Encoder {
    /// Runs `image` on `kernel`, or on the best one if this processor lacks it.
    pub(crate) fn new(image: Arc<Image>, kernel: Kernel) -> Self {
        let kernel = if kernel.runs_here() { kernel } else { Kernel::best() };
        Self { image, kernel }
    }

    fn config(&self) -> &Config {
        self.image.config()
    }

    /// One vector, not yet of unit length, per text. `None` if an id is outside the vocabulary or a text is
    /// empty or longer than the window.
    pub(crate) fn encode(&self, texts: &[&[u32]], scratch: &mut Scratch) -> Option<Vec<f32>> {
        let config = self.config();
        let fits = |text: &&[u32]| {
            !text.is_empty()
                && text.len() <= config.window
                && text.iter().all(|id| (*id as usize) < config.vocabulary)
        };
        if !texts.iter().all(fits) {
            return None;
        }
        let mut out = Vec::with_capacity(texts.len() * config.hidden);
        self.run(texts, scratch, &mut out)?;
        Some(out)
    }

    /// The number that the head makes of one text. `None` if [`Self::encode`] gives none, or the weights have no head.
    pub(crate) fn score(&self, text: &[u32], scratch: &mut Scratch) -> Option<f32> {
        let (vector, head) = (self.encode(&[text], scratch)?, self.image.head()?);
        Some(vector.iter().zip(head.weights).fold(head.bias, |sum, (v, weight)| sum + v * weight))
    }

    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "calls into code compiled for an instruction set")]
    fn run(&self, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
        // SAFETY: `new` has checked that this processor has what `kernel` needs.
        match self.kernel {
            Kernel::Avx512Vnni => unsafe { x86::avx512::run(&self.image, texts, scratch, out) },
            Kernel::AvxVnni => unsafe { x86::avx_vnni::run(&self.image, texts, scratch, out) },
            Kernel::Avx2 => unsafe { x86::avx2::run(&self.image, texts, scratch, out) },
            Kernel::NeonDot | Kernel::Portable => portable::run(&self.image, texts, scratch, out),
        }
    }

    #[cfg(target_arch = "aarch64")]
    #[expect(unsafe_code, reason = "calls into code compiled for an instruction set")]
    fn run(&self, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
        match self.kernel {
            // SAFETY: `new` has checked that this processor has what `kernel` needs.
            Kernel::NeonDot => unsafe { aarch64::run(&self.image, texts, scratch, out) },
            _ => portable::run(&self.image, texts, scratch, out),
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn run(&self, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
        portable::run(&self.image, texts, scratch, out)
    }
}
