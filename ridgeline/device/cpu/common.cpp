#include "ridgeline/device/cpu/common.h"

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::device {

std::string own_name(std::string_view op) {
  const Isa isa = vector_isa();
  return "own " + std::string(op) + (isa == Isa::neon ? " neon" : isa == Isa::avx2 ? " avx2" : " avx3");
}

}  // namespace ridgeline::device
