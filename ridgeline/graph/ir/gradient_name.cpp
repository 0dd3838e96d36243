#include "ridgeline/graph/ir/gradient_name.h"

namespace ridgeline {
namespace {

constexpr char kEnding[] = "/grad";

}  // namespace

std::string gradient_name(const std::string& forward, int n) {
  return forward + kEnding + (n == 0 ? "" : "_" + std::to_string(n));
}

std::string forward_name(const std::string& name, FunctionRef<bool(const std::string&)> known) {
  for (std::size_t at = name.rfind(kEnding); at != std::string::npos && at > 0; at = name.rfind(kEnding, at - 1)) {
    std::string forward = name.substr(0, at);
    if (known(forward)) return forward;
  }
  return "";
}

}  // namespace ridgeline
