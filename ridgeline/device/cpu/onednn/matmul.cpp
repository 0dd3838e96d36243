#include "ridgeline/graph/op/matmul.h"
#include "ridgeline/device/cpu/onednn/common.h"

namespace ridgeline::device {
namespace {

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

// `rows` x `columns` matrices, `steps` of them apart along the axes of the batch; stored transposed where `transposed`.
Desc matrices_desc(const MatmulForm& form, const std::vector<std::int64_t>& steps, std::int64_t rows,
                   std::int64_t columns, bool transposed, DType dtype) {
  dnnl::memory::dims extents, strides;
  for (std::size_t axis = 0; axis < steps.size(); ++axis) {
    const bool again = steps[axis] == 0;
    extents.push_back(again ? 1 : form.batch[axis]);
    strides.push_back(again ? rows * columns : steps[axis] * rows * columns);
  }
  extents.insert(extents.end(), {rows, columns});
  strides.insert(strides.end(), {transposed ? 1 : columns, transposed ? rows : 1});
  return {extents, type_of(dtype), strides};
}

}  // namespace

KernelChoice make_onednn_matmul(const KernelRequest& request) {
  return onednn_product(request, [&]() -> KernelChoice {
    const DType dtype = request.inputs[0].type.dtype;
    const MatmulForm form =
        matmul_form(request.inputs[0].type.shape, request.inputs[1].type.shape, request.node.attributes).merged();
    if (form.batch.size() + 2 > DNNL_MAX_NDIMS) return Refusal{"more axes than the library counts"};
    std::vector<std::int64_t> y_steps(form.batch.size(), 0);
    std::int64_t matrices = 1;
    for (std::size_t axis = y_steps.size(); axis-- > 0; matrices *= form.batch[axis]) y_steps[axis] = matrices;
    const Desc a = matrices_desc(form, form.a_steps, form.rows, form.depth, form.transpose_a, dtype);
    const Desc b = matrices_desc(form, form.b_steps, form.depth, form.columns, form.transpose_b, dtype);
    const Desc y = matrices_desc(form, y_steps, form.rows, form.columns, false, request.outputs[0].type.dtype);
    const dnnl::matmul::primitive_desc desc(onednn_engine(), a, b, y, user_scratchpad());
    if (speed_of(desc.impl_info_str()) == Speed::loops) return Refusal{"the library has nothing but plain loops"};
    auto kernel = std::make_unique<OnednnKernel>("matmul", desc.impl_info_str());
    kernel->add(dnnl::matmul(desc), desc.scratchpad_desc(),
                {{DNNL_ARG_SRC, a, OnednnKernel::Argument::input, 0},
                 {DNNL_ARG_WEIGHTS, b, OnednnKernel::Argument::input, 1},
                 {DNNL_ARG_DST, y, OnednnKernel::Argument::output, 0}});
    return kernel;
  });
}

}  // namespace ridgeline::device
