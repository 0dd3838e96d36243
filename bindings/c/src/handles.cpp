#include "bindings/c/src/handles.h"

#include <atomic>
#include <string>

namespace ridgeline::c {
namespace {

constexpr std::uintptr_t kTagBits = 3;
constexpr std::uintptr_t kTagMask = (1 << kTagBits) - 1;

// Handles begin after the first page and stay far below any mapped memory.
std::atomic<std::uintptr_t> counter{std::uintptr_t{1} << 12};

const char* name_of_tag(std::uintptr_t tag) {
  switch (tag) {
    case Kind<data::Dataset>::tag: return Kind<data::Dataset>::name;
    case Kind<bindings::Run>::tag: return Kind<bindings::Run>::name;
    case Kind<HeldColumns>::tag: return Kind<HeldColumns>::name;
    case Kind<HeldModel>::tag: return Kind<HeldModel>::name;
    default: return nullptr;
  }
}

}  // namespace

std::uintptr_t next_handle(std::uintptr_t tag) { return (counter.fetch_add(1) << kTagBits) | tag; }

void refuse_handle(std::uintptr_t handle, std::uintptr_t tag, const char* name) {
  const std::string wanted = std::string("the ") + name;
  if (handle == 0) throw Error(wanted + " is NULL", ErrorKind::usage);
  const std::uintptr_t number = handle >> kTagBits;
  const char* given = name_of_tag(handle & kTagMask);
  if (number < (1u << 12) || number >= counter.load() || !given)
    throw Error(wanted + " is no handle that this library gave", ErrorKind::usage);
  if ((handle & kTagMask) != tag) throw Error(wanted + " is the handle of a " + given, ErrorKind::usage);
  throw Error(wanted + " has been freed", ErrorKind::usage);
}

}  // namespace ridgeline::c
