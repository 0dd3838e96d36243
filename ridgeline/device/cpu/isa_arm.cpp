#include <hwy/highway.h>
#include <sys/auxv.h>

#include <fstream>
#include <string>
#include <vector>

#include "ridgeline/device/cpu/isa_machine.h"

namespace ridgeline::device {
namespace {

// Bits of the second word of capabilities by number: the headers of older systems have no names for all of them.
constexpr unsigned long kBf16 = 1ul << 14;
constexpr unsigned long kI8mm = 1ul << 13;
constexpr unsigned long kSve2 = 1ul << 1;

}  // namespace

std::span<const Isa> architecture_isas() {
  static constexpr Isa kAll[] = {Isa::neon, Isa::neon_bf16};
  return kAll;
}

// Every 64-bit Arm that Linux runs on has the first.
std::vector<Isa> detect_isas() {
  std::vector<Isa> isas{Isa::neon};
  if ((::getauxval(AT_HWCAP2) & kBf16) != 0) isas.push_back(Isa::neon_bf16);
  return isas;
}

std::string why_missing(Isa) { return ""; }

// Better targets are lower bits: above NEON are SVE's.
std::int64_t highway_targets_above(Isa isa) { return isa == Isa::neon ? HWY_NEON - 1 : 0; }

// On the Neoverse N2 matrices of bf16 are multiplied at the rate of f32 multiply-adds, by its maker's guide; nothing is
// known that has the instruction and is slower (docs/arm.md).
bool makers_dots_are_fast() { return true; }

// Arm's processors have numbers: maker, part and revision.
std::string processor_name() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  std::string number;
  return file >> number ? "Arm " + number : "";
}

std::string further_instructions() {
  struct Named {
    int which;
    unsigned long bit;
    const char* name;
  };
  constexpr Named kAll[] = {{AT_HWCAP, HWCAP_ASIMDDP, "dotprod"},
                            {AT_HWCAP, HWCAP_ASIMDHP, "fp16"},
                            {AT_HWCAP2, kI8mm, "i8mm"},
                            {AT_HWCAP, HWCAP_SVE, "sve"},
                            {AT_HWCAP2, kSve2, "sve2"}};
  std::string text;
  for (const Named& one : kAll) {
    if ((::getauxval(one.which) & one.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(one.name);
  }
  return text;
}

}  // namespace ridgeline::device
