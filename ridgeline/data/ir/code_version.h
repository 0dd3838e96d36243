// ridgeline/data/ir/code_version.h
//
// What code of the user's own is, as a number: another one where it may answer otherwise. Caches that outlive a run go
// by it, since graphs hold such code by its name alone. It comes with the registration (functions.h, generators.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline::data {

// A version that is not known, and why.
class UnknownCode : public Error {
 public:
  using Error::Error;
};

class CodeVersion {
 public:
  CodeVersion() = default;                           // not known: rows that the code made are not kept for later runs
  CodeVersion(std::uint64_t number);                 // NOLINT: the caller's own count
  CodeVersion(std::function<std::uint64_t()> tell);  // NOLINT: asked when a cache needs it; may throw an Error

  // Throws UnknownCode, which names `whose` ("function 'f'").
  std::uint64_t number(const std::string& whose) const;

 private:
  std::function<std::uint64_t()> tell_;
};

}  // namespace ridgeline::data
