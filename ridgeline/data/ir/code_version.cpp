#include "ridgeline/data/ir/code_version.h"

#include <utility>

namespace ridgeline::data {

CodeVersion::CodeVersion(std::uint64_t number) : tell_([number] { return number; }) {}
CodeVersion::CodeVersion(std::function<std::uint64_t()> tell) : tell_(std::move(tell)) {}

std::uint64_t CodeVersion::number(const std::string& whose) const {
  if (!tell_)
    throw UnknownCode(whose + " was registered without a version: give one, and another whenever its code changes",
                      ErrorKind::usage);
  try {
    return tell_();
  } catch (const Error& e) {
    throw UnknownCode(whose + ": " + e.what(), e.kind());
  }
}

}  // namespace ridgeline::data
