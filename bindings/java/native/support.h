// bindings/java/native/support.h
//
// What the two native libraries share: arrays and texts on their way between Java and C, failures as exceptions.
// Functions that say "pending" leave a Java exception in `env`, and the caller returns at once.
#pragma once

#include <jni.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "bindings/c/ridgeline_types.h"

namespace ridgeline::java {

// A RidgelineException is pending afterwards; `words` are UTF-8.
void fail(JNIEnv* env, ridgeline_status status, const char* words);
// The words of this thread's last failure: each of the two libraries defines it by its C interface.
const char* last_error();
// False, with a RidgelineException pending, where `status` of a call just made is a failure.
bool good(JNIEnv* env, ridgeline_status status);

// Runs `body`; where C++ has no memory, which must not reach Java's frames, a RidgelineException is pending.
template <class Body>
void without_exceptions(JNIEnv* env, Body body) {
  try {
    body();
  } catch (const std::exception& e) {
    fail(env, RIDGELINE_INTERNAL, e.what());
  }
}

// A handle of the C interface as Java keeps it.
template <class T>
T* handle_of(jlong value) {
  return reinterpret_cast<T*>(static_cast<std::intptr_t>(value));
}
template <class T>
jlong number_of(T* handle) {
  return static_cast<jlong>(reinterpret_cast<std::intptr_t>(handle));
}

// The bytes of an array; empty, with an exception pending, where there is no memory. Java's texts end with a zero
// (Text.toC), so that c_str() is theirs.
std::string bytes_of(JNIEnv* env, jbyteArray array);
// null, with an exception pending, where Java has no memory.
jbyteArray array_of(JNIEnv* env, const char* bytes, std::size_t size);
jlongArray array_of(JNIEnv* env, const std::vector<jlong>& numbers);

// What `put(buffer, capacity, &size)` writes as the C interface writes texts. A text may grow between the two calls
// (statistics of a run that goes on), so it gets room for that, and further tries.
template <class Put>
jbyteArray text_of(JNIEnv* env, Put put) {
  std::size_t size = 0;
  ridgeline_status status = put(nullptr, std::size_t{0}, &size);
  for (int tries = 0; tries < 8 && status == RIDGELINE_OK; ++tries) {
    std::string text(size + 64, '\0');
    const std::size_t room = text.size();
    status = put(text.data(), room, &size);
    if (status == RIDGELINE_OK) return array_of(env, text.data(), size);
    if (size < room) break;  // it failed for another reason
    status = RIDGELINE_OK;
  }
  fail(env, status == RIDGELINE_OK ? RIDGELINE_INTERNAL : status, last_error());
  return nullptr;
}

}  // namespace ridgeline::java
