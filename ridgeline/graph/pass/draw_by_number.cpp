#include "ridgeline/graph/pass/draw_by_number.h"

#include "ridgeline/core/random.h"

namespace ridgeline {

void draw_by_number(Node& node, std::int64_t number) {
  if (number == 0 || !node.attributes.has("key")) return;
  const auto key = static_cast<std::uint64_t>(node.attributes.integer("key"));
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(key >> shift & 0xff);
  node.attributes.set("key", static_cast<std::int64_t>(hash64(bytes, static_cast<std::uint64_t>(number))));
}

}  // namespace ridgeline
