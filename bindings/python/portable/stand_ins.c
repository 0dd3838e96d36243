// What the objects of the portable extension ask for and glibc 2.28 does not have (link.py). They were compiled with the
// headers of a later glibc, which promise more. Nothing of this is visible outside of the extension, and no other build
// holds it. A name that is no longer asked for costs nothing: --gc-sections leaves it out.

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

// glibc 2.33 made these functions of the library. Before, each program held its own, which told the library the version
// of the structure; later libraries still have what those call.
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

// Each library has its own of these, too, so that what it registers goes with it when it is unloaded.
extern void* __dso_handle __attribute__((visibility("hidden")));
int __cxa_atexit(void (*function)(void*), void* argument, void* library);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void* library);

static void call(void* function) { ((void (*)(void))function)(); }
int atexit(void (*function)(void)) { return __cxa_atexit(call, (void*)function, &__dso_handle); }
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return __register_atfork(prepare, parent, child, &__dso_handle);
}

// glibc 2.32: shared pointers count without atomic instructions while the process has one thread. Here it never counts
// as such.
char __libc_single_threaded = 0;

// glibc 2.30: waits by the clock that never jumps. Where it is missing, the deadline is turned into one of the clock of
// the day, as the C++ library did in its time: its callers look at their own clock when they wake.
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
  if (seconds > INT32_MAX) seconds = INT32_MAX;  // 68 years: the sum below stays a time
  const int64_t nanoseconds = (int64_t)deadline->tv_nsec - now.tv_nsec + today.tv_nsec + kSecond;  // 0 and more
  today.tv_sec += seconds - 1 + nanoseconds / kSecond;
  today.tv_nsec = nanoseconds % kSecond;
  return pthread_cond_timedwait(condition, mutex, &today);
}

// glibc 2.34, over a call of Linux 5.9, which RHEL 8 and Ubuntu 20.04 do not have.
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

// glibc 2.36: what the C++ library's std::random_device asks.
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();  // by glibc's own rule, too
  return number;
}

// Debian's archives of libjpeg and libpng were compiled for programs, which may hold a copy of stderr. An extension may
// not: there its name is this one (scripts/portable_libraries.sh).
FILE* ridgeline_stderr;

__attribute__((constructor(101))) static void before_all_others(void) {
  ridgeline_stderr = stderr;
  clock_wait_of_system = (ClockWait)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
}
