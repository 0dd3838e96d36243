// ridgeline/comm/mpi/mpi_library.h
//
// OpenMPI, loaded when it is first needed: building does not need it, and programs run without it.
//
// Its handles are addresses of its own symbols (ompi_mpi_comm_world and so on) and its functions take them as pointers,
// in 4.x and 5.x alike (libmpi.so.40); another MPI has other handles and is refused by its missing symbols.
#pragma once

#include <string>

namespace ridgeline::comm {

struct MpiLibrary {
  using Handle = void*;

  int (*init_thread)(int*, char***, int wanted, int* provided) = nullptr;
  int (*initialized)(int*) = nullptr;
  int (*finalize)() = nullptr;
  int (*comm_rank)(Handle comm, int*) = nullptr;
  int (*comm_size)(Handle comm, int*) = nullptr;
  int (*comm_dup)(Handle comm, Handle*) = nullptr;
  int (*comm_set_errhandler)(Handle comm, Handle) = nullptr;
  int (*allgather)(const void*, int, Handle type, void*, int, Handle type_out, Handle comm) = nullptr;
  int (*isend)(const void*, int count, Handle type, int to, int tag, Handle comm, Handle* request) = nullptr;
  int (*irecv)(void*, int count, Handle type, int from, int tag, Handle comm, Handle* request) = nullptr;
  int (*test)(Handle* request, int* done, void* status) = nullptr;
  int (*testsome)(int, Handle* requests, int* done, int* indices, void* statuses) = nullptr;
  int (*cancel)(Handle* request) = nullptr;
  int (*request_free)(Handle* request) = nullptr;
  int (*error_string)(int code, char* text, int* size) = nullptr;
  Handle world = nullptr, byte = nullptr, errors_return = nullptr, request_null = nullptr;
  void* library = nullptr;  // for benchmarks that compare with MPI

  // If `code` is not success, an Error that says what failed and why.
  void check(int code, const char* what) const;
};

inline constexpr int kMpiAnySource = -1;
inline constexpr int kMpiThreadSerialized = 2;
inline constexpr int kMpiUndefined = -32766;
inline constexpr void* kMpiIgnoreStatus = nullptr;
// The largest number of characters that error_string gives.
inline constexpr int kMpiTextBytes = 256;

// RIDGELINE_MPI names another file than libmpi.so.40. An Error (kind usage) if there is none, or it is another MPI.
const MpiLibrary& mpi_library();

}  // namespace ridgeline::comm
