// ridgeline/device/cpu/simd_targets.h
//
// Include before hwy/foreach_target.h: on x86-64 kernels are compiled for AVX2, AVX-512 and the emulated baseline only.
// Nobody trains on machines between the baseline and AVX2, and each target costs build time. On Arm they are compiled
// for NEON only (CMakeLists.txt says why).
#pragma once

#if defined(__x86_64__)
// Also without what newer Highways have above AVX3_DL (Zen 4, Sapphire Rapids): lower bits are better targets.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | (HWY_AVX3_DL - 1))
#endif
