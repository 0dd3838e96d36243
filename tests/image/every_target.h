// tests/image/every_target.h
//
// Runs the body of a test under each instruction set of this machine.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace ridgeline::image::test {

template <class Body>
void on_every_target(Body body) {
  // Some files are also compiled for AVX3_DL; the others use AVX3 on such a machine.
  for (std::int64_t left = hwy::SupportedTargets() & (HWY_TARGETS | HWY_AVX3_DL); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target == HWY_AVX3_DL ? target | HWY_AVX3 : target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace ridgeline::image::test
