#include "ridgeline/device/staged_copy.h"

#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/device/device.h"

namespace ridgeline {

SourceUse staged_copy(Stream& stream, const Copy& copy) {
  RIDGELINE_CHECK(copy.from_device != nullptr && copy.to_device != nullptr, "between two devices");
  std::vector<std::byte> host(copy.bytes);
  Stream& from = copy.from_device == &stream.device() ? stream : copy.from_device->stream();
  Stream& to = copy.to_device == &stream.device() ? stream : copy.to_device->stream();
  from.copy_to_host(host.data(), copy.from, copy.bytes);
  from.synchronize();
  to.copy_from_host(copy.to, host.data(), copy.bytes);
  if (&to != &stream) to.synchronize();
  return SourceUse::over;
}

}  // namespace ridgeline
