// Functions that the portable extension's objects need and glibc 2.28 does not have (link.py), since they are compiled
// with the headers of a later glibc. They are not visible outside the extension, and no other build has them. Unused
// ones cost nothing: --gc-sections removes them.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Since glibc 2.33 these are functions of the library. Before, each program contained its own, which passed the version
// of the structure to the library; later libraries still have the functions that those call.
#if defined(__x86_64__)
enum { kStatVersion = 1 };
#elif defined(__aarch64__)
enum { kStatVersion = 0 };
#endif
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int descriptor, struct stat* status);
int __fxstat64(int version, int descriptor, struct stat64* status);

int stat(const char* restrict path, struct stat* restrict status) { return __xstat(kStatVersion, path, status); }
int lstat(const char* restrict path, struct stat* restrict status) { return __lxstat(kStatVersion, path, status); }
int fstat(int descriptor, struct stat* status) { return __fxstat(kStatVersion, descriptor, status); }
int fstat64(int descriptor, struct stat64* status) { return __fxstat64(kStatVersion, descriptor, status); }

// Each library also has its own of these, so that its registrations end when it is unloaded.
extern void* __dso_handle __attribute__((visibility("hidden")));
int __cxa_atexit(void (*function)(void*), void* argument, void* library);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void* library);

static void call(void* function) { ((void (*)(void))function)(); }
int atexit(void (*function)(void)) { return __cxa_atexit(call, (void*)function, &__dso_handle); }
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return __register_atfork(prepare, parent, child, &__dso_handle);
}

// glibc 2.32: shared pointers count without atomic instructions while the process is single-threaded. Here it is never
// treated as single-threaded.
char __libc_single_threaded = 0;

// glibc 2.30: waits by the monotonic clock. This version converts the deadline to the realtime clock, as the C++
// library did before: its callers check their own clock when they wake.
typedef int (*ClockWait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

static ClockWait clock_wait_of_system;

int pthread_cond_clockwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex, clockid_t clock,
                           const struct timespec* restrict deadline) {
  if (clock_wait_of_system != NULL) return clock_wait_of_system(condition, mutex, clock, deadline);
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, deadline);
  struct timespec now, today;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &today) != 0) return EINVAL;
  const int64_t kSecond = 1000000000;
  int64_t seconds = (int64_t)deadline->tv_sec - now.tv_sec;
  if (seconds < 0) return ETIMEDOUT;
  if (seconds > INT32_MAX) seconds = INT32_MAX;  // 68 years, so that the sum below does not overflow
  const int64_t nanoseconds = (int64_t)deadline->tv_nsec - now.tv_nsec + today.tv_nsec + kSecond;  // 0 or more
  today.tv_sec += seconds - 1 + nanoseconds / kSecond;
  today.tv_nsec = nanoseconds % kSecond;
  return pthread_cond_timedwait(condition, mutex, &today);
}

// glibc 2.34, by a system call of Linux 5.9, which RHEL 8 and Ubuntu 20.04 do not have.
int close_range(unsigned first, unsigned last, int flags) {
#ifdef SYS_close_range
  const long done = syscall(SYS_close_range, first, last, flags);
  if (done == 0 || errno != ENOSYS) return (int)done;
#endif
  if (flags != 0) {
    errno = EINVAL;
    return -1;
  }
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  for (rlim_t descriptor = first; descriptor <= last && descriptor < limit.rlim_cur; ++descriptor) {
    close((int)descriptor);
  }
  return 0;
}

// glibc 2.36, used by std::random_device of the C++ library.
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();  // as in glibc
  return number;
}

// Debian's static libjpeg and libpng are compiled for programs, which may contain a copy of stderr; an extension may
// not. In the portable build, stderr is renamed to this (scripts/portable_libraries.sh).
FILE* ridgeline_stderr;

__attribute__((constructor(101))) static void before_all_others(void) {
  ridgeline_stderr = stderr;
  clock_wait_of_system = (ClockWait)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
}
