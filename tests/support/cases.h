// tests/support/cases.h
//
// Small unusual folders and files, kept outside the repository (HACKING.md, Test data).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace ridgeline::testing {

// A folder of RIDGELINE_CASES, or "" if there is none; then a test skips and says so.
inline std::string case_path(const std::string& name) {
  const char* cases = std::getenv("RIDGELINE_CASES");
  return cases == nullptr || *cases == '\0' ? std::string() : std::string(cases) + "/" + name;
}

}  // namespace ridgeline::testing

#define SKIP_WITHOUT_CASES() \
  if (::ridgeline::testing::case_path("").empty()) GTEST_SKIP() << "RIDGELINE_CASES does not name the folder of cases"
