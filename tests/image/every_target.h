// tests/image/every_target.h
//
// Runs a test's body under each instruction set that this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace ridgeline::image::test {

template <class Body>
void on_every_target(Body body) {
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace ridgeline::image::test
