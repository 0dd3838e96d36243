// ridgeline/device/cpu/isa.h
//
// Which instruction set the CPU kernels use: the best that machine and operating system have, or the one that
// RIDGELINE_ISA forces: avx2, avx512, avx512_bf16 or amx on x86-64, neon on 64-bit Arm. Chosen once a process, at the
// first question; own kernels (Highway) are limited to it here, the kernel library by its file. And whether its bf16
// dot products are worth their while: by the processor's maker, or as RIDGELINE_BF16_DOTS=fast|slow says. Any thread
// may ask.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ridgeline::device {

enum class Isa {
  neon,         // of 64-bit Arm, which has no other here
  avx2,         // x86-64-v3: AVX2, FMA, BMI
  avx512,       // F, BW, DQ, VL, CD
  avx512_bf16,  // and bf16 dot products
  amx,          // and bf16 tiles
};

// "neon", "avx2", "avx512", "avx512_bf16", "amx"
std::string_view name_of(Isa isa);

// The instruction sets that this machine can run, lowest first. An Error on an x86-64 machine without AVX2 and FMA.
std::span<const Isa> machine_isas();

// The instruction set in force. The first call reads RIDGELINE_ISA: an unknown name, or one the machine lacks, is an
// Error.
Isa active_isa();

// Whether the instruction set in force multiplies bf16 by dot products, and faster than f32: on AMD's processors
// (docs/device.md has the measurements). Decided by the maker's name, not by the clock: bits depend on it. An unknown
// value of RIDGELINE_BF16_DOTS is an Error.
bool fast_bf16_dots();

// Products of bf16 values in the time of one of f32, by the fastest direct kernels of the instruction set in force: 8
// on tiles, 2 by fast dot products, 1 where f32 kernels take bf16 values as well.
int bf16_products_rate();

// As the processor calls itself: "Intel(R) Xeon(R) Processor"; "" where it does not say.
std::string processor_name();

// What else the machine has that no kernel uses yet: "dotprod, bf16, sve"; "" for nothing. For reports.
std::string further_instructions();

// Puts another one in force for kernels that are made from now on (not for those of the kernel library). For tests.
void force_isa_for_test(Isa isa);
// Takes dot products for fast or slow likewise.
void force_bf16_dots_for_test(bool fast);

}  // namespace ridgeline::device
