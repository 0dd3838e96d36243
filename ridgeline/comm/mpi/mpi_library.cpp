#include "ridgeline/comm/mpi/mpi_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "ridgeline/core/error.h"

namespace ridgeline::comm {
namespace {

template <class Pointer>
void find(void* library, const char* name, Pointer& pointer) {
  pointer = reinterpret_cast<Pointer>(::dlsym(library, name));
  if (pointer == nullptr)
    throw Error(fmt::format("[ranks] the MPI of this system is not OpenMPI 4 or 5: it has no {}", name),
                ErrorKind::usage);
}

MpiLibrary load() {
  const char* named = std::getenv("RIDGELINE_MPI");
  const std::string name = named == nullptr || *named == '\0' ? "libmpi.so.40" : named;
  // Global: OpenMPI's own components need its symbols. Never unloaded: it leaves threads and handlers behind.
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr)
    throw Error(fmt::format("[ranks] MPI is asked for and not there (Debian: apt-get install openmpi-bin): {}; without "
                            "it ranks of one machine exchange over shared memory",
                            ::dlerror()),
                ErrorKind::usage);
  MpiLibrary mpi;
  mpi.library = library;
  find(library, "ompi_mpi_comm_world", mpi.world);
  find(library, "ompi_mpi_byte", mpi.byte);
  find(library, "ompi_mpi_errors_return", mpi.errors_return);
  find(library, "ompi_request_null", mpi.request_null);
  find(library, "MPI_Init_thread", mpi.init_thread);
  find(library, "MPI_Initialized", mpi.initialized);
  find(library, "MPI_Finalize", mpi.finalize);
  find(library, "MPI_Comm_rank", mpi.comm_rank);
  find(library, "MPI_Comm_size", mpi.comm_size);
  find(library, "MPI_Comm_dup", mpi.comm_dup);
  find(library, "MPI_Comm_set_errhandler", mpi.comm_set_errhandler);
  find(library, "MPI_Allgather", mpi.allgather);
  find(library, "MPI_Isend", mpi.isend);
  find(library, "MPI_Irecv", mpi.irecv);
  find(library, "MPI_Test", mpi.test);
  find(library, "MPI_Testsome", mpi.testsome);
  find(library, "MPI_Cancel", mpi.cancel);
  find(library, "MPI_Request_free", mpi.request_free);
  find(library, "MPI_Error_string", mpi.error_string);
  return mpi;
}

}  // namespace

void MpiLibrary::check(int code, const char* what) const {
  if (code == 0) return;
  std::array<char, kMpiTextBytes + 1> text{};
  int size = 0;
  error_string(code, text.data(), &size);
  throw Error(fmt::format("[ranks] MPI: {}: {}", what, text.data()));
}

const MpiLibrary& mpi_library() {
  static const MpiLibrary library = load();  // where it fails, the next call tries again
  return library;
}

}  // namespace ridgeline::comm
