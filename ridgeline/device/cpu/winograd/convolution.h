// ridgeline/device/cpu/winograd/convolution.h
//
// A conv2d node as the Winograd kernels see it, the choice of its rule, and the reasons to leave it to another kernel.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/winograd/blocks.h"
#include "ridgeline/device/cpu/winograd/tiles.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device::winograd {

enum class Pass { forward, backward_data, backward_weights };

struct Convolution {
  Images image;   // x [N,H,W,C]
  Images result;  // y [N,OH,OW,K]
  std::int64_t taps = 0;
  std::int64_t stride = 1;
  std::int64_t top = 0;
  std::int64_t left = 0;

  // A strided convolution is computed in blocks of pixels; those of stride 1 are the pixels.
  Blocks blocks() const { return {image, taps, stride, top, left}; }
  std::int64_t channels() const { return blocks().channels(); }
  std::int64_t filters() const { return result.channels; }
  // Elements of the weights in blocks.
  std::int64_t blocked_weights() const { return filters() * blocks().wide() * blocks().wide() * channels(); }
  // The correlation that a pass divides into tiles, in blocks: the gradient of the image is the correlation of dy with
  // the rotated filters.
  Correlation correlation(Pass pass) const;
};

// Preferences of the caller other than the fastest: the tiles' sides, and kernels that are not known to be faster than
// the library's.
struct Wish {
  int m = 0;  // 0: those with the least estimated time
  bool only_where_faster = true;
  int n = 0;  // a second side, if tiles of m and of n rows and columns cover an image together
};

// What a kernel computes. The regions cover every result once; they are computed one after the other and share scratch
// memory.
struct Task {
  Convolution convolution;
  std::vector<Region> regions;

  // Makes Part(convolution, region, arguments, scratch) for each region, all at the same place in the scratch memory.
  template <class Part, class... Arguments>
  std::vector<Part> parts(Scratch& scratch, const Arguments&... arguments) const {
    std::vector<Part> made;
    Scratch most = scratch;
    for (const Region& region : regions) {
      Scratch own = scratch;
      made.emplace_back(convolution, region, arguments..., own);
      if (own.bytes() > most.bytes()) most = own;
    }
    scratch = most;
    return made;
  }
};

// A node over image x, weights w and result y (or the gradients in their places), or the reason why no kernel takes it.
std::variant<Task, Refusal> task_of(const KernelRequest& request, Pass pass, const ValueType& x, const ValueType& w,
                                    const ValueType& y, const Wish& wish);

// The passes of a node, and their kernels; refused if they do not match the preferences.
using WishedTask = std::variant<Task, Refusal>(const KernelRequest& request, const Wish& wish);
WishedTask forward_task, backward_data_task, backward_weights_task;
using WishedKernel = KernelChoice(const KernelRequest& request, const Wish& wish);
WishedKernel make_forward, make_pooled_forward, make_backward_data, make_backward_weights;

// Multiplications of the transformed tiles, as a share of those that the convolution's formula counts.
double multiplications_share(const Task& task, Pass pass);

// "own conv2d winograd F(4x4,3x3) avx3", with tiles of two sizes "F(5+4,3x3)"
std::string kernel_name(const KernelRequest& request, const Task& task);

// Maker<Pixel>(task, arguments...) for the images' type.
template <template <class> class Maker, class... Arguments>
std::unique_ptr<Kernel> kernel_for(const KernelRequest& request, Pass pass, const Task& task,
                                   const Arguments&... arguments) {
  std::unique_ptr<Kernel> kernel;
  if (request.inputs[0].type.dtype == DType::bf16) {
    kernel = std::make_unique<Maker<bfloat16>>(task, arguments...);
  } else {
    kernel = std::make_unique<Maker<float>>(task, arguments...);
  }
  kernel->name = kernel_name(request, task);
  kernel->flops_share = multiplications_share(task, pass);
  return kernel;
}

}  // namespace ridgeline::device::winograd
