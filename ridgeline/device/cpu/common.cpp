#include "ridgeline/device/cpu/common.h"

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::device {

std::string own_name(std::string_view op) {
  return "own " + std::string(op) + (active_isa() == Isa::avx2 ? " avx2" : " avx3");
}

}  // namespace ridgeline::device
