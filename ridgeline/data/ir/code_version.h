// ridgeline/data/ir/code_version.h
//
// A version number of user code, which must change when the code may give other results. Caches that outlive a run
// depend on it, since graphs refer to such code only by name. It is given at registration (functions.h, generators.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline::data {

// The version is not known; the message says why.
class UnknownCode : public Error {
 public:
  using Error::Error;
};

class CodeVersion {
 public:
  CodeVersion() = default;                           // unknown: rows that the code made are not kept for later runs
  CodeVersion(std::uint64_t number);                 // NOLINT: a number that the caller maintains
  CodeVersion(std::function<std::uint64_t()> tell);  // NOLINT: asked when a cache needs it; may throw an Error

  // Throws UnknownCode, which names `whose` ("function 'f'").
  std::uint64_t number(const std::string& whose) const;

 private:
  std::function<std::uint64_t()> tell_;
};

}  // namespace ridgeline::data
