#include <sys/auxv.h>

#include <fstream>
#include <string>
#include <vector>

#include "ridgeline/device/cpu/isa_machine.h"

namespace ridgeline::device {

std::span<const Isa> architecture_isas() {
  static constexpr Isa kAll[] = {Isa::neon};
  return kAll;
}

// Every 64-bit Arm that Linux runs on has it.
std::vector<Isa> detect_isas() { return {Isa::neon}; }

std::string why_missing(Isa) { return ""; }

std::int64_t highway_targets_above(Isa) { return 0; }

bool makers_dots_are_fast() { return false; }

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
  // The second word's bits by number: the headers of older systems have no names for all of them.
  constexpr Named kAll[] = {{AT_HWCAP, HWCAP_ASIMDDP, "dotprod"}, {AT_HWCAP, HWCAP_ASIMDHP, "fp16"},
                            {AT_HWCAP2, 1ul << 14, "bf16"},       {AT_HWCAP2, 1ul << 13, "i8mm"},
                            {AT_HWCAP, HWCAP_SVE, "sve"},         {AT_HWCAP2, 1ul << 1, "sve2"}};
  std::string text;
  for (const Named& one : kAll) {
    if ((::getauxval(one.which) & one.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(one.name);
  }
  return text;
}

}  // namespace ridgeline::device
