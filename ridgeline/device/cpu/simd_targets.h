// ridgeline/device/cpu/simd_targets.h
//
// Include before hwy/foreach_target.h: on x86-64 kernels are compiled for AVX2, AVX-512 and the emulated baseline only.
// Nobody trains on machines between the baseline and AVX2, and each target costs build time. What no kernel of the
// project is compiled for, on x86-64 and on Arm, CMakeLists.txt says.
#pragma once

#if defined(__x86_64__)
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | (HWY_AVX3_DL - 1))
#endif
