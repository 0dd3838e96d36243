// ridgeline/image/long_vectors.h
//
// Include before hwy/foreach_target.h where vectors stand in local variables only: on 64-bit Arm the file is then
// compiled for SVE of 256 bits, too, which Highway takes where the processor's vectors have that length. Vectors in
// arrays, structures and closures are refused by compilers, which do not know the length (CMakeLists.txt leaves SVE out
// of all other files). Where SVE has 128 bits NEON's vectors are as long.
#pragma once

#include <hwy/detect_targets.h>

#if defined(__aarch64__)
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE2_128)
#endif
