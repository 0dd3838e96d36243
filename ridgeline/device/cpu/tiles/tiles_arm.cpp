#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

const TileCode* machine_tile_code(Tiles) { return nullptr; }

}  // namespace ridgeline::device::tiles
