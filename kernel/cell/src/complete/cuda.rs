//! Words of `%%cuda` cells: CUDA's names, and those that the cell uses already. Types are not known.

use std::collections::BTreeSet;

use super::tokens::{is_word, word_start};
use super::{Candidates, CursorContext};

/// Words that people look up, and their meaning.
const WORDS: &[(&str, &str)] = &[
    ("__global__", "a kernel: `__global__ void name(float* data, int n)`"),
    ("__device__", "a function that kernels call"),
    ("__shared__", "memory of a block: `__shared__ float tile[256];`"),
    ("__constant__", "numbers that all threads read"),
    ("__syncthreads", "waits for all threads of the block"),
    ("__syncwarp", "waits for the threads of the warp"),
    ("__shfl_down_sync", "a value of the thread `delta` lanes further in the warp: (mask, value, delta)"),
    ("__shfl_xor_sync", "a value of another thread of the warp: (mask, value, lanes)"),
    ("__ballot_sync", "which threads of the warp have a true predicate: (mask, predicate)"),
    ("threadIdx", "the thread's number in its block: x, y, z"),
    ("blockIdx", "the block's number: x, y, z"),
    ("blockDim", "threads in a block: x, y, z"),
    ("gridDim", "blocks: x, y, z"),
    ("warpSize", "32"),
    ("atomicAdd", "adds, one thread at a time; gives what was there: (address, value)"),
    ("atomicSub", "(address, value)"),
    ("atomicMin", "(address, value)"),
    ("atomicMax", "(address, value)"),
    ("atomicExch", "(address, value)"),
    ("atomicCAS", "writes if it is as expected; gives what was there: (address, expected, value)"),
    ("printf", "prints when the launch has ended"),
    ("sqrtf", "(x)"),
    ("fminf", "(a, b)"),
    ("fmaxf", "(a, b)"),
    ("expf", "(x)"),
    ("logf", "(x)"),
    ("powf", "(x, y)"),
];

pub fn complete<'a>(place: &CursorContext<'a>, candidates: &mut Candidates<'a>) {
    let start = word_start(place.text, place.at);
    candidates.replace(place.text, start..place.at);
    WORDS.iter().for_each(|(word, help)| candidates.add(0, word, "function", help));
    let typed = &place.text[start..place.at];
    let below =
        place.text.split_once("%%cuda").and_then(|(_, rest)| rest.split_once('\n')).map_or("", |(_, below)| below);
    let own: BTreeSet<&str> = below.split(|c: char| !is_word(c)).collect();
    let known = |word: &str| WORDS.iter().any(|(name, _)| *name == word);
    let long = |word: &&str| word.len() > 2 && *word != typed && word.starts_with(|c: char| !c.is_ascii_digit());
    own.into_iter().filter(long).filter(|word| !known(word)).for_each(|word| candidates.add(1, word, "variable", ""));
}
