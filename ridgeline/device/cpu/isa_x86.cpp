#include <cpuid.h>
#include <hwy/highway.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/isa_machine.h"

namespace ridgeline::device {
namespace {

// Why tiles cannot be used here; empty where they can. They need the processor's bf16 tiles, an operating system that
// saves them (bits 17 and 18 of XCR0), and its permission, which a process must request: from then on the memory for
// signal handlers must hold the tiles, too.
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

}  // namespace

std::span<const Isa> architecture_isas() {
  static constexpr Isa kAll[] = {Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};
  return kAll;
}

std::vector<Isa> detect_isas() {
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

std::string why_missing(Isa isa) { return isa == Isa::amx ? amx_missing_once() : ""; }

// Highway's AVX-512 targets, of which newer versions have more, are one for us; bf16 and tile kernels are files of their
// own. Its better targets are lower bits.
std::int64_t highway_targets_above(Isa isa) { return isa == Isa::avx2 ? HWY_AVX2 - 1 : 0; }

// Zen 4 and 5 do a dot product of two pairs in the time of a multiply-add, so twice the products; Intel's processors
// take four times as long, so half the products.
bool makers_dots_are_fast() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
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

std::string further_instructions() { return ""; }

}  // namespace ridgeline::device
