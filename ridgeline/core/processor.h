// ridgeline/core/processor.h
//
// What needs an instruction of the processor itself: how the calling thread treats subnormal numbers, and a hint that
// it waits. One implementation for each architecture that the project supports.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#error "Ridgeline runs on x86-64 and on 64-bit Arm"
#endif

namespace ridgeline {

// The floating-point control register of a thread: MXCSR or FPCR.
using FloatMode = std::uint64_t;

#if defined(__x86_64__)

// Subnormal operands and results are taken for zero: DAZ and FTZ.
constexpr FloatMode kFlushSubnormals = 0x8040;

inline FloatMode float_mode() { return _mm_getcsr(); }
inline void set_float_mode(FloatMode mode) { _mm_setcsr(static_cast<unsigned>(mode)); }

// Tells the processor that the thread polls one memory location.
inline void pause_while_waiting() { _mm_pause(); }

#else

// FZ, for f32 and f64. Those of f16 are kept, as x86 keeps them when it converts.
constexpr FloatMode kFlushSubnormals = std::uint64_t{1} << 24;

inline FloatMode float_mode() {
  FloatMode mode = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
// The memory clobber keeps the compiler from moving loads and stores across this instruction.
inline void set_float_mode(FloatMode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }

inline void pause_while_waiting() { __asm__ volatile("yield" : : : "memory"); }

#endif

}  // namespace ridgeline
