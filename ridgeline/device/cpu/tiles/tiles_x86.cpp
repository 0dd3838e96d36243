#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

const TileCode* machine_tile_code(Tiles tiles) {
  switch (tiles) {
    case Tiles::amx: return &amx_tile_code();
    case Tiles::dots: return &dot_tile_code();
    case Tiles::scalar: break;
  }
  return nullptr;
}

}  // namespace ridgeline::device::tiles
