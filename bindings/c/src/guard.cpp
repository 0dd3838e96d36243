#include "bindings/c/src/guard.h"

#include <cstring>
#include <exception>
#include <new>

#include "ridgeline/core/unreachable_error.h"

namespace ridgeline::c {
namespace {

thread_local std::string last_text;

ridgeline_status failed(const char* function, const char* what, ridgeline_status status) noexcept {
  try {
    last_text = std::string(function) + ": " + what;
  } catch (...) {
    last_text.clear();  // no memory for the message
  }
  return status;
}

}  // namespace

const char* last_error() noexcept { return last_text.c_str(); }

ridgeline_status guarded(const char* function, FunctionRef<ridgeline_status()> body) noexcept {
  try {
    return body();
  } catch (const UnreachableError& e) {
    return failed(function, e.what(), RIDGELINE_UNREACHABLE);
  } catch (const Error& e) {
    return failed(function, e.what(), e.kind() == ErrorKind::usage ? RIDGELINE_USAGE : RIDGELINE_FAILURE);
  } catch (const std::bad_alloc&) {
    return failed(function, "not enough memory", RIDGELINE_INTERNAL);
  } catch (const std::exception& e) {
    return failed(function, e.what(), RIDGELINE_INTERNAL);
  } catch (...) {
    return failed(function, "unknown failure", RIDGELINE_INTERNAL);
  }
}

void require(const void* argument, const char* name) {
  if (!argument) throw Error(std::string(name) + " is NULL", ErrorKind::usage);
}

void put_text(const std::string& text, char* buffer, size_t capacity, size_t* size) {
  if (size) *size = text.size();
  if (!buffer) {
    if (!size) throw Error("buffer and size are both NULL", ErrorKind::usage);
    return;
  }
  if (capacity <= text.size())
    throw Error(
        "the buffer has " + std::to_string(capacity) + " bytes, the text needs " + std::to_string(text.size() + 1),
        ErrorKind::usage);
  std::memcpy(buffer, text.c_str(), text.size() + 1);
}

}  // namespace ridgeline::c
