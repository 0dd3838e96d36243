#include "ridgeline/device/cpu/isa.h"

#include <cpuid.h>
#include <hwy/highway.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::device {
namespace {

constexpr Isa kAll[] = {Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};

// Why tiles cannot be used here; empty where they can. They need the processor's bf16 tiles, an operating system that
// saves them (bits 17 and 18 of XCR0), and its permission, which is given to a process once it has asked: the memory
// for signal handlers must hold the tiles, too, from then on.
std::string amx_missing() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxBf16 = 1u << 22;
  constexpr unsigned kAmxTile = 1u << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kAmxBf16) || !(d & kAmxTile)) {
    return "the processor has no bf16 tiles";
  }
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return "the operating system does not save the tiles";
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTileState = 3u << 17;
  if ((low & kTileState) != kTileState) return "the operating system does not save the tiles";
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  if (::syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) {
    return "the operating system gives no permission for the tiles: " + std::string(std::strerror(errno));
  }
  return "";
}

// Asked once a process: permission is the process's.
const std::string& amx_missing_once() {
  static const std::string missing = amx_missing();
  return missing;
}

std::vector<Isa> detect() {
  std::vector<Isa> isas;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) {
    throw Error("this processor has no AVX2 and FMA instructions; Ridgeline needs an x86-64-v3 machine");
  }
  isas.push_back(Isa::avx2);
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512cd")) {
    return isas;
  }
  isas.push_back(Isa::avx512);
  if (!__builtin_cpu_supports("avx512bf16")) return isas;
  isas.push_back(Isa::avx512_bf16);
  if (amx_missing_once().empty()) isas.push_back(Isa::amx);
  return isas;
}

std::string list_of(std::span<const Isa> isas) {
  std::string text;
  for (Isa isa : isas) text += (text.empty() ? "" : ", ") + std::string(name_of(isa));
  return text;
}

// Highway has one AVX-512 target for all of ours; bf16 and tile kernels are files of their own.
void limit_highway(Isa isa) {
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t above = isa == Isa::avx2 ? (HWY_AVX3 | HWY_AVX3_DL) : 0;
  hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~above);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

Isa choose() {
  const std::span<const Isa> isas = machine_isas();
  const char* wanted = std::getenv("RIDGELINE_ISA");
  Isa isa = isas.back();
  if (wanted != nullptr && *wanted != '\0') {
    const auto named = std::find_if(std::begin(kAll), std::end(kAll), [&](Isa i) { return name_of(i) == wanted; });
    if (named == std::end(kAll)) {
      throw Error("RIDGELINE_ISA is '" + std::string(wanted) + "' (allowed: " + list_of(kAll) + ")", ErrorKind::usage);
    }
    if (std::find(isas.begin(), isas.end(), *named) == isas.end()) {
      const std::string why = *named == Isa::amx && !amx_missing_once().empty() ? ": " + amx_missing_once() : "";
      throw Error("RIDGELINE_ISA=" + std::string(wanted) + ", but this machine has only " + list_of(isas) + why,
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

// Zen 4 and 5 make a dot product of two pairs in the time of a multiply-add, twice the products; Intel's processors
// take four times as long for it, half the products.
bool dots_are_fast() {
  const char* wanted = std::getenv("RIDGELINE_BF16_DOTS");
  if (wanted != nullptr && *wanted != '\0') {
    const std::string_view name(wanted);
    if (name == "fast") return true;
    if (name == "slow") return false;
    throw Error("RIDGELINE_BF16_DOTS is '" + std::string(name) + "' (allowed: fast, slow)", ErrorKind::usage);
  }
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

std::atomic<bool>& fast_dots() {
  static std::atomic<bool> fast{dots_are_fast()};
  return fast;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::avx512_bf16: return "avx512_bf16";
    case Isa::amx: return "amx";
  }
  return "";
}

std::span<const Isa> machine_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

Isa active_isa() { return in_force(); }

bool fast_bf16_dots() { return active_isa() >= Isa::avx512_bf16 && fast_dots(); }

int bf16_products_rate() {
  if (active_isa() == Isa::amx) return 8;
  return fast_bf16_dots() ? 2 : 1;
}

std::string processor_name() {
  constexpr unsigned kFirst = 0x80000002;
  unsigned words[12] = {};
  for (unsigned i = 0; i < 3; ++i) {
    if (!__get_cpuid(kFirst + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3])) return "";
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  const std::string name(text);
  return name.substr(std::min(name.find_first_not_of(' '), name.size()));
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
