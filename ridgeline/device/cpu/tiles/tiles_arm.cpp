#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

const TileCode* machine_tile_code(Tiles tiles) { return tiles == Tiles::dots ? &dot_tile_code() : nullptr; }

}  // namespace ridgeline::device::tiles
