#include "ridgeline/device/cuda/driver/calls.h"

namespace ridgeline::cuda {
namespace {

// The driver's message for an error, or its number without one.
std::string described(Driver& driver, Result code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.error_name(code, &name) != result::kSuccess || name == nullptr) return "error " + std::to_string(code);
  if (driver.error_text(code, &text) != result::kSuccess || text == nullptr) return name;
  return std::string(name) + ": " + text;
}

}  // namespace

void Calls::fail(std::string_view call, std::string_view subject, Result code) {
  std::string message = "[cuda] " + std::string(call);
  if (!subject.empty()) message += " (" + std::string(subject) + ")";
  throw DriverError(message + ": " + described(*driver_, code), code);
}

}  // namespace ridgeline::cuda
