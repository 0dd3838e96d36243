// ridgeline/device/cpu/isa.h
//
// Which instruction set the CPU kernels use: the best that machine and operating system have, or the one that
// RIDGELINE_ISA=avx2|avx512|avx512_bf16|amx forces. Chosen once a process, at the first question; own kernels (Highway)
// are limited to it here, the kernel library by its file. Any thread may ask.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ridgeline::device {

enum class Isa {
  avx2,         // x86-64-v3: AVX2, FMA, BMI
  avx512,       // F, BW, DQ, VL, CD
  avx512_bf16,  // and bf16 dot products
  amx,          // and bf16 tiles
};

// "avx2", "avx512", "avx512_bf16", "amx"
std::string_view name_of(Isa isa);

// Those that this machine can run, lowest first. Error on a machine without AVX2 and FMA.
std::span<const Isa> machine_isas();

// The one in force. The first call reads RIDGELINE_ISA: an unknown name, or one the machine lacks, is an Error.
Isa active_isa();

// As the processor calls itself: "Intel(R) Xeon(R) Processor"; "" where it does not say.
std::string processor_name();

// Puts another one in force for kernels that are made from now on (not for those of the kernel library). For tests.
void force_isa_for_test(Isa isa);

}  // namespace ridgeline::device
