#include <cstdio>
#include <filesystem>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/saved_model_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/onnx.h"
#include "ridgeline/train/recipe/saved_model.h"

namespace ridgeline::cli {

int export_command(const Words& words) {
  Command app("write a trained model into one file: graph, weights, preprocessing and class names", "export");
  train::Recipe recipe;
  std::string out;
  std::int64_t batch_size = 1;
  add_saved_model_flags(app, recipe);
  app.option("--out", out, "file to write: *.rdgm, or *.onnx for ONNX").required();
  app.option("--batch_size", batch_size, "batch size in the file; programs that load it may choose another");
  if (!app.parse(words)) return 0;
  if (batch_size < 1)
    throw Error("--batch_size=" + std::to_string(batch_size) + " is out of range (allowed: 1 or more)",
                ErrorKind::usage);
  const std::string ending = std::filesystem::path(out).extension().string();
  if (!ending.empty() && ending != ".rdgm" && ending != ".onnx")  // none: a device, a pipe
    throw Error("--out=" + out + " must end in .rdgm or .onnx", ErrorKind::usage);
  infer::Model model = train::saved_model(recipe);
  model.graph = infer::with_batch_size(model.graph, batch_size);
  if (ending == ".onnx")
    infer::write_onnx(out, model);
  else
    infer::write_model(out, model);
  std::size_t bytes = 0;
  for (const NamedTensor& tensor : model.tensors) bytes += tensor.tensor.byte_size();
  std::printf("%s: %s, %zu tensors, %.1f MB, %zu class names\n", printable(out).c_str(), model.name.c_str(),
              model.tensors.size(), static_cast<double>(bytes) / 1e6, model.class_names.size());
  return 0;
}

}  // namespace ridgeline::cli
