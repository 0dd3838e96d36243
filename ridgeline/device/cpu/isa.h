// ridgeline/device/cpu/isa.h
//
// Which instruction set the CPU kernels use: the best that machine and operating system have, or the one that
// RIDGELINE_ISA forces: avx2, avx512, avx512_bf16 or amx on x86-64, neon or neon_bf16 on 64-bit Arm. Chosen once per
// process, at the first call; our own kernels (Highway) are limited to it here, the kernel library in its own file.
// Also whether bf16 dot products pay off: by the processor's maker, or by RIDGELINE_BF16_DOTS=fast|slow. Any thread may
// call.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ridgeline::device {

enum class Isa {
  neon,         // 64-bit Arm, all of them
  neon_bf16,    // neon and bf16 products of matrices (FEAT_BF16)
  avx2,         // x86-64-v3: AVX2, FMA, BMI
  avx512,       // F, BW, DQ, VL, CD
  avx512_bf16,  // avx512 and bf16 dot products
  amx,          // avx512_bf16 and bf16 tiles
};

// "neon", "neon_bf16", "avx2", "avx512", "avx512_bf16", "amx"
std::string_view name_of(Isa isa);

// The instruction sets that this machine can run, lowest first. An Error on an x86-64 machine without AVX2 and FMA.
std::span<const Isa> machine_isas();

// The active instruction set. The first call reads RIDGELINE_ISA: an unknown name, or one that the machine lacks, is an
// Error.
Isa active_isa();

// The set that our own vector kernels are compiled for under the active one: neon, avx2 or avx512. Products of bf16 are
// files of their own.
Isa vector_isa();

// Whether an instruction set has dot products of bf16: avx512_bf16, amx, neon_bf16.
bool has_bf16_dots(Isa isa);

// Whether the active instruction set multiplies bf16 by dot products, faster than f32: on AMD's processors
// (docs/device.md has the measurements) and on Arm's (docs/arm.md has the documented rates). Decided by the maker's
// name, not by timing, since bits depend on it. An unknown value of RIDGELINE_BF16_DOTS is an Error.
bool fast_bf16_dots();

// How many products of bf16 values take the time of one f32 product, in the fastest direct kernels of the active
// instruction set: 8 on tiles, 2 by fast dot products of x86-64, 3 by Arm's products of matrices, 1 if f32 kernels also
// take bf16 values.
int bf16_products_rate();

// The processor's own name: "Intel(R) Xeon(R) Processor"; "" if it gives none.
std::string processor_name();

// What the machine has beyond those that kernels are made for: "dotprod, i8mm, sve"; "" for nothing. For reports.
std::string further_instructions();

// Activates another instruction set for kernels made from now on (not for those of the kernel library). For tests.
void force_isa_for_test(Isa isa);
// Sets in the same way whether dot products count as fast.
void force_bf16_dots_for_test(bool fast);

}  // namespace ridgeline::device
