#include "ridgeline/device/cpu/isa.h"

#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/isa_machine.h"

namespace ridgeline::device {
namespace {

std::string list_of(std::span<const Isa> isas) {
  std::string text;
  for (Isa isa : isas) text += (text.empty() ? "" : ", ") + std::string(name_of(isa));
  return text;
}

void limit_highway(Isa isa) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~highway_targets_above(isa));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

Isa choose() {
  const std::span<const Isa> isas = machine_isas();
  const char* wanted = std::getenv("RIDGELINE_ISA");
  Isa isa = isas.back();
  if (wanted != nullptr && *wanted != '\0') {
    const std::span<const Isa> all = architecture_isas();
    const auto named = std::find_if(all.begin(), all.end(), [&](Isa i) { return name_of(i) == wanted; });
    if (named == all.end()) {
      throw Error("RIDGELINE_ISA is '" + std::string(wanted) + "' (allowed: " + list_of(all) + ")", ErrorKind::usage);
    }
    if (std::find(isas.begin(), isas.end(), *named) == isas.end()) {
      const std::string why = why_missing(*named);
      throw Error("RIDGELINE_ISA=" + std::string(wanted) + ", but this machine has only " + list_of(isas) +
                      (why.empty() ? "" : ": " + why),
                  ErrorKind::usage);
    }
    isa = *named;
  }
  limit_highway(isa);
  return isa;
}

std::atomic<Isa>& in_force() {
  static std::atomic<Isa> isa{choose()};
  return isa;
}

bool dots_are_fast() {
  const char* wanted = std::getenv("RIDGELINE_BF16_DOTS");
  if (wanted != nullptr && *wanted != '\0') {
    const std::string_view name(wanted);
    if (name == "fast") return true;
    if (name == "slow") return false;
    throw Error("RIDGELINE_BF16_DOTS is '" + std::string(name) + "' (allowed: fast, slow)", ErrorKind::usage);
  }
  return makers_dots_are_fast();
}

std::atomic<bool>& fast_dots() {
  static std::atomic<bool> fast{dots_are_fast()};
  return fast;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::neon: return "neon";
    case Isa::neon_bf16: return "neon_bf16";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::avx512_bf16: return "avx512_bf16";
    case Isa::amx: return "amx";
  }
  return "";
}

std::span<const Isa> machine_isas() {
  static const std::vector<Isa> isas = detect_isas();
  return isas;
}

Isa active_isa() { return in_force(); }

Isa vector_isa() {
  const Isa isa = active_isa();
  return isa == Isa::neon_bf16 ? Isa::neon : std::min(isa, Isa::avx512);
}

bool has_bf16_dots(Isa isa) { return isa == Isa::neon_bf16 || isa >= Isa::avx512_bf16; }

bool fast_bf16_dots() { return has_bf16_dots(active_isa()) && fast_dots(); }

// Arm's instruction does four times the products of a multiply-add at the same documented rate; packing its operands
// and storing sums takes nearly a fifth of the vector instructions (docs/arm.md).
int bf16_products_rate() {
  if (active_isa() == Isa::amx) return 8;
  if (!fast_bf16_dots()) return 1;
  return active_isa() == Isa::neon_bf16 ? 3 : 2;
}

void force_isa_for_test(Isa isa) {
  const std::span<const Isa> isas = machine_isas();
  RIDGELINE_CHECK(std::find(isas.begin(), isas.end(), isa) != isas.end(),
                  "the machine lacks " + std::string(name_of(isa)));
  in_force() = isa;
  limit_highway(isa);
}

void force_bf16_dots_for_test(bool fast) { fast_dots() = fast; }

}  // namespace ridgeline::device
