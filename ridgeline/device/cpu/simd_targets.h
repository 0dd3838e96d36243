// ridgeline/device/cpu/simd_targets.h
//
// Include before hwy/foreach_target.h: kernels are compiled for AVX2, AVX-512 and the emulated baseline only. Between
// the baseline and AVX2 lies no machine that anybody trains on, and each target costs build time.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
