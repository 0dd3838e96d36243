#include "ridgeline/device/cuda/cudnn/functions.h"

#include "ridgeline/core/error.h"

namespace ridgeline::cuda::cudnn {
namespace {

template <class Function>
void resolve_into(Function& function, const Functions::Resolver& resolve, const char* name) {
  void* const address = resolve(name);
  if (address == nullptr) throw Error(std::string("cuDNN has no function ") + name + ": version 9 is needed");
  function = reinterpret_cast<Function>(address);
}

}  // namespace

Functions::Functions(const Resolver& resolve) {
  resolve_into(get_version_, resolve, "cudnnGetVersion");
  resolve_into(error_string_, resolve, "cudnnGetErrorString");
  resolve_into(last_error_, resolve, "cudnnGetLastErrorString");
  resolve_into(create, resolve, "cudnnCreate");
  resolve_into(destroy, resolve, "cudnnDestroy");
  resolve_into(set_stream, resolve, "cudnnSetStream");
  resolve_into(create_descriptor, resolve, "cudnnBackendCreateDescriptor");
  resolve_into(destroy_descriptor, resolve, "cudnnBackendDestroyDescriptor");
  resolve_into(finalize, resolve, "cudnnBackendFinalize");
  resolve_into(set_attribute, resolve, "cudnnBackendSetAttribute");
  resolve_into(get_attribute, resolve, "cudnnBackendGetAttribute");
  resolve_into(execute, resolve, "cudnnBackendExecute");
  version_ = static_cast<int>(get_version_());
  if (version_ / 10000 != 9) throw Error("cuDNN is version " + version_text() + ": version 9 is needed");
}

std::string Functions::version_text() const {
  if (version_ < 90000) return std::to_string(version_ / 1000) + "." + std::to_string(version_ / 100 % 10);
  return std::to_string(version_ / 10000) + "." + std::to_string(version_ / 100 % 100) + "." +
         std::to_string(version_ % 100);
}

void Functions::check(int status, const char* action) const {
  if (status == 0) return;
  char message[2048] = "";
  last_error_(message, sizeof message);
  std::string reason = error_string_(status);
  if (message[0] != '\0') reason += std::string(": ") + message;
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  for (char& c : reason) c = c == '\n' ? ' ' : c;
  throw Failure(std::string(action) + ": " + reason, status);
}

}  // namespace ridgeline::cuda::cudnn
