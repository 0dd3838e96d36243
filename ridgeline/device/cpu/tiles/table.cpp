#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/tiles/halves.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"
#include "ridgeline/device/cpu/tiles/patches.h"

namespace ridgeline::device {
namespace tiles {
namespace {

// ---- where the instruction set in force is amx

template <KernelOnTiles* kMake>
KernelChoice on_registers(const KernelRequest& request) {
  return kMake(request, Tiles::amx);
}

template <KernelOnTiles* kMake>
constexpr KernelEntry amx(std::string_view op, std::string_view name = "amx", KernelSpeed speed = speeds::kTiles) {
  return own_entry(op, name, on_registers<kMake>,
                   {.storage = kFloatOrHalf, .speed = speed, .promise = kSameForAnyTeam});  // results and biases of f32
}

// ---- by dot products, where these are fast and the instruction set in force has no tiles

template <KernelOnTiles* kMake>
KernelChoice on_dots(const KernelRequest& request) {
  if (active_isa() == Isa::amx) return Refusal{"tiles multiply faster than dot products"};
  if (!fast_bf16_dots())
    return Refusal{"no bf16 dot products, or slower ones than f32's, under the instruction set in force"};
  return kMake(request, Tiles::dots);
}

bool first_layer(const Convolution& c) { return Patches::wanted(c.group_channels()); }
bool strided(const Convolution& c) { return c.window.stride != Pair{1, 1}; }
std::int64_t results(const Convolution& c) { return c.result.size[0] * c.result.size[1]; }
bool few_taps(const Convolution& c) {
  return first_layer(c) && c.taps() * c.group_channels() < speeds::kLeastFirstLayerTaps;
}

bool library_forward(const Convolution& c) { return !first_layer(c) || few_taps(c); }
// Most pixels of a strided 1x1 convolution's image have no gradient.
bool library_backward_data(const Convolution& c) { return !first_layer(c) && !(c.taps() == 1 && strided(c)); }
bool library_backward_weights(const Convolution& c) {
  if (first_layer(c)) return few_taps(c) && !(strided(c) && c.group_channels() > speeds::kMostLibraryStridedChannels);
  return c.taps() > 1 && !strided(c) && results(c) <= speeds::kMostLibraryResults;
}

// Whether that was measured for such convolutions.
bool known(const Convolution& c) { return c.groups == 1 && c.window.dilation == Pair{1, 1}; }

double share_of(const Convolution& c, bool (*library)(const Convolution&)) {
  return known(c) && library(c) ? speeds::kDots.elsewhere : 1;
}

double forward_share(const KernelRequest& request) {
  const auto &x = request.inputs[0].type, &w = request.inputs[1].type, &y = request.outputs[0].type;
  return share_of(convolution_of(request, x, w, y), library_forward);
}
double backward_data_share(const KernelRequest& request) {
  const auto &dy = request.inputs[0].type, &w = request.inputs[1].type, &dx = request.outputs[0].type;
  return share_of(convolution_of(request, dx, w, dy), library_backward_data);
}
double backward_weights_share(const KernelRequest& request) {
  const auto &x = request.inputs[0].type, &dy = request.inputs[1].type, &dw = request.outputs[0].type;
  return share_of(convolution_of(request, x, dw, dy), library_backward_weights);
}

template <KernelOnTiles* kMake>
constexpr KernelEntry dots(std::string_view op, KernelShare* share = nullptr) {
  return own_entry(op, "dots", on_dots<kMake>,
                   {.storage = kFloatOrHalf, .speed = speeds::kDots, .share = share, .promise = kSameForAnyTeam});
}

// ---- three products on bf16 tiles for one of f32; only where that is asked for

KernelChoice halves_forward(const KernelRequest& request) {
  return unless_few(make_halves_forward(request, Tiles::amx), request.inputs[0].type, request.inputs[1].type,
                    request.outputs[0].type, speeds::kLeastHalvesProducts);
}
KernelChoice halves_backward_data(const KernelRequest& request) {
  return unless_few(make_halves_backward_data(request, Tiles::amx), request.outputs[0].type, request.inputs[1].type,
                    request.inputs[0].type, speeds::kLeastHalvesProducts);
}
KernelChoice halves_backward_weights(const KernelRequest& request) {
  return unless_few(make_halves_backward_weights(request, Tiles::amx), request.inputs[0].type, request.outputs[0].type,
                    request.inputs[1].type, speeds::kLeastHalvesGradientProducts);
}

constexpr KernelEntry halves(std::string_view op, KernelFactory* factory) {
  return own_entry(op, "amx_bf16x3", factory,
                   {.speed = speeds::kHalves, .promise = {Reproducibility::deterministic, false, kBf16x3}});
}

constexpr KernelEntry kTable[] = {
    amx<make_blocks_forward>("conv2d", "amx_blocks", speeds::kTileBlocks),
    amx<make_forward>("conv2d"),
    dots<make_forward>("conv2d", forward_share),
    halves("conv2d", halves_forward),
    amx<make_pooled_blocks_forward>("conv2d_max_pool", "amx_blocks", speeds::kTileBlocks),
    amx<make_pooled_forward>("conv2d_max_pool"),
    dots<make_pooled_forward>("conv2d_max_pool"),
    amx<make_backward_data>("conv2d_bwd_data"),
    dots<make_backward_data>("conv2d_bwd_data", backward_data_share),
    halves("conv2d_bwd_data", halves_backward_data),
    amx<make_backward_weights>("conv2d_bwd_weights"),
    dots<make_backward_weights>("conv2d_bwd_weights", backward_weights_share),
    halves("conv2d_bwd_weights", halves_backward_weights),
    amx<make_pooled_backward_data>("conv2d_max_pool_bwd_data"),
    dots<make_pooled_backward_data>("conv2d_max_pool_bwd_data"),
    amx<make_pooled_backward_weights>("conv2d_max_pool_bwd_weights"),
    dots<make_pooled_backward_weights>("conv2d_max_pool_bwd_weights"),
    amx<make_dense_forward>("dense"),
    dots<make_dense_forward>("dense"),
    halves("dense", on_registers<make_halves_dense_forward>),
    amx<make_dense_backward_data>("dense_bwd_data"),
    dots<make_dense_backward_data>("dense_bwd_data"),
    halves("dense_bwd_data", on_registers<make_halves_dense_backward_data>),
    amx<make_dense_backward_weights>("dense_bwd_weights"),
    dots<make_dense_backward_weights>("dense_bwd_weights"),
    halves("dense_bwd_weights", on_registers<make_halves_dense_backward_weights>),
    amx<make_dense_update>("dense_update"),
    dots<make_dense_update>("dense_update"),
};

}  // namespace
}  // namespace tiles

std::span<const KernelEntry> tile_kernels() { return tiles::kTable; }

}  // namespace ridgeline::device
