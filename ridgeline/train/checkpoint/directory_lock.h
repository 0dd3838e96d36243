// ridgeline/train/checkpoint/directory_lock.h
//
// One training at a time writes into a log directory. The lock is the kernel's on an open file, so it ends with its
// owner, however that ends; the file `.lock` only tells others the owner's process number. The owner removes it at its
// end, and the directories that were made for it, if nothing else was written into them. A process that is killed
// leaves the file, which locks nothing. Owned by the call that trains.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::train {

class DirectoryLock {
 public:
  // Makes the directory if it is missing. An Error if another process (or this one) holds the lock, or if the directory
  // cannot be written. On file systems without locks nothing is locked.
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  bool take();
  std::string path_;
  std::vector<std::string> made_;  // directories that were made, the innermost first
  int fd_ = -1;
};

}  // namespace ridgeline::train
